//! Deliveries of Bitbucket Server and Data Center.

use std::num::NonZeroU32;

use serde::Deserialize;
use serde_json::Value;

use crate::delivery::{Change, Delivery, Event, Reference, bounded, hash, parse};
use crate::pull_request::{self, PullRequestAction, Told, or_default, seconds};

#[derive(Deserialize)]
struct Payload {
    #[serde(default)]
    repository: Repository,
    #[serde(rename = "pullRequest")]
    pull_request: Option<MadeFor>,
    #[serde(default)]
    actor: Person,
    #[serde(default, deserialize_with = "bounded")]
    changes: Option<Vec<Changed>>,
    #[serde(rename = "toCommit")]
    to_commit: Option<Commit>,
}

/// What is about a pull request names a repository only here.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct MadeFor {
    to_ref: Place,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Place {
    repository: Repository,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Repository {
    id: Option<u64>,
    slug: String,
    project: Project,
    links: Links,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Project {
    key: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Links {
    clone: Vec<Href>,
    #[serde(rename = "self")]
    own: Vec<Href>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Href {
    href: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Person {
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Changed {
    #[serde(rename = "ref")]
    reference: RefName,
    from_hash: String,
    to_hash: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RefName {
    id: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Commit {
    id: String,
    message: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PullRequestEvent {
    /// When it happened.
    #[serde(default)]
    date: Value,
    pull_request: PullRequest,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PullRequest {
    id: NonZeroU32,
    #[serde(default, deserialize_with = "or_default")]
    title: String,
    #[serde(default, deserialize_with = "or_default")]
    state: String,
    #[serde(default)]
    updated_date: Value,
    #[serde(default, deserialize_with = "or_default")]
    links: Links,
    #[serde(default, deserialize_with = "or_default")]
    from_ref: Side,
    #[serde(default, deserialize_with = "or_default")]
    to_ref: Side,
}

/// Where its commits are, or where they are to go.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Side {
    #[serde(deserialize_with = "or_default")]
    id: String,
    #[serde(deserialize_with = "or_default")]
    latest_commit: String,
    #[serde(deserialize_with = "or_default")]
    repository: Repository,
}

pub fn read(event: &str, body: &[u8]) -> Option<Delivery> {
    let payload: Payload = parse(body)?;
    let head = payload.to_commit.unwrap_or_default();
    let event = match event {
        "repo:refs_changed" => {
            Event::Push(payload.changes.into_iter().flatten().filter_map(|changed| change(&changed, &head)).collect())
        }
        "diagnostics:ping" => Event::Ping,
        _ => match action(event) {
            Some(action) => pull_request::event(parse(body).map(|told| pull_request(action, told)), event),
            None => Event::Other(event.to_owned()),
        },
    };
    Some(Delivery {
        addresses: subject(payload.repository, payload.pull_request).addresses(),
        default_branch: None,
        sender: payload.actor.name,
        event,
    })
}

impl Repository {
    /// Older versions do not list the addresses to clone from; they follow from the one of the repository's page.
    fn addresses(&self) -> Vec<String> {
        let Self { slug, project, links, .. } = self;
        let mut addresses: Vec<String> = links.clone.iter().map(|link| link.href.clone()).collect();
        let key = &project.key;
        for page in links.own.iter().filter_map(|link| link.href.split_once("/projects/")) {
            addresses.push(format!("{}/scm/{key}/{slug}", page.0));
            addresses.push(format!("{}/{key}/{slug}", page.0));
        }
        addresses
    }
}

pub fn addresses(body: &[u8]) -> Option<Vec<String>> {
    #[derive(Deserialize)]
    struct Named {
        #[serde(default)]
        repository: Repository,
        #[serde(rename = "pullRequest")]
        pull_request: Option<MadeFor>,
    }
    parse(body).map(|Named { repository, pull_request }| subject(repository, pull_request).addresses())
}

/// The repository that a delivery is about.
fn subject(repository: Repository, pull_request: Option<MadeFor>) -> Repository {
    pull_request.map_or(repository, |made_for| made_for.to_ref.repository)
}

/// None for what is no change of a pull request, such as a comment.
fn action(event: &str) -> Option<PullRequestAction> {
    match event {
        "pr:opened" | "pr:reopened" => Some(PullRequestAction::Opened),
        "pr:from_ref_updated" => Some(PullRequestAction::Pushed),
        "pr:merged" | "pr:declined" | "pr:deleted" => Some(PullRequestAction::Closed),
        "pr:modified" => Some(PullRequestAction::other(event)),
        _ => None,
    }
}

fn pull_request(action: PullRequestAction, event: PullRequestEvent) -> Told {
    let PullRequest { id, title, state, updated_date, links, from_ref, to_ref } = event.pull_request;
    let source = from_ref.repository.id;
    Told {
        number: id,
        action,
        state,
        title,
        url: links.own.into_iter().next().map(|link| link.href).unwrap_or_default(),
        commit: hash(&from_ref.latest_commit),
        source_branch: branch(&from_ref.id),
        target_branch: branch(&to_ref.id),
        is_fork: source.is_none() || source != to_ref.repository.id,
        // That one was deleted does not change the other time.
        changed_at: time(&event.date).or_else(|| time(&updated_date)),
    }
}

fn branch(full_name: &str) -> String {
    full_name.strip_prefix("refs/heads/").unwrap_or_default().to_owned()
}

/// Milliseconds, or a text if its administrator prefers that.
fn time(value: &Value) -> Option<i64> {
    let milliseconds = value.as_i64().map(|milliseconds| milliseconds.div_euclid(1_000));
    milliseconds.or_else(|| seconds(value.as_str()?))
}

/// It never says which files.
fn change(changed: &Changed, head: &Commit) -> Option<Change> {
    let commit = hash(&changed.to_hash);
    let message = if commit.as_deref() == Some(head.id.as_str()) { head.message.clone() } else { String::new() };
    Some(Change {
        reference: Reference::of(&changed.reference.id)?,
        before: hash(&changed.from_hash),
        commit,
        message,
        files: None,
        pushed_at: None,
    })
}
