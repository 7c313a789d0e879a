//! A text of a step that values are put into, and the rule for what comes out.

use std::borrow::Cow;
use std::collections::HashSet;

use windlass_yaml::{Place, Problem};

use crate::rules::Rule;
use crate::template::{Part, Template};
use crate::values::{Value, Values};

/// The name that every template may use besides the variables.
pub(crate) const INSTALLATION_NAME: &str = "installation_name";

/// The rule is kept beside the text, so that no value gets past it.
#[derive(Clone, Debug)]
pub(crate) struct Field<T> {
    pub template: Template,
    pub rule: Rule<T>,
    pub at: At,
}

impl<T> Field<T> {
    /// Adds the place of the text if it depends on a variable for which `is_meant` holds.
    pub fn place_if(&self, is_meant: &dyn Fn(&str) -> bool, places: &mut HashSet<Place>) {
        if self.template.names().any(is_meant) {
            places.insert(self.at.place);
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct At {
    pub place: Place,
    pub path: String,
}

/// All values of a run, as the steps are given them.
pub(crate) struct Resolving<'a> {
    values: &'a Values,
    installation_name: &'a str,
    /// How many bytes may still come out: a short text can name a long value many times.
    budget: usize,
    pub problems: Vec<Problem>,
}

const MOST_BYTES: usize = 4 * 1024 * 1024;
const MOST_ITEMS: usize = 100;

impl<'a> Resolving<'a> {
    pub fn new(values: &'a Values, installation_name: &'a str) -> Self {
        Self { values, installation_name, budget: MOST_BYTES, problems: Vec::new() }
    }

    pub fn value(&self, name: &str) -> Option<Cow<'a, str>> {
        match name {
            INSTALLATION_NAME => Some(Cow::Borrowed(self.installation_name)),
            _ => self.values.text(name),
        }
    }

    pub fn is_secret(&self, name: &str) -> bool {
        self.values.is_secret(name)
    }

    /// A problem of a Compose document at `path`. Its message may show the text, so it is not told where a secret is in it.
    pub fn compose_problem(&mut self, problem: Problem, path: String, secret_places: &HashSet<Place>) {
        let message = if secret_places.contains(&problem.place) {
            "does not have the form that is wanted here; it comes from a secret".into()
        } else {
            problem.message
        };
        self.problems.push(Problem::new(problem.place, path, message));
    }

    pub fn problem(&mut self, at: &At, message: impl Into<String>) {
        self.problems.push(Problem::new(at.place, at.path.as_str(), message));
    }

    /// The text, `shape`d value by value. None if a problem was found.
    pub fn text(&mut self, template: &Template, at: &At, shape: fn(Cow<'_, str>) -> Cow<'_, str>) -> Option<String> {
        let size: usize = template.size(|name| self.value(name).map_or(0, |value| shape(value).len()));
        if size > self.budget {
            self.problem(at, format!("with their values, the texts of all steps have more than {MOST_BYTES} bytes"));
            return None;
        }
        self.budget -= size;
        match template.render(|name| self.value(name).map(shape)) {
            Ok(text) => Some(text),
            Err(name) => {
                self.problem(at, format!("the value of {name} is missing"));
                None
            }
        }
    }

    pub fn field<T>(&mut self, field: &Field<T>) -> Option<T> {
        let text = self.text(&field.template, &field.at, |value| value)?;
        self.ruled(field, &text)
    }

    fn ruled<T>(&mut self, field: &Field<T>, text: &str) -> Option<T> {
        match (field.rule)(text) {
            Ok(result) => Some(result),
            Err(message) => {
                let message = with_source(&message, &field.template);
                self.problem(&field.at, message);
                None
            }
        }
    }

    /// `Some(None)` if there is no field, or if the values leave it blank; `None` if there is a problem.
    pub fn optional<T>(&mut self, field: Option<&Field<T>>) -> Option<Option<T>> {
        let Some(field) = field else { return Some(None) };
        let text = self.text(&field.template, &field.at, |value| value)?;
        let is_blank = text.trim().is_empty() && field.template.literal().is_none();
        if is_blank { Some(None) } else { self.ruled(field, &text).map(Some) }
    }

    /// What all fields give together. An array that stands alone gives each of its items.
    pub fn items(&mut self, fields: &[Field<String>]) -> Option<Vec<String>> {
        let found: Vec<_> = fields.iter().map(|field| self.item(field)).collect();
        let all: Vec<_> = found.into_iter().collect::<Option<Vec<_>>>()?.into_iter().flatten().collect();
        if let Some(field) = fields.first().filter(|_| all.len() > MOST_ITEMS) {
            self.problem(&field.at, format!("must name at most {MOST_ITEMS}, and with its values names {}", all.len()));
            return None;
        }
        Some(all)
    }

    /// Like `items`, and there is at least one.
    pub fn some_items(&mut self, fields: &[Field<String>]) -> Option<Vec<String>> {
        let items = self.items(fields)?;
        if let Some(field) = fields.first().filter(|_| items.is_empty()) {
            let message = with_source("must name at least one, and is blank", &field.template);
            self.problem(&field.at, message);
            return None;
        }
        Some(items)
    }

    fn item(&mut self, field: &Field<String>) -> Option<Vec<String>> {
        let value = match field.template.parts.as_slice() {
            [Part::Name(name)] => self.values.get(name),
            _ => None,
        };
        match value {
            Some(Value::Array(items)) => items.iter().map(|item| self.ruled(field, item)).collect(),
            Some(Value::Nothing) => Some(Vec::new()),
            _ => self.field(field).map(|text| vec![text]),
        }
    }
}

/// The message, and where the text came from: the reader of the message gave the value, and did not write the text.
fn with_source(message: &str, template: &Template) -> String {
    let mut names: Vec<_> = template.names().collect();
    names.dedup();
    match names.as_slice() {
        [] => message.into(),
        [name] => format!("{message}; it comes from the variable {name}"),
        names => format!("{message}; it comes from the variables {}", names.join(", ")),
    }
}
