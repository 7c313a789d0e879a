//! What the author of an extension has changed since it was forked or installed, and how that is taken.

use serde_json::{Value, json};
use windlass_api::Role;
use windlass_testing::on_both_databases;

use crate::extensions::text;
use crate::support::{Person, TestServer, id_of, server};

on_both_databases!(
    server: a_fork_tells_how_far_it_is_behind, conflicts_are_decided_by_people, offers_are_for_forks,
    what_is_offered_is_what_is_taken, an_update_is_offered_field_by_field, values_stay_unless_defaults_are_wanted,
    values_are_for_those_who_may_read_them
);

impl TestServer {
    async fn rewrite(&self, person: &Person, key: &str, text: &str) -> Value {
        self.put(&format!("/extensions/{key}"), json!({ "yaml_content": text })).by(person).ok().await
    }

    async fn offer(&self, person: &Person, key: &str) -> Value {
        self.get(&format!("/extensions/{key}/parent")).by(person).ok().await
    }

    async fn take(&self, person: &Person, key: &str, offer: &Value, more: Value) -> Value {
        self.post(&format!("/extensions/{key}/parent"), taking(offer, more)).by(person).ok().await
    }
}

fn taking(offer: &Value, mut more: Value) -> Value {
    more["parent_content_hash"] = offer["parent_content_hash"].clone();
    more
}

/// Path, who has changed it, and what it was and is: before, upstream, organization.
fn changes(offer: &Value) -> Vec<[&str; 5]> {
    let all = offer["changes"].as_array().unwrap().iter();
    let names = ["path", "changed_by", "before", "upstream", "organization"];
    all.map(|change| names.map(|name| change[name].as_str().unwrap_or("-"))).collect()
}

