//! Variables that the applications of an organization share: who sees and changes them, what may refer to them, and what a release is made with.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use uuid::Uuid;
use windlass_api::{Role, Variables};
use windlass_store::{applications, releases};
use windlass_testing::git::GitServer;
use windlass_testing::on_both_databases;

use crate::deploys::{least, shared};
use crate::support::{Person, TestServer, id_of, server};

on_both_databases!(
    server: values_are_masked_and_masks_keep_them, secrets_stay_secret_when_unmarked, changes_have_a_history, whose_they_are,
    a_release_keeps_what_was_filled_in, an_environment_wins, what_leads_nowhere_is_refused, what_is_referred_to_stays,
    sizes_count_when_everything_is_filled_in, what_a_secret_is_filled_into_is_secret, a_plan_shows_what_was_shared_anew,
    previews_get_nothing_secret_by_a_reference, forks_get_nothing_secret_by_a_reference, a_literal_stays_one,
    references_take_what_reading_takes, what_is_shared_leads_elsewhere_for_those_who_read, a_reference_and_a_removal_at_once, environments_have_a_limit
);

const PATH: &str = "/variables/shared";

impl TestServer {
    async fn share(&self, person: &Person, body: Value) -> Value {
        self.put(PATH, body).by(person).ok().await
    }

    async fn configure(&self, person: &Person, application: &Value, mut body: Value) -> Value {
        body["id"] = application["id"].clone();
        self.put("/deploy/application", body).by(person).ok().await
    }

    /// What a release was made with.
    async fn made_with(&self, deployment: &Value) -> Variables {
        let id = deployment["release_id"].as_str().unwrap().parse().unwrap();
        let release = releases::get(&mut self.app.db.read().await.unwrap(), id).await.unwrap().unwrap();
        self.app.vault.release_variables(&release).await.unwrap()
    }
}

fn with(name: &str, environment: Value) -> Value {
    let mut body = least(name);
    body["environment_variables"] = environment;
    body
}

