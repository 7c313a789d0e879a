//! The calls about pull requests and their comments.

use serde_json::{Value, json};

use super::answers::Reply;
use super::api::Called;
use super::host::{Comment, Kept, PullRequest};
use super::pulls::{self, Wish};
use super::{pull_shapes, shapes};

/// Under `/pulls`.
pub fn of_pulls(called: &Called, base: &Kept, rest: &[&str]) -> Reply {
    let Some((number, rest)) = rest.split_first() else { return without_number(called, base) };
    let Some(there) = find(called, base, number) else { return Reply::not_found() };
    match (called.method.as_str(), rest) {
        ("GET", []) => Reply::new(200, pull_shapes::pull_request(called.host, &there)),
        ("PATCH", []) => Reply::new(201, pull_shapes::pull_request(called.host, &edit(called, there))),
        ("POST", ["merge"]) => {
            pulls::merge(called.host, base, &there);
            Reply { status: 200, ..Reply::gone() }
        }
        _ => Reply::not_found(),
    }
}

fn without_number(called: &Called, base: &Kept) -> Reply {
    let text = |name: &str| called.body[name].as_str().unwrap_or_default();
    match called.method.as_str() {
        "GET" => {
            let all = called.host.state().pull_requests.clone();
            let of_base = all.iter().filter(|one| one.repository == base.full_name);
            called.page_with_links(of_base.map(|one| pull_shapes::pull_request(called.host, one)).collect())
        }
        "POST" => {
            let wish = Wish { head: text("head"), target: text("base"), title: text("title"), text: text("body") };
            match pulls::open(called.host, base, &wish) {
                Ok(opened) => Reply::new(201, pull_shapes::pull_request(called.host, &opened)),
                Err(refused) => refused,
            }
        }
        _ => Reply::not_found(),
    }
}

fn edit(called: &Called, there: PullRequest) -> PullRequest {
    let there = match called.body["title"].as_str() {
        Some(title) if title != there.title => pulls::retitle(called.host, &there, title),
        _ => there,
    };
    match called.body["state"].as_str() {
        Some("closed") if there.is_open => pulls::close(called.host, &there),
        Some("open") if !there.is_open => pulls::reopen(called.host, &there),
        _ => there,
    }
}

/// Under `/issues`.
pub fn of_issues(called: &Called, base: &Kept, rest: &[&str]) -> Reply {
    match (called.method.as_str(), rest) {
        ("GET", ["comments", id]) => match find_comment(called, base, id) {
            Some(comment) => Reply::new(200, comment.shape),
            None => no_comment(id),
        },
        ("PATCH", ["comments", id]) => match find_comment(called, base, id) {
            Some(comment) => edit_comment(called, &comment),
            None => no_comment(id),
        },
        ("GET" | "POST", [number, "comments"]) => match find(called, base, number) {
            Some(there) if called.method == "GET" => comments(called, &there),
            Some(there) => create_comment(called, &there),
            None => {
                let said = format!("issue does not exist [id: 0, repo_id: {}, index: {number}]", base.id);
                Reply::problem(500, &said)
            }
        },
        _ => Reply::not_found(),
    }
}

fn no_comment(id: &str) -> Reply {
    let said = format!("comment does not exist [id: {id}, issue_id: 0]");
    Reply::new(404, json!({ "errors": [said], "message": "not found" }))
}

/// All of them, whichever page is asked for.
fn comments(called: &Called, there: &PullRequest) -> Reply {
    let state = called.host.state();
    let of_it = state.comments.iter().filter(|comment| comment.is_of(there));
    let shapes: Vec<Value> = of_it.map(|comment| comment.shape.clone()).collect();
    Reply { total: Some(shapes.len()), ..Reply::new(200, json!(shapes)) }
}

fn text_of<'a>(called: &'a Called<'_>) -> Result<&'a str, Reply> {
    let text = called.body["body"].as_str().filter(|text| !text.is_empty());
    text.ok_or_else(|| Reply::problem(422, "[Body]: Required"))
}

fn create_comment(called: &Called, there: &PullRequest) -> Reply {
    let text = match text_of(called) {
        Ok(text) => text,
        Err(refused) => return refused,
    };
    let shape = {
        let mut state = called.host.state();
        let (id, at) = (state.next_id(), state.next_moment());
        let shape = pull_shapes::comment(called.host, there, id, text, &at);
        let (repository, number) = (there.repository.clone(), there.number);
        state.comments.push(Comment { id, repository, number, changes: 0, shape: shape.clone() });
        shape
    };
    tell(called, there, "created", &shape, None);
    Reply::new(201, shape)
}

fn edit_comment(called: &Called, before: &Comment) -> Reply {
    let text = match text_of(called) {
        Ok(text) => text,
        Err(refused) => return refused,
    };
    let (shape, there) = {
        let mut state = called.host.state();
        let at = state.next_moment();
        let Some(comment) = state.comments.iter_mut().find(|comment| comment.id == before.id) else {
            return Reply::not_found();
        };
        comment.changes += 1;
        comment.shape["body"] = json!(text);
        comment.shape["updated_at"] = json!(at);
        let shape = comment.shape.clone();
        (shape, state.pull_requests.iter().find(|one| before.is_of(one)).cloned())
    };
    if let Some(there) = there {
        tell(called, &there, "edited", &shape, Some(&before.shape["body"]));
    }
    Reply::new(200, shape)
}

/// Gitea counts a comment among the events of pull requests, and names it as one of issues.
fn tell(called: &Called, there: &PullRequest, action: &str, comment: &Value, from: Option<&Value>) {
    let host = called.host;
    let base = host.repository(&there.repository).expect("its repository");
    let mut body = json!({
        "action": action,
        "issue": pull_shapes::issue(host, there),
        "pull_request": pull_shapes::pull_request(host, there),
        "comment": comment,
        "repository": shapes::repository(host, &base),
        "sender": shapes::user(host),
        "is_pull": true,
    });
    if let Some(from) = from {
        body["changes"] = json!({ "body": { "from": from }, "added_labels": null, "removed_labels": null });
    }
    host.deliver(&there.repository, "pull_request_comment", &body);
}

fn find(called: &Called, base: &Kept, number: &str) -> Option<PullRequest> {
    let number: u64 = number.parse().ok()?;
    called.host.pull_request(&base.full_name, number)
}

fn find_comment(called: &Called, base: &Kept, id: &str) -> Option<Comment> {
    let id: u64 = id.parse().ok()?;
    let state = called.host.state();
    state.comments.iter().find(|comment| comment.id == id && comment.repository == base.full_name).cloned()
}
