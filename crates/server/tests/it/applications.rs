//! Applications: what is made of a request, who sees what of it, and how it ends.

use serde_json::{Value, json};
use windlass_api::{DeploymentState, Role, Wanted};
use windlass_store::{Kind, applications, deployments, jobs};
use windlass_testing::{on_both_databases, on_sqlite_and_long_on_postgres};

use crate::deploys::{REPOSITORY, least, most};
use crate::support::{Person, TestServer, id_of, kind, server, snapshot};

on_both_databases!(server: the_least_gets_defaults, the_same_again_is_another_deployment,
    the_same_again_needs_no_permission_to_change, what_cannot_be_is_refused,
    domains_are_one_servers_and_ones_own, names_are_unique_in_an_organization, an_update_waits_for_the_next_deploy, empty_texts,
    a_list_is_filtered_and_sorted, labels_are_saved, deleting, an_organization_with_applications, local_folders_need_host_access,
    creators_who_have_left, a_change_of_what_was_changed_meanwhile_is_refused);
on_sqlite_and_long_on_postgres!(server: a_list_has_a_bound_in_bytes);
on_both_databases!(kind: an_organization_can_have_so_many, own_hosts);

async fn refused(server: &TestServer, person: &Person, body: Value) -> String {
    server.post("/deploy/application", body).by(person).fails(400, "invalid_request").await
}

fn with(name: &str, field: &str, value: Value) -> Value {
    let mut body = least(name);
    body[field] = value;
    body
}

pub async fn jobs_of(server: &TestServer, application: &Value) -> Vec<String> {
    let mut conn = server.app.db.read().await.unwrap();
    jobs::of_application(&mut conn, id_of(application)).await.unwrap().into_iter().map(|job| job.kind).collect()
}

async fn the_least_gets_defaults(server: TestServer) {
    let ada = server.admin().await;
    let reply = server.post("/deploy/application", least("My Shop!")).by(&ada).send().await;
    snapshot("handle_deploy_least", &reply.json);
    let application = &reply.json["data"];
    assert_eq!(jobs_of(&server, application).await, ["deploy"]);
    // The release has what the application had at that moment, sealed for its own place.
    let id = id_of(&application["deployments"][0]);
    let mut conn = server.app.db.read().await.unwrap();
    let release = windlass_store::releases::get(&mut conn, id).await.unwrap().unwrap();
    assert_eq!(server.app.vault.release_variables(&release).await.unwrap(), windlass_api::Variables::default());
}

async fn the_same_again_is_another_deployment(server: TestServer) {
    let ada = server.admin().await;
    let first = server.deploy(&ada, most("shop")).await;
    server.app.clock.advance_seconds(60);
    let second = server.deploy(&ada, with("shop", "branch", json!("next"))).await;
    assert_eq!(second["id"], first["id"]);
    assert_eq!(second["branch"], "next");
    for kept in ["base_path", "port", "domain", "environment_variables", "secret_names", "settings", "pre_run_command"]
    {
        assert_eq!(second[kept], first[kept], "{kept}");
    }
    assert_eq!(
        (&second["created_at"], second["has_repository_credentials"].as_bool()),
        (&first["created_at"], Some(true))
    );
    // The first one waited, so it is of no use any more.
    let [newest, oldest] = [&second["deployments"][0], &second["deployments"][1]];
    assert_eq!((&newest["status"]["status"], &oldest["status"]["status"]), (&json!("queued"), &json!("cancelled")));
    assert_eq!(oldest["reason"], format!("superseded by {}", newest["id"].as_str().unwrap()));
    assert_eq!(oldest["completed_at"], "2026-01-01T00:01:00.000000Z");
    assert_eq!(jobs_of(&server, &second).await, ["deploy"]);
    // Without a change there is nothing to note but the deployment.
    let third = server.deploy(&ada, least("shop")).await;
    assert_eq!(third["updated_at"], second["updated_at"]);
    let audit = server.get("/audit/logs?page_size=3").by(&ada).ok().await;
    let messages: Vec<_> = audit["activities"].as_array().unwrap().iter().map(|entry| &entry["message"]).collect();
    assert_eq!(
        messages,
        ["Ada queued a deployment of shop", "Ada queued a deployment of shop", "Ada changed the application shop"]
    );
    assert_eq!(audit["activities"][2]["metadata"]["fields"], "branch");
}

