//! GitHub, and what Gitea and Forgejo have in the same way.

use serde::Deserialize;
use serde_json::json;

use super::exchange::{ApiAnswer, Ask, Asked};
use super::names::RepositoryName;
use super::paging::{Part, page_by_headers};
use super::records::{
    Account, Comment, CommentId, Hook, HookId, KeyId, Numbered, Page, RefName, Repository, State, Status, not_empty,
};
use super::{Api, ApiError};

#[derive(Deserialize)]
pub(super) struct User {
    pub login: String,
}

#[derive(Deserialize)]
pub(super) struct Found {
    full_name: String,
    clone_url: String,
    ssh_url: Option<String>,
    html_url: String,
    default_branch: Option<String>,
    private: bool,
}

#[derive(Deserialize)]
struct Reference {
    name: String,
    commit: Commit,
}

/// Gitea has `id` at branches, and `sha` at tags.
#[derive(Deserialize)]
struct Commit {
    sha: Option<String>,
    id: Option<String>,
}

#[derive(Deserialize)]
struct HookFound {
    id: u64,
    config: HookConfig,
}

/// Hooks of other kinds have no address.
#[derive(Default, Deserialize)]
#[serde(default)]
struct HookConfig {
    url: String,
}

#[derive(Deserialize)]
struct CommentFound {
    id: u64,
    body: Option<String>,
    user: Option<User>,
}

pub(super) fn account(api: &Api) -> Ask<Account> {
    api.get("/user", |asked, answer| Ok(Account { login: asked.json::<User>(answer)?.login }))
}

/// There is no search in what an account can see, only one in all that is public.
pub(super) fn repositories(api: &Api, search: &str, part: Part) -> Ask<Page<Repository>> {
    api.list("/user/repos", &[("sort", "pushed".to_owned())], part, read_repositories).matching(search)
}

pub(super) fn read_repositories(asked: &Asked, answer: &ApiAnswer) -> Result<Page<Repository>, ApiError> {
    Ok(matching(asked, page_by_headers(asked, answer, asked.list::<Found>(answer)?).map(Found::repository)))
}

fn matching(asked: &Asked, mut page: Page<Repository>) -> Page<Repository> {
    page.items.retain(|repository| repository.full_name.to_lowercase().contains(&asked.search));
    page
}

impl Found {
    pub(super) fn repository(self) -> Repository {
        Repository {
            full_name: self.full_name,
            clone_url: self.clone_url,
            ssh_url: self.ssh_url.unwrap_or_default(),
            default_branch: not_empty(self.default_branch),
            is_private: self.private,
            web_url: self.html_url,
        }
    }
}

pub(super) fn repository(api: &Api, name: &RepositoryName) -> Ask<Repository> {
    api.get(&under(name, ""), |asked, answer| Ok(asked.json::<Found>(answer)?.repository()))
}

pub(super) fn branches(api: &Api, name: &RepositoryName, part: Part) -> Ask<Page<RefName>> {
    api.list(&under(name, "/branches"), &[], part, read_references)
}

pub(super) fn tags(api: &Api, name: &RepositoryName, part: Part) -> Ask<Page<RefName>> {
    api.list(&under(name, "/tags"), &[], part, read_references)
}

fn read_references(asked: &Asked, answer: &ApiAnswer) -> Result<Page<RefName>, ApiError> {
    let page = page_by_headers(asked, answer, asked.list::<Reference>(answer)?);
    Ok(page.map(|found| RefName { name: found.name, commit: found.commit.sha.or(found.commit.id).unwrap_or_default() }))
}

pub(super) fn create_hook(api: &Api, name: &RepositoryName, url: &str, secret: &str) -> Ask<HookId> {
    // Of tags the event `push` tells too, and of what is deleted.
    let body = json!({
        "name": "web",
        "active": true,
        "events": ["push", "pull_request"],
        "config": { "url": url, "content_type": "json", "secret": secret, "insecure_ssl": "0" },
    });
    api.post(&under(name, "/hooks"), &body, read_hook_id)
}

pub(super) fn read_hook_id(asked: &Asked, answer: &ApiAnswer) -> Result<HookId, ApiError> {
    Ok(HookId(asked.json::<Numbered>(answer)?.id.to_string()))
}

