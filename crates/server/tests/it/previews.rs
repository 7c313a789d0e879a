//! Previews: which pull requests get one, what it is made with, and how it ends.

use axum::http::Method;
use serde_json::{Value, json};
use uuid::Uuid;
use windlass_api::Role;
use windlass_server::service::previews::end_idle;
use windlass_testing::deliveries::{Sample, sample};
use windlass_testing::{Kind, on_both_databases};

use crate::deliveries::signed_call;
use crate::deploys::least;
use crate::support::{Person, TestServer, id_of, kind, server};

on_both_databases!(
    server: pull_requests_of_every_host_get_a_preview, a_preview_is_made_as_its_application_is, forks_need_an_admin_and_get_no_secret,
    a_late_delivery_does_not_bring_a_preview_back, previews_are_configured_by_their_application,
    previews_end_with_their_application, other_organizations_have_no_part_in_previews, what_cannot_have_previews_says_so,
    previews_have_no_back_doors
);
on_both_databases!(kind: previews_have_a_limit, forks_take_half_of_the_previews, idle_previews_end);

const HOSTS: [&str; 6] = ["github", "gitlab", "gitea", "forgejo", "bitbucket", "bitbucket-server"];
const QUEUED: &str = "A deployment was queued.";

impl TestServer {
    /// A preview that a member asked for.
    pub async fn preview(&self, person: &Person, application: Uuid, number: u32) -> Value {
        let body = json!({ "pull_request": number, "branch": "blue" });
        self.post(&format!("/deploy/application/{application}/previews"), body).by(person).ok().await
    }

    pub async fn previews(&self, person: &Person, application: Uuid) -> Vec<Value> {
        let all = self.get(&format!("/deploy/application/{application}/previews")).by(person).ok().await;
        all["previews"].as_array().unwrap().clone()
    }

    /// An application of the repository that the samples of a host are about, with these fields besides.
    async fn previewed(&self, person: &Person, host: &str, fields: Value) -> (Uuid, String) {
        let mut body = least(&format!("Shop of {host}"));
        (body["repository"], body["branch"], body["previews"]) = (json!(repository(host)), json!("main"), json!(true));
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let id = id_of(&self.running(person, body).await);
        (id, self.webhook_secret(person, id).await)
    }

    /// What the code host is told.
    async fn hears(&self, sample: &Sample, secret: &str) -> String {
        let sample = sample.clone().with_id(&self.app.new_id().to_string());
        let reply = signed_call(self.call(Method::POST, "/webhook"), &sample, secret).send().await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        reply.json["message"].as_str().unwrap().to_owned()
    }

    async fn listed_names(&self, person: &Person) -> Vec<String> {
        let all = self.get("/deploy/applications?page_size=100").by(person).ok().await;
        all["applications"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    }
}

fn repository(host: &str) -> &'static str {
    match host {
        "github" => "https://github.com/team/shop.git",
        "gitlab" => "https://gitlab.example.org/team/shop.git",
        "gitea" | "forgejo" => "https://git.example.org/team/shop.git",
        "bitbucket" => "git@bitbucket.org:team/shop.git",
        _ => "ssh://git@bitbucket.example.org:7999/team/shop.git",
    }
}

