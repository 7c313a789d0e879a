use std::borrow::Cow;

use crate::Place;

#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    pub text: String,
    pub place: Place,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub value: Value,
    pub place: Place,
}

/// What the core schema of YAML 1.2 reads, with one difference: a plain decimal number that would not be written back as it stands
/// in the text (`1.10`, `007`, `12e4`, a number with twenty digits) is a text, because it is a version, a mode or a checksum far more often,
/// and its digits must not change. A reader that wants a number can still read it from the text.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    /// In the order of the text. No key is there twice.
    Map(Vec<(Key, Node)>),
}

impl Value {
    /// What it is, for messages: "must be a list, and is a text".
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "true or false",
            Self::Integer(_) | Self::Float(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }
}

impl Node {
    pub fn new(value: Value, place: Place) -> Self {
        Self { value, place }
    }

    pub fn is_null(&self) -> bool {
        matches!(self.value, Value::Null)
    }

    /// The value of a key, if this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|(_, node)| node)
    }

    /// The key and its value, if this is a map that has it.
    pub fn entry(&self, key: &str) -> Option<(&Key, &Node)> {
        let (key, node) = self.as_map()?.iter().find(|(known, _)| known.text == key)?;
        Some((key, node))
    }

    pub fn as_map(&self) -> Option<&[(Key, Node)]> {
        if let Value::Map(entries) = &self.value { Some(entries) } else { None }
    }

    pub fn as_list(&self) -> Option<&[Node]> {
        if let Value::List(items) = &self.value { Some(items) } else { None }
    }

    pub fn as_text(&self) -> Option<&str> {
        if let Value::Text(text) = &self.value { Some(text) } else { None }
    }

    /// A text, a number or true and false as text. Nothing, lists and maps have none.
    pub fn scalar_text(&self) -> Option<Cow<'_, str>> {
        match &self.value {
            Value::Text(text) => Some(Cow::Borrowed(text)),
            Value::Bool(value) => Some(Cow::Borrowed(if *value { "true" } else { "false" })),
            Value::Integer(number) => Some(Cow::Owned(number.to_string())),
            Value::Float(number) => Some(Cow::Owned(float_text(*number))),
            Value::Null | Value::List(_) | Value::Map(_) => None,
        }
    }

    /// JSON has no infinity: such numbers become the text that YAML writes for them.
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match &self.value {
            Value::Null => Json::Null,
            Value::Bool(value) => Json::Bool(*value),
            Value::Integer(number) => Json::from(*number),
            Value::Float(number) => {
                serde_json::Number::from_f64(*number).map_or_else(|| Json::String(float_text(*number)), Json::Number)
            }
            Value::Text(text) => Json::String(text.clone()),
            Value::List(items) => Json::Array(items.iter().map(Self::to_json).collect()),
            Value::Map(entries) => {
                Json::Object(entries.iter().map(|(key, node)| (key.text.clone(), node.to_json())).collect())
            }
        }
    }
}

/// As YAML writes it.
pub(crate) fn float_text(number: f64) -> String {
    if number.is_nan() {
        ".nan".into()
    } else if number.is_infinite() {
        if number > 0.0 { ".inf".into() } else { "-.inf".into() }
    } else {
        format!("{number:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, parse};

    #[test]
    fn a_tree_becomes_json() {
        let text = "a: [1, 0.5, true, null, x]\nb: {c: '1', d: .inf, e: -.inf, f: .nan}\n";
        let json = r#"{"a":[1,0.5,true,null,"x"],"b":{"c":"1","d":".inf","e":"-.inf","f":".nan"}}"#;
        assert_eq!(parse(text, &Limits::default()).unwrap().to_json().to_string(), json);
    }

    #[test]
    fn scalars_have_a_text() {
        let node = parse("[a, 1, 0.5, true, null, [], {}]", &Limits::default()).unwrap();
        let texts: Vec<_> =
            node.as_list().unwrap().iter().map(|node| node.scalar_text().unwrap_or("-".into())).collect();
        assert_eq!(texts, ["a", "1", "0.5", "true", "-", "-", "-"]);
    }

    #[test]
    fn maps_are_asked_by_key() {
        let node = parse("a: 1\nb: {c: 2}\n", &Limits::default()).unwrap();
        assert_eq!(node.get("b").unwrap().get("c").unwrap().value, Value::Integer(2));
        assert_eq!(node.entry("b").unwrap().0.place, Place { line: 2, column: 1 });
        assert!(node.get("c").is_none() && node.get("a").unwrap().get("a").is_none());
    }
}
