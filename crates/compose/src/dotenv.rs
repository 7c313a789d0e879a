//! Files of variables, as Compose reads them: `NAME=value` on each line.
//!
//! A value in single quotes is taken as it stands. One in double quotes, or in none, may name variables: `${NAME}`. Quoted values may have
//! several lines.

use std::cell::Cell;

use crate::bounds::{LONGEST_ENVIRONMENT, LONGEST_TEXT, MOST_VARIABLES};
use crate::interpolate::{DEEPEST, Lookup, expand};
use crate::problems::shown;

pub(crate) const LONGEST_NAME: usize = 256;

/// The variables of a file in their order, or the line that is wrong and why. Of a name that comes twice, the last one counts.
///
/// `lookup` knows the values of variables that values name, which come before those of the file itself, and of names without a value. A name
/// without a value that it does not know either is left out. No message shows a value.
pub fn read(text: &str, lookup: &dyn Fn(&str) -> Option<String>) -> Result<Vec<(String, String)>, (usize, String)> {
    statements(text, Variables { lookup, all: Vec::new(), bytes: 0, is_whole: false })
}

/// The same for a text that stands alone: its values name earlier variables of the text and no others, and each name has a value.
pub fn read_alone(text: &str) -> Result<Vec<(String, String)>, (usize, String)> {
    statements(text, Variables { lookup: &|_| None, all: Vec::new(), bytes: 0, is_whole: true })
}

fn statements(text: &str, mut variables: Variables<'_>) -> Result<Vec<(String, String)>, (usize, String)> {
    let text = unified(text);
    let (mut rest, mut line) = (text.as_str(), 1);
    while !rest.is_empty() {
        let after = statement(rest, &mut variables).map_err(|message| (line, message))?;
        line += newlines(&rest[..rest.len() - after.len()]);
        rest = after;
    }
    Ok(variables.all)
}

/// The same for a file whose values are taken as they stand, with their quotes and all.
pub(crate) fn read_raw(text: &str, lookup: Lookup<'_>) -> Result<Vec<(String, String)>, (usize, String)> {
    let mut variables = Variables { lookup, all: Vec::new(), bytes: 0, is_whole: false };
    for (index, line) in unified(text).split('\n').enumerate() {
        let line = line.trim_start();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (name, value) = line.split_once('=').map_or((line.trim_end(), None), |(name, value)| (name, Some(value)));
        let added = checked_name(name).and_then(|name| match value {
            Some(value) => variables.add(name, value.into()),
            None => variables.add_known(name),
        });
        added.map_err(|message| (index + 1, message))?;
    }
    Ok(variables.all)
}

/// Without the mark that some editors put first, and with one kind of line end.
fn unified(text: &str) -> String {
    text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n")
}

fn newlines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

struct Variables<'a> {
    lookup: Lookup<'a>,
    all: Vec<(String, String)>,
    /// Of all names and values together.
    bytes: usize,
    /// Whether a name without a value is wrong, because no value is known beside the text.
    is_whole: bool,
}

impl Variables<'_> {
    fn add(&mut self, name: &str, value: String) -> Result<(), String> {
        if value.len() > LONGEST_TEXT || value.contains('\0') {
            return Err(format!(
                "the value of {} must have at most {LONGEST_TEXT} bytes, and none of them 0",
                shown(name)
            ));
        }
        self.bytes += name.len() + value.len();
        match self.all.iter_mut().find(|(known, _)| known == name) {
            Some(known) => {
                self.bytes -= name.len() + known.1.len();
                known.1 = value;
            }
            None => self.all.push((name.into(), value)),
        }
        if self.all.len() > MOST_VARIABLES || self.bytes > LONGEST_ENVIRONMENT {
            return Err(format!(
                "here are more than {MOST_VARIABLES} variables or {LONGEST_ENVIRONMENT} bytes; remove some"
            ));
        }
        Ok(())
    }

    /// A variable whose value only the caller knows, if at all.
    fn add_known(&mut self, name: &str) -> Result<(), String> {
        if self.is_whole {
            return Err(format!("{} has no value; write = after it for an empty one", shown(name)));
        }
        (self.lookup)(name).map_or(Ok(()), |value| self.add(name, value))
    }

    /// The value with those of its variables.
    fn expanded(&self, name: &str, value: &str) -> Result<String, String> {
        let unknown = Cell::new(None);
        let lookup = |name: &str| {
            let earlier = || self.all.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
            let value = (self.lookup)(name).or_else(earlier);
            if value.is_none() {
                unknown.set(Some(name.to_string()));
            }
            value
        };
        // Its own messages show parts of the value.
        expand(value, &lookup, DEEPEST).map_err(|_| {
            let why = unknown.take().map_or_else(
                || "has a $ that begins no variable, or is too long".into(),
                |unknown| format!("names the variable {}, which has no value", shown(&unknown)),
            );
            format!("the value of {} {why}; write it in single quotes to keep each $ as it stands", shown(name))
        })
    }
}

