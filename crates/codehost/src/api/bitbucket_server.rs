//! Bitbucket Server and Data Center.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::bitbucket::{Link, Links};
use super::exchange::{ApiAnswer, Ask, Asked, done};
use super::github::read_hook_id;
use super::names::RepositoryName;
use super::paging::Part;
use super::records::{
    Account, Comment, CommentId, Hook, HookId, KeyId, Numbered, Page, RefName, Repository, State, Status, without_user,
};
use super::{Api, ApiError, names};

const API: &str = "/rest/api/1.0";
const KEYS: &str = "/rest/keys/1.0";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Values<T> {
    values: Vec<T>,
    /// None on the last page. It need not be the sum of start and limit.
    next_page_start: Option<u32>,
}

#[derive(Deserialize)]
struct Found {
    slug: String,
    project: Project,
    #[serde(default)]
    public: bool,
    #[serde(default)]
    links: FoundLinks,
}

#[derive(Deserialize)]
struct Project {
    key: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FoundLinks {
    #[serde(flatten)]
    to_clone: Links,
    #[serde(rename = "self")]
    own: Vec<Link>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reference {
    display_id: String,
    latest_commit: String,
}

#[derive(Deserialize)]
struct HookFound {
    id: u64,
    #[serde(default)]
    url: String,
}

#[derive(Deserialize)]
struct KeyFound {
    key: Numbered,
}

/// What happened to a pull request.
#[derive(Deserialize)]
struct Activity {
    comment: Option<CommentFound>,
}

#[derive(Deserialize)]
struct CommentFound {
    id: u64,
    version: u64,
    #[serde(default)]
    text: String,
    author: Option<Author>,
}

#[derive(Deserialize)]
struct Author {
    name: String,
}

/// A plain text, which is empty when the token is not accepted.
pub(super) fn account(api: &Api) -> Ask<Account> {
    api.get("/plugins/servlet/applinks/whoami", |asked, answer| {
        let body = String::from_utf8_lossy(&asked.success(answer)?.body);
        match body.trim() {
            "" => Err(ApiError::BadToken),
            page if page.starts_with('<') => Err(ApiError::Unreadable),
            login => Ok(Account { login: login.to_owned() }),
        }
    })
}

pub(super) fn repositories(api: &Api, search: &str, part: Part) -> Ask<Page<Repository>> {
    let mut query = vec![("permission", "REPO_READ".to_owned())];
    if !search.is_empty() {
        query.push(("name", search.to_owned()));
    }
    api.list(&format!("{API}/repos"), &query, part, |asked, answer| {
        Ok(page(asked, answer)?.map(|found: Found| found.repository(asked)))
    })
}

/// A page's number is one more than the number of entries before it.
fn page<T: DeserializeOwned>(asked: &Asked, answer: &ApiAnswer) -> Result<Page<T>, ApiError> {
    let found: Values<T> = asked.json(answer)?;
    Ok(Page { items: found.values, next: found.next_page_start.and_then(|start| start.checked_add(1)) })
}

impl Found {
    fn repository(self, asked: &Asked) -> Repository {
        let (key, slug, base) = (&self.project.key, &self.slug, asked.base.as_str());
        // What follows is what a server answers that leaves its addresses out.
        let clone_url = || format!("{base}/scm/{}/{slug}.git", key.to_lowercase());
        let web_url = || format!("{base}/projects/{key}/repos/{slug}/browse");
        let links = self.links;
        let to_clone = links.to_clone.named("http").or(links.to_clone.named("https"));
        Repository {
            full_name: format!("{key}/{slug}"),
            clone_url: to_clone.map_or_else(clone_url, without_user),
            ssh_url: links.to_clone.named("ssh").unwrap_or_default().to_owned(),
            default_branch: None,
            is_private: !self.public,
            web_url: links.own.into_iter().next().map_or_else(web_url, |link| link.href),
        }
    }
}

pub(super) fn repository(api: &Api, name: &RepositoryName) -> Ask<Repository> {
    api.get(&under(name, ""), |asked, answer| Ok(asked.json::<Found>(answer)?.repository(asked)))
}

pub(super) fn branches(api: &Api, name: &RepositoryName, part: Part) -> Ask<Page<RefName>> {
    api.list(&under(name, "/branches"), &[], part, read_references)
}

pub(super) fn tags(api: &Api, name: &RepositoryName, part: Part) -> Ask<Page<RefName>> {
    api.list(&under(name, "/tags"), &[], part, read_references)
}

fn read_references(asked: &Asked, answer: &ApiAnswer) -> Result<Page<RefName>, ApiError> {
    Ok(page(asked, answer)?.map(|found: Reference| RefName { name: found.display_id, commit: found.latest_commit }))
}

pub(super) fn create_hook(api: &Api, name: &RepositoryName, url: &str, secret: &str) -> Ask<HookId> {
    let body = json!({
        "name": "Windlass",
        "url": url,
        "active": true,
        "sslVerificationRequired": true,
        "events": ["repo:refs_changed", "pr:opened", "pr:from_ref_updated", "pr:merged", "pr:declined", "pr:deleted"],
        "configuration": { "secret": secret },
    });
    api.post(&under(name, "/webhooks"), &body, read_hook_id)
}

pub(super) fn hooks(api: &Api, name: &RepositoryName, part: Part) -> Ask<Page<Hook>> {
    api.list(&under(name, "/webhooks"), &[], part, |asked, answer| {
        Ok(page(asked, answer)?.map(|hook: HookFound| Hook { id: HookId(hook.id.to_string()), url: hook.url }))
    })
}

pub(super) fn delete_hook(api: &Api, name: &RepositoryName, id: &str) -> Ask<()> {
    api.delete(&under(name, &format!("/webhooks/{id}")))
}

const LONGEST: usize = 255;

pub(super) fn set_status(api: &Api, name: &RepositoryName, commit: &str, status: &Status) -> Ask<()> {
    let context = status.context(LONGEST);
    let body = json!({
        "key": context,
        "state": match status.state {
            State::Pending => "INPROGRESS",
            State::Success => "SUCCESSFUL",
            State::Failure => "FAILED",
            State::Cancelled => "CANCELLED",
        },
        "name": context,
        "description": status.description(LONGEST),
        "url": status.target_url,
    });
    api.post(&under(name, &format!("/commits/{commit}/builds")), &body, done)
}

pub(super) fn create_deploy_key(api: &Api, name: &RepositoryName, title: &str, public_key: &str) -> Ask<KeyId> {
    let body = json!({ "key": { "text": public_key, "label": title }, "permission": "REPO_READ" });
    api.post(&keys(name), &body, |asked, answer| Ok(KeyId(asked.json::<KeyFound>(answer)?.key.id.to_string())))
}

pub(super) fn delete_deploy_key(api: &Api, name: &RepositoryName, id: &str) -> Ask<()> {
    api.delete(&format!("{}/{id}", keys(name)))
}

fn keys(name: &RepositoryName) -> String {
    format!("{KEYS}/projects/{}/repos/{}/ssh", name.owner(), name.name())
}

/// The list that is called comments has those at one file only.
pub(super) fn comments(api: &Api, name: &RepositoryName, number: u64, part: Part) -> Ask<Page<Comment>> {
    api.list(&under(name, &format!("/pull-requests/{number}/activities")), &[], part, |asked, answer| {
        let Page { items, next } = page::<Activity>(asked, answer)?;
        let found = items.into_iter().filter_map(|activity| activity.comment);
        Ok(Page {
            items: found
                .map(|found| Comment {
                    id: found.id(),
                    body: found.text,
                    author: found.author.map(|author| author.name).unwrap_or_default(),
                })
                .collect(),
            next,
        })
    })
}

impl CommentFound {
    /// An update has to name the version that it changes.
    fn id(&self) -> CommentId {
        CommentId(format!("{}-{}", self.id, self.version))
    }
}

pub(super) fn create_comment(api: &Api, name: &RepositoryName, number: u64, text: &str) -> Ask<CommentId> {
    api.post(&comments_of(name, number), &json!({ "text": text }), read_comment_id)
}

pub(super) fn update_comment(
    api: &Api,
    name: &RepositoryName,
    number: u64,
    id: &str,
    text: &str,
) -> Result<Ask<CommentId>, ApiError> {
    let parts = id.split_once('-').and_then(|(id, version)| Some((id, version.parse::<u64>().ok()?)));
    let (id, version) = parts.ok_or(names::BAD_ID)?;
    let path = format!("{}/{id}", comments_of(name, number));
    Ok(api.send("PUT", &path, &json!({ "text": text, "version": version }), read_comment_id))
}

fn read_comment_id(asked: &Asked, answer: &ApiAnswer) -> Result<CommentId, ApiError> {
    Ok(asked.json::<CommentFound>(answer)?.id())
}

fn comments_of(name: &RepositoryName, number: u64) -> String {
    under(name, &format!("/pull-requests/{number}/comments"))
}

fn under(name: &RepositoryName, path: &str) -> String {
    format!("{API}/projects/{}/repos/{}{path}", name.owner(), name.name())
}