/// A program that sends the same request each time needs `deploy:create` and no more; one that changes the application does.
async fn the_same_again_needs_no_permission_to_change(server: TestServer) {
    let ada = server.admin().await;
    let key = json!({ "name": "ci", "organization_id": ada.organization_id, "permissions": ["deploy:create", "deploy:read", "deploy:forks"] });
    let key = server.post("/auth/api-keys", key).by(&ada).ok().await["key"].as_str().unwrap().to_owned();
    let ci = Person { token: key, ..ada.clone() };
    let mut whole = most("shop");
    whole["domain"] = json!("Shop.Example.org");
    let first = server.deploy(&ci, whole.clone()).await;
    server.app.clock.advance_seconds(60);
    let mut masked = whole.clone();
    masked["environment_variables"] = json!({ "GREETING": "hello", "password": "********" });
    masked["secret_names"] = json!(["password", "token"]);
    for same in [least("shop"), whole.clone(), masked] {
        let again = server.deploy(&ci, same).await;
        assert_eq!((&again["id"], &again["updated_at"]), (&first["id"], &first["updated_at"]));
    }
    let audit = server.get("/audit/logs?page_size=100&search=changed").by(&ada).ok().await;
    assert_eq!(audit["pagination"]["total_count"], 0, "{audit}");

    for (field, value) in [
        ("branch", json!("next")),
        ("port", json!(3001)),
        ("kept_releases", json!(6)),
        ("domain", json!("other.example.org")),
        ("build_variables", json!({})),
        ("environment_variables", json!({ "GREETING": "hello", "password": "guessed" })),
        ("repository_token", json!("another very secret token")),
    ] {
        let mut body = whole.clone();
        body[field] = value;
        if field == "build_variables" {
            body["secret_names"] = json!(["password"]);
        }
        let message = server.post("/deploy/application", body.clone()).by(&ci).fails(403, "forbidden").await;
        assert!(message.starts_with("This API key lacks the permission deploy:update."), "{message}");
        assert!(message.contains(&format!("changes shop: {field}")), "{message}");
        server.deploy(&ada, body).await;
        server.deploy(&ada, whole.clone()).await;
    }
    // A name that is taken is taken, whatever the caller may change.
    let mut elsewhere = least("shop");
    elsewhere["repository"] = json!("https://git.example.org/team/other.git");
    server.post("/deploy/application", elsewhere).by(&ci).fails(409, "name_taken").await;
}

async fn what_cannot_be_is_refused(server: TestServer) {
    let ada = server.admin().await;
    for (field, value, expected) in [
        ("name", json!("東京"), "name: must contain a letter"),
        ("name", json!(" "), "name: must not be empty"),
        (
            "repository",
            json!("https://ada:pw@git.example.org/x"),
            "repository: must not contain a user name or a password: put the token in repository_token",
        ),
        ("repository", json!("--upload-pack=id"), "repository: must be the address of a git repository"),
        ("repository", json!("ext::sh"), "repository: must be the address of a git repository"),
        ("branch", json!("-x"), "branch: must be the name of a branch"),
        ("base_path", json!("a/../.."), "base_path: must not contain \"..\""),
        ("dockerfile_path", json!("/"), "dockerfile_path: must be a file of the repository"),
        ("compose_file", json!("../x"), "compose_file: must not contain"),
        ("service", json!("a b"), "service: must be the name of a service"),
        ("language", json!("cobol"), "language: must be"),
        ("language_version", json!("20; true"), "language_version: "),
        ("program", json!("a b"), "program: "),
        ("build_target", json!("a b"), "build_target: must be the name of a stage"),
        ("git_in_context", json!("yes"), "git_in_context: must be a boolean"),
        ("output_path", json!("a b"), "output_path: "),
        ("build_pack", json!("nix"), "build_pack: must be auto, dockerfile, static, docker-compose or image"),
        ("domain", json!("*.example.org"), "domain: must be a host name without port"),
        ("domain", json!("10.0.0.1"), "domain: must be a host name"),
        ("domain", json!("localhost"), "domain: localhost is this server's own"),
        ("domain", json!("LOCALHOST"), "domain: localhost is this server's own"),
        ("environment", json!("Production"), "environment: must be lower-case"),
        ("port", json!(65_536), "port: must be a whole number from 0 to 65535"),
        ("memory_mb", json!(15), "memory_mb: must be 0, or a whole number from 16 to 1048576"),
        ("cpu_millis", json!(5), "cpu_millis: must be 0, or a whole number from 10 to 1000000"),
        ("replicas", json!(0), "replicas: must be a whole number from 1 to 20"),
        ("replicas", json!(21), "replicas: must be a whole number from 1 to 20"),
        ("pids", json!(0), "pids: must be a whole number from 16 to 1000000"),
        ("health_path", json!("health"), "health_path: must be a path"),
        ("secret_names", json!(["NOBODY"]), "secret_names: there is no variable NOBODY"),
        ("secret_names", json!(["A", "A"]), "secret_names: has A twice"),
        (
            "environment_variables",
            json!({ "A": "********" }),
            "environment_variables: A: ******** stands for the value that is there",
        ),
        (
            "build_variables",
            json!({ "BUILDKIT_SYNTAX": "x" }),
            "build_variables: BUILDKIT_SYNTAX: names that begin with",
        ),
        ("build_variables", json!({ "A": 1 }), "build_variables.A: must be a string, not a number"),
        ("repository_ssh_key", json!("ssh-ed25519 AAAA"), "repository_ssh_key: must be a private key"),
        ("labels", json!([]), "labels: is not known here"),
    ] {
        let message = refused(&server, &ada, with("shop", field, value)).await;
        assert!(message.starts_with(expected), "{message}");
    }
    assert_eq!(server.get("/deploy/applications").by(&ada).ok().await["pagination"]["total_count"], 0);
}

