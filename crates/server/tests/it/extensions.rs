//! Extensions: what may be stored, forked, planned and run, and by whom. What becomes of a run is tested with the binary.

use serde_json::{Value, json};
use uuid::Uuid;
use windlass_api::{ExecutionStatus, LogStep, Role};
use windlass_store::executions::{self, End};
use windlass_store::logs::LogLine;
use windlass_store::{installations, jobs};
use windlass_testing::{Kind, on_both_databases};

use crate::support::{Person, TestServer, id_of, kind, server};
use crate::walk::{Operation, World};

on_both_databases!(
    server: texts_are_checked_as_a_whole, drafts_are_stored_and_not_run, forks_belong_to_an_organization,
    variables_are_checked_before_anything_runs, plans_tell_everything_and_change_nothing,
    what_leaves_the_organization_needs_host_access, an_installation_is_there_once, what_is_of_others_is_not_there,
    the_catalog_is_brought_and_kept, lists_are_searched_and_sorted
);
on_both_databases!(kind: there_are_limits);

/// A text that runs a service, with a variable of each type.
pub fn text(id: &str) -> String {
    format!(
        r#"metadata:
  id: {id}
  name: The {id}
  description: A service of its own.
  author: Ada
  category: Utility
  type: install
  version: "1.0.0"
variables:
  domain: {{ type: string, default: {id}.localhost, description: Where visitors find it }}
  port: {{ type: integer, default: 8080, validation_pattern: "[0-9]+" }}
  verbose: {{ type: boolean, default: false }}
  tags: {{ type: array, default: [a, b] }}
  password: {{ type: secret, description: Made up unless it is given }}
execution:
  run:
    - name: Run it
      type: docker_compose
      properties:
        action: up
        compose:
          services:
            web:
              image: registry.example/{id}:1.2.3
              restart: unless-stopped
              environment: {{ PASSWORD: "{{{{ password }}}}", TAGS: "{{{{ tags }}}}" }}
              volumes: ["data:/data"]
          volumes: {{ data: {{}} }}
    - {{ name: Lead visitors there, type: proxy, properties: {{ action: add, domain: "{{{{ domain }}}}", service: web, port: "{{{{ port }}}}" }} }}
  validate:
    - {{ name: It answers, type: wait, properties: {{ service: web }} }}
"#
    )
}

/// One that runs a command on the machine.
fn command(id: &str, cmd: &str) -> String {
    format!(
        "metadata: {{ id: {id}, name: N, description: D, author: A, category: Utility, type: run, version: \"1.0.0\" }}\n\
         variables: {{ name: {{ type: string, is_required: true, validation_pattern: \"[a-z]+\" }} }}\n\
         execution: {{ run: [{{ name: do, type: command, properties: {{ cmd: {cmd:?} }} }}] }}\n"
    )
}

/// One with a service that asks for something.
fn asking(id: &str, what: &str) -> String {
    text(id).replace("              restart: unless-stopped\n", &format!("              {what}\n"))
}

impl TestServer {
    pub async fn extension(&self, person: &Person, text: &str) -> Value {
        self.post("/extensions", json!({ "yaml_content": text })).by(person).ok().await
    }

    /// As if the worker had carried out an execution.
    pub async fn complete(&self, id: Uuid) {
        let mut tx = self.app.db.begin().await.unwrap();
        assert!(jobs::withdraw(&mut tx, id).await.unwrap(), "it was waiting");
        let execution = executions::get(&mut tx, id).await.unwrap().unwrap();
        executions::begin(&mut tx, id, Uuid::from_u128(7), "engines", self.app.now()).await.unwrap();
        let end = End { status: ExecutionStatus::Completed, exit_code: Some(0), error_message: "" };
        assert!(executions::end(&mut tx, id, &end, self.app.now()).await.unwrap());
        if let Some(installation) = execution.installation_id {
            installations::set_execution(&mut tx, installation, id, self.app.now()).await.unwrap();
        }
        tx.commit().await.unwrap();
    }

    /// The id of an installation, and of the execution that made it.
    pub async fn installed(&self, person: &Person, key: &str) -> (Uuid, Uuid) {
        let body = json!({ "variables": { "password": "a-password-of-it" } });
        let execution = self.post(&format!("/extensions/{key}/run"), body).by(person).ok().await;
        let id = id_of(&execution);
        self.complete(id).await;
        (execution["installation_id"].as_str().unwrap().parse().unwrap(), id)
    }
}