fn map(all: &[(&str, &str)]) -> BTreeMap<String, String> {
    all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

async fn values_are_masked_and_masks_keep_them(server: TestServer) {
    let ada = server.admin().await;
    let (viewer, member) =
        (server.join(&ada, "vera", Role::Viewer).await, server.join(&ada, "mia", Role::Member).await);
    let none = server.get(PATH).by(&member).ok().await;
    let expected =
        json!({ "environment": "", "variables": {}, "secret_names": [], "environments": [], "updated_at": null });
    assert_eq!(none, expected);
    let saved = server.share(&ada, shared()).await;
    let masked = json!({ "HOST": "db.example.org", "password": "********" });
    assert_eq!((&saved["environment"], &saved["variables"]), (&json!("staging"), &masked));
    assert_eq!((&saved["secret_names"], &saved["environments"]), (&json!(["password"]), &json!(["staging"])));
    for (person, values) in [(&member, &masked), (&viewer, &json!({ "HOST": "********", "password": "********" }))] {
        let seen = server.get("/variables/shared?environment=staging").by(person).ok().await;
        assert_eq!(&seen["variables"], values);
    }
    let seen = server.get(PATH).by(&member).ok().await;
    assert_eq!((&seen["variables"], &seen["environments"]), (&json!({}), &json!(["staging"])));
    // What was shown can be sent back as it is; what is not sent is gone.
    let again = json!({ "environment": "staging", "variables": { "password": "********", "PORT": "80" }, "unchanged_since": saved["updated_at"] });
    server.app.clock.advance_seconds(1);
    let kept = server.share(&ada, again.clone()).await;
    assert_eq!(kept["variables"], json!({ "PORT": "80", "password": "********" }));
    assert_eq!(kept["secret_names"], json!(["password"]));
    let shop = server.deploy(&ada, {
        let mut body = with("shop", json!({ "KEY": "${{shared.password}}" }));
        body["environment"] = json!("staging");
        body
    });
    let shop = shop.await;
    let variables = server.made_with(&shop["deployments"][0]).await;
    assert_eq!(variables.environment["KEY"], "a very secret shared variable");
    let message = server.put(PATH, again).by(&ada).fails(409, "conflict").await;
    assert!(message.starts_with("unchanged_since: "), "{message}");
    for (bad, problem) in [
        (json!({ "variables": { "A": "********" } }), "variables: A: ******** stands for the value that is there"),
        (json!({ "variables": { "A": "1" }, "secret_names": ["B"] }), "secret_names: there is no variable B"),
        (json!({ "environment": "Not A Slug", "variables": {} }), "environment: "),
    ] {
        let message = server.put(PATH, bad).by(&ada).fails(400, "invalid_request").await;
        assert!(message.contains(problem), "{message}");
    }
    server.get("/variables/shared?environment=Not%20A%20Slug").by(&ada).fails(400, "invalid_request").await;
    // One that is empty is no more.
    server.configure(&ada, &shop, json!({ "environment_variables": {} })).await;
    let empty = server.share(&ada, json!({ "environment": "staging", "variables": {} })).await;
    assert_eq!((&empty["environments"], &empty["updated_at"]), (&json!([]), &Value::Null));
}

async fn secrets_stay_secret_when_unmarked(server: TestServer) {
    let ada = server.admin().await;
    server.share(&ada, json!({ "variables": { "KEY": "of-the-organization" }, "secret_names": ["KEY"] })).await;
    let body = json!({ "variables": { "KEY": "********" }, "secret_names": [] });
    let message = server.put(PATH, body).by(&ada).fails(400, "invalid_request").await;
    assert!(message.starts_with("secret_names: KEY stays secret as long as it keeps its value"), "{message}");
    // The mark need not be remembered in another environment.
    let body = json!({ "environment": "staging", "variables": { "KEY": "of-staging" } });
    let seen = server.share(&ada, body).await;
    assert_eq!((&seen["variables"], &seen["secret_names"]), (&json!({ "KEY": "********" }), &json!(["KEY"])));
    for open in [json!({ "variables": { "KEY": "open" }, "secret_names": [] }), json!({ "variables": {} })] {
        let message = server.put(PATH, open).by(&ada).fails(400, "invalid_request").await;
        assert!(message.starts_with("secret_names: KEY stays secret as long as staging has it too"), "{message}");
    }
    let marked = json!({ "environment": "staging", "variables": { "KEY": "********" }, "secret_names": ["KEY"] });
    server.share(&ada, marked).await;
    let seen = server.share(&ada, json!({ "variables": { "KEY": "open" }, "secret_names": [] })).await;
    assert_eq!(seen["variables"], json!({ "KEY": "open" }));
    let seen = server.get("/variables/shared?environment=staging").by(&ada).ok().await;
    assert_eq!(seen["variables"], json!({ "KEY": "********" }));
}

async fn changes_have_a_history(server: TestServer) {
    let ada = server.admin().await;
    server.share(&ada, json!({ "variables": { "A": "turquoise", "B": "2" } })).await;
    let body = json!({ "variables": { "B": "3", "KEY": "vermilion" }, "secret_names": ["KEY"] });
    server.share(&ada, body).await;
    server.share(&ada, shared()).await;
    let found = server.get("/audit/logs?resource_type=organization&search=shared%20variables").by(&ada).ok().await;
    let text = |entry: &Value, name: &str| entry["metadata"][name].as_str().unwrap_or_default().to_owned();
    let summary = |entry: &Value| {
        let all = ["environment", "variables_added", "variables_changed", "variables_removed", "variables_made_secret"];
        format!("{}: {}", entry["message"].as_str().unwrap(), all.map(|name| text(entry, name)).join(" | "))
    };
    let told: Vec<_> = found["activities"].as_array().unwrap().iter().map(summary).collect();
    assert_eq!(
        told,
        [
            "Ada changed the shared variables of staging: staging | HOST, password |  |  | password",
            "Ada changed the shared variables of the organization:  | KEY | B | A | KEY",
            "Ada changed the shared variables of the organization:  | A, B |  |  | ",
        ]
    );
    assert!(!found.to_string().contains("turquoise") && !found.to_string().contains("vermilion"), "{found}");
}

async fn whose_they_are(server: TestServer) {
    let ada = server.admin().await;
    let eve = server.stranger(&ada, "eve").await;
    let mia = server.join(&ada, "mia", Role::Member).await;
    server.share(&ada, json!({ "variables": { "HOST": "of-ada" } })).await;
    server.put(PATH, json!({ "variables": {} })).by(&mia).fails(403, "forbidden").await;
    let seen = server.get(PATH).by(&eve).ok().await;
    assert_eq!(seen["variables"], json!({}));
    server.get(PATH).by(&eve).within(ada.organization_id).fails(403, "forbidden").await;
    let body = with("theirs", json!({ "A": "${{shared.HOST}}" }));
    server.post("/deploy/application", body.clone()).by(&eve).fails(400, "invalid_request").await;
    server.share(&eve, json!({ "variables": { "HOST": "of-eve" } })).await;
    let theirs = server.deploy(&eve, body).await;
    assert_eq!(server.made_with(&theirs["deployments"][0]).await.environment, map(&[("A", "of-eve")]));
    server.share(&ada, json!({ "variables": {} })).await;
    assert_eq!(server.get(PATH).by(&eve).ok().await["variables"], json!({ "HOST": "of-eve" }));
}

async fn a_release_keeps_what_was_filled_in(server: TestServer) {
    let ada = server.admin().await;
    let body = json!({ "variables": { "HOST": "one.example.org", "URL": "https://${{ shared.HOST }}/${{shared.PLACE}}", "PLACE": "shop" } });
    server.share(&ada, body).await;
    let mut body = with("shop", json!({ "HOME": "<${{shared.URL}}>", "PLAIN": "${HOST} ${{ github.ref }}" }));
    body["build_variables"] = json!({ "HOST": "${{shared.HOST}}:${{shared.PLACE}}" });
    let shop = server.running(&ada, body).await;
    let first = shop["deployments"][0].clone();
    let made = server.made_with(&first).await;
    let expected = map(&[("HOME", "<https://one.example.org/shop>"), ("PLAIN", "${HOST} ${{ github.ref }}")]);
    assert_eq!((made.environment, made.build), (expected, map(&[("HOST", "one.example.org:shop")])));
    assert!(made.secret_names.is_empty() && made.shared_secrets.is_empty());
    // What the application says is the reference.
    let seen = server.application(&ada, &shop["id"]).await;
    assert!(seen["environment_variables"].as_str().unwrap().contains("<${{shared.URL}}>"), "{seen}");
    assert_eq!(seen["pending_fields"], json!([]));

    let change =
        json!({ "variables": { "HOST": "two.example.org", "URL": "https://${{ shared.HOST }}/", "PLACE": "shop" } });
    server.share(&ada, change).await;
    let seen = server.application(&ada, &shop["id"]).await;
    assert_eq!(
        seen["pending_fields"],
        json!(["build_variables", "environment_variables"]),
        "the next deploy brings it"
    );
    let listed = server.get("/deploy/applications").by(&ada).ok().await;
    assert_eq!(listed["applications"][0]["pending_fields"], seen["pending_fields"]);
    let restart = server.post("/deploy/application/restart", json!({ "id": shop["id"] })).by(&ada).ok().await;
    assert_eq!(restart["release_id"], first["release_id"], "a restart is of the same release");
    server.make_live(id_of(&restart)).await;
    let second = server.post("/deploy/application/redeploy", json!({ "id": shop["id"] })).by(&ada).ok().await;
    assert_eq!(server.made_with(&second).await.environment["HOME"], "<https://two.example.org/>");
    server.make_live(id_of(&second)).await;
    assert_eq!(server.application(&ada, &shop["id"]).await["pending_fields"], json!([]));
    let back = server.post("/deploy/application/rollback", json!({ "id": first["id"] })).by(&ada).ok().await;
    assert_eq!(server.made_with(&back).await.environment["HOME"], "<https://one.example.org/shop>");
}

async fn an_environment_wins(server: TestServer) {
    let ada = server.admin().await;
    server.share(&ada, json!({ "variables": { "HOST": "default", "URL": "https://${{shared.HOST}}" } })).await;
    server.share(&ada, json!({ "environment": "production", "variables": { "HOST": "live", "ONLY": "here" } })).await;
    for (environment, expected) in [("production", "https://live"), ("staging", "https://default")] {
        let mut body = with(environment, json!({ "URL": "${{shared.URL}}" }));
        body["environment"] = json!(environment);
        let application = server.deploy(&ada, body).await;
        let made = server.made_with(&application["deployments"][0]).await;
        assert_eq!(made.environment["URL"], expected, "{environment}");
    }
    // Where there is none.
    let mut body = with("third", json!({ "A": "${{shared.ONLY}}" }));
    body["environment"] = json!("staging");
    let message = server.post("/deploy/application", body.clone()).by(&ada).fails(400, "invalid_request").await;
    assert_eq!(message, "environment_variables: A: there is no shared variable ONLY (in the environment staging)");
    body["environment"] = json!("production");
    let third = server.deploy(&ada, body).await;
    let elsewhere = json!({ "id": third["id"], "environment": "staging" });
    let message = server.put("/deploy/application", elsewhere).by(&ada).fails(400, "invalid_request").await;
    assert!(message.contains("ONLY") && message.contains("staging"), "{message}");
    // The organization's cannot refer to what some environments lack.
    let body = json!({ "variables": { "HOST": "default", "URL": "${{shared.ONLY}}" } });
    let message = server.put(PATH, body).by(&ada).fails(400, "invalid_request").await;
    assert_eq!(message, "variables: URL: there is no shared variable ONLY");
}

async fn what_leads_nowhere_is_refused(server: TestServer) {
    let ada = server.admin().await;
    server.share(&ada, json!({ "variables": { "HOST": "db" } })).await;
    let shop = server.deploy(&ada, with("shop", json!({ "A": "${{shared.HOST}}" }))).await;
    for field in ["build_variables", "environment_variables", "preview_variables"] {
        for (value, problem) in [
            ("x${{shared.NONE}}", "there is no shared variable NONE"),
            ("${{ shared.host }}", "there is no shared variable host"),
            ("${{shared.HOST", "a reference must be written ${{shared.NAME}}"),
            ("${{shared. }}", "a reference must be written ${{shared.NAME}}"),
        ] {
            let body = json!({ "id": shop["id"], field: { "NAME": value } });
            let message = server.put("/deploy/application", body).by(&ada).fails(400, "invalid_request").await;
            assert!(message.starts_with(&format!("{field}: NAME: {problem}")), "{message}");
        }
    }
    let import = json!({ "kind": "environment", "text": "B='${{shared.NONE}}'" });
    let path = format!("/deploy/application/{}/variables", id_of(&shop));
    let message = server.post(&path, import).by(&ada).fails(400, "invalid_request").await;
    assert!(message.starts_with("text: B: there is no shared variable NONE"), "{message}");
    let import = json!({ "kind": "environment", "text": "B='${{shared.HOST}}'" });
    server.post(&path, import).by(&ada).ok().await;
    let row = applications::get(&mut server.app.db.read().await.unwrap(), id_of(&shop)).await.unwrap().unwrap();
    assert!(row.refers_to_shared);
    let body = with("planned", json!({ "A": "${{shared.NONE}}" }));
    server.post("/deploy/application/preview", body).by(&ada).fails(400, "invalid_request").await;
    // A port is one when it is filled in.
    for (value, is_port) in [("80", true), ("http", false)] {
        server.share(&ada, json!({ "variables": { "HOST": "db", "PORT": value } })).await;
        let body = json!({ "id": shop["id"], "environment_variables": { "PORT": "${{shared.PORT}}" } });
        let call = server.put("/deploy/application", body).by(&ada);
        match is_port {
            true => drop(call.ok().await),
            false => {
                let problem = call.fails(400, "invalid_request").await;
                assert!(problem.starts_with("environment_variables: PORT: must be"), "{problem}");
            }
        }
        server.configure(&ada, &shop, json!({ "environment_variables": {} })).await;
    }
    for (variables, problem) in [
        (json!({ "A": "${{shared.B}}" }), "variables: A: there is no shared variable B"),
        (json!({ "A": "${{shared.A}}" }), "variables: A: it refers to itself: A, A"),
        (
            json!({ "A": "${{shared.B}}", "B": "${{shared.C}}", "C": "${{shared.A}}" }),
            "variables: C: it refers to itself: A, B, C, A",
        ),
        (json!({ "A": "${{shared." }), "variables: A: a reference must be written"),
    ] {
        let message = server.put(PATH, json!({ "variables": variables })).by(&ada).fails(400, "invalid_request").await;
        assert!(message.starts_with(problem), "{message}");
    }
    let long: serde_json::Map<_, _> =
        (0..12).map(|number| (format!("N{number:02}"), json!(format!("${{{{shared.N{:02}}}}}", number + 1)))).collect();
    let mut long = Value::Object(long);
    long["N12"] = json!("end");
    let message = server.put(PATH, json!({ "variables": long })).by(&ada).fails(400, "invalid_request").await;
    assert!(message.contains("it refers to others over more than 10 shared variables"), "{message}");
}

async fn what_is_referred_to_stays(server: TestServer) {
    let ada = server.admin().await;
    let all = json!({ "variables": { "HOST": "db", "NAME": "shop", "FREE": "1" } });
    server.share(&ada, all.clone()).await;
    let shop = server.deploy(&ada, with("shop", json!({ "A": "${{shared.HOST}}" }))).await;
    let blog = server.deploy(&ada, with("blog", json!({}))).await;
    server.configure(&ada, &blog, json!({ "preview_variables": { "B": "${{shared.NAME}}" } })).await;
    server.share(&ada, json!({ "environment": "staging", "variables": { "URL": "//${{shared.HOST}}" } })).await;
    let without = |name: &str| {
        let mut body = all.clone();
        body["variables"].as_object_mut().unwrap().remove(name);
        body
    };
    server.share(&ada, without("FREE")).await;
    let message = server.put(PATH, without("HOST")).by(&ada).fails(409, "conflict").await;
    assert!(
        message.starts_with("variables: ") && message.contains("the shared variable URL (in the environment staging)"),
        "{message}"
    );
    server.share(&ada, json!({ "environment": "staging", "variables": {} })).await;
    let message = server.put(PATH, without("HOST")).by(&ada).fails(409, "conflict").await;
    assert!(message.contains("shop: environment_variables: A: there is no shared variable HOST"), "{message}");
    let message = server.put(PATH, without("NAME")).by(&ada).fails(409, "conflict").await;
    assert!(message.contains("blog: preview_variables: B: there is no shared variable NAME"), "{message}");
    // It can move to where it is needed.
    server.share(&ada, json!({ "environment": "production", "variables": { "HOST": "db" } })).await;
    server.share(&ada, without("HOST")).await;
    let gone = json!({ "environment": "production", "variables": {} });
    server.put(PATH, gone.clone()).by(&ada).fails(409, "conflict").await;
    // Many are counted.
    let mut others = Vec::new();
    for number in 0..12 {
        others.push(server.deploy(&ada, with(&format!("app {number}"), json!({ "A": "${{shared.HOST}}" }))).await);
    }
    let message = server.put(PATH, gone.clone()).by(&ada).fails(409, "conflict").await;
    assert!(message.ends_with("; and 3 more") && message.len() < 2_000, "{message}");
    for other in others {
        let body = json!({ "id": other["id"], "name": other["name"] });
        server.delete("/deploy/application").json(body).by(&ada).ok().await;
    }
    let message = server.put(PATH, gone.clone()).by(&ada).fails(409, "conflict").await;
    assert_eq!(message.matches("there is no").count(), 1, "what is being deleted does not count: {message}");
    server.configure(&ada, &shop, json!({ "environment_variables": { "A": "db" } })).await;
    server.share(&ada, gone).await;
}

async fn sizes_count_when_everything_is_filled_in(server: TestServer) {
    let ada = server.admin().await;
    let large = "x".repeat(16 * 1024);
    server.share(&ada, json!({ "variables": { "LARGE": large } })).await;
    let body = |value: &str| with("shop", json!({ "A": value }));
    let message = server
        .post("/deploy/application", body(&"${{shared.LARGE}}".repeat(3)))
        .by(&ada)
        .fails(400, "invalid_request")
        .await;
    assert!(
        message.starts_with("environment_variables: A: with what it refers to, the value must have at most 32 KiB"),
        "{message}"
    );
    let five: Value = (0..5)
        .map(|number| (format!("N{number}"), json!("${{shared.LARGE}}")))
        .collect::<serde_json::Map<_, _>>()
        .into();
    // The last one is not looked at any more: filling in ends where it is too much.
    let mut six = five.clone();
    six["N9"] = json!("${{shared.NONE}}");
    for (field, variables) in [("environment", &five), ("environment", &six), ("preview", &six), ("build", &six)] {
        let field = format!("{field}_variables");
        let mut body = with("shop", json!({}));
        body[&field] = variables.clone();
        let message = server.post("/deploy/application", body).by(&ada).fails(400, "invalid_request").await;
        let problem = format!("{field}: with what they refer to, they must have at most 64 KiB in all");
        assert!(message.starts_with(&problem), "{message}");
    }
    let shop = server.deploy(&ada, body("${{shared.LARGE}}${{shared.LARGE}}")).await;
    let body = json!({ "variables": { "LARGE": "x".repeat(17 * 1024) } });
    let message = server.put(PATH, body).by(&ada).fails(409, "conflict").await;
    assert!(message.contains("shop: environment_variables: A: with what it refers to"), "{message}");
    // Each ten times the one before.
    let ten = |name: &str| format!("${{{{shared.{name}}}}}").repeat(10);
    let body = json!({ "variables": { "LARGE": "", "A": "0123456789", "B": ten("A"), "C": ten("B"), "D": ten("C"), "E": ten("D") } });
    let message = server.put(PATH, body).by(&ada).fails(400, "invalid_request").await;
    assert!(message.starts_with("variables: E: with what it refers to"), "{message}");
    // Arguments of builds have less room, unless they are secret.
    let body = json!({ "id": shop["id"], "environment_variables": {}, "build_variables": { "A": "${{shared.LARGE}}", "B": "${{shared.LARGE}}" } });
    server.put("/deploy/application", body).by(&ada).ok().await;
    // Each of these takes six bytes on the way to the engine.
    let mut body = json!({ "variables": { "LARGE": "ü".repeat(6 * 1024) } });
    let message = server.put(PATH, body.clone()).by(&ada).fails(409, "conflict").await;
    assert!(message.contains("shop: build_variables: take "), "{message}");
    body["secret_names"] = json!(["LARGE"]);
    server.share(&ada, body).await;
}

async fn what_a_secret_is_filled_into_is_secret(server: TestServer) {
    let ada = server.admin().await;
    let (secret, git) = ("a-very-secret-part", GitServer::start());
    let repository = git.repository("shop");
    repository.commit(&[("Dockerfile", "FROM scratch\n")], "First");
    let body = json!({ "variables": { "HOST": "db", "PART": secret, "WHOLE": "pg://u:${{shared.PART}}@${{shared.HOST}}" }, "secret_names": ["PART"] });
    server.share(&ada, body).await;
    let mut body = with("shop", json!({ "URL": "${{shared.WHOLE}}/shop", "HOST": "${{shared.HOST}}" }));
    body["build_variables"] = json!({ "TOKEN": "${{shared.PART}}", "OPEN": "1" });
    body["repository"] = json!(repository.url());
    let shop = server.running(&ada, body).await;
    let made = server.made_with(&shop["deployments"][0]).await;
    assert_eq!(made.environment["URL"], format!("pg://u:{secret}@db/shop"));
    assert_eq!(made.secret_names, ["TOKEN", "URL"], "a build gets them as secrets, and a log masks them");
    assert_eq!(made.shared_secrets, [secret.to_owned(), format!("pg://u:{secret}@db")]);
    server
        .share(
            &ada,
            json!({ "variables": { "HOST": "db", "PART": "another-secret-part", "WHOLE": "${{shared.PART}}" } }),
        )
        .await;
    let second = server.post("/deploy/application/redeploy", json!({ "id": shop["id"] })).by(&ada).ok().await;
    let (id, first) = (id_of(&shop), id_of(&shop["deployments"][0]));
    for path in [
        PATH.to_owned(),
        format!("/deploy/application?id={id}"),
        "/deploy/applications".to_owned(),
        format!("/deploy/application/{id}/plan"),
        format!("/deploy/application/{id}/compare?from={first}&to={}", id_of(&second)),
        format!("/deploy/application/{id}/variables/environment/download"),
        format!("/deploy/application/deployments/{}", id_of(&second)),
        "/audit/logs?page_size=100".to_owned(),
    ] {
        let reply = server.get(&path).by(&ada).send().await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.text);
        assert!(!reply.text.contains("secret-part"), "{path}: {}", reply.text);
    }
    let compared =
        server.get(&format!("/deploy/application/{id}/compare?from={first}&to={}", id_of(&second))).by(&ada).ok().await;
    let changes = compared["changes"].as_array().unwrap();
    let changed: Vec<_> = changes.iter().filter(|change| change["variable"] != "").collect();
    assert_eq!(changed.len(), 2, "{changed:?}");
    assert!(changed.iter().all(|change| change["is_masked"] == true), "{changed:?}");
}