async fn domains_are_one_servers_and_ones_own(server: TestServer) {
    let ada = server.admin().await;
    let eve = server.stranger(&ada, "eve").await;
    let first = server.deploy(&ada, least("shop")).await;
    assert_eq!(first["domain"], "shop.localhost");
    // The same name elsewhere gets something added.
    let second = server.deploy(&eve, least("Shop")).await;
    let domain = second["domain"].as_str().unwrap();
    let suffix = domain.strip_prefix("shop-").unwrap().strip_suffix(".localhost").unwrap();
    assert!(suffix.len() == 6 && second["id"].as_str().unwrap().ends_with(suffix), "{domain}");
    let wish = with("other", "domain", json!("Shop.localhost."));
    let message = server.post("/deploy/application", wish).by(&eve).fails(409, "domain_taken").await;
    assert_eq!(message, "domain: another organization has shop.localhost. Choose another one.");
    let move_there = json!({ "id": second["id"], "domain": "shop.localhost" });
    server.put("/deploy/application", move_there).by(&eve).fails(409, "domain_taken").await;
    // One's own is no conflict.
    server.put("/deploy/application", json!({ "id": first["id"], "domain": "shop.localhost" })).by(&ada).ok().await;
    // What led nowhere is free at once.
    let elsewhere = json!({ "id": second["id"], "domain": "nowhere.example.org" });
    server.put("/deploy/application", elsewhere).by(&eve).ok().await;
    server.put("/deploy/application", json!({ "id": second["id"], "domain": "" })).by(&eve).ok().await;
    let taken = json!({ "id": first["id"], "domain": "nowhere.example.org" });
    server.put("/deploy/application", taken).by(&ada).ok().await;
    server.put("/deploy/application", json!({ "id": first["id"], "domain": "shop.localhost" })).by(&ada).ok().await;
    // What visitors came to is kept for the organization that had it, for a while.
    let mut tx = server.app.db.begin().await.unwrap();
    applications::set_live(&mut tx, id_of(&first), Some(id_of(&first["deployments"][0]))).await.unwrap();
    tx.commit().await.unwrap();
    let moved = json!({ "id": first["id"], "domain": "www.example.org" });
    assert_eq!(server.put("/deploy/application", moved).by(&ada).ok().await["domain"], "www.example.org");
    let take_over = json!({ "id": second["id"], "domain": "shop.localhost" });
    let message = server.put("/deploy/application", take_over.clone()).by(&eve).fails(409, "domain_taken").await;
    assert!(message.starts_with("domain: another organization had shop.localhost"), "{message}");
    assert!(message.contains(" on 2026-01-08T"), "{message}");
    let default = json!({ "id": second["id"], "domain": "" });
    assert_ne!(server.put("/deploy/application", default.clone()).by(&eve).ok().await["domain"], "shop.localhost");
    let back = json!({ "id": first["id"], "domain": "shop.localhost" });
    assert_eq!(server.put("/deploy/application", back).by(&ada).ok().await["domain"], "shop.localhost");
    let moved = json!({ "id": first["id"], "domain": "www.example.org" });
    server.put("/deploy/application", moved).by(&ada).ok().await;
    server.app.clock.advance_seconds(7 * 86_400 - 1);
    server.put("/deploy/application", take_over.clone()).by(&eve).fails(409, "domain_taken").await;
    server.app.clock.advance_seconds(1);
    let login = json!({ "email": eve.email, "password": crate::support::PASSWORD });
    let token = server.post("/auth/login", login).ok().await["access_token"].as_str().unwrap().to_owned();
    let eve = Person { token, ..eve };
    assert_eq!(server.put("/deploy/application", take_over).by(&eve).ok().await["domain"], "shop.localhost");
}