impl World {
    /// A call about an extension, an execution or an installation.
    pub async fn about_extension(&self, operation: &Operation) -> (String, Value) {
        let (server, owner) = (&self.server, self.owner());
        let number = self.applications.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let key = format!("wiki-{number}");
        let path = operation.path.clone();
        let extension = async || id_of(&server.extension(owner, &text(&key)).await);
        let named = |key: &str| path.replace("{extension_id}", key);
        match operation.id.as_str() {
            "list_extensions" | "list_extension_categories" => {
                extension().await;
                (path.clone(), Value::Null)
            }
            "get_extension_by_extension_id" | "get_extension" | "delete_extension" => {
                extension().await;
                (named(&key), Value::Null)
            }
            "create_extension" => (path.clone(), json!({ "yaml_content": text(&key) })),
            "update_extension" | "fork_extension" => {
                extension().await;
                (named(&key), json!({ "yaml_content": text(&key).replace("1.0.0", "1.1.0") }))
            }
            "get_offer_of_parent" | "take_offer_of_parent" => {
                extension().await;
                let fork = server.post(&format!("/extensions/{key}/fork"), json!({})).by(owner).ok().await;
                let newer = text(&key).replace("1.2.3", "1.2.4");
                let body = json!({ "yaml_content": newer });
                let parent = server.put(&format!("/extensions/{key}"), body).by(owner).ok().await;
                let body = match operation.id.as_str() {
                    "get_offer_of_parent" => Value::Null,
                    _ => json!({ "parent_content_hash": parent["content_hash"] }),
                };
                (named(fork["extension_id"].as_str().unwrap()), body)
            }
            "plan_extension" | "run_extension" => {
                extension().await;
                (named(&key), json!({ "variables": { "password": "a-password-of-it" } }))
            }
            "create_application_of_extension" => {
                extension().await;
                let variables = json!({ "password": "a-password-of-it", "verbose": "true" });
                (named(&key), json!({ "name": key, "domain": format!("{key}.example.org"), "variables": variables }))
            }
            "list_executions" => {
                extension().await;
                server.installed(owner, &key).await;
                (path.clone(), Value::Null)
            }
            "list_executions_of_an_extension" => {
                extension().await;
                server.installed(owner, &key).await;
                (named(&key), Value::Null)
            }
            "get_execution" | "get_execution_logs" | "follow_execution_logs" | "cancel_execution" => {
                extension().await;
                let body = json!({ "variables": { "password": "a-password-of-it" } });
                let run = server.post(&format!("/extensions/{key}/run"), body).by(owner).ok().await;
                let (id, text) = (id_of(&run), "Waiting for its turn".to_owned());
                let line = LogLine::note(server.app.now(), LogStep::Run, text);
                assert!(server.app.logs.note(id, id, line).await);
                (path.replace("{execution_id}", &id_of(&run).to_string()), Value::Null)
            }
            "list_installations" => {
                extension().await;
                server.installed(owner, &key).await;
                (path.clone(), Value::Null)
            }
            _ => {
                extension().await;
                let (id, _) = server.installed(owner, &key).await;
                let body = match operation.id.as_str() {
                    "get_installation"
                    | "get_installation_logs"
                    | "follow_installation_logs"
                    | "get_offer_of_update" => Value::Null,
                    "update_installation" => json!({ "variables": { "verbose": "true" } }),
                    "roll_back_installation" => {
                        let update = format!("/extensions/installations/{id}/update");
                        let update =
                            server.post(&update, json!({ "variables": { "port": "81" } })).by(owner).ok().await;
                        server.complete(id_of(&update)).await;
                        Value::Null
                    }
                    "uninstall" => json!({ "name": key }),
                    unknown => panic!("{unknown} is a new operation: tell this test how to call it"),
                };
                (path.replace("{installation_id}", &id.to_string()), body)
            }
        }
    }
}

