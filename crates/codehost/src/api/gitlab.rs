//! GitLab.

use serde::Deserialize;
use serde_json::json;

use super::exchange::{ApiAnswer, Ask, Asked, done};
use super::github::{read_comment_id, read_hook_id, read_key_id};
use super::names::RepositoryName;
use super::paging::{Part, page_by_headers};
use super::records::{
    Account, Comment, CommentId, Hook, HookId, KeyId, Page, RefName, Repository, State, Status, not_empty,
};
use super::{Api, ApiError};

#[derive(Deserialize)]
struct User {
    username: String,
}

#[derive(Deserialize)]
struct Project {
    path_with_namespace: String,
    http_url_to_repo: String,
    ssh_url_to_repo: Option<String>,
    web_url: String,
    default_branch: Option<String>,
    /// `public`, `internal` or `private`.
    visibility: Option<String>,
}

#[derive(Deserialize)]
struct Reference {
    name: String,
    commit: Commit,
}

#[derive(Deserialize)]
struct Commit {
    id: String,
}

#[derive(Deserialize)]
struct HookFound {
    id: u64,
    url: String,
}

#[derive(Deserialize)]
struct Note {
    id: u64,
    #[serde(default)]
    body: String,
    /// Whether GitLab wrote it, of a push for example.
    #[serde(default)]
    system: bool,
    author: Option<User>,
}

pub(super) fn account(api: &Api) -> Ask<Account> {
    api.get("/user", |asked, answer| Ok(Account { login: asked.json::<User>(answer)?.username }))
}

pub(super) fn repositories(api: &Api, search: &str, part: Part) -> Ask<Page<Repository>> {
    let mut query = vec![("membership", "true".to_owned()), ("order_by", "last_activity_at".to_owned())];
    if !search.is_empty() {
        query.extend([("search", search.to_owned()), ("search_namespaces", "true".to_owned())]);
    }
    api.list("/projects", &query, part, |asked, answer| {
        Ok(page_by_headers(asked, answer, asked.list::<Project>(answer)?).map(Project::repository))
    })
}

impl Project {
    fn repository(self) -> Repository {
        Repository {
            full_name: self.path_with_namespace,
            clone_url: self.http_url_to_repo,
            ssh_url: self.ssh_url_to_repo.unwrap_or_default(),
            default_branch: not_empty(self.default_branch),
            is_private: self.visibility.is_none_or(|visibility| visibility != "public"),
            web_url: self.web_url,
        }
    }
}

pub(super) fn repository(api: &Api, name: &RepositoryName) -> Ask<Repository> {
    api.get(&under(name, ""), |asked, answer| Ok(asked.json::<Project>(answer)?.repository()))
}

pub(super) fn branches(api: &Api, name: &RepositoryName, part: Part) -> Ask<Page<RefName>> {
    api.list(&under(name, "/repository/branches"), &[], part, read_references)
}

pub(super) fn tags(api: &Api, name: &RepositoryName, part: Part) -> Ask<Page<RefName>> {
    api.list(&under(name, "/repository/tags"), &[], part, read_references)
}

fn read_references(asked: &Asked, answer: &ApiAnswer) -> Result<Page<RefName>, ApiError> {
    let page = page_by_headers(asked, answer, asked.list::<Reference>(answer)?);
    Ok(page.map(|found| RefName { name: found.name, commit: found.commit.id }))
}

pub(super) fn create_hook(api: &Api, name: &RepositoryName, url: &str, secret: &str) -> Ask<HookId> {
    let body = json!({
        "url": url,
        "name": "Windlass",
        "push_events": true,
        "tag_push_events": true,
        "merge_requests_events": true,
        "token": secret,
        "enable_ssl_verification": true,
    });
    api.post(&under(name, "/hooks"), &body, read_hook_id)
}

pub(super) fn hooks(api: &Api, name: &RepositoryName, part: Part) -> Ask<Page<Hook>> {
    api.list(&under(name, "/hooks"), &[], part, |asked, answer| {
        let page = page_by_headers(asked, answer, asked.list::<HookFound>(answer)?);
        Ok(page.map(|hook| Hook { id: HookId(hook.id.to_string()), url: hook.url }))
    })
}

pub(super) fn delete_hook(api: &Api, name: &RepositoryName, id: &str) -> Ask<()> {
    api.delete(&under(name, &format!("/hooks/{id}")))
}

const LONGEST: usize = 255;

pub(super) fn set_status(api: &Api, name: &RepositoryName, commit: &str, status: &Status) -> Ask<()> {
    let body = json!({
        "state": match status.state {
            State::Pending => "pending",
            State::Success => "success",
            State::Failure => "failed",
            State::Cancelled => "canceled",
        },
        "target_url": status.target_url,
        "description": status.description(LONGEST),
        "name": status.context(LONGEST),
    });
    api.post(&under(name, &format!("/statuses/{commit}")), &body, |asked, answer| match done(asked, answer) {
        // So it says when the commit has that state already.
        Err(ApiError::Refused { status: 400, reason }) if reason.starts_with("Cannot transition status") => Ok(()),
        other => other,
    })
}

pub(super) fn create_deploy_key(api: &Api, name: &RepositoryName, title: &str, public_key: &str) -> Ask<KeyId> {
    let body = json!({ "title": title, "key": public_key, "can_push": false });
    api.post(&under(name, "/deploy_keys"), &body, read_key_id)
}

pub(super) fn delete_deploy_key(api: &Api, name: &RepositoryName, id: &str) -> Ask<()> {
    api.delete(&under(name, &format!("/deploy_keys/{id}")))
}

pub(super) fn comments(api: &Api, name: &RepositoryName, number: u64, part: Part) -> Ask<Page<Comment>> {
    api.list(&notes(name, number), &[("sort", "asc".to_owned())], part, |asked, answer| {
        let mut page = page_by_headers(asked, answer, asked.list::<Note>(answer)?);
        page.items.retain(|note| !note.system);
        Ok(page.map(|note| Comment {
            id: CommentId(note.id.to_string()),
            body: note.body,
            author: note.author.map(|author| author.username).unwrap_or_default(),
        }))
    })
}

pub(super) fn create_comment(api: &Api, name: &RepositoryName, number: u64, text: &str) -> Ask<CommentId> {
    api.post(&notes(name, number), &json!({ "body": text }), read_comment_id)
}

pub(super) fn update_comment(api: &Api, name: &RepositoryName, number: u64, id: &str, text: &str) -> Ask<CommentId> {
    let path = format!("{}/{id}", notes(name, number));
    api.send("PUT", &path, &json!({ "body": text }), read_comment_id)
}

fn notes(name: &RepositoryName, number: u64) -> String {
    under(name, &format!("/merge_requests/{number}/notes"))
}

fn under(name: &RepositoryName, path: &str) -> String {
    format!("/projects/{}{path}", name.segment())
}
