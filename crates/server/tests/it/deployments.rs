//! Deployments: what is queued, what takes its place, and what can be gone back to.

use serde_json::{Value, json};
use windlass_api::{DeploymentState, Role};
use windlass_store::{applications, deployments, jobs, releases};
use windlass_testing::on_both_databases;

use crate::deploys::{least, most};
use crate::support::{Person, TestServer, id_of, server, snapshot};

on_both_databases!(server: a_newer_one_takes_the_place, a_restart_does_not_take_the_place_of_a_deploy, cancelling,
    stopping_and_starting, restarting, rolling_back, pages_of_deployments, log_lines_come_in_pages, embedded_arrays_are_bounded,
    tenants_never_meet, workers_are_told, many_at_once, a_viewer_may_not, who_set_it_off_is_told_to_members,
    two_releases_are_compared);

impl TestServer {
    async fn act(&self, person: &Person, what: &str, id: &Value) -> Value {
        self.post(&format!("/deploy/application/{what}"), json!({ "id": id })).by(person).ok().await
    }

    async fn refuses(&self, person: &Person, what: &str, id: &Value, code: &str) -> String {
        self.post(&format!("/deploy/application/{what}"), json!({ "id": id })).by(person).fails(409, code).await
    }

    async fn state(&self, deployment: &Value) -> (DeploymentState, String) {
        let mut conn = self.app.db.read().await.unwrap();
        let row = deployments::get(&mut conn, id_of(deployment)).await.unwrap().unwrap();
        (row.state, row.reason)
    }

    async fn jobs(&self, application: &Value) -> Vec<(String, bool)> {
        let mut conn = self.app.db.read().await.unwrap();
        let all = jobs::of_application(&mut conn, id_of(application)).await.unwrap();
        all.into_iter()
            .map(|job| {
                let is_of_deployment = job.payload.contains("deployment_id");
                (job.kind, is_of_deployment)
            })
            .collect()
    }
}

async fn a_newer_one_takes_the_place(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.running(&ada, least("shop")).await;
    let under_way = server.act(&ada, "redeploy", &shop["id"]).await;
    server.begin_work(id_of(&under_way)).await;
    let restart = server.act(&ada, "restart", &shop["id"]).await;
    let waiting = server.act(&ada, "redeploy", &shop["id"]).await;
    assert_eq!(waiting["kind"], "redeploy");
    let rollback = server.act(&ada, "rollback", &shop["deployments"][0]["id"]).await;
    let superseded_by =
        |newer: &Value| (DeploymentState::Cancelled, format!("superseded by {}", newer["id"].as_str().unwrap()));
    assert_eq!(server.state(&restart).await, superseded_by(&waiting));
    assert_eq!(server.state(&waiting).await, superseded_by(&rollback));
    // What a worker has begun goes on.
    assert_eq!(server.state(&under_way).await, (DeploymentState::Cloning, String::new()));
    let jobs = [("deploy".to_owned(), true), ("roll-out".to_owned(), true)];
    assert_eq!(server.jobs(&shop).await, jobs, "what is under way, and the last one");
}

async fn a_restart_does_not_take_the_place_of_a_deploy(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.running(&ada, least("shop")).await;
    let deploy = server.act(&ada, "redeploy", &shop["id"]).await;
    let first = server.act(&ada, "restart", &shop["id"]).await;
    let second = server.act(&ada, "restart", &shop["id"]).await;
    assert_eq!(server.state(&deploy).await.0, DeploymentState::Queued);
    assert_eq!(server.state(&first).await.0, DeploymentState::Cancelled);
    assert_eq!(server.state(&second).await.0, DeploymentState::Queued);
}

