//! Versions as manifests ask for them (`^20.1`, `>=3.11,<4`, `~> 3.2`, `lts/iron`), and the release line that fits.
//!
//! An image is chosen by line (Node 22, Python 3.13), never by patch: the newest patch of a line is what has its security fixes.

use serde::Serialize;

/// The version that is used, and where it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Version {
    pub text: String,
    /// The file that decided, or `settings`; nothing if it is the default.
    pub from: Option<String>,
}

/// The release lines of a language for which there are images.
pub struct Lines {
    pub language: &'static str,
    pub default: &'static str,
    /// Newest first.
    pub all: &'static [&'static str],
}

impl Lines {
    /// The default if it fits, else the newest line that does.
    pub fn fitting(&self, asked: &str) -> Option<&'static str> {
        let alternatives = alternatives(asked)?;
        let fits = |line: &&str| alternatives.iter().any(|all| all.iter().all(|one| one.holds_for(&numbers(line))));
        [self.default].iter().chain(self.all).find(|line| fits(line)).copied()
    }
}

/// What may be part of an image's tag.
pub fn is_version(text: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.len() <= 4 && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = text.split('.').collect();
    parts.len() <= 3 && parts.into_iter().all(is_number)
}

#[derive(Clone, Copy, PartialEq)]
enum Operator {
    Same,
    Least,
    More,
    Most,
    Less,
    Caret,
    Tilde,
    /// `~=` of Python and `~>` of Ruby: all but the last number stay.
    Compatible,
    Not,
}

struct Condition {
    operator: Operator,
    numbers: Vec<u64>,
}

const OPERATORS: [(&str, Operator); 11] = [
    ("~=", Operator::Compatible),
    ("~>", Operator::Compatible),
    (">=", Operator::Least),
    ("<=", Operator::Most),
    ("==", Operator::Same),
    ("!=", Operator::Not),
    (">", Operator::More),
    ("<", Operator::Less),
    ("^", Operator::Caret),
    ("~", Operator::Tilde),
    ("=", Operator::Same),
];

impl Condition {
    /// Does the newest patch of a line fit? What a line leaves open is as high as can be.
    fn holds_for(&self, line: &[u64]) -> bool {
        let newest = |index: usize| line.get(index).copied().unwrap_or(u64::MAX);
        let top = [newest(0), newest(1), newest(2)];
        let wanted = &self.numbers;
        let prefix = &top[..wanted.len()];
        let is_same = |count: usize| {
            let count = count.min(line.len()).min(wanted.len());
            line[..count] == wanted[..count]
        };
        let is_enough = prefix >= wanted.as_slice();
        match self.operator {
            Operator::Same => is_same(3),
            Operator::Least => is_enough,
            Operator::More => prefix > wanted.as_slice(),
            Operator::Most => prefix <= wanted.as_slice(),
            Operator::Less => prefix < wanted.as_slice(),
            Operator::Caret if wanted[0] == 0 => is_same(2) && is_enough,
            Operator::Caret => is_same(1) && is_enough,
            Operator::Tilde => is_same(wanted.len().min(2)) && is_enough,
            Operator::Compatible => is_same(wanted.len().saturating_sub(1).max(1)) && is_enough,
            Operator::Not => true,
        }
    }
}

/// Either of these lists of conditions must hold. Nothing if the text is not understood.
fn alternatives(asked: &str) -> Option<Vec<Vec<Condition>>> {
    if asked.len() > 200 {
        return None;
    }
    asked.split('|').filter(|part| !part.trim().is_empty()).map(conditions).collect()
}

