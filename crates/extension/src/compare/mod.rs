//! What two sides have made of one text: the author of an extension, and the organization that has forked or installed it.
//!
//! Trees are compared, field by field, so that neither comments nor the way of writing matter. Items of a list that have names of
//! their own, such as steps, are told apart by them. Every other list is one field.

mod merged_text;
mod order;
mod own_values;

use std::collections::HashMap;

use serde_json::{Map, Value as Json};
use windlass_yaml::{Problem, at_key};

use crate::check::document;

pub use merged_text::{MergedText, merged_text};
pub use own_values::{with_defaults, with_values};

/// The same of what both sides came from, and of either side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Three<T> {
    pub before: T,
    pub upstream: T,
    pub own: T,
}

impl<T> Three<T> {
    pub fn map<U>(self, mut make: impl FnMut(T) -> U) -> Three<U> {
        Three { before: make(self.before), upstream: make(self.upstream), own: make(self.own) }
    }

    pub fn as_ref(&self) -> Three<&T> {
        Three { before: &self.before, upstream: &self.upstream, own: &self.own }
    }
}

impl<T> Three<Option<T>> {
    /// If none of them is missing.
    fn all(self) -> Option<Three<T>> {
        Some(Three { before: self.before?, upstream: self.upstream?, own: self.own? })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Upstream,
    Own,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangedBy {
    Upstream,
    Own,
    /// Both have made the same of it.
    Both,
    /// Each has made something else of it.
    Conflict,
}

/// A field that is not everywhere what it was.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Such as `variables.port.default`, or `execution.run[Start it].timeout`.
    pub path: String,
    pub by: ChangedBy,
    /// None where it is not there.
    pub values: Three<Option<Json>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    pub changes: Vec<Change>,
    /// The changes of both sides together.
    pub merged: Json,
}

impl Comparison {
    /// What upstream has changed that is not the same here.
    pub fn of_upstream(&self) -> usize {
        self.changes.iter().filter(|change| matches!(change.by, ChangedBy::Upstream | ChangedBy::Conflict)).count()
    }

    pub fn conflicts(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(|change| change.by == ChangedBy::Conflict)
    }
}

/// The text of an extension as a tree. A draft may have one too.
pub fn tree(text: &str) -> Result<Json, Problem> {
    Ok(document(text)?.to_json())
}

/// Where both sides have changed the same field, `first` says whose change counts.
pub fn compare(trees: Three<&Json>, first: Side) -> Comparison {
    let mut walk = Walk { first, changes: Vec::new() };
    let merged = walk.value("", trees.map(Some)).unwrap_or_default();
    Comparison { changes: walk.changes, merged }
}

struct Walk {
    first: Side,
    changes: Vec<Change>,
}

impl Walk {
    /// What comes out; none if it is to be gone.
    fn value(&mut self, path: &str, three: Three<Option<&Json>>) -> Option<Json> {
        if three.before == three.upstream && three.before == three.own {
            return three.own.cloned();
        }
        if let Some(maps) = three.map(|value| value.and_then(Json::as_object)).all() {
            return Some(self.map(path, maps));
        }
        if let Some(lists) = three.map(|value| value.and_then(by_name)).all() {
            return Some(self.list(path, &lists));
        }
        self.field(path, three)
    }

    fn field(&mut self, path: &str, three: Three<Option<&Json>>) -> Option<Json> {
        let (by, winner) = match three {
            Three { upstream, own, .. } if upstream == own => (ChangedBy::Both, own),
            Three { before, upstream, own } if upstream == before => (ChangedBy::Own, own),
            Three { before, upstream, own } if own == before => (ChangedBy::Upstream, upstream),
            Three { upstream, own, .. } => (ChangedBy::Conflict, self.first.of(upstream, own)),
        };
        self.changes.push(Change { path: path.to_owned(), by, values: three.map(Option::<&Json>::cloned) });
        winner.cloned()
    }

    fn map(&mut self, path: &str, maps: Three<&Map<String, Json>>) -> Json {
        let names = maps.map(|map| map.keys().map(String::as_str).collect::<Vec<_>>());
        let mut merged = Map::new();
        for name in order::names(names.as_ref().map(Vec::as_slice), self.first).items {
            if let Some(value) = self.value(&at_key(path, name), maps.map(|map| map.get(name))) {
                merged.insert(name.to_owned(), value);
            }
        }
        Json::Object(merged)
    }

    /// Of items with names. Their order is one field more.
    fn list(&mut self, path: &str, lists: &Three<Named<'_>>) -> Json {
        let order = order::names(lists.as_ref().map(|list| list.names.as_slice()), self.first);
        self.compare_order(path, lists, order.meets);
        let mut merged = Vec::new();
        for name in order.items {
            let path = format!("{path}[{}]", at_key("", name));
            merged.extend(self.value(&path, lists.as_ref().map(|list| list.items.get(name).copied())));
        }
        Json::Array(merged)
    }

    /// Of those that are there on all sides; what is added or gone is told by itself. If both have put something at the same place, it
    /// is not known what comes first.
    fn compare_order(&mut self, path: &str, lists: &Three<Named<'_>>, meets: bool) {
        let Three { before, upstream, own } = lists;
        let is_everywhere = |name: &&str| [before, upstream, own].iter().all(|list| list.items.contains_key(*name));
        let shown = |names: Vec<&str>| Json::from(names);
        if meets {
            let values = lists.as_ref().map(|list| Some(shown(list.names.clone())));
            self.changes.push(Change { path: path.to_owned(), by: ChangedBy::Conflict, values });
            return;
        }
        let common =
            lists.as_ref().map(|list| shown(list.names.iter().copied().filter(is_everywhere).collect::<Vec<_>>()));
        if common.before != common.upstream || common.before != common.own {
            self.field(path, common.as_ref().map(Some));
        }
    }
}

impl Side {
    fn of<T>(self, upstream: T, own: T) -> T {
        match self {
            Self::Upstream => upstream,
            Self::Own => own,
        }
    }
}

/// A list in which every item has a name, and each another one.
struct Named<'a> {
    names: Vec<&'a str>,
    items: HashMap<&'a str, &'a Json>,
}

fn by_name(value: &Json) -> Option<Named<'_>> {
    let list = value.as_array()?;
    let names: Vec<&str> = list.iter().map(|item| item.get("name")?.as_str()).collect::<Option<_>>()?;
    let items: HashMap<&str, &Json> = names.iter().copied().zip(list).collect();
    (items.len() == names.len()).then_some(Named { names, items })
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
