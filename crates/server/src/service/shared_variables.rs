//! Variables that the applications of an organization share: changing them, and what may refer to them.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;
use windlass_api as api;
use windlass_api::{
    Can, Configuration, ErrorCode, MASK, UpdateSharedVariables, VariableKind, VariableMap, Variables, shown_name,
};
use windlass_store::applications::{self, Application};
use windlass_store::shared_variables as rows;

use crate::app::App;
use crate::auth::Authority;
use crate::error::{Error, Result};
use crate::records::shared_variables::record;
use crate::references::{self, Problem, Scope, Trouble};
use crate::service::application_changes::{check_port, refuse_long_arguments, unmasked};
use crate::service::audit::{Action, Change, Resource};
use crate::service::variables::listed;
use crate::service::work::Work;
use crate::shared_variables::{
    ORGANIZATION, PREVIEWS, SharedSet, SharedSets, SharedVariables, filled_in, filled_in_for_previews, of_preview,
    refers,
};

/// Each has as much as the organization.
const MOST_ENVIRONMENTS: usize = 20;
/// What is refused names some of those that it would break.
const MOST_NAMED: usize = 10;
const READ_AT_ONCE: i64 = 50;

/// Replaces those of the organization, or of one environment.
pub async fn update(app: &App, authority: &Authority, input: &UpdateSharedVariables) -> Result<api::SharedVariables> {
    let environment = input.environment.value().map_or(ORGANIZATION, |environment| &**environment);
    let mut work = app.begin().await?;
    let authority = work.hold(authority).await?;
    let id = authority.organization_id();
    let stored = rows::of_organization(&mut work, id).await?;
    let before = SharedSets::opened(&app.vault, &stored).await?;
    let stored = stored.into_iter().find(|row| row.environment == environment);
    if input.unchanged_since.is_some_and(|since| stored.as_ref().is_none_or(|row| row.updated_at != since)) {
        let message = "unchanged_since: the variables were changed meanwhile. Read them again, then decide.";
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    let mut after = before.clone();
    after.replace(environment, changed(before.of(environment).cloned().unwrap_or_default(), input)?);
    if after.environments().count() > MOST_ENVIRONMENTS {
        let message = format!("environment: {MOST_ENVIRONMENTS} environments can have shared variables of their own.");
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    refuse_to_reveal(&before, &after, environment, &input.variables)?;
    if leads_elsewhere(&before, &after, environment) {
        require_reading(app, &authority, "a variable would lead to another shared one")?;
    }
    check(&mut work, id, environment, &after).await?;
    write(&mut work, id, environment, stored, &after).await?;
    audit(&mut work, &authority, environment, &before, &after);
    work.wake_log_readers();
    let stored = rows::of_organization(&mut work, id).await?;
    let record = record(&app.vault, authority.may(Can::VariableRead), environment, &stored).await?;
    work.commit().await?;
    Ok(record)
}

/// As the request wants it; a mask stands for the value that is there.
fn changed(before: SharedSet, input: &UpdateSharedVariables) -> Result<SharedSet> {
    let variables = unmasked("variables", &input.variables, &before.variables)?;
    let secret_names = match &input.secret_names {
        Some(given) => {
            if let Some(unknown) = given.iter().find(|name| !variables.contains_key(*name)) {
                return Err(Error::field("secret_names", format!("there is no variable {unknown}")));
            }
            given.iter().cloned().collect()
        }
        None => before.secret_names.into_iter().filter(|name| variables.contains_key(name)).collect(),
    };
    Ok(SharedSet { variables, secret_names })
}

/// What is no longer secret needs a new value. A mark of the organization is lost for each environment that has a value of its own.
fn refuse_to_reveal(before: &SharedSets, after: &SharedSets, changed: &str, given: &VariableMap) -> Result<()> {
    for (environment, set) in after.iter() {
        for name in set.variables.keys() {
            let is_revealed = before.of(environment).is_some_and(|set| set.variables.contains_key(name))
                && before.is_secret(environment, name)
                && !after.is_secret(environment, name);
            let is_new = environment == changed && given.get(name).is_some_and(|value| value != MASK);
            if is_revealed && !is_new {
                let problem = match environment == changed {
                    true => format!("{name} stays secret as long as it keeps its value: give it a new one as well"),
                    false => {
                        format!("{name} stays secret as long as {environment} has it too: make it secret there first")
                    }
                };
                return Err(Error::field("secret_names", problem));
            }
        }
    }
    Ok(())
}

/// Whether something would lead to another shared variable than before: by a new reference, or because the organization's takes the place of one
/// that an environment had.
fn leads_elsewhere(before: &SharedSets, after: &SharedSets, changed: &str) -> bool {
    let none = SharedSet::default();
    let (old, new) = (before.of(changed).unwrap_or(&none), after.of(changed).unwrap_or(&none));
    let refers_anew = |(name, value): (&String, &String)| {
        let known = old.variables.get(name).map(|value| references::names(value)).unwrap_or_default();
        !references::names(value).is_subset(&known)
    };
    let gives_way = |name: &String| {
        !new.variables.contains_key(name)
            && after.of(ORGANIZATION).is_some_and(|organization| organization.variables.contains_key(name))
    };
    new.variables.iter().any(refers_anew) || old.variables.keys().any(gives_way)
}

/// A caller who can give a value to code can have the code print it, so that takes the permission to read variables.
fn require_reading(app: &App, authority: &Authority, reason: &str) -> Result<()> {
    authority.require(app, Can::VariableRead).map_err(|refusal| {
        let message = format!("{} It is needed because {reason}.", refusal.message);
        Error { message, ..refusal }
    })
}

/// All that can refer to what was changed must still come out right.
async fn check(work: &mut Work<'_>, organization_id: Uuid, changed: &str, sets: &SharedSets) -> Result<()> {
    let mut refusals = Refusals::default();
    // An environment without variables of its own has those of the organization.
    for environment in [ORGANIZATION].into_iter().chain(sets.environments()) {
        if let Err(Trouble { variable, problem }) = sets.scope(environment) {
            let place = sets.place_of(environment, &variable);
            if place == changed || !matches!(problem, Problem::Unknown(_)) {
                let problem = format!("{}: {problem}{}", shown_name(&variable), in_words(environment));
                return Err(Error::field("variables", problem));
            }
            refusals.add(format!("the shared variable {}{}: {problem}", shown_name(&variable), in_words(place)));
        }
    }
    refusals.end()?;
    check_applications(work, organization_id, sets).await
}

fn in_words(environment: &str) -> String {
    if environment == ORGANIZATION { String::new() } else { format!(" (in the environment {environment})") }
}

async fn check_applications(work: &mut Work<'_>, organization_id: Uuid, sets: &SharedSets) -> Result<()> {
    let (mut refusals, mut scopes, mut last) = (Refusals::default(), BTreeMap::new(), Uuid::nil());
    loop {
        let page = applications::that_refer_to_shared(work, organization_id, last, READ_AT_ONCE).await?;
        for application in &page {
            let configuration = Configuration::from_json(&application.configuration).map_err(Error::internal)?;
            let variables = work.app.vault.application_variables(application).await?;
            // One for each environment with variables of its own, however many the applications have.
            let places = [configuration.environment.as_str(), PREVIEWS].map(|name| sets.set_for(name));
            for environment in places {
                if let Entry::Vacant(place) = scopes.entry(environment.to_owned()) {
                    place.insert(sets.scope(environment).map_err(|trouble| internal(&trouble))?);
                }
            }
            let scopes = places.map(|environment| &scopes[environment]);
            if let Err(error) = check_variables(&variables, &configuration.environment, scopes) {
                refusals.add(format!("{}: {}", application.name, error.message));
            }
        }
        match page.last() {
            Some(application) => last = application.id,
            None => return refusals.end(),
        }
    }
}

fn internal(trouble: &Trouble) -> Error {
    Error::internal(format!("{trouble:?}"))
}

/// What refers to shared variables and would not come out right.
#[derive(Default)]
struct Refusals {
    named: Vec<String>,
    all: usize,
}

impl Refusals {
    fn add(&mut self, words: String) {
        self.all += 1;
        if self.named.len() < MOST_NAMED {
            self.named.push(words);
        }
    }

    fn end(self) -> Result<()> {
        if self.all == 0 {
            return Ok(());
        }
        let rest = match self.all - self.named.len() {
            0 => String::new(),
            rest => format!("; and {rest} more"),
        };
        let message = format!(
            "variables: what refers to them could not be deployed any more. Change that first: {}{rest}",
            self.named.join("; ")
        );
        Err(Error::new(ErrorCode::Conflict, message))
    }
}

/// The variables of an application must keep to the rules when everything is filled in, also those that its previews get.
fn check_variables(variables: &Variables, environment: &str, [scope, of_previews]: [&Scope; 2]) -> Result<()> {
    let filled = filled_in(variables, scope).map_err(|misfit| misfit.refusal(environment))?;
    check_filled(&filled, &[VariableKind::Build, VariableKind::Environment])?;
    let filled = filled_in_for_previews(variables, of_previews).map_err(|misfit| misfit.refusal(PREVIEWS))?;
    check_filled(&filled, &[VariableKind::Preview])?;
    // A fork gets less of them.
    let given = of_preview(variables, of_previews, false).map_err(|misfit| misfit.refusal(PREVIEWS))?;
    check_port(VariableKind::Environment.field(), &given.environment)?;
    refuse_long_arguments(&given)
}

fn check_filled(filled: &Variables, kinds: &[VariableKind]) -> Result<()> {
    for kind in kinds {
        if *kind == VariableKind::Build {
            refuse_long_arguments(filled)?;
        } else {
            check_port(kind.field(), filled.of_kind(*kind))?;
        }
    }
    Ok(())
}

/// What an application refers to, each with the environment whose value it gets.
fn referred<'a>(environment: &'a str, variables: &'a Variables) -> BTreeSet<(&'a str, &'a str)> {
    let of_kind = |kind: VariableKind| {
        let place = if kind == VariableKind::Preview { PREVIEWS } else { environment };
        let names = variables.of_kind(kind).values().flat_map(|value| references::names(value));
        names.map(move |name| (place, name))
    };
    VariableKind::ALL.iter().copied().flat_map(of_kind).collect()
}

/// An application's environment with its variables.
pub struct Referring<'a> {
    pub environment: &'a str,
    pub variables: &'a Variables,
}

