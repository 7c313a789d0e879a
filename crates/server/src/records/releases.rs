//! In what two releases differ.

use std::collections::{BTreeMap, BTreeSet};

use windlass_api::{Configuration, MASK, ReleaseChange, Variables};
use windlass_store::applications::Application;
use windlass_store::releases::Release;

use super::applications::ApplicationViewer;
use crate::error::{Error, Result};

/// From one release to another, field by field; variables one by one. What is secret in the application by now was perhaps not
/// marked when the releases were made, and may hold the same value.
pub async fn changes(
    viewer: &ApplicationViewer<'_>,
    application: &Application,
    before: &Release,
    after: &Release,
) -> Result<Vec<ReleaseChange>> {
    let mut changes = differences(None, &fields(before)?, &fields(after)?, |_| false);
    let now = viewer.vault.application_variables(application).await?;
    let (old, new) = (viewer.vault.release_variables(before).await?, viewer.vault.release_variables(after).await?);
    let is_hidden = |name: &str| !viewer.sees_values || [&now, &old, &new].iter().any(|all| all.is_secret(name));
    changes.extend(differences(Some("build_variables"), &old.build, &new.build, is_hidden));
    changes.extend(differences(Some("environment_variables"), &old.environment, &new.environment, is_hidden));
    changes.extend(differences(None, &marks(&old), &marks(&new), |_| false));
    Ok(changes)
}

fn fields(release: &Release) -> Result<BTreeMap<String, String>> {
    let configuration = Configuration::from_json(&release.configuration).map_err(Error::internal)?;
    let value = serde_json::to_value(&configuration).map_err(Error::internal)?;
    let text = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let all = value.as_object().into_iter().flatten();
    let mut fields: BTreeMap<_, _> = all.map(|(name, value)| (name.clone(), text(value))).collect();
    fields.insert("commit_hash".into(), release.commit_hash.clone());
    Ok(fields)
}

/// Which variables are secret.
fn marks(variables: &Variables) -> BTreeMap<String, String> {
    BTreeMap::from([("secret_names".into(), variables.secret_names.join(", "))])
}

/// Of fields, or of the variables in one field.
fn differences(
    field: Option<&str>,
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
    is_hidden: impl Fn(&str) -> bool,
) -> Vec<ReleaseChange> {
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let shown = |name: &str, value: Option<&String>| {
        value.map(|value| if is_hidden(name) { MASK.to_owned() } else { value.clone() })
    };
    let differing = names.into_iter().filter(|name| before.get(*name) != after.get(*name));
    let change = |name: &String| ReleaseChange {
        field: field.unwrap_or(name).to_owned(),
        variable: field.map(|_| name.clone()).unwrap_or_default(),
        before: shown(name, before.get(name)),
        after: shown(name, after.get(name)),
    };
    differing.map(change).collect()
}
