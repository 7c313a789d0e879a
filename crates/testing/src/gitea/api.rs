//! The calls of Gitea's API that Windlass makes, and those that its tests need.

use hyper::Method;
use serde_json::{Value, json};

use super::Gitea;
use super::answers::Reply;
use super::host::{Hook, Host, Kept, Key, Status};
use super::server::Caller;
use super::{pull_api, shapes};

pub struct Called<'a> {
    pub host: &'a Host,
    pub caller: Caller,
    pub method: Method,
    pub path: String,
    pub query: String,
    pub body: Value,
}

pub fn answer(called: &Called) -> Reply {
    if called.caller == Caller::Impostor {
        return Reply::problem(401, "invalid username, password or token");
    }
    let segments: Vec<&str> = called.path.trim_start_matches("/api/v1/").split('/').collect();
    match (called.method.as_str(), &segments[..]) {
        (_, ["user", ..]) if called.caller == Caller::Stranger => token_required(),
        ("GET", ["user"]) => Reply::new(200, shapes::user(called.host)),
        ("GET", ["user", "repos"]) => called.page(called.repositories(""), Links::Given),
        ("POST", ["user", "repos"]) => create_repository(called),
        ("GET", ["repos", "search"]) => search(called),
        (_, ["repos", owner, name, rest @ ..]) => {
            let kept = called.host.repository(&format!("{owner}/{name}"));
            match kept.filter(|kept| called.can_see(kept)) {
                Some(kept) => of_repository(called, &kept, rest),
                None => Reply::not_found(),
            }
        }
        _ => Reply::not_found(),
    }
}

fn token_required() -> Reply {
    Reply::problem(401, "token is required")
}

fn of_repository(called: &Called, kept: &Kept, rest: &[&str]) -> Reply {
    let is_private_matter = matches!(rest.first(), Some(&"hooks" | &"keys")) || called.method != Method::GET;
    if called.caller == Caller::Stranger && is_private_matter {
        return token_required();
    }
    match (called.method.as_str(), rest) {
        ("GET", []) => Reply::new(200, shapes::repository(called.host, kept)),
        ("GET", ["branches"]) => branches(called, kept),
        ("GET", ["tags"]) => tags(called, kept),
        ("GET", ["hooks"]) => {
            let state = called.host.state();
            let hooks = state.hooks.iter().filter(|hook| hook.repository == kept.full_name);
            called.page(hooks.map(|hook| hook.shape.clone()).collect(), Links::Absent)
        }
        ("POST", ["hooks"]) => create_hook(called, kept),
        ("DELETE", ["hooks", id]) => {
            let (mut state, id) = (called.host.state(), id.parse().unwrap_or(0));
            let count = state.hooks.len();
            state.hooks.retain(|hook| (&hook.repository, hook.id) != (&kept.full_name, id));
            if state.hooks.len() < count { Reply::gone() } else { Reply::not_found() }
        }
        ("GET", ["statuses", commit]) => {
            let state = called.host.state();
            let of_it = |status: &&Status| (&status.repository, &*status.commit) == (&kept.full_name, *commit);
            let statuses = state.statuses.iter().filter(of_it).map(|status| status.shape.clone());
            called.page(statuses.collect(), Links::Given)
        }
        ("POST", ["statuses", commit]) => create_status(called, kept, commit),
        ("GET", ["keys"]) => {
            let state = called.host.state();
            let keys = state.keys.iter().filter(|key| key.repository == kept.full_name);
            called.page(keys.map(|key| key.shape.clone()).collect(), Links::Absent)
        }
        ("POST", ["keys"]) => create_key(called, kept),
        (_, ["pulls", rest @ ..]) => pull_api::of_pulls(called, kept, rest),
        (_, ["issues", rest @ ..]) => pull_api::of_issues(called, kept, rest),
        // The same if there is none.
        ("DELETE", ["keys", id]) => {
            let id = id.parse().unwrap_or(0);
            called.host.state().keys.retain(|key| (&key.repository, key.id) != (&kept.full_name, id));
            Reply::gone()
        }
        _ => Reply::not_found(),
    }
}

fn create_repository(called: &Called) -> Reply {
    let name = called.body["name"].as_str().unwrap_or_default();
    let is_private = called.body["private"].as_bool().unwrap_or_default();
    match called.host.create_repository(&format!("{}/{name}", Gitea::USER), is_private) {
        Some(kept) => Reply::new(201, shapes::repository(called.host, &kept)),
        None => Reply::problem(409, "The repository with the same name already exists."),
    }
}

fn search(called: &Called) -> Reply {
    let wanted = called.parameter("q").unwrap_or_default().to_lowercase();
    let mut reply = called.page(called.repositories(&wanted), Links::Given);
    reply.body = reply.body.map(|data| json!({ "ok": true, "data": data }));
    reply
}

/// The default branch comes first. Without any branch, Gitea says null.
fn branches(called: &Called, kept: &Kept) -> Reply {
    let format = "--format=%(refname:lstrip=2) %(objectname)";
    let said = kept.git.git(&["for-each-ref", "--sort=-committerdate", format, "refs/heads"]);
    let mut found: Vec<_> = said.lines().filter_map(|line| line.split_once(' ')).collect();
    let default_branch = kept.git.default_branch();
    found.sort_by_key(|(name, _)| *name != default_branch);
    let shape = |(name, hash): &(&str, &str)| shapes::branch(called.host, kept, name, hash);
    let mut reply = called.page(found.iter().map(shape).collect(), Links::Given);
    reply.body = reply.body.map(|body| if found.is_empty() { Value::Null } else { body });
    reply
}