/// Checks what the variables of an application refer to, for a caller who holds the organization.
pub async fn check_references(
    work: &mut Work<'_>,
    authority: &Authority,
    before: Referring<'_>,
    after: Referring<'_>,
) -> Result<()> {
    if !refers(after.variables) {
        return Ok(());
    }
    let known = referred(before.environment, before.variables);
    if !referred(after.environment, after.variables).is_subset(&known) {
        require_reading(work.app, authority, "the application would get other shared variables")?;
    }
    let mut shared = SharedVariables::of(&work.app.vault, authority.organization_id());
    let scopes = [shared.scope(work, after.environment).await?, shared.scope(work, PREVIEWS).await?];
    check_variables(after.variables, after.environment, [&scopes[0], &scopes[1]])
}

/// Gives the application these variables; they are not written yet.
pub async fn set_variables_of(work: &mut Work<'_>, application: &mut Application, variables: &Variables) -> Result<()> {
    application.sealed_variables = work.app.vault.seal_application_variables(work, application.id, variables).await?;
    application.refers_to_shared = refers(variables);
    Ok(())
}

async fn write(
    work: &mut Work<'_>,
    organization_id: Uuid,
    environment: &str,
    stored: Option<rows::SharedVariables>,
    sets: &SharedSets,
) -> Result<()> {
    let (app, now) = (work.app, work.app.now());
    match (stored, sets.of(environment)) {
        (None, None) => {}
        (Some(row), None) => rows::delete(work, row.id).await?,
        (Some(row), Some(set)) => {
            let sealed = app.vault.seal_shared_variables(work, row.id, set).await?;
            rows::update(work, row.id, &sealed, now).await?;
        }
        (None, Some(set)) => {
            let id = app.new_id();
            let sealed_variables = app.vault.seal_shared_variables(work, id, set).await?;
            let environment = environment.to_owned();
            let row = rows::SharedVariables {
                id,
                organization_id,
                environment,
                sealed_variables,
                created_at: now,
                updated_at: now,
            };
            rows::insert(work, &row).await?;
        }
    }
    Ok(())
}

