//! Variables of an application: taken from the text of a file, and which of them a change has touched.

use std::collections::BTreeMap;

use windlass_api::{
    Changes, Configuration, ImportMode, ImportVariables, ImportedVariables, VariableKind, VariableMap, VariableNames,
    Variables,
};
use windlass_compose::dotenv;
use windlass_store::applications::Application;

use crate::app::App;
use crate::auth::Granted;
use crate::error::{Error, Result};
use crate::service::application_changes::set_variables;
use crate::service::applications;
use crate::service::audit::Action;
use crate::service::held_applications::{hold_to_change, refuse_preview};
use crate::service::shared_variables::{Referring, check_references, set_variables_of};

/// Of the names in one detail of an audit entry.
const MOST_CHARACTERS: usize = 2_000;

/// Takes all of the text, or nothing of it.
pub async fn import(app: &App, granted: &Granted<Application>, input: &ImportVariables) -> Result<ImportedVariables> {
    let read = dotenv::read_alone(input.text.reveal())
        .map_err(|(line, problem)| Error::field("text", format!("line {line}: {problem}")))?;
    let mut work = app.begin().await?;
    let (authority, mut application) = hold_to_change(&mut work, granted.authority(), granted.row().id).await?;
    refuse_preview(&mut work, &application).await?;
    let before = app.vault.application_variables(&application).await?;
    let mut after = before.clone();
    let changes = changes(&before, input, read.into_iter().collect())?;
    set_variables(&mut after, &changes).map_err(|error| about_text(error, input.kind))?;
    let configuration = Configuration::from_json(&application.configuration).map_err(Error::internal)?;
    let referring = |variables| Referring { environment: &configuration.environment, variables };
    let checked = check_references(&mut work, &authority, referring(&before), referring(&after)).await;
    checked.map_err(|error| about_text(error, input.kind))?;
    let touched = Touched::between(&before, &after);
    if after != before {
        set_variables_of(&mut work, &mut application, &after).await?;
        applications::write(&mut work, &mut application).await?;
        let (verb, fields) = ("imported variables of", input.kind.field());
        applications::record(&mut work, &authority, Action::Update, &application, verb, fields, &touched);
        work.commit().await?;
    }
    Ok(touched.of_kind(input.kind))
}

/// What a request would say that changes the same.
fn changes(before: &Variables, input: &ImportVariables, read: BTreeMap<String, String>) -> Result<Changes> {
    let given = input.secret_names.as_deref().unwrap_or_default();
    if let Some(unknown) = given.iter().find(|name| !read.contains_key(*name)) {
        return Err(Error::field("secret_names", format!("there is no variable {unknown} in the text")));
    }
    let all = match input.mode.unwrap_or(ImportMode::Merge) {
        ImportMode::Replace => read,
        ImportMode::Merge => before.of_kind(input.kind).clone().into_iter().chain(read).collect(),
    };
    let is_there = |name: &&String| {
        let others = VariableKind::ALL.iter().filter(|kind| **kind != input.kind);
        all.contains_key(*name) || others.into_iter().any(|kind| before.of_kind(*kind).contains_key(*name))
    };
    let marked = before.secret_names.iter().filter(is_there);
    let mut secret_names: Vec<&String> = marked.chain(given).collect();
    secret_names.sort_unstable();
    secret_names.dedup();
    let secret_names = VariableNames::try_from(secret_names.into_iter().cloned().collect::<Vec<_>>());
    let secret_names = Some(secret_names.map_err(|problem| Error::field("secret_names", problem))?);
    let all = Some(VariableMap::try_from(all).map_err(|problem| Error::field("text", problem))?);
    Ok(match input.kind {
        VariableKind::Environment => Changes { environment_variables: all, secret_names, ..Changes::default() },
        VariableKind::Build => Changes { build_variables: all, secret_names, ..Changes::default() },
        VariableKind::Preview => Changes { preview_variables: all, secret_names, ..Changes::default() },
    })
}

