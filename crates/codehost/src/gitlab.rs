//! Deliveries of GitLab.

use std::num::NonZeroU32;

use serde::Deserialize;

use crate::delivery::{Change, Delivery, Event, Reference, bounded, hash, parse, paths};
use crate::pull_request::{self, PullRequestAction, Told, or_default, seconds};

#[derive(Default, Deserialize)]
#[serde(default)]
struct Payload {
    object_kind: String,
    event_name: String,
    #[serde(rename = "ref")]
    reference: String,
    before: String,
    after: String,
    /// The commit, also of a tag with a message of its own.
    checkout_sha: Option<String>,
    user_username: String,
    user_name: String,
    project: Project,
    #[serde(deserialize_with = "bounded")]
    commits: Option<Vec<Commit>>,
    /// Those that are not listed too.
    total_commits_count: usize,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Project {
    git_http_url: String,
    git_ssh_url: String,
    http_url: String,
    ssh_url: String,
    web_url: String,
    default_branch: Option<String>,
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
struct MergeRequestEvent {
    object_attributes: MergeRequest,
}

#[derive(Deserialize)]
struct MergeRequest {
    iid: NonZeroU32,
    #[serde(default, deserialize_with = "or_default")]
    action: String,
    #[serde(default, deserialize_with = "or_default")]
    state: String,
    #[serde(default, deserialize_with = "or_default")]
    title: String,
    #[serde(default, deserialize_with = "or_default")]
    url: String,
    #[serde(default, deserialize_with = "or_default")]
    source_branch: String,
    #[serde(default, deserialize_with = "or_default")]
    target_branch: String,
    /// None if it was deleted.
    source_project_id: Option<u64>,
    target_project_id: Option<u64>,
    last_commit: Option<LastCommit>,
    /// Where the branch was before commits were pushed to it; absent if none were.
    oldrev: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    updated_at: String,
}

#[derive(Deserialize)]
struct LastCommit {
    id: String,
}

/// Whose doing it was. A push has this under other names.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Doer {
    user: User,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct User {
    #[serde(deserialize_with = "or_default")]
    username: String,
    #[serde(deserialize_with = "or_default")]
    name: String,
}

impl Project {
    fn addresses(&self) -> Vec<String> {
        [&self.git_http_url, &self.git_ssh_url, &self.http_url, &self.ssh_url, &self.web_url]
            .map(String::clone)
            .to_vec()
    }
}

pub fn addresses(body: &[u8]) -> Option<Vec<String>> {
    #[derive(Deserialize)]
    struct Named {
        #[serde(default)]
        project: Project,
    }
    parse(body).map(|Named { project }| project.addresses())
}

pub fn read(body: &[u8]) -> Option<Delivery> {
    let payload: Payload = parse(body)?;
    let mut names = vec![payload.user_username.clone(), payload.user_name.clone()];
    let event = match payload.object_kind.as_str() {
        "push" | "tag_push" => Event::Push(change(&payload).into_iter().collect()),
        word @ "merge_request" => {
            let Doer { user } = parse(body).unwrap_or_default();
            names.extend([user.username, user.name]);
            pull_request::event(parse(body).map(merge_request), word)
        }
        "" => Event::Other(payload.event_name),
        other => Event::Other(other.to_owned()),
    };
    let project = payload.project;
    Some(Delivery {
        addresses: project.addresses(),
        default_branch: project.default_branch.filter(|branch| !branch.is_empty()),
        sender: names.into_iter().find(|name| !name.is_empty()).unwrap_or_default(),
        event,
    })
}

fn change(payload: &Payload) -> Option<Change> {
    let reference = Reference::of(&payload.reference)?;
    let (before, after) = (hash(&payload.before), hash(&payload.after));
    let commit = after.and_then(|after| payload.checkout_sha.as_deref().and_then(hash).or(Some(after)));
    let commits = payload.commits.as_deref().unwrap_or_default();
    let head = commits.iter().find(|one| Some(&one.id) == commit.as_ref()).or(commits.last());
    let message = head.map(|head| head.message.clone()).unwrap_or_default();
    let are_all = !commits.is_empty() && payload.total_commits_count <= commits.len();
    let files = before.as_ref().filter(|_| are_all).and_then(|_| files(commits));
    Some(Change { reference, before, commit, message, files, pushed_at: None })
}

fn merge_request(event: MergeRequestEvent) -> Told {
    let told = event.object_attributes;
    let source = told.source_project_id;
    Told {
        number: told.iid,
        action: match (told.action.as_str(), told.oldrev) {
            ("open" | "reopen", _) => PullRequestAction::Opened,
            ("update", Some(_)) => PullRequestAction::Pushed,
            ("close" | "merge", _) => PullRequestAction::Closed,
            // What its settings page sends as a test has no action.
            ("", _) => PullRequestAction::other("merge_request"),
            (other, _) => PullRequestAction::other(other),
        },
        state: told.state,
        title: told.title,
        url: told.url,
        source_branch: told.source_branch,
        target_branch: told.target_branch,
        commit: told.last_commit.and_then(|commit| hash(&commit.id)),
        is_fork: source.is_none() || source != told.target_project_id,
        changed_at: seconds(&told.updated_at),
    }
}

fn files(commits: &[Commit]) -> Option<Vec<String>> {
    let mut lists = Vec::new();
    for commit in commits {
        lists.extend([commit.added.as_ref()?, commit.modified.as_ref()?, commit.removed.as_ref()?]);
    }
    paths(lists.into_iter())
}