async fn texts_are_checked_as_a_whole(server: TestServer) {
    let admin = server.admin().await;
    let create = |text: &str| server.post("/extensions", json!({ "yaml_content": text })).by(&admin);
    let wrong = text("wiki").replace("variables:", "vairables:").replace("type: install", "type: installs");
    let message = create(&wrong).fails(400, "invalid_request").await;
    assert!(
        message.contains("line 9, column 1: vairables: ") && message.contains("did you mean \"variables\"?"),
        "{message}"
    );
    assert!(message.contains("metadata.type: "), "{message}");
    let stored = create(&text("wiki")).ok().await;
    assert_eq!((&stored["extension_id"], &stored["validation_status"]), (&json!("wiki"), &json!("valid")));
    assert_eq!((&stored["validation_errors"], &stored["is_verified"]), (&json!(""), &json!(false)));
    let hash = sha2::Digest::finalize(sha2::Digest::chain_update(sha2::Sha256::default(), text("wiki")));
    let hash: String = hash.iter().map(|byte: &u8| format!("{byte:02x}")).collect();
    assert_eq!(stored["content_hash"], json!(hash));
    let parsed: Value = serde_json::from_str(stored["parsed_content"].as_str().unwrap()).unwrap();
    assert_eq!(parsed["metadata"]["id"], "wiki");
    let message = create(&text("wiki")).fails(409, "name_taken").await;
    assert!(message.contains("metadata.id: wiki is taken"), "{message}");
    create(&text("categories")).fails(409, "name_taken").await;
    // Found by what people call it by and by its id, on all paths.
    for name in ["wiki", stored["id"].as_str().unwrap()] {
        for path in ["/extensions/by-extension-id", "/extensions"] {
            assert_eq!(server.get(&format!("{path}/{name}")).by(&admin).ok().await, stored, "{path}");
        }
    }
    let bomb = "a: &a [x, x, x, x, x, x, x, x]\n".to_owned()
        + &(0..12).map(|n| format!("b{n}: &b{n} [*a, *a, *a, *a, *a, *a, *a, *a]\n")).collect::<String>();
    create(&bomb).fails(400, "invalid_request").await;
    create(&"[".repeat(100_000)).fails(400, "invalid_request").await;
    create("a: 1\na: 2").fails(400, "invalid_request").await;
}

async fn drafts_are_stored_and_not_run(server: TestServer) {
    let admin = server.admin().await;
    let wrong = text("wiki").replace("type: integer, default: 8080", "type: integer, default: many");
    let draft = json!({ "yaml_content": wrong, "draft": true });
    let stored = server.post("/extensions", draft).by(&admin).ok().await;
    assert_eq!((&stored["validation_status"], &stored["parsed_content"]), (&json!("invalid"), &json!("")));
    assert_eq!((&stored["name"], &stored["variables"]), (&json!("The wiki"), &json!([])));
    let errors: Value = serde_json::from_str(stored["validation_errors"].as_str().unwrap()).unwrap();
    assert_eq!((&errors[0]["path"], &errors[0]["line"]), (&json!("variables.port.default"), &json!(11)), "{errors}");
    for action in ["run", "plan"] {
        let message =
            server.post(&format!("/extensions/wiki/{action}"), json!({})).by(&admin).fails(409, "conflict").await;
        assert!(message.contains("is a draft: 1 things are wrong"), "{message}");
    }
    let body = json!({ "yaml_content": text("wiki") });
    let mended = server.put("/extensions/wiki", body).by(&admin).ok().await;
    assert_eq!((&mended["validation_status"], &mended["id"]), (&json!("valid"), &stored["id"]));
    assert_eq!(mended["variables"].as_array().unwrap().len(), 5);
    // Not even a draft is without a name.
    let nameless = json!({ "yaml_content": "metadata: {}", "draft": true });
    server.post("/extensions", nameless).by(&admin).fails(400, "invalid_request").await;
}

