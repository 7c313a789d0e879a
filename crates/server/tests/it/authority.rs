//! What a caller was allowed is checked once more in the transaction, and a deployment says who set it off.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use windlass_api::{DeploymentTrigger, Role};
use windlass_server::auth::Actor;
use windlass_server::service::deployments::{DeploymentRequest, enqueue};
use windlass_store::{Tx, api_keys, applications, deployments, memberships, organizations, sessions};
use windlass_testing::on_both_databases;

use crate::deploys::least;
use crate::support::{PASSWORD, Person, Reply, TestServer, id_of, server};

on_both_databases!(server: a_role_that_is_taken_away_meanwhile, a_membership_that_ends_meanwhile,
    a_key_that_is_revoked_meanwhile, a_login_that_ends_meanwhile, a_login_that_ends_before_the_body_does, a_deployment_says_what_triggered_it, a_deployment_needs_no_user);

impl TestServer {
    /// A redeploy that was allowed and then waits for the organization, which another transaction holds and changes.
    async fn redeploys_meanwhile(&self, caller: &Person, shop: &Value, change: impl AsyncFnOnce(&mut Tx)) -> Reply {
        let mut tx = self.app.db.begin().await.unwrap();
        assert!(organizations::lock(&mut tx, caller.organization_id).await.unwrap());
        change(&mut tx).await;
        let before = self.app.db.queries();
        let ending = async {
            // One query finds the caller and their place. With the next one, for the application, that is known.
            while self.app.db.queries() < before + 2 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            tx.commit().await.unwrap();
        };
        let redeploy = self.post("/deploy/application/redeploy", json!({ "id": shop["id"] })).by(caller).send();
        let both = async { tokio::join!(redeploy, ending).0 };
        tokio::time::timeout(Duration::from_secs(30), both).await.expect("an answer")
    }

    async fn deployments_of(&self, shop: &Value) -> i64 {
        deployments::count(&mut self.app.db.read().await.unwrap(), id_of(shop)).await.unwrap()
    }

    /// A program that has been there before, so that its next request has nothing to note.
    async fn used_key(&self, person: &Person) -> (Value, Person) {
        let created = self.post("/auth/api-keys", json!({ "name": "ci" })).by(person).ok().await;
        let key = Person { token: created["key"].as_str().unwrap().to_owned(), ..person.clone() };
        self.get("/organizations").by(&key).ok().await;
        (created["api_key"].clone(), key)
    }
}

async fn a_role_that_is_taken_away_meanwhile(server: TestServer) {
    let ada = server.admin().await;
    let grace = server.join(&ada, "grace", Role::Admin).await;
    let shop = server.deploy(&ada, least("shop")).await;
    let now = server.app.now();
    let reply = server
        .redeploys_meanwhile(&grace, &shop, async |tx| {
            let member = memberships::member(tx, grace.organization_id, grace.user_id).await.unwrap().unwrap();
            memberships::set_role(tx, member.membership.id, Role::Viewer, now).await.unwrap();
        })
        .await;
    assert_eq!((reply.status, &reply.json["error"]), (403, &json!("forbidden")), "{}", reply.text);
    assert!(reply.json["message"].as_str().unwrap().starts_with("Your role in this organization is viewer;"));
    assert_eq!(server.deployments_of(&shop).await, 1);
    let denied: Vec<_> = server.app.denials.take().into_keys().map(|denial| (denial.user_id, denial.what)).collect();
    assert_eq!(denied, [(Some(grace.user_id), "what needs the permission deploy:update".to_owned())]);
}

async fn a_membership_that_ends_meanwhile(server: TestServer) {
    let ada = server.admin().await;
    let grace = server.join(&ada, "grace", Role::Admin).await;
    let shop = server.deploy(&ada, least("shop")).await;
    let reply = server
        .redeploys_meanwhile(&grace, &shop, async |tx| {
            let member = memberships::member(tx, grace.organization_id, grace.user_id).await.unwrap().unwrap();
            memberships::delete(tx, member.membership.id).await.unwrap();
        })
        .await;
    assert_eq!((reply.status, &reply.json["error"]), (404, &json!("not_found")), "{}", reply.text);
    assert_eq!(server.deployments_of(&shop).await, 1);
}

async fn a_key_that_is_revoked_meanwhile(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.deploy(&ada, least("shop")).await;
    let (record, key) = server.used_key(&ada).await;
    let reply = server
        .redeploys_meanwhile(&key, &shop, async |tx| {
            assert!(api_keys::delete(tx, ada.organization_id, id_of(&record)).await.unwrap().is_some());
        })
        .await;
    assert_eq!((reply.status, &reply.json["error"]), (401, &json!("unauthenticated")), "{}", reply.text);
    assert_eq!(server.deployments_of(&shop).await, 1);
}

