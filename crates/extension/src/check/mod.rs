//! The check: a text becomes an extension, or a list of all that is wrong with it.

mod fields;
pub(crate) mod limits;
pub(crate) mod metadata;
mod properties;
pub(crate) mod steps;
pub(crate) mod variables;

use std::collections::{HashMap, HashSet};

use windlass_yaml::{Limits, Node, Place, Problem, parse};

use crate::extension::{Extension, Variable, VariableType};
use crate::field::{At, INSTALLATION_NAME};
use crate::services::Services;
use crate::template::Template;
use crate::values::Values;
use fields::Found;

pub(crate) use properties::Properties;

/// No more problems are told: these are enough to go on with.
const MOST_PROBLEMS: usize = 100;
/// No more are kept for a while, of which the first ones of the text are told.
const MOST_KEPT: usize = 1000;

pub(crate) const DOCUMENT_KEYS: &[&str] = &["metadata", "variables", "execution"];

/// What the check found. There is an extension if there are no problems.
#[derive(Clone, Debug)]
pub struct Checked {
    pub extension: Option<Extension>,
    /// In the order of the text.
    pub problems: Vec<Problem>,
}

/// Reads the text of an extension.
pub fn check(text: &str) -> Checked {
    let mut checker = Checker::default();
    let extension = match document(text) {
        Ok(node) => checker.extension(&node),
        Err(problem) => {
            checker.problems.push(problem);
            None
        }
    };
    let problems = in_order(checker.problems);
    Checked { extension: extension.filter(|_| problems.is_empty()), problems }
}

/// The first problems of the text, each once.
pub(crate) fn in_order(mut problems: Vec<Problem>) -> Vec<Problem> {
    problems.sort_by(|one, other| one.place.cmp(&other.place).then_with(|| one.path.cmp(&other.path)));
    problems.dedup();
    problems.truncate(MOST_PROBLEMS);
    problems
}

pub(crate) fn document(text: &str) -> Result<Node, Problem> {
    parse(text, &Limits::default())?.merged()
}

/// What is known while a text is read.
#[derive(Default)]
pub(crate) struct Checker {
    pub problems: Vec<Problem>,
    /// The declared variables.
    pub types: HashMap<String, VariableType>,
    /// Those that a user may have to give: nothing is known of their values yet.
    open: HashSet<String>,
    stand_ins: Values,
    services: Services,
}

impl Checker {
    fn extension(&mut self, node: &Node) -> Option<Extension> {
        if node.is_null() {
            self.problem(Place::START, "", "is empty; an extension has metadata and execution");
            return None;
        }
        let document = Found { node, path: String::new() }.map(DOCUMENT_KEYS, self)?;
        let metadata = document.required("metadata", self).and_then(|found| self.metadata(&found));
        let variables = document.get("variables").map(|found| self.variables(&found));
        let variables = variables.unwrap_or_default();
        self.try_with(&variables);
        let kind = metadata.as_ref().map(|metadata| metadata.kind);
        let steps = document.required("execution", self).and_then(|found| self.steps(&found, kind));
        Some(Extension { metadata: metadata?, variables, steps: steps? })
    }

    /// For a document that is read when a step runs.
    pub fn of(extension: &Extension) -> Self {
        let types = extension.variables.iter().map(|variable| (variable.name.clone(), variable.kind)).collect();
        Self { types, ..Self::default() }
    }

    fn try_with(&mut self, variables: &[Variable]) {
        let has_default = |name: &String| variables.iter().any(|known| known.name == *name && known.default.is_some());
        self.open = self.types.keys().filter(|name| !has_default(name)).cloned().collect();
        self.stand_ins = Values::stand_ins(variables);
    }

    pub fn problem(&mut self, place: Place, path: &str, message: impl Into<String>) {
        if self.problems.len() < MOST_KEPT {
            self.problems.push(Problem::new(place, path, message));
        }
    }

    /// A text with names in it, all of which are declared.
    pub fn template(&mut self, text: &str, at: &At) -> Option<Template> {
        let template = match Template::parse(text) {
            Ok(template) => template,
            Err(message) => {
                self.problem(at.place, &at.path, message);
                return None;
            }
        };
        let mut is_known = true;
        for name in template.names() {
            is_known &= self.knows(name, at);
        }
        is_known.then_some(template)
    }

    pub fn knows(&mut self, name: &str, at: &At) -> bool {
        if name == INSTALLATION_NAME || self.types.contains_key(name) {
            return true;
        }
        let known: Vec<_> = self.types.keys().map(String::as_str).chain([INSTALLATION_NAME]).collect();
        let fix = windlass_yaml::nearest(name, &known)
            .map_or_else(|| "declare it under variables".to_owned(), |meant| format!("did you mean {meant}?"));
        self.problem(at.place, &at.path, format!("there is no variable {name}; {fix}"));
        false
    }
}
