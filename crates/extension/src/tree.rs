//! A document with names in its texts that values take the place of. Keys are never replaced, so a value cannot add one.

use std::borrow::Cow;
use std::collections::HashSet;

use windlass_yaml::{Key, Node, Place, Value, at_index, at_key};

use crate::check::Checker;
use crate::field::{At, Resolving};
use crate::template::Template;

#[derive(Clone, Debug)]
pub(crate) enum Tree {
    /// Anything in which no name stands.
    Plain(Node),
    Text(Template, Place),
    List(Vec<Tree>, Place),
    Map(Vec<(Key, Tree)>, Place),
}

impl Tree {
    /// None if there is a problem.
    pub fn read(node: &Node, path: &str, checker: &mut Checker) -> Option<Self> {
        match &node.value {
            Value::Text(text) => {
                let at = At { place: node.place, path: path.into() };
                Some(match checker.template(text, &at)? {
                    template if template.names().next().is_some() => Self::Text(template, node.place),
                    template => {
                        let text = template.literal().unwrap_or_default().to_owned();
                        Self::Plain(Node::new(Value::Text(text), node.place))
                    }
                })
            }
            Value::List(items) => {
                let items = items.iter().enumerate();
                let items: Vec<_> =
                    items.map(|(index, item)| Self::read(item, &at_index(path, index), checker)).collect();
                Some(Self::List(items.into_iter().collect::<Option<_>>()?, node.place))
            }
            Value::Map(entries) => {
                let entries: Vec<_> = entries.iter().map(|entry| Self::entry(entry, path, checker)).collect();
                Some(Self::Map(entries.into_iter().collect::<Option<_>>()?, node.place))
            }
            Value::Null | Value::Bool(_) | Value::Integer(_) | Value::Float(_) => Some(Self::Plain(node.clone())),
        }
    }

    fn entry((key, node): &(Key, Node), path: &str, checker: &mut Checker) -> Option<(Key, Self)> {
        let path = at_key(path, &key.text);
        if key.text.contains("{{") {
            checker.problem(key.place, &path, "values are not put into keys; write the key out");
            return None;
        }
        Some((key.clone(), Self::read(node, &path, checker)?))
    }

    pub fn place(&self) -> Place {
        match self {
            Self::Plain(node) => node.place,
            Self::Text(_, place) | Self::List(_, place) | Self::Map(_, place) => *place,
        }
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        match self {
            Self::Map(entries, _) => entries.iter_mut().find(|(known, _)| known.text == key).map(|(_, tree)| tree),
            _ => None,
        }
    }

    /// The tree with every value in its place. The `$` of a value is doubled, because Compose would look for a variable behind it.
    pub fn fill(&self, path: &str, resolving: &mut Resolving<'_>) -> Option<Node> {
        let (value, place) = match self {
            Self::Plain(node) => return Some(node.clone()),
            Self::Text(template, place) => {
                let at = At { place: *place, path: path.into() };
                (Value::Text(resolving.text(template, &at, doubled)?), *place)
            }
            Self::List(items, place) => {
                let items = items.iter().enumerate();
                let items: Vec<_> = items.map(|(index, item)| item.fill(&at_index(path, index), resolving)).collect();
                (Value::List(items.into_iter().collect::<Option<_>>()?), *place)
            }
            Self::Map(entries, place) => {
                let entry = |(key, tree): &(Key, Self)| {
                    let node = tree.fill(&at_key(path, &key.text), resolving)?;
                    Some((key.clone(), node))
                };
                let entries: Vec<_> = entries.iter().map(entry).collect();
                (Value::Map(entries.into_iter().collect::<Option<_>>()?), *place)
            }
        };
        Some(Node::new(value, place))
    }

    /// The places of all texts that depend on a variable for which `is_meant` holds, in either way of naming one.
    pub fn places_of(&self, is_meant: &dyn Fn(&str) -> bool, places: &mut HashSet<Place>) {
        match self {
            Self::Plain(node) => plain_places(node, is_meant, places),
            Self::Text(template, place) => {
                let is_meant_here =
                    template.names().any(is_meant) || template.literals().any(|text| dollar_names(text).any(is_meant));
                if is_meant_here {
                    places.insert(*place);
                }
            }
            Self::List(items, _) => items.iter().for_each(|item| item.places_of(is_meant, places)),
            Self::Map(entries, _) => entries.iter().for_each(|(_, tree)| tree.places_of(is_meant, places)),
        }
    }
}

fn plain_places(node: &Node, is_meant: &dyn Fn(&str) -> bool, places: &mut HashSet<Place>) {
    if node.as_text().is_some_and(|text| dollar_names(text).any(is_meant)) {
        places.insert(node.place);
    }
}

/// The words behind each `$` and `${`. More than Compose would find, which is safe here.
fn dollar_names(text: &str) -> impl Iterator<Item = &str> {
    text.split('$').skip(1).map(|rest| {
        let rest = rest.strip_prefix('{').unwrap_or(rest);
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        &rest[..end]
    })
}

fn doubled(value: Cow<'_, str>) -> Cow<'_, str> {
    if value.contains('$') { Cow::Owned(value.replace('$', "$$")) } else { value }
}