/// Newest first.
fn tags(called: &Called, kept: &Kept) -> Reply {
    let format = "--format=%(refname:lstrip=2) %(objectname) %(*objectname)";
    let said = kept.git.git(&["for-each-ref", "--sort=-creatordate", format, "refs/tags"]);
    let shape = |line: &str| {
        let mut parts = line.split(' ');
        let (name, object) = (parts.next()?, parts.next()?);
        let hash = parts.next().filter(|peeled| !peeled.is_empty()).unwrap_or(object);
        Some(shapes::tag(called.host, kept, name, object, hash))
    };
    called.page(said.lines().filter_map(shape).collect(), Links::Absent)
}

/// What `pull_request` stands for.
const OF_PULL_REQUESTS: [&str; 8] = [
    "pull_request",
    "pull_request_assign",
    "pull_request_review_request",
    "pull_request_label",
    "pull_request_milestone",
    "pull_request_sync",
    "pull_request_comment",
    "pull_request_review",
];

fn create_hook(called: &Called, kept: &Kept) -> Reply {
    let given = &called.body;
    let Some(url) = given["config"]["url"].as_str() else {
        return Reply::problem(422, "Missing config option: url");
    };
    let wanted = given["events"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let each = |event| if event == "pull_request" { OF_PULL_REQUESTS.to_vec() } else { vec![event] };
    let events: Vec<String> = wanted.flat_map(each).map(str::to_owned).collect();
    let mut state = called.host.state();
    let id = state.next_id();
    let shape = shapes::hook(id, given, &events);
    state.hooks.push(Hook {
        id,
        repository: kept.full_name.clone(),
        url: url.to_owned(),
        secret: given["config"]["secret"].as_str().unwrap_or_default().to_owned(),
        events,
        is_active: given["active"].as_bool().unwrap_or_default(),
        shape: shape.clone(),
    });
    Reply::new(201, shape)
}

/// Gitea takes any word for a state.
fn create_status(called: &Called, kept: &Kept, commit: &str) -> Reply {
    let known = kept.git.git(&["rev-list", "--all"]);
    if !known.lines().any(|hash| hash == commit) {
        return Reply::problem(500, &format!("GetCommit[{commit}]: object does not exist [id: {commit}, rel_path: ]"));
    }
    let mut state = called.host.state();
    let id = state.next_id();
    let shape = shapes::status(called.host, kept, id, commit, &called.body);
    let (repository, commit) = (kept.full_name.clone(), commit.to_owned());
    state.statuses.push(Status { repository, commit, shape: shape.clone() });
    Reply::new(201, shape)
}

fn create_key(called: &Called, kept: &Kept) -> Reply {
    let mut state = called.host.state();
    let is_same = |key: &Key| key.repository == kept.full_name && key.shape["key"] == called.body["key"];
    if state.keys.iter().any(is_same) {
        return Reply::problem(422, "This key has already been added to this repository");
    }
    let id = state.next_id();
    let shape = shapes::key(called.host, kept, id, &called.body);
    state.keys.push(Key { id, repository: kept.full_name.clone(), shape: shape.clone() });
    Reply::new(201, shape)
}

/// Whether a list says where its next page is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Links {
    Given,
    Absent,
}

impl Called<'_> {
    fn can_see(&self, kept: &Kept) -> bool {
        self.caller == Caller::User || !kept.is_private
    }

    /// With this in their names.
    fn repositories(&self, part: &str) -> Vec<Value> {
        let all = self.host.state().repositories.clone();
        let is_own = |kept: &Kept| kept.owner() == Gitea::USER;
        let seen = all.iter().filter(|kept| is_own(kept) && self.can_see(kept) && kept.full_name.contains(part));
        seen.map(|kept| shapes::repository(self.host, kept)).collect()
    }

    fn parameter(&self, name: &str) -> Option<&str> {
        let pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.into_iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    fn number(&self, name: &str) -> Option<usize> {
        self.parameter(name).and_then(|value| value.parse().ok()).filter(|number| *number > 0)
    }

    pub fn page_with_links(&self, all: Vec<Value>) -> Reply {
        self.page(all, Links::Given)
    }

    /// The part of the list that is asked for; at most 50 at once.
    fn page(&self, all: Vec<Value>, links: Links) -> Reply {
        let (page, size) = (self.number("page").unwrap_or(1), self.number("limit").unwrap_or(30).min(50));
        let total = all.len();
        let shown: Vec<Value> = all.into_iter().skip((page - 1).saturating_mul(size)).take(size).collect();
        let link = self.link(page, total.div_ceil(size)).filter(|_| links == Links::Given);
        Reply { total: Some(total), link, ..Reply::new(200, json!(shown)) }
    }

    /// None if there is no other page.
    fn link(&self, page: usize, last: usize) -> Option<String> {
        let to = |number: usize, what: &str| {
            let others = self.query.split('&').filter(|pair| !pair.is_empty() && !pair.starts_with("page="));
            let number = format!("page={number}");
            let mut query: Vec<&str> = others.chain([&*number]).collect();
            query.sort_unstable();
            format!("<{}{}?{}>; rel=\"{what}\"", self.host.url, self.path, query.join("&"))
        };
        let following = if page < last { vec![to(page + 1, "next"), to(last, "last")] } else { Vec::new() };
        let preceding = if page > 1 { vec![to(1, "first"), to(page - 1, "prev")] } else { Vec::new() };
        let links = [following, preceding].concat();
        (!links.is_empty()).then(|| links.join(","))
    }
}
