//! Texts from a repository, on their way into messages, shells and paths.

use std::fmt::Write;

/// Longer ones are cut in messages.
const MOST_SHOWN: usize = 80;

/// For a message: on one line, of a bounded length, with nothing that moves a cursor or turns the direction of writing.
pub fn shown(text: &str) -> String {
    let mut shown = String::new();
    for (index, character) in text.chars().enumerate() {
        if index == MOST_SHOWN {
            shown.push('…');
            break;
        }
        if is_hidden(character) {
            let _ = write!(shown, "\\u{{{:x}}}", u32::from(character));
        } else {
            shown.push(character);
        }
    }
    shown
}

/// What a reader does not see, and what moves the rest.
pub fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// A path inside a folder that needs no quoting anywhere: not in a shell, not in `COPY`, not in a message.
pub fn is_plain_path(path: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'/' | b'@' | b'+');
    path.len() <= 255
        && path.bytes().all(is_plain)
        && !path.starts_with(['-', '/'])
        && path.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
}

/// The path of a folder as authors write it: `./dist/` is `dist`.
pub fn plain_folder(path: &str) -> Option<String> {
    let path = path.trim().trim_start_matches("./").trim_end_matches('/');
    is_plain_path(path).then(|| path.to_owned())
}

/// Names of Python modules and of variables in programs.
pub fn is_identifier(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty()
        && name.len() <= 100
        && name.bytes().all(is_letter)
        && !name.starts_with(|first: char| first.is_ascii_digit())
}

/// One word of a shell command.
pub fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/@+:=,%".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The text between two others: `between(xml, "<a>", "</a>")`.
pub fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    Some(rest.split_once(after)?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_stay_on_one_line() {
        assert_eq!(shown("a\nb\u{1b}[31m\u{202e}"), "a\\u{a}b\\u{1b}[31m\\u{202e}");
        assert_eq!(shown(&"x".repeat(100)).chars().count(), MOST_SHOWN + 1);
    }

    #[test]
    fn words_stay_one_word() {
        assert_eq!(quoted("server.js"), "server.js");
        assert_eq!(quoted("it's $(x)"), "'it'\\''s $(x)'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn plain_paths_stay_inside() {
        assert!(is_plain_path("cmd/api-2"));
        for path in ["", "/etc", "../x", "a//b", "a/./b", "a b", "a\nb", "$x", "-rf", "a*"] {
            assert!(!is_plain_path(path), "{path:?}");
        }
        assert_eq!(plain_folder("./dist/").as_deref(), Some("dist"));
        assert_eq!(plain_folder("../dist"), None);
    }
}
