//! The template of an extension with the values of an application in it.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use windlass_api::{Variables, label};
use windlass_extension::application::{Stack, stack};
use windlass_extension::{Extension, Kind, Values, resolve, values};
use windlass_store::applications::Application;

use crate::error::{Error, Result};

/// In the place of a value that is not to be seen.
const SECRET: &str = "secret-value";
const DOES_NOT_FIT: &str = "variables: the value of a secret variable does not fit where it is used";

/// What an application of a template is called, where it is, and what its variables are with everything filled in.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub name: &'a str,
    pub domain: &'a str,
    pub variables: &'a Variables,
}

impl<'a> Place<'a> {
    pub fn of(application: &'a Application, variables: &'a Variables) -> Self {
        Self { name: &application.name, domain: &application.domain, variables }
    }
}

/// Why a template cannot be an application.
#[derive(Debug)]
pub enum Unfit {
    /// Of the values of its variables.
    Values(Vec<String>),
    /// It is for something else.
    Template(Vec<String>),
}

impl Unfit {
    pub fn words(&self) -> String {
        match self {
            Self::Values(problems) | Self::Template(problems) => problems.join("\n"),
        }
    }

    /// What quotes a part of a value is not the same without secrets, and is told without saying more.
    fn that_is_also_in(self, masked: Option<Self>) -> Self {
        let known = match masked {
            Some(Self::Values(problems) | Self::Template(problems)) => problems,
            None => Vec::new(),
        };
        let told = |problems: Vec<String>| {
            let all = problems.len();
            let mut told: Vec<_> = problems.into_iter().filter(|problem| known.contains(problem)).collect();
            if told.len() < all {
                told.push(DOES_NOT_FIT.to_owned());
            }
            told
        };
        match self {
            Self::Values(problems) => Self::Values(told(problems)),
            Self::Template(problems) => Self::Template(told(problems)),
        }
    }
}

/// Away from the async threads: a text may be long. None if something is wrong with it.
pub async fn read(text: String) -> Result<Option<Extension>> {
    let check = move || windlass_extension::check(&text).extension;
    tokio::task::spawn_blocking(check).await.map_err(Error::internal)
}

/// The values of an application's variables that the template knows. Its main domain is one of them.
pub fn values_of(extension: &Extension, place: &Place<'_>) -> std::result::Result<Values, Unfit> {
    let environment = &place.variables.environment;
    let known = environment.iter().filter(|(name, _)| extension.variable(name).is_some());
    let mut given: BTreeMap<String, Json> =
        known.map(|(name, text)| (name.clone(), Json::from(text.as_str()))).collect();
    if let Some(variable) = extension.main_domain_variable() {
        given.insert(variable.name.clone(), Json::from(place.domain));
    }
    let missing = extension.missing_secrets(environment);
    let mut problems: Vec<String> =
        missing.map(|variable| format!("variables.{}: is required; give a value", variable.name)).collect();
    // What is missing is told of above.
    match values(extension, &given, &mut || "00000000".to_owned()) {
        Ok(values) if problems.is_empty() => Ok(values),
        found => {
            let more = found.err().unwrap_or_default();
            let is_told = |name: &str| extension.missing_secrets(environment).any(|variable| variable.name == name);
            problems.extend(
                more.iter().filter(|problem| !is_told(&problem.name)).map(|problem| format!("variables.{problem}")),
            );
            Err(Unfit::Values(problems))
        }
    }
}

/// The services that a template runs with the variables of an application, and the domains that lead to them.
pub fn stack_of(extension: &Extension, place: &Place<'_>) -> std::result::Result<Stack, Unfit> {
    open_stack_of(extension, place).map_err(|unfit| {
        let variables = without_secrets(place.variables);
        let masked = open_stack_of(extension, &Place { variables: &variables, ..*place });
        unfit.that_is_also_in(masked.err())
    })
}

/// What is wrong may be told with parts of secrets in it.
fn open_stack_of(extension: &Extension, place: &Place<'_>) -> std::result::Result<Stack, Unfit> {
    if extension.metadata.kind == Kind::Run {
        let reason = "it is of the type run: it is done once, and nothing stays";
        return Err(Unfit::Template(vec![reason.to_owned()]));
    }
    let values = values_of(extension, place)?;
    let steps = resolve(extension, &values, &label(place.name))
        .map_err(|problems| Unfit::Values(problems.iter().map(|problem| format!("variables: {problem}")).collect()))?;
    stack(&steps).map_err(Unfit::Template)
}

/// The same, with a word in the place of each value that is marked secret.
fn without_secrets(variables: &Variables) -> Variables {
    let mut variables = variables.clone();
    let Variables { environment, secret_names, .. } = &mut variables;
    for (_, value) in environment.iter_mut().filter(|(name, _)| secret_names.contains(name)) {
        SECRET.clone_into(value);
    }
    variables
}