/// The request has the variables in its text, not in a field of theirs.
fn about_text(mut error: Error, kind: VariableKind) -> Error {
    if let Some(problem) = error.message.strip_prefix(kind.field()) {
        error.message = format!("text{problem}");
    }
    error
}

/// The names of variables that a change has touched, each with its kind. Their values are said nowhere.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Touched {
    added: Vec<(VariableKind, String)>,
    changed: Vec<(VariableKind, String)>,
    removed: Vec<(VariableKind, String)>,
    /// Names alone: a mark holds for variables of all kinds.
    made_secret: Vec<String>,
}

impl Touched {
    pub fn between(before: &Variables, after: &Variables) -> Self {
        let mut touched = Self::default();
        for kind in VariableKind::ALL.iter().copied() {
            let (old, new) = (before.of_kind(kind), after.of_kind(kind));
            let named = |name: &String| (kind, name.clone());
            touched.added.extend(new.keys().filter(|name| !old.contains_key(*name)).map(named));
            touched.removed.extend(old.keys().filter(|name| !new.contains_key(*name)).map(named));
            let differs = |name: &&String| old.get(*name).is_some_and(|value| Some(value) != new.get(*name));
            touched.changed.extend(new.keys().filter(differs).map(named));
        }
        let names = after.secret_names.iter().filter(|name| !before.is_secret(name));
        touched.made_secret = names.cloned().collect();
        touched
    }

    /// For an audit entry: `environment_variables.NAME` and so on.
    pub fn details(&self) -> [(&'static str, String); 4] {
        let qualified = |all: &[(VariableKind, String)]| {
            listed(all.iter().map(|(kind, name)| format!("{}.{name}", kind.field())).collect())
        };
        [
            ("variables_added", qualified(&self.added)),
            ("variables_changed", qualified(&self.changed)),
            ("variables_removed", qualified(&self.removed)),
            ("variables_made_secret", listed(self.made_secret.clone())),
        ]
    }

    fn of_kind(self, kind: VariableKind) -> ImportedVariables {
        let names = |all: Vec<(VariableKind, String)>| {
            all.into_iter().filter(|(of, _)| *of == kind).map(|(_, name)| name).collect()
        };
        ImportedVariables {
            added: names(self.added),
            changed: names(self.changed),
            removed: names(self.removed),
            made_secret: self.made_secret,
        }
    }
}

/// As many as there is room for.
pub fn listed(names: Vec<String>) -> String {
    let (mut text, all) = (String::new(), names.len());
    for (index, name) in names.into_iter().enumerate() {
        if text.chars().count() + name.chars().count() > MOST_CHARACTERS {
            return format!("{text} and {} more", all - index);
        }
        text = if text.is_empty() { name } else { format!("{text}, {name}") };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_and_values_are_not() {
        let map = |all: &[(&str, &str)]| all.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let before = Variables {
            build: map(&[("KEY", "b"), ("MODE", "slow")]),
            environment: map(&[("A", "1"), ("KEY", "k")]),
            ..Variables::default()
        };
        let after = Variables {
            build: map(&[("MODE", "fast")]),
            environment: map(&[("A", "1"), ("B", "2"), ("KEY", "k")]),
            secret_names: vec!["KEY".into()],
            preview: map(&[("C", "3")]),
            ..Variables::default()
        };
        let touched = Touched::between(&before, &after);
        let details = touched.details().map(|(_, names)| names);
        let expected =
            ["environment_variables.B, preview_variables.C", "build_variables.MODE", "build_variables.KEY", "KEY"];
        assert_eq!(details, expected);
        let imported = touched.of_kind(VariableKind::Environment);
        assert_eq!((imported.added, imported.removed.len()), (vec!["B".to_owned()], 0));
        assert_eq!(Touched::between(&after, &after), Touched::default());
    }

    #[test]
    fn many_names_are_counted() {
        let names = (0..500).map(|number| format!("A_LONGER_NAME_{number:03}"));
        let text = listed(names.collect());
        assert!(text.ends_with("A_LONGER_NAME_104 and 395 more") && text.len() < 2_050, "{text}");
    }
}
