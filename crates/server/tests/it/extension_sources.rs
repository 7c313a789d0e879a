//! Applications that are made from the template of an extension: what they are made of, and how they follow it.

use serde_json::{Value, json};
use uuid::Uuid;
use windlass_api::{DeploymentState, Role};
use windlass_store::{deployments, extension_sources, jobs, releases};
use windlass_testing::on_both_databases;

use crate::deploys::least;
use crate::extensions::text;
use crate::support::{Person, TestServer, id_of, server};

on_both_databases!(
    server: an_application_is_made_of_a_template, a_blank_domain_is_refused, what_is_no_application_is_told,
    values_are_stored_in_one_form, shared_variables_are_looked_for_at_once, what_does_not_go_with_a_template_is_refused,
    a_newer_text_is_offered_and_taken, what_was_offered_is_taken, secrets_are_in_no_refusal, a_release_keeps_its_text,
    the_main_domain_fills_its_placeholders, domains_of_a_newer_text_are_added, domains_that_go_are_told_of, a_request_with_a_key_is_done_once,
    values_are_for_those_who_may_read_them, a_deleted_extension_leaves_what_it_made
);

const PASSWORD: &str = "correct-horse-battery";

/// With a second service that has a domain of its own, if one is given.
fn two(id: &str) -> String {
    let more = "\n            admin:\n              image: registry.example/admin:1\n          volumes: {";
    let route = "    - { name: Lead admins there, type: proxy, properties: { action: add, domain: \"{{ admin_domain }}\", service: admin, port: 81 } }\n  validate:";
    let text = text(id).replace("\n          volumes: {", more).replace("  validate:", route);
    text.replace("variables:\n", "variables:\n  admin_domain: { type: string }\n")
}

impl TestServer {
    /// Of a new extension, served to visitors.
    pub async fn application_of_extension(&self, person: &Person, key: &str) -> Uuid {
        self.extension(person, &text(key)).await;
        let made = self.make_of(person, key, json!({})).await;
        self.make_live(id_of(&made["deployments"][0])).await;
        id_of(&made)
    }

    async fn make_of(&self, person: &Person, key: &str, body: Value) -> Value {
        self.post(&format!("/extensions/{key}/application"), body).by(person).ok().await
    }

    async fn text_of_extension(&self, person: &Person, key: &str, text: &str) {
        self.put(&format!("/extensions/{key}"), json!({ "yaml_content": text })).by(person).ok().await;
    }

    async fn source(&self, person: &Person, id: Uuid) -> Value {
        self.get(&source_path(id)).by(person).ok().await
    }

    /// The version of the text that a deployment's release is made of.
    async fn version_of(&self, deployment: &Value) -> String {
        let mut conn = self.app.db.read().await.unwrap();
        let row = deployments::get(&mut conn, id_of(deployment)).await.unwrap().unwrap();
        let source = extension_sources::of_release(&mut conn, row.release_id).await.unwrap();
        source.expect("it has a text").version
    }

    /// As if the worker had tried, and it went wrong.
    async fn fail(&self, deployment: &Value) {
        let id = id_of(deployment);
        let mut tx = self.app.db.begin().await.unwrap();
        assert!(jobs::withdraw(&mut tx, id).await.unwrap(), "it was waiting");
        let (from, to) = (DeploymentState::Queued, DeploymentState::Failed);
        assert!(deployments::advance(&mut tx, id, from, to, self.app.now()).await.unwrap());
        releases::set_removed(&mut tx, id, self.app.now()).await.unwrap();
        tx.commit().await.unwrap();
    }
}

fn source_path(id: Uuid) -> String {
    format!("/deploy/application/{id}/extension")
}

fn variables(application: &Value) -> Value {
    serde_json::from_str(application["environment_variables"].as_str().unwrap()).unwrap()
}

/// Path, who has changed it, and what the organization has.
fn changes(source: &Value) -> Vec<[&str; 3]> {
    let all = source["changes"].as_array().unwrap().iter();
    all.map(|change| ["path", "changed_by", "organization"].map(|name| change[name].as_str().unwrap_or("-"))).collect()
}

/// A caller with no more than these permissions.
async fn limited(server: &TestServer, person: &Person, permissions: &[&str]) -> Person {
    let body = json!({ "name": "few", "permissions": permissions });
    let made = server.post("/auth/api-keys", body).by(person).ok().await;
    Person { token: made["key"].as_str().unwrap().to_owned(), ..person.clone() }
}

