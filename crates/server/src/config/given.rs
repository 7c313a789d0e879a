//! What was given for each setting, by whatever way: texts that are not understood yet.

use std::collections::BTreeMap;
use std::str::FromStr;

use super::keys::{KEYS, Key};
use crate::vault::ring::{self, Ring};
use windlass_durable::kill_point;

/// The texts that were given for each key, by whatever way.
#[derive(Debug, Default)]
pub struct Given {
    values: BTreeMap<&'static str, Vec<String>>,
    pub(super) master_key: Option<Ring>,
    pub(super) problems: Vec<String>,
}

impl Given {
    /// Adds a source. What an earlier one has given stays.
    pub fn add(&mut self, key: &'static Key, values: Vec<String>) {
        self.values.entry(key.name).or_insert(values);
    }

    /// Something that is wrong before any key is read.
    pub fn add_problem(&mut self, problem: String) {
        self.problems.push(problem);
    }

    pub fn add_environment(&mut self, environment: impl Iterator<Item = (String, String)>) {
        for (name, value) in environment.filter(|(name, _)| name.starts_with("WINDLASS_")) {
            match KEYS.iter().find(|key| key.environment_name() == name) {
                Some(key) if key.is_list => self.add(key, split_list(&value)),
                Some(key) => self.add(key, vec![value]),
                // Where the file is to be found; read before the settings are.
                None if name == "WINDLASS_CONFIG" => {}
                // Not a setting: a flag would show it to everybody on the machine, and a file is what it replaces.
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
            match KEYS.iter().find(|key| key.file_name() == field) {
                Some(key) => match texts(key, value) {
                    Ok(values) => self.add(key, values),
                    Err(problem) => self.problems.push(format!("{field} in {name}: {problem}")),
                },
                None => self.problems.push(format!("{field} in {name}: there is no such setting")),
            }
        }
    }

    pub(super) fn all(&self, name: &str) -> Vec<String> {
        let default = || KEYS.iter().filter(|key| key.name == name).flat_map(|key| split_list(key.default)).collect();
        self.values.get(name).cloned().unwrap_or_else(default)
    }

    pub(super) fn one(&self, name: &str) -> String {
        self.all(name).into_iter().next().unwrap_or_default()
    }

    /// Reads one key; a problem is noted and some value returned, so that the reading goes on.
    pub(super) fn read<T>(&mut self, name: &str, parse: impl FnOnce(&str) -> Result<T, String>) -> Option<T> {
        let text = self.one(name);
        parse(&text).map_err(|problem| self.note(name, &text, &problem)).ok()
    }

    pub(super) fn number<T>(&mut self, name: &str, range: std::ops::RangeInclusive<T>) -> Option<T>
    where
        T: FromStr + PartialOrd + std::fmt::Display,
    {
        let problem = format!("must be a whole number from {} to {}", range.start(), range.end());
        self.read(name, |text| text.parse().ok().filter(|number| range.contains(number)).ok_or(problem))
    }

    pub(super) fn note(&mut self, name: &str, text: &str, problem: &str) {
        // A database URL holds a password.
        let shown = if name == "database-url" { String::new() } else { format!(" (it is {text:?})") };
        self.problems.push(format!("{name}: {problem}{shown}"));
    }
}

/// The parser would quote the line, and the line may hold a password.
fn without_source(error: &toml::de::Error, text: &str) -> String {
    let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    format!("line {line}: {}", error.message())
}

fn split_list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

fn texts(key: &Key, value: toml::Value) -> Result<Vec<String>, String> {
    match value {
        toml::Value::Array(items) if key.is_list => items.into_iter().map(text).collect(),
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
