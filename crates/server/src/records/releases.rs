//! In what two releases differ.

use std::collections::{BTreeMap, BTreeSet};

use windlass_api::{Configuration, MASK, ReleaseChange, Variables};
use windlass_store::releases::Release;

use super::applications::ApplicationViewer;
use crate::error::{Error, Result};

/// From one release to another, field by field; variables one by one.
pub async fn changes(viewer: &ApplicationViewer<'_>, before: &Release, after: &Release) -> Result<Vec<ReleaseChange>> {
    let (old, new) = (fields(before)?, fields(after)?);
    let mut changes = differences("", &old, &new, |_| false);
    let (old, new) = (viewer.vault.release_variables(before).await?, viewer.vault.release_variables(after).await?);
    let is_hidden = |name: &str| !viewer.sees_values || old.is_secret(name) || new.is_secret(name);
    changes.extend(differences("build_variables", &old.build, &new.build, is_hidden));
    changes.extend(differences("environment_variables", &old.environment, &new.environment, is_hidden));
    changes.extend(differences("", &marks(&old), &marks(&new), |_| false));
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

/// Without a field, each key is one; with it, a variable of that field.
fn differences(
    field: &str,
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
        field: if field.is_empty() { name.clone() } else { field.to_owned() },
        variable: if field.is_empty() { String::new() } else { name.clone() },
        before: shown(name, before.get(name)),
        after: shown(name, after.get(name)),
    };
    differing.map(change).collect()
}