async fn cancelling(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.deploy(&ada, least("shop")).await;
    let id = &shop["deployments"][0]["id"];
    let reply = server.post("/deploy/application/cancel-deployment", json!({ "id": id })).by(&ada).send().await;
    assert_eq!(reply.json["message"], "Deployment cancelled");
    assert_eq!(reply.json["data"]["status"]["status"], "cancelled");
    assert_eq!(reply.json["data"]["reason"], "cancelled by Ada");
    assert_eq!(reply.json["data"]["application"]["status"]["status"], "failed", "nothing serves");
    assert_eq!(server.jobs(&shop).await, []);
    let message = server.refuses(&ada, "cancel-deployment", id, "conflict").await;
    assert_eq!(message, "This deployment is over: it is cancelled.");

    let under_way = server.act(&ada, "redeploy", &shop["id"]).await;
    server.begin_work(id_of(&under_way)).await;
    let cancel = json!({ "id": under_way["id"] });
    let reply = server.post("/deploy/application/cancel-deployment", cancel).by(&ada).send().await;
    assert_eq!(reply.json["message"], "Deployment is being cancelled");
    assert_eq!(reply.json["data"]["status"]["status"], "cloning", "as it is");
    let mut conn = server.app.db.read().await.unwrap();
    let row = deployments::get(&mut conn, id_of(&under_way)).await.unwrap().unwrap();
    assert_eq!(row.reason, "cancelled by Ada");
    assert!(jobs::is_cancel_requested(&mut conn, row.id).await.unwrap());
}

async fn stopping_and_starting(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.running(&ada, least("shop")).await;
    assert_eq!(server.refuses(&ada, "start", &shop["id"], "conflict").await, "shop is not stopped.");
    let waiting = server.act(&ada, "redeploy", &shop["id"]).await;
    let stopped = server.act(&ada, "stop", &shop["id"]).await;
    assert_eq!(stopped["status"]["status"], "stopped");
    assert_eq!(server.state(&waiting).await, (DeploymentState::Cancelled, "the application was stopped".into()));
    let stop = json!({ "id": shop["id"] });
    let again = server.post("/deploy/application/stop", stop).by(&ada).send().await;
    assert_eq!((again.status, &again.json["message"]), (200, &json!("Application is stopped already")));
    assert_eq!(server.jobs(&shop).await, [("stop".to_owned(), false)]);
    assert!(server.refuses(&ada, "restart", &shop["id"], "conflict").await.contains("not running"));

    let started = server.act(&ada, "start", &shop["id"]).await;
    assert_eq!((&started["kind"], &started["release_id"]), (&json!("start"), &shop["deployments"][0]["id"]));
    assert_eq!(started["commit_hash"], shop["deployments"][0]["commit_hash"]);
    assert_eq!(server.jobs(&shop).await, [("stop".to_owned(), false), ("roll-out".to_owned(), true)], "in this order");
    assert_eq!(server.application(&ada, &shop["id"]).await["status"]["status"], "deploying");

    let never = server.deploy(&ada, least("never")).await;
    server.act(&ada, "stop", &never["id"]).await;
    let message = server.refuses(&ada, "start", &never["id"], "conflict").await;
    assert_eq!(message, "never has no release that could be started: deploy it first.");
    // A deploy starts it too.
    assert_eq!(server.deploy(&ada, least("never")).await["status"]["status"], "deploying");
}

async fn restarting(server: TestServer) {
    let ada = server.admin().await;
    let queued = server.deploy(&ada, least("queued")).await;
    let message = server.refuses(&ada, "restart", &queued["id"], "conflict").await;
    assert_eq!(message, "queued is not running, so there is nothing to restart.");
    let shop = server.running(&ada, least("shop")).await;
    let first = shop["deployments"][0]["id"].clone();
    let restart = server.act(&ada, "restart", &first).await;
    assert_eq!((&restart["kind"], &restart["release_id"]), (&json!("restart"), &first));
    assert_eq!((&restart["application_id"], &restart["container_id"]), (&shop["id"], &json!("")));
    server.make_live(id_of(&restart)).await;
    let message = server.refuses(&ada, "restart", &first, "conflict").await;
    assert!(message.starts_with("This deployment is not the live one."), "{message}");
    server.act(&ada, "restart", &restart["id"]).await;
    let unknown = json!({ "id": "01900000-0000-7000-8000-ffffffffffff" });
    let message = server.post("/deploy/application/restart", unknown).by(&ada).fails(404, "not_found").await;
    assert_eq!(message, "No such application or deployment.");
}