async fn an_application_is_made_of_a_template(server: TestServer) {
    let admin = server.admin().await;
    let member = server.join(&admin, "grace", Role::Member).await;
    let extension = server.extension(&admin, &text("wiki")).await;
    let body = json!({ "name": "Our wiki", "domain": "wiki.example.org", "variables": { "port": "9090", "password": PASSWORD } });
    let made = server.make_of(&member, "wiki", body).await;
    assert_eq!((&made["name"], &made["domain"]), (&json!("Our wiki"), &json!("wiki.example.org")));
    assert_eq!((&made["repository"], &made["build_pack"]), (&json!("extension"), &json!("docker-compose")));
    assert_eq!(made["secret_names"], json!(["password"]));
    let stored = json!({ "password": "********", "port": "9090", "tags": "a,b", "verbose": "false" });
    assert_eq!(variables(&made), stored, "with what was in force when it was made");
    let deployment = &made["deployments"][0];
    assert_eq!(
        (&deployment["status"]["status"], &deployment["commit_hash"]),
        (&json!("queued"), &extension["content_hash"])
    );
    assert_eq!(server.version_of(deployment).await, "1.0.0");
    let source = server.source(&admin, id_of(&made)).await;
    assert_eq!((&source["extension_key"], &source["extension_id"]), (&json!("wiki"), &extension["id"]));
    assert_eq!((&source["version"], &source["has_update"]), (&json!("1.0.0"), &json!(false)));
    assert_eq!((&source["yaml_content"], &source["is_deleted"]), (&json!(text("wiki")), &json!(false)));
    let ours = [
        ["variables.domain.default", "organization", r#""wiki.example.org""#],
        ["variables.port.default", "organization", "9090"],
    ];
    assert_eq!(changes(&source), ours);
    // With nothing given it has a name, a domain and a password of its own.
    let plain = server.make_of(&admin, "wiki", json!({})).await;
    assert_eq!((&plain["name"], &plain["domain"]), (&json!("wiki"), &json!("wiki.localhost")));
    let stored = json!({ "password": "********", "port": "8080", "tags": "a,b", "verbose": "false" });
    assert_eq!(variables(&plain), stored);
    let row = windlass_store::applications::get(&mut server.app.db.read().await.unwrap(), id_of(&plain)).await;
    let stored = server.app.vault.application_variables(&row.unwrap().unwrap()).await.unwrap();
    assert_eq!(stored.environment["password"].len(), 48, "it was made up");
    let message = server.post("/extensions/wiki/application", json!({})).by(&admin).fails(409, "name_taken").await;
    assert!(message.contains("there is an application wiki already"), "{message}");
    // The domain can be a value too, but not another one.
    let domain = json!({ "name": "third", "variables": { "domain": "third.example.org" } });
    assert_eq!(server.make_of(&admin, "wiki", domain).await["domain"], "third.example.org");
    let both = json!({ "name": "fourth", "domain": "4.example.org", "variables": { "domain": "four.example.org" } });
    let message = server.post("/extensions/wiki/application", both).by(&admin).fails(400, "invalid_request").await;
    assert!(message.starts_with("domain: is given twice"), "{message}");
    let taken = json!({ "name": "fifth", "domain": "third.example.org" });
    server.post("/extensions/wiki/application", taken).by(&admin).fails(409, "domain_taken").await;
    // Not everybody may.
    let viewer = server.join(&admin, "victor", Role::Viewer).await;
    server.post("/extensions/wiki/application", json!({ "name": "x" })).by(&viewer).fails(403, "forbidden").await;
    let blind = limited(&server, &admin, &["deploy:create", "deploy:read"]).await;
    let message =
        server.post("/extensions/wiki/application", json!({ "name": "x" })).by(&blind).fails(403, "forbidden");
    assert!(message.await.contains("extension:read"));
    server.get(&source_path(id_of(&made))).by(&blind).fails(403, "forbidden").await;
    // An application of a repository has no extension.
    let shop = server.deploy(&admin, least("shop")).await;
    for message in [
        server.get(&source_path(id_of(&shop))).by(&admin).fails(409, "conflict").await,
        server.post(&source_path(id_of(&shop)), json!({})).by(&admin).fails(409, "conflict").await,
    ] {
        assert_eq!(message, "shop is not made from an extension.");
    }
}

async fn a_blank_domain_is_refused(server: TestServer) {
    let admin = server.admin().await;
    server.extension(&admin, &text("wiki")).await;
    for body in [
        json!({ "domain": "" }),
        json!({ "domain": " " }),
        json!({ "variables": { "domain": "" } }),
        json!({ "variables": { "domain": "  " } }),
        json!({ "variables": { "domain": "not a host" } }),
    ] {
        let message = server.post("/extensions/wiki/application", body.clone()).by(&admin);
        let message = message.fails(400, "invalid_request").await;
        assert!(message.starts_with("domain: "), "{body}: {message}");
    }
    let all = server.get("/deploy/applications").by(&admin).ok().await;
    assert_eq!(all["applications"], json!([]));
}

async fn what_is_no_application_is_told(server: TestServer) {
    let admin = server.admin().await;
    let member = server.join(&admin, "grace", Role::Member).await;
    let route = text("wiki").lines().find(|line| line.contains("type: proxy")).unwrap().to_owned();
    let command = "    - { name: Tell, type: command, properties: { cmd: date } }\n  validate:";
    let host = "    - { name: Lead visitors there, condition: verbose, type: proxy,";
    for (key, text, expected) in [
        (
            "worker",
            text("worker").replace(&format!("{}\n", route.replace("wiki", "worker")), ""),
            "no step sends visitors",
        ),
        (
            "maybe",
            text("maybe").replace("    - { name: Lead visitors there, type: proxy,", host),
            "no step sends visitors",
        ),
        ("mixed", text("mixed").replace("  validate:", command), "Tell: a step that reaches the machine"),
        (
            "alien",
            text("alien").replace("restart: unless-stopped", "platform: linux/arm64"),
            "platform is not supported",
        ),
    ] {
        server.extension(&admin, &text).await;
        let message = server.post(&format!("/extensions/{key}/application"), json!({})).by(&admin);
        let message = message.fails(409, "conflict").await;
        assert!(message.starts_with(&format!("{key} cannot be an application: ")), "{message}");
        assert!(message.contains(expected), "{message}");
    }
    // What one value makes impossible another makes possible.
    server.make_of(&admin, "maybe", json!({ "variables": { "verbose": "true" } })).await;
    let once = "metadata: { id: once, name: N, description: D, author: A, category: Utility, type: run, version: \"1.0.0\" }\n\
                execution: { run: [{ name: wait, type: wait, properties: { seconds: 1 } }] }\n";
    server.extension(&admin, once).await;
    let message = server.post("/extensions/once/application", json!({})).by(&admin).fails(409, "conflict").await;
    assert!(message.contains("it is of the type run"), "{message}");
    let draft = json!({ "yaml_content": text("draft").replace("type: integer", "type: number"), "draft": true });
    server.post("/extensions", draft).by(&admin).ok().await;
    let message = server.post("/extensions/draft/application", json!({})).by(&admin).fails(409, "conflict").await;
    assert!(message.contains("draft is a draft"), "{message}");
    // What reaches the machine takes the permission for it.
    server.extension(&admin, &text("mighty").replace("restart: unless-stopped", "privileged: true")).await;
    server.post("/extensions/mighty/application", json!({})).by(&member).fails(403, "forbidden").await;
    server.make_of(&admin, "mighty", json!({})).await;
}

async fn values_are_stored_in_one_form(server: TestServer) {
    let admin = server.admin().await;
    server.extension(&admin, &text("wiki")).await;
    let body = json!({ "variables": { "verbose": " FALSE ", "port": "08080", "tags": "[\"a\", \"b\"]" } });
    let made = server.make_of(&admin, "wiki", body).await;
    let stored = json!({ "password": "********", "port": "8080", "tags": "a,b", "verbose": "false" });
    assert_eq!(variables(&made), stored);
    // They are what the defaults are, so the organization has changed nothing.
    assert_eq!(server.source(&admin, id_of(&made)).await["changes"], json!([]));
    let call = |variables: Value| {
        let body = json!({ "name": "other", "variables": variables });
        server.post("/extensions/wiki/application", body).by(&admin).fails(400, "invalid_request")
    };
    for (variables, expected) in [
        (json!({ "prot": "1" }), "variables.prot: the extension has no such variable; did you mean port?"),
        (json!({ "port": "many" }), "variables.port: must be a whole number"),
        (json!({ "password": "short" }), "variables.password: must have at least 8 characters"),
    ] {
        let message = call(variables).await;
        assert!(message.starts_with(expected), "{message}");
    }
    // All that is wrong is told at once.
    assert_eq!(call(json!({ "port": "-1", "verbose": "maybe" })).await.lines().count(), 2);
}

async fn shared_variables_are_looked_for_at_once(server: TestServer) {
    let admin = server.admin().await;
    server.extension(&admin, &text("wiki")).await;
    let with = |name: &str, value: &str| json!({ "name": name, "variables": { "port": value, "password": PASSWORD } });
    let refused = server.post("/extensions/wiki/application", with("a", "${{shared.PORT}}")).by(&admin);
    let message = refused.fails(400, "invalid_request").await;
    assert!(message.contains("there is no shared variable PORT"), "{message}");
    let share = async |value: &str| {
        let shared = json!({ "variables": { "PORT": value } });
        server.put("/variables/shared", shared).by(&admin).ok().await
    };
    share("many").await;
    let refused = server.post("/extensions/wiki/application", with("a", "${{shared.PORT}}")).by(&admin);
    let message = refused.fails(400, "invalid_request").await;
    assert_eq!(message, "variables.port: must be a whole number", "what it stands for must fit");
    share("9090").await;
    let made = server.make_of(&admin, "wiki", with("a", "${{shared.PORT}}")).await;
    assert_eq!(variables(&made)["port"], "${{shared.PORT}}");
    let source = server.source(&admin, id_of(&made)).await;
    assert!(changes(&source).contains(&["variables.port.default", "organization", "9090"]), "{source}");
}

async fn what_does_not_go_with_a_template_is_refused(server: TestServer) {
    let admin = server.admin().await;
    let body = json!({ "name": "wiki", "repository": "extension" });
    let message = server.post("/deploy/application", body.clone()).by(&admin).fails(400, "invalid_request").await;
    assert!(message.starts_with("repository: an application of an extension is made by POST"), "{message}");
    let id = server.application_of_extension(&admin, "wiki").await;
    for (field, value) in [
        ("build_pack", json!("dockerfile")),
        ("branch", json!("main")),
        ("base_path", json!("/web")),
        ("compose_file", json!("compose.yaml")),
        ("service", json!("web")),
        ("image", json!("registry.example/wiki:2")),
        ("repository_token", json!("a very secret token")),
        ("auto_deploy", json!(false)),
        ("replicas", json!(2)),
    ] {
        let message = server.put("/deploy/application", json!({ "id": id, field: value })).by(&admin);
        let message = message.fails(400, "invalid_request").await;
        assert!(message.starts_with(&format!("{field}: must be")), "{message}");
    }
    for body in [
        json!({ "id": id, "environment_variables": { "port": "many", "verbose": "maybe", "OTHER": "?" } }),
        json!({ "name": "wiki", "repository": "extension", "environment_variables": { "port": "many", "verbose": "maybe" } }),
    ] {
        let refused = match body.get("id") {
            Some(_) => server.put("/deploy/application", body),
            None => server.post("/deploy/application", body),
        };
        let message = refused.by(&admin).fails(400, "invalid_request").await;
        let told: Vec<_> = message.lines().map(|line| line.split(": ").next().unwrap_or_default()).collect();
        assert_eq!(told, ["environment_variables.port", "environment_variables.verbose"], "{message}");
    }
    let change = json!({ "id": id, "build_pack": "", "memory_mb": 256, "environment_variables": { "port": "81", "password": "********" } });
    let changed = server.put("/deploy/application", change).by(&admin).ok().await;
    assert_eq!((&changed["build_pack"], variables(&changed)["port"].as_str()), (&json!("docker-compose"), Some("81")));
    // The same name and source again deploys it again, as with a repository.
    assert_eq!(server.deploy(&admin, body).await["id"], json!(id));
    let plan = server.post("/deploy/application/preview", json!({ "name": "wiki", "repository": "extension" }));
    let plan = plan.by(&admin).ok().await;
    assert_eq!((&plan["artifact"], &plan["port"]), (&json!("services"), &json!(81)), "{plan}");
    assert_eq!((&plan["services"][0]["image"], &plan["failure"]), (&json!("registry.example/wiki:1.2.3"), &json!("")));
}

async fn a_newer_text_is_offered_and_taken(server: TestServer) {
    let admin = server.admin().await;
    server.extension(&admin, &text("wiki")).await;
    let body = json!({ "domain": "wiki.localhost", "variables": { "port": "9090", "verbose": "false", "password": PASSWORD } });
    let made = server.make_of(&admin, "wiki", body).await;
    server.make_live(id_of(&made["deployments"][0])).await;
    let (id, path) = (id_of(&made), source_path(id_of(&made)));
    let message = server.post(&path, json!({})).by(&admin).fails(409, "conflict").await;
    assert!(message.starts_with("wiki has the newest text of wiki."), "{message}");
    let newer = text("wiki").replace("1.0.0", "1.1.0").replace("default: 8080", "default: 8081");
    let newer = newer.replace("default: false", "default: true").replace("1.2.3", "1.3.0");
    let newer =
        newer.replace("  tags:", "  token: { type: secret }\n  title: { type: string, is_required: true }\n  tags:");
    server.text_of_extension(&admin, "wiki", &newer).await;
    let source = server.source(&admin, id).await;
    assert_eq!((&source["has_update"], &source["conflicts"]), (&json!(true), &json!(1)));
    assert_eq!((&source["version"], &source["new_version"]), (&json!("1.0.0"), &json!("1.1.0")));
    let by =
        |path: &str| changes(&source).into_iter().find(|change| change[0] == path).map(|change| change[1].to_owned());
    assert_eq!(by("variables.port.default").as_deref(), Some("conflict"));
    assert_eq!(by("variables.verbose.default").as_deref(), Some("upstream"));
    assert_eq!(by("execution.run[Run it].properties.compose.services.web.image").as_deref(), Some("upstream"));
    assert_eq!(source["problems"], json!(["variables.title: is required; give a value"]));
    let message = server.post(&path, json!({})).by(&admin).fails(400, "invalid_request").await;
    assert_eq!(message, "variables.title: is required; give a value", "it is refused for what the offer says");
    // Nothing of it has happened.
    assert_eq!(server.source(&admin, id).await, source);
    let given = json!({ "variables": { "title": "Ours" }, "content_hash": source["new_content_hash"] });
    let deployment = server.post(&path, given).by(&admin).ok().await;
    assert_eq!(deployment["commit_hash"], source["new_content_hash"]);
    assert_eq!(server.version_of(&deployment).await, "1.1.0");
    let application = server.application(&admin, &json!(id)).await;
    let stored = json!({
        "password": "********", "port": "9090", "tags": "a,b", "title": "Ours", "token": "********", "verbose": "false",
    });
    assert_eq!(variables(&application), stored, "a new default is not taken by itself");
    assert_eq!(application["secret_names"], json!(["password", "token"]));
    let source = server.source(&admin, id).await;
    assert_eq!((&source["version"], &source["has_update"]), (&json!("1.1.0"), &json!(false)), "it is being deployed");
    // Deployed again before it is live, it does not fall back.
    let again = server.post("/deploy/application/redeploy", json!({ "id": id })).by(&admin).ok().await;
    assert_eq!(server.version_of(&again).await, "1.1.0");
    server.fail(&again).await;
    let source = server.source(&admin, id).await;
    assert_eq!((&source["version"], &source["has_update"]), (&json!("1.0.0"), &json!(true)), "it went wrong");
    let defaults = json!({ "defaults": ["port", "verbose"], "content_hash": source["new_content_hash"] });
    let deployment = server.post(&path, defaults).by(&admin).ok().await;
    server.make_live(id_of(&deployment)).await;
    let stored = json!({
        "password": "********", "port": "8081", "tags": "a,b", "title": "Ours", "token": "********", "verbose": "true",
    });
    assert_eq!(variables(&server.application(&admin, &json!(id)).await), stored);
    let audit = server.get("/audit/logs?resource_type=application&page_size=1").by(&admin).ok().await;
    assert!(audit.to_string().contains("took the newer text of its extension for the application wiki"), "{audit}");
    for (body, expected) in [
        (json!({ "defaults": ["password"] }), "defaults: the extension has no default for password"),
        (
            json!({ "defaults": ["port"], "variables": { "port": "1" } }),
            "defaults: port is given a value in variables too",
        ),
        (
            json!({ "variables": { "domain": "other.example.org" } }),
            "variables: domain: is the main domain of the application; change that",
        ),
    ] {
        server.text_of_extension(&admin, "wiki", &newer.replace("1.1.0", "1.2.0")).await;
        let message = server.post(&path, body).by(&admin).fails(400, "invalid_request").await;
        assert_eq!(message, expected);
    }
    let viewer = server.join(&admin, "victor", Role::Viewer).await;
    server.post(&path, json!({})).by(&viewer).fails(403, "forbidden").await;
}

async fn what_was_offered_is_taken(server: TestServer) {
    let admin = server.admin().await;
    let id = server.application_of_extension(&admin, "wiki").await;
    server.text_of_extension(&admin, "wiki", &text("wiki").replace("1.2.3", "1.3.0")).await;
    let seen = server.source(&admin, id).await["new_content_hash"].clone();
    server.text_of_extension(&admin, "wiki", &text("wiki").replace("1.2.3", "1.4.0")).await;
    let body = json!({ "content_hash": seen });
    let message = server.post(&source_path(id), body).by(&admin).fails(409, "conflict").await;
    assert_eq!(message, "wiki has another text by now. Look at the offer again.");
    let draft = json!({ "yaml_content": "a: 1", "draft": true });
    server.put("/extensions/wiki", draft).by(&admin).ok().await;
    assert_eq!(server.source(&admin, id).await["has_update"], false, "a draft is nothing to be taken");
    server.post(&source_path(id), json!({})).by(&admin).fails(409, "conflict").await;
    // A fork whose parent has more says so.
    server.text_of_extension(&admin, "wiki", &text("wiki")).await;
    server.post("/extensions/wiki/fork", json!({})).by(&admin).ok().await;
    let fork = server.make_of(&admin, "wiki-fork", json!({})).await;
    assert_eq!(server.source(&admin, id_of(&fork)).await["is_behind_parent"], false);
    server.text_of_extension(&admin, "wiki", &text("wiki").replace("1.2.3", "1.5.0")).await;
    let source = server.source(&admin, id_of(&fork)).await;
    assert_eq!((&source["is_behind_parent"], &source["has_update"]), (&json!(true), &json!(false)));
}

async fn secrets_are_in_no_refusal(server: TestServer) {
    let admin = server.admin().await;
    server.extension(&admin, &text("wiki")).await;
    let made = server.make_of(&admin, "wiki", json!({ "variables": { "password": PASSWORD } })).await;
    let (id, path) = (id_of(&made), source_path(id_of(&made)));
    // As a word; as an option that the refusal names and as a port, as no secret any more for its author; and as one of another form.
    let word = text("wiki").replace("restart: unless-stopped", "restart: \"{{ password }}\"");
    let public = text("wiki").replace("type: secret", "type: string");
    let option = "restart: unless-stopped\n              security_opt: [\"{{ password }}\"]";
    let option = public.replace("restart: unless-stopped", option);
    let port = public.replace("port: \"{{ port }}\"", "port: \"{{ password }}\"");
    let key = text("wiki").replace("type: secret,", "type: secret, validation_pattern: \"[0-9]+\",");
    for newer in [word, option, port, key] {
        server.text_of_extension(&admin, "wiki", &newer).await;
        let offer = server.source(&admin, id).await;
        assert_eq!(offer["problems"].as_array().unwrap().len(), 1, "{offer}");
        let message = server.post(&path, json!({})).by(&admin).fails(400, "invalid_request").await;
        for text in [offer.to_string(), message] {
            assert!(!text.contains("correct-horse"), "{text}");
        }
    }
}

async fn a_release_keeps_its_text(server: TestServer) {
    let admin = server.admin().await;
    let id = server.application_of_extension(&admin, "wiki").await;
    let first = server.application(&admin, &json!(id)).await["deployments"][0].clone();
    let take = async |version: &str| {
        server.text_of_extension(&admin, "wiki", &text("wiki").replace("1.0.0", version)).await;
        server.post(&source_path(id), json!({})).by(&admin).ok().await
    };
    let second = take("2.0.0").await;
    // Superseded before it began: the newer one has its own text, and the older one keeps its.
    let third = take("3.0.0").await;
    assert_eq!((server.version_of(&second).await, server.version_of(&third).await), ("2.0.0".into(), "3.0.0".into()));
    server.make_live(id_of(&third)).await;
    assert_eq!(server.source(&admin, id).await["version"], "3.0.0");
    let back = server.post("/deploy/application/rollback", json!({ "id": first["id"] })).by(&admin).ok().await;
    server.make_live(id_of(&back)).await;
    let source = server.source(&admin, id).await;
    assert_eq!((&source["version"], &source["has_update"]), (&json!("1.0.0"), &json!(true)));
    assert_eq!(source["yaml_content"], json!(text("wiki")));
    // What was gone back from does not come with the next deployment.
    let redeploy = server.post("/deploy/application/redeploy", json!({ "id": id })).by(&admin).ok().await;
    assert_eq!(server.version_of(&redeploy).await, "1.0.0");
    let cancel = json!({ "id": redeploy["id"] });
    server.post("/deploy/application/cancel-deployment", cancel).by(&admin).ok().await;
    assert_eq!(server.source(&admin, id).await["version"], "1.0.0");
}

async fn the_main_domain_fills_its_placeholders(server: TestServer) {
    let admin = server.admin().await;
    let below = two("wiki").replace("\"{{ admin_domain }}\"", "\"admin.{{ domain }}\"");
    server.extension(&admin, &below).await;
    let domains = async |id: &Value| {
        let all = server.get("/domains").by(&admin).ok().await;
        let of = all["domains"].as_array().unwrap().iter().filter(|domain| domain["application_id"] == *id);
        let mut of: Vec<_> = of.map(|domain| domain["domain"].as_str().unwrap().to_owned()).collect();
        of.sort_unstable();
        of
    };
    // Also where the domain is chosen by the server, and where it is another by now.
    let usual = server.make_of(&admin, "wiki", json!({ "name": "First wiki" })).await;
    assert_eq!(domains(&usual["id"]).await, ["admin.first-wiki.localhost", "first-wiki.localhost"]);
    let named = server.make_of(&admin, "wiki", json!({ "name": "two", "domain": "wiki.example.org" })).await;
    assert_eq!(domains(&named["id"]).await, ["admin.wiki.example.org", "wiki.example.org"]);
    let change = json!({ "id": named["id"], "domain": "notes.example.org" });
    server.put("/deploy/application", change).by(&admin).ok().await;
    let third = "    - { name: Lead others there, type: proxy, properties: { action: add, domain: \"more.{{ domain }}\", service: admin, port: 81 } }\n  validate:";
    server.text_of_extension(&admin, "wiki", &below.replace("  validate:", third)).await;
    server.post(&source_path(id_of(&named)), json!({})).by(&admin).ok().await;
    let all = ["admin.wiki.example.org", "more.notes.example.org", "notes.example.org"];
    assert_eq!(domains(&named["id"]).await, all);
}

async fn domains_of_a_newer_text_are_added(server: TestServer) {
    let admin = server.admin().await;
    let id = server.application_of_extension(&admin, "wiki").await;
    server.text_of_extension(&admin, "wiki", &two("wiki")).await;
    let path = source_path(id);
    // As long as the domain is blank there is none.
    assert_eq!(server.source(&admin, id).await["warnings"], json!([]));
    let newer = two("wiki").replace("{ type: string }", "{ type: string, default: admin.example.org }");
    server.text_of_extension(&admin, "wiki", &newer).await;
    let source = server.source(&admin, id).await;
    let warning = "Visitors will come by admin.example.org too, which leads to the service admin. To add it takes the permission domain:create.";
    assert_eq!((&source["warnings"], &source["problems"]), (&json!([warning]), &json!([])));
    let few = ["deploy:read", "deploy:update", "deploy:create", "extension:read", "variable:read"];
    let few = limited(&server, &admin, &few).await;
    let told = server.source(&few, id).await["problems"].clone();
    assert_eq!(told, json!(["It adds domains, which takes the permission domain:create."]));
    let message = server.post(&path, json!({})).by(&few).fails(403, "forbidden").await;
    assert!(message.contains("domain:create"), "{message}");
    assert_eq!(server.source(&admin, id).await["has_update"], true, "nothing was done");
    let domains = async || {
        let all = server.get("/domains").by(&admin).ok().await;
        let of = all["domains"].as_array().unwrap().iter().filter(|domain| domain["application_id"] == json!(id));
        of.map(|domain| (domain["domain"].clone(), domain["service"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(domains().await, [(json!("wiki.localhost"), json!(""))]);
    server.post(&path, json!({})).by(&admin).ok().await;
    let both = [(json!("admin.example.org"), json!("admin")), (json!("wiki.localhost"), json!(""))];
    let mut found = domains().await;
    found.sort_by_key(|(domain, _)| domain.to_string());
    assert_eq!(found, both);
    // Another application cannot have it as well, and nothing is left of the attempt.
    let other = json!({ "name": "other" });
    server.post("/extensions/wiki/application", other).by(&admin).fails(409, "domain_taken").await;
    assert_eq!(server.get("/deploy/applications").by(&admin).ok().await["applications"].as_array().unwrap().len(), 1);
    // A new application has all of its domains at once.
    let named = json!({ "name": "other", "variables": { "admin_domain": "two.example.org" } });
    server.post("/extensions/wiki/application", named.clone()).by(&few).fails(403, "forbidden").await;
    let made = server.make_of(&admin, "wiki", named).await;
    let all = server.get("/domains").by(&admin).ok().await;
    let two = all["domains"].as_array().unwrap().iter().find(|domain| domain["domain"] == "two.example.org").unwrap();
    assert_eq!((&two["service"], &two["application_id"]), (&json!("admin"), &made["id"]));
}

async fn domains_that_go_are_told_of(server: TestServer) {
    let admin = server.admin().await;
    server.extension(&admin, &two("wiki")).await;
    let made = server.make_of(&admin, "wiki", json!({ "variables": { "admin_domain": "admin.example.org" } })).await;
    server.make_live(id_of(&made["deployments"][0])).await;
    let id = id_of(&made);
    let moved = two("wiki").replace("service: admin, port: 81", "service: web, port: \"{{ port }}\"");
    let gone = two("wiki").lines().filter(|line| !line.contains("Lead admins there")).collect::<Vec<_>>().join("\n");
    for (newer, expected) in [
        (
            moved,
            "admin.example.org leads to the service admin (port 81), and is to lead to web (port 8080). It is left as it is",
        ),
        (gone, "admin.example.org leads to the service admin no longer. The domain stays until it is removed."),
    ] {
        server.text_of_extension(&admin, "wiki", &newer).await;
        let source = server.source(&admin, id).await;
        assert!(source["warnings"][0].as_str().unwrap().starts_with(expected), "{source}");
        assert_eq!(source["warnings"].as_array().unwrap().len(), 1);
        let viewer = server.join(&admin, &format!("v{}", expected.len()), Role::Viewer).await;
        let hidden = server.source(&viewer, id).await;
        assert!(!hidden["warnings"].to_string().contains("admin.example.org"), "{hidden}");
    }
    server.post(&source_path(id), json!({})).by(&admin).ok().await;
    let all = server.get("/domains").by(&admin).ok().await;
    let stays = all["domains"].as_array().unwrap().iter().find(|domain| domain["domain"] == "admin.example.org");
    assert_eq!(stays.unwrap()["service"], "admin");
}

async fn a_request_with_a_key_is_done_once(server: TestServer) {
    let admin = server.admin().await;
    for key in ["wiki", "notes"] {
        server.extension(&admin, &text(key)).await;
    }
    let call = |key: &str, body: Value| {
        let call = server.post(&format!("/extensions/{key}/application"), body).by(&admin);
        call.header("idempotency-key", "once")
    };
    let first = call("wiki", json!({ "name": "one" })).ok().await;
    let again = call("wiki", json!({ "name": "one" })).send().await;
    assert_eq!(again.json["message"], "This was done already; nothing was done again");
    assert_eq!(again.json["data"]["id"], first["id"]);
    for (key, body) in [("wiki", json!({ "name": "two" })), ("notes", json!({ "name": "one" }))] {
        call(key, body).fails(409, "idempotency_key_reused").await;
    }
    // It is looked for before anything else, so also when the request would be refused by now.
    let draft = json!({ "yaml_content": "a: 1", "draft": true });
    server.put("/extensions/wiki", draft).by(&admin).ok().await;
    assert_eq!(call("wiki", json!({ "name": "one" })).ok().await["id"], first["id"]);
    let all = server.get("/deploy/applications").by(&admin).ok().await;
    assert_eq!(all["applications"].as_array().unwrap().len(), 1);
}

async fn values_are_for_those_who_may_read_them(server: TestServer) {
    let admin = server.admin().await;
    let viewer = server.join(&admin, "victor", Role::Viewer).await;
    server.extension(&admin, &text("wiki")).await;
    let variables = json!({ "tags": "northern-lights", "password": PASSWORD });
    let made = server.make_of(&admin, "wiki", json!({ "variables": variables })).await;
    let id = id_of(&made);
    let newer = text("wiki").replace("type: array, default: [a, b]", "type: integer, default: 1");
    server.text_of_extension(&admin, "wiki", &newer).await;
    let seen = server.source(&admin, id).await;
    assert!(seen["changes"].to_string().contains("northern-lights"), "{seen}");
    assert_eq!(seen["problems"], json!(["variables.tags: must be a whole number"]));
    let hidden = server.source(&viewer, id).await;
    assert!(!hidden.to_string().contains("northern-lights"), "{hidden}");
    assert_eq!(hidden["problems"], json!(["It would be refused as it is. Who may read variables is told why."]));
    // What was a secret stays one, whatever the text calls it by now.
    let open =
        text("wiki").replace("type: secret, description: Made up unless it is given", "type: string, default: x");
    server.text_of_extension(&admin, "wiki", &open).await;
    server.post(&source_path(id), json!({})).by(&admin).ok().await;
    let source = server.source(&admin, id).await;
    assert!(changes(&source).contains(&["variables.password.default", "organization", r#""********""#]), "{source}");
    let eve = server.stranger(&admin, "eve").await;
    server.get(&source_path(id)).by(&eve).fails(404, "not_found").await;
    server.post(&source_path(id), json!({})).by(&eve).fails(404, "not_found").await;
}

async fn a_deleted_extension_leaves_what_it_made(server: TestServer) {
    let admin = server.admin().await;
    let id = server.application_of_extension(&admin, "wiki").await;
    server.delete("/extensions/wiki").by(&admin).ok().await;
    let source = server.source(&admin, id).await;
    assert_eq!((&source["is_deleted"], &source["has_update"]), (&json!(true), &json!(false)));
    assert_eq!((&source["yaml_content"], &source["new_content_hash"]), (&json!(text("wiki")), &json!("")));
    let message = server.post(&source_path(id), json!({})).by(&admin).fails(409, "conflict").await;
    assert_eq!(message, "The extension wiki was deleted, so there is nothing newer.");
    let redeploy = server.post("/deploy/application/redeploy", json!({ "id": id })).by(&admin).ok().await;
    assert_eq!(server.version_of(&redeploy).await, "1.0.0");
}
