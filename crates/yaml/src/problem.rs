use std::fmt;

use serde::{Deserialize, Serialize};

/// Where something begins in the text. Both count from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    pub line: u32,
    pub column: u32,
}

impl Place {
    pub const START: Self = Self { line: 1, column: 1 };
}

/// A thing that is wrong, where, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    pub place: Place,
    /// Such as `execution.run[2].properties.cmd`; empty for the document.
    pub path: String,
    pub message: String,
}

impl Problem {
    pub fn new(place: Place, path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place, path: path.into(), message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: ", self.place.line, self.place.column)?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

/// The path of what a key of the map at `path` leads to.
pub fn at_key(path: &str, key: &str) -> String {
    if path.is_empty() { shown(key) } else { format!("{path}.{}", shown(key)) }
}

/// The path of an item of the list at `path`.
pub fn at_index(path: &str, index: usize) -> String {
    format!("{path}[{index}]")
}

/// A path is one short line, whatever the keys are.
fn shown(key: &str) -> String {
    const LONGEST: usize = 60;
    let plain: String = key.chars().take(LONGEST).map(|c| if c.is_control() { '?' } else { c }).collect();
    if plain.len() == key.len() { plain } else { format!("{plain}…") }
}