async fn rolling_back(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.running(&ada, with_branch("first")).await;
    let first = shop["deployments"][0].clone();
    assert_eq!(first["can_roll_back"], true);
    server.app.clock.advance_seconds(60);
    let shop = server.running(&ada, with_branch("second")).await;
    let second = shop["deployments"][0].clone();
    let waiting = server.act(&ada, "redeploy", &shop["id"]).await;
    assert_eq!((&waiting["can_roll_back"], &waiting["container_image"]), (&json!(false), &json!("")));
    let message = server.refuses(&ada, "rollback", &waiting["id"], "release_gone").await;
    assert_eq!(message, "The release of this deployment was never live, or its image is not kept any more.");

    let rollback = server.act(&ada, "rollback", &first["id"]).await;
    assert_eq!((&rollback["kind"], &rollback["release_id"]), (&json!("rollback"), &first["id"]));
    assert_eq!(rollback["container_image"], first["container_image"]);
    server.make_live(id_of(&rollback)).await;
    // What the next deploy would be made with is not what is live now.
    assert_eq!(server.application(&ada, &shop["id"]).await["pending_fields"], json!(["branch"]));
    // A rollback's own deployment leads to the same release.
    let back = server.act(&ada, "rollback", &rollback["id"]).await;
    assert_eq!(back["release_id"], first["id"]);

    let mut tx = server.app.db.begin().await.unwrap();
    releases::set_removed(&mut tx, id_of(&second), server.app.now()).await.unwrap();
    tx.commit().await.unwrap();
    server.refuses(&ada, "rollback", &second["id"], "release_gone").await;
    let seen = server.get(&format!("/deploy/application/deployments/{}", id_of(&second))).by(&ada).ok().await;
    assert_eq!(seen["can_roll_back"], false);
}

fn with_branch(branch: &str) -> Value {
    let mut body = least("shop");
    body["branch"] = json!(branch);
    body
}

async fn pages_of_deployments(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.deploy(&ada, least("shop")).await;
    for _ in 0..24 {
        server.act(&ada, "redeploy", &shop["id"]).await;
    }
    let id = id_of(&shop);
    for (query, length, first) in [
        ("", 10, "redeploy"),
        ("&page=3", 5, "redeploy"),
        ("&limit=100", 25, "redeploy"),
        ("&page_size=1&page=25", 1, "deploy"),
    ] {
        let path = format!("/deploy/application/deployments?id={id}{query}");
        let listed = server.get(&path).by(&ada).ok().await;
        let rows = listed["deployments"].as_array().unwrap();
        assert_eq!((rows.len(), &rows[0]["kind"]), (length, &json!(first)), "{query}");
        assert_eq!(listed["pagination"]["total_count"], 25);
        assert_eq!((&rows[0]["application"], &rows[0]["logs"]), (&json!({}), &json!([])));
    }
    for (query, field) in [("&limit=0", "limit"), ("&limit=101", "limit"), ("&page=x", "page")] {
        let path = format!("/deploy/application/deployments?id={id}{query}");
        let message = server.get(&path).by(&ada).fails(400, "invalid_request").await;
        assert!(message.starts_with(field), "{message}");
    }
}

