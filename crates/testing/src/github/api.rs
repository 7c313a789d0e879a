//! The calls of GitHub's API that Windlass makes.

use hyper::Method;
use serde_json::{Value, json};

use super::GitHub;
use super::host::{Host, Installation, Kept, Minted};
use super::proof::is_of_app;

pub struct Called<'a> {
    pub host: &'a Host,
    pub method: Method,
    /// Under the API.
    pub path: String,
    pub query: String,
    /// Without the word before it.
    pub token: String,
    pub body: Value,
}

pub struct Reply {
    pub status: u16,
    pub body: Value,
    pub link: Option<String>,
}

impl Reply {
    fn new(status: u16, body: Value) -> Self {
        Self { status, body, link: None }
    }

    fn problem(status: u16, message: &str) -> Self {
        Self::new(status, json!({ "message": message, "status": status.to_string() }))
    }

    fn not_found() -> Self {
        Self::problem(404, "Not Found")
    }
}

pub fn answer(called: &Called<'_>) -> Reply {
    let segments: Vec<&str> = called.path.trim_matches('/').split('/').collect();
    match (called.method.as_str(), &segments[..]) {
        ("POST", ["app-manifests", code, "conversions"]) => convert(called.host, code),
        ("GET", ["app", "installations"]) => called.by_app(installations),
        ("POST", ["app", "installations", id, "access_tokens"]) => called.by_app(|called| mint(called, id)),
        ("GET", ["repos", owner, name, "installation"]) => {
            called.by_app(|called| installation_of(called, &format!("{owner}/{name}")))
        }
        ("GET", ["installation", "repositories"]) => repositories(called),
        (_, ["repos", owner, name, rest @ ..]) => of_repository(called, &format!("{owner}/{name}"), rest),
        _ => Reply::not_found(),
    }
}

/// A code works once.
fn convert(host: &Host, code: &str) -> Reply {
    let mut state = host.state();
    let count = state.codes.len();
    state.codes.retain(|known| known != code);
    if state.codes.len() == count {
        return Reply::not_found();
    }
    let mut told = json!({
        "id": GitHub::APP_ID,
        "slug": GitHub::SLUG,
        "name": state.manifest["name"],
        "html_url": format!("{}/github-apps/{}", host.url, GitHub::SLUG),
        "client_id": "Iv23liAbCdEf",
        "client_secret": "a-client-secret-that-is-not-kept",
        "webhook_secret": GitHub::WEBHOOK_SECRET,
        "pem": GitHub::PRIVATE_KEY,
    });
    for (field, value) in &state.told {
        told[field] = value.clone();
    }
    Reply::new(201, told)
}

fn installations(called: &Called<'_>) -> Reply {
    let state = called.host.state();
    let shape = |place: &Installation| {
        json!({
            "id": place.id,
            "account": { "login": place.account },
            "repository_selection": "selected",
            "html_url": format!("{}/settings/installations/{}", called.host.url, place.id),
            "suspended_at": null,
        })
    };
    Reply::new(200, state.installations.iter().map(shape).collect())
}

fn installation_of(called: &Called<'_>, full_name: &str) -> Reply {
    let state = called.host.state();
    let found = state.installations.iter().find(|place| place.repositories.iter().any(|name| name == full_name));
    found.map_or_else(Reply::not_found, |place| Reply::new(200, json!({ "id": place.id })))
}

