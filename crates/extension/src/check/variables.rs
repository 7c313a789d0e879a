//! What a user is asked for.

use windlass_yaml::at_key;

use super::Checker;
use super::fields::{Fields, Found};
use super::limits::DESCRIPTION;
use crate::extension::{Variable, VariableType};
use crate::field::INSTALLATION_NAME;
use crate::given;
use crate::pattern::Pattern;
use crate::template::is_name;
use crate::values::{Value, check_pattern};

pub(crate) const KEYS: &[&str] = &["type", "description", "default", "is_required", "validation_pattern"];
pub(crate) const MOST: usize = 100;
const LONGEST_NAME: usize = 100;

/// Variables are given to commands in the environment, where these names mean something to the shell and to many programs.
const RESERVED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "IFS",
    "ENV",
    "PWD",
    "OLDPWD",
    "TERM",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "CDPATH",
    "MAIL",
    "PS1",
    "PS2",
    "PS3",
    "PS4",
    "PPID",
    "UID",
    "EUID",
    "OPTIND",
    "OPTARG",
    "OPTERR",
    "SHELLOPTS",
    "BASHOPTS",
    "GLOBIGNORE",
    "NODE_OPTIONS",
    "PERL5LIB",
    "PERL5OPT",
    "RUBYOPT",
    "_",
];
const RESERVED_BEGINNINGS: &[&str] =
    &["LD_", "LC_", "WINDLASS_", "BASH_", "SUDO_", "GIT_", "PYTHON", "DOCKER_", "APT_", "DPKG_"];

impl Checker {
    pub(super) fn variables(&mut self, found: &Found<'_>) -> Vec<Variable> {
        if found.node.is_null() {
            return Vec::new();
        }
        let Some(entries) = found.any_map(self) else { return Vec::new() };
        if entries.len() > MOST {
            found.problem(self, format!("must have at most {MOST} variables, and has {}", entries.len()));
            return Vec::new();
        }
        let mut variables = Vec::new();
        for (key, node) in entries {
            let path = at_key(&found.path, &key.text);
            if let Some(message) = name_problem(&key.text) {
                self.problem(key.place, &path, message);
            }
            // A name that was meant to be there is known, so that its mistake is told once and not for each use.
            let variable = self.variable(&key.text, &Found { node, path }).unwrap_or_else(|| unread(&key.text));
            self.types.insert(key.text.clone(), variable.kind);
            variables.push(variable);
        }
        variables
    }

    fn variable(&mut self, name: &str, found: &Found<'_>) -> Option<Variable> {
        let map = found.map(KEYS, self)?;
        let kind = map.required("type", self).and_then(|found| found.word(VariableType::TEXTS, self));
        let description = map.get("description").map_or(Some(String::new()), |found| found.lines(0, DESCRIPTION, self));
        let is_required = map.get("is_required").map_or(Some(false), |found| found.boolean(self));
        let pattern = match map.get("validation_pattern") {
            Some(found) if !found.node.is_null() => Some(self.pattern(&found)?),
            _ => None,
        };
        let mut variable = Variable {
            name: name.into(),
            kind: VariableType::from_text(kind?)?,
            description: description?,
            default: None,
            is_required: is_required?,
            pattern,
        };
        variable.default = self.default(&map, &variable);
        Some(variable)
    }

    fn pattern(&mut self, found: &Found<'_>) -> Option<Pattern> {
        match Pattern::parse(found.text(self)?) {
            Ok(pattern) => Some(pattern),
            Err(message) => {
                found.problem(self, message);
                None
            }
        }
    }

    fn default(&mut self, map: &Fields<'_>, variable: &Variable) -> Option<Value> {
        let found = map.get("default").filter(|found| !found.node.is_null())?;
        if variable.kind == VariableType::Secret {
            found.problem(
                self,
                "a secret has no default, because all would know it; leave it out, and one is generated",
            );
            return None;
        }
        let value = match (variable.kind, found.node.scalar_text()) {
            // `default: 8080` for a text is what it looks like.
            (VariableType::String, Some(text)) => given::read(variable.kind, &text.into()),
            _ => given::read(variable.kind, &found.node.to_json()),
        };
        let value = value
            .and_then(|value| value.as_ref().map_or(Ok(()), |value| check_pattern(variable, value)).map(|()| value));
        match value {
            Ok(value) => value.filter(|value| *value != Value::Nothing),
            Err(message) => {
                found.problem(self, message);
                None
            }
        }
    }
}

/// Stands for a variable that has a problem.
fn unread(name: &str) -> Variable {
    Variable {
        name: name.into(),
        kind: VariableType::String,
        description: String::new(),
        default: None,
        is_required: false,
        pattern: None,
    }
}

fn name_problem(name: &str) -> Option<String> {
    if !is_name(name) || name.len() > LONGEST_NAME {
        let message = format!("a variable's name has letters, digits and _, no digit first, at most {LONGEST_NAME}");
        return Some(message);
    }
    if name == INSTALLATION_NAME {
        return Some("this name is always there, with the name of the installation; use another one".into());
    }
    let is_reserved = RESERVED.contains(&name) || RESERVED_BEGINNINGS.iter().any(|first| name.starts_with(first));
    is_reserved.then(|| "this name means something to programs in the environment of a command; use another one".into())
}
