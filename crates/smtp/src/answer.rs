//! What a server answers: a number of three digits, and words.

use std::fmt;

/// Words beyond this are left out.
const LONGEST_TEXT: usize = 500;
const MASK: &str = "********";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub code: u16,
    /// The words of the server, cut and in one line. They come from outside, as everything a server says.
    pub text: String,
}

impl Answer {
    /// The words of all lines. What is secret is masked before they are cut: a part of it would be recognised no more.
    pub(crate) fn new(code: u16, lines: &[String], secrets: &[String]) -> Self {
        let joined = lines.join(" ");
        let masked = secrets.iter().fold(joined, |text, secret| text.replace(secret.as_str(), MASK));
        let plain: String = masked.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
        let words = plain.split_whitespace().collect::<Vec<_>>().join(" ");
        Self { code, text: words.chars().take(LONGEST_TEXT).collect() }
    }

    /// Whether it means yes.
    pub fn is_good(&self) -> bool {
        (200..300).contains(&self.code)
    }

    /// Whether it means "not now".
    pub fn is_temporary(&self) -> bool {
        (400..500).contains(&self.code)
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.text.is_empty() { write!(f, "{}", self.code) } else { write!(f, "{} {}", self.code, self.text) }
    }
}
