//! When a step is done: `name`, `not name`, `name == text`, `name != text`.

use crate::template::{is_name, quoted};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    /// As the author wrote it.
    pub text: String,
    pub name: String,
    pub test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Test {
    True,
    False,
    Equal(String),
    Different(String),
}

const FORMS: &str = "write: name, not name, name == text or name != text";

impl Condition {
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.contains("{{") {
            return Err(format!("has {{{{ in it; names stand alone here: {FORMS}"));
        }
        let (name, test) = if let Some((name, text)) = text.split_once("==") {
            (name, Test::Equal(compared(text)?))
        } else if let Some((name, text)) = text.split_once("!=") {
            (name, Test::Different(compared(text)?))
        } else if let Some(name) = text.strip_prefix("not ") {
            (name, Test::False)
        } else {
            (text, Test::True)
        };
        let name = name.trim();
        if !is_name(name) {
            return Err(format!("{} is not the name of a variable; {FORMS}", quoted(name)));
        }
        Ok(Self { text: text.into(), name: name.into(), test })
    }

    pub fn holds(&self, value: &str) -> bool {
        let is_true = !matches!(value, "" | "false" | "0");
        match &self.test {
            Test::True => is_true,
            Test::False => !is_true,
            Test::Equal(text) => value == text,
            Test::Different(text) => value != text,
        }
    }

    /// The text that the value is compared with.
    pub fn compared(&self) -> Option<&str> {
        match &self.test {
            Test::Equal(text) | Test::Different(text) => Some(text),
            Test::True | Test::False => None,
        }
    }
}

/// A text with or without quotes around it.
fn compared(text: &str) -> Result<String, String> {
    let text = text.trim();
    for quote in ['"', '\''] {
        if let Some(rest) = text.strip_prefix(quote) {
            let inner = rest.strip_suffix(quote).filter(|inner| !inner.contains(quote));
            return inner.map(str::to_owned).ok_or_else(|| format!("has a {quote} that is not closed; {FORMS}"));
        }
    }
    let joins = text.split_whitespace().any(|word| matches!(word, "and" | "or" | "&&" | "||" | "==" | "!="));
    if joins || text.contains("==") || text.contains("!=") {
        return Err(format!("joins several conditions; give a list of them as conditions: all must hold. {FORMS}"));
    }
    if text.is_empty() {
        return Err(format!("has nothing behind the comparison; write \"\" for the empty text. {FORMS}"));
    }
    Ok(text.into())
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_hold_or_not() {
        for (text, value, holds) in [
            ("a", "x", true),
            ("a", "", false),
            ("a", "false", false),
            ("a", "0", false),
            ("not a", "0", true),
            ("not a", "yes", false),
            ("a == x", "x", true),
            ("a==x", "x", true),
            ("a == 'x y'", "x y", true),
            ("a == \"\"", "", true),
            ("a != x", "x", false),
            ("  a   !=   x  ", "y", true),
            ("nothing == not", "not", true),
        ] {
            assert_eq!(Condition::parse(text).unwrap().holds(value), holds, "{text} with {value:?}");
        }
    }

    #[test]
    fn other_forms_are_refused() {
        for text in
            ["", "a b", "a =", "a == ", "a == 'x", "{{ a }}", "a == 1 and b", "a == b == c", "1 == a", "a > 1", "!a"]
        {
            let parsed = Condition::parse(text);
            assert!(parsed.is_err(), "{text}: {parsed:?}");
        }
    }
}