async fn log_lines_come_in_pages(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.deploy(&ada, least("shop")).await;
    let id = id_of(&shop["deployments"][0]);
    let empty = server.get(&format!("/deploy/application/deployments/{id}/logs")).by(&ada).ok().await;
    assert_eq!(empty, json!({ "logs": [], "next_cursor": "" }));
    server.print(id, (1..=250).map(|number| format!("line {number}"))).await;
    let read = async |query: &str| {
        let page = server.get(&format!("/deploy/application/deployments/{id}/logs?{query}")).by(&ada).ok().await;
        let lines: Vec<_> = page["logs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|line| line["log"].as_str().unwrap().trim_start_matches("line ").parse::<u32>().unwrap())
            .collect();
        (lines, page["next_cursor"].as_str().unwrap().to_owned())
    };
    let (lines, cursor) = read("").await;
    assert_eq!(lines, (151..=250).rev().collect::<Vec<_>>());
    let (lines, cursor) = read(&format!("before={cursor}")).await;
    assert_eq!(lines, (51..=150).rev().collect::<Vec<_>>());
    let (lines, none) = read(&format!("before={cursor}&page_size=50")).await;
    assert_eq!((lines, none.as_str()), ((1..=50).rev().collect::<Vec<_>>(), ""));
    // Forward, oldest first, and on from where it ended.
    assert_eq!(read("after=0&page_size=2").await.0, [1, 2]);
    let (lines, cursor) = read(&format!("after={cursor}&page_size=150")).await;
    assert_eq!(lines, (52..=201).collect::<Vec<_>>());
    let (lines, cursor) = read(&format!("after={cursor}")).await;
    assert_eq!(lines, (202..=250).collect::<Vec<_>>());
    let (lines, again) = read(&format!("after={cursor}")).await;
    assert_eq!((lines, &again), (Vec::new(), &cursor));
    server.print(id, std::iter::once("line 251".to_owned())).await;
    assert_eq!(read(&format!("after={cursor}")).await.0, [251]);
    for (query, field) in
        [("before=x", "before"), ("after=-1", "after"), ("page_size=1001", "page_size"), ("before=1&after=1", "after")]
    {
        let path = format!("/deploy/application/deployments/{id}/logs?{query}");
        let message = server.get(&path).by(&ada).fails(400, "invalid_request").await;
        assert!(message.starts_with(field), "{message}");
    }
}

async fn embedded_arrays_are_bounded(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.deploy(&ada, least("shop")).await;
    for _ in 0..21 {
        server.act(&ada, "redeploy", &shop["id"]).await;
    }
    let seen = server.application(&ada, &shop["id"]).await;
    let newest = id_of(&seen["deployments"][0]);
    server.print(newest, (1..=120).map(|number| format!("line {number}"))).await;
    let seen = server.application(&ada, &shop["id"]).await;
    assert_eq!(seen["deployments"].as_array().unwrap().len(), 20);
    assert_eq!((seen["logs"].as_array().unwrap().len(), &seen["logs"][0]["log"]), (100, &json!("line 120")));
    assert_eq!((&seen["logs"][0]["application"], &seen["logs"][0]["application_deployment"]), (&json!({}), &json!({})));
    let seen = server.get(&format!("/deploy/application/deployments/{newest}")).by(&ada).ok().await;
    assert_eq!(seen["logs"].as_array().unwrap().len(), 100);
    assert_eq!((&seen["application"]["deployments"], &seen["application"]["logs"]), (&json!([]), &json!([])));
    assert_eq!(seen["application"]["organization"]["name"], "Analytical Engines");
}

async fn tenants_never_meet(server: TestServer) {
    let ada = server.admin().await;
    let eve = server.stranger(&ada, "eve").await;
    let shop = server.running(&ada, most("shop")).await;
    let (id, deployment) = (shop["id"].as_str().unwrap(), shop["deployments"][0]["id"].as_str().unwrap());
    assert_eq!(server.get("/deploy/applications").by(&eve).ok().await["pagination"]["total_count"], 0);
    let unknown = "01900000-0000-7000-8000-ffffffffffff";
    let paths = [
        format!("/deploy/application?id={id}"),
        format!("/deploy/application/deployments?id={id}"),
        format!("/deploy/application/deployments/{deployment}"),
        format!("/deploy/application/deployments/{deployment}/logs"),
    ];
    for path in paths {
        let foreign = server.get(&path).by(&eve).send().await;
        let nothing = server.get(&path.replace(id, unknown).replace(deployment, unknown)).by(&eve).send().await;
        assert_eq!((foreign.status, &foreign.text), (404, &nothing.text), "{path}");
    }
    for (what, id) in [
        ("redeploy", id),
        ("restart", id),
        ("restart", deployment),
        ("stop", id),
        ("start", id),
        ("rollback", deployment),
        ("cancel-deployment", deployment),
    ] {
        let path = format!("/deploy/application/{what}");
        server.post(&path, json!({ "id": id })).by(&eve).fails(404, "not_found").await;
    }
    server.put("/deploy/application", json!({ "id": id, "branch": "x" })).by(&eve).fails(404, "not_found").await;
    let delete = json!({ "id": id, "name": "shop" });
    server.delete("/deploy/application").json(delete).by(&eve).fails(404, "not_found").await;
    // In another of one's own organizations it is not there either.
    let second = server.post("/organizations", json!({ "name": "Second" })).by(&ada).ok().await;
    let path = format!("/deploy/application?id={id}");
    server.get(&path).by(&ada).within(id_of(&second)).fails(404, "not_found").await;
    // A user who shares no more than the organization sees its creator, and none of their other organizations.
    let viewer = server.join(&ada, "viewer", Role::Viewer).await;
    let seen = server.application(&viewer, &shop["id"]).await;
    assert_eq!(seen["user"]["organizations"].as_array().unwrap().len(), 1);
    assert!(!seen.to_string().contains(second["id"].as_str().unwrap()));
}

/// After every commit that leaves something to do, the workers are told.
/// The worker of what there is to do, the reconciler of what visitors are to see: a page that says "stopped" must not stay when the
/// application is started.
async fn workers_are_told(server: TestServer) {
    let ada = server.admin().await;
    let told = async |who: &str, told: &tokio::sync::Notify| {
        tokio::time::timeout(std::time::Duration::from_secs(5), told.notified())
            .await
            .unwrap_or_else(|_| panic!("{who}"));
    };
    let worker = async |what: &str| told(&format!("{what}: the worker is told"), &server.app.jobs_waiting).await;
    let reconciler =
        async |what: &str| told(&format!("{what}: the reconciler is told"), &server.app.rows_changed).await;
    let shop = server.deploy(&ada, least("shop")).await;
    worker("deploy").await;
    reconciler("deploy").await;
    server.make_live(id_of(&shop["deployments"][0])).await;
    for what in ["redeploy", "restart", "stop", "start"] {
        server.act(&ada, what, &shop["id"]).await;
        worker(what).await;
        if what != "restart" {
            reconciler(what).await;
        }
    }
    // Routes are made of rows.
    let body = json!({ "id": shop["id"], "domain": "www.example.org" });
    server.put("/deploy/application", body).by(&ada).ok().await;
    reconciler("update").await;
    server.delete("/deploy/application").json(json!({ "id": shop["id"], "name": "shop" })).by(&ada).ok().await;
    worker("delete").await;
    reconciler("delete").await;
    let mut conn = server.app.db.read().await.unwrap();
    assert!(applications::get(&mut conn, id_of(&shop)).await.unwrap().is_some());
}

async fn many_at_once(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.running(&ada, least("shop")).await;
    let redeploy = || server.act(&ada, "redeploy", &shop["id"]);
    tokio::join!(redeploy(), redeploy(), redeploy(), redeploy(), redeploy(), redeploy());
    let seen = server.application(&ada, &shop["id"]).await;
    let states: Vec<_> = seen["deployments"].as_array().unwrap().iter().map(|row| &row["status"]["status"]).collect();
    assert_eq!(states, ["queued", "cancelled", "cancelled", "cancelled", "cancelled", "cancelled", "deployed"]);
    assert_eq!(server.jobs(&shop).await, [("deploy".to_owned(), true)]);
    // Several organizations want the same domain in the same instant.
    let eve = server.stranger(&ada, "eve").await;
    let mallory = server.stranger(&ada, "mallory").await;
    let deploy = |person| server.deploy(person, least("blog"));
    let (a, b, c) = tokio::join!(deploy(&ada), deploy(&eve), deploy(&mallory));
    let mut domains = [&a, &b, &c].map(|application| application["domain"].as_str().unwrap());
    domains.sort_unstable_by_key(|domain| domain.len());
    assert_eq!(domains[0], "blog.localhost");
    assert!(domains[1..].iter().all(|domain| domain.starts_with("blog-")) && domains[1] != domains[2], "{domains:?}");
}

/// By whichever of its ids an application is named.
async fn a_viewer_may_not(server: TestServer) {
    let ada = server.admin().await;
    let viewer = server.join(&ada, "viewer", Role::Viewer).await;
    let shop = server.running(&ada, least("shop")).await;
    for id in [&shop["id"], &shop["deployments"][0]["id"]] {
        let call = server.post("/deploy/application/restart", json!({ "id": id })).by(&viewer);
        assert!(call.fails(403, "forbidden").await.contains("deploy:update"));
    }
}

async fn who_set_it_off_is_told_to_members(server: TestServer) {
    let ada = server.admin().await;
    let grace = server.join(&ada, "grace", Role::Member).await;
    let shop = server.running(&ada, least("shop")).await;
    assert_eq!(shop["deployments"][0]["user_name"], "Ada");
    server.act(&grace, "redeploy", &shop["id"]).await;
    let listed = async |person: &Person| {
        let page = server.get("/deploy/applications").by(person).ok().await;
        page["applications"][0]["deployments"].clone()
    };
    let newest = listed(&ada).await;
    assert_eq!(newest.as_array().unwrap().len(), 1, "a list has the newest deployment of each");
    assert_eq!((&newest[0]["kind"], &newest[0]["user_name"]), (&json!("redeploy"), &json!("grace")));
    assert_eq!(newest[0]["user_id"], json!(grace.user_id));
    let key = json!({ "name": "k", "organization_id": ada.organization_id, "permissions": ["deploy:read"] });
    let key = server.post("/auth/api-keys", key).by(&ada).ok().await["key"].as_str().unwrap().to_owned();
    let program = Person { token: key, ..ada.clone() };
    let unseen = listed(&program).await;
    assert_eq!((&unseen[0]["user_name"], &unseen[0]["user_id"]), (&json!(""), &json!(null)), "it may not see members");
    let removal = json!({ "organization_id": ada.organization_id, "user_id": grace.user_id });
    server.post("/organizations/remove-user", removal).by(&ada).ok().await;
    assert_eq!(listed(&ada).await[0]["user_name"], "", "grace has left");
}

async fn two_releases_are_compared(server: TestServer) {
    let ada = server.admin().await;
    let viewer = server.join(&ada, "viewer", Role::Viewer).await;
    let first = server.running(&ada, most("shop")).await;
    let change = json!({
        "id": first["id"], "port": 4000, "environment_variables": { "COLOR": "green", "API_KEY": "an entirely new one" },
        "secret_names": ["API_KEY"], "build_variables": {},
    });
    server.put("/deploy/application", change).by(&ada).ok().await;
    let second = server.act(&ada, "redeploy", &first["id"]).await;
    let compare = format!("/deploy/application/{}/compare", id_of(&first));
    let path = |after: &Value, before: &Value| format!("{compare}?from={}&to={}", id_of(before), id_of(after));
    let forth = path(&second, &first["deployments"][0]);
    let compared = server.get(&forth).by(&ada).ok().await;
    snapshot("two_releases_are_compared", &compared);
    assert!(!compared.to_string().contains("entirely new"), "a secret is shown");
    let masked = server.get(&forth).by(&viewer).ok().await;
    assert!(!masked.to_string().contains("green"), "a viewer sees a value");
    // COLOR is marked later, with the value that it has: what was plain before is hidden too.
    let mark = json!({ "id": first["id"], "secret_names": ["API_KEY", "COLOR"] });
    server.put("/deploy/application", mark).by(&ada).ok().await;
    let hidden = server.get(&forth).by(&ada).ok().await;
    assert!(!hidden.to_string().contains("green"), "what is secret by now is shown");
    let none = server.get(&path(&second, &second)).by(&ada).ok().await;
    assert_eq!(none["changes"], json!([]));
    let other = server.running(&ada, least("other")).await;
    for foreign in [path(&second, &other["deployments"][0]), path(&other["deployments"][0], &second)] {
        let message = server.get(&foreign).by(&ada).fails(404, "not_found").await;
        assert_eq!(message, "No such deployment.");
    }
    let eve = server.stranger(&ada, "eve").await;
    server.get(&forth).by(&eve).fails(404, "not_found").await;
    let theirs = server.running(&eve, least("theirs")).await;
    let mixed = path(&second, &theirs["deployments"][0]);
    server.get(&mixed).by(&ada).fails(404, "not_found").await;
    for (query, message) in [
        (format!("from=17&to={}", id_of(&second)), "from: must be a UUID"),
        (format!("from={}&to=17", id_of(&second)), "to: must be a UUID"),
        (format!("from={}", id_of(&second)), "to: is required"),
    ] {
        let refused = server.get(&format!("{compare}?{query}")).by(&ada).fails(400, "invalid_request").await;
        assert!(refused.starts_with(message), "{refused}");
    }
}
