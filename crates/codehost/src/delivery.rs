//! What a delivery says about a repository, whichever host it is from.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeOwned, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use windlass_api::CodeHost;

use crate::pull_request::PullRequest;
use crate::sender::{Sender, payload_of_form};
use crate::{bitbucket, bitbucket_server, github, gitlab};

/// Git itself has none that come near.
pub(crate) const LONGEST_NAME: usize = 500;
/// Commits of a push, and files of a commit, that are read: the most that any host lists.
pub(crate) const MOST_LISTED: usize = 3_001;
/// Paths of files, all together, by which a push is judged. Of more it is not known which files it changes.
const MOST_PATHS: usize = 64 * 1024;

/// What happened, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Of the repository: all that the host gives.
    pub addresses: Vec<String>,
    /// None if the host does not say.
    pub default_branch: Option<String>,
    /// The host's name of the user who did it; empty if it does not say.
    pub sender: String,
    pub event: Event,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The host only tries whether it is heard.
    Ping,
    Push(Vec<Change>),
    PullRequest(PullRequest),
    /// By the host's own word.
    Other(String),
}

/// What a push did to one branch or tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub reference: Reference,
    /// None if the reference is new.
    pub before: Option<String>,
    /// The hash of the commit that it leads to now; none if it was deleted.
    pub commit: Option<String>,
    /// Of that commit; empty if the host does not say.
    pub message: String,
    /// The files that differ from before; none if the host does not say, or not of all.
    pub files: Option<Vec<String>>,
    /// When the host was pushed to, in seconds since 1970. Only a time of the host itself: commits have any time.
    pub pushed_at: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    Branch(String),
    Tag(String),
}

impl Reference {
    /// None for what is neither, such as notes.
    pub(crate) fn of(full_name: &str) -> Option<Self> {
        if full_name.len() > LONGEST_NAME || full_name.contains(char::is_control) {
            return None;
        }
        let branch = full_name.strip_prefix("refs/heads/").map(|name| Self::Branch(name.to_owned()));
        branch.or_else(|| full_name.strip_prefix("refs/tags/").map(|name| Self::Tag(name.to_owned())))
    }

    pub fn name(&self) -> &str {
        match self {
            Self::Branch(name) | Self::Tag(name) => name,
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Branch(name) => write!(f, "the branch {name}"),
            Self::Tag(name) => write!(f, "the tag {name}"),
        }
    }
}

/// None when the body is not what this host sends.
pub fn read(sender: &Sender, body: &[u8]) -> Option<Delivery> {
    let form;
    let body = if sender.is_form {
        form = payload_of_form(body)?;
        form.as_bytes()
    } else {
        body
    };
    match sender.host {
        CodeHost::GitHub | CodeHost::Gitea | CodeHost::Forgejo => github::read(&sender.event, body),
        CodeHost::GitLab => gitlab::read(body),
        CodeHost::Bitbucket => bitbucket::read(&sender.event, body),
        CodeHost::BitbucketServer => bitbucket_server::read(&sender.event, body),
    }
}

/// By which addresses the repository of a delivery is known. It reads no more than that, because any stranger can ask for it.
pub fn addresses(sender: &Sender, body: &[u8]) -> Option<Vec<String>> {
    let form;
    let body = if sender.is_form {
        form = payload_of_form(body)?;
        form.as_bytes()
    } else {
        body
    };
    match sender.host {
        CodeHost::GitHub | CodeHost::Gitea | CodeHost::Forgejo => github::addresses(body),
        CodeHost::GitLab => gitlab::addresses(body),
        CodeHost::Bitbucket => bitbucket::addresses(body),
        CodeHost::BitbucketServer => bitbucket_server::addresses(body),
    }
}

/// Each once; none if they are too many to be looked at.
pub(crate) fn paths<'a>(lists: impl Iterator<Item = &'a Vec<String>>) -> Option<Vec<String>> {
    let (mut paths, mut bytes) = (Vec::new(), 0);
    for list in lists {
        bytes += list.iter().map(String::len).sum::<usize>();
        if bytes > MOST_PATHS || list.len() >= MOST_LISTED {
            return None;
        }
        paths.extend(list.iter().cloned());
    }
    paths.sort_unstable();
    paths.dedup();
    Some(paths)
}

/// A list of which no more than [`MOST_LISTED`] are kept in memory.
pub(crate) fn bounded<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Vec<T>>, D::Error> {
    struct Bounded<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for Bounded<T> {
        type Value = Option<Vec<T>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list")
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut kept = Vec::new();
            while kept.len() < MOST_LISTED {
                match list.next_element()? {
                    Some(element) => kept.push(element),
                    None => return Ok(Some(kept)),
                }
            }
            while list.next_element::<IgnoredAny>()?.is_some() {}
            Ok(Some(kept))
        }
    }
    deserializer.deserialize_any(Bounded(PhantomData))
}

pub(crate) fn parse<T: DeserializeOwned>(body: &[u8]) -> Option<T> {
    serde_json::from_slice(body).ok()
}

/// None for the hash of zeros by which hosts say that there is no commit, and for what is no hash.
pub(crate) fn hash(text: &str) -> Option<String> {
    let is_hash = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_hash && text.bytes().any(|byte| byte != b'0')).then(|| text.to_ascii_lowercase())
}