async fn a_plan_shows_what_was_shared_anew(server: TestServer) {
    let (ada, git) = (server.admin().await, GitServer::start());
    let repository = git.repository("shop");
    repository.commit(&[("Dockerfile", "FROM scratch\n")], "First");
    let body = |host: &str, key: &str| json!({ "variables": { "HOST": host, "KEY": key }, "secret_names": ["KEY"] });
    server.share(&ada, body("one", "first-secret")).await;
    let mut application = with("shop", json!({ "A": "${{shared.HOST}}", "B": "${{shared.KEY}}", "C": "1" }));
    application["build_pack"] = json!("dockerfile");
    application["repository"] = json!(repository.url());
    let shop = server.running(&ada, application).await;
    let path = format!("/deploy/application/{}/plan", id_of(&shop));
    let changes = async || {
        let plan = server.get(&path).by(&ada).ok().await;
        let text = |change: &Value, name: &str| change[name].as_str().unwrap_or("-").to_owned();
        let words = |change: &Value| {
            ["field", "variable", "before", "after", "effect"].map(|name| text(change, name)).join(" ")
        };
        let all = plan["changes"].as_array().unwrap().iter().filter(|change| change["field"] != "commit_hash");
        all.map(words).collect::<Vec<_>>()
    };
    assert_eq!(changes().await, [] as [&str; 0]);
    server.share(&ada, body("two", "second-secret")).await;
    let expected =
        ["environment_variables A one two containers", "environment_variables B ******** ******** containers"];
    assert_eq!(changes().await, expected);
    // What is made secret is no longer shown.
    let body = json!({ "variables": { "HOST": "********", "KEY": "********" }, "secret_names": ["HOST", "KEY"] });
    server.share(&ada, body).await;
    let expected = [
        "environment_variables A ******** ******** containers",
        "environment_variables B ******** ******** containers",
        "secret_names  B A, B nothing",
    ];
    assert_eq!(changes().await, expected);
}

