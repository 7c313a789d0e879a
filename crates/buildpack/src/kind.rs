use std::fmt;

use serde::{Deserialize, Serialize};

/// What an application is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Node,
    Python,
    Go,
    Rust,
    Ruby,
    Php,
    Java,
    Dotnet,
    Deno,
    Elixir,
    /// Files that are served as they are.
    Static,
    /// Only a `Procfile` says what runs.
    Procfile,
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Node => "Node",
            Self::Python => "Python",
            Self::Go => "Go",
            Self::Rust => "Rust",
            Self::Ruby => "Ruby",
            Self::Php => "PHP",
            Self::Java => "Java",
            Self::Dotnet => ".NET",
            Self::Deno => "Deno",
            Self::Elixir => "Elixir",
            Self::Static => "static files",
            Self::Procfile => "a Procfile",
        })
    }
}
