use std::collections::HashSet;

use windlass_yaml::{Place, Problem};

/// These are enough to see what is wrong.
const MOST: usize = 100;

/// All problems of a document.
#[derive(Default)]
pub struct Problems {
    list: Vec<Problem>,
    /// Scalars whose variables have no value: what is wrong about such a text follows from that.
    unresolved: HashSet<Place>,
}

impl Problems {
    pub fn add(&mut self, place: Place, path: &str, message: impl Into<String>) {
        if self.list.len() < MOST && !self.unresolved.contains(&place) {
            self.list.push(Problem::new(place, path, message));
        }
    }

    pub fn add_unresolved(&mut self, place: Place, path: &str, message: String) {
        self.add(place, path, message);
        self.unresolved.insert(place);
    }

    /// The problems in the order of the text, if there are any.
    pub fn into_result<T>(mut self, value: T) -> Result<T, Vec<Problem>> {
        if self.list.is_empty() {
            return Ok(value);
        }
        self.list.sort_by_key(|a| a.place);
        // Aliases are copies: what is wrong in one is wrong in all of them, at the same place.
        self.list.dedup_by(|a, b| a.place == b.place && a.message == b.message);
        Err(self.list)
    }
}

/// A text of the document as a message shows it: on one line, and not too long.
pub fn shown(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut start: String = text.chars().take(LONGEST).collect();
    if start.len() < text.len() {
        start.push('…');
    }
    format!("{start:?}")
}
