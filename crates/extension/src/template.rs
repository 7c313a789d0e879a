//! `{{ name }}` in a text. It is taken apart once, when the extension is checked; a value that is put in later is never searched for more.

use std::borrow::Cow;

/// A text with names in it that values take the place of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template {
    pub parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Text(String),
    Name(String),
}

const OPEN: &str = "{{";
const CLOSE: &str = "}}";
/// What is written for `{{` itself.
const LITERAL_OPEN: &str = "{{{{";

impl Template {
    /// The problem says what is wrong and what to write instead.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Parts::default();
        let mut rest = text;
        while let Some(at) = rest.find(OPEN) {
            parts.text(&rest[..at]);
            rest = &rest[at..];
            if let Some(after) = rest.strip_prefix(LITERAL_OPEN) {
                parts.text(OPEN);
                rest = after;
                continue;
            }
            let (name, after) = name_at(&rest[OPEN.len()..])?;
            parts.name(name);
            rest = after;
        }
        parts.text(rest);
        Ok(Self { parts: parts.0 })
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Name(name) => Some(name.as_str()),
            Part::Text(_) => None,
        })
    }

    /// What stands between the names.
    pub fn literals(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Name(_) => None,
        })
    }

    /// The text, if no name is in it.
    pub fn literal(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// How long the text will be.
    pub fn size(&self, length: impl Fn(&str) -> usize) -> usize {
        let size = |part: &Part| match part {
            Part::Text(text) => text.len(),
            Part::Name(name) => length(name),
        };
        self.parts.iter().map(size).fold(0, usize::saturating_add)
    }

    /// The text with every value in its place; the name of the first value that is missing otherwise.
    pub fn render<'v>(&self, value: impl Fn(&str) -> Option<Cow<'v, str>>) -> Result<String, String> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Name(name) => text.push_str(&value(name).ok_or_else(|| name.clone())?),
            }
        }
        Ok(text)
    }
}

/// The name at the beginning of what follows `{{`, and what comes after its `}}`.
fn name_at(text: &str) -> Result<(&str, &str), String> {
    let end = text.find(CLOSE).ok_or("\"{{\" has no \"}}\" after it; write {{ name }}, or {{{{ for \"{{\" itself")?;
    let name = text[..end].trim_matches([' ', '\t']);
    if !is_name(name) {
        return Err(format!(
            "{} between \"{{{{\" and \"}}}}\" is not the name of a variable; write {{{{{{{{ for \"{{{{\" itself",
            quoted(name)
        ));
    }
    Ok((name, &text[end + CLOSE.len()..]))
}

/// Whether it has the form of the name of a variable, which is also the form of a name in the environment of a command.
pub(crate) fn is_name(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.bytes().all(is_inner) && text.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}

/// A text in quotes for a message: short, and on one line.
pub(crate) fn quoted(text: &str) -> String {
    const LONGEST: usize = 40;
    let short: String = text.chars().take(LONGEST).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("{:?}", format!("{short}{more}"))
}

#[derive(Default)]
struct Parts(Vec<Part>);

impl Parts {
    fn text(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(Part::Text(before)) => before.push_str(text),
            _ if text.is_empty() => {}
            _ => self.0.push(Part::Text(text.into())),
        }
    }

    fn name(&mut self, name: &str) {
        self.0.push(Part::Name(name.into()));
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(text: &str) -> Result<String, String> {
        let value = |name: &str| (name != "missing").then(|| format!("<{name}>").into());
        Template::parse(text)?.render(value)
    }

    #[test]
    fn names_are_replaced() {
        for (text, result) in [
            ("", ""),
            ("plain } } { text }}", "plain } } { text }}"),
            ("{{ a }}", "<a>"),
            ("{{a}}-{{  b\t}}", "<a>-<b>"),
            ("x{{ a }}{{ a }}y", "x<a><a>y"),
            ("{{{{ a }}", "{{ a }}"),
            ("{{{{{{ a }}", "{{<a>"),
            ("ä{{ _1 }}→", "ä<_1>→"),
            ("{ {a} }", "{ {a} }"),
        ] {
            assert_eq!(rendered(text).as_deref(), Ok(result), "{text}");
        }
        assert_eq!(rendered("{{ a }}{{ missing }}"), Err("missing".into()));
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for text in ["{{", "{{ a", "{{ a }", "{{}}", "{{ }}", "{{ a b }}", "{{ .a }}", "{{ 1a }}", "{{ä}}", "{{ a\n}}"]
        {
            assert!(Template::parse(text).unwrap_err().contains("{{{{ for"), "{text}");
        }
        assert!(Template::parse("{{{ a }}}").is_err());
    }

    #[test]
    fn a_value_is_not_searched_for_names() {
        let twice = Template::parse("{{ a }}").unwrap().render(|_| Some("{{ a }}".into()));
        assert_eq!(twice.as_deref(), Ok("{{ a }}"));
    }

    #[test]
    fn texts_without_names_are_literal() {
        let literal = |text: &str| Template::parse(text).unwrap().literal().map(str::to_owned);
        assert_eq!(literal("").as_deref(), Some(""));
        assert_eq!(literal("a{{{{b").as_deref(), Some("a{{b"));
        assert_eq!(literal("{{ a }}"), None);
    }
}
