//! The values of an extension's variables, as they are used and stored.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::extension::{Extension, Variable, VariableType};
use crate::given;

/// What stands for a secret where people look.
pub const MASK: &str = "********";

/// The value of one variable.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "value", rename_all = "snake_case")]
pub enum Value {
    /// Not given, and without a default.
    Nothing,
    String(String),
    Integer(i64),
    Boolean(bool),
    Array(Vec<String>),
    Secret(String),
}

impl Value {
    /// The text that takes the place of `{{ name }}`; the items of an array have commas between them.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Nothing => Cow::Borrowed(""),
            Self::String(text) | Self::Secret(text) => Cow::Borrowed(text),
            Self::Integer(number) => Cow::Owned(number.to_string()),
            Self::Boolean(value) => Cow::Borrowed(if *value { "true" } else { "false" }),
            Self::Array(items) => Cow::Owned(items.join(",")),
        }
    }

    pub fn to_json(&self) -> Json {
        match self {
            Self::Nothing => Json::Null,
            Self::String(text) | Self::Secret(text) => Json::from(text.as_str()),
            Self::Integer(number) => Json::from(*number),
            Self::Boolean(value) => Json::from(*value),
            Self::Array(items) => Json::from(items.as_slice()),
        }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Secret(_) => f.write_str("Secret(..)"),
            other => write!(f, "{}", other.to_json()),
        }
    }
}

/// The values of all variables, with the secrets in them: to be stored sealed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Values(BTreeMap<String, Value>);

impl Values {
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    pub fn text(&self, name: &str) -> Option<Cow<'_, str>> {
        self.0.get(name).map(Value::text)
    }

    pub fn is_secret(&self, name: &str) -> bool {
        matches!(self.0.get(name), Some(Value::Secret(_)))
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The texts to remove from what people see: the longest first, because one may be a part of another.
    pub fn secrets(&self) -> Vec<&str> {
        let texts = self.0.values().filter_map(|value| match value {
            Value::Secret(text) if !text.is_empty() => Some(text.as_str()),
            _ => None,
        });
        let mut texts: Vec<_> = texts.collect();
        texts.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        texts.dedup();
        texts
    }

    /// Every secret replaced by [`MASK`].
    pub fn masked(&self) -> Self {
        let mask = |value: &Value| match value {
            Value::Secret(_) => Value::Secret(MASK.into()),
            other => other.clone(),
        };
        Self(self.0.iter().map(|(name, value)| (name.clone(), mask(value))).collect())
    }

    /// Something for each variable, to try an extension with before a user has given anything: the default, or what its type allows.
    pub(crate) fn stand_ins(variables: &[Variable]) -> Self {
        // Different numbers, because several may be ports.
        const FIRST: i64 = 20_001;
        let stand_in = |(number, variable): (i64, &Variable)| {
            let made = match variable.kind {
                VariableType::String => Value::String("value".into()),
                VariableType::Integer => Value::Integer(number),
                VariableType::Boolean => Value::Boolean(false),
                VariableType::Array => Value::Array(vec!["value".into()]),
                VariableType::Secret => Value::Secret("secret".into()),
            };
            (variable.name.clone(), variable.default.clone().unwrap_or(made))
        };
        Self((FIRST..).zip(variables).map(stand_in).collect())
    }

    /// Name and value, without the types. Secrets are in it.
    pub fn to_json(&self) -> serde_json::Map<String, Json> {
        self.0.iter().map(|(name, value)| (name.clone(), value.to_json())).collect()
    }
}

/// What is wrong with the value of a variable. The message does not show the value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VariableProblem {
    pub name: String,
    pub message: String,
}

impl fmt::Display for VariableProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.message)
    }
}

/// More would not fit into the environment of a command.
const MOST_BYTES: usize = 128 * 1024;
/// A pattern that so many secrets in a row do not match is one that none will.
const MOST_TRIES: usize = 8;

/// The values as they are used: what was given, defaults for the rest, and a new secret for each one that was not given.
pub fn values(
    extension: &Extension,
    given: &BTreeMap<String, Json>,
    generate: &mut dyn FnMut() -> String,
) -> Result<Values, Vec<VariableProblem>> {
    let mut problems: Vec<_> = given.keys().filter_map(|name| unknown(extension, name)).collect();
    let mut values = BTreeMap::new();
    for variable in &extension.variables {
        match value(variable, given.get(&variable.name), generate) {
            Ok(value) => drop(values.insert(variable.name.clone(), value)),
            Err(message) => problems.push(VariableProblem { name: variable.name.clone(), message }),
        }
    }
    let bytes: usize = values.values().map(|value| value.text().len()).sum();
    if let Some((longest, _)) = values.iter().max_by_key(|(_, value)| value.text().len()).filter(|_| bytes > MOST_BYTES)
    {
        let message = format!("all values together have more than {MOST_BYTES} bytes; this is the longest one");
        problems.push(VariableProblem { name: longest.clone(), message });
    }
    if problems.is_empty() { Ok(Values(values)) } else { Err(problems) }
}

pub(crate) fn unknown(extension: &Extension, name: &str) -> Option<VariableProblem> {
    if extension.variable(name).is_some() {
        return None;
    }
    let known: Vec<_> = extension.variables.iter().map(|variable| variable.name.as_str()).collect();
    let meant =
        windlass_yaml::nearest(name, &known).map(|meant| format!("; did you mean {meant}?")).unwrap_or_default();
    Some(VariableProblem { name: name.into(), message: format!("the extension has no such variable{meant}") })
}

fn value(variable: &Variable, json: Option<&Json>, generate: &mut dyn FnMut() -> String) -> Result<Value, String> {
    let value = match json {
        Some(json) => given::read(variable.kind, json)?,
        None => None,
    };
    let Some(value) = value.or_else(|| variable.default.clone()) else {
        return absent(variable, generate);
    };
    if variable.is_required && value == Value::Nothing {
        return Err(REQUIRED.into());
    }
    check_pattern(variable, &value)?;
    Ok(value)
}

const REQUIRED: &str = "is required; give a value";

pub(crate) fn absent(variable: &Variable, generate: &mut dyn FnMut() -> String) -> Result<Value, String> {
    match variable.kind {
        VariableType::Secret => (0..MOST_TRIES)
            .map(|_| Value::Secret(generate()))
            .find(|secret| check_pattern(variable, secret).is_ok())
            .ok_or_else(|| "cannot be generated, because of its pattern; give a value".into()),
        _ if variable.is_required => Err(REQUIRED.into()),
        VariableType::Boolean => Ok(Value::Boolean(false)),
        _ => Ok(Value::Nothing),
    }
}

/// Whether the value, or each item of an array, matches the pattern of its variable.
pub(crate) fn check_pattern(variable: &Variable, value: &Value) -> Result<(), String> {
    let Some(pattern) = &variable.pattern else { return Ok(()) };
    let matches = match value {
        Value::Nothing => true,
        Value::Array(items) => items.iter().all(|item| pattern.matches(item)),
        other => pattern.matches(&other.text()),
    };
    if matches { Ok(()) } else { Err(format!("must match the pattern {}", pattern.text)) }
}
