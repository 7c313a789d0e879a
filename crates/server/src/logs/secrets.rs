//! Secrets, which no line may show.

use std::borrow::Cow;

use aho_corasick::{AhoCorasick, MatchKind};
use regex::Regex;
use windlass_api::{MASK, Variables};
use windlass_store::logs::colors;

use super::text;
use crate::subject::Subject;

/// Shorter values stand in too many places where they are no secret.
const SHORTEST: usize = 8;
/// The same for what is left of a secret where a line was cut.
const SHORTEST_REST: usize = 4;

/// Finds all of them at once, however many there are.
#[derive(Clone, Default)]
pub enum Secrets {
    #[default]
    None,
    Some(Known),
    /// They cannot be told from the rest.
    Everything,
}

#[derive(Clone)]
pub struct Known {
    all: AhoCorasick,
    masks: Vec<&'static str>,
    texts: Vec<String>,
    /// Those with characters that the engine may have broken: it keeps long lines in pieces.
    broken: Vec<Regex>,
}

impl Secrets {
    /// What was not secret when the release was made may be by now.
    pub fn of(subject: &Subject) -> Self {
        let mut marked = subject.variables.clone();
        marked.secret_names.extend(subject.variables_now.secret_names.iter().cloned());
        Self::new(&marked, subject.variables_now.secrets())
    }

    /// Those that are no variables of an application.
    pub fn of_texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        Self::among(texts.into_iter())
    }

    pub fn new<'a>(variables: &'a Variables, others: impl IntoIterator<Item = &'a str>) -> Self {
        Self::among(variables.secrets().chain(others))
    }

    fn among<'a>(all: impl Iterator<Item = &'a str>) -> Self {
        // A value of several lines is printed line by line.
        let lines = all.flat_map(str::lines).map(str::trim);
        let mut texts: Vec<String> = lines.filter(|line| line.len() >= SHORTEST).map(str::to_owned).collect();
        texts.sort_unstable();
        texts.dedup();
        if texts.is_empty() {
            return Self::None;
        }
        // The longest that begins at a place: one may be a part of another.
        match AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&texts) {
            Ok(all) => {
                let broken = texts.iter().filter(|text| !text.is_ascii()).filter_map(|text| breakable(text)).collect();
                Self::Some(Known { all, masks: vec![MASK; texts.len()], texts, broken })
            }
            Err(error) => {
                tracing::error!(%error, "secrets cannot be looked for, so nothing is shown");
                Self::Everything
            }
        }
    }

    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self {
            Self::Some(known) => known.mask(text),
            Self::None => Cow::Borrowed(text),
            Self::Everything => Cow::Borrowed(MASK),
        }
    }

    /// A line as it may be stored and shown. A control sequence could stand in the middle of a secret, or be a part of
    /// it.
    pub fn safe_line(&self, line: &str) -> String {
        self.mask(&text::clean(&self.mask(line))).into_owned()
    }

    /// The same with its colours, unless it is longer than `longest` with them. One that held a secret between colours has none.
    pub fn safe_colored_line(&self, line: &str, longest: usize) -> String {
        let safe = self.safe_line(line);
        if !line.contains("\u{1b}[") {
            return safe;
        }
        let colored = text::clean_but_colors(&self.mask(line)).into_owned();
        if colored.len() <= longest && colors::plain(&colored) == safe { colored } else { safe }
    }

    /// The same for one whose end was cut off, within a secret perhaps.
    pub fn safe_beginning(&self, line: &str) -> String {
        let mut safe = self.safe_line(line);
        let begun = self.longest_rest(|secret, length| secret.get(..length).is_some_and(|rest| safe.ends_with(rest)));
        if begun > 0 {
            safe.truncate(safe.len() - begun);
            safe.push_str(MASK);
        }
        safe
    }

    /// The same for one in the middle of a line.
    pub fn safe_part(&self, line: &str) -> String {
        let safe = self.safe_beginning(line);
        let rest = |secret: &'_ str, length: usize| {
            secret.get(secret.len() - length..).is_some_and(|rest| safe.starts_with(rest))
        };
        match self.longest_rest(rest) {
            0 => safe,
            ended => format!("{MASK}{}", &safe[ended..]),
        }
    }

    /// How many bytes of any secret stand there.
    fn longest_rest(&self, stands: impl Fn(&str, usize) -> bool) -> usize {
        let Self::Some(Known { texts, .. }) = self else { return 0 };
        let longest = |secret: &String| (SHORTEST_REST..secret.len()).rev().find(|&length| stands(secret, length));
        texts.iter().filter_map(longest).max().unwrap_or(0)
    }
}