/// An application with previews, and what the preview of a pull request gets.
async fn previewed(server: &TestServer, ada: &Person) -> Value {
    server
        .share(
            ada,
            json!({
                "variables": { "HOST": "db", "KEY": "organization-secret", "OPEN": "open" }, "secret_names": ["KEY"],
            }),
        )
        .await;
    server
        .share(ada, json!({ "environment": "production", "variables": { "HOST": "live", "LIVE": "only live" } }))
        .await;
    server.share(ada, json!({ "environment": "preview", "variables": { "HOST": "test" } })).await;
    let mut body = with(
        "shop",
        json!({
            "HOST": "${{shared.HOST}}", "LIVE": "${{shared.LIVE}}", "KEY": "<${{shared.KEY}}>", "MARKED": "${{shared.KEY}}!", "LITERAL": "$${{shared.HOST}}",
        }),
    );
    body["build_variables"] = json!({ "TOKEN": "${{shared.KEY}}", "MODE": "${{shared.OPEN}}" });
    body["preview_variables"] = json!({ "OPEN": "${{shared.OPEN}}", "HIDDEN": "${{shared.KEY}}" });
    body["secret_names"] = json!(["MARKED"]);
    body["preview_secret_names"] = json!(["MARKED"]);
    body["previews"] = json!(true);
    server.running(ada, body).await
}

