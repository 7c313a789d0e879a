//! The patterns of variables. They come from authors whom we do not know: matching takes linear time, and compiling has a bound.

use regex::{Regex, RegexBuilder};

pub(crate) const LONGEST: usize = 500;
/// Longer values are not compared with a pattern: the time is the product of both.
const LONGEST_VALUE: usize = 4096;
const MOST_BYTES: usize = 256 * 1024;

#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub text: String,
    regex: Regex,
}

impl Pattern {
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() || text.chars().count() > LONGEST {
            return Err(format!("must have 1 to {LONGEST} characters"));
        }
        // Alone first: `a)|(b` would only make sense inside of the parentheses that are put around it.
        compile(text)?;
        Ok(Self { text: text.into(), regex: compile(&format!(r"\A(?:{text})\z"))? })
    }

    pub fn matches(&self, value: &str) -> bool {
        value.len() <= LONGEST_VALUE && self.regex.is_match(value)
    }
}

fn compile(text: &str) -> Result<Regex, String> {
    let mut builder = RegexBuilder::new(text);
    builder.size_limit(MOST_BYTES).dfa_size_limit(MOST_BYTES).nest_limit(50).build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "asks for too much memory; use smaller numbers of repetitions".into(),
        _ => "is not a regular expression (lookahead and backreferences are not supported)".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_value_must_match() {
        let pattern = Pattern::parse("[a-z]+|x1").unwrap();
        for (value, matches) in [("abc", true), ("x1", true), ("abc1", false), ("", false), ("abc\n", false)] {
            assert_eq!(pattern.matches(value), matches, "{value:?}");
        }
        assert!(Pattern::parse("^[a-z]+$").unwrap().matches("abc"));
        assert!(!Pattern::parse("(?m)^a$").unwrap().matches("a\na"));
        assert!(!Pattern::parse(".*").unwrap().matches(&"a".repeat(5000)));
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for text in ["", "(", "a)|(b", "(?=a)", r"(a)\1", "[", "(?x)a #", &"(".repeat(400), &"a".repeat(501)] {
            assert!(Pattern::parse(text).is_err(), "{text}");
        }
        assert!(Pattern::parse("((a{100}){100}){100}").unwrap_err().contains("memory"));
    }
}
