//! Deliveries of GitHub, and of Gitea and Forgejo, which have the same fields as far as they are read.

use std::num::NonZeroU32;

use serde::Deserialize;

use crate::delivery::{Change, Delivery, Event, Reference, bounded, hash, parse, paths};
use crate::pull_request::{self, PullRequestAction, Told, or_default, seconds};

/// More commits than this are not listed by GitHub.
const MOST_COMMITS: usize = 2_048;

#[derive(Deserialize)]
struct Payload {
    repository: Option<Repository>,
    #[serde(default)]
    sender: Person,
    #[serde(default)]
    pusher: Person,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Repository {
    clone_url: String,
    ssh_url: String,
    git_url: String,
    html_url: String,
    default_branch: Option<String>,
}

impl Repository {
    fn addresses(&self) -> Vec<String> {
        [&self.clone_url, &self.ssh_url, &self.git_url, &self.html_url].map(String::clone).to_vec()
    }
}

pub fn addresses(body: &[u8]) -> Option<Vec<String>> {
    #[derive(Deserialize)]
    struct Named {
        repository: Option<Repository>,
    }
    let named: Named = parse(body)?;
    Some(named.repository.unwrap_or_default().addresses())
}

/// Of a push only: elsewhere it is a text.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Pushed {
    pushed_at: Option<i64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Person {
    login: String,
    username: String,
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Push {
    #[serde(rename = "ref")]
    reference: String,
    before: String,
    after: String,
    forced: bool,
    repository: Pushed,
    #[serde(deserialize_with = "bounded")]
    commits: Option<Vec<Commit>>,
    /// Of Gitea: those that are not listed too.
    total_commits: Option<usize>,
    head_commit: Option<Commit>,
}

#[derive(Deserialize)]
struct Deletion {
    /// Short, unlike in a push, but for Forgejo.
    #[serde(rename = "ref")]
    name: String,
    ref_type: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Commit {
    id: String,
    message: String,
    #[serde(deserialize_with = "bounded")]
    added: Option<Vec<String>>,
    #[serde(deserialize_with = "bounded")]
    modified: Option<Vec<String>>,
    #[serde(deserialize_with = "bounded")]
    removed: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct PullRequestEvent {
    number: NonZeroU32,
    #[serde(default)]
    action: String,
    pull_request: PullRequest,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PullRequest {
    #[serde(deserialize_with = "or_default")]
    title: String,
    #[serde(deserialize_with = "or_default")]
    html_url: String,
    #[serde(deserialize_with = "or_default")]
    state: String,
    #[serde(deserialize_with = "or_default")]
    updated_at: String,
    #[serde(deserialize_with = "or_default")]
    head: Side,
    #[serde(deserialize_with = "or_default")]
    base: Side,
}

/// Where its commits are, or where they are to go.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Side {
    #[serde(deserialize_with = "or_default")]
    label: String,
    #[serde(rename = "ref", deserialize_with = "or_default")]
    name: String,
    #[serde(deserialize_with = "or_default")]
    sha: String,
    /// None if it was deleted.
    repo: Option<Place>,
}

#[derive(Default, Deserialize, PartialEq, Eq)]
#[serde(default)]
struct Place {
    id: u64,
    full_name: String,
}

pub fn read(event: &str, body: &[u8]) -> Option<Delivery> {
    let payload: Payload = parse(body)?;
    let repository = payload.repository.unwrap_or_default();
    let names = [payload.pusher.login, payload.pusher.username, payload.pusher.name, payload.sender.login];
    let event = match event {
        "ping" => Event::Ping,
        "push" => push(&parse(body)?),
        // Gitea says of branches only by this that they are gone.
        "delete" => Event::Push(deletion(&parse(body)?).into_iter().collect()),
        "pull_request" => pull_request::event(parse(body).map(pull_request), event),
        other => Event::Other(other.to_owned()),
    };
    Some(Delivery {
        addresses: repository.addresses(),
        default_branch: repository.default_branch.filter(|branch| !branch.is_empty()),
        sender: names.into_iter().find(|name| !name.is_empty()).unwrap_or_default(),
        event,
    })
}

fn push(push: &Push) -> Event {
    // Gitea has no ping: to be tried, it sends a push that changes nothing.
    if push.before == push.after {
        return Event::Ping;
    }
    Event::Push(change(push).into_iter().collect())
}

fn deletion(deletion: &Deletion) -> Option<Change> {
    let reference = match (Reference::of(&deletion.name), deletion.ref_type.as_str()) {
        (Some(reference), _) => reference,
        (None, "branch") => Reference::of(&format!("refs/heads/{}", deletion.name))?,
        (None, "tag") => Reference::of(&format!("refs/tags/{}", deletion.name))?,
        (None, _) => return None,
    };
    Some(Change { reference, before: None, commit: None, message: String::new(), files: None, pushed_at: None })
}

fn change(push: &Push) -> Option<Change> {
    let reference = Reference::of(&push.reference)?;
    let (before, after) = (hash(&push.before), hash(&push.after));
    // For a tag with a message of its own `after` is the tag, and the commit is here.
    let head = push.head_commit.as_ref();
    let commit = after.and_then(|after| head.and_then(|head| hash(&head.id)).or(Some(after)));
    let message = head.map(|head| head.message.clone()).unwrap_or_default();
    let files = before.as_ref().and_then(|_| files(push));
    Some(Change { reference, before, commit, message, files, pushed_at: push.repository.pushed_at })
}

fn pull_request(event: PullRequestEvent) -> Told {
    let PullRequestEvent { number, action, pull_request } = event;
    let (head, base) = (pull_request.head, pull_request.base);
    Told {
        number,
        action: match action.as_str() {
            "opened" | "reopened" => PullRequestAction::Opened,
            // The latter is Gitea's.
            "synchronize" | "synchronized" => PullRequestAction::Pushed,
            "closed" => PullRequestAction::Closed,
            other => PullRequestAction::other(other),
        },
        state: pull_request.state,
        title: pull_request.title,
        url: pull_request.html_url,
        is_fork: is_fork(&head, &base),
        commit: hash(&head.sha),
        source_branch: head.branch(),
        target_branch: base.name,
        changed_at: seconds(&pull_request.updated_at),
    }
}

/// To Gitea, commits can be pushed as a pull request by users who may only read the repository. It then says that they are in the
/// repository itself, without a label.
fn is_fork(head: &Side, base: &Side) -> bool {
    let is_known = head.repo.as_ref().is_some_and(|place| place.id != 0 && !place.full_name.is_empty());
    !is_known || head.repo != base.repo || head.label.is_empty()
}

impl Side {
    /// Gitea gives the reference of the pull request instead if the branch was deleted. The label is then the branch.
    fn branch(self) -> String {
        match self.name.starts_with("refs/pull/") && !self.label.is_empty() {
            true => self.label,
            false => self.name,
        }
    }
}

/// A forced push also takes commits away, and of those no files are listed.
fn files(push: &Push) -> Option<Vec<String>> {
    let commits = push.commits.as_deref().filter(|commits| !commits.is_empty())?;
    let are_all = push.total_commits.is_none_or(|total| total <= commits.len()) && commits.len() < MOST_COMMITS;
    if push.forced || !are_all {
        return None;
    }
    let mut lists = Vec::new();
    for commit in commits {
        lists.extend([commit.added.as_ref()?, commit.modified.as_ref()?, commit.removed.as_ref()?]);
    }
    paths(lists.into_iter())
}