pub(super) fn hooks(api: &Api, name: &RepositoryName, part: Part) -> Ask<Page<Hook>> {
    api.list(&under(name, "/hooks"), &[], part, |asked, answer| {
        let page = page_by_headers(asked, answer, asked.list::<HookFound>(answer)?);
        Ok(page.map(|hook| Hook { id: HookId(hook.id.to_string()), url: hook.config.url }))
    })
}

pub(super) fn delete_hook(api: &Api, name: &RepositoryName, id: &str) -> Ask<()> {
    api.delete(&under(name, &format!("/hooks/{id}")))
}

/// What is longer is refused.
const LONGEST_DESCRIPTION: usize = 140;
const LONGEST_CONTEXT: usize = 255;

/// Gitea keeps longer texts, but what is enough for GitHub is enough there.
pub(super) fn set_status(api: &Api, name: &RepositoryName, commit: &str, status: &Status) -> Ask<()> {
    let body = json!({
        "state": match status.state {
            State::Pending => "pending",
            State::Success => "success",
            State::Failure => "failure",
            // There is no better word that both know.
            State::Cancelled => "error",
        },
        "target_url": status.target_url,
        "description": status.description(LONGEST_DESCRIPTION),
        "context": status.context(LONGEST_CONTEXT),
    });
    api.post(&under(name, &format!("/statuses/{commit}")), &body, super::exchange::done)
}

pub(super) fn create_deploy_key(api: &Api, name: &RepositoryName, title: &str, public_key: &str) -> Ask<KeyId> {
    let body = json!({ "title": title, "key": public_key, "read_only": true });
    api.post(&under(name, "/keys"), &body, read_key_id)
}

pub(super) fn read_key_id(asked: &Asked, answer: &ApiAnswer) -> Result<KeyId, ApiError> {
    Ok(KeyId(asked.json::<Numbered>(answer)?.id.to_string()))
}

pub(super) fn delete_deploy_key(api: &Api, name: &RepositoryName, id: &str) -> Ask<()> {
    api.delete(&under(name, &format!("/keys/{id}")))
}

pub(super) fn comments(api: &Api, name: &RepositoryName, number: u64, part: Part) -> Ask<Page<Comment>> {
    api.list(&under(name, &format!("/issues/{number}/comments")), &[], part, |asked, answer| {
        let page = page_by_headers(asked, answer, asked.list::<CommentFound>(answer)?);
        let comment = |found: CommentFound| Comment {
            id: CommentId(found.id.to_string()),
            body: found.body.unwrap_or_default(),
            author: found.user.map(|user| user.login).unwrap_or_default(),
        };
        Ok(page.map(comment))
    })
}

pub(super) fn create_comment(api: &Api, name: &RepositoryName, number: u64, text: &str) -> Ask<CommentId> {
    let path = under(name, &format!("/issues/{number}/comments"));
    api.post(&path, &json!({ "body": text }), read_comment_id)
}

pub(super) fn update_comment(api: &Api, name: &RepositoryName, id: &str, text: &str) -> Ask<CommentId> {
    let path = under(name, &format!("/issues/comments/{id}"));
    api.send("PATCH", &path, &json!({ "body": text }), read_comment_id)
}

pub(super) fn read_comment_id(asked: &Asked, answer: &ApiAnswer) -> Result<CommentId, ApiError> {
    Ok(CommentId(asked.json::<Numbered>(answer)?.id.to_string()))
}

#[derive(Deserialize)]
struct OfInstallation {
    repositories: Vec<Found>,
}

pub(super) fn installation_repositories(api: &Api, search: &str, part: Part) -> Ask<Page<Repository>> {
    let read = |asked: &Asked, answer: &ApiAnswer| {
        let found = asked.json::<OfInstallation>(answer)?.repositories;
        Ok(matching(asked, page_by_headers(asked, answer, found).map(Found::repository)))
    };
    api.list("/installation/repositories", &[], part, read).matching(search)
}

pub(super) fn under(name: &RepositoryName, path: &str) -> String {
    format!("/repos/{}{path}", name.path())
}