async fn forks_belong_to_an_organization(server: TestServer) {
    let admin = server.admin().await;
    server.extension(&admin, &text("wiki")).await;
    let parent = server.get("/extensions/wiki").by(&admin).ok().await;
    let copy = server.post("/extensions/wiki/fork", json!({})).by(&admin).ok().await;
    assert_eq!((&copy["extension_id"], &copy["parent_extension_id"]), (&json!("wiki-fork"), &parent["id"]));
    assert_eq!((&copy["content_hash"], &copy["author"]), (&parent["content_hash"], &json!("Ada")));
    let other =
        text("wiki").replace("  tags: { type: array, default: [a, b] }\n", "").replace(", TAGS: \"{{ tags }}\"", "");
    let other = other.replace("id: wiki\n", "id: my-wiki\n");
    let fork = server.post("/extensions/wiki/fork", json!({ "yaml_content": other })).by(&admin).ok().await;
    assert_eq!(fork["extension_id"], "my-wiki");
    let names = |extension: &Value| {
        let all = extension["variables"].as_array().unwrap().iter();
        all.map(|one| one["variable_name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&fork), ["domain", "port", "verbose", "password"], "its own, not the parent's");
    for variable in fork["variables"].as_array().unwrap() {
        assert_eq!((&variable["extension_id"], &variable["extension"]), (&fork["id"], &json!({})));
    }
    // Forks of forks, as many as one likes.
    let again = server.post("/extensions/wiki-fork/fork", json!({})).by(&admin).ok().await;
    assert_eq!(again["extension_id"], "wiki-fork-fork");
    let again = server.post("/extensions/wiki/fork", json!({})).by(&admin).ok().await;
    assert_eq!(again["extension_id"], "wiki-fork-2");
    server.delete("/extensions/wiki").by(&admin).ok().await;
    server.get("/extensions/wiki").by(&admin).fails(404, "not_found").await;
    assert_eq!(server.get("/extensions/wiki-fork").by(&admin).ok().await["parent_extension_id"], parent["id"]);
}

async fn variables_are_checked_before_anything_runs(server: TestServer) {
    let admin = server.admin().await;
    server.extension(&admin, &command("hello", "echo {{ name }}")).await;
    server.extension(&admin, &text("wiki")).await;
    let run = |key: &str, variables: Value| {
        server.post(&format!("/extensions/{key}/run"), json!({ "variables": variables })).by(&admin)
    };
    assert_eq!(
        run("hello", json!({})).fails(400, "invalid_request").await,
        "variables.name: is required; give a value"
    );
    let message = run("hello", json!({ "name": "X1" })).fails(400, "invalid_request").await;
    assert!(message.starts_with("variables.name: must match the pattern [a-z]+"), "{message}");
    let message =
        run("wiki", json!({ "prot": "1", "port": "many", "verbose": "maybe" })).fails(400, "invalid_request").await;
    for problem in
        ["variables.prot: ", "did you mean port", "variables.port: must be a whole number", "variables.verbose: "]
    {
        assert!(message.contains(problem), "{problem}: {message}");
    }
    run("wiki", json!({ "domain": "not a domain" })).fails(400, "invalid_request").await;
    let mut conn = server.app.db.read().await.unwrap();
    let (_, count) = executions::page(&mut conn, admin.organization_id, Default::default(), (0, 10)).await.unwrap();
    assert_eq!(count, 0, "nothing was written");
    drop(conn);
    let execution = run("wiki", json!({ "password": "correct-horse", "tags": "x,y" })).ok().await;
    assert_eq!((&execution["status"], &execution["kind"]), (&json!("pending"), &json!("install")));
    let values: Value = serde_json::from_str(execution["variable_values"].as_str().unwrap()).unwrap();
    let expected = json!({
        "domain": "wiki.localhost", "password": "********", "port": 8080, "tags": ["x", "y"], "verbose": false,
    });
    assert_eq!(values, expected);
    assert_eq!(execution["steps"].as_array().unwrap().len(), 3);
    assert_eq!(execution["extension"]["extension_id"], "wiki");
    let bytes = server.place.bytes().await;
    assert!(!bytes.windows(13).any(|window| window == b"correct-horse"), "it is sealed");
}

async fn plans_tell_everything_and_change_nothing(server: TestServer) {
    let admin = server.admin().await;
    let evil = text("wiki").replace(
        "volumes: [\"data:/data\"]",
        "volumes: [\"data:/data\", \"/etc:/host\"]\n              privileged: true\n              ports: [\"8081:80\"]",
    );
    server.extension(&admin, &evil).await;
    let body = json!({ "variables": { "password": "correct-horse" } });
    let plan = server.post("/extensions/wiki/plan", body).by(&admin).ok().await;
    crate::support::snapshot("a_plan", &plan);
    assert!(!plan.to_string().contains("correct-horse"));
    let list = server.get("/extensions/executions").by(&admin).ok().await;
    assert_eq!(list["pagination"]["total_count"], 0);
}

async fn what_leaves_the_organization_needs_host_access(server: TestServer) {
    let admin = server.admin().await;
    let stranger = server.stranger(&admin, "eve").await;
    let member = server.join(&admin, "mallory", Role::Member).await;
    let asks = [
        ("privileged", "privileged: true"),
        ("mount", "volumes: [\"/srv:/srv\"]"),
        ("socket", "volumes: [\"/var/run/docker.sock:/s\"]"),
        ("network", "network_mode: host"),
        ("process", "pid: host"),
        ("memory", "ipc: host"),
        ("device", "devices: [\"/dev/sda\"]"),
        ("capability", "cap_add: [SYS_ADMIN]"),
        ("security", "security_opt: [\"seccomp:unconfined\"]"),
        ("kernel", "sysctls: { net.core.somaxconn: 1 }"),
    ];
    for (key, ask) in asks {
        let text = if ask.starts_with("volumes") {
            text(key).replace("volumes: [\"data:/data\"]", ask).replace("          volumes: { data: {} }\n", "")
        } else {
            asking(key, ask)
        };
        for person in [&admin, &stranger] {
            server.extension(person, &text).await;
        }
        let run = |person: &Person| server.post(&format!("/extensions/{key}/run"), json!({})).by(person);
        for (person, words) in [(&stranger, "host access"), (&member, "the role admin has")] {
            let message = run(person).fails(403, "forbidden").await;
            assert!(message.contains("extension:host") && message.contains(words), "{key}: {message}");
        }
        let plan = server.post(&format!("/extensions/{key}/plan"), json!({})).by(&stranger).ok().await;
        assert_eq!((&plan["is_allowed"], &plan["needs_host_access"]), (&json!(false), &json!(true)), "{key}");
        assert!(!plan["dangers"].as_array().unwrap().is_empty(), "{key}");
        run(&admin).ok().await;
    }
    for person in [&admin, &stranger] {
        server.extension(person, &command("hello", "echo {{ name }}")).await;
    }
    let body = || json!({ "variables": { "name": "x" } });
    server.post("/extensions/hello/run", body()).by(&stranger).fails(403, "forbidden").await;
    server.post("/extensions/hello/run", body()).by(&member).fails(403, "forbidden").await;
    server.post("/extensions/hello/run", body()).by(&admin).ok().await;
    // What stays with the organization's own containers is for its members.
    server.extension(&admin, &text("wiki")).await;
    server.post("/extensions/wiki/run", json!({})).by(&member).ok().await;
    let viewer = server.join(&admin, "victor", Role::Viewer).await;
    server.post("/extensions/wiki/run", json!({})).by(&viewer).fails(403, "forbidden").await;
}

async fn an_installation_is_there_once(server: TestServer) {
    let admin = server.admin().await;
    server.extension(&admin, &text("wiki")).await;
    let run = |body: Value| server.post("/extensions/wiki/run", body).by(&admin);
    let first = run(json!({})).ok().await;
    let message = run(json!({})).fails(409, "conflict").await;
    assert!(message.starts_with("wiki is installed already.") && message.contains("/update"), "{message}");
    let second = run(json!({ "name": "second", "variables": { "domain": "second.localhost" } })).ok().await;
    assert_ne!(first["installation_id"], second["installation_id"]);
    let third = json!({ "name": "third", "volumes": ["data"] });
    for message in [
        run(third.clone()).fails(400, "invalid_request").await,
        server.post("/extensions/wiki/plan", third).by(&admin).fails(400, "invalid_request").await,
    ] {
        assert_eq!(message, "volumes: no installation called third has left a volume data behind");
    }
    let path = format!("/extensions/installations/{}", first["installation_id"].as_str().unwrap());
    let message = server.post(&format!("{path}/update"), json!({})).by(&admin).fails(409, "conflict").await;
    assert!(message.contains("was never installed"), "{message}");
    let cancelled =
        server.post(&format!("/extensions/execution/{}/cancel", id_of(&first)), Value::Null).by(&admin).ok().await;
    assert_eq!(cancelled["status"], "cancelled");
    assert_eq!(server.get(&path).by(&admin).ok().await["state"], "failed");
    // It failed before anything was there, so it can be tried again.
    let again = run(json!({})).ok().await;
    assert_eq!(again["installation_id"], first["installation_id"]);
    server.complete(id_of(&again)).await;
    assert_eq!(server.get(&path).by(&admin).ok().await["state"], "installed");
    let message = server.post(&format!("{path}/rollback"), Value::Null).by(&admin).fails(409, "conflict").await;
    assert_eq!(message, "There is no earlier version of wiki to go back to.");
    let update = server.post(&format!("{path}/update"), json!({ "variables": { "port": "81" } })).by(&admin).ok().await;
    assert!(update["variable_values"].as_str().unwrap().contains("\"port\":81"));
    let message = server.post(&format!("{path}/update"), json!({})).by(&admin).fails(409, "conflict").await;
    assert!(message.starts_with("wiki is updating"), "{message}");
    server.complete(id_of(&update)).await;
    let back = server.post(&format!("{path}/rollback"), Value::Null).by(&admin).ok().await;
    assert!(back["variable_values"].as_str().unwrap().contains("\"port\":8080"));
    server.complete(id_of(&back)).await;
    let body = json!({ "name": "wiki", "volumes": ["data"] });
    let message = server.delete(&path).json(body).by(&admin).fails(400, "invalid_request").await;
    assert_eq!(message, "volumes: wiki has no volume data; nothing was removed");
    let removal = server.delete(&path).json(json!({ "name": "wiki" })).by(&admin).ok().await;
    assert_eq!((&removal["kind"], &removal["steps"][0]["phase"]), (&json!("uninstall"), &json!("undo")));
}

async fn what_is_of_others_is_not_there(server: TestServer) {
    let admin = server.admin().await;
    let stranger = server.stranger(&admin, "eve").await;
    let own = server.extension(&admin, &text("wiki")).await;
    let (installation, execution) = server.installed(&admin, "wiki").await;
    let id = id_of(&own);
    for path in [
        "/extensions/wiki".to_owned(),
        format!("/extensions/{id}"),
        "/extensions/by-extension-id/wiki".to_owned(),
        "/extensions/by-extension-id/wiki/executions".to_owned(),
        format!("/extensions/execution/{execution}"),
        format!("/extensions/execution/{execution}/logs"),
        format!("/extensions/execution/{execution}/logs/follow"),
        format!("/extensions/installations/{installation}"),
        format!("/extensions/installations/{installation}/update"),
        "/extensions/wiki/parent".to_owned(),
    ] {
        server.get(&path).by(&stranger).fails(404, "not_found").await;
    }
    for path in [
        "/extensions/wiki/run".to_owned(),
        "/extensions/wiki/fork".to_owned(),
        "/extensions/wiki/plan".to_owned(),
        "/extensions/wiki/parent".to_owned(),
        format!("/extensions/execution/{execution}/cancel"),
        format!("/extensions/installations/{installation}/update"),
        format!("/extensions/installations/{installation}/rollback"),
    ] {
        server.post(&path, json!({})).by(&stranger).fails(404, "not_found").await;
    }
    server.delete("/extensions/wiki").by(&stranger).fails(404, "not_found").await;
    assert_eq!(server.get("/extensions").by(&stranger).ok().await["pagination"]["total_count"], 0);
    assert_eq!(server.get("/extensions/categories").by(&stranger).ok().await, json!([]));
    // The same key is free in every organization, but a domain is there once.
    server.extension(&stranger, &text("wiki")).await;
    server.post("/extensions/wiki/run", json!({})).by(&stranger).ok().await;
}

async fn the_catalog_is_brought_and_kept(server: TestServer) {
    let admin = server.admin().await;
    windlass_server::service::extensions::bring_catalog(&server.app).await.unwrap();
    let all = server.get("/extensions?page_size=100").by(&admin).ok().await;
    let count = all["pagination"]["total_count"].as_i64().unwrap();
    assert!(count >= 20, "{count}");
    assert!(all["extensions"].as_array().unwrap().iter().all(|one| one["is_verified"] == true));
    assert!(all["extensions"].as_array().unwrap().iter().all(|one| one["validation_status"] == "valid"));
    let postgres = server.get("/extensions/postgresql").by(&admin).ok().await;
    server
        .put("/extensions/postgresql", json!({ "yaml_content": text("postgresql") }))
        .by(&admin)
        .fails(409, "conflict")
        .await;
    server.delete("/extensions/postgresql").by(&admin).fails(409, "conflict").await;
    let fork = server.post("/extensions/postgresql/fork", json!({})).by(&admin).ok().await;
    // Another start changes nothing, least of all what an organization has made.
    windlass_server::service::extensions::bring_catalog(&server.app).await.unwrap();
    assert_eq!(server.get("/extensions/postgresql").by(&admin).ok().await, postgres);
    assert_eq!(server.get("/extensions/postgresql-fork").by(&admin).ok().await, fork);
    let mut planned = 0;
    for one in all["extensions"].as_array().unwrap() {
        let key = one["extension_id"].as_str().unwrap();
        let mut variables = serde_json::Map::new();
        for variable in server.get(&format!("/extensions/{key}")).by(&admin).ok().await["variables"].as_array().unwrap()
        {
            let is_secret = variable["variable_type"] == "secret";
            if is_secret && variable["validation_pattern"] != "" {
                variables.insert(variable["variable_name"].as_str().unwrap().to_owned(), json!("a".repeat(40)));
            }
            if variable["is_required"] == true && !is_secret && variable["default_value"].is_null() {
                let name = variable["variable_name"].as_str().unwrap();
                let value = if name.contains("domain") { "tool.example.org" } else { "https://tool.example.org" };
                variables.insert(name.to_owned(), json!(value));
            }
        }
        let plan =
            server.post(&format!("/extensions/{key}/plan"), json!({ "variables": variables })).by(&admin).ok().await;
        assert!(!plan["steps"].as_array().unwrap().is_empty(), "{key}");
        planned += 1;
    }
    assert_eq!(planned, count);
}

async fn lists_are_searched_and_sorted(server: TestServer) {
    let admin = server.admin().await;
    for (id, category) in [("wiki", "Productivity"), ("cache", "Database"), ("store", "Database")] {
        server.extension(&admin, &text(id).replace("category: Utility", &format!("category: {category}"))).await;
    }
    let keys = async |query: &str| {
        let page = server.get(&format!("/extensions?{query}")).by(&admin).ok().await;
        let all = page["extensions"].as_array().unwrap().iter();
        all.map(|one| one["extension_id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(keys("").await, ["cache", "store", "wiki"]);
    assert_eq!(keys("sort_dir=desc").await, ["wiki", "store", "cache"]);
    assert_eq!(keys("category=Database&search=STO").await, ["store"]);
    assert_eq!(keys("search=%25").await, [""; 0]);
    assert_eq!(keys("type=run").await, [""; 0]);
    assert_eq!(keys("page=2&page_size=2").await, ["wiki"]);
    assert_eq!(keys("sort_by=category&sort_direction=desc&page_size=1").await, ["wiki"]);
    let categories = server.get("/extensions/categories").by(&admin).ok().await;
    assert_eq!(categories, json!(["Database", "Productivity"]));
    server.get("/extensions?page_size=101").by(&admin).fails(400, "invalid_request").await;
}

async fn there_are_limits(kind: Kind) {
    let settings =
        [("organization-extensions", "2"), ("organization-executions", "1"), ("organization-installations", "1")];
    let server = TestServer::with(kind, &settings).await;
    let admin = server.admin().await;
    for id in ["one", "two"] {
        server.extension(&admin, &text(id)).await;
    }
    let body = json!({ "yaml_content": text("three") });
    let message = server.post("/extensions", body).by(&admin).fails(409, "conflict").await;
    assert!(message.contains("2 extensions"), "{message}");
    server.post("/extensions/one/fork", json!({})).by(&admin).fails(409, "conflict").await;
    let run = |key: &str| server.post(&format!("/extensions/{key}/run"), json!({})).by(&admin);
    let first = run("one").ok().await;
    server.complete(id_of(&first)).await;
    let message = run("two").fails(409, "conflict").await;
    assert!(message.contains("organization-installations"), "{message}");
    let path = format!("/extensions/installations/{}", first["installation_id"].as_str().unwrap());
    server.post(&format!("{path}/update"), json!({})).by(&admin).ok().await;
    let message = run("two").fails(409, "conflict").await;
    assert!(message.contains("organization-installations") || message.contains("1 executions"), "{message}");
    server.delete("/extensions/two").by(&admin).ok().await;
    server.extension(&admin, &text("three")).await;
}
