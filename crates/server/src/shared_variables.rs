//! Variables that the applications of an organization share, and what becomes of variables that refer to them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;
use windlass_api::{Configuration, ErrorCode, VariableKind, VariableMap, Variables, shown_name};
use windlass_store::applications::Application;
use windlass_store::{Conn, shared_variables};

use crate::error::{self, Error};
use crate::references::{self, Definition, Problem, Scope, Trouble};
use crate::vault::Vault;

/// The environment that previews are in, whatever their application's is: what is shared in that one alone is not for them.
pub const PREVIEWS: &str = "preview";
/// Where what every environment has is kept.
pub const ORGANIZATION: &str = "";

/// Those of an organization, or of one environment. Sealed as JSON.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedSet {
    pub variables: BTreeMap<String, String>,
    pub secret_names: BTreeSet<String>,
}

impl SharedSet {
    pub fn marks(&self, name: &str) -> bool {
        self.secret_names.contains(name)
    }
}

/// All of an organization, by environment.
#[derive(Clone, Default)]
pub struct SharedSets(BTreeMap<String, SharedSet>);

impl SharedSets {
    pub async fn read(conn: &mut Conn, vault: &Vault, organization_id: Uuid) -> error::Result<Self> {
        Self::opened(vault, &shared_variables::of_organization(conn, organization_id).await?).await
    }

    pub async fn opened(vault: &Vault, rows: &[shared_variables::SharedVariables]) -> error::Result<Self> {
        let mut sets = BTreeMap::new();
        for row in rows {
            sets.insert(row.environment.clone(), vault.shared_variables(row).await?);
        }
        Ok(Self(sets))
    }

    pub fn of(&self, environment: &str) -> Option<&SharedSet> {
        self.0.get(environment)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &SharedSet)> {
        self.0.iter().map(|(environment, set)| (environment.as_str(), set))
    }

    /// The environments that have some of their own.
    pub fn environments(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str).filter(|environment| *environment != ORGANIZATION)
    }

    /// One without variables is not kept.
    pub fn replace(&mut self, environment: &str, set: SharedSet) {
        match set.variables.is_empty() {
            true => self.0.remove(environment),
            false => self.0.insert(environment.to_owned(), set),
        };
    }

    /// What is marked in the organization is secret in each environment: a member who gives it another value there could forget to mark it again.
    pub fn is_secret(&self, environment: &str, name: &str) -> bool {
        [environment, ORGANIZATION].iter().any(|place| self.of(place).is_some_and(|set| set.marks(name)))
    }

    /// Where what applications of an environment get by this name is kept.
    pub fn place_of<'a>(&self, environment: &'a str, name: &str) -> &'a str {
        match self.of(environment).is_some_and(|set| set.variables.contains_key(name)) {
            true => environment,
            false => ORGANIZATION,
        }
    }

    /// One without variables of its own has those of the organization.
    pub fn set_for<'a>(&self, environment: &'a str) -> &'a str {
        if self.of(environment).is_some() { environment } else { ORGANIZATION }
    }

    /// What applications of an environment can refer to.
    pub fn scope(&self, environment: &str) -> Result<Scope, Trouble> {
        let mut definitions = BTreeMap::new();
        for (name, value) in
            [ORGANIZATION, environment].iter().filter_map(|place| self.of(place)).flat_map(|set| &set.variables)
        {
            let is_secret = self.is_secret(environment, name);
            definitions.insert(name.as_str(), Definition { value, is_secret });
        }
        Scope::of(&definitions)
    }
}

/// What of an application's variables cannot be filled in, and why.
#[derive(Debug)]
pub struct Misfit {
    kind: VariableKind,
    problem: String,
}

impl Misfit {
    /// For a caller who gives the variable.
    pub fn refusal(&self, environment: &str) -> Error {
        Error::field(self.kind.field(), self.words(environment))
    }

    fn words(&self, environment: &str) -> String {
        format!("{} (in the environment {environment})", self.problem)
    }
}

/// Whether a variable refers to a shared one.
pub fn refers(variables: &Variables) -> bool {
    VariableKind::ALL.iter().any(|kind| variables.of_kind(*kind).values().any(|value| references::refers(value)))
}

/// As a release is made with them. What a secret was filled into is secret.
pub fn filled_in(variables: &Variables, scope: &Scope) -> Result<Variables, Misfit> {
    fill(variables, &[VariableKind::Build, VariableKind::Environment], scope)
}

/// Those of previews alone, which are not in a release of the application itself.
pub fn filled_in_for_previews(variables: &Variables, scope: &Scope) -> Result<Variables, Misfit> {
    fill(variables, &[VariableKind::Preview], scope)
}

/// What a preview of an application gets. It is decided here, with everything filled in, so that nothing that becomes secret or is shared later
/// reaches a stranger's code; the values refer to nothing any more.
pub fn of_preview(variables: &Variables, scope: &Scope, is_fork: bool) -> Result<Variables, Misfit> {
    let mut known = variables.clone();
    for kind in [VariableKind::Build, VariableKind::Environment] {
        known.of_kind_mut(kind).retain(|_, value| !matches!(scope.fill(value), Err(Problem::Unknown(_))));
    }
    let filled = fill(&known, VariableKind::ALL, scope)?;
    let mut given = if is_fork { filled.of_fork() } else { filled.of_preview() };
    let mut parts = filled.shared_secrets;
    parts.retain(|part| given.build.values().chain(given.environment.values()).any(|value| value.contains(part)));
    given.shared_secrets = parts;
    for kind in [VariableKind::Build, VariableKind::Environment] {
        given.of_kind_mut(kind).values_mut().for_each(|value| *value = references::literal(value));
    }
    Ok(given)
}

