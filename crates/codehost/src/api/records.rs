//! What is asked for and answered, whichever host it is.

use std::fmt::Write;

use serde::Deserialize;
use sha2::{Digest, Sha256};

/// Whose token it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub login: String,
}

/// A part of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// Fewer than asked for, or none, even where there are more to come: not every host can search, and what does not fit is left
    /// out here.
    pub items: Vec<T>,
    /// The page to ask for next, with the same size. Not on every host the number after this one.
    pub next: Option<u32>,
}

impl<T> Page<T> {
    pub fn has_more(&self) -> bool {
        self.next.is_some()
    }

    pub(super) fn map<U>(self, change: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(change).collect(), next: self.next }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    /// `owner/name`; of GitLab `group/…/name`; of Bitbucket Server `PROJECT/name`.
    pub full_name: String,
    /// Over https, without a user name. It is what the host says: compare its origin with [`super::Base::clone_origin`].
    pub clone_url: String,
    /// Empty if the host does not offer it.
    pub ssh_url: String,
    /// None for an empty repository, and always for Bitbucket Server, which says it of branches only.
    pub default_branch: Option<String>,
    pub is_private: bool,
    pub web_url: String,
}

/// A branch or a tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefName {
    pub name: String,
    /// Also for a tag with a message of its own it is the commit.
    pub commit: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookId(pub String);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    pub id: HookId,
    pub url: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyId(pub String);

/// Of Bitbucket Server it has the comment's version too, so it changes with each update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommentId(pub String);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    pub id: CommentId,
    pub body: String,
    /// The account's login, as [`Account`] has it; empty if the host does not say. Not read of Bitbucket Cloud, where many tokens are
    /// no account's.
    pub author: String,
}

/// What is shown beside a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub state: State,
    /// A status replaces the one before with the same context.
    pub context: String,
    pub description: String,
    /// Where it leads to: Bitbucket refuses a status without.
    pub target_url: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Pending,
    Success,
    Failure,
    Cancelled,
}

impl Status {
    pub(super) fn description(&self, most: usize) -> String {
        shortened(&self.description, most, "…")
    }

    /// Two long contexts with the same beginning stay two.
    pub(super) fn context(&self, most: usize) -> String {
        let digest = Sha256::digest(&self.context).iter().take(4).fold(String::from("-"), |mut text, byte| {
            // Writing to a text does not fail.
            let _ = write!(text, "{byte:02x}");
            text
        });
        shortened(&self.context, most, &digest)
    }
}

/// At most that many characters; of a longer text the beginning, and the mark.
fn shortened(text: &str, most: usize, mark: &str) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept = most.saturating_sub(mark.chars().count());
    text.chars().take(kept).chain(mark.chars()).collect()
}

/// The id that most hosts give to what they made.
#[derive(Deserialize)]
pub(super) struct Numbered {
    pub id: u64,
}

pub(super) fn not_empty(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

/// Both Bitbuckets put the account into the addresses that they show to it.
pub(super) fn without_user(address: &str) -> String {
    let parts = address.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.split_once('/')?)));
    match parts {
        Some((scheme, (authority, path))) if scheme.starts_with("http") => {
            let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            format!("{scheme}://{host}/{path}")
        }
        _ => address.to_owned(),
    }
}