/// Only names: among the values are secrets.
fn audit(work: &mut Work<'_>, authority: &Authority, environment: &str, before: &SharedSets, after: &SharedSets) {
    let (none, id) = (SharedSet::default(), authority.organization_id());
    let (old, new) = (before.of(environment).unwrap_or(&none), after.of(environment).unwrap_or(&none));
    let names = |all: &SharedSet, is_meant: &dyn Fn(&str, &String) -> bool| {
        let meant = all.variables.iter().filter(|(name, value)| is_meant(name, value));
        listed(meant.map(|(name, _)| name.clone()).collect())
    };
    let added = names(new, &|name, _| !old.variables.contains_key(name));
    let changed = names(new, &|name, value| old.variables.get(name).is_some_and(|before| before != value));
    let removed = names(old, &|name, _| !new.variables.contains_key(name));
    let made_secret = names(new, &|name, _| new.marks(name) && !old.marks(name));
    let of = if environment == ORGANIZATION { "the organization" } else { environment };
    let change = Change {
        organization_id: Some(id),
        action: Action::Update,
        resource: Resource::Organization,
        resource_id: id,
        summary: &format!("changed the shared variables of {of}"),
        details: &[
            ("environment", environment),
            ("variables_added", &added),
            ("variables_changed", &changed),
            ("variables_removed", &removed),
            ("variables_made_secret", &made_secret),
        ],
    };
    work.record(&authority.actor(), &change);
}
