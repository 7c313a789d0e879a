//! What a person shall hear, before any channel writes it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// One line that says what happened.
    pub title: String,
    pub mood: Mood,
    /// Sentences, one for each line.
    pub lines: Vec<String>,
    /// Names and values, as "Commit" and "3f2a91c".
    pub facts: Vec<(String, String)>,
    /// The end of a log, shown as it is. When it is too long, its end is what is kept.
    pub quoted: Option<String>,
    pub link: Option<Link>,
    /// The name of the organization that this is about; empty in mail of the product itself.
    pub organization: String,
    /// When it happened, in RFC 3339.
    pub at: String,
    /// The event's name, for receivers that are programs.
    pub event: Option<String>,
    /// What the event carries, for receivers that are programs.
    pub data: Map<String, Value>,
}

/// What colour and sign a message has. From the best to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mood {
    Plain,
    Good,
    Warning,
    Bad,
}

/// Where a person finds more. Only a URL of http or https is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    pub label: String,
    pub url: String,
}

impl Mood {
    /// A sign in front of titles, where colours may be missing.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Good => "🟢 ",
            Self::Warning => "🟠 ",
            Self::Bad => "🔴 ",
        }
    }

    /// As `0xRRGGBB`.
    pub(crate) fn colour(self) -> u32 {
        match self {
            Self::Plain => 0x5c_6b_7a,
            Self::Good => 0x1f_8a_4c,
            Self::Warning => 0xc9_7a_0a,
            Self::Bad => 0xc6_28_28,
        }
    }
}