async fn own_hosts(kind: Kind) {
    let settings = [("public-url", "https://windlass.example.org"), ("base-domain", "example.org")];
    let server = TestServer::with(kind, &settings).await;
    let token = server.app.setup_token.reveal();
    let ada = server
        .register(json!({ "email": "ada@example.org", "password": crate::support::PASSWORD, "token": token }))
        .await;
    for own in ["windlass.example.org", "example.org", "Windlass.Example.org."] {
        let message = refused(&server, &ada, with("shop", "domain", json!(own))).await;
        assert!(message.starts_with("domain: ") && message.ends_with(" is this server's own"), "{message}");
    }
    let namesake = server.deploy(&ada, least("windlass")).await;
    assert!(namesake["domain"].as_str().unwrap().starts_with("windlass-"), "{}", namesake["domain"]);
    assert_eq!(server.deploy(&ada, least("shop")).await["domain"], "shop.example.org");
}

async fn names_are_unique_in_an_organization(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.deploy(&ada, least("shop")).await;
    let other = with("shop", "repository", json!("https://git.example.org/other.git"));
    let message = server.post("/deploy/application", other).by(&ada).fails(409, "name_taken").await;
    assert_eq!(message, "name: there is an application shop already, of another repository. Choose another name.");
    // As they are stored: another case is another name.
    let capital = server.deploy(&ada, least("Shop")).await;
    assert_ne!(capital["id"], shop["id"]);
    let renamed = json!({ "id": capital["id"], "name": "shop" });
    server.put("/deploy/application", renamed).by(&ada).fails(409, "name_taken").await;
    let renamed = json!({ "id": capital["id"], "name": "  boutique " });
    let renamed = server.put("/deploy/application", renamed).by(&ada).ok().await;
    assert_eq!((&renamed["name"], &renamed["domain"]), (&json!("boutique"), &capital["domain"]));
}

async fn an_update_waits_for_the_next_deploy(server: TestServer) {
    let ada = server.admin().await;
    let queued = server.deploy(&ada, least("shop")).await;
    let body = json!({ "id": queued["id"], "branch": "next" });
    // Nothing is live, so nothing differs from it.
    assert_eq!(server.put("/deploy/application", body).by(&ada).ok().await["pending_fields"], json!([]));
    server.make_live(id_of(&queued["deployments"][0])).await;
    let seen = server.application(&ada, &queued["id"]).await;
    assert_eq!((&seen["pending_fields"], &seen["port"]), (&json!(["branch"]), &json!(3000)));
    let body = json!({ "id": queued["id"], "branch": "", "memory_mb": 64, "port": 4000, "name": "boutique",
        "environment_variables": { "A": "1" }, "secret_names": ["A"] });
    let reply = server.put("/deploy/application", body).by(&ada).send().await;
    let pending = json!(["port", "memory_mb", "environment_variables", "secret_names"]);
    assert_eq!((&reply.json["data"]["pending_fields"], &reply.json["data"]["port"]), (&pending, &json!(4000)));
    assert_eq!(
        reply.json["message"],
        "Application updated; at the next deploy these take effect: port, memory_mb, environment_variables, secret_names"
    );
    assert_eq!(jobs_of(&server, &queued).await, [""; 0], "an update deploys nothing");
    let deployment = server.post("/deploy/application/redeploy", json!({ "id": queued["id"] })).by(&ada).ok().await;
    server.make_live(id_of(&deployment)).await;
    assert_eq!(server.application(&ada, &queued["id"]).await["pending_fields"], json!([]));
    for (body, expected) in [
        (json!({ "id": queued["id"] }), "name: give it or another field to change"),
        (json!({ "id": queued["id"], "repository": REPOSITORY }), "name: give it or another field to change"),
        (json!({ "id": queued["id"], "repository": "https://git.example.org/x.git" }), "repository: cannot change"),
    ] {
        let message = server.put("/deploy/application", body).by(&ada).fails(400, "invalid_request").await;
        assert!(message.starts_with(expected), "{message}");
    }
}