async fn pull_requests_of_every_host_get_a_preview(server: TestServer) {
    let admin = server.admin().await;
    for host in HOSTS {
        let (id, secret) = server.previewed(&admin, host, json!({})).await;
        assert_eq!(server.hears(&sample(host, "pull-request-opened"), &secret).await, QUEUED, "{host}");
        let [preview] = &*server.previews(&admin, id).await else { panic!("{host}: not one preview") };
        assert_eq!(preview["is_fork"], false, "{host}");
        let number = preview["pull_request"].as_u64().unwrap();
        let label = format!("shop-of-{host}-pr-{number}");
        assert_eq!(preview["domain"], json!(format!("{label}.localhost")), "{host}");
        assert_eq!(preview["name"], json!(format!("Shop of {host}-pr-{number}")), "{host}");

        assert_eq!(server.hears(&sample(host, "pull-request-synchronize"), &secret).await, QUEUED, "{host}");
        let again = server.previews(&admin, id).await;
        assert_eq!((again.len(), &again[0]["id"]), (1, &preview["id"]), "{host}: the same preview, deployed again");
        assert_ne!(again[0]["deployment_id"], preview["deployment_id"], "{host}");
        assert!(!server.listed_names(&admin).await.contains(&format!("Shop of {host}-pr-{number}")), "{host}");

        let told = server.hears(&sample(host, "pull-request-closed"), &secret).await;
        assert!(told.ends_with("The preview is being removed."), "{host}: {told}");
        assert!(server.previews(&admin, id).await.is_empty(), "{host}");
        server.get(&format!("/deploy/previews/{}", id_of(preview))).by(&admin).fails(404, "not_found").await;
        let told = server.hears(&sample(host, "pull-request-merged"), &secret).await;
        assert!(told.contains("has no preview") || told.contains("newer"), "{host}: {told}");
    }
}

async fn a_preview_is_made_as_its_application_is(server: TestServer) {
    let admin = server.admin().await;
    let fields = json!({
        "port": 3000, "replicas": 3, "memory_mb": 256, "pre_run_command": "migrate",
        "environment_variables": { "GREETING": "hello", "MODE": "fast", "KEY": "k", "MARKED": "m" },
        "build_variables": { "BUILD": "b", "BUILD_KEY": "bk" },
        "preview_variables": { "GREETING": "preview" },
        "secret_names": ["KEY", "MARKED", "BUILD_KEY"], "preview_secret_names": ["MARKED"],
        "volumes": [{ "name": "cache", "path": "/cache", "shared": true }],
        "repository_token": "for git",
    });
    let (id, secret) = server.previewed(&admin, "github", fields).await;
    server.hears(&sample("github", "pull-request-opened"), &secret).await;
    let preview = &server.previews(&admin, id).await[0];
    let made = server.application(&admin, &preview["id"]).await;
    assert_eq!(made["preview_of"], json!(id));
    assert_eq!(made["environment"], "preview");
    let settings = &made["settings"];
    assert_eq!(
        (&settings["replicas"], &settings["memory_mb"], &settings["cpu_millis"]),
        (&json!(1), &json!(256), &json!(1000))
    );
    assert_eq!((&made["port"], &made["pre_run_command"]), (&json!(3000), &json!("migrate")));
    let variables = |name: &str| serde_json::from_str::<Value>(made[name].as_str().unwrap()).unwrap();
    assert_eq!(
        variables("environment_variables"),
        json!({ "GREETING": "preview", "MODE": "fast", "MARKED": "********" }),
        "of secrets those that are marked"
    );
    assert_eq!(variables("build_variables"), json!({ "BUILD": "b" }));
    assert_eq!(made["volumes"].as_array().unwrap().len(), 1);
    let volumes = server.application(&admin, &json!(id)).await["volumes"].clone();
    assert_ne!(made["volumes"][0]["id"], volumes[0]["id"], "a volume of its own");
    assert_eq!(made["has_repository_credentials"], true);
    assert_eq!(made["triggers"]["previews"], false);

    // What the application is changed to counts from the next deployment of the preview on.
    let change = json!({ "id": id, "port": 4000, "preview_variables": { "GREETING": "later" } });
    server.put("/deploy/application", change).by(&admin).ok().await;
    server.hears(&sample("github", "pull-request-synchronize"), &secret).await;
    let made = server.application(&admin, &preview["id"]).await;
    assert_eq!(made["port"], 4000);
    assert!(made["environment_variables"].as_str().unwrap().contains("later"));
}