/// Reads what begins here, and gives what follows after its line or lines.
fn statement<'a>(rest: &'a str, variables: &mut Variables<'_>) -> Result<&'a str, String> {
    let body = without_export(skip_blank(rest));
    if body.is_empty() || body.starts_with(['\n', '#']) {
        return Ok(next_line(body));
    }
    let (name, after) = body.split_at(body.find(|c| !is_in_name(c)).unwrap_or(body.len()));
    let separated = skip_blank(after);
    let has_space = separated.len() < after.len();
    match separated.chars().next() {
        Some('=' | ':') => value(checked_name(name)?, &separated[1..], variables),
        None | Some('\n') => variables.add_known(checked_name(name)?).map(|()| next_line(separated)),
        Some('#') if has_space => variables.add_known(checked_name(name)?).map(|()| next_line(separated)),
        Some(_) => Err(no_variable()),
    }
}

fn value<'a>(name: &str, text: &'a str, variables: &mut Variables<'_>) -> Result<&'a str, String> {
    let start = skip_blank(text);
    if start.starts_with(['"', '\'']) {
        let (content, after) = quoted(start)
            .ok_or_else(|| format!("the value of {} begins with a quote that is not closed; close it", shown(name)))?;
        let end = skip_blank(after);
        if !end.is_empty() && !end.starts_with(['\n', '#']) {
            return Err(format!(
                "the value of {} goes on after its closing quote; write all of it in quotes, and \\ before a quote inside",
                shown(name)
            ));
        }
        let content = if start.starts_with('"') { variables.expanded(name, &content)? } else { content };
        variables.add(name, content)?;
        return Ok(next_line(end));
    }
    let line = start.split('\n').next().unwrap_or_default();
    let is_comment = start.len() < text.len() && start.starts_with('#');
    let plain = if is_comment { "" } else { without_comment(line).trim_end() };
    let expanded = variables.expanded(name, plain)?;
    variables.add(name, expanded)?;
    Ok(next_line(start))
}

/// What is between the quotes, and what follows the closing one.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut content = String::new();
    let mut chars = text.chars();
    let quote = chars.next()?;
    while let Some(c) = chars.next() {
        if c == quote {
            return Some((content, chars.as_str()));
        }
        if c != '\\' {
            content.push(c);
            continue;
        }
        match (quote, chars.next()?) {
            (_, escaped) if escaped == quote => content.push(quote),
            ('"', '\\') => content.push('\\'),
            ('"', 'n') => content.push('\n'),
            ('"', 'r') => content.push('\r'),
            ('"', 't') => content.push('\t'),
            // It begins no variable.
            ('"', '$') => content.push_str("$$"),
            (_, other) => content.extend(['\\', other]),
        }
    }
    None
}

/// A `#` begins a comment only after a space: many values have one inside.
fn without_comment(line: &str) -> &str {
    let is_comment = |(index, _): &(usize, &str)| line[..*index].ends_with([' ', '\t']);
    let comment = line.match_indices('#').find(is_comment);
    comment.map_or(line, |(index, _)| &line[..index])
}