fn conditions(text: &str) -> Option<Vec<Condition>> {
    if let Some((least, most)) = text.split_once(" - ") {
        let least = Condition { operator: Operator::Least, numbers: parsed(least)? };
        let most = Condition { operator: Operator::Most, numbers: parsed(most)? };
        return Some(vec![least, most]);
    }
    // An operator may stand apart from its version.
    let mut text = text.replace(',', " ");
    for sign in ["=", ">", "<", "~", "^", "!"] {
        while text.contains(&format!("{sign} ")) {
            text = text.replace(&format!("{sign} "), sign);
        }
    }
    let words: Vec<Option<Condition>> = text.split_whitespace().filter(|word| !is_any(word)).map(condition).collect();
    words.into_iter().collect()
}

fn condition(word: &str) -> Option<Condition> {
    let found = OPERATORS.iter().find_map(|(sign, operator)| Some((word.strip_prefix(sign)?, *operator)));
    let (version, operator) = found.unwrap_or((word, Operator::Same));
    Some(Condition { operator, numbers: parsed(version)? })
}

/// What leaves the choice to us.
fn is_any(word: &str) -> bool {
    matches!(word, "*" | "x" | "X" | "latest" | "stable" | "node" | "current" | "lts" | "lts/*" | "system")
}

/// At least one number, at most three; what follows (`.x`, `-rc.1`, `+build`) does not decide about a line.
fn parsed(text: &str) -> Option<Vec<u64>> {
    let text = text.trim();
    let text = match text.strip_prefix("lts/") {
        Some(name) => lts(name)?,
        None => text.strip_prefix(['v', 'V']).unwrap_or(text),
    };
    let numbers = numbers(text);
    (!numbers.is_empty()).then_some(numbers)
}

fn numbers(text: &str) -> Vec<u64> {
    let digits = |part: &str| part.chars().take_while(char::is_ascii_digit).collect::<String>();
    text.split('.').map_while(|part| digits(part).parse().ok().filter(|number| *number < 100_000)).take(3).collect()
}

/// Names of Node's lines.
fn lts(name: &str) -> Option<&'static str> {
    Some(match name.to_ascii_lowercase().as_str() {
        "gallium" => "16",
        "hydrogen" => "18",
        "iron" => "20",
        "jod" => "22",
        "krypton" => "24",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: Lines = Lines { language: "Node", default: "22", all: &["24", "22", "20", "18"] };
    const PYTHON: Lines = Lines { language: "Python", default: "3.13", all: &["3.14", "3.13", "3.12", "3.11"] };

    #[test]
    fn lines_fit_what_is_asked() {
        for (asked, line) in [
            ("20", Some("20")),
            ("v20.11.1", Some("20")),
            ("20.x", Some("20")),
            (">=18", Some("22")),
            (">= 18", Some("22")),
            ("^18.17 || ^20.3", Some("20")),
            (">=18 <21", Some("20")),
            ("18 - 20", Some("20")),
            (">22", Some("24")),
            ("<=20", Some("20")),
            ("~20.1", Some("20")),
            ("lts/iron", Some("20")),
            ("lts/*", Some("22")),
            ("*", Some("22")),
            ("12", None),
            ("banana", None),
            ("", None),
        ] {
            assert_eq!(NODE.fitting(asked), line, "{asked:?}");
        }
        for (asked, line) in [
            (">=3.11", Some("3.13")),
            (">=3.10,<3.13", Some("3.12")),
            ("~=3.11", Some("3.13")),
            ("~=3.11.2", Some("3.11")),
            ("^3.12", Some("3.13")),
            ("3.12.4", Some("3.12")),
            ("==3.12.*", Some("3.12")),
            ("!=3.13", Some("3.13")),
            (">3.13", Some("3.14")),
            ("2.7", None),
        ] {
            assert_eq!(PYTHON.fitting(asked), line, "{asked:?}");
        }
    }

    #[test]
    fn tags_have_digits_and_dots_only() {
        assert!(is_version("22") && is_version("3.13") && is_version("1.2.3"));
        for text in ["", ".", "1.", "v1", "1-slim", "1\n2", "1.2.3.4", "99999"] {
            assert!(!is_version(text), "{text:?}");
        }
    }
}