/// A form sends every field. For a deploy an empty one is an absent one; for an update it is one that was cleared.
async fn empty_texts(server: TestServer) {
    let ada = server.admin().await;
    let empty = json!({
        "name": "shop", "repository": REPOSITORY, "branch": "", "base_path": "", "dockerfile_path": " ", "build_pack": "",
        "domain": "", "environment": "", "port": null, "pre_run_command": "", "post_run_command": "", "build_variables": null,
        "repository_token": "", "repository_ssh_key": "", "health_path": "",
    });
    let fresh = server.deploy(&ada, empty.clone()).await;
    assert_eq!((&fresh["base_path"], &fresh["domain"]), (&json!("/"), &json!("shop.localhost")));
    let set = server.deploy(&ada, most("shop")).await;
    let kept = server.deploy(&ada, empty.clone()).await;
    for field in ["branch", "base_path", "build_pack", "pre_run_command", "settings", "has_repository_credentials"] {
        assert_eq!(kept[field], set[field], "{field}");
    }
    let mut update = empty;
    update.as_object_mut().unwrap().retain(|name, _| name != "name");
    update["id"] = fresh["id"].clone();
    let cleared = server.put("/deploy/application", update).by(&ada).ok().await;
    for field in ["branch", "base_path", "dockerfile_path", "build_pack", "environment", "pre_run_command", "domain"] {
        assert_eq!(cleared[field], fresh[field], "{field}");
    }
    assert_eq!(cleared["settings"]["health_path"], "");
    assert_eq!((&cleared["has_repository_credentials"], &cleared["port"]), (&json!(false), &json!(3000)));
}

