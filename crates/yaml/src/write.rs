//! A tree as a text that reads back as the same tree.

use serde_json::{Map, Value};

use crate::scalar;

/// Words that other readers of YAML take for true, false or nothing.
const QUOTED_WORDS: [&str; 9] = ["true", "false", "yes", "no", "on", "off", "y", "n", "null"];
const STEP: usize = 2;

/// In block style, with two spaces for each level. A text of several lines stays one where YAML lets it.
pub fn write(document: &Value) -> String {
    let mut text = String::new();
    match document {
        Value::Object(entries) if !entries.is_empty() => map(&mut text, entries, 0),
        Value::Array(items) if !items.is_empty() => list(&mut text, items, 0),
        scalar => {
            // A block of lines would begin where the document does.
            text.push_str(&match scalar {
                Value::String(plain) if is_plain(plain) => plain.clone(),
                other => other.to_string(),
            });
            text.push('\n');
        }
    }
    text
}

fn map(text: &mut String, entries: &Map<String, Value>, indent: usize) {
    for (key, value) in entries {
        text.push_str(&" ".repeat(indent));
        match is_plain(key) {
            true => text.push_str(key),
            false => text.push_str(&quoted(key)),
        }
        text.push(':');
        match value {
            Value::Object(entries) if !entries.is_empty() => {
                text.push('\n');
                map(text, entries, indent + STEP);
            }
            Value::Array(items) if !items.is_empty() => {
                text.push('\n');
                list(text, items, indent + STEP);
            }
            scalar => self::scalar(text, scalar, indent),
        }
    }
}

fn list(text: &mut String, items: &[Value], indent: usize) {
    for item in items {
        text.push_str(&" ".repeat(indent));
        text.push('-');
        let nested = match item {
            Value::Object(entries) if !entries.is_empty() => {
                let mut nested = String::new();
                map(&mut nested, entries, indent + STEP);
                nested
            }
            Value::Array(items) if !items.is_empty() => {
                let mut nested = String::new();
                list(&mut nested, items, indent + STEP);
                nested
            }
            scalar => {
                self::scalar(text, scalar, indent);
                continue;
            }
        };
        // The first entry stands beside the dash.
        text.push(' ');
        text.push_str(nested.trim_start_matches(' '));
    }
}

/// Behind a key or a dash, with the end of the line.
fn scalar(text: &mut String, value: &Value, indent: usize) {
    text.push(' ');
    match value {
        Value::String(lines) if is_block(lines) => block(text, lines, indent + STEP),
        Value::String(plain) if is_plain(plain) => {
            text.push_str(plain);
            text.push('\n');
        }
        other => {
            text.push_str(&other.to_string());
            text.push('\n');
        }
    }
}

fn block(text: &mut String, lines: &str, indent: usize) {
    text.push_str(if lines.ends_with('\n') { "|\n" } else { "|-\n" });
    for line in lines.lines() {
        if !line.is_empty() {
            text.push_str(&" ".repeat(indent));
            text.push_str(line);
        }
        text.push('\n');
    }
}

/// JSON, which YAML reads as what it is.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Whether no reader takes it for anything else when it has no quotes.
fn is_plain(text: &str) -> bool {
    let may_stand = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ' ');
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && !text.ends_with(' ')
        && text.chars().all(may_stand)
        && !QUOTED_WORDS.contains(&text.to_ascii_lowercase().as_str())
        && matches!(scalar::plain(text), crate::Value::Text(_))
}

/// Whether it can be written line by line: how far it is indented must be clear from its first line, and its end from its last.
fn is_block(text: &str) -> bool {
    let is_shown = |c: char| {
        c == '\n' || !(c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'))
    };
    let is_clear = |line: &str| line.is_empty() || !line.trim().is_empty();
    text.contains('\n')
        && text.starts_with(|c: char| !c.is_whitespace())
        && !text.ends_with("\n\n")
        && text.chars().all(is_shown)
        && text.split('\n').all(is_clear)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tree_is_written_as_people_write_it() {
        let tree = json!({
            "name": "web", "port": 8080, "on": true, "nothing": null, "version": "1.10", "empty": {}, "none": [],
            "lines": "one\n\n  two\n", "cut": "one\ntwo", "yes": "no", "odd key: ": " x",
            "steps": [{ "name": "a b", "with": ["x", ["z"], {}] }, "plain", { "only": { "deep": 0.5 } }],
        });
        let text = "name: web\nport: 8080\n\"on\": true\nnothing: null\nversion: \"1.10\"\nempty: {}\nnone: []\n\
                    lines: |\n  one\n\n    two\ncut: |-\n  one\n  two\n\"yes\": \"no\"\n\"odd key: \": \" x\"\n\
                    steps:\n  - name: a b\n    with:\n      - x\n      - - z\n      - {}\n  - plain\n  - only:\n      deep: 0.5\n";
        assert_eq!(write(&tree), text);
        assert_eq!(crate::parse(text, &crate::Limits::default()).unwrap().to_json(), tree);
    }

    #[test]
    fn a_document_may_be_a_scalar() {
        for (tree, text) in
            [(json!(null), "null\n"), (json!("a"), "a\n"), (json!("a\nb"), "\"a\\nb\"\n"), (json!({}), "{}\n")]
        {
            assert_eq!(write(&tree), text);
        }
    }
}
