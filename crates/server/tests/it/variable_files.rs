//! Variables as a file: what is exported, what is imported, and what is told of it.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windlass_api::{Role, Variables};
use windlass_store::applications;
use windlass_testing::on_both_databases;

use crate::deploys::{least, most};
use crate::support::{Person, TestServer, id_of, server};

on_both_databases!(
    server: an_export_leaves_out_what_is_not_to_be_seen, an_import_of_an_export_gives_the_same, merging_and_replacing,
    references_stay_inside_of_the_text, what_is_wrong_is_named_and_nothing_is_changed, secrets_can_be_imported_and_not_revealed,
    changes_of_variables_have_a_history, whose_variables
);

async fn variables_of(server: &TestServer, application: &Value) -> Variables {
    let row = applications::get(&mut server.app.db.read().await.unwrap(), id_of(application)).await.unwrap().unwrap();
    server.app.vault.application_variables(&row).await.unwrap()
}

async fn export(server: &TestServer, person: &Person, application: &Value, kind: &str) -> String {
    let path = format!("/deploy/application/{}/variables/{kind}/download", id_of(application));
    let reply = server.get(&path).by(person).send().await;
    assert_eq!((reply.status, &reply.headers["content-type"]), (200, &"text/plain; charset=utf-8".parse().unwrap()));
    reply.text
}

fn import(application: &Value) -> String {
    format!("/deploy/application/{}/variables", id_of(application))
}

