//! Bitbucket Cloud.

use serde::Deserialize;
use serde_json::json;

use super::exchange::{ApiAnswer, Ask, Asked, done};
use super::github::{read_comment_id, read_key_id};
use super::names::RepositoryName;
use super::paging::Part;
use super::records::{
    Account, Comment, CommentId, Hook, HookId, KeyId, Page, RefName, Repository, State, Status, without_user,
};
use super::{Api, ApiError};

#[derive(Deserialize)]
struct User {
    username: Option<String>,
    nickname: Option<String>,
    display_name: Option<String>,
}

#[derive(Deserialize)]
struct Values<T> {
    values: Vec<T>,
    /// An address; missing on the last page.
    next: Option<String>,
}

#[derive(Deserialize)]
struct Found {
    full_name: String,
    is_private: bool,
    mainbranch: Option<Branch>,
    #[serde(default)]
    links: Links,
}

#[derive(Deserialize)]
struct Branch {
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Links {
    pub clone: Vec<Link>,
}

#[derive(Deserialize)]
pub(super) struct Link {
    #[serde(default)]
    pub name: String,
    pub href: String,
}

#[derive(Deserialize)]
struct Reference {
    name: String,
    target: Target,
}

#[derive(Deserialize)]
struct Target {
    hash: String,
}

#[derive(Deserialize)]
struct HookFound {
    uuid: String,
    #[serde(default)]
    url: String,
}

#[derive(Deserialize)]
struct CommentFound {
    id: u64,
    #[serde(default)]
    content: Content,
    #[serde(default)]
    deleted: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Content {
    raw: String,
}

/// Tokens of a repository or a workspace are no account's: for them this is forbidden.
pub(super) fn account(api: &Api) -> Ask<Account> {
    api.get("/user", |asked, answer| {
        let user: User = asked.json(answer)?;
        let login = user.username.or(user.nickname).or(user.display_name).ok_or(ApiError::Unreadable)?;
        Ok(Account { login })
    })
}

/// There is no list over all workspaces.
pub(super) fn repositories(api: &Api, workspace: &str, search: &str, part: Part) -> Ask<Page<Repository>> {
    let mut query = vec![("role", "member".to_owned()), ("sort", "-updated_on".to_owned())];
    if !search.is_empty() {
        let quoted = search.replace('\\', "\\\\").replace('"', "\\\"");
        query.push(("q", format!("name ~ \"{quoted}\"")));
    }
    api.list(&format!("/repositories/{workspace}"), &query, part, |asked, answer| {
        Ok(page(asked, answer)?.map(Found::repository))
    })
}

fn page<T: serde::de::DeserializeOwned>(asked: &Asked, answer: &ApiAnswer) -> Result<Page<T>, ApiError> {
    let found: Values<T> = asked.json(answer)?;
    Ok(Page { items: found.values, next: asked.part.following().filter(|_| found.next.is_some()) })
}

impl Found {
    fn repository(self) -> Repository {
        let full_name = self.full_name;
        let web_url = format!("https://bitbucket.org/{full_name}");
        Repository {
            clone_url: self.links.named("https").map_or_else(|| format!("{web_url}.git"), without_user),
            ssh_url: self.links.named("ssh").unwrap_or_default().to_owned(),
            default_branch: self.mainbranch.map(|branch| branch.name),
            is_private: self.is_private,
            full_name,
            web_url,
        }
    }
}

impl Links {
    pub(super) fn named(&self, name: &str) -> Option<&str> {
        self.clone.iter().find(|link| link.name == name).map(|link| link.href.as_str())
    }
}

pub(super) fn repository(api: &Api, name: &RepositoryName) -> Ask<Repository> {
    api.get(&under(name, ""), |asked, answer| Ok(asked.json::<Found>(answer)?.repository()))
}

pub(super) fn branches(api: &Api, name: &RepositoryName, part: Part) -> Ask<Page<RefName>> {
    api.list(&under(name, "/refs/branches"), &[], part, read_references)
}

pub(super) fn tags(api: &Api, name: &RepositoryName, part: Part) -> Ask<Page<RefName>> {
    api.list(&under(name, "/refs/tags"), &[], part, read_references)
}

fn read_references(asked: &Asked, answer: &ApiAnswer) -> Result<Page<RefName>, ApiError> {
    Ok(page(asked, answer)?.map(|found: Reference| RefName { name: found.name, commit: found.target.hash }))
}

pub(super) fn create_hook(api: &Api, name: &RepositoryName, url: &str, secret: &str) -> Ask<HookId> {
    let pull_requests = ["created", "updated", "fulfilled", "rejected"].map(|what| format!("pullrequest:{what}"));
    let events: Vec<_> = ["repo:push".to_owned()].into_iter().chain(pull_requests).collect();
    let body = json!({
        "description": "Windlass",
        "url": url,
        "active": true,
        "secret": secret,
        "skip_cert_verification": false,
        "events": events,
    });
    api.post(&under(name, "/hooks"), &body, |asked, answer| Ok(HookId(asked.json::<HookFound>(answer)?.uuid)))
}

pub(super) fn hooks(api: &Api, name: &RepositoryName, part: Part) -> Ask<Page<Hook>> {
    api.list(&under(name, "/hooks"), &[], part, |asked, answer| {
        Ok(page(asked, answer)?.map(|hook: HookFound| Hook { id: HookId(hook.uuid), url: hook.url }))
    })
}

pub(super) fn delete_hook(api: &Api, name: &RepositoryName, id: &str) -> Ask<()> {
    api.delete(&under(name, &format!("/hooks/{id}")))
}

/// What is longer is refused.
const LONGEST_KEY: usize = 40;
const LONGEST: usize = 255;

pub(super) fn set_status(api: &Api, name: &RepositoryName, commit: &str, status: &Status) -> Ask<()> {
    let state = match status.state {
        State::Pending => "INPROGRESS",
        State::Success => "SUCCESSFUL",
        State::Failure => "FAILED",
        State::Cancelled => "STOPPED",
    };
    let body = json!({
        "key": status.context(LONGEST_KEY),
        "state": state,
        "name": status.context(LONGEST),
        "description": status.description(LONGEST),
        "url": status.target_url,
    });
    api.post(&under(name, &format!("/commit/{commit}/statuses/build")), &body, done)
}

/// It can only read.
pub(super) fn create_deploy_key(api: &Api, name: &RepositoryName, title: &str, public_key: &str) -> Ask<KeyId> {
    api.post(&under(name, "/deploy-keys"), &json!({ "label": title, "key": public_key }), read_key_id)
}

pub(super) fn delete_deploy_key(api: &Api, name: &RepositoryName, id: &str) -> Ask<()> {
    api.delete(&under(name, &format!("/deploy-keys/{id}")))
}

pub(super) fn comments(api: &Api, name: &RepositoryName, number: u64, part: Part) -> Ask<Page<Comment>> {
    api.list(&comments_of(name, number), &[], part, |asked, answer| {
        let mut page = page::<CommentFound>(asked, answer)?;
        page.items.retain(|comment| !comment.deleted);
        Ok(page.map(|found| Comment {
            id: CommentId(found.id.to_string()),
            body: found.content.raw,
            author: String::new(),
        }))
    })
}

pub(super) fn create_comment(api: &Api, name: &RepositoryName, number: u64, text: &str) -> Ask<CommentId> {
    api.post(&comments_of(name, number), &json!({ "content": { "raw": text } }), read_comment_id)
}

pub(super) fn update_comment(api: &Api, name: &RepositoryName, number: u64, id: &str, text: &str) -> Ask<CommentId> {
    let path = format!("{}/{id}", comments_of(name, number));
    api.send("PUT", &path, &json!({ "content": { "raw": text } }), read_comment_id)
}

fn comments_of(name: &RepositoryName, number: u64) -> String {
    under(name, &format!("/pullrequests/{number}/comments"))
}

fn under(name: &RepositoryName, path: &str) -> String {
    format!("/repositories/{}{path}", name.path())
}