async fn a_list_is_filtered_and_sorted(server: TestServer) {
    let ada = server.admin().await;
    for (name, environment, labels) in [
        ("alpha", "production", json!(["web", "eu"])),
        ("Beta", "staging", json!(["web"])),
        ("gamma", "staging", json!([])),
    ] {
        server.app.clock.advance_seconds(1);
        let application = server.deploy(&ada, with(name, "environment", json!(environment))).await;
        let path = format!("/deploy/application/labels?id={}", id_of(&application));
        server.put(&path, json!({ "labels": labels })).by(&ada).ok().await;
    }
    for (query, expected) in [
        ("", "gamma Beta alpha"),
        ("sort_by=name&sort_direction=asc", "alpha Beta gamma"),
        ("sort_by=&sort_direction=asc&search=&label=&state=&environment=&page=", "alpha Beta gamma"),
        ("search=BETA.loc", "Beta"),
        ("search=team/SHOP", "gamma Beta alpha"),
        ("search=%25", ""),
        ("environment=staging", "gamma Beta"),
        ("label=web", "Beta alpha"),
        ("label=web,eu", "alpha"),
        ("label=web&label=eu", "alpha"),
        ("label=we", ""),
        ("state=deploying", "gamma Beta alpha"),
        ("state=running", ""),
        ("page=2&page_size=2", "alpha"),
        ("page=9", ""),
        ("pageSize=1", "gamma"),
    ] {
        let listed = server.get(&format!("/deploy/applications?{query}")).by(&ada).ok().await;
        let names: Vec<_> =
            listed["applications"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
        assert_eq!(names.join(" "), expected, "{query}");
    }
    for query in ["page=0", "page_size=101", "sort_by=color", "sort_direction=up", "state=asleep", "environment=A%20B"]
    {
        let message = server.get(&format!("/deploy/applications?{query}")).by(&ada).fails(400, "invalid_request").await;
        assert!(message.starts_with(query.split('=').next().unwrap()), "{message}");
    }
    let message = server.get("/deploy/application").by(&ada).fails(400, "invalid_request").await;
    assert_eq!(message, "id: is required");
}

/// Texts that are escaped twice: seven bytes for each.
async fn a_list_has_a_bound_in_bytes(server: TestServer) {
    let ada = server.admin().await;
    let long = "\u{1}".repeat(30_000);
    for number in 0..8 {
        let mut body = least(&format!("app{number}"));
        body["environment_variables"] = json!({ "A": long, "B": long });
        body["preview_variables"] = json!({ "A": long, "B": long });
        server.deploy(&ada, body).await;
    }
    let reply =
        server.get("/deploy/applications?page_size=100&sort_by=created_at&sort_direction=asc").by(&ada).send().await;
    assert!(reply.text.len() < 10 << 20, "{} bytes", reply.text.len());
    let applications = reply.json["data"]["applications"].as_array().unwrap();
    let lengths: Vec<usize> =
        applications.iter().map(|one| one["environment_variables"].as_str().unwrap().len()).collect();
    assert!(lengths.len() == 8 && lengths[0] > 300_000 && lengths[7] == 0, "{lengths:?}");
    let last = server.get(&format!("/deploy/application?id={}", id_of(&applications[7]))).by(&ada).ok().await;
    assert_eq!(last["environment_variables"].as_str().unwrap().len(), lengths[0]);
}

async fn labels_are_saved(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.deploy(&ada, least("shop")).await;
    let path = format!("/deploy/application/labels?id={}", id_of(&shop));
    let saved = server.put(&path, json!({ "labels": [" eu ", "web"] })).by(&ada).ok().await;
    assert_eq!(saved["labels"], json!(["eu", "web"]));
    let many: Vec<_> = (0..51).map(|number| number.to_string()).collect();
    for (labels, expected) in [
        (json!(["a", "a"]), "labels: has a twice"),
        (json!(many), "labels: must have at most 50 items"),
        (json!([""]), "labels[0]: must not be empty"),
    ] {
        let message = server.put(&path, json!({ "labels": labels })).by(&ada).fails(400, "invalid_request").await;
        assert!(message.starts_with(expected), "{message}");
    }
    assert_eq!(server.put(&path, json!({ "labels": [] })).by(&ada).ok().await["labels"], json!([]));
}

async fn deleting(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.running(&ada, least("shop")).await;
    let id = shop["id"].clone();
    let under_way = server.post("/deploy/application/redeploy", json!({ "id": id })).by(&ada).ok().await;
    server.begin_work(id_of(&under_way)).await;
    let waiting = server.post("/deploy/application/redeploy", json!({ "id": id })).by(&ada).ok().await;
    let wrong = json!({ "id": id, "name": "Shop" });
    let message = server.delete("/deploy/application").json(wrong).by(&ada).fails(400, "invalid_request").await;
    assert_eq!(message, "name: is not the application's name; nothing was deleted");
    let delete = json!({ "id": id, "name": "shop" });
    let reply = server.delete("/deploy/application").json(delete.clone()).by(&ada).send().await;
    assert_eq!((&reply.json["message"], &reply.json["data"]), (&json!("Application is being deleted"), &Value::Null));
    let mut conn = server.app.db.read().await.unwrap();
    let row = applications::get(&mut conn, id_of(&shop)).await.unwrap().unwrap();
    assert_eq!(row.wanted, Wanted::Deleted);
    let under_way = deployments::get(&mut conn, id_of(&under_way)).await.unwrap().unwrap();
    assert_eq!(
        (under_way.state, jobs::is_cancel_requested(&mut conn, under_way.id).await.unwrap()),
        (DeploymentState::Cloning, true)
    );
    let waiting = deployments::get(&mut conn, id_of(&waiting)).await.unwrap().unwrap();
    assert_eq!((waiting.state, waiting.reason.as_str()), (DeploymentState::Cancelled, "the application was deleted"));
    drop(conn);
    // It stays visible, and takes no change but this one again.
    server.application(&ada, &id).await;
    server.delete("/deploy/application").json(delete).by(&ada).ok().await;
    assert_eq!(jobs_of(&server, &shop).await, ["deploy", "delete"], "after what is under way");
    let labels = format!("/deploy/application/labels?id={}", id_of(&shop));
    let deployment = &shop["deployments"][0]["id"];
    for call in [
        server.post("/deploy/application", least("shop")),
        server.put("/deploy/application", json!({ "id": id, "branch": "next" })),
        server.put(&labels, json!({ "labels": [] })),
        server.post("/deploy/application/redeploy", json!({ "id": id })),
        server.post("/deploy/application/restart", json!({ "id": id })),
        server.post("/deploy/application/stop", json!({ "id": id })),
        server.post("/deploy/application/start", json!({ "id": id })),
        server.post("/deploy/application/rollback", json!({ "id": deployment })),
        server.post("/deploy/application/cancel-deployment", json!({ "id": deployment })),
    ] {
        assert_eq!(call.by(&ada).fails(409, "conflict").await, "shop is being deleted.");
    }
}

async fn an_organization_with_applications(server: TestServer) {
    let ada = server.admin().await;
    let organization = server.post("/organizations", json!({ "name": "Second" })).by(&ada).ok().await;
    let shop = server.post("/deploy/application", least("shop")).by(&ada).within(id_of(&organization)).ok().await;
    let delete = json!({ "id": organization["id"] });
    let message =
        server.delete("/organizations").json(delete.clone()).by(&ada).fails(409, "organization_not_empty").await;
    assert!(message.contains("1 application(s)"), "{message}");
    let mut tx = server.app.db.begin().await.unwrap();
    applications::delete(&mut tx, id_of(&shop)).await.unwrap();
    tx.commit().await.unwrap();
    server.delete("/organizations").json(delete).by(&ada).ok().await;
}

async fn local_folders_need_host_access(server: TestServer) {
    let ada = server.admin().await;
    let eve = server.stranger(&ada, "eve").await;
    for local in ["/srv/git/shop", "file:///srv/git/shop"] {
        let message = refused(&server, &eve, with("shop", "repository", json!(local))).await;
        assert_eq!(
            message,
            "repository: is a folder of the server; only organizations with host access can deploy from one"
        );
        server.deploy(&ada, with(&format!("shop at {}", local.len()), "repository", json!(local))).await;
    }
}

async fn creators_who_have_left(server: TestServer) {
    let ada = server.admin().await;
    let grace = server.join(&ada, "grace", Role::Member).await;
    let shop = server.deploy(&grace, least("shop")).await;
    assert_eq!(server.application(&ada, &shop["id"]).await["user"]["email"], "grace@example.org");
    let leave = json!({ "user_id": grace.user_id, "organization_id": ada.organization_id });
    server.post("/organizations/remove-user", leave).by(&ada).ok().await;
    let seen = server.application(&ada, &shop["id"]).await;
    assert_eq!((&seen["user"], &seen["user_id"]), (&json!({}), &json!(grace.user_id)));
}

async fn an_organization_can_have_so_many(kind: Kind) {
    let server = server(kind).await;
    let ada = server.admin().await;
    let shop = server.deploy(&ada, least("shop")).await;
    let mut tx = server.app.db.begin().await.unwrap();
    let row = applications::get(&mut tx, id_of(&shop)).await.unwrap().unwrap();
    for number in 1..200 {
        let id = server.app.new_id();
        let domain = format!("many-{number}.localhost");
        let row = applications::Application { id, name: format!("many {number}"), domain, ..row.clone() };
        applications::insert(&mut tx, &row).await.unwrap();
    }
    tx.commit().await.unwrap();
    let message = server.post("/deploy/application", least("one more")).by(&ada).fails(409, "conflict").await;
    assert_eq!(message, "An organization can have 200 applications. Delete one first.");
    server.deploy(&ada, least("shop")).await;
}

async fn a_change_of_what_was_changed_meanwhile_is_refused(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.deploy(&ada, least("shop")).await;
    server.app.clock.advance_seconds(1);
    let change = |environment: &str, since: &Value| {
        let body = json!({ "id": shop["id"], "environment": environment, "unchanged_since": since });
        server.put("/deploy/application", body).by(&ada)
    };
    let changed = change("staging", &shop["updated_at"]).ok().await;
    let problem = change("testing", &shop["updated_at"]).fails(409, "conflict").await;
    assert!(problem.starts_with("unchanged_since: "), "{problem}");
    assert_eq!(server.application(&ada, &shop["id"]).await["environment"], "staging");
    change("testing", &changed["updated_at"]).ok().await;
    change("production", &json!("yesterday")).fails(400, "invalid_request").await;
}