async fn forks_need_an_admin_and_get_no_secret(server: TestServer) {
    let admin = server.admin().await;
    let member = server.join(&admin, "mia", Role::Member).await;
    for host in HOSTS {
        let fields = json!({
            "environment_variables": { "GREETING": "hello", "KEY": "k", "MARKED": "m" },
            "build_variables": { "BUILD": "b" },
            "preview_variables": { "OPEN": "o", "TEST_KEY": "t" },
            "secret_names": ["KEY", "MARKED", "TEST_KEY"], "preview_secret_names": ["MARKED"],
        });
        let (id, secret) = server.previewed(&admin, host, fields).await;
        let fork = sample(host, "pull-request-opened-from-fork");
        let told = server.hears(&fork, &secret).await;
        assert!(told.contains("from a fork") && told.contains("preview_forks"), "{host}: {told}");
        assert!(server.previews(&admin, id).await.is_empty(), "{host}");

        let allow = json!({ "id": id, "preview_forks": true });
        let refused = server.put("/deploy/application", allow.clone()).by(&member).fails(403, "forbidden").await;
        assert!(refused.contains("deploy:forks"), "{refused}");
        server.put("/deploy/application", allow).by(&admin).ok().await;
        let told = server.hears(&fork, &secret).await;
        if host == "bitbucket" {
            assert!(told.starts_with("Nothing was deployed."), "{told}");
            continue;
        }
        assert_eq!(told, QUEUED, "{host}");
        let preview = &server.previews(&admin, id).await[0];
        assert_eq!(preview["is_fork"], true, "{host}");
        let made = server.application(&admin, &preview["id"]).await;
        assert_eq!(
            made["environment_variables"],
            json!("{\"OPEN\":\"o\"}"),
            "{host}: nothing of the application's own"
        );
        assert_eq!((&made["build_variables"], &made["secret_names"]), (&json!("{}"), &json!([])), "{host}");
        assert!(made["branch"].as_str().unwrap().starts_with("refs/"), "{host}: {}", made["branch"]);
        // What ran as a fork does not get secrets later on.
        let number = preview["pull_request"].clone();
        let own = json!({ "pull_request": number, "branch": "blue" });
        server.post(&format!("/deploy/application/{id}/previews"), own).by(&admin).fails(409, "conflict").await;
    }
}

async fn a_late_delivery_does_not_bring_a_preview_back(server: TestServer) {
    let admin = server.admin().await;
    let (id, secret) = server.previewed(&admin, "github", json!({})).await;
    let opened = sample("github", "pull-request-opened");
    let at = |sample: &Sample, time: &str| {
        let mut sample = sample.clone();
        sample.body["pull_request"]["updated_at"] = json!(time);
        sample
    };
    assert_eq!(server.hears(&at(&opened, "2026-01-01T10:00:00Z"), &secret).await, QUEUED);
    let told = server.hears(&at(&opened, "2026-01-01T10:00:00Z"), &secret).await;
    assert!(told.contains("of this commit too"), "{told}");
    server.hears(&at(&sample("github", "pull-request-closed"), "2026-01-01T10:00:09Z"), &secret).await;
    let told = server.hears(&at(&sample("github", "pull-request-synchronize"), "2026-01-01T10:00:05Z"), &secret).await;
    assert!(told.contains("newer delivery"), "{told}");
    assert!(server.previews(&admin, id).await.is_empty());
    // Opened again it has the same commit, and gets a preview again.
    let reopened = at(&sample("github", "pull-request-reopened"), "2026-01-01T10:01:00Z");
    assert_eq!(server.hears(&reopened, &secret).await, QUEUED);
    assert_eq!(server.previews(&admin, id).await.len(), 1);
}

async fn previews_are_configured_by_their_application(server: TestServer) {
    let admin = server.admin().await;
    let (id, _) = server.previewed(&admin, "github", json!({})).await;
    let preview = server.preview(&admin, id, 7).await;
    let body = json!({ "id": preview["id"], "port": 4000 });
    let told = server.put("/deploy/application", body).by(&admin).fails(409, "conflict").await;
    assert!(told.contains("Shop of github"), "{told}");
    let body = json!({ "name": preview["name"], "repository": repository("github"), "port": 4000 });
    server.post("/deploy/application", body).by(&admin).fails(409, "conflict").await;
    let body = json!({ "id": preview["id"], "force_without_cache": false, "force": false });
    server.post("/deploy/application/redeploy", body).by(&admin).ok().await;
    let body = json!({ "id": preview["id"], "name": preview["name"] });
    server.delete("/deploy/application").json(body).by(&admin).ok().await;
    assert!(server.previews(&admin, id).await.is_empty(), "deleting its application ends it too");
}

