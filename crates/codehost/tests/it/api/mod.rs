//! Requests to code hosts, and answers from them.

mod addresses;
mod app;
mod errors;
mod gitea;
mod operations;

use std::fmt::Debug;

use serde_json::Value;
use windlass_api::CodeHost;
use windlass_codehost::api::{
    Api, ApiAnswer, ApiError, ApiRequest, Ask, Base, CommentId, Credential, HookId, KeyId, State, Status,
};

const COMMIT: &str = "ac2abc424a7ed8dc16f021ba0b3e4244a63a4ba1";
const TOKEN: &str = "t0ken-of-the-test";

const HOSTS: [CodeHost; 6] = [
    CodeHost::GitHub,
    CodeHost::GitLab,
    CodeHost::Gitea,
    CodeHost::Forgejo,
    CodeHost::Bitbucket,
    CodeHost::BitbucketServer,
];

fn base(host: CodeHost) -> Base {
    let typed = match host {
        CodeHost::Gitea => "http://127.0.0.1:3917",
        CodeHost::Forgejo => "https://git.example.org:3000/sub/",
        CodeHost::BitbucketServer => "https://git.example.org/code",
        _ => "",
    };
    Base::of(host, typed).unwrap()
}

fn api(host: CodeHost) -> Api {
    let credential = match host {
        CodeHost::Bitbucket => Credential::of_user("ada@example.org", TOKEN),
        _ => Credential::token(TOKEN),
    };
    Api::new(base(host), credential.unwrap()).in_workspace("team").unwrap()
}

/// A repository's name as that kind of host has it.
fn name(host: CodeHost) -> &'static str {
    match host {
        CodeHost::GitLab => "team/web/shop",
        CodeHost::Gitea => "windlass/app",
        CodeHost::BitbucketServer => "WEB/shop",
        _ => "team/shop",
    }
}

fn status(state: State) -> Status {
    Status {
        state,
        context: "windlass/shop".to_owned(),
        description: "It is being built".to_owned(),
        target_url: "https://windlass.example.org/deployments/1".to_owned(),
    }
}

/// An operation with what it sends, and how it reads an answer.
struct Tried {
    name: &'static str,
    request: ApiRequest,
    read: Box<Read>,
}

type Read = dyn Fn(&ApiAnswer) -> Result<String, ApiError>;

type Made = Result<Tried, ApiError>;

fn tried<T: Debug + 'static>(name: &'static str, ask: Result<Ask<T>, ApiError>) -> Made {
    let ask = ask?;
    let request = ask.request.clone();
    Ok(Tried { name, request, read: Box::new(move |answer| Ok(format!("{:#?}", ask.read(answer)?))) })
}

/// Every operation about a repository of that name.
fn about(api: &Api, name: &str) -> Vec<Made> {
    let (hook, key) = match api.host() {
        CodeHost::Bitbucket => (HookId("{6a3f0b1e-0000-4000-8000-000000000001}".into()), KeyId("5".into())),
        _ => (HookId("2".into()), KeyId("1".into())),
    };
    let comment = CommentId(if api.host() == CodeHost::BitbucketServer { "5-3" } else { "5" }.into());
    let hook_url = "https://windlass.example.org/hooks/1";
    vec![
        tried("repository", api.repository(name)),
        tried("branches", api.branches(name, 1, 30)),
        tried("tags", api.tags(name, 1, 1_000)),
        tried("create_hook", api.create_hook(name, hook_url, "s3cret-of-the-hook")),
        tried("hooks", api.hooks(name, 1)),
        tried("delete_hook", api.delete_hook(name, &hook)),
        tried("set_status", api.set_status(name, COMMIT, &status(State::Pending))),
        tried("create_deploy_key", api.create_deploy_key(name, "Windlass", "ssh-ed25519 AAAA windlass")),
        tried("delete_deploy_key", api.delete_deploy_key(name, &key)),
        tried("comments", api.comments(name, 1, 1)),
        tried("create_comment", api.create_comment(name, 1, "Preview at <https://pr-1.example.org>")),
        tried("update_comment", api.update_comment(name, 1, &comment, "Edited")),
    ]
}

fn all(host: CodeHost) -> Vec<Tried> {
    let api = api(host);
    let mut all = vec![
        tried("account", Ok(api.account())),
        tried("repositories", api.repositories(None, 2, 2)),
        tried("repositories found", api.repositories(Some(" Sho\"p & co "), 1, 30)),
    ];
    if host == CodeHost::GitHub {
        all.push(tried("installation_repositories", api.installation_repositories(None, 1, 30)));
    }
    all.extend(about(&api, name(host)));
    all.into_iter().map(Result::unwrap).collect()
}

fn fixture(path: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");
    std::fs::read_to_string(format!("{folder}/{path}")).unwrap_or_else(|problem| panic!("{path}: {problem}"))
}

fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> ApiAnswer {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    ApiAnswer { status, headers, body: body.as_bytes().to_vec() }
}

/// Of a fixture: a status, and perhaps headers and a body.
fn answer_of(status: &Value, headers: &Value, body: &Value) -> ApiAnswer {
    let headers: Vec<_> = headers.as_object().into_iter().flatten().collect();
    let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str().unwrap())).collect();
    let status = u16::try_from(status.as_u64().unwrap()).unwrap();
    match body {
        Value::Null if status == 204 => answer(status, &headers, ""),
        Value::String(text) => answer(status, &headers, text),
        body => answer(status, &headers, &body.to_string()),
    }
}

fn snapshot(name: &str, text: &str) {
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, text);
    });
}
