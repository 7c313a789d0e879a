//! Headers that a service has on every answer.

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};

use crate::routes::HeaderSpec;

#[derive(Default)]
pub struct AnswerHeaders(Vec<AnswerHeader>);

struct AnswerHeader {
    name: HeaderName,
    value: Option<HeaderValue>,
    unless_there: bool,
}

impl AnswerHeaders {
    pub fn new(specs: &[HeaderSpec]) -> Self {
        // Checked: all of them can be read.
        let read = |spec: &HeaderSpec| {
            let name = HeaderName::from_bytes(spec.name.as_bytes()).ok()?;
            let value = spec.value.as_ref().map(|value| HeaderValue::from_bytes(value.as_bytes()));
            Some(AnswerHeader { name, value: value.transpose().ok()?, unless_there: spec.unless_there })
        };
        Self(specs.iter().filter_map(read).collect())
    }

    /// Sets those that have a value, and removes the others.
    pub fn apply(&self, headers: &mut HeaderMap) {
        for AnswerHeader { name, value, unless_there } in &self.0 {
            match value {
                Some(_) if *unless_there && headers.contains_key(name) => None,
                Some(value) => headers.insert(name.clone(), value.clone()),
                None => headers.remove(name),
            };
        }
    }

    /// Whether they say something about this header.
    pub fn name(&self, wanted: &HeaderName) -> bool {
        self.0.iter().any(|header| header.name == *wanted)
    }
}