async fn a_login_that_ends_meanwhile(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.deploy(&ada, least("shop")).await;
    let reply = server
        .redeploys_meanwhile(&ada, &shop, async |tx| {
            assert_eq!(sessions::delete_all(tx, ada.user_id).await.unwrap(), 1);
        })
        .await;
    assert_eq!((reply.status, &reply.json["error"]), (401, &json!("unauthenticated")), "{}", reply.text);
    assert_eq!(server.deployments_of(&shop).await, 1);
}

/// A thief who holds back the last byte of a request gets nothing once its owner has ended the session.
async fn a_login_that_ends_before_the_body_does(server: TestServer) {
    let ada = server.admin().await;
    let login = json!({ "email": ada.email, "password": PASSWORD });
    for (call, body) in [
        ("POST /api/v1/auth/api-keys", r#"{"name":"ci"}"#),
        ("POST /api/v1/organizations", r#"{"name":"other"}"#),
        ("PATCH /api/v1/user/name", r#"{"name":"Mallory"}"#),
    ] {
        let thief = server.post("/auth/login", login.clone()).ok().await;
        let token = thief["access_token"].as_str().unwrap();
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let (host, length) = (server.address, body.len());
        let head = format!("{call} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}");
        let before = server.app.db.queries();
        let headers = format!("content-length: {length}\r\nconnection: close");
        let sent = format!("{head}\r\n{headers}\r\n\r\n{}", &body[..length - 1]);
        stream.write_all(sent.as_bytes()).await.unwrap();
        // With the first query the caller is known.
        let is_known = async {
            while server.app.db.queries() == before {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), is_known).await.expect("a known caller");
        let mut tx = server.app.db.begin().await.unwrap();
        assert_eq!(sessions::delete_all(&mut tx, ada.user_id).await.unwrap(), 2);
        tx.commit().await.unwrap();
        stream.write_all(&body.as_bytes()[length - 1..]).await.unwrap();
        let mut answer = String::new();
        let reading = stream.read_to_string(&mut answer);
        tokio::time::timeout(Duration::from_secs(30), reading).await.expect("an answer").unwrap();
        assert!(answer.starts_with("HTTP/1.1 401 "), "{call}: {answer}");
        server.post("/auth/login", login.clone()).ok().await;
    }
}

async fn a_deployment_says_what_triggered_it(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.deploy(&ada, least("shop")).await;
    let (_, key) = server.used_key(&ada).await;
    let redeploy = json!({ "id": shop["id"] });
    let redeployed = server.post("/deploy/application/redeploy", redeploy).by(&key).ok().await;
    for (record, trigger) in
        [(&shop["deployments"][0], DeploymentTrigger::User), (&redeployed, DeploymentTrigger::ApiKey)]
    {
        assert_eq!(record["triggered_by"], trigger.as_str());
        let row = deployments::get(&mut server.app.db.read().await.unwrap(), id_of(record)).await.unwrap().unwrap();
        // A key acts for its user.
        assert_eq!((row.triggered_by, row.user_id), (trigger, Some(ada.user_id)));
    }
}

async fn a_deployment_needs_no_user(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.deploy(&ada, least("shop")).await;
    let extension = Actor::Extension { name: "nightly".into() };
    for (actor, name, trigger) in [
        (Actor::Schedule, "schedule", "schedule"),
        (extension, "nightly", "extension"),
        (Actor::Server, "windlass", "server"),
    ] {
        let mut work = server.app.begin().await.unwrap();
        let application = applications::lock(&mut work, id_of(&shop)).await.unwrap().unwrap();
        let row =
            enqueue(&mut work, &actor, &application, &DeploymentRequest::Deploy { commit: None }, &[]).await.unwrap();
        work.commit().await.unwrap();
        assert_eq!(row.user_id, None);
        let shown = server.application(&ada, &shop["id"]).await;
        assert_eq!(shown["deployments"][0]["triggered_by"], trigger);
        let activities = server.get("/audit/logs?page_size=1").by(&ada).ok().await;
        let last = &activities["activities"][0];
        assert_eq!(
            (&last["actor"], &last["message"]),
            (&json!(name), &json!(format!("{name} queued a deployment of shop")))
        );
        assert_eq!(last["metadata"].get("actor_id"), None);
    }
}