async fn variables_of(server: &TestServer, id: Uuid) -> Variables {
    let row = applications::get(&mut server.app.db.read().await.unwrap(), id).await.unwrap().unwrap();
    assert!(!row.refers_to_shared, "everything is filled in");
    server.app.vault.application_variables(&row).await.unwrap()
}

async fn previews_get_nothing_secret_by_a_reference(server: TestServer) {
    let ada = server.admin().await;
    let shop = previewed(&server, &ada).await;
    let preview = server.preview(&ada, id_of(&shop), 7).await;
    let given = variables_of(&server, id_of(&preview)).await;
    let expected = map(&[
        ("HIDDEN", "organization-secret"),
        ("HOST", "test"),
        ("LITERAL", "$${{shared.HOST}}"),
        ("MARKED", "organization-secret!"),
        ("OPEN", "open"),
    ]);
    assert_eq!(
        given.environment, expected,
        "of secrets what is marked or set for previews, and nothing of production alone"
    );
    assert_eq!(given.build, map(&[("MODE", "open")]));
    assert_eq!(given.secret_names, ["HIDDEN", "MARKED"], "they stay masked");
    let seen = server.application(&ada, &preview["id"]).await;
    assert!(!seen.to_string().contains("organization-secret"), "{seen}");
    let deployment = seen["deployments"][0].clone();
    let made = server.made_with(&deployment).await;
    assert_eq!((&*made.environment["LITERAL"], &*made.environment["HOST"]), ("${{shared.HOST}}", "test"));
    assert_eq!(made.shared_secrets, ["organization-secret"]);
    // What is shared later does not reach it before its next deployment.
    server.share(&ada, json!({ "environment": "preview", "variables": { "HOST": "later" } })).await;
    assert_eq!(variables_of(&server, id_of(&preview)).await.environment["HOST"], "test");
    server.preview(&ada, id_of(&shop), 7).await;
    assert_eq!(variables_of(&server, id_of(&preview)).await.environment["HOST"], "later");
}

