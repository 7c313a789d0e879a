//! An extension that has been checked.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use windlass_yaml::Place;

use crate::condition::Condition;
use crate::field::At;
use crate::pattern::Pattern;
use crate::task::Task;
use crate::values::Value;

/// An extension without problems.
#[derive(Clone, Debug)]
pub struct Extension {
    pub metadata: Metadata,
    /// In the order of the text.
    pub variables: Vec<Variable>,
    /// Those of `run`, then those of `validate`.
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Metadata {
    pub id: String,
    pub name: String,
    pub description: String,
    pub author: String,
    pub icon: String,
    pub category: String,
    #[serde(rename = "type")]
    pub kind: Kind,
    pub version: String,
}

/// A closed set of words: how each is written, and all of them.
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)+ })+) => {
        $($(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $text)] $variant,)+
        }

        impl $name {
            pub const ALL: &[Self] = &[$(Self::$variant,)+];
            pub const TEXTS: &[&str] = &[$($text,)+];

            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }

            pub fn from_text(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|word| word.as_str() == text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        })+
    };
}

words! {
    /// What becomes of it.
    Kind {
        /// It stays: an installation with containers, volumes and domains of its own.
        Install = "install",
        /// It is done once, and nothing stays that belongs to it.
        Run = "run",
    }
    VariableType {
        String = "string",
        Integer = "integer",
        Boolean = "boolean",
        Array = "array",
        Secret = "secret",
    }
    Phase {
        Run = "run",
        Validate = "validate",
    }
    StepType {
        Command = "command",
        File = "file",
        Service = "service",
        User = "user",
        Package = "package",
        Docker = "docker",
        DockerCompose = "docker_compose",
        Proxy = "proxy",
        Wait = "wait",
    }
}

pub const CATEGORIES: &[&str] = &[
    "Security",
    "Containers",
    "Database",
    "Web Server",
    "Maintenance",
    "Monitoring",
    "Storage",
    "Network",
    "Development",
    "Other",
    "Media",
    "Game",
    "Utility",
    "Productivity",
    "Social",
];

#[derive(Clone, Debug)]
pub struct Variable {
    pub name: String,
    pub kind: VariableType,
    pub description: String,
    pub default: Option<Value>,
    pub is_required: bool,
    pub(crate) pattern: Option<Pattern>,
}

impl Variable {
    pub fn validation_pattern(&self) -> Option<&str> {
        self.pattern.as_ref().map(|pattern| pattern.text.as_str())
    }
}

#[derive(Clone, Debug)]
pub struct Step {
    pub name: String,
    pub phase: Phase,
    pub kind: StepType,
    pub timeout: Duration,
    pub ignore_errors: bool,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) task: Task,
    /// As the author wrote them.
    pub(crate) properties: serde_json::Value,
    pub(crate) place: Place,
    /// Such as `execution.run[2]`.
    pub(crate) path: String,
}

impl Step {
    pub(crate) fn at(&self) -> At {
        At { place: self.place, path: self.path.clone() }
    }

    /// The conditions as the author wrote them. All must hold.
    pub fn conditions(&self) -> impl Iterator<Item = &str> {
        self.conditions.iter().map(|condition| condition.text.as_str())
    }
}

impl Extension {
    pub fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().find(|variable| variable.name == name)
    }
}
