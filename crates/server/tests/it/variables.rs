//! Variables of applications: who sees which values.

use serde_json::{Value, json};
use windlass_api::Role;
use windlass_store::applications;
use windlass_testing::on_both_databases;

use crate::deploys::most;
use crate::support::{Person, TestServer, id_of, server};

on_both_databases!(server: variables_are_masked, masks_keep_values, secrets_stay_secret_when_unmarked, keys_that_know_no_members,
    a_port_that_is_none_is_refused);

async fn variables_are_masked(server: TestServer) {
    let ada = server.admin().await;
    let viewer = server.join(&ada, "viewer", Role::Viewer).await;
    let member = server.join(&ada, "member", Role::Member).await;
    let shop = server.deploy(&ada, most("shop")).await;
    for person in [&ada, &member] {
        let seen = server.application(person, &shop["id"]).await;
        assert_eq!(seen["build_variables"], r#"{"NODE_ENV":"production","token":"********"}"#);
        assert_eq!(seen["environment_variables"], r#"{"GREETING":"hello","password":"********"}"#);
        assert_eq!(seen["secret_names"], json!(["password", "token"]));
    }
    let seen = server.application(&viewer, &shop["id"]).await;
    assert_eq!(seen["environment_variables"], r#"{"GREETING":"********","password":"********"}"#);
    let listed = server.get("/deploy/applications").by(&viewer).ok().await;
    assert_eq!(listed["applications"][0]["build_variables"], r#"{"NODE_ENV":"********","token":"********"}"#);
    let path = format!("/deploy/application/deployments/{}", id_of(&shop["deployments"][0]));
    let deployment = server.get(&path).by(&viewer).ok().await;
    assert_eq!(deployment["application"]["environment_variables"], seen["environment_variables"]);
}

async fn variables_of(server: &TestServer, application: &Value) -> windlass_api::Variables {
    let mut conn = server.app.db.read().await.unwrap();
    let row = applications::get(&mut conn, id_of(application)).await.unwrap().unwrap();
    drop(conn);
    server.app.vault.application_variables(&row).await.unwrap()
}

async fn masks_keep_values(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.deploy(&ada, most("shop")).await;
    // What was shown can be sent back as it is.
    let shown: Value = serde_json::from_str(shop["environment_variables"].as_str().unwrap()).unwrap();
    let mut sent = shown.clone();
    sent["GREETING"] = json!("good morning");
    let body = json!({ "id": shop["id"], "environment_variables": sent });
    server.put("/deploy/application", body).by(&ada).ok().await;
    let variables = variables_of(&server, &shop).await;
    assert_eq!(variables.environment["GREETING"], "good morning");
    assert_eq!(variables.environment["password"], "a very secret variable");
    assert_eq!(variables.build["token"], "a very secret build variable");
    // A given map replaces the whole one; what is gone is no secret any more.
    let body = json!({ "id": shop["id"], "environment_variables": { "A": "1" } });
    let updated = server.put("/deploy/application", body).by(&ada).ok().await;
    assert_eq!(updated["environment_variables"], r#"{"A":"1"}"#);
    assert_eq!(updated["secret_names"], json!(["token"]));
    let body = json!({ "id": shop["id"], "build_variables": { "password": "********" } });
    let message = server.put("/deploy/application", body).by(&ada).fails(400, "invalid_request").await;
    assert!(message.starts_with("build_variables: password: ********"), "{message}");
}

async fn secrets_stay_secret_when_unmarked(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.deploy(&ada, most("shop")).await;
    for body in [
        json!({ "secret_names": ["token"] }),
        json!({ "secret_names": [], "environment_variables": { "password": "********" }, "build_variables": {} }),
    ] {
        let mut body = body;
        body["id"] = shop["id"].clone();
        let message = server.put("/deploy/application", body).by(&ada).fails(400, "invalid_request").await;
        assert!(message.starts_with("secret_names: password stays secret as long as it keeps its value"), "{message}");
    }
    let body =
        json!({ "id": shop["id"], "secret_names": ["token"], "environment_variables": { "password": "public" } });
    let updated = server.put("/deploy/application", body).by(&ada).ok().await;
    assert_eq!(updated["environment_variables"], r#"{"password":"public"}"#);
}

/// A key that may read applications learns nothing of people by it.
async fn keys_that_know_no_members(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.deploy(&ada, most("shop")).await;
    let key = json!({ "name": "ci", "organization_id": ada.organization_id, "permissions": ["deploy:read"] });
    let key = server.post("/auth/api-keys", key).by(&ada).ok().await["key"].as_str().unwrap().to_owned();
    let ci = Person { token: key, ..ada.clone() };
    let seen = server.application(&ci, &shop["id"]).await;
    assert_eq!(seen["user"], json!({}));
    assert_eq!(seen["environment_variables"], r#"{"GREETING":"********","password":"********"}"#);
}

/// The variable says where visitors are sent.
async fn a_port_that_is_none_is_refused(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.deploy(&ada, most("shop")).await;
    for bad in ["abc", "0", "99999", "-1", ""] {
        let mut body = most("other");
        body["environment_variables"] = json!({ "PORT": bad });
        body["secret_names"] = json!([]);
        let message = server.post("/deploy/application", body).by(&ada).fails(400, "invalid_request").await;
        assert!(
            message.starts_with("environment_variables: PORT: must be a whole number from 1 to 65535"),
            "{message}"
        );
        let body = json!({ "id": shop["id"], "environment_variables": { "PORT": bad } });
        let message = server.put("/deploy/application", body).by(&ada).fails(400, "invalid_request").await;
        assert!(message.starts_with("environment_variables: PORT: "), "{message}");
    }
    let body = json!({ "id": shop["id"], "environment_variables": { "PORT": "65535", "OTHER_PORT": "abc" } });
    server.put("/deploy/application", body).by(&ada).ok().await;
}
