//! HTTP: who calls, and whether it is for the API or for git.

use std::net::TcpListener;
use std::sync::Arc;

use http_body_util::{BodyExt, Collected};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use hyper::{HeaderMap, Request};
use tokio::sync::oneshot;

use super::Gitea;
use super::answers::{from_api, text, whole};
use super::api::{self, Called};
use super::host::{Host, Kept};
use super::{pulls, pushes};
use crate::git::serve::{Answer, Manner, answer_all, ask_git, basic};

pub fn run(listener: TcpListener, stopped: oneshot::Receiver<()>, host: Arc<Host>) {
    answer_all(listener, stopped, move |request| {
        let host = host.clone();
        async move {
            match request.uri().path().starts_with("/api/") {
                true => answer_api(&host, request).await,
                false => answer_git(&host, request).await,
            }
        }
    });
}

/// Who calls.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    User,
    /// Without a token.
    Stranger,
    /// With one that is not the user's.
    Impostor,
}

/// A password is a token, and so is a name that comes without a password.
fn caller(headers: &HeaderMap) -> Caller {
    let Some(given) = headers.get(AUTHORIZATION) else { return Caller::Stranger };
    let given = given.to_str().unwrap_or_default();
    let is_user = match basic(given) {
        Some((name, password)) => [name, password].iter().any(|given| given == Gitea::TOKEN),
        None => given.strip_prefix("token ").or_else(|| given.strip_prefix("Bearer ")) == Some(Gitea::TOKEN),
    };
    if is_user { Caller::User } else { Caller::Impostor }
}

async fn answer_api(host: &Host, request: Request<Incoming>) -> Answer {
    let outage = host.state().outage;
    if let Some(status) = outage {
        return text(status, "");
    }
    let (head, body) = request.into_parts();
    let body = body.collect().await.map(Collected::to_bytes).unwrap_or_default();
    let called = Called {
        host,
        caller: caller(&head.headers),
        method: head.method,
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        body: serde_json::from_slice(&body).unwrap_or_default(),
    };
    from_api(host, api::answer(&called))
}

async fn answer_git(host: &Host, request: Request<Incoming>) -> Answer {
    let (path, query) = (request.uri().path(), request.uri().query().unwrap_or_default());
    let is_push = path.ends_with("/git-receive-pack");
    let is_for_push = is_push || query == "service=git-receive-pack";
    let caller = caller(request.headers());
    if caller == Caller::Impostor {
        return text(401, "Failed to authenticate user\n");
    }
    let kept = path.split_once(".git/").and_then(|(name, _)| host.repository(name.trim_start_matches('/')));
    let is_open = kept.as_ref().is_some_and(|kept| !kept.is_private) && !is_for_push;
    if caller == Caller::Stranger && !is_open {
        let mut answer = text(401, "Unauthorized\n");
        answer.headers_mut().insert(WWW_AUTHENTICATE, "Basic realm=\"Gitea\"".parse().expect("a header"));
        return answer;
    }
    let Some(kept) = kept else { return text(404, "Repository not found\n") };
    match is_push {
        true => answer_push(host, &kept, request).await,
        false => ask_git(&host.root, &Manner::default(), Some(Gitea::USER), request).await,
    }
}

/// What it changed is delivered once git has said that it is done, before the client hears of it.
async fn answer_push(host: &Host, kept: &Kept, request: Request<Incoming>) -> Answer {
    let _alone = host.pushing.lock().await;
    let before = pushes::references(&kept.git);
    let (head, body) = ask_git(&host.root, &Manner::default(), Some(Gitea::USER), request).await.into_parts();
    let body = body.collect().await.expect("all that git says").to_bytes();
    pulls::tell_of_push(host, kept, &before);
    whole(head, body)
}
