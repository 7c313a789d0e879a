//! An extension as an application: its services, where visitors come to them, and its values, which are variables of the application.

mod stack;

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::extension::{Extension, Variable, VariableType};
use crate::given;
use crate::task::{NetworkTask, Task};
use crate::template::Part;
use crate::values::{Value, VariableProblem, absent, check_pattern, unknown};

pub use stack::{Route, RouteChange, Stack, changes_of_routes, stack};

impl Extension {
    /// The variable that is the domain of the first `proxy` step, and nothing else: an application's main domain takes its place.
    pub fn main_domain_variable(&self) -> Option<&Variable> {
        let first = self.steps.iter().find_map(|step| match &step.task {
            Task::Network(NetworkTask::Route { domain, .. }) => Some(domain),
            _ => None,
        });
        match first?.template.parts.as_slice() {
            [Part::Name(name)] => self.variable(name).filter(|variable| variable.kind == VariableType::String),
            _ => None,
        }
    }

    /// A given value as an application stores it; none for one that is to have the default.
    pub fn stored_value(&self, name: &str, given: &str) -> Result<Option<String>, VariableProblem> {
        let Some(variable) = self.variable(name) else {
            return Err(unknown(self, name).unwrap_or_else(|| problem(name, "is unknown")));
        };
        let value = given::read(variable.kind, &Json::from(given)).map_err(|message| problem(name, message))?;
        let Some(value) = value else { return Ok(None) };
        check_pattern(variable, &value).map_err(|message| problem(name, message))?;
        Ok(Some(variable.stored_text(&value)))
    }

    /// A new secret for each one that is neither stored nor has a default.
    pub fn new_secrets(
        &self,
        stored: &BTreeMap<String, String>,
        generate: &mut dyn FnMut() -> String,
    ) -> Result<BTreeMap<String, String>, VariableProblem> {
        let mut made = BTreeMap::new();
        for variable in self.missing_secrets(stored) {
            let value = absent(variable, generate).map_err(|message| problem(&variable.name, message))?;
            made.insert(variable.name.clone(), variable.stored_text(&value));
        }
        Ok(made)
    }

    /// The secrets that an application would need and does not have. One that was made up when it was first deployed would be another each time.
    pub fn missing_secrets(&self, stored: &BTreeMap<String, String>) -> impl Iterator<Item = &Variable> {
        let is_given = |variable: &Variable| stored.get(&variable.name).is_some_and(|text| !text.is_empty());
        let secrets = self.variables.iter().filter(|variable| variable.kind == VariableType::Secret);
        secrets.filter(move |variable| variable.default.is_none() && !is_given(variable))
    }
}

fn problem(name: &str, message: impl Into<String>) -> VariableProblem {
    VariableProblem { name: name.to_owned(), message: message.into() }
}

impl Variable {
    /// A value as an application stores it: the same value is always the same text, and is read from it again.
    pub fn stored_text(&self, value: &Value) -> String {
        let text = value.text().into_owned();
        match value {
            Value::Array(items) if self.read_text(&text).as_ref() != Some(value) => {
                Json::from(items.as_slice()).to_string()
            }
            _ => text,
        }
    }

    /// The value that a stored text is read as; none if it cannot be.
    fn read_text(&self, text: &str) -> Option<Value> {
        match given::read(self.kind, &Json::from(text)) {
            Ok(value) => value.or_else(|| self.default.clone()),
            Err(_) => None,
        }
    }
}

/// The values that an application has with the text `after`, of those that it has stored with the text `before`. What is in force stays, a default
/// that was in force too, because data may depend on it; but `defaults` have the default of `after`. What `after` does not know stays stored: the text
/// of before may come back. The main domain is none of them.
pub fn values_after(
    before: &Extension,
    after: &Extension,
    stored: &BTreeMap<String, String>,
    defaults: &[String],
) -> BTreeMap<String, String> {
    let mut values = stored.clone();
    let main = after.main_domain_variable().map(|variable| &variable.name);
    for variable in after.variables.iter().filter(|variable| Some(&variable.name) != main) {
        let is_wanted = defaults.contains(&variable.name);
        if !is_wanted && stored.contains_key(&variable.name) {
            continue;
        }
        let in_force = before.variable(&variable.name).filter(|_| !is_wanted).unwrap_or(variable);
        if let Some(default) = &in_force.default {
            values.insert(variable.name.clone(), in_force.stored_text(default));
        }
    }
    values
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