async fn forks_get_nothing_secret_by_a_reference(server: TestServer) {
    use windlass_server::service::previews::{Answer, PullRequest, deploy};
    let ada = server.admin().await;
    let shop = previewed(&server, &ada).await;
    let mut work = server.app.begin_step().await.unwrap();
    let application = applications::lock(&mut work, id_of(&shop)).await.unwrap().unwrap();
    let fork = PullRequest {
        number: 8,
        title: "Take it".into(),
        url: String::new(),
        branch: "greedy".into(),
        is_fork: true,
        reference: "refs/pull/8/head".into(),
    };
    let actor = windlass_server::auth::Actor::Server;
    let Answer::Queued(queued) = deploy(&mut work, &actor, &application, fork).await.unwrap() else {
        panic!("it is not refused")
    };
    work.commit().await.unwrap();
    let given = variables_of(&server, queued.preview.id).await;
    assert_eq!(given.environment, map(&[("OPEN", "open")]));
    assert_eq!((given.build.len(), given.secret_names.len(), given.shared_secrets.len()), (0, 0, 0));
    let id = queued.deployment.release_id;
    let release = releases::get(&mut server.app.db.read().await.unwrap(), id).await.unwrap().unwrap();
    assert!(server.app.vault.release_variables(&release).await.unwrap().environment == given.environment);
}

