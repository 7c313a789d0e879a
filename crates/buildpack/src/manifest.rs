//! Manifests in JSON, TOML and the like. Their parsers bound how deep values nest; how long a text is, is bounded where it is read.

use std::rc::Rc;

use serde_json::Value;

use crate::error::{Error, Result};
use crate::source::Source;
use crate::text::shown;

pub fn json(source: &Source, name: &str) -> Result<Option<Value>> {
    let Some(text) = source.text(name)? else { return Ok(None) };
    parse_json(&text, source, name).map(Some)
}

/// JSON with comments and commas before closing brackets.
pub fn json_with_comments(source: &Source, name: &str) -> Result<Option<Value>> {
    let Some(text) = source.text(name)? else { return Ok(None) };
    parse_json(&without_last_commas(&without_comments(&text)), source, name).map(Some)
}

fn parse_json(text: &str, source: &Source, name: &str) -> Result<Value> {
    let value: Value = serde_json::from_str(text).map_err(|error| malformed(source, name, &error.to_string()))?;
    if !value.is_object() {
        return Err(malformed(source, name, "it is not an object"));
    }
    Ok(value)
}

pub fn toml(source: &Source, name: &str) -> Result<Option<toml::Table>> {
    let Some(text) = source.text(name)? else { return Ok(None) };
    let parsed = text.parse::<toml::Table>();
    parsed.map(Some).map_err(|error| malformed(source, name, error.message()))
}

pub fn malformed(source: &Source, name: &str, problem: &str) -> Error {
    Error::Malformed { file: shown(&source.path(name)), problem: shown(problem) }
}

/// A value inside of tables: `at(&table, &["tool", "poetry"])`.
pub fn at<'a>(table: &'a toml::Table, path: &[&str]) -> Option<&'a toml::Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(table.get(*first)?, |value, key| value.get(*key))
}

pub fn text_at<'a>(table: &'a toml::Table, path: &[&str]) -> Option<&'a str> {
    at(table, path)?.as_str()
}

/// The first line of a file with nothing but a version, and the file's path.
pub fn first_line(source: &Source, name: &str) -> Result<Option<(String, String)>> {
    let Some((path, text)) = source.here_or_at_root(name)? else { return Ok(None) };
    let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(line.map(|line| (path, line.to_owned())))
}

/// A version in `.tool-versions`, which has one line for each tool.
pub fn tool_version(source: &Source, tools: &[&str]) -> Result<Option<(String, String)>> {
    let Some((path, text)) = source.here_or_at_root(".tool-versions")? else { return Ok(None) };
    let version = text.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        words.next().filter(|tool| tools.contains(tool))?;
        words.next().map(str::to_owned)
    });
    Ok(version.map(|version| (path, version)))
}

/// The text of a program or of JSON without `//` and `/* */`; what is in quotes stays.
pub fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut quote = None;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(_), '\\') => {
                kept.push(character);
                kept.extend(characters.next());
                continue;
            }
            (Some(open), character) if character == open => quote = None,
            (None, '"' | '\'' | '`') => quote = Some(character),
            (None, '/') if characters.peek() == Some(&'/') => {
                while characters.next_if(|next| *next != '\n').is_some() {}
                continue;
            }
            (None, '/') if characters.peek() == Some(&'*') => {
                let mut before = ' ';
                for next in characters.by_ref().skip(1) {
                    if before == '*' && next == '/' {
                        break;
                    }
                    before = next;
                }
                kept.push(' ');
                continue;
            }
            _ => {}
        }
        kept.push(character);
    }
    kept
}

fn without_last_commas(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut is_quoted = false;
    let mut is_escaped = false;
    for character in text.chars() {
        if !is_quoted && matches!(character, '}' | ']') && kept.trim_end().ends_with(',') {
            kept.truncate(kept.trim_end().len() - 1);
        }
        if character == '"' && !is_escaped {
            is_quoted = !is_quoted;
        }
        is_escaped = is_quoted && character == '\\' && !is_escaped;
        kept.push(character);
    }
    kept
}

/// A setting in a configuration that is a program (`output: "export"` in `next.config.js`), if it is written out. Nothing is evaluated: what
/// is computed is not seen, and then the framework's default counts.
pub fn written_setting(program: &str, name: &str) -> Option<String> {
    let mut rest = program;
    while let Some(at) = rest.find(name) {
        let is_word_before =
            rest[..at].ends_with(|before: char| before.is_ascii_alphanumeric() || "_$.".contains(before));
        rest = &rest[at + name.len()..];
        let value = rest.trim_start_matches(['"', '\'']).trim_start();
        let Some(value) = value.strip_prefix(':').filter(|_| !is_word_before) else { continue };
        let value = value.trim_start();
        let Some(quote) = value.chars().next().filter(|first| "\"'`".contains(*first)) else {
            let word: String = value.chars().take_while(char::is_ascii_alphanumeric).collect();
            return Some(word).filter(|word| !word.is_empty());
        };
        return value[1..].split_once(quote).map(|(value, _)| value.to_owned());
    }
    None
}

/// The first of these programs that is there, without its comments.
pub fn program(source: &Source, names: &[&'static str]) -> Result<Option<(&'static str, Rc<str>)>> {
    let Some(name) = source.first_file(names) else { return Ok(None) };
    Ok(source.glance(name)?.map(|text| (name, Rc::from(without_comments(&text)))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_left_out_and_quotes_stay() {
        assert_eq!(without_comments("a // b\n\"c // d\" /* e\n */ f"), "a \n\"c // d\"   f");
        assert_eq!(without_comments("'a\\'// b' // c"), "'a\\'// b' ");
        assert_eq!(without_comments("/* open"), " ");
        assert_eq!(without_last_commas("{\"a\": [1, 2,\n], \"b,]\": 1,}"), "{\"a\": [1, 2], \"b,]\": 1}");
    }

    #[test]
    fn settings_are_found_as_they_are_written() {
        let program = "module.exports = { myoutput: 'x', 'output': \"export\", ssr: false, f: g() }";
        assert_eq!(written_setting(program, "output").as_deref(), Some("export"));
        assert_eq!(written_setting(program, "ssr").as_deref(), Some("false"));
        assert_eq!(written_setting(program, "adapter"), None);
        assert_eq!(written_setting("output: ", "output"), None);
        assert_eq!(written_setting("output: 'open", "output"), None);
    }
}