/// Ends as soon as it is too much: each of many variables can refer to a large one.
fn fill(variables: &Variables, kinds: &[VariableKind], scope: &Scope) -> Result<Variables, Misfit> {
    let mut all = variables.clone();
    let mut secret_names: BTreeSet<_> = std::mem::take(&mut all.secret_names).into_iter().collect();
    let mut shared_secrets: BTreeSet<_> = std::mem::take(&mut all.shared_secrets).into_iter().collect();
    for kind in kinds.iter().copied() {
        let mut room = room_of(variables.of_kind(kind));
        for (name, value) in variables.of_kind(kind) {
            let misfit = |problem: Problem| Misfit { kind, problem: format!("{}: {problem}", shown_name(name)) };
            let filled = scope.fill(value).map_err(misfit)?;
            room = room.checked_sub(name.len() + filled.value.len()).ok_or_else(|| too_much(kind))?;
            all.of_kind_mut(kind).insert(name.clone(), filled.value);
            if filled.is_secret {
                secret_names.insert(name.clone());
                shared_secrets.extend(filled.secrets);
            }
        }
    }
    all.secret_names = secret_names.into_iter().collect();
    all.shared_secrets = shared_secrets.into_iter().collect();
    Ok(all)
}

/// Those that a preview has got can be more than others may be, and refer to nothing.
fn room_of(variables: &BTreeMap<String, String>) -> usize {
    VariableMap::BYTES.max(variables.iter().map(|(name, value)| name.len() + value.len()).sum())
}

fn too_much(kind: VariableKind) -> Misfit {
    let problem = format!("with what they refer to, they must have at most {} KiB in all", VariableMap::BYTES / 1024);
    Misfit { kind, problem }
}

/// An organization's shared variables for those who fill them into several applications. Nothing is read before the first one refers to one.
pub struct SharedVariables<'a> {
    vault: &'a Vault,
    organization_id: Uuid,
    sets: Option<SharedSets>,
    scopes: HashMap<String, Arc<Scope>>,
}

impl<'a> SharedVariables<'a> {
    pub fn of(vault: &'a Vault, organization_id: Uuid) -> Self {
        Self { vault, organization_id, sets: None, scopes: HashMap::new() }
    }

    /// The variables of an application in that environment, as the next release would be made with them.
    pub async fn fill(
        &mut self,
        conn: &mut Conn,
        environment: &str,
        variables: &Variables,
    ) -> error::Result<Variables> {
        let scope = self.scope_for(conn, environment, variables).await?;
        filled_in(variables, &scope).map_err(|misfit| impossible(&misfit.words(environment)))
    }

    /// What a preview of an application gets.
    pub async fn of_preview(
        &mut self,
        conn: &mut Conn,
        variables: &Variables,
        is_fork: bool,
    ) -> error::Result<Variables> {
        let scope = self.scope_for(conn, PREVIEWS, variables).await?;
        of_preview(variables, &scope, is_fork).map_err(|misfit| impossible(&misfit.words(PREVIEWS)))
    }

    /// Most applications need nothing of it.
    async fn scope_for(
        &mut self,
        conn: &mut Conn,
        environment: &str,
        variables: &Variables,
    ) -> error::Result<Arc<Scope>> {
        match refers(variables) {
            true => self.scope(conn, environment).await,
            false => Ok(Arc::default()),
        }
    }

    pub async fn scope(&mut self, conn: &mut Conn, environment: &str) -> error::Result<Arc<Scope>> {
        let sets = match self.sets.take() {
            Some(sets) => sets,
            None => SharedSets::read(conn, self.vault, self.organization_id).await?,
        };
        let environment = sets.set_for(environment);
        if let Some(scope) = self.scopes.get(environment).cloned() {
            self.sets = Some(sets);
            return Ok(scope);
        }
        let scope = sets.scope(environment).map_err(|trouble| {
            impossible(&format!("the shared variable {}: {}", shown_name(&trouble.variable), trouble.problem))
        });
        self.sets = Some(sets);
        let scope = Arc::new(scope?);
        self.scopes.insert(environment.to_owned(), scope.clone());
        Ok(scope)
    }
}

/// What is stored was checked when it was stored.
fn impossible(problem: &str) -> Error {
    Error::new(ErrorCode::Conflict, format!("Variables cannot be filled in: {problem}."))
}

/// The variables of an application as they are now, filled in.
pub async fn of_application(conn: &mut Conn, vault: &Vault, application: &Application) -> error::Result<Variables> {
    let configuration = Configuration::from_json(&application.configuration).map_err(Error::internal)?;
    let variables = vault.application_variables(application).await?;
    SharedVariables::of(vault, application.organization_id).fill(conn, &configuration.environment, &variables).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_preview_has_got_can_be_more_than_what_is_given() {
        let large = |number: usize| (format!("N{number}"), "x".repeat(VariableMap::VALUE_BYTES));
        let got = Variables { environment: (0..3).map(large).collect(), ..Variables::default() };
        let filled = filled_in(&got, &Scope::default()).unwrap();
        assert!(filled == got, "it is as it was");
    }
}