async fn a_fork_tells_how_far_it_is_behind(server: TestServer) {
    let admin = server.admin().await;
    server.extension(&admin, &text("wiki")).await;
    let fork = server.post("/extensions/wiki/fork", json!({})).by(&admin).ok().await;
    let own = text("wiki").replace("restart: unless-stopped", "restart: always # ours");
    let is_behind = async || {
        let one = server.get("/extensions/wiki-fork").by(&admin).ok().await;
        let list = server.get("/extensions?search=wiki").by(&admin).ok().await;
        let find = |key: &str| {
            let all = list["extensions"].as_array().unwrap().iter();
            all.clone().find(|one| one["extension_id"] == key).unwrap()["is_behind"].clone()
        };
        assert_eq!((&one["is_behind"], &json!(false)), (&find("wiki-fork"), &find("wiki")));
        one["is_behind"].as_bool().unwrap()
    };
    assert_eq!(server.rewrite(&admin, "wiki-fork", &own).await["is_behind"], false);
    assert!(!is_behind().await);
    let offer = server.offer(&admin, "wiki-fork").await;
    assert_eq!((&offer["behind"], &offer["conflicts"], &offer["yaml_content"]), (&json!(0), &json!(0), &json!(own)));
    let restart = "execution.run[Run it].properties.compose.services.web.restart";
    let ours = [restart, "organization", r#""unless-stopped""#, r#""unless-stopped""#, r#""always""#];
    assert_eq!(changes(&offer), [ours]);

    let newer = text("wiki").replace("1.2.3", "1.3.0").replace("default: 8080", "default: 8081");
    server.rewrite(&admin, "wiki", &newer).await;
    assert!(is_behind().await);
    let offer = server.offer(&admin, "wiki-fork").await;
    assert_eq!((&offer["behind"], &offer["conflicts"], &offer["is_rewritten"]), (&json!(2), &json!(0), &json!(false)));
    assert_eq!((&offer["extension_id"], &offer["parent_key"]), (&fork["id"], &json!("wiki")));
    let image = "execution.run[Run it].properties.compose.services.web.image";
    let expected = [
        ["variables.port.default", "upstream", "8080", "8081", "8080"],
        [
            image,
            "upstream",
            r#""registry.example/wiki:1.2.3""#,
            r#""registry.example/wiki:1.3.0""#,
            r#""registry.example/wiki:1.2.3""#,
        ],
        ours,
    ];
    assert_eq!(changes(&offer), expected);
    let together = newer.replace("restart: unless-stopped", "restart: always # ours");
    assert_eq!(offer["yaml_content"], json!(together), "comments are where they were");
    // Looking changes nothing.
    assert_eq!(server.get("/extensions/wiki-fork").by(&admin).ok().await["yaml_content"], json!(own));
    let taken = server.take(&admin, "wiki-fork", &offer, json!({})).await;
    assert_eq!((&taken["yaml_content"], &taken["is_behind"]), (&json!(together), &json!(false)));
    assert_eq!((&taken["id"], &taken["extension_id"]), (&fork["id"], &json!("wiki-fork")));
    assert_eq!(taken["variables"][1]["default_value"], 8081);
    assert!(!is_behind().await);
    let offer = server.offer(&admin, "wiki-fork").await;
    assert_eq!((&offer["behind"], changes(&offer)), (&json!(0), vec![ours]));
    let audit = server.get("/audit/logs?resource_type=extension&page_size=1").by(&admin).ok().await;
    assert!(audit.to_string().contains("took the changes of the parent into the extension wiki-fork"), "{audit}");
    // What has the parent's text already is not behind.
    server.rewrite(&admin, "wiki", &text("wiki").replace("1.2.3", "1.4.0")).await;
    assert!(is_behind().await);
    assert_eq!(server.rewrite(&admin, "wiki-fork", &text("wiki").replace("1.2.3", "1.4.0")).await["is_behind"], false);
}

async fn conflicts_are_decided_by_people(server: TestServer) {
    let admin = server.admin().await;
    server.extension(&admin, &text("wiki")).await;
    let own = text("wiki").replace("default: 8080", "default: 9090");
    for key in ["wiki-fork", "wiki-fork-2", "wiki-fork-3"] {
        let body = json!({ "yaml_content": own });
        let fork = server.post("/extensions/wiki/fork", body).by(&admin).ok().await;
        assert_eq!(fork["extension_id"], key);
    }
    let newer = text("wiki").replace("default: 8080", "default: 8081").replace("1.2.3", "1.3.0");
    server.rewrite(&admin, "wiki", &newer).await;
    let offer = server.offer(&admin, "wiki-fork").await;
    assert_eq!((&offer["behind"], &offer["conflicts"]), (&json!(2), &json!(1)));
    assert_eq!(changes(&offer)[0], ["variables.port.default", "conflict", "8080", "8081", "9090"]);
    assert_eq!(offer["yaml_content"], json!(own.replace("1.2.3", "1.3.0")));
    let take =
        |key: &str, more: Value| server.post(&format!("/extensions/{key}/parent"), taking(&offer, more)).by(&admin);
    let message = take("wiki-fork", json!({})).fails(409, "conflict").await;
    assert!(message.contains("both sides have changed: 1, such as variables.port.default."), "{message}");
    for wrong in [json!({ "conflicts": "parent" }), json!({ "yaml_content": "a: 1" }), json!({ "surprise": 1 })] {
        take("wiki-fork", wrong).fails(400, "invalid_request").await;
    }
    let unchanged = server.get("/extensions/wiki-fork").by(&admin).ok().await;
    assert_eq!((&unchanged["yaml_content"], &unchanged["is_behind"]), (&json!(own), &json!(true)));
    // One goes the parent's way, one its own, and one has a text that a person has written.
    for (key, side, port) in [("wiki-fork", "upstream", 8081), ("wiki-fork-2", "organization", 9090)] {
        let taken = take(key, json!({ "conflicts": side })).ok().await;
        assert_eq!(
            (&taken["variables"][1]["default_value"], &taken["is_behind"]),
            (&json!(port), &json!(false)),
            "{key}"
        );
        assert!(taken["yaml_content"].as_str().unwrap().contains("wiki:1.3.0"), "{key}");
    }
    let written = own.replace("9090", "7070");
    let taken = take("wiki-fork-3", json!({ "yaml_content": written })).ok().await;
    assert_eq!((&taken["yaml_content"], &taken["is_behind"]), (&json!(written), &json!(false)));
}

async fn offers_are_for_forks(server: TestServer) {
    let admin = server.admin().await;
    let member = server.join(&admin, "mallory", Role::Member).await;
    server.extension(&admin, &text("wiki")).await;
    let message = server.get("/extensions/wiki/parent").by(&admin).fails(409, "conflict").await;
    assert_eq!(message, "wiki is no fork.");
    server.post("/extensions/wiki/fork", json!({})).by(&admin).ok().await;
    server.rewrite(&admin, "wiki", &text("wiki").replace("1.2.3", "1.3.0")).await;
    let offer = server.offer(&member, "wiki-fork").await;
    server.post("/extensions/wiki-fork/parent", taking(&offer, json!({}))).by(&member).fails(403, "forbidden").await;
    server.post("/extensions/wiki-fork/parent", json!({})).by(&admin).fails(400, "invalid_request").await;
    // A draft is nothing that anybody should take, and may be no YAML.
    let draft = json!({ "yaml_content": "metadata: {id: wiki}\na: [", "draft": true });
    server.put("/extensions/wiki", draft).by(&admin).ok().await;
    assert_eq!(server.get("/extensions/wiki-fork").by(&admin).ok().await["is_behind"], false);
    let message = server.get("/extensions/wiki-fork/parent").by(&admin).fails(409, "conflict").await;
    assert!(message.starts_with("The parent's text cannot be compared with others: line "), "{message}");
    server.delete("/extensions/wiki").by(&admin).ok().await;
    let fork = server.get("/extensions/wiki-fork").by(&admin).ok().await;
    assert_eq!(fork["is_behind"], false);
    for message in [
        server.get("/extensions/wiki-fork/parent").by(&admin).fails(409, "conflict").await,
        server.post("/extensions/wiki-fork/parent", taking(&offer, json!({}))).by(&admin).fails(409, "conflict").await,
    ] {
        assert_eq!(message, "The extension that wiki-fork was forked from was deleted, so there is nothing newer.");
    }
}

async fn what_is_offered_is_what_is_taken(server: TestServer) {
    let admin = server.admin().await;
    server.extension(&admin, &text("wiki")).await;
    server.post("/extensions/wiki/fork", json!({})).by(&admin).ok().await;
    server.rewrite(&admin, "wiki", &text("wiki").replace("1.2.3", "1.3.0")).await;
    let offer = server.offer(&admin, "wiki-fork").await;
    server.rewrite(&admin, "wiki", &text("wiki").replace("1.2.3", "1.4.0")).await;
    let late = taking(&offer, json!({}));
    let message = server.post("/extensions/wiki-fork/parent", late).by(&admin).fails(409, "conflict").await;
    assert_eq!(message, "wiki has another text by now. Look at the offer again.");
    // Each side is right by itself, and both together are not.
    let both = text("wiki").replace("  tags: { type: array, default: [a, b] }\n", "");
    server.rewrite(&admin, "wiki", &both.replace(", TAGS: \"{{ tags }}\"", "")).await;
    server
        .rewrite(
            &admin,
            "wiki-fork",
            &text("wiki").replace("TAGS: \"{{ tags }}\"", "TAGS: \"{{ tags }}\", MORE: \"{{ tags }}\""),
        )
        .await;
    let offer = server.offer(&admin, "wiki-fork").await;
    let message = server.post("/extensions/wiki-fork/parent", taking(&offer, json!({}))).by(&admin);
    let message = message.fails(409, "conflict").await;
    assert!(message.starts_with("Together the texts are not valid, so send a text:"), "{message}");
    assert!(message.contains("there is no variable tags"), "{message}");

    // The same for what is installed.
    let (installation, _) = server.installed(&admin, "wiki").await;
    let path = format!("/extensions/installations/{installation}/update");
    server.rewrite(&admin, "wiki", &text("wiki").replace("1.2.3", "1.5.0")).await;
    let offer = server.get(&path).by(&admin).ok().await;
    server.rewrite(&admin, "wiki", &text("wiki").replace("1.2.3", "1.6.0")).await;
    let update = || json!({ "content_hash": offer["new_content_hash"] });
    let message = server.post(&path, update()).by(&admin).fails(409, "conflict").await;
    assert_eq!(message, "wiki has another text by now. Look at the offer again.");
    server.rewrite(&admin, "wiki", &text("wiki").replace("1.2.3", "1.5.0")).await;
    let update = server.post(&path, update()).by(&admin).ok().await;
    server.complete(id_of(&update)).await;
    assert_eq!(server.get(&path).by(&admin).ok().await["has_update"], false);
}

async fn an_update_is_offered_field_by_field(server: TestServer) {
    let admin = server.admin().await;
    server.extension(&admin, &text("wiki")).await;
    let run = json!({ "variables": { "port": "9090", "verbose": "true", "password": "correct-horse" } });
    let run = server.post("/extensions/wiki/run", run).by(&admin).ok().await;
    let path = format!("/extensions/installations/{}/update", run["installation_id"].as_str().unwrap());
    let message = server.get(&path).by(&admin).fails(409, "conflict").await;
    assert!(message.contains("was never installed to the end"), "{message}");
    server.complete(id_of(&run)).await;
    let ours = [
        ["variables.port.default", "organization", "8080", "8080", "9090"],
        ["variables.verbose.default", "organization", "false", "false", "true"],
    ];
    let offer = server.get(&path).by(&admin).ok().await;
    assert_eq!((&offer["has_update"], &offer["upstream_changes"]), (&json!(false), &json!(0)));
    assert_eq!(changes(&offer), ours);
    let newer = text("wiki").replace("\"1.0.0\"", "\"1.1.0\"").replace("default: 8080", "default: \"8081\"");
    let newer = newer.replace("1.2.3", "1.3.0").replace("default: false", "default: true");
    let newer = newer.replace("  verbose:", "  title: { type: string, is_required: true }\n  verbose:");
    server.rewrite(&admin, "wiki", &newer).await;
    let offer = server.get(&path).by(&admin).ok().await;
    assert_eq!((&offer["has_update"], &offer["is_behind_parent"]), (&json!(true), &json!(false)));
    assert_eq!((&offer["version"], &offer["new_version"]), (&json!("1.0.0"), &json!("1.1.0")));
    assert_eq!((&offer["upstream_changes"], &offer["conflicts"]), (&json!(4), &json!(1)));
    let title = r#"{"type":"string","is_required":true}"#;
    let image = "execution.run[Run it].properties.compose.services.web.image";
    let (old, new) = (r#""registry.example/wiki:1.2.3""#, r#""registry.example/wiki:1.3.0""#);
    let expected = [
        ["metadata.version", "upstream", r#""1.0.0""#, r#""1.1.0""#, r#""1.0.0""#],
        ["variables.port.default", "conflict", "8080", "8081", "9090"],
        ["variables.title", "upstream", "-", title, "-"],
        ["variables.verbose.default", "both", "false", "true", "true"],
        [image, "upstream", old, new, old],
    ];
    assert_eq!(changes(&offer), expected);
    assert_eq!(offer["problems"], json!(["variables.title: is required; give a value"]));
    let message = server.post(&path, json!({})).by(&admin).fails(400, "invalid_request").await;
    assert_eq!(offer["problems"], json!([message]), "the update is refused for what the offer says");
    // What needs host access is run by those alone who have it.
    let asking =
        newer.replace("restart: unless-stopped", "privileged: true").replace("is_required: true", "default: x");
    server.rewrite(&admin, "wiki", &asking).await;
    assert_eq!(server.get(&path).by(&admin).ok().await["problems"], json!([]));
    let member = server.join(&admin, "mallory", Role::Member).await;
    let problems = server.get(&path).by(&member).ok().await["problems"].clone();
    assert!(problems[0].as_str().unwrap().ends_with(", which takes host access"), "{problems}");
    server.post(&path, json!({})).by(&member).fails(403, "forbidden").await;
    // A fork that is installed tells that its parent has more.
    server.rewrite(&admin, "wiki", &text("wiki")).await;
    server.post("/extensions/wiki/fork", json!({})).by(&admin).ok().await;
    let run = server.post("/extensions/wiki-fork/run", json!({ "variables": { "domain": "fork.localhost" } }));
    let run = run.by(&admin).ok().await;
    server.complete(id_of(&run)).await;
    server.rewrite(&admin, "wiki", &newer).await;
    let path = format!("/extensions/installations/{}/update", run["installation_id"].as_str().unwrap());
    let offer = server.get(&path).by(&admin).ok().await;
    assert_eq!((&offer["has_update"], &offer["is_behind_parent"]), (&json!(false), &json!(true)));
    server.delete("/extensions/wiki-fork").by(&admin).ok().await;
    let message = server.get(&path).by(&admin).fails(409, "conflict").await;
    assert!(message.contains("was deleted, so there is nothing newer"), "{message}");
}

async fn values_stay_unless_defaults_are_wanted(server: TestServer) {
    let admin = server.admin().await;
    server.extension(&admin, &text("wiki")).await;
    let (installation, _) = server.installed(&admin, "wiki").await;
    let path = format!("/extensions/installations/{installation}/update");
    server
        .rewrite(&admin, "wiki", &text("wiki").replace("default: 8080", "default: 8081").replace("[a, b]", "[c]"))
        .await;
    let values = |execution: &Value| {
        let values: Value = serde_json::from_str(execution["variable_values"].as_str().unwrap()).unwrap();
        (values["port"].clone(), values["tags"].clone())
    };
    for wrong in ["password", "surprise", "verboze"] {
        let message = server.post(&path, json!({ "defaults": [wrong] })).by(&admin).fails(400, "invalid_request").await;
        assert_eq!(message, format!("defaults: the extension has no default for {wrong}"));
    }
    let both = json!({ "defaults": ["port"], "variables": { "port": "1" } });
    let message = server.post(&path, both).by(&admin).fails(400, "invalid_request").await;
    assert_eq!(message, "defaults: port is given a value in variables too");
    let update = server.post(&path, json!({ "defaults": ["port"] })).by(&admin).ok().await;
    assert_eq!(values(&update), (json!(8081), json!(["a", "b"])));
    server.complete(id_of(&update)).await;
    // Tags are what they were, and count as the organization's from now on.
    let offer = server.get(&path).by(&admin).ok().await;
    assert_eq!(changes(&offer), [["variables.tags.default", "organization", r#"["c"]"#, r#"["c"]"#, r#"["a","b"]"#]]);
    let update = server.post(&path, json!({})).by(&admin).ok().await;
    assert_eq!(values(&update), (json!(8081), json!(["a", "b"])));
}

async fn values_are_for_those_who_may_read_them(server: TestServer) {
    let admin = server.admin().await;
    let viewer = server.join(&admin, "victor", Role::Viewer).await;
    server.extension(&admin, &text("wiki")).await;
    let variables = json!({ "tags": "northern-lights", "password": "correct-horse" });
    let run = server.post("/extensions/wiki/run", json!({ "variables": variables })).by(&admin).ok().await;
    server.complete(id_of(&run)).await;
    let path = format!("/extensions/installations/{}/update", run["installation_id"].as_str().unwrap());
    let newer = text("wiki").replace("type: array, default: [a, b]", "type: integer, default: 1");
    server
        .rewrite(&admin, "wiki", &newer.replace("type: secret", "type: secret, validation_pattern: \"[0-9]+\""))
        .await;
    let seen = server.get(&path).by(&admin).ok().await;
    assert!(seen.to_string().contains("northern-lights") && !seen.to_string().contains("correct-horse"), "{seen}");
    let named =
        |name: &str| seen["problems"].as_array().unwrap().iter().any(|one| one.as_str().unwrap().starts_with(name));
    assert!(named("variables.tags: ") && named("variables.password: "), "{seen}");
    let hidden = server.get(&path).by(&viewer).ok().await;
    assert!(!hidden.to_string().contains("northern-lights"), "{hidden}");
    assert_eq!(hidden["problems"], json!(["It would be refused as it is. Who may read variables is told why."]));
    let tags = changes(&hidden).into_iter().find(|change| change[0] == "variables.tags.default").unwrap();
    assert_eq!(tags, ["variables.tags.default", "conflict", r#"["a","b"]"#, "1", r#""********""#]);
}
