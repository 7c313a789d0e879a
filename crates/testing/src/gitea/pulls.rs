//! Pull requests: what becomes of them, and what Gitea tells of it.

use serde_json::{Value, json};

use super::Gitea;
use super::answers::Reply;
use super::host::{Host, Kept, PullRequest};
use super::{pull_shapes, pushes, shapes};
use crate::git::Repository;

/// What is asked for.
pub struct Wish<'a> {
    /// A branch of the repository itself, or `<owner>:<branch>` of a fork.
    pub head: &'a str,
    pub target: &'a str,
    pub title: &'a str,
    pub text: &'a str,
}

pub fn open(host: &Host, base: &Kept, wish: &Wish<'_>) -> Result<PullRequest, Reply> {
    let (owner, branch) = wish.head.split_once(':').unwrap_or((base.owner(), wish.head));
    let source = host.repository(&format!("{owner}/{}", base.name())).ok_or_else(Reply::not_found)?;
    let commit = head_of(&source.git, branch).ok_or_else(Reply::not_found)?;
    let opened = {
        let mut state = host.state();
        let is_same = |one: &&PullRequest| one.is_open && (&*one.source, &*one.branch) == (&*source.full_name, branch);
        let mut of_base = state.pull_requests.iter().filter(|one| one.repository == base.full_name);
        if let Some(there) = of_base.clone().find(is_same) {
            return Err(already_there(there, base, &source));
        }
        let number = of_base.by_ref().count() as u64 + 1;
        let opened = PullRequest {
            id: state.next_id(),
            repository: base.full_name.clone(),
            number,
            source: source.full_name.clone(),
            branch: branch.to_owned(),
            target: wish.target.to_owned(),
            title: wish.title.to_owned(),
            text: wish.text.to_owned(),
            commit,
            is_open: true,
            merge_commit: None,
            changed_at: state.next_moment(),
        };
        state.pull_requests.push(opened.clone());
        opened
    };
    keep_reference(base, &source, &opened);
    tell(host, &opened, "pull_request", "opened", owner);
    Ok(opened)
}

fn already_there(there: &PullRequest, base: &Kept, source: &Kept) -> Reply {
    let (id, number) = (there.id, there.number);
    let (head, target, head_id, base_id) = (&there.branch, &there.target, source.id, base.id);
    let targets =
        format!("head_repo_id: {head_id}, base_repo_id: {base_id}, head_branch: {head}, base_branch: {target}");
    let said = format!("pull request already exists for these targets [id: {id}, issue_id: {number}, {targets}]");
    Reply::problem(409, &said)
}

pub fn close(host: &Host, there: &PullRequest) -> PullRequest {
    let changed = change(host, there, |one| one.is_open = false);
    tell(host, &changed, "pull_request", "closed", Gitea::USER);
    changed
}

/// With what was pushed to its branch since it was closed.
pub fn reopen(host: &Host, there: &PullRequest) -> PullRequest {
    let mut changed = change(host, there, |one| one.is_open = true);
    if let Some(source) = host.repository(&there.source) {
        changed = bring_up_to_date(host, &source, &changed);
    }
    tell(host, &changed, "pull_request", "reopened", Gitea::USER);
    changed
}

fn bring_up_to_date(host: &Host, source: &Kept, there: &PullRequest) -> PullRequest {
    let (Some(commit), Some(base)) = (head_of(&source.git, &there.branch), host.repository(&there.repository)) else {
        return there.clone();
    };
    keep_reference(&base, source, there);
    change(host, there, |one| one.commit = commit)
}

pub fn retitle(host: &Host, there: &PullRequest, title: &str) -> PullRequest {
    let changed = change(host, there, |one| title.clone_into(&mut one.title));
    let mut body = body(host, &changed, "edited", Gitea::USER);
    body["changes"] = json!({ "title": { "from": there.title }, "added_labels": null, "removed_labels": null });
    host.deliver(&changed.repository, "pull_request", &body);
    changed
}

/// Gitea tells of the merge before it tells of the push that the merge is.
pub fn merge(host: &Host, base: &Kept, there: &PullRequest) {
    let before = pushes::references(&base.git);
    let (target, head) = (format!("refs/heads/{}", there.target), &there.commit);
    let tree = base.git.git(&["merge-tree", "--write-tree", &target, head]);
    let message = format!("Merge pull request '{}' (#{})", there.title, there.number);
    let commit = base.git.git(&["commit-tree", &tree, "-p", &target, "-p", head, "-m", &message]);
    base.git.git(&["update-ref", &target, &commit]);
    let changed = change(host, there, |one| {
        one.is_open = false;
        one.merge_commit = Some(commit);
    });
    tell(host, &changed, "pull_request", "closed", Gitea::USER);
    tell_of_push(host, base, &before);
}

/// What a push to this repository has changed, its pull requests included.
pub fn tell_of_push(host: &Host, kept: &Kept, before: &pushes::References) {
    for (event, body) in pushes::events(host, kept, before) {
        host.deliver(&kept.full_name, event, &body);
    }
    follow(host, kept);
}

/// Open pull requests get what was pushed to their branches. One whose branch was deleted is closed.
fn follow(host: &Host, source: &Kept) {
    let all = host.state().pull_requests.clone();
    for there in all.iter().filter(|one| one.is_open && one.source == source.full_name) {
        match head_of(&source.git, &there.branch) {
            None => drop(close(host, there)),
            Some(commit) if commit != there.commit => {
                let changed = bring_up_to_date(host, source, there);
                tell(host, &changed, "pull_request_sync", "synchronized", source.owner());
            }
            Some(_) => {}
        }
    }
}

pub fn head_of(git: &Repository, branch: &str) -> Option<String> {
    let found = git.git(&["for-each-ref", "--format=%(objectname)", &format!("refs/heads/{branch}")]);
    Some(found).filter(|found| !found.is_empty())
}

/// So that it can be fetched from the repository that it was made for.
fn keep_reference(base: &Kept, source: &Kept, there: &PullRequest) {
    let folder = source.git.folder().to_str().expect("a path in UTF-8");
    let references = format!("+refs/heads/{}:refs/pull/{}/head", there.branch, there.number);
    base.git.git(&["fetch", "--quiet", "--no-auto-maintenance", "--no-tags", folder, &references]);
}

fn change(host: &Host, there: &PullRequest, change: impl FnOnce(&mut PullRequest)) -> PullRequest {
    let mut state = host.state();
    let changed_at = state.next_moment();
    let found = state.pull_requests.iter_mut().find(|one| one.id == there.id).expect("the pull request");
    change(found);
    found.changed_at = changed_at;
    found.clone()
}

fn tell(host: &Host, there: &PullRequest, kind: &'static str, action: &str, sender: &str) {
    host.deliver(&there.repository, kind, &body(host, there, action, sender));
}

fn body(host: &Host, there: &PullRequest, action: &str, sender: &str) -> Value {
    let base = host.repository(&there.repository).expect("its repository");
    json!({
        "action": action,
        "number": there.number,
        "pull_request": pull_shapes::pull_request(host, there),
        "requested_reviewer": null,
        "repository": shapes::repository(host, &base),
        "sender": shapes::user_named(host, sender),
        "commit_id": "",
        "review": null,
    })
}