fn without_export(text: &str) -> &str {
    let after = text.strip_prefix("export").unwrap_or(text);
    let start = skip_blank(after);
    if after.len() < text.len() && start.len() < after.len() && start.starts_with(is_in_name) { start } else { text }
}

fn skip_blank(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_whitespace() && c != '\n')
}

fn next_line(text: &str) -> &str {
    text.split_once('\n').map_or("", |(_, after)| after)
}

pub(crate) fn is_in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')
}

fn checked_name(name: &str) -> Result<&str, String> {
    let is_name = (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(is_in_name);
    if is_name { Ok(name) } else { Err(no_variable()) }
}

fn no_variable() -> String {
    format!(
        "must be NAME=value, with a name of 1 to {LONGEST_NAME} letters, digits, \"_\", \".\" or \"-\"; begin a comment with #"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup(name: &str) -> Option<String> {
        match name {
            "KNOWN" => Some("known".into()),
            "BOTH" => Some("outer".into()),
            "EMPTY" => Some(String::new()),
            "LONG" => Some("x".repeat(60_000)),
            "DOLLAR" => Some("$KNOWN".into()),
            _ => None,
        }
    }

    /// The variables of a text as `NAME=value`.
    fn variables(text: &str) -> Vec<String> {
        let all = read(text, &lookup).unwrap_or_else(|wrong| panic!("{text:?}: {wrong:?}"));
        all.into_iter().map(|(name, value)| format!("{name}={value}")).collect()
    }

    #[test]
    fn lines_are_variables() {
        let cases: &[(&str, &[&str])] = &[
            ("", &[]),
            ("\n\n  \n\t\n", &[]),
            ("# A=1\n  # B=2\n#", &[]),
            ("A=1", &["A=1"]),
            ("A=1\nB=2\n", &["A=1", "B=2"]),
            ("  A = 1  \n", &["A=1"]),
            ("A=\nB=", &["A=", "B="]),
            ("A: 1\nB:2", &["A=1", "B=2"]),
            ("export A=1\nexport\tB=2\nexportC=3\nexport=4", &["A=1", "B=2", "exportC=3", "export=4"]),
            ("A=1\nB=2\nA=3", &["A=3", "B=2"]),
            ("a.b-c_1=x", &["a.b-c_1=x"]),
            ("A=a b  c", &["A=a b  c"]),
            ("A=a=b:c", &["A=a=b:c"]),
            ("A=ä\u{1f600}", &["A=ä\u{1f600}"]),
        ];
        for (text, expected) in cases {
            assert_eq!(variables(text), *expected, "{text:?}");
        }
    }

    #[test]
    fn comments_follow_a_space() {
        let text = "A=1 # one\nB=a#b\nC=#c\nD= # d\nE=\"x # y\" # z\nF='x'#y\nG=a\t#b #c\nH=https://x/#y";
        assert_eq!(variables(text), ["A=1", "B=a#b", "C=#c", "D=", "E=x # y", "F=x", "G=a", "H=https://x/#y"]);
    }

    #[test]
    fn quotes_keep_what_is_inside() {
        let cases = [
            ("A=' x '", "A= x "),
            ("A='$KNOWN ${X'", "A=$KNOWN ${X"),
            (r"A='a\nb'", r"A=a\nb"),
            (r"A='it\'s'", "A=it's"),
            (r"A='a\\'", r"A=a\\"),
            ("A='a\nb\n'", "A=a\nb\n"),
            (r#"A="a\nb\tc\rd""#, "A=a\nb\tc\rd"),
            (r#"A="a\"b\\c\d""#, r#"A=a"b\c\d"#),
            ("A=\"a\n\nb\"", "A=a\n\nb"),
            (r#"A="\$KNOWN $$KNOWN""#, "A=$KNOWN $KNOWN"),
            (r#"A="\\$KNOWN""#, r"A=\known"),
            ("A=  \"x\"", "A=x"),
            ("A=\"\"", "A="),
            ("A=''", "A="),
            ("A=a\"b\"", "A=a\"b\""),
            ("A=it's", "A=it's"),
            ("A={\"a\": 1}", "A={\"a\": 1}"),
        ];
        for (text, expected) in cases {
            assert_eq!(variables(text), [expected], "{text:?}");
        }
        assert_eq!(variables("A=\"1\n2\"\nB='3\n4' # x\nC=5"), ["A=1\n2", "B=3\n4", "C=5"]);
    }

    #[test]
    fn values_name_variables() {
        let cases: &[(&str, &[&str])] = &[
            ("A=$KNOWN", &["A=known"]),
            ("A=\"<${KNOWN}>\"", &["A=<known>"]),
            ("A=1\nB=${A}$A", &["A=1", "B=11"]),
            ("BOTH=inner\nA=$BOTH", &["BOTH=inner", "A=outer"]),
            ("A=${NONE:-x}${NONE-y}${EMPTY:-z}${KNOWN:+r}", &["A=xyzr"]),
            ("A=$DOLLAR", &["A=$KNOWN"]),
            ("A='$B'\nC=$A", &["A=$B", "C=$B"]),
            ("KNOWN\nNONE\nexport EMPTY # x", &["KNOWN=known", "EMPTY="]),
            ("KNOWN", &["KNOWN=known"]),
            ("A=a$$b", &["A=a$b"]),
        ];
        for (text, expected) in cases {
            assert_eq!(variables(text), *expected, "{text:?}");
        }
    }

    #[test]
    fn a_text_that_stands_alone_names_only_its_own() {
        let read = read_alone("A=1\nB=\"<${A}>\"\nC='$A'\nA=2").unwrap();
        let read: Vec<_> = read.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(read, ["A=2", "B=<1>", "C=$A"]);
        assert_eq!(
            read_alone("A=1\nexport KNOWN").unwrap_err(),
            (2, "\"KNOWN\" has no value; write = after it for an empty one".into())
        );
        let (line, message) = read_alone("A=1\nB=s3cr3t$HOME").unwrap_err();
        assert!(
            line == 2 && message.contains("names the variable \"HOME\"") && !message.contains("s3cr3t"),
            "{message}"
        );
    }

    #[test]
    fn other_systems_write_files_too() {
        assert_eq!(variables("\u{feff}A=1\r\nB=\"x\r\ny\"\r\n\r\n# c\r\nC=3\r"), ["A=1", "B=x\ny", "C=3"]);
        assert_eq!(variables("\u{feff}"), [""; 0]);
        assert_eq!(variables("\u{a0}A=1\u{2003}"), ["A=1"]);
    }

    #[test]
    fn wrong_lines_are_named() {
        for (text, line) in [
            ("=1", 1),
            ("A B", 1),
            ("A=1\n\nno variable here", 3),
            ("A='1\n2\n3'\nB C=1", 4),
            ("A=\"1\n\n", 1),
            ("\n\nA='", 3),
            ("A=\"a\\\"", 1),
            ("A=\"a\\", 1),
            ("A=\"x\" y", 1),
            ("A='it's'", 1),
            ("ä=1", 1),
            ("A\0=1", 1),
            ("A=\0", 1),
            ("A=1\nA=$", 2),
            ("A=$1", 1),
            ("A=${", 1),
            ("A=${}", 1),
            ("A=$NONE", 1),
            ("A=$A", 1),
            ("export", 0),
            ("[section]", 1),
            ("{\"a\": 1}", 1),
            ("A\u{b}B=1", 1),
            ("export A B", 1),
        ] {
            let result = read(text, &lookup);
            assert_eq!(result.as_ref().map_or_else(|wrong| wrong.0, |_| 0), line, "{text:?}: {result:?}");
        }
    }

    #[test]
    fn messages_say_what_to_do_and_show_no_value() {
        for (text, message) in [
            (
                "A=s3cr3t$NONE",
                "the value of \"A\" names the variable \"NONE\", which has no value; write it in single quotes to keep each $ as it stands",
            ),
            (
                "A=s3cr3t${s3cr3t",
                "the value of \"A\" has a $ that begins no variable, or is too long; write it in single quotes to keep each $ as it stands",
            ),
            ("A='s3cr3t", "the value of \"A\" begins with a quote that is not closed; close it"),
            (
                "A='s3cr3t's3cr3t",
                "the value of \"A\" goes on after its closing quote; write all of it in quotes, and \\ before a quote inside",
            ),
            (
                "s3cr3t s3cr3t",
                "must be NAME=value, with a name of 1 to 256 letters, digits, \"_\", \".\" or \"-\"; begin a comment with #",
            ),
        ] {
            assert_eq!(read(text, &lookup).unwrap_err().1, message, "{text}");
        }
    }

    #[test]
    fn files_are_bounded() {
        let numbered = |count: usize| -> String { (0..count).map(|number| format!("V{number}=x\n")).collect() };
        assert_eq!(read(&numbered(500), &lookup).unwrap().len(), 500);
        assert_eq!(read(&numbered(600), &lookup).unwrap_err().0, 501);
        let long: String = (0..9).map(|number| format!("V{number}=$LONG\n")).collect();
        assert_eq!(read(&long, &lookup).unwrap_err().0, 5);
        assert_eq!(read_raw(&"V\nLONG\n".repeat(9), &lookup).unwrap().len(), 1);
        assert!(read(&"A=$LONG\n".repeat(1000), &lookup).is_ok());
        assert!(read(&format!("A={}", "x".repeat(70_000)), &lookup).is_err());
        assert!(read(&format!("A='{}'", "$".repeat(70_000)), &lookup).is_err());
        assert!(read(&format!("{}=1", "A".repeat(257)), &lookup).is_err());
        assert!(read(&"A".repeat(50_000_000), &lookup).is_err());
        assert!(read(&format!("#{}", "x".repeat(50_000_000)), &lookup).unwrap().is_empty());
    }

    #[test]
    fn raw_values_are_taken_as_they_stand() {
        let raw = |text: &str| {
            read_raw(text, &lookup)
                .map(|all| all.into_iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>())
        };
        assert_eq!(
            raw("\u{feff}# c\r\nA='x' # y\r\n B= \"$KNOWN\n\nKNOWN\nNONE \nC=").unwrap(),
            ["A='x' # y", "B= \"$KNOWN", "KNOWN=known", "C="]
        );
        for (text, line) in [("A=1\nB C=1", 2), ("=1", 1), ("\nexport A=1", 2), ("A=\0", 1), ("A =1", 1)] {
            assert_eq!(raw(text).unwrap_err().0, line, "{text:?}");
        }
    }

    /// Whatever comes, it is read or refused at a line that is there.
    #[test]
    fn nothing_panics() {
        const PIECES: [&str; 34] = [
            "A",
            "B=",
            "=",
            ":",
            " ",
            "\t",
            "\n",
            "\r\n",
            "\r",
            "#",
            " #",
            "'",
            "\"",
            "\\",
            "\\n",
            "\\\"",
            "$",
            "$$",
            "${",
            "}",
            "${A}",
            "$A",
            ":-",
            ":?",
            "export ",
            "export",
            "\u{feff}",
            "\0",
            "ä",
            "\u{1f600}",
            "\u{2028}",
            "\u{85}",
            "LONG",
            "${LONG}",
        ];
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut below = |bound: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state % bound as u64).unwrap()
        };
        for _ in 0..20_000 {
            let text: String = (0..below(24)).map(|_| PIECES[below(PIECES.len())]).collect();
            let lines = text.split('\n').count();
            for result in [read(&text, &lookup), read_raw(&text, &lookup)] {
                match result {
                    Ok(all) => assert!(all.iter().all(|(name, value)| {
                        checked_name(name).is_ok() && !value.contains('\0') && value.len() <= LONGEST_TEXT
                    })),
                    Err((line, message)) => {
                        assert!((1..=lines).contains(&line), "{text:?}");
                        assert!(message.len() < 300 && !message.contains('\n'), "{message}");
                    }
                }
            }
        }
    }
}
