//! What was given for each setting, as a flag, in the environment or in the file: texts that are not understood yet.

use std::collections::BTreeMap;

use super::parse::split_list;
use super::setting::{Kind, Setting};
use super::settings;
use crate::vault::ring::{self, Ring};
use windlass_durable::kill_point;

/// The texts that were given for each key.
#[derive(Debug, Default)]
pub struct GivenSettings {
    values: BTreeMap<&'static str, Vec<String>>,
    pub(super) master_key: Option<Ring>,
    pub(super) problems: Vec<String>,
}

impl GivenSettings {
    /// Adds a source. What an earlier one has given stays.
    pub fn add(&mut self, setting: &Setting, values: Vec<String>) {
        self.values.entry(setting.name).or_insert(values);
    }

    /// Something that is wrong before any key is read.
    pub fn add_problem(&mut self, problem: String) {
        self.problems.push(problem);
    }

    pub fn add_environment(&mut self, environment: impl Iterator<Item = (String, String)>) {
        for (name, value) in environment.filter(|(name, _)| name.starts_with("WINDLASS_")) {
            match settings().iter().find(|setting| setting.environment_name() == name) {
                Some(setting) if setting.kind == Kind::List => self.add(setting, split_list(&value)),
                Some(setting) => self.add(setting, vec![value]),
                // Where the file is to be found; read before the settings are.
                None if name == "WINDLASS_CONFIG" => {}
                // Not a setting: a flag would show it to all users of the machine, and a file is what it replaces.
                None if name == ring::VARIABLE => match Ring::parse(&value) {
                    Ok(ring) => self.master_key = Some(ring),
                    Err(problem) => self.problems.push(format!("{name}: {problem}")),
                },
                None if name == kill_point::VARIABLE && cfg!(debug_assertions) => {}
                // Kubernetes puts these into every container beside a service that is called windlass.
                None if name.starts_with("WINDLASS_PORT") || name.starts_with("WINDLASS_SERVICE_") => {}
                None => self.problems.push(format!("{name}: there is no such setting")),
            }
        }
    }

    pub fn add_file(&mut self, name: &str, text: &str) {
        let table: toml::Table = match text.parse() {
            Ok(table) => table,
            Err(error) => return self.problems.push(format!("{name}: {}", without_source(&error, text))),
        };
        for (field, value) in table {
            match settings().iter().find(|setting| setting.file_name() == field) {
                Some(setting) => match texts(setting, value) {
                    Ok(values) => self.add(setting, values),
                    Err(problem) => self.problems.push(format!("{field} in {name}: {problem}")),
                },
                None => self.problems.push(format!("{field} in {name}: there is no such setting")),
            }
        }
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Vec<String>> {
        self.values.remove(name)
    }
}

/// The parser would quote the line, and the line may hold a password.
fn without_source(error: &toml::de::Error, text: &str) -> String {
    let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    format!("line {line}: {}", error.message())
}

fn texts(setting: &Setting, value: toml::Value) -> Result<Vec<String>, String> {
    match value {
        toml::Value::Array(items) if setting.kind == Kind::List => items.into_iter().map(text).collect(),
        value => Ok(vec![text(value)?]),
    }
}

fn text(value: toml::Value) -> Result<String, String> {
    match value {
        toml::Value::String(text) => Ok(text),
        toml::Value::Integer(number) => Ok(number.to_string()),
        toml::Value::Boolean(flag) => Ok(flag.to_string()),
        other => Err(format!("must be text, a number, true or false, not a {}", other.type_str())),
    }
}