async fn a_literal_stays_one(server: TestServer) {
    let ada = server.admin().await;
    server.share(&ada, json!({ "variables": { "A": "$${{shared.NONE}}" } })).await;
    let shop = server.running(&ada, with("shop", json!({ "B": "$${{shared.NONE}} ${{shared.A}}" }))).await;
    let made = server.made_with(&shop["deployments"][0]).await;
    assert_eq!(made.environment["B"], "${{shared.NONE}} ${{shared.NONE}}");
    assert_eq!(server.application(&ada, &shop["id"]).await["pending_fields"], json!([]));
}

/// A key that may change applications and read no variables could let code print what it may not read.
async fn references_take_what_reading_takes(server: TestServer) {
    let ada = server.admin().await;
    server.share(&ada, json!({ "variables": { "A": "1", "B": "2" } })).await;
    server.share(&ada, json!({ "environment": "staging", "variables": { "A": "of staging" } })).await;
    let shop = server.deploy(&ada, with("shop", json!({ "A": "${{shared.A}}" }))).await;
    let key = json!({ "name": "ci", "permissions": ["deploy:read", "deploy:create", "deploy:update"], "organization_id": ada.organization_id });
    let token = server.post("/auth/api-keys", key).by(&ada).ok().await["key"].as_str().unwrap().to_owned();
    let ci = Person { token, ..ada.clone() };
    let path = format!("/deploy/application/{}/variables", id_of(&shop));
    for body in [
        json!({ "environment_variables": { "A": "${{shared.B}}" } }),
        json!({ "preview_variables": { "A": "${{shared.A}}" } }),
        json!({ "environment": "staging" }),
    ] {
        let mut body = body;
        body["id"] = shop["id"].clone();
        let message = server.put("/deploy/application", body).by(&ci).fails(403, "forbidden").await;
        assert!(message.contains("variable:read"), "{message}");
    }
    let import = json!({ "kind": "environment", "text": "B='${{shared.B}}'" });
    server.post(&path, import).by(&ci).fails(403, "forbidden").await;
    let new = with("other", json!({ "A": "${{shared.A}}" }));
    server.post("/deploy/application", new).by(&ci).fails(403, "forbidden").await;
    // What was there stays, and so does what it cannot see.
    let kept = json!({ "environment_variables": { "A": "********", "PLAIN": "1" } });
    server.configure(&ci, &shop, kept).await;
    let again = server.deploy(&ci, with("shop", json!({ "A": "${{shared.A}}" }))).await;
    assert_eq!(server.made_with(&again["deployments"][0]).await.environment, map(&[("A", "1")]));
}

