//! Pull requests, whichever host they are of.

use std::num::NonZeroU32;

use serde::{Deserialize, Deserializer};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use windlass_api::CodeHost;

use crate::delivery::{Event, LONGEST_NAME};

const LONGEST_TITLE: usize = 300;
const LONGEST_URL: usize = 2_000;
const LONGEST_WORD: usize = 100;
/// Of no host are times longer, with fractions of a second and an offset.
const LONGEST_TIME: usize = 40;

/// What happened to a pull request, which GitLab calls a merge request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequest {
    /// The one that people know it by, not GitLab's own id.
    pub number: u32,
    pub action: PullRequestAction,
    pub title: String,
    /// Its page at the code host; empty if the host does not say.
    pub url: String,
    /// Empty for a name that no branch has.
    pub source_branch: String,
    pub target_branch: String,
    /// All digits of its newest commit; none if the host gives fewer, as Bitbucket Cloud does.
    pub commit: Option<String>,
    /// Whether its commits are in another repository, or came without the right to push to this one. What is not clear counts as
    /// a fork.
    pub is_fork: bool,
    /// When the host last changed it, in seconds since 1970; none if it does not say.
    pub changed_at: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PullRequestAction {
    /// Or opened again.
    Opened,
    /// Its commits changed.
    Pushed,
    /// Merged or not.
    Closed,
    /// Nothing that matters: a label, a title; by the host's own word.
    Other(String),
}

impl PullRequest {
    /// By what its commits are fetched from the repository that it was made for: `refs/pull/7/head`. None for Bitbucket Cloud,
    /// which has no such reference.
    pub fn reference(number: u32, host: CodeHost) -> Option<String> {
        match host {
            CodeHost::GitHub | CodeHost::Gitea | CodeHost::Forgejo => Some(format!("refs/pull/{number}/head")),
            CodeHost::GitLab => Some(format!("refs/merge-requests/{number}/head")),
            CodeHost::BitbucketServer => Some(format!("refs/pull-requests/{number}/from")),
            CodeHost::Bitbucket => None,
        }
    }
}

/// As the host tells of it.
pub(crate) struct Told {
    pub number: NonZeroU32,
    pub action: PullRequestAction,
    /// Whether it is open, in the host's own word.
    pub state: String,
    pub title: String,
    pub url: String,
    pub source_branch: String,
    pub target_branch: String,
    pub commit: Option<String>,
    pub is_fork: bool,
    pub changed_at: Option<i64>,
}

impl Told {
    /// With texts that are as long as they may be.
    pub fn bounded(self) -> PullRequest {
        PullRequest {
            number: self.number.get(),
            action: self.action.in_state(&self.state),
            title: plain(&self.title, LONGEST_TITLE),
            url: Some(self.url).filter(|url| is_page(url)).unwrap_or_default(),
            source_branch: Some(self.source_branch).filter(|name| is_name(name)).unwrap_or_default(),
            target_branch: Some(self.target_branch).filter(|name| is_name(name)).unwrap_or_default(),
            commit: self.commit,
            is_fork: self.is_fork,
            changed_at: self.changed_at,
        }
    }
}

impl PullRequestAction {
    pub(crate) fn other(word: &str) -> Self {
        Self::Other(plain(word, LONGEST_WORD))
    }

    /// Bitbucket Cloud tells of a new title of a merged one by the same word as of new commits.
    fn in_state(self, state: &str) -> Self {
        let is_over =
            ["closed", "merged", "declined", "superseded"].iter().any(|word| word.eq_ignore_ascii_case(state));
        match self {
            Self::Opened | Self::Pushed if is_over => Self::Closed,
            _ => self,
        }
    }
}

/// One that could not be read is any other event.
pub(crate) fn event(told: Option<Told>, word: &str) -> Event {
    told.map_or_else(|| Event::Other(word.to_owned()), |told| Event::PullRequest(told.bounded()))
}

fn plain(text: &str, most: usize) -> String {
    text.chars().filter(|c| !c.is_control()).take(most).collect()
}

