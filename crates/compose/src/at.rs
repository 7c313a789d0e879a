use std::ops::RangeInclusive;

use windlass_yaml::{Key, Node, Value, at_index, at_key};

use crate::bounds::{LONGEST_TEXT, MOST_ITEMS};
use crate::keys;
use crate::problems::{Problems, shown};

/// A value of the document and its path. Each function reads it as something, or adds a problem that says why it is not.
#[derive(Clone)]
pub struct At<'a> {
    pub node: &'a Node,
    pub path: String,
}

impl<'a> At<'a> {
    pub fn new(node: &'a Node, path: impl Into<String>) -> Self {
        Self { node, path: path.into() }
    }

    pub fn problem(&self, problems: &mut Problems, message: impl Into<String>) {
        problems.add(self.node.place, &self.path, message);
    }

    fn must_be(&self, what: &str, problems: &mut Problems) {
        self.problem(problems, format!("must be {what}, and is {}", self.node.value.kind()));
    }

    /// The items of a list; none for nothing.
    pub fn items(&self, problems: &mut Problems) -> Vec<At<'a>> {
        match &self.node.value {
            Value::Null => Vec::new(),
            Value::List(items) if items.len() > MOST_ITEMS => {
                self.problem(problems, format!("has {} items; at most {MOST_ITEMS} are allowed", items.len()));
                Vec::new()
            }
            Value::List(items) => {
                items.iter().enumerate().map(|(index, node)| Self::new(node, at_index(&self.path, index))).collect()
            }
            _ => {
                self.must_be("a list", problems);
                Vec::new()
            }
        }
    }

    /// One value, or a list of them.
    pub fn one_or_more(&self, problems: &mut Problems) -> Vec<At<'a>> {
        if self.node.scalar_text().is_some() { vec![self.clone()] } else { self.items(problems) }
    }

    /// The entries of a map, without those that begin with `x-`; none for nothing.
    pub fn entries(&self, most: usize, problems: &mut Problems) -> Vec<(&'a Key, At<'a>)> {
        match &self.node.value {
            Value::Null => Vec::new(),
            Value::Map(entries) if entries.len() > most => {
                self.problem(problems, format!("has {} entries; at most {most} are allowed", entries.len()));
                Vec::new()
            }
            Value::Map(entries) => {
                let at = |(key, node): &'a (Key, Node)| (key, Self::new(node, at_key(&self.path, &key.text)));
                entries.iter().map(at).filter(|(key, _)| !key.text.starts_with("x-")).collect()
            }
            _ => {
                self.must_be("a map", problems);
                Vec::new()
            }
        }
    }

    /// The entries of a map that may have only these keys. Entries without a value are left out.
    pub fn fields(&self, known: &[&str], problems: &mut Problems) -> Vec<(&'a str, At<'a>)> {
        let mut fields = Vec::new();
        for (key, at) in self.entries(MOST_ITEMS, problems) {
            if !known.contains(&key.text.as_str()) {
                problems.add(key.place, &at.path, keys::unknown(&key.text, known));
            } else if !at.is_blank() {
                fields.push((key.text.as_str(), at));
            }
        }
        fields
    }

    /// Nothing, or a text without letters, which is what a variable without a value leaves.
    pub fn is_blank(&self) -> bool {
        self.node.is_null() || self.node.as_text() == Some("")
    }

    /// A text, or what can stand for one.
    pub fn text(&self, problems: &mut Problems) -> Option<String> {
        let Some(text) = self.node.scalar_text() else {
            self.must_be("a text", problems);
            return None;
        };
        if text.len() > LONGEST_TEXT || text.contains('\0') {
            self.problem(problems, format!("must be a text of at most {LONGEST_TEXT} bytes, without the character 0"));
            return None;
        }
        Some(text.into_owned())
    }

    /// What a function makes of the text.
    pub fn parse<T>(&self, problems: &mut Problems, parse: impl FnOnce(&str) -> Result<T, String>) -> Option<T> {
        let text = self.text(problems)?;
        parse(text.trim()).map_err(|message| self.problem(problems, message)).ok()
    }

    /// Each of one or more texts.
    pub fn parse_each<T>(&self, problems: &mut Problems, parse: impl Fn(&str) -> Result<T, String>) -> Vec<T> {
        let items = self.one_or_more(problems);
        items.into_iter().filter_map(|item| item.parse(problems, &parse)).collect()
    }

    pub fn boolean(&self, problems: &mut Problems) -> Option<bool> {
        self.parse(problems, |text| match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Ok(true),
            "false" | "no" | "off" | "0" => Ok(false),
            _ => Err(format!("must be true or false, and is {}", shown(text))),
        })
    }

    pub fn number(&self, range: RangeInclusive<i64>, problems: &mut Problems) -> Option<i64> {
        self.parse(problems, |text| {
            let number = text.parse().ok().filter(|number| range.contains(number));
            number.ok_or_else(|| {
                format!("must be a whole number from {} to {}, and is {}", range.start(), range.end(), shown(text))
            })
        })
    }
}