impl Known {
    fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let whole = match self.all.is_match(text) {
            true => Cow::Owned(self.all.replace_all(text, &self.masks)),
            false => Cow::Borrowed(text),
        };
        if self.broken.is_empty() || !text.contains(char::REPLACEMENT_CHARACTER) {
            return whole;
        }
        let masked = |text: String, secret: &Regex| secret.replace_all(&text, MASK).into_owned();
        Cow::Owned(self.broken.iter().fold(whole.into_owned(), masked))
    }
}

/// Each of its characters that has several bytes may have become as many marks of something unreadable.
fn breakable(secret: &str) -> Option<Regex> {
    let mut pattern = String::new();
    for c in secret.chars() {
        match c.is_ascii() {
            true => pattern.push_str(&regex::escape(c.encode_utf8(&mut [0; 4]))),
            false => pattern.push_str(&format!("(?:{c}|\u{fffd}{{1,4}})")),
        }
    }
    Regex::new(&pattern).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets() -> Secrets {
        let mut variables = Variables::default();
        variables.environment.insert("KEY".into(), "first line of it\nsecond line of it".into());
        variables.environment.insert("PART".into(), "line of it".into());
        variables.environment.insert("SHORT".into(), "abc".into());
        variables.build.insert("OPEN".into(), "not a secret".into());
        variables.secret_names = vec!["KEY".into(), "PART".into(), "SHORT".into()];
        Secrets::new(&variables, ["a-token-of-a-repository"])
    }

    #[test]
    fn secrets_are_masked_whole_and_line_by_line() {
        let secrets = secrets();
        assert_eq!(secrets.mask("x second line of it y line of it"), format!("x {MASK} y {MASK}"));
        assert_eq!(secrets.mask("abc not a secret"), "abc not a secret");
        assert_eq!(secrets.mask("a-token-of-a-repository"), MASK);
        assert_eq!(secrets.safe_line("a-token\u{1b}[1m-of-a-repository"), MASK);
        assert_eq!(secrets.safe_colored_line("\u{1b}[1ma-token\u{1b}[1m-of-a-repository", 1_000), MASK);
        let colored = "\u{1b}[1mno secret\u{1b}[m";
        assert_eq!(secrets.safe_colored_line(colored, 1_000), colored);
        assert_eq!(secrets.safe_colored_line(colored, 12), "no secret");
    }

    #[test]
    fn what_the_engine_broke_is_still_a_secret() {
        let secrets = Secrets::new(&Variables::default(), ["ünï-パスワード"]);
        assert_eq!(secrets.mask("= \u{fffd}\u{fffd}nï-パスワード ="), format!("= {MASK} ="));
        assert_eq!(secrets.mask("= ünï-パ\u{fffd}\u{fffd}ワード \u{fffd}"), format!("= {MASK} \u{fffd}"));
        assert_eq!(secrets.mask("= ünï-パスワード \u{fffd}"), format!("= {MASK} \u{fffd}"));
    }

    #[test]
    fn what_a_cut_leaves_of_a_secret_is_masked() {
        let secrets = secrets();
        assert_eq!(secrets.safe_beginning("the log of a-token-of"), format!("the log of {MASK}"));
        assert_eq!(secrets.safe_part("repository: the log of a-to"), format!("{MASK}: the log of {MASK}"));
        assert_eq!(secrets.safe_part("plain"), "plain");
        assert_eq!(Secrets::None.safe_part("plain"), "plain");
        assert_eq!(Secrets::Everything.safe_part("plain"), MASK);
    }
}
