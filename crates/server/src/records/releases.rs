//! In what two releases differ, or a release and what the next one would be made with.

use std::collections::{BTreeMap, BTreeSet};

use windlass_api::{ArtifactKind, Configuration, DeployEffect, MASK, ReleaseChange, Variables};
use windlass_store::releases::{Artifact, Release};

use super::applications::ApplicationViewer;
use super::effects::{self, Side};
use crate::error::{Error, Result};
use crate::vault::Vault;

/// What is shown of a value.
const MOST_CHARACTERS: usize = 2_000;

/// What is compared.
pub struct Contents {
    pub configuration: Configuration,
    pub variables: Variables,
    /// Its volumes by name, if they are compared.
    pub volumes: BTreeMap<String, String>,
    pub artifact: ArtifactKind,
    /// What is beside the configuration: the commit and the artifact, as far as they are compared.
    pub others: BTreeMap<&'static str, String>,
}

impl Contents {
    /// What a release is and what it became.
    pub async fn of_release(vault: &Vault, release: &Release) -> Result<Self> {
        let mut contents = Self::asked_of(vault, release).await?;
        let port = match &release.artifact {
            Some(Artifact::Image(image)) => image.port,
            Some(Artifact::Services(services)) => services.port,
            Some(Artifact::Site(_)) | None => 0,
        };
        if contents.configuration.port == 0 {
            contents.configuration.port = port;
        }
        contents.others = BTreeMap::from([
            ("artifact", contents.artifact.as_str().to_owned()),
            ("commit_author", release.commit_author.clone()),
            ("commit_hash", release.commit_hash.clone()),
            ("commit_message", release.commit_message.clone()),
        ]);
        Ok(contents)
    }

    /// What a release was asked to be, without its commit.
    pub async fn asked_of(vault: &Vault, release: &Release) -> Result<Self> {
        let configuration = Configuration::from_json(&release.configuration).map_err(Error::internal)?;
        let artifact = match &release.artifact {
            Some(Artifact::Image(_)) => ArtifactKind::Image,
            Some(Artifact::Services(_)) => ArtifactKind::Services,
            Some(Artifact::Site(_)) => ArtifactKind::Site,
            None => ArtifactKind::None,
        };
        let variables = vault.release_variables(release).await?;
        Ok(Self { configuration, variables, volumes: BTreeMap::new(), artifact, others: BTreeMap::new() })
    }

    /// What the next release of an application is asked to be, without its commit.
    pub fn asked_of_next(configuration: Configuration, filled_in: &Variables) -> Self {
        let (variables, artifact) = (filled_in.of_release(), ArtifactKind::None);
        Self { configuration, variables, volumes: BTreeMap::new(), artifact, others: BTreeMap::new() }
    }

    pub fn set_commit(&mut self, hash: &str) {
        self.others.insert("commit_hash", hash.to_owned());
    }

    /// As requests have them, without those that no release is needed for.
    fn fields(&self) -> Result<BTreeMap<String, String>> {
        let value = serde_json::to_value(&self.configuration).map_err(Error::internal)?;
        let text = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let all = value.as_object().into_iter().flatten();
        let all = all.filter(|(name, _)| !Configuration::ACT_AT_ONCE.contains(&name.as_str()));
        let mut fields: BTreeMap<_, _> = all.map(|(name, value)| (name.clone(), text(value))).collect();
        fields.extend(self.others.iter().map(|(name, text)| ((*name).to_owned(), text.clone())));
        Ok(fields)
    }

    fn side(&self) -> Side<'_> {
        Side {
            configuration: &self.configuration,
            variables: &self.variables,
            knows_commit: self.others.contains_key("commit_hash"),
        }
    }
}

/// From one to the other, field by field; variables and volumes one by one. What is secret in the application by now (`now`) was perhaps not marked
/// when a release was made, and may hold the same value.
pub fn changes(
    viewer: &ApplicationViewer<'_>,
    now: &Variables,
    before: &Contents,
    after: &Contents,
) -> Result<Vec<ReleaseChange>> {
    let (old, new) = (&before.variables, &after.variables);
    let is_hidden = |name: &str| !viewer.sees_values || [now, old, new].iter().any(|all| all.is_secret(name));
    let mut changes = differences(None, &before.fields()?, &after.fields()?, |_| false);
    changes.extend(differences(Some("build_variables"), &old.build, &new.build, is_hidden));
    changes.extend(differences(Some("environment_variables"), &old.environment, &new.environment, is_hidden));
    changes.extend(differences(None, &marks(old), &marks(new), |_| false));
    changes.extend(differences(Some("volumes"), &before.volumes, &after.volumes, |_| false));
    for change in &mut changes {
        change.effect = effects::of(&change.field, before.side(), after.side());
    }
    let is_of_site = |artifact| matches!(artifact, ArtifactKind::Site | ArtifactKind::None);
    if before.artifact == ArtifactKind::Site && is_of_site(after.artifact) {
        effects::without_containers(&mut changes);
    }
    Ok(changes)
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
    let differing = names.into_iter().filter(|name| before.get(*name) != after.get(*name));
    let change = |name: &String| {
        let (is_masked, values) = (is_hidden(name), [before.get(name), after.get(name)]);
        let [before, after] =
            values.map(|value| value.map(|value| if is_masked { MASK.to_owned() } else { cut(value) }));
        ReleaseChange {
            field: field.unwrap_or(name).to_owned(),
            variable: field.map(|_| name.clone()).unwrap_or_default(),
            before,
            after,
            is_masked,
            is_cut: !is_masked && values.into_iter().flatten().any(|value| cut(value).len() < value.len()),
            effect: DeployEffect::Nothing,
        }
    };
    differing.map(change).collect()
}

fn cut(value: &str) -> String {
    value.chars().take(MOST_CHARACTERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_hidden_or_cut() {
        let map = |all: &[(&str, String)]| all.iter().map(|(name, value)| ((*name).into(), value.clone())).collect();
        let long = "ä".repeat(3_000);
        let before = map(&[("A", "1".into()), ("KEY", "old".into()), ("LONG", String::new())]);
        let after = map(&[("KEY", "new".into()), ("LONG", long), ("NEW", "2".into())]);
        let found = differences(Some("build_variables"), &before, &after, |name| name == "KEY");
        let shown: Vec<_> =
            found.iter().map(|one| (one.variable.as_str(), one.before.as_deref(), one.after.as_deref())).collect();
        let cut = "ä".repeat(2_000);
        assert_eq!(
            shown,
            [
                ("A", Some("1"), None),
                ("KEY", Some(MASK), Some(MASK)),
                ("LONG", Some(""), Some(cut.as_str())),
                ("NEW", None, Some("2"))
            ]
        );
        let flags: Vec<_> = found.iter().map(|one| (one.is_masked, one.is_cut)).collect();
        assert_eq!(flags, [(false, false), (true, false), (false, true), (false, false)]);
    }
}