/// Nor may one that changes what is shared lead an application, or itself, to what it may not read.
async fn what_is_shared_leads_elsewhere_for_those_who_read(server: TestServer) {
    let ada = server.admin().await;
    let all = |host: &str, key: &str| json!({ "variables": { "HOST": host, "KEY": key, "URL": "//${{shared.HOST}}" }, "secret_names": ["KEY"] });
    server.share(&ada, all("db", "of-the-organization")).await;
    server.share(&ada, json!({ "environment": "staging", "variables": { "KEY": "of-staging" } })).await;
    let key = json!({ "name": "ci", "permissions": ["deploy:read", "organization:update"], "organization_id": ada.organization_id });
    let token = server.post("/auth/api-keys", key).by(&ada).ok().await["key"].as_str().unwrap().to_owned();
    let ci = Person { token, ..ada.clone() };
    for body in [
        all("${{shared.KEY}}", "********"),
        all("db:${{ shared.KEY }}", "another"),
        json!({ "variables": { "HOST": "db", "KEY": "********", "URL": "//${{shared.HOST}}", "NEW": "${{shared.KEY}}" } }),
        json!({ "variables": { "HOST": "db", "KEY": "********", "URL": "//${{shared.HOST}}/${{shared.KEY}}" } }),
        json!({ "environment": "staging", "variables": { "KEY": "********", "HOST": "${{shared.KEY}}" } }),
        json!({ "environment": "testing", "variables": { "HOST": "${{shared.KEY}}" } }),
        // What staging has had is the organization's then.
        json!({ "environment": "staging", "variables": {} }),
        json!({ "environment": "staging", "variables": { "OTHER": "1" } }),
    ] {
        let message = server.put(PATH, body).by(&ci).fails(403, "forbidden").await;
        assert!(message.contains("variable:read") && message.contains("another shared one"), "{message}");
    }
    // Values of its own, and references that were there.
    let body = json!({ "variables": { "HOST": "db2", "KEY": "********", "URL": "https:${{shared.HOST}}/" } });
    assert_eq!(server.share(&ci, body).await["secret_names"], json!(["KEY"]));
    server.share(&ci, json!({ "environment": "staging", "variables": { "KEY": "its own", "OTHER": "1" } })).await;
    server.share(&ci, json!({ "environment": "staging", "variables": { "KEY": "********" } })).await;
    server.share(&ada, all("${{shared.KEY}}", "********")).await;
    server.share(&ada, json!({ "environment": "staging", "variables": {} })).await;
}

/// Whichever comes first, the other is refused: no application is left with a reference that leads nowhere.
async fn a_reference_and_a_removal_at_once(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.deploy(&ada, least("shop")).await;
    for _ in 0..10 {
        server.configure(&ada, &shop, json!({ "environment_variables": {} })).await;
        server.share(&ada, json!({ "variables": { "A": "1" } })).await;
        let body = json!({ "id": shop["id"], "environment_variables": { "A": "${{shared.A}}" } });
        let refer = server.put("/deploy/application", body).by(&ada).send();
        let remove = server.put(PATH, json!({ "variables": {} })).by(&ada).send();
        let (refer, remove) = tokio::join!(refer, remove);
        let statuses = (refer.status, remove.status);
        assert!([(200, 409), (400, 200)].contains(&statuses), "{statuses:?}: {} {}", refer.text, remove.text);
        server.application(&ada, &shop["id"]).await;
    }
}

async fn environments_have_a_limit(server: TestServer) {
    let ada = server.admin().await;
    let body = |number: usize| json!({ "environment": format!("e-{number}"), "variables": { "A": "1" } });
    for number in 0..20 {
        server.share(&ada, body(number)).await;
    }
    let message = server.put(PATH, body(20)).by(&ada).fails(409, "conflict").await;
    assert!(message.starts_with("environment: 20 environments"), "{message}");
    server.share(&ada, body(7)).await;
    server.share(&ada, json!({ "environment": "e-7", "variables": {} })).await;
    assert_eq!(server.share(&ada, body(20)).await["environments"].as_array().unwrap().len(), 20);
}
