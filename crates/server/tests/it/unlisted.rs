//! Routes that the API description does not have: pages, files, git, metrics. One that this file does not know fails the test.

use std::collections::BTreeSet;

use axum::http::Method;
use base64::Engine;
use windlass_api::Role;
use windlass_testing::on_both_databases;

use crate::support::Person;
use crate::walk::{World, world};

on_both_databases!(world: strangers_learn_nothing_there);

/// How the sources name them, and an address of each; none where they are made of the description itself.
const ROUTES: [(&str, Option<(&str, Access)>); 12] = [
    ("\"/\"", Some(("/", Access::Open))),
    ("&path", Some(("/index.html", Access::Open))),
    ("\"/metrics\"", Some(("/metrics", Access::Admins))),
    ("\"/api/v1/openapi.json\"", Some(("/api/v1/openapi.json", Access::Open))),
    ("\"/api/v1/docs\"", Some(("/api/v1/docs", Access::Open))),
    ("NEW_PAGE", Some(("/connections/github-apps/new?state=made-up", Access::WithAState))),
    ("CALLBACK", Some(("/connections/github-apps/callback?state=made-up&code=made-up", Access::WithAState))),
    ("INSTALLED_PAGE", Some(("/connections/github-apps/installed", Access::Open))),
    ("\"/{organization}/{application}/info/refs\"", Some(("/info/refs?service=git-receive-pack", Access::Pushers))),
    ("\"/{organization}/{application}/git-receive-pack\"", Some(("/git-receive-pack", Access::Pushers))),
    ("alias", None),
    ("&route.path", None),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    /// The same for all, and of no organization.
    Open,
    Admins,
    /// To those who were given a link.
    WithAState,
    /// Below an application that takes pushes.
    Pushers,
}

#[test]
fn no_route_is_forgotten() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/http");
    let mut found = BTreeSet::new();
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
                continue;
            }
            let source = std::fs::read_to_string(entry.path()).unwrap();
            let named =
                source.split(".route(").skip(1).filter_map(|rest| Some(rest.split_once(',')?.0.trim().to_owned()));
            found.extend(named);
        }
    }
    let known: BTreeSet<_> = ROUTES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(found, known, "tell here who may use it");
}

async fn strangers_learn_nothing_there(world: World) {
    let server = &world.server;
    let (owner, viewer) = (world.owner(), &world.people[&Role::Viewer]);
    let body = serde_json::json!({ "name": "pushed", "repository": "push" });
    let application = server.post("/deploy/application", body).by(owner).ok().await;
    let ids = (owner.organization_id, application["id"].as_str().unwrap().to_owned());
    let private = [ids.0.to_string(), ids.1.clone(), "Analytical Engines".into(), owner.email.clone()];
    for (name, place) in ROUTES {
        let Some((place, access)) = place else { continue };
        let path = match access {
            Access::Pushers => format!("/{}/{}{place}", ids.0, ids.1),
            _ => place.to_owned(),
        };
        let method = if place == "/git-receive-pack" { Method::POST } else { Method::GET };
        let mut replies = vec![("nobody", server.call_raw(method.clone(), &path).send().await)];
        for (who, person) in [("stranger", &world.stranger), ("viewer", viewer)] {
            replies.push((who, server.call_raw(method.clone(), &path).by(person).send().await));
            let login = server.call_raw(method.clone(), &path).header("authorization", &basic(person));
            replies.push((who, login.send().await));
        }
        for (who, reply) in replies {
            let expected: &[u16] = match access {
                Access::Open => &[200],
                Access::Admins => &[401, 403],
                Access::WithAState => &[400, 403, 404],
                Access::Pushers => &[401, 403, 404],
            };
            assert!(expected.contains(&reply.status), "{name} for {who}: {} {}", reply.status, reply.text);
            for secret in &private {
                assert!(!reply.text.contains(secret), "{name} shows {secret} to {who}: {}", reply.text);
            }
            assert!(reply.headers.contains_key("content-security-policy"), "{name}: {:?}", reply.headers);
        }
        let wrong = server.call_raw(Method::DELETE, &path).by(owner).send().await;
        assert_eq!(wrong.status, 405, "{name}: {}", wrong.text);
    }
    let metrics = server.call_raw(Method::GET, "/metrics").by(owner).send().await;
    assert_eq!(metrics.status, 200, "{}", metrics.text);
    for secret in &private {
        assert!(!metrics.text.contains(secret), "/metrics shows {secret}");
    }
    // As git sends it, with an API key or a token as the password.
    let path = format!("/{}/{}/info/refs?service=git-receive-pack", ids.0, ids.1);
    let allowed = server.call_raw(Method::GET, &path).header("authorization", &basic(owner)).unchecked().await.status;
    assert_eq!(allowed, 200);
}

fn basic(person: &Person) -> String {
    let login = format!("git:{}", person.token);
    format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(login))
}
