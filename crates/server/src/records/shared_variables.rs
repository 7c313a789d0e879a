//! Variables that the applications of an organization share.

use windlass_api as api;
use windlass_api::MASK;
use windlass_store::shared_variables::SharedVariables;

use crate::error::Result;
use crate::shared_variables::SharedSets;
use crate::vault::Vault;

/// Those of one environment, or of the organization. `rows` are all that the organization has.
pub async fn record(
    vault: &Vault,
    sees_values: bool,
    environment: &str,
    rows: &[SharedVariables],
) -> Result<api::SharedVariables> {
    let sets = SharedSets::opened(vault, rows).await?;
    let variables = sets.of(environment).map(|set| set.variables.clone()).unwrap_or_default();
    let secret_names: Vec<String> =
        variables.keys().filter(|name| sets.is_secret(environment, name)).cloned().collect();
    let masked = |name: &String, value: String| {
        let is_hidden = !sees_values || secret_names.contains(name);
        if is_hidden { MASK.to_owned() } else { value }
    };
    let variables = variables.into_iter().map(|(name, value)| (name.clone(), masked(&name, value))).collect();
    let row = rows.iter().find(|row| row.environment == environment);
    Ok(api::SharedVariables {
        environment: environment.to_owned(),
        variables,
        secret_names,
        environments: sets.environments().map(str::to_owned).collect(),
        updated_at: row.map(|row| row.updated_at),
    })
}