/// What would let a stranger's code in by another name, or put data where a pull request's end removes it.
async fn previews_have_no_back_doors(server: TestServer) {
    let admin = server.admin().await;
    let fields = json!({ "preview_forks": true, "volumes": [{ "name": "data", "path": "/data" }] });
    let (id, secret) = server.previewed(&admin, "github", fields).await;
    let body = json!({ "pull_request": 9, "branch": "refs/pull/9/head" });
    let preview = server.post(&format!("/deploy/application/{id}/previews"), body).by(&admin).ok().await;
    let made = server.application(&admin, &preview["id"]).await;
    assert_eq!(made["branch"], "refs/heads/refs/pull/9/head", "a branch, whatever it is called");
    let preview = id_of(&preview);
    let at = |path: &str| format!("/deploy/application/{preview}{path}");
    let volume = json!({ "name": "more", "path": "/more" });
    server.post(&at("/volumes"), volume).by(&admin).fails(409, "conflict").await;
    server.call(Method::POST, &at("/webhook/register")).by(&admin).fails(409, "conflict").await;
    server.post(&at("/webhook/rotate"), json!({})).by(&admin).fails(409, "conflict").await;
    let left = server.running(&admin, json!({
        "name": "left", "repository": "https://example.org/left", "volumes": [{ "name": "kept", "path": "/kept" }],
    })).await;
    let kept = left["volumes"][0]["id"].as_str().unwrap();
    server.delete("/deploy/application").json(json!({ "id": left["id"], "name": "left" })).by(&admin).ok().await;
    let attach = json!({ "application_id": preview });
    server.post(&format!("/deploy/volumes/{kept}/attach"), attach).by(&admin).fails(409, "conflict").await;

    // A volume that takes another's place in the application does so in the preview.
    server.delete(&format!("/deploy/application/{id}/volumes/data")).by(&admin).ok().await;
    let renamed = json!({ "name": "store", "path": "/data" });
    server.post(&format!("/deploy/application/{id}/volumes"), renamed).by(&admin).ok().await;
    server.preview(&admin, id, 9).await;
    let volumes = server.application(&admin, &json!(preview)).await["volumes"].clone();
    assert_eq!((volumes.as_array().unwrap().len(), &volumes[0]["name"]), (1, &json!("store")), "{volumes}");

    assert_eq!(server.hears(&sample("github", "pull-request-opened-from-fork"), &secret).await, QUEUED);
    assert_eq!(server.previews(&admin, id).await.len(), 2);
    server.put("/deploy/application", json!({ "id": id, "preview_forks": false })).by(&admin).ok().await;
    let left = server.previews(&admin, id).await;
    assert_eq!(
        (left.len(), &left[0]["is_fork"]),
        (1, &json!(false)),
        "those of forks end when they are not allowed any more"
    );
}

async fn idle_previews_end(kind: Kind) {
    let server = TestServer::with(kind, &[("preview-days", "1")]).await;
    let admin = server.admin().await;
    let (id, _) = server.previewed(&admin, "github", json!({})).await;
    let preview = server.preview(&admin, id, 7).await;
    assert_eq!(end_idle(&server.app).await.unwrap(), 0);
    server.app.clock.advance_seconds(20 * 3_600);
    let busy = server.preview(&admin, id, 8).await;
    server.app.clock.advance_seconds(5 * 3_600);
    assert_eq!(end_idle(&server.app).await.unwrap(), 1);
    let left = server.previews(&admin, id).await;
    assert_eq!((left.len(), &left[0]["id"]), (1, &busy["id"]), "the other was {}", preview["id"]);
}

async fn previews_end_with_their_application(server: TestServer) {
    let admin = server.admin().await;
    let (id, _) = server.previewed(&admin, "github", json!({})).await;
    let preview = server.preview(&admin, id, 7).await;
    let body = json!({ "id": id, "name": "Shop of github" });
    server.delete("/deploy/application").json(body).by(&admin).ok().await;
    server.get(&format!("/deploy/previews/{}", id_of(&preview))).by(&admin).fails(404, "not_found").await;
}

