//! A message as channels begin with it: without what is not shown, and so short that what they do with it costs little.

use url::Url;

use crate::text::{characters, cut, cut_start, in_lines, one_line, units};
use crate::{Message, Mood};

const MOST_LINES: usize = 40;
const MOST_FACTS: usize = 25;
const LONGEST_TITLE: usize = 250;
const LONGEST_LINE: usize = 1000;
const LONGEST_NAME: usize = 100;
const LONGEST_QUOTED: usize = 8000;
/// Longer ones are cut by programs on the way, and then lead nowhere.
const LONGEST_URL: usize = 2000;

pub(crate) struct Cleaned {
    /// Never empty.
    pub title: String,
    pub mood: Mood,
    /// Neither has empty lines.
    pub lines: Vec<String>,
    /// No name and no value is empty.
    pub facts: Vec<(String, String)>,
    pub quoted: Option<String>,
    pub link: Option<CleanedLink>,
    /// The organization and the time.
    pub footer: String,
}

pub(crate) struct CleanedLink {
    pub label: String,
    /// Escaped as URLs are: without spaces, quotes and angle brackets.
    pub url: String,
}

impl Cleaned {
    pub(crate) fn of(message: &Message) -> Self {
        Self {
            title: or(&line(&message.title, LONGEST_TITLE), "Notification"),
            mood: message.mood,
            lines: lines(&message.lines),
            facts: facts(&message.facts),
            quoted: message.quoted.as_deref().and_then(quoted),
            link: message.link.as_ref().and_then(|link| cleaned_link(&link.label, &link.url)),
            footer: footer(&message.organization, &message.at),
        }
    }
}

/// Cut before it is cleaned too: most of what is too long is far too long.
fn line(text: &str, limit: usize) -> String {
    let few: String = text.chars().take(4 * limit).collect();
    cut(&one_line(&few), limit, characters)
}

fn or(text: &str, otherwise: &str) -> String {
    if text.is_empty() { otherwise.to_owned() } else { text.to_owned() }
}

fn lines(given: &[String]) -> Vec<String> {
    let mut cleaned: Vec<String> = given
        .iter()
        .map(|text| line(text, LONGEST_LINE))
        .filter(|text| !text.is_empty())
        .take(MOST_LINES + 1)
        .collect();
    if cleaned.len() > MOST_LINES {
        cleaned.truncate(MOST_LINES - 1);
        cleaned.push("…".to_owned());
    }
    cleaned
}

fn facts(given: &[(String, String)]) -> Vec<(String, String)> {
    let cleaned = given.iter().map(|(name, value)| (line(name, LONGEST_NAME), line(value, LONGEST_LINE)));
    let said = cleaned.filter(|(name, value)| !(name.is_empty() && value.is_empty()));
    said.map(|(name, value)| (or(&name, "–"), or(&value, "–"))).take(MOST_FACTS).collect()
}

/// The end of a log is what says why it ended.
fn quoted(text: &str) -> Option<String> {
    let shown = in_lines(&cut_start(text, LONGEST_QUOTED, units));
    let shown = shown.trim_matches('\n').trim_end();
    (!shown.trim().is_empty()).then(|| shown.to_owned())
}

fn cleaned_link(label: &str, url: &str) -> Option<CleanedLink> {
    let parsed = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    let url = parsed.to_string();
    (url.len() <= LONGEST_URL).then(|| CleanedLink { label: or(&line(label, LONGEST_NAME), "Open"), url })
}

fn footer(organization: &str, at: &str) -> String {
    let (organization, at) = (line(organization, LONGEST_NAME), moment(&line(at, 40)));
    [organization, at].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}

/// "2026-11-19T07:54:30.123Z" as people write it. Anything else stays as it is.
fn moment(at: &str) -> String {
    let is_utc = at.is_ascii() && at.len() >= 20 && at.ends_with('Z') && at.as_bytes()[10] == b'T';
    if is_utc { format!("{} {} UTC", &at[..10], &at[11..16]) } else { at.to_owned() }
}
