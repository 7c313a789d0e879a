//! Values of the tree on their way to what they mean.

use windlass_yaml::{Node, Place, Value, at_index, at_key, nearest};

use super::Checker;
use crate::template::quoted;

/// A value and where it is.
pub(crate) struct Found<'n> {
    pub node: &'n Node,
    pub path: String,
}

/// A map whose keys are known.
pub(crate) struct Fields<'n> {
    node: &'n Node,
    path: String,
}

impl<'n> Found<'n> {
    pub fn problem(&self, checker: &mut Checker, message: impl Into<String>) {
        checker.problem(self.node.place, &self.path, message);
    }

    fn must_be(&self, what: &str, checker: &mut Checker) {
        self.problem(checker, format!("must be {what}, and is {}", self.node.value.kind()));
    }

    /// A map, after telling of the keys that it must not have.
    pub fn map(&self, known: &[&str], checker: &mut Checker) -> Option<Fields<'n>> {
        for (key, _) in self.any_map(checker)? {
            if !known.contains(&key.text.as_str()) {
                unknown_key(&key.text, key.place, &self.path, known, checker);
            }
        }
        Some(Fields { node: self.node, path: self.path.clone() })
    }

    pub fn any_map(&self, checker: &mut Checker) -> Option<&'n [(windlass_yaml::Key, Node)]> {
        let map = self.node.as_map();
        if map.is_none() {
            self.must_be("a map", checker);
        }
        map
    }

    pub fn list(&self, checker: &mut Checker) -> Option<Vec<Found<'n>>> {
        let Some(items) = self.node.as_list() else {
            self.must_be("a list", checker);
            return None;
        };
        let item = |(index, node)| Found { node, path: at_index(&self.path, index) };
        Some(items.iter().enumerate().map(item).collect())
    }

    pub fn text(&self, checker: &mut Checker) -> Option<&'n str> {
        let text = self.node.as_text();
        if text.is_none() {
            let fix = if self.node.scalar_text().is_some() { "; write it in quotes" } else { "" };
            self.problem(checker, format!("must be a text, and is {}{fix}", self.node.value.kind()));
        }
        text
    }

    /// A text of `min` to `max` characters that a reader can see.
    pub fn line(&self, min: usize, max: usize, checker: &mut Checker) -> Option<String> {
        self.plain(min, max, char::is_control, checker)
    }

    /// Like a line, and there may be several.
    pub fn lines(&self, min: usize, max: usize, checker: &mut Checker) -> Option<String> {
        self.plain(min, max, |c| c.is_control() && c != '\n', checker)
    }

    fn plain(&self, min: usize, max: usize, refused: fn(char) -> bool, checker: &mut Checker) -> Option<String> {
        let text = self.text(checker)?.trim();
        let length = text.chars().count();
        if length < min || length > max {
            let range = if min == 0 { format!("at most {max}") } else { format!("{min} to {max}") };
            self.problem(checker, format!("must have {range} characters, and has {length}"));
            return None;
        }
        if let Some(character) = text.chars().find(|c| refused(*c) || is_deceiving(*c)) {
            self.problem(checker, format!("must not contain the character U+{:04X}; remove it", character as u32));
            return None;
        }
        Some(text.into())
    }

    pub fn boolean(&self, checker: &mut Checker) -> Option<bool> {
        if let Value::Bool(value) = self.node.value {
            return Some(value);
        }
        self.must_be("true or false", checker);
        None
    }

    /// One of the words.
    pub fn word<'w>(&self, words: &[&'w str], checker: &mut Checker) -> Option<&'w str> {
        let text = self.text(checker)?;
        let word = words.iter().copied().find(|word| *word == text);
        if word.is_none() {
            let fix = match nearest(text, words) {
                Some(meant) => format!("did you mean {meant}?"),
                None => format!("use one of: {}", words.join(", ")),
            };
            self.problem(checker, format!("{} is not known; {fix}", quoted(text)));
        }
        word
    }
}

/// Characters that change the direction of what comes after them, so that a text shows as something else.
fn is_deceiving(c: char) -> bool {
    matches!(c, '\u{200B}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{2069}' | '\u{FEFF}')
}

pub(crate) fn unknown_key(key: &str, place: Place, path: &str, known: &[&str], checker: &mut Checker) {
    let fix = match nearest(key, known) {
        Some(meant) => format!("did you mean {meant:?}?"),
        None if known.is_empty() => "remove it".into(),
        None => format!("known are: {}", known.join(", ")),
    };
    checker.problem(place, &at_key(path, key), format!("unknown key {}; {fix}", quoted(key)));
}

impl<'n> Fields<'n> {
    pub fn path_of(&self, key: &str) -> String {
        at_key(&self.path, key)
    }

    pub fn get(&self, key: &str) -> Option<Found<'n>> {
        let node = self.node.get(key)?;
        Some(Found { node, path: self.path_of(key) })
    }

    pub fn required(&self, key: &str, checker: &mut Checker) -> Option<Found<'n>> {
        let found = self.get(key);
        if found.is_none() {
            checker.problem(self.node.place, &self.path, format!("has no {key}; add it"));
        }
        found
    }
}
