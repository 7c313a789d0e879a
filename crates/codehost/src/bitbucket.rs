//! Deliveries of Bitbucket Cloud.

use std::num::NonZeroU32;

use serde::Deserialize;

use crate::delivery::{Change, Delivery, Event, Reference, bounded, hash, parse};
use crate::pull_request::{self, PullRequestAction, Told, or_default, seconds};

#[derive(Deserialize)]
struct Payload {
    #[serde(default)]
    repository: Repository,
    #[serde(default)]
    actor: Person,
    #[serde(default)]
    push: Push,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Repository {
    full_name: String,
    links: Links,
    mainbranch: Option<Named>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Links {
    html: Href,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Href {
    href: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Named {
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Person {
    nickname: String,
    display_name: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Push {
    #[serde(deserialize_with = "bounded")]
    changes: Option<Vec<Changed>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Changed {
    old: Option<State>,
    new: Option<State>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct State {
    r#type: String,
    name: String,
    target: Target,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Target {
    hash: String,
    message: String,
}

#[derive(Deserialize)]
struct PullRequestEvent {
    pullrequest: PullRequest,
}

#[derive(Deserialize)]
struct PullRequest {
    id: NonZeroU32,
    #[serde(default, deserialize_with = "or_default")]
    title: String,
    #[serde(default, deserialize_with = "or_default")]
    state: String,
    #[serde(default, deserialize_with = "or_default")]
    updated_on: String,
    #[serde(default, deserialize_with = "or_default")]
    links: Links,
    #[serde(default, deserialize_with = "or_default")]
    source: Side,
    #[serde(default, deserialize_with = "or_default")]
    destination: Side,
}

/// Where its commits are, or where they are to go.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Side {
    #[serde(deserialize_with = "or_default")]
    branch: Named,
    #[serde(deserialize_with = "or_default")]
    commit: Target,
    /// None if it was deleted.
    repository: Option<Place>,
}

#[derive(Default, Deserialize, PartialEq, Eq)]
#[serde(default)]
struct Place {
    uuid: String,
    full_name: String,
}

impl Repository {
    fn addresses(&self) -> Vec<String> {
        vec![self.links.html.href.clone(), format!("https://bitbucket.org/{}", self.full_name)]
    }
}

pub fn addresses(body: &[u8]) -> Option<Vec<String>> {
    #[derive(Deserialize)]
    struct Named {
        #[serde(default)]
        repository: Repository,
    }
    parse(body).map(|Named { repository }| repository.addresses())
}

pub fn read(event: &str, body: &[u8]) -> Option<Delivery> {
    let payload: Payload = parse(body)?;
    let event = match event {
        "repo:push" => Event::Push(payload.push.changes.into_iter().flatten().filter_map(change).collect()),
        "diagnostics:ping" => Event::Ping,
        _ => match action(event) {
            Some(action) => pull_request::event(parse(body).map(|told| pull_request(action, told)), event),
            None => Event::Other(event.to_owned()),
        },
    };
    let repository = payload.repository;
    Some(Delivery {
        addresses: repository.addresses(),
        default_branch: repository.mainbranch.map(|branch| branch.name).filter(|branch| !branch.is_empty()),
        sender: [payload.actor.nickname, payload.actor.display_name]
            .into_iter()
            .find(|name| !name.is_empty())
            .unwrap_or_default(),
        event,
    })
}

/// None for what is no change of a pull request, such as a comment.
fn action(event: &str) -> Option<PullRequestAction> {
    match event {
        "pullrequest:created" => Some(PullRequestAction::Opened),
        // It does not say whether there are new commits, or only another title.
        "pullrequest:updated" => Some(PullRequestAction::Pushed),
        "pullrequest:fulfilled" | "pullrequest:rejected" => Some(PullRequestAction::Closed),
        _ => None,
    }
}

fn pull_request(action: PullRequestAction, event: PullRequestEvent) -> Told {
    let PullRequest { id, title, state, updated_on, links, source, destination } = event.pullrequest;
    let is_known = source.repository.as_ref().is_some_and(|place| !place.full_name.is_empty());
    Told {
        number: id,
        action,
        state,
        title,
        url: links.html.href,
        source_branch: source.branch.name,
        target_branch: destination.branch.name,
        commit: hash(&source.commit.hash),
        is_fork: !is_known || source.repository != destination.repository,
        changed_at: seconds(&updated_on),
    }
}

/// It never says which files.
fn change(changed: Changed) -> Option<Change> {
    let state = changed.new.as_ref().or(changed.old.as_ref())?;
    let kind = match state.r#type.as_str() {
        "branch" | "named_branch" => "heads",
        "tag" | "annotated_tag" => "tags",
        _ => return None,
    };
    let reference = Reference::of(&format!("refs/{kind}/{}", state.name))?;
    Some(Change {
        reference,
        before: changed.old.and_then(|old| hash(&old.target.hash)),
        commit: changed.new.as_ref().and_then(|new| hash(&new.target.hash)),
        message: changed.new.map(|new| new.target.message).unwrap_or_default(),
        files: None,
        pushed_at: None,
    })
}
