//! The records of pull requests and of what is said about them.

use serde_json::{Value, json};

use super::host::{Host, Kept, PullRequest};
use super::pulls::head_of;
use super::shapes::{CREATED, repository, user, user_named};

pub fn pull_request(host: &Host, told: &PullRequest) -> Value {
    let base = host.repository(&told.repository).expect("its repository");
    let source = host.repository(&told.source).expect("the repository of its branch");
    let url = page(host, told);
    let merge_base = base.git.git(&["merge-base", &format!("refs/heads/{}", told.target), &told.commit]);
    let (additions, deletions, files) = size(&base, &merge_base, &told.commit);
    let comments = host.state().comments.iter().filter(|comment| comment.is_of(told)).count();
    let closed_at = Some(&told.changed_at).filter(|_| !told.is_open);
    let merged_at = closed_at.filter(|_| told.merge_commit.is_some());
    json!({
        "id": told.id,
        "url": url,
        "number": told.number,
        "user": user_named(host, source.owner()),
        "title": told.title,
        "body": told.text,
        "labels": [],
        "milestone": null,
        "assignee": null,
        "assignees": [],
        "requested_reviewers": [],
        "requested_reviewers_teams": [],
        "state": if told.is_open { "open" } else { "closed" },
        "draft": false,
        "is_locked": false,
        "comments": comments,
        "additions": additions,
        "deletions": deletions,
        "changed_files": files,
        "html_url": url,
        "diff_url": format!("{url}.diff"),
        "patch_url": format!("{url}.patch"),
        "mergeable": true,
        "merged": merged_at.is_some(),
        "merged_at": merged_at,
        "merge_commit_sha": told.merge_commit,
        "merged_by": merged_at.map(|_| user(host)),
        "allow_maintainer_edit": false,
        "base": side(host, &base, &told.target, &told.target, &head_of(&base.git, &told.target).unwrap_or_default()),
        "head": side(host, &source, &told.branch, &head_reference(&source, told), &told.commit),
        "merge_base": merge_base,
        "due_date": null,
        "created_at": CREATED,
        "updated_at": told.changed_at,
        "closed_at": closed_at,
        "pin_order": 0,
    })
}

fn side(host: &Host, kept: &Kept, label: &str, reference: &str, commit: &str) -> Value {
    json!({
        "label": label,
        "ref": reference,
        "sha": commit,
        "repo_id": kept.id,
        "repo": repository(host, kept),
    })
}

/// Of a branch that was deleted it is what can still be fetched.
fn head_reference(source: &Kept, told: &PullRequest) -> String {
    match head_of(&source.git, &told.branch) {
        Some(_) => told.branch.clone(),
        None => format!("refs/pull/{}/head", told.number),
    }
}

/// Lines that came, lines that went, and files.
fn size(base: &Kept, since: &str, commit: &str) -> (u64, u64, usize) {
    let said = base.git.git(&["diff", "--numstat", "--no-renames", since, commit]);
    let number = |word: Option<&str>| word.and_then(|word| word.parse::<u64>().ok()).unwrap_or_default();
    said.lines().fold((0, 0, 0), |(additions, deletions, files), line| {
        let mut words = line.split('\t');
        (additions + number(words.next()), deletions + number(words.next()), files + 1)
    })
}

fn page(host: &Host, told: &PullRequest) -> String {
    format!("{}/{}/pulls/{}", host.url, told.repository, told.number)
}

pub fn comment(host: &Host, told: &PullRequest, id: u64, text: &str, at: &str) -> Value {
    let url = page(host, told);
    json!({
        "id": id,
        "html_url": format!("{url}#issuecomment-{id}"),
        "pull_request_url": url,
        "issue_url": "",
        "user": user(host),
        "original_author": "",
        "original_author_id": 0,
        "body": text,
        "assets": [],
        "created_at": at,
        "updated_at": at,
    })
}

/// A pull request as the issue that it is, too.
pub fn issue(host: &Host, told: &PullRequest) -> Value {
    let base = host.repository(&told.repository).expect("its repository");
    let whole = pull_request(host, told);
    json!({
        "id": told.id,
        "url": format!("{}/api/v1/repos/{}/issues/{}", host.url, told.repository, told.number),
        "html_url": whole["html_url"],
        "number": told.number,
        "user": whole["user"],
        "original_author": "",
        "original_author_id": 0,
        "title": told.title,
        "body": told.text,
        "ref": "",
        "assets": [],
        "labels": [],
        "milestone": null,
        "assignee": null,
        "assignees": null,
        "state": whole["state"],
        "is_locked": false,
        "comments": whole["comments"],
        "created_at": whole["created_at"],
        "updated_at": whole["updated_at"],
        "closed_at": whole["closed_at"],
        "due_date": null,
        "time_estimate": 0,
        "pull_request": {
            "merged": whole["merged"],
            "merged_at": whole["merged_at"],
            "draft": false,
            "html_url": whole["html_url"],
        },
        "repository": { "id": base.id, "name": base.name(), "owner": base.owner(), "full_name": base.full_name },
        "pin_order": 0,
    })
}