fn map(all: &[(&str, &str)]) -> BTreeMap<String, String> {
    all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

async fn an_export_leaves_out_what_is_not_to_be_seen(server: TestServer) {
    let ada = server.admin().await;
    let viewer = server.join(&ada, "vera", Role::Viewer).await;
    let mut body = most("shop");
    body["environment_variables"]["my name"] = json!("x");
    let shop = server.deploy(&ada, body).await;
    let text = export(&server, &ada, &shop, "environment").await;
    assert_eq!(
        text,
        "# environment_variables of shop\nGREETING=hello\n# my name: left out, because a file like this cannot have such a name\n\
         # password: left out, because it is secret\n"
    );
    let text = export(&server, &ada, &shop, "build").await;
    assert_eq!(text, "# build_variables of shop\nNODE_ENV=production\n# token: left out, because it is secret\n");
    let text = export(&server, &viewer, &shop, "preview").await;
    assert_eq!(text, "# preview_variables of shop\n# GREETING: left out, because you may not read variables\n");
    let path = format!("/deploy/application/{}/variables/others/download", id_of(&shop));
    let message = server.get(&path).by(&ada).fails(400, "invalid_request").await;
    assert_eq!(message, "kind: must be environment, build or preview");
}

async fn an_import_of_an_export_gives_the_same(server: TestServer) {
    let ada = server.admin().await;
    let values = json!({
        "PLAIN": "a-b/c", "EMPTY": "", "SPACES": "  two words ", "LINES": "1\n2\r\n3", "QUOTES": "it's \"so\"", "DOLLARS": "$A ${B} $$",
        "SLASHES": "a\\nb\\", "HASH": "a # b", "BELL": "\u{7}\u{202e}", "UNICODE": "ä東",
    });
    let mut body = least("shop");
    body["environment_variables"] = values.clone();
    let shop = server.deploy(&ada, body).await;
    let other = server.deploy(&ada, least("other")).await;
    let text = export(&server, &ada, &shop, "environment").await;
    for kind in ["environment", "build", "preview"] {
        server.post(&import(&other), json!({ "kind": kind, "text": text })).by(&ada).ok().await;
    }
    let expected: BTreeMap<String, String> = serde_json::from_value(values).unwrap();
    let variables = variables_of(&server, &other).await;
    assert_eq!((&variables.environment, &variables.build, &variables.preview), (&expected, &expected, &expected));
    // Once more changes nothing, and is not told.
    let nothing = json!({ "added": [], "changed": [], "removed": [], "made_secret": [] });
    let again = json!({ "kind": "build", "text": text, "mode": "replace" });
    let entries = server.get("/audit/logs?page_size=1").by(&ada).ok().await["pagination"]["total_count"].clone();
    assert_eq!(server.post(&import(&other), again).by(&ada).ok().await, nothing);
    assert_eq!(server.get("/audit/logs?page_size=1").by(&ada).ok().await["pagination"]["total_count"], entries);
}

async fn merging_and_replacing(server: TestServer) {
    let ada = server.admin().await;
    let mut body = least("shop");
    body["environment_variables"] = json!({ "A": "1", "B": "2", "KEY": "a very secret value" });
    body["build_variables"] = json!({ "MODE": "fast" });
    body["secret_names"] = json!(["KEY"]);
    let shop = server.running(&ada, body).await;
    let text = "# comment\nexport B=3\nC=4\nA=1\nC='5'\n";
    let merged = server.post(&import(&shop), json!({ "kind": "environment", "text": text })).by(&ada).send().await;
    assert_eq!(merged.json["message"], "1 added, 1 changed, 0 removed");
    assert_eq!(merged.json["data"], json!({ "added": ["C"], "changed": ["B"], "removed": [], "made_secret": [] }));
    let variables = variables_of(&server, &shop).await;
    assert_eq!(variables.environment, map(&[("A", "1"), ("B", "3"), ("C", "5"), ("KEY", "a very secret value")]));
    assert_eq!(
        (variables.secret_names.as_slice(), &variables.build),
        (&["KEY".to_owned()][..], &map(&[("MODE", "fast")]))
    );
    let pending = server.application(&ada, &shop["id"]).await["pending_fields"].clone();
    assert_eq!(pending, json!(["environment_variables"]), "they wait for the next deploy");
    let body = json!({ "kind": "environment", "text": "A=1\nD=6", "mode": "replace" });
    let replaced = server.post(&import(&shop), body).by(&ada).ok().await;
    assert_eq!(replaced, json!({ "added": ["D"], "changed": [], "removed": ["B", "C", "KEY"], "made_secret": [] }));
    let variables = variables_of(&server, &shop).await;
    assert_eq!((variables.environment, variables.secret_names.len()), (map(&[("A", "1"), ("D", "6")]), 0));
}

async fn references_stay_inside_of_the_text(server: TestServer) {
    let ada = server.admin().await;
    let mut body = least("shop");
    body["environment_variables"] = json!({ "STORED": "secret of the application" });
    let shop = server.deploy(&ada, body).await;
    let text = "HOST=db\nURL=\"postgres://${HOST}/shop\"\nPLAIN='${HOST}'\nPRICE=5$$\n";
    server.post(&import(&shop), json!({ "kind": "build", "text": text })).by(&ada).ok().await;
    let expected = map(&[("HOST", "db"), ("PLAIN", "${HOST}"), ("PRICE", "5$"), ("URL", "postgres://db/shop")]);
    assert_eq!(variables_of(&server, &shop).await.build, expected);
    for name in ["STORED", "PATH", "LATER"] {
        let text = format!("A=1\n\nB=${name}\nLATER=1");
        let body = json!({ "kind": "environment", "text": text });
        let message = server.post(&import(&shop), body).by(&ada).fails(400, "invalid_request").await;
        assert!(message.starts_with("text: line 3: ") && message.contains(name), "{message}");
    }
}

async fn what_is_wrong_is_named_and_nothing_is_changed(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.deploy(&ada, most("shop")).await;
    let before = variables_of(&server, &shop).await;
    let long = format!("A='{}'", "x".repeat(33 * 1024));
    let much: String = (0..3).map(|number| format!("A{number}='{}'\n", "x".repeat(30 * 1024))).collect();
    let many: String = (0..501).map(|number| format!("A{number}=\n")).collect();
    for (kind, text, problem) in [
        ("environment", "A=1\nB=\"2", "text: line 2: the value of \"B\" begins with a quote that is not closed"),
        ("environment", "A=1\nno variable\n", "text: line 2: must be NAME=value"),
        ("environment", "A=1\nHOME\n", "text: line 2: \"HOME\" has no value"),
        ("environment", "NEW=1\nPORT=http", "text: PORT: must be a whole number"),
        ("build", "BUILDKIT_X=1", "text: BUILDKIT_X: names that begin with BUILDKIT_"),
        ("build", "A=********", "text: A: ********"),
        ("build", &long, "text: A: the value must have at most 32 KiB"),
        ("build", &much, "text: must have at most 64 KiB in all"),
        ("build", &many, "text: line 501: here are more than 500 variables"),
        ("build", "nonsense", "text: must be lines of NAME=value"),
    ] {
        let body = json!({ "kind": kind, "text": text });
        let message = server.post(&import(&shop), body).by(&ada).fails(400, "invalid_request").await;
        assert!(message.starts_with(problem), "{message}");
    }
    let unknown = json!({ "kind": "build", "text": "A=1", "secret_names": ["B"] });
    let message = server.post(&import(&shop), unknown).by(&ada).fails(400, "invalid_request").await;
    assert_eq!(message, "secret_names: there is no variable B in the text");
    assert!(variables_of(&server, &shop).await == before);
}

async fn secrets_can_be_imported_and_not_revealed(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.deploy(&ada, most("shop")).await;
    let body = json!({ "kind": "environment", "text": "API_KEY=an-imported-secret\n", "secret_names": ["API_KEY"] });
    let reply = server.post(&import(&shop), body).by(&ada).send().await;
    assert_eq!(reply.json["data"]["made_secret"], json!(["API_KEY"]));
    assert!(!reply.text.contains("an-imported-secret"));
    // A mask keeps what is there; what is secret stays so without being named again.
    let body = json!({ "kind": "environment", "text": "API_KEY=********\npassword=another-imported-secret" });
    let imported = server.post(&import(&shop), body).by(&ada).ok().await;
    assert_eq!(imported, json!({ "added": [], "changed": ["password"], "removed": [], "made_secret": [] }));
    let variables = variables_of(&server, &shop).await;
    assert_eq!(variables.environment["API_KEY"], "an-imported-secret");
    assert_eq!(variables.secret_names, ["API_KEY", "password", "token"]);
    for path in [
        format!("/deploy/application?id={}", id_of(&shop)),
        format!("/deploy/application/{}/variables/environment/download", id_of(&shop)),
        format!("/deploy/application/{}/plan", id_of(&shop)),
        "/audit/logs?page_size=100".to_owned(),
    ] {
        let text = server.get(&path).by(&ada).send().await.text;
        assert!(!text.contains("imported-secret"), "{path}: {text}");
    }
}

/// The audit log has it: who, when, and which variables.
async fn changes_of_variables_have_a_history(server: TestServer) {
    let ada = server.admin().await;
    let mia = server.join(&ada, "mia", Role::Member).await;
    let shop = server.deploy(&ada, most("shop")).await;
    let change = json!({
        "id": shop["id"], "environment_variables": { "GREETING": "another", "COLOR": "turquoise" }, "secret_names": ["token", "COLOR"],
    });
    server.put("/deploy/application", change).by(&mia).ok().await;
    let body = json!({ "kind": "build", "text": "MODE=fast", "mode": "replace" });
    server.post(&import(&shop), body).by(&ada).ok().await;
    let path = format!("/audit/logs?resource_type=application&search={}", id_of(&shop));
    let found = server.get(&path).by(&ada).ok().await;
    let told: Vec<Value> = found["activities"].as_array().unwrap().clone();
    let names = |entry: &Value, what: &str| {
        entry["metadata"][format!("variables_{what}")].as_str().unwrap_or_default().to_owned()
    };
    let summary = |entry: &Value| {
        let all = ["added", "changed", "removed", "made_secret"].map(|what| names(entry, what)).join(" | ");
        format!("{}: {all}", entry["actor"].as_str().unwrap())
    };
    let told: Vec<String> = told.iter().map(summary).collect();
    assert_eq!(
        told,
        [
            "Ada: build_variables.MODE |  | build_variables.NODE_ENV, build_variables.token | ",
            "mia: environment_variables.COLOR | environment_variables.GREETING | environment_variables.password | COLOR",
            "Ada: environment_variables.GREETING, environment_variables.password, build_variables.NODE_ENV, build_variables.token, preview_variables.GREETING |  |  | \
             password, token",
        ]
    );
    let by_name = server.get("/audit/logs?search=variables.color").by(&ada).ok().await;
    assert_eq!(by_name["pagination"]["total_count"], 1);
    assert!(!found.to_string().contains("turquoise"), "values are told nowhere");
}

async fn whose_variables(server: TestServer) {
    let ada = server.admin().await;
    let (viewer, eve) = (server.join(&ada, "vera", Role::Viewer).await, server.stranger(&ada, "eve").await);
    let shop = server.deploy(&ada, most("shop")).await;
    let body = json!({ "kind": "build", "text": "A=1" });
    server.post(&import(&shop), body.clone()).by(&viewer).fails(403, "forbidden").await;
    server.post(&import(&shop), body.clone()).by(&eve).fails(404, "not_found").await;
    let path = format!("/deploy/application/{}/variables/build/download", id_of(&shop));
    server.get(&path).by(&eve).fails(404, "not_found").await;
    let preview = server.preview(&ada, id_of(&shop), 7).await;
    server.post(&import(&preview), body.clone()).by(&ada).fails(409, "conflict").await;
    server.delete("/deploy/application").json(json!({ "id": shop["id"], "name": "shop" })).by(&ada).ok().await;
    server.post(&import(&shop), body).by(&ada).fails(409, "conflict").await;
}