async fn other_organizations_have_no_part_in_previews(server: TestServer) {
    let admin = server.admin().await;
    let eve = server.stranger(&admin, "eve").await;
    let (id, _) = server.previewed(&admin, "github", json!({})).await;
    let preview = id_of(&server.preview(&admin, id, 7).await);
    for path in [format!("/deploy/application/{id}/previews"), format!("/deploy/previews/{preview}")] {
        server.get(&path).by(&eve).fails(404, "not_found").await;
    }
    server.delete(&format!("/deploy/previews/{preview}")).by(&eve).fails(404, "not_found").await;
    let body = json!({ "pull_request": 1, "branch": "blue" });
    server.post(&format!("/deploy/application/{id}/previews"), body).by(&eve).fails(404, "not_found").await;
    assert_eq!(server.previews(&admin, id).await.len(), 1);
}

async fn what_cannot_have_previews_says_so(server: TestServer) {
    let admin = server.admin().await;
    let (id, secret) = server.previewed(&admin, "github", json!({ "previews": false })).await;
    let told = server.hears(&sample("github", "pull-request-opened"), &secret).await;
    assert!(told.contains("previews"), "{told}");
    let preview = id_of(&server.preview(&admin, id, 7).await);
    let body = json!({ "pull_request": 1, "branch": "blue" });
    let post = async |id: Uuid, body: &Value| {
        server.post(&format!("/deploy/application/{id}/previews"), body.clone()).by(&admin).send().await
    };
    assert_eq!(post(preview, &body).await.status, 409, "a preview of a preview");
    let pushed = server.deploy(&admin, json!({ "name": "pushed", "repository": "push" })).await;
    assert_eq!(post(id_of(&pushed), &body).await.status, 409, "what is pushed to");
    for bad in [
        json!({ "pull_request": 0, "branch": "blue" }),
        json!({ "pull_request": 1, "branch": "-x" }),
        json!({ "branch": "blue" }),
        json!({ "pull_request": 1, "branch": "blue", "other": 1 }),
    ] {
        assert_eq!(post(id, &bad).await.status, 400, "{bad}");
    }
    let marked = json!({ "id": id, "preview_secret_names": ["NONE"] });
    let told = server.put("/deploy/application", marked).by(&admin).fails(400, "invalid_request").await;
    assert!(told.contains("preview_secret_names"), "{told}");
}

async fn previews_have_a_limit(kind: Kind) {
    let server = TestServer::with(kind, &[("application-previews", "2")]).await;
    let admin = server.admin().await;
    let (id, secret) = server.previewed(&admin, "github", json!({})).await;
    let first = server.preview(&admin, id, 101).await;
    server.preview(&admin, id, 102).await;
    let told = server.hears(&sample("github", "pull-request-opened"), &secret).await;
    assert!(told.contains("application-previews"), "{told}");
    server.preview(&admin, id, 101).await;
    server.delete(&format!("/deploy/previews/{}", id_of(&first))).by(&admin).ok().await;
    assert_eq!(server.hears(&sample("github", "pull-request-opened"), &secret).await, QUEUED);
}

async fn forks_take_half_of_the_previews(kind: Kind) {
    let server = TestServer::with(kind, &[("application-previews", "3")]).await;
    let admin = server.admin().await;
    let (_, secret) = server.previewed(&admin, "github", json!({ "preview_forks": true })).await;
    let opened = |number: i64| {
        let mut fork = sample("github", "pull-request-opened-from-fork");
        (fork.body["number"], fork.body["pull_request"]["number"]) = (json!(number), json!(number));
        fork
    };
    for number in [201, 202] {
        assert_eq!(server.hears(&opened(number), &secret).await, QUEUED);
    }
    let told = server.hears(&opened(203), &secret).await;
    assert!(told.contains("2 previews of forks"), "{told}");
    assert_eq!(server.hears(&sample("github", "pull-request-opened"), &secret).await, QUEUED);
}