fn is_page(url: &str) -> bool {
    let is_web = url.starts_with("https://") || url.starts_with("http://");
    is_web && url.len() <= LONGEST_URL && !url.contains(|c: char| c.is_control() || c.is_whitespace())
}

fn is_name(name: &str) -> bool {
    name.len() <= LONGEST_NAME && !name.contains(char::is_control)
}

/// Whether git has a branch of this name: what `git check-ref-format --branch` accepts as it is.
pub(crate) fn is_branch_name(name: &str) -> bool {
    let is_bad_character = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
    let is_bad_part = |part: &str| part.is_empty() || part.starts_with('.') || part.ends_with(".lock");
    let is_bad = !is_name(name)
        || name.contains(is_bad_character)
        || name.split('/').any(is_bad_part)
        || name.starts_with('-')
        || name.ends_with('.')
        || name.contains("..")
        || name.contains("@{")
        || matches!(name, "@" | "HEAD");
    !is_bad
}

/// Seconds since 1970. GitLab also writes `2026-03-03 11:00:00 UTC`, and Bitbucket Server `+0100`.
pub(crate) fn seconds(text: &str) -> Option<i64> {
    if text.len() > LONGEST_TIME || !text.is_ascii() {
        return None;
    }
    let mut text = text.replacen(" UTC", "Z", 1).replacen(' ', "T", 1).replace(' ', "");
    let offset = text.len().checked_sub(5).filter(|at| matches!(text.as_bytes().get(*at), Some(b'+' | b'-')));
    if let Some(offset) = offset {
        text.insert(offset + 3, ':');
    }
    OffsetDateTime::parse(&text, &Rfc3339).ok().map(OffsetDateTime::unix_timestamp)
}

/// What is null is as if it were absent.
pub(crate) fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_every_host() {
        for text in [
            "2026-03-03T11:00:00Z",
            "2026-03-03T12:00:00+01:00",
            "2026-03-03T11:00:00.532546+00:00",
            "2026-03-03 11:00:00 UTC",
            "2026-03-03 12:00:00 +0100",
            "2026-03-03T12:00:00+0100",
        ] {
            assert_eq!(seconds(text), Some(1_772_535_600), "{text}");
        }
        for text in ["", "Z", "+0100", "2026-03-03", "now", "1772535600", "２026-03-03T11:00:00Z", &"9".repeat(99)] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn names_that_git_refuses() {
        for name in ["main", "feature/größe-日本", "refs/pull/7/head", "a-b", "v1.0", "a@b", "head", "feature/-x"] {
            assert!(is_branch_name(name), "{name}");
        }
        let bad =
            ["", "-x", "--upload-pack=x", "a..b", "a b", "a~1", "a^", "a:b", "a?", "a*", "a[", "a\\b", "a//b", "/a"];
        let worse =
            ["a/", "a.", ".a", "a/.b", "a.lock", "a.lock/b", "@", "a@{1}", "HEAD", "a\nb", "a\u{7f}", "a\u{85}"];
        for name in bad.into_iter().chain(worse).chain([&*"a".repeat(LONGEST_NAME + 1)]) {
            assert!(!is_branch_name(name), "{name:?}");
        }
    }

    #[test]
    fn texts_are_bounded() {
        let told = |text: &str| Told {
            number: NonZeroU32::MIN,
            action: PullRequestAction::other(text),
            state: "open".into(),
            title: text.into(),
            url: format!("https://example.org/{text}"),
            source_branch: text.into(),
            target_branch: text.into(),
            commit: None,
            is_fork: true,
            changed_at: None,
        };
        let long = told(&"ü".repeat(3_000)).bounded();
        assert_eq!((long.title.chars().count(), long.url.len(), long.source_branch.len()), (300, 0, 0));
        assert_eq!((long.target_branch.len(), long.action), (0, PullRequestAction::Other("ü".repeat(100))));
        let odd = told("a\u{1b}[1m\n").bounded();
        assert_eq!((&*odd.title, &*odd.url, &*odd.source_branch), ("a[1m", "", ""));
        let script = Told { url: "javascript:alert(1)".into(), ..told("a") };
        assert_eq!(script.bounded().url, "");
    }
}
