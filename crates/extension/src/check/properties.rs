//! The properties of one step, while they are read.

use windlass_yaml::{Node, Value, at_key};

use super::Checker;
use super::fields::{Found, unknown_key};
use crate::extension::StepType;
use crate::field::{At, Field};
use crate::rules::Rule;
use crate::shell;
use crate::task::shape::{REFUSED, REFUSED_ACTIONS, Shape, has_action, shapes};

/// The properties of one step, and where to tell of problems.
pub(crate) struct Properties<'n, 'c> {
    node: &'n Node,
    path: String,
    kind: StepType,
    shape: &'static Shape,
    checker: &'c mut Checker,
}

impl<'n, 'c> Properties<'n, 'c> {
    /// None if it is not even known what the step is to do.
    pub fn open(found: &Found<'n>, kind: StepType, checker: &'c mut Checker) -> Option<Self> {
        let entries = found.any_map(checker)?;
        let shape = shape_of(found, kind, checker)?;
        for (key, _) in entries {
            check_key(&key.text, key.place, &found.path, shape, checker);
        }
        for key in shape.required {
            if found.node.get(key).is_none() {
                let what = shape.action.map(|action| format!(" for {action}")).unwrap_or_default();
                found.problem(checker, format!("has no {key}, which a step of type {kind} needs{what}; add it"));
            }
        }
        Some(Self { node: found.node, path: found.path.clone(), kind, shape, checker })
    }

    pub fn kind(&self) -> StepType {
        self.kind
    }

    pub fn action(&self) -> Option<&'static str> {
        self.shape.action
    }

    pub fn has(&self, key: &str) -> bool {
        self.node.get(key).is_some()
    }

    pub fn checker(&mut self) -> &mut Checker {
        self.checker
    }

    /// Where all of them are.
    pub fn at(&self) -> At {
        At { place: self.node.place, path: self.path.clone() }
    }

    /// A value as it stands, and its path.
    pub fn value(&self, key: &str) -> Option<(&'n Node, String)> {
        self.get(key).map(|found| (found.node, found.path))
    }

    /// A map as it stands, and its path.
    pub fn map(&mut self, key: &str) -> Option<(&'n Node, String)> {
        let found = self.get(key)?;
        if found.node.as_text().is_some() {
            found.problem(self.checker, "must be the document itself, and is a text; remove the | behind the key");
            return None;
        }
        found.any_map(self.checker)?;
        Some((found.node, found.path))
    }

    fn get(&self, key: &str) -> Option<Found<'n>> {
        // What the shape does not know was told already.
        let node = self.node.get(key).filter(|_| self.shape.knows(key))?;
        Some(Found { node, path: at_key(&self.path, key) })
    }

    /// A problem of one property, or of all of them if the key is empty.
    pub fn problem(&mut self, key: &str, message: &str) {
        match self.get(key) {
            Some(found) => found.problem(self.checker, message),
            None => self.checker.problem(self.node.place, &self.path, message),
        }
    }

    /// A number would not be what its digits look like.
    pub fn wants_text(&mut self, key: &str) {
        if let Some(found) = self.get(key).filter(|found| !matches!(found.node.value, Value::Text(_))) {
            found.text(self.checker);
        }
    }

    pub fn field<T>(&mut self, key: &str, rule: Rule<T>) -> Option<Field<T>> {
        let found = self.get(key)?;
        self.field_of(&found, rule)
    }

    /// A list of texts, or one text with commas.
    pub fn items(&mut self, key: &str, rule: Rule<String>) -> Vec<Field<String>> {
        let Some(found) = self.get(key) else { return Vec::new() };
        let items = match found.node.as_list() {
            Some(_) => found.list(self.checker).unwrap_or_default(),
            None => vec![Found { node: found.node, path: found.path.clone() }],
        };
        let fields: Vec<_> = items.iter().flat_map(|item| self.separated(item, rule)).collect();
        if items.is_empty() {
            found.problem(self.checker, "must not be empty");
        }
        fields
    }

    /// The commas are those of the author: one in a value does not make two texts of it.
    fn separated(&mut self, found: &Found<'n>, rule: Rule<String>) -> Vec<Field<String>> {
        match found.node.scalar_text() {
            Some(text) => text.split(',').filter_map(|part| self.field_with(found, part.trim(), rule)).collect(),
            None => self.field_of(found, rule).into_iter().collect(),
        }
    }

    fn field_of<T>(&mut self, found: &Found<'n>, rule: Rule<T>) -> Option<Field<T>> {
        let Some(text) = found.node.scalar_text() else {
            found.problem(self.checker, format!("must be a text, and is {}", found.node.value.kind()));
            return None;
        };
        self.field_with(found, &text, rule)
    }

    fn field_with<T>(&mut self, found: &Found<'n>, text: &str, rule: Rule<T>) -> Option<Field<T>> {
        let at = At { place: found.node.place, path: found.path.clone() };
        let template = self.checker.template(text, &at)?;
        if let Some(Err(message)) = template.literal().map(rule) {
            found.problem(self.checker, message);
            return None;
        }
        Some(Field { template, rule, at })
    }

    /// The text of a command, in which values are expanded by the shell.
    pub fn script(&mut self, key: &str) -> Option<String> {
        let found = self.get(key)?;
        let text = found.text(self.checker)?;
        if text.trim().is_empty() || text.contains('\0') {
            let what = if text.contains('\0') { "has the character U+0000 in it" } else { "is empty" };
            found.problem(self.checker, format!("must be a command, and {what}"));
            return None;
        }
        let at = At { place: found.node.place, path: found.path.clone() };
        let template = self.checker.template(text, &at)?;
        match shell::script(&template) {
            Ok(script) => Some(script),
            Err(messages) => {
                for message in messages {
                    found.problem(self.checker, message);
                }
                None
            }
        }
    }

    /// One of the words, which no value can change.
    pub fn word(&mut self, key: &str, words: &[&'static str]) -> Option<&'static str> {
        self.get(key)?.word(words, self.checker)
    }
}

/// The shape that fits the action of the step.
fn shape_of(found: &Found<'_>, kind: StepType, checker: &mut Checker) -> Option<&'static Shape> {
    if !has_action(kind) {
        return shapes(kind).next();
    }
    let Some(node) = found.node.get("action") else {
        found.problem(checker, "has no action; add it");
        return None;
    };
    let action = Found { node, path: at_key(&found.path, "action") };
    if let Some((_, _, fix)) = REFUSED_ACTIONS.iter().find(|(of, text, _)| *of == kind && node.as_text() == Some(text))
    {
        action.problem(checker, format!("is not supported; {fix}"));
        return None;
    }
    let words: Vec<_> = shapes(kind).filter_map(|shape| shape.action).collect();
    let word = action.word(&words, checker)?;
    shapes(kind).find(|shape| shape.action == Some(word))
}

fn check_key(key: &str, place: windlass_yaml::Place, path: &str, shape: &Shape, checker: &mut Checker) {
    if shape.knows(key) {
        return;
    }
    let path_of_key = at_key(path, key);
    if let Some((_, _, reason)) = REFUSED.iter().find(|(kind, refused, _)| *kind == shape.kind && *refused == key) {
        checker.problem(place, &path_of_key, format!("is not supported: {reason}; leave it out"));
    } else if let Some(action) = shape.action.filter(|_| shapes(shape.kind).any(|other| other.knows(key))) {
        checker.problem(place, &path_of_key, format!("has no meaning for the action {action}; leave it out"));
    } else {
        let known: Vec<_> = shape.keys().collect();
        unknown_key(key, place, path, &known, checker);
    }
}