fn mint(called: &Called<'_>, id: &str) -> Reply {
    let mut state = called.host.state();
    let place = state.installations.iter().find(|place| place.id.to_string() == id);
    let Some(all) = place.map(|place| place.repositories.clone()) else { return Reply::not_found() };
    let asked_for: Vec<String> = called.body["repositories"]
        .as_array()
        .map(|names| names.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        .unwrap_or_default();
    let is_asked_for = |full_name: &String| {
        asked_for.is_empty() || asked_for.iter().any(|name| full_name.ends_with(&format!("/{name}")))
    };
    let repositories: Vec<String> = all.into_iter().filter(is_asked_for).collect();
    if repositories.len() < asked_for.len() {
        return Reply::problem(422, "There is at least one repository that does not exist or is not accessible");
    }
    let token = format!("ghs_{:036}", state.next_id());
    state.minted.push(Minted { token: token.clone(), asked_for, repositories });
    let body = json!({ "token": token, "expires_at": "2026-11-16T18:00:00Z", "repository_selection": "selected" });
    Reply::new(201, body)
}

fn repositories(called: &Called<'_>) -> Reply {
    let Some(names) = called.host.reached_by(&called.token) else { return bad_credentials() };
    let all: Vec<Value> = names
        .iter()
        .filter_map(|name| called.host.repository(name))
        .map(|kept| repository(called.host, &kept))
        .collect();
    let total = all.len();
    let (reply, shown) = called.page(all);
    Reply { body: json!({ "total_count": total, "repositories": shown }), ..reply }
}

fn of_repository(called: &Called<'_>, full_name: &str, rest: &[&str]) -> Reply {
    let Some(reached) = called.host.reached_by(&called.token) else { return bad_credentials() };
    let kept = called.host.repository(full_name).filter(|kept| reached.contains(&kept.full_name));
    let Some(kept) = kept else { return Reply::not_found() };
    match (called.method.as_str(), rest) {
        ("GET", []) => Reply::new(200, repository(called.host, &kept)),
        ("GET", ["branches"]) => references(called, &kept, "refs/heads"),
        ("GET", ["tags"]) => references(called, &kept, "refs/tags"),
        ("POST", ["statuses", commit]) => {
            called.host.state().statuses.push(((*commit).to_owned(), called.body.clone()));
            Reply::new(201, called.body.clone())
        }
        // The manifest asks for nothing more.
        _ => Reply::problem(403, "Resource not accessible by integration"),
    }
}

fn references(called: &Called<'_>, kept: &Kept, under: &str) -> Reply {
    let said = kept.git.git(&["for-each-ref", "--format=%(refname:lstrip=2) %(objectname)", under]);
    let shape = |(name, hash): (&str, &str)| json!({ "name": name, "commit": { "sha": hash } });
    let all = said.lines().filter_map(|line| line.split_once(' ')).map(shape).collect();
    let (reply, shown) = called.page(all);
    Reply { body: json!(shown), ..reply }
}

fn repository(host: &Host, kept: &Kept) -> Value {
    let (owner, name) = kept.full_name.split_once('/').expect("an owner");
    json!({
        "id": kept.id,
        "name": name,
        "full_name": kept.full_name,
        "private": true,
        "owner": { "login": owner },
        "html_url": format!("{}/{}", host.url, kept.full_name),
        "clone_url": kept.git.url(),
        "ssh_url": format!("git@127.0.0.1:{}.git", kept.full_name),
        "default_branch": kept.git.default_branch(),
    })
}

fn bad_credentials() -> Reply {
    Reply::problem(401, "Bad credentials")
}

impl Called<'_> {
    fn by_app(&self, answer: impl FnOnce(&Self) -> Reply) -> Reply {
        match is_of_app(&self.token) {
            true => answer(self),
            false => Reply::problem(401, "A JSON web token could not be decoded"),
        }
    }

    fn number(&self, name: &str) -> Option<usize> {
        let pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        let value = pairs.into_iter().find(|(known, _)| *known == name).map(|(_, value)| value)?;
        value.parse().ok().filter(|number| *number > 0)
    }

    /// The part of the list that is asked for, and an answer that says whether there is more.
    fn page(&self, all: Vec<Value>) -> (Reply, Vec<Value>) {
        let (page, size) = (self.number("page").unwrap_or(1), self.number("per_page").unwrap_or(30));
        let has_more = page.saturating_mul(size) < all.len();
        let shown: Vec<Value> = all.into_iter().skip((page - 1).saturating_mul(size)).take(size).collect();
        let next = format!("<{}/api/v3{}?page={}>; rel=\"next\"", self.host.url, self.path, page + 1);
        (Reply { link: has_more.then_some(next), ..Reply::new(200, Value::Null) }, shown)
    }
}
