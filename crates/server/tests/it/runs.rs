//! Command runs and schedules: what may be asked for, and by whom. What the engine makes of it is tested with the binary.

use serde_json::{Value, json};
use uuid::Uuid;
use windlass_api::{Role, RunStatus, Timestamp};
use windlass_server::runs::keeper::Keeper;
use windlass_server::service::queue;
use windlass_store::jobs::{self, Search};
use windlass_store::logs::{Batch, LogLine};
use windlass_store::runs::{self, End};
use windlass_store::schedules::{self, Schedule};
use windlass_testing::{Kind, on_both_databases};

use crate::deploys::least;
use crate::follow::Events;
use crate::support::{Person, TestServer, id_of, kind, server};
use crate::walk::{Operation, World};

on_both_databases!(
    server: a_run_waits_and_is_cancelled, what_is_not_live_runs_nothing, commands_are_not_for_every_eye,
    lines_are_read_and_followed, schedules_are_kept, a_time_comes_once, missed_times_are_one, a_clock_that_is_set_back_runs_nothing_twice,
    overlaps, what_is_stopped_is_passed_over, previews_have_no_schedules, what_goes_with_an_application,
    histories_are_bounded, organizations_take_turns_with_their_schedules, what_cannot_be_queued_keeps_no_other_waiting,
    a_schedule_is_run_now
);
on_both_databases!(
    kind: lines_of_forgotten_runs_take_no_room, there_are_limits, a_limit_that_was_lowered_holds_for_schedules,
    two_servers_take_a_time_once
);

impl TestServer {
    async fn run(&self, person: &Person, application: Uuid, command: &str) -> Value {
        let path = format!("/deploy/application/{application}/runs");
        self.post(&path, json!({ "command": command })).by(person).ok().await
    }

    async fn shop(&self, person: &Person) -> Uuid {
        id_of(&self.running(person, least("shop")).await)
    }

    /// A worker has begun to carry out the run that waits for the longest.
    async fn begin_run(&self) -> Uuid {
        let mut tx = self.app.db.begin().await.unwrap();
        let search = Search { kinds: &[queue::RUN], sharing: &[queue::RUN], share: 100 };
        let claimed = jobs::claim(&mut tx, &search, Uuid::from_u128(77), self.app.now(), 100_000).await.unwrap();
        let id = claimed.expect("one that waits").id;
        let run = runs::get(&mut tx, id).await.unwrap().unwrap();
        assert!(runs::start(&mut tx, &run, self.app.now()).await.unwrap());
        tx.commit().await.unwrap();
        id
    }

    /// And it has ended.
    async fn end_run(&self, id: Uuid, status: RunStatus) {
        let mut tx = self.app.db.begin().await.unwrap();
        let end = End { status, exit_code: Some(0), reason: String::new() };
        assert!(runs::end(&mut tx, id, &end, self.app.now()).await.unwrap());
        let job = jobs::release_all(&mut tx, Uuid::from_u128(77)).await.unwrap();
        assert!(job > 0 && jobs::withdraw(&mut tx, id).await.unwrap());
        tx.commit().await.unwrap();
    }

    async fn print_of_run(&self, id: Uuid, text: &str) {
        let line = self.line(windlass_api::LogStream::Stdout, windlass_api::LogStep::Command, text.to_owned());
        let lines: Vec<LogLine> = vec![line];
        let batch = Batch { application_id: id, deployment_id: id, lines, progress: None };
        self.app.logs.write(batch).await.unwrap();
    }

    async fn schedule(&self, person: &Person, application: Uuid, body: Value) -> Value {
        self.post(&format!("/deploy/application/{application}/schedules"), body).by(person).ok().await
    }

    async fn runs_of(&self, person: &Person, application: Uuid, query: &str) -> Vec<Value> {
        let found = self.get(&format!("/deploy/application/{application}/runs?{query}")).by(person).ok().await;
        found["runs"].as_array().unwrap().clone()
    }

    async fn statuses(&self, person: &Person, application: Uuid) -> Vec<String> {
        let all = self.runs_of(person, application, "page_size=100").await;
        all.iter().map(|run| run["status"].as_str().unwrap().to_owned()).collect()
    }

    /// So many more of the same, also beyond what an application may have.
    async fn more_schedules(&self, like: &Value, count: usize) {
        let mut tx = self.app.db.begin().await.unwrap();
        let like = schedules::get(&mut tx, id_of(like)).await.unwrap().unwrap();
        for number in 0..count {
            let more = Schedule { id: self.app.new_id(), name: format!("more-{number}"), ..like.clone() };
            schedules::insert(&mut tx, &more).await.unwrap();
        }
        tx.commit().await.unwrap();
    }

    /// So much later the server looks which times have come.
    async fn pass(&self, seconds: i64) {
        self.app.clock.advance_seconds(seconds);
        Keeper::default().queue_due(&self.app).await.unwrap();
    }
}

fn hourly(overlap: &str) -> Value {
    json!({ "name": "report", "cron": "@hourly", "command": "bin/report", "overlap": overlap })
}

impl World {
    /// A call about a command run or a schedule.
    pub async fn about_run(&self, operation: &Operation) -> Option<(String, Value)> {
        let path = operation.path.clone();
        let of = |id: Uuid| path.replace("{application_id}", &id.to_string());
        let schedule = async || {
            let application = id_of(&self.running().await);
            let body = json!({ "name": "nightly", "cron": "30 3 * * *", "command": "bin/backup" });
            let schedule = id_of(&self.server.schedule(self.owner(), application, body).await);
            (application, schedule)
        };
        let run = async || {
            let application = id_of(&self.running().await);
            (application, id_of(&self.server.run(self.owner(), application, "bin/report --all").await))
        };
        Some(match operation.id.as_str() {
            "list_command_runs" => (of(run().await.0), Value::Null),
            "run_command" => {
                let body = json!({ "command": "bin/report\necho done", "timeout_seconds": 60 });
                (of(id_of(&self.running().await)), body)
            }
            "get_command_run" | "cancel_command_run" => {
                (path.replace("{run_id}", &run().await.1.to_string()), Value::Null)
            }
            "get_logs_of_a_command_run" | "follow_logs_of_a_command_run" => {
                let id = run().await.1;
                self.server.print_of_run(id, "all is well").await;
                (path.replace("{run_id}", &id.to_string()), Value::Null)
            }
            "list_schedules" => (of(schedule().await.0), Value::Null),
            "create_schedule" => {
                let body = json!({
                    "name": "nightly", "cron": "30 3 * * mon-fri", "time_zone": "UTC", "command": "bin/backup", "service": "",
                    "overlap": "queue", "enabled": true, "timeout_seconds": 600, "keep": 7,
                });
                (of(id_of(&self.running().await)), body)
            }
            "get_schedule" | "delete_schedule" | "run_schedule" => {
                (path.replace("{schedule_id}", &schedule().await.1.to_string()), Value::Null)
            }
            "update_schedule" => {
                let body = json!({ "name": "weekly", "cron": "@weekly", "enabled": false });
                (path.replace("{schedule_id}", &schedule().await.1.to_string()), body)
            }
            _ => return None,
        })
    }
}

async fn a_run_waits_and_is_cancelled(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.shop(&ada).await;
    let run = server.run(&ada, shop, "bin/report").await;
    assert_eq!((&run["status"], &run["exit_code"], &run["actor"]), (&json!("queued"), &Value::Null, &json!("Ada")));
    assert_eq!(run["timeout_seconds"], 3_600);
    let path = format!("/deploy/runs/{}", run["id"].as_str().unwrap());
    let cancelled = server.post(&format!("{path}/cancel"), Value::Null).by(&ada).ok().await;
    assert_eq!((&cancelled["status"], &cancelled["reason"]), (&json!("cancelled"), &json!("cancelled by Ada")));
    let message = server.post(&format!("{path}/cancel"), Value::Null).by(&ada).fails(409, "conflict").await;
    assert_eq!(message, "This run is over: it is cancelled.");
    // One that has begun is called off by its worker.
    server.run(&ada, shop, "bin/report").await;
    let id = server.begin_run().await;
    let path = format!("/deploy/runs/{id}/cancel");
    let running = server.post(&path, Value::Null).by(&ada).ok().await;
    assert_eq!(running["status"], "running");
    let mut conn = server.app.db.read().await.unwrap();
    assert!(jobs::is_cancel_requested(&mut conn, id).await.unwrap());
    let row = runs::get(&mut conn, id).await.unwrap().unwrap();
    assert_eq!((row.decided(), row.reason.as_str()), (Some(RunStatus::Cancelled), "cancelled by Ada"));
}

async fn what_is_not_live_runs_nothing(server: TestServer) {
    let ada = server.admin().await;
    let body = json!({ "command": "true" });
    let new = id_of(&server.deploy(&ada, least("new")).await);
    let path = format!("/deploy/application/{new}/runs");
    let message = server.post(&path, body.clone()).by(&ada).fails(409, "conflict").await;
    assert_eq!(message, "No command can be run: nothing of new is live yet.");
    let shop = server.shop(&ada).await;
    let path = format!("/deploy/application/{shop}/runs");
    let of_service = json!({ "command": "true", "service": "web" });
    let message = server.post(&path, of_service).by(&ada).fails(400, "invalid_request").await;
    assert_eq!(message, "service: the live release has no services");
    let long = json!({ "command": "true", "timeout_seconds": 3_601 });
    let message = server.post(&path, long).by(&ada).fails(400, "invalid_request").await;
    assert_eq!(message, "timeout_seconds: must be at most 3600 (run-seconds)");
    let waiting = server.run(&ada, shop, "true").await;
    server.post("/deploy/application/stop", json!({ "id": shop })).by(&ada).ok().await;
    let message = server.post(&path, body).by(&ada).fails(409, "conflict").await;
    assert_eq!(message, "No command can be run: shop is stopped.");
    let waited = server.get(&format!("/deploy/runs/{}", waiting["id"].as_str().unwrap())).by(&ada).ok().await;
    assert_eq!((&waited["status"], &waited["reason"]), (&json!("interrupted"), &json!("the application was stopped")));
}

async fn commands_are_not_for_every_eye(server: TestServer) {
    let ada = server.admin().await;
    let mut body = least("shop");
    body["environment_variables"] = json!({ "TOKEN": "a very secret value" });
    body["secret_names"] = json!(["TOKEN"]);
    let shop = id_of(&server.running(&ada, body).await);
    let run = server.run(&ada, shop, "curl -H 'a very secret value' example.org").await;
    server.schedule(&ada, shop, hourly("skip")).await;
    let vera = server.join(&ada, "vera", Role::Viewer).await;
    let within = |path: String| server.get(&path).by(&vera).within(ada.organization_id);
    let seen = within(format!("/deploy/runs/{}", run["id"].as_str().unwrap())).ok().await;
    assert_eq!(seen["command"], windlass_api::MASK);
    let seen = within(format!("/deploy/application/{shop}/schedules")).ok().await;
    assert_eq!(seen["schedules"][0]["command"], windlass_api::MASK);
    let path = format!("/deploy/application/{shop}/runs");
    let refused = server.post(&path, json!({ "command": "env" })).by(&vera).within(ada.organization_id);
    refused.fails(403, "forbidden").await;
    // A key that may change applications may not read variables this way.
    let key = json!({ "name": "ci", "organization_id": ada.organization_id, "permissions": ["deploy:read", "deploy:update"] });
    let key = server.post("/auth/api-keys", key).by(&ada).ok().await["key"].as_str().unwrap().to_owned();
    let key = Person { token: key, ..ada.clone() };
    server.post(&path, json!({ "command": "env" })).by(&key).fails(403, "forbidden").await;
    let log = server.get("/audit/logs?search=ran").by(&ada).send().await.text;
    assert!(log.contains("ran a command of shop") && !log.contains("a very secret value"), "{log}");
}

async fn lines_are_read_and_followed(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.shop(&ada).await;
    let id = id_of(&server.run(&ada, shop, "bin/report").await);
    for text in ["one", "two"] {
        server.print_of_run(id, text).await;
    }
    let path = format!("/deploy/runs/{id}/logs");
    let first = server.get(&format!("{path}?limit=1")).by(&ada).ok().await;
    assert_eq!((&first["logs"][0]["message"], &first["next_after"]), (&json!("one"), &json!(1)));
    let rest = server.get(&format!("{path}?after=1")).by(&ada).ok().await;
    assert_eq!((&rest["logs"][0]["message"], &rest["run_status"]), (&json!("two"), &json!("queued")));
    let mut events = Events::open(server.get(&format!("{path}/follow?after=1")).by(&ada)).await;
    assert_eq!(events.next().await.unwrap().data["message"], "two");
    server.print_of_run(id, "three").await;
    let third = events.next().await.unwrap();
    assert_eq!((third.id.as_str(), &third.data["message"]), ("3", &json!("three")));
    // The application's own lines are others.
    let own = server.get(&format!("/deploy/application/logs/{shop}?relations=none")).by(&ada).ok().await;
    assert!(own["logs"].as_array().unwrap().iter().all(|line| line["log"] != "one"), "{own}");
}

async fn schedules_are_kept(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.shop(&ada).await;
    let path = format!("/deploy/application/{shop}/schedules");
    let made = server.schedule(&ada, shop, json!({ "name": "nightly", "cron": "30 3 * * *", "command": "b" })).await;
    assert_eq!(made["next_run_at"], "2026-01-01T03:30:00.000000Z");
    assert_eq!(
        (&made["overlap"], &made["keep"], &made["time_zone"], &made["last_run"]),
        (&json!("skip"), &json!(20), &json!("UTC"), &Value::Null)
    );
    let message = server.post(&path, hourly("skip")).by(&ada).ok().await;
    assert_eq!(message["next_run_at"], "2026-01-01T01:00:00.000000Z");
    let twice = json!({ "name": "nightly", "cron": "@daily", "command": "b" });
    let message = server.post(&path, twice).by(&ada).fails(409, "name_taken").await;
    assert_eq!(message, "name: shop has a schedule nightly already. Choose another name.");
    for (field, value, problem) in [
        ("cron", "0 0 31 2 *", "cron: must be a time that comes: no month of these has such a day"),
        ("cron", "61 * * * *", "cron: has \"61\" as minute: must be from 0 to 59"),
        ("time_zone", "Europe/Berlin", "time_zone: must be UTC"),
        ("overlap", "both", "overlap: must be skip, queue or replace"),
    ] {
        let mut body = json!({ "name": "x", "cron": "@daily", "command": "b" });
        body[field] = json!(value);
        let message = server.post(&path, body).by(&ada).fails(400, "invalid_request").await;
        assert!(message.starts_with(problem), "{message}");
    }
    let one = format!("/deploy/schedules/{}", made["id"].as_str().unwrap());
    let put = |body: Value| server.put(&one, body).by(&ada);
    put(json!({ "name": "report" })).fails(409, "name_taken").await;
    let off = put(json!({ "enabled": false, "command": "c" })).ok().await;
    assert_eq!((&off["enabled"], &off["next_run_at"], &off["command"]), (&json!(false), &Value::Null, &json!("c")));
    server.app.clock.advance_seconds(86_400);
    let on = put(json!({ "enabled": true })).ok().await;
    assert_eq!(on["next_run_at"], "2026-01-02T03:30:00.000000Z");
    // What changes nothing about its times leaves the next one as it is.
    server.app.clock.advance_seconds(86_400);
    let same = put(json!({ "keep": 3 })).ok().await;
    assert_eq!((&same["next_run_at"], &same["keep"]), (&json!("2026-01-02T03:30:00.000000Z"), &json!(3)));
    server.delete(&one).by(&ada).ok().await;
    server.get(&one).by(&ada).fails(404, "not_found").await;
    let left = server.get(&path).by(&ada).ok().await;
    assert_eq!(left["schedules"].as_array().unwrap().len(), 1);
}

async fn a_time_comes_once(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.shop(&ada).await;
    let schedule = server.schedule(&ada, shop, hourly("skip")).await;
    server.pass(3_599).await;
    assert_eq!(server.statuses(&ada, shop).await, [""; 0]);
    server.pass(1).await;
    server.pass(0).await;
    let all = server.runs_of(&ada, shop, "").await;
    assert_eq!(all.len(), 1);
    let run = &all[0];
    assert_eq!((&run["schedule_id"], &run["schedule_name"]), (&schedule["id"], &json!("report")));
    assert_eq!((&run["actor"], &run["user_id"]), (&json!("schedule"), &Value::Null));
    assert_eq!(run["scheduled_at"], "2026-01-01T01:00:00.000000Z");
    let shown = server.get(&format!("/deploy/application/{shop}/schedules")).by(&ada).ok().await;
    let shown = &shown["schedules"][0];
    assert_eq!((&shown["last_run"]["id"], &shown["next_run_at"]), (&run["id"], &json!("2026-01-01T02:00:00.000000Z")));
    // By its schedule, and by its status.
    let id = schedule["id"].as_str().unwrap();
    assert_eq!(server.runs_of(&ada, shop, &format!("schedule_id={id}&status=queued")).await.len(), 1);
    assert_eq!(server.runs_of(&ada, shop, "status=failed").await.len(), 0);
    let unknown = format!("/deploy/application/{shop}/runs?schedule_id=17");
    server.get(&unknown).by(&ada).fails(400, "invalid_request").await;
}

async fn missed_times_are_one(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.shop(&ada).await;
    server.schedule(&ada, shop, hourly("queue")).await;
    server.pass(10 * 3_600 + 60).await;
    server.pass(0).await;
    let all = server.runs_of(&ada, shop, "").await;
    assert_eq!(all.len(), 1);
    assert_eq!(all[0]["scheduled_at"], "2026-01-01T01:00:00.000000Z");
}

async fn a_clock_that_is_set_back_runs_nothing_twice(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.shop(&ada).await;
    let schedule = server.schedule(&ada, shop, hourly("queue")).await;
    server.pass(3_600).await;
    let id = server.begin_run().await;
    server.end_run(id, RunStatus::Succeeded).await;
    // It is 00:30 again, and then 01:00.
    server.pass(-1_800).await;
    server.pass(1_800).await;
    assert_eq!(server.statuses(&ada, shop).await, ["succeeded"]);
    server.pass(3_600).await;
    assert_eq!(server.statuses(&ada, shop).await, ["queued", "succeeded"]);
    // One whose next time a wrong clock has set begins anew with its times.
    server.pass(86_400 * 365).await;
    server.app.clock.advance_seconds(-86_400 * 365);
    let path = format!("/deploy/schedules/{}", schedule["id"].as_str().unwrap());
    let anew = server.put(&path, json!({ "cron": "@hourly" })).by(&ada).ok().await;
    assert_eq!(anew["next_run_at"], "2026-01-01T03:00:00.000000Z");
}

async fn overlaps(server: TestServer) {
    let ada = server.admin().await;
    for (overlap, after_two, after_three) in [
        ("skip", vec!["skipped", "running"], vec!["skipped", "running"]),
        ("queue", vec!["queued", "running"], vec!["skipped", "queued", "running"]),
        ("replace", vec!["queued", "running"], vec!["queued", "cancelled", "running"]),
    ] {
        let name = format!("shop-{overlap}");
        let shop = id_of(&server.running(&ada, least(&name)).await);
        let schedule = server.schedule(&ada, shop, hourly(overlap)).await;
        server.pass(3_600).await;
        let first = server.begin_run().await;
        server.pass(3_600).await;
        assert_eq!(server.statuses(&ada, shop).await, after_two, "{overlap}");
        server.pass(3_600).await;
        assert_eq!(server.statuses(&ada, shop).await, after_three, "{overlap}");
        let mut conn = server.app.db.read().await.unwrap();
        let is_called_off = jobs::is_cancel_requested(&mut conn, first).await.unwrap();
        assert_eq!(is_called_off, overlap == "replace");
        drop(conn);
        // Those of one schedule have one worker at a time.
        let mut tx = server.app.db.begin().await.unwrap();
        let search = Search { kinds: &[queue::RUN], sharing: &[queue::RUN], share: 100 };
        let claimed = jobs::claim(&mut tx, &search, Uuid::from_u128(78), server.app.now(), 60).await.unwrap();
        assert!(claimed.is_none(), "{overlap}: {claimed:?}");
        drop(tx);
        server.end_run(first, RunStatus::Succeeded).await;
        let path = format!("/deploy/schedules/{}", schedule["id"].as_str().unwrap());
        server.delete(&path).by(&ada).ok().await;
        for run in server.runs_of(&ada, shop, "status=queued").await {
            let path = format!("/deploy/runs/{}/cancel", run["id"].as_str().unwrap());
            server.post(&path, Value::Null).by(&ada).ok().await;
        }
    }
}

async fn what_is_stopped_is_passed_over(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.shop(&ada).await;
    server.schedule(&ada, shop, hourly("queue")).await;
    server.post("/deploy/application/stop", json!({ "id": shop })).by(&ada).ok().await;
    for _ in 0..3 {
        server.pass(3_600).await;
    }
    let all = server.runs_of(&ada, shop, "").await;
    assert_eq!(all.len(), 1, "those in a row are one: {all:?}");
    assert_eq!((&all[0]["status"], &all[0]["reason"]), (&json!("skipped"), &json!("shop is stopped")));
    assert_eq!(all[0]["scheduled_at"], "2026-01-01T03:00:00.000000Z");
    assert!(all[0]["completed_at"].is_string());
}

async fn previews_have_no_schedules(server: TestServer) {
    let ada = server.admin().await;
    let mut body = least("shop");
    body["previews"] = json!(true);
    let shop = id_of(&server.running(&ada, body).await);
    server.schedule(&ada, shop, hourly("skip")).await;
    let preview = server.preview(&ada, shop, 7).await;
    let path = format!("/deploy/application/{}/schedules", preview["id"].as_str().unwrap());
    server.post(&path, hourly("skip")).by(&ada).fails(409, "conflict").await;
    let none = server.get(&path).by(&ada).ok().await;
    assert_eq!(none["schedules"], json!([]), "it has none of its application's");
}

async fn what_goes_with_an_application(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.shop(&ada).await;
    let schedule = server.schedule(&ada, shop, hourly("skip")).await;
    let waiting = id_of(&server.run(&ada, shop, "true").await);
    server.delete("/deploy/application").json(json!({ "id": shop, "name": "shop" })).by(&ada).ok().await;
    let over = server.get(&format!("/deploy/runs/{waiting}")).by(&ada).ok().await;
    assert_eq!((&over["status"], &over["reason"]), (&json!("interrupted"), &json!("the application was deleted")));
    assert!(!jobs::exists(&mut server.app.db.read().await.unwrap(), waiting).await.unwrap());
    server.pass(3_600).await;
    assert_eq!(server.statuses(&ada, shop).await, ["skipped", "interrupted"]);
    let mut tx = server.app.db.begin().await.unwrap();
    windlass_store::applications::delete(&mut tx, shop).await.unwrap();
    tx.commit().await.unwrap();
    server.get(&format!("/deploy/runs/{waiting}")).by(&ada).fails(404, "not_found").await;
    server
        .get(&format!("/deploy/schedules/{}", schedule["id"].as_str().unwrap()))
        .by(&ada)
        .fails(404, "not_found")
        .await;
}

async fn histories_are_bounded(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.shop(&ada).await;
    let body = json!({ "name": "report", "cron": "@hourly", "command": "b", "keep": 2 });
    server.schedule(&ada, shop, body).await;
    for _ in 0..5 {
        server.pass(3_600).await;
        let id = server.begin_run().await;
        server.end_run(id, RunStatus::Succeeded).await;
    }
    server.pass(3_600).await;
    // The service forgets when it ends one: a cancelled one shows that.
    let waiting = server.runs_of(&ada, shop, "status=queued").await;
    let path = format!("/deploy/runs/{}/cancel", waiting[0]["id"].as_str().unwrap());
    server.post(&path, Value::Null).by(&ada).ok().await;
    assert_eq!(server.statuses(&ada, shop).await, ["cancelled", "succeeded"]);
}

/// Otherwise a command that prints much, run again and again, would keep as many lines as are looked for every ten minutes.
async fn lines_of_forgotten_runs_take_no_room(kind: Kind) {
    const MIB: i64 = 1024 * 1024;
    let server = TestServer::with(kind, &[("organization-log-mib", "4"), ("kept-runs", "1")]).await;
    let ada = server.admin().await;
    let shop = server.shop(&ada).await;
    let mut last = Uuid::nil();
    for _ in 0..6 {
        let id = id_of(&server.run(&ada, shop, "bin/report").await);
        for _ in 0..16 {
            server.print_of_run(id, &"x".repeat(64 * 1024)).await;
        }
        server.post(&format!("/deploy/runs/{id}/cancel"), Value::Null).by(&ada).ok().await;
        last = id;
    }
    assert_eq!(server.statuses(&ada, shop).await, ["cancelled"], "the others are forgotten");
    let store = &server.app.logs.store;
    let bytes = async || store.kept().await.unwrap().iter().map(|one| one.bytes).sum::<i64>();
    assert!(bytes().await > 5 * MIB);
    // Not the round that looks for all of them.
    windlass_server::logs::retention::trim_all(&server.app, false).await.unwrap();
    assert!(bytes().await <= 4 * MIB, "{}", bytes().await);
    let kept = store.kept().await.unwrap();
    let of_last = kept.iter().find(|one| one.application_id == last).map(|one| one.bytes);
    assert!(of_last.is_some_and(|bytes| bytes >= MIB), "what is kept loses nothing for what is forgotten: {of_last:?}");
}

async fn there_are_limits(kind: Kind) {
    let settings =
        [("application-runs", "2"), ("organization-runs", "3"), ("application-schedules", "1"), ("run-seconds", "60")];
    let server = TestServer::with(kind, &settings).await;
    let ada = server.admin().await;
    let shop = server.shop(&ada).await;
    let other = id_of(&server.running(&ada, least("other")).await);
    let path = |id: Uuid| format!("/deploy/application/{id}/runs");
    for _ in 0..2 {
        server.run(&ada, shop, "true").await;
    }
    let message = server.post(&path(shop), json!({ "command": "true" })).by(&ada).fails(409, "conflict").await;
    assert!(
        message.contains("2 runs of shop wait or are under way") && message.contains("application-runs"),
        "{message}"
    );
    server.run(&ada, other, "true").await;
    let message = server.post(&path(other), json!({ "command": "true" })).by(&ada).fails(409, "conflict").await;
    assert!(message.contains("organization-runs"), "{message}");
    server.schedule(&ada, shop, hourly("queue")).await;
    let second = json!({ "name": "second", "cron": "@daily", "command": "b" });
    let schedules = format!("/deploy/application/{shop}/schedules");
    let message = server.post(&schedules, second).by(&ada).fails(409, "conflict").await;
    assert!(message.contains("application-schedules"), "{message}");
    // A schedule's run that finds no place is told to have been passed over.
    server.pass(3_600).await;
    let passed_over = server.runs_of(&ada, shop, "status=skipped").await;
    assert!(passed_over[0]["reason"].as_str().unwrap().contains("application-runs"), "{passed_over:?}");
    let most = server.runs_of(&ada, other, "").await;
    assert_eq!(most[0]["timeout_seconds"], 60);
}

/// One organization has more than one round of them.
async fn organizations_take_turns_with_their_schedules(server: TestServer) {
    let ada = server.admin().await;
    let eve = server.stranger(&ada, "eve").await;
    let (many, one) = (server.shop(&ada).await, server.shop(&eve).await);
    let first = server.schedule(&ada, many, hourly("skip")).await;
    server.more_schedules(&first, 149).await;
    // Its time comes after theirs.
    server.schedule(&eve, one, json!({ "name": "late", "cron": "30 1 * * *", "command": "b" })).await;
    server.app.clock.advance_seconds(7_200);
    let mut keeper = Keeper::default();
    assert!(keeper.queue_due(&server.app).await.unwrap(), "the next round is not waited for");
    assert_eq!(server.statuses(&eve, one).await, ["queued"]);
    assert!(!keeper.queue_due(&server.app).await.unwrap());
    let due = schedules::due(&mut server.app.db.read().await.unwrap(), server.app.now(), 100).await.unwrap();
    assert_eq!(due.len(), 0);
}

async fn what_cannot_be_queued_keeps_no_other_waiting(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.shop(&ada).await;
    let first = server.schedule(&ada, shop, hourly("skip")).await;
    // Its time comes after theirs.
    server.schedule(&ada, shop, json!({ "name": "late", "cron": "30 1 * * *", "command": "b" })).await;
    server.more_schedules(&first, 119).await;
    assert_eq!(server.place.execute("update schedules set overlap = 'unknown' where name <> 'late'").await, 120);
    server.app.clock.advance_seconds(7_200);
    let mut keeper = Keeper::default();
    assert!(
        !keeper.queue_due(&server.app).await.unwrap(),
        "a round in which nothing could be queued is the last for now"
    );
    assert_eq!(server.statuses(&ada, shop).await, [""; 0]);
    keeper.queue_due(&server.app).await.unwrap();
    assert_eq!(server.statuses(&ada, shop).await, ["queued"]);
}

async fn a_schedule_is_run_now(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.shop(&ada).await;
    let mut body = hourly("skip");
    body["enabled"] = json!(false);
    let schedule = server.schedule(&ada, shop, body).await;
    let path = format!("/deploy/schedules/{}", schedule["id"].as_str().unwrap());
    let now = format!("{path}/run");
    let run = server.post(&now, Value::Null).by(&ada).ok().await;
    assert_eq!(
        (&run["status"], &run["schedule_id"], &run["actor"]),
        (&json!("queued"), &schedule["id"], &json!("Ada"))
    );
    assert_eq!((&run["command"], &run["scheduled_at"]), (&json!("bin/report"), &Value::Null));
    let message = server.post(&now, Value::Null).by(&ada).fails(409, "conflict").await;
    assert_eq!(message, "report cannot be run now: the run before is not over.");
    let shown = server.get(&path).by(&ada).ok().await;
    assert_eq!((&shown["last_run"]["id"], &shown["next_run_at"]), (&run["id"], &Value::Null));
    let replaces = server.put(&path, json!({ "overlap": "replace" })).by(&ada).ok().await;
    assert_eq!(replaces["enabled"], false);
    server.post(&now, Value::Null).by(&ada).ok().await;
    assert_eq!(server.statuses(&ada, shop).await, ["queued", "cancelled"]);
    let vera = server.join(&ada, "vera", Role::Viewer).await;
    server.post(&now, Value::Null).by(&vera).within(ada.organization_id).fails(403, "forbidden").await;
    server.post("/deploy/application/stop", json!({ "id": shop })).by(&ada).ok().await;
    let message = server.post(&now, Value::Null).by(&ada).fails(409, "conflict").await;
    assert_eq!(message, "report cannot be run now: shop is stopped.");
}

async fn a_limit_that_was_lowered_holds_for_schedules(kind: Kind) {
    let server = TestServer::with(kind, &[("run-seconds", "60")]).await;
    let ada = server.admin().await;
    let shop = server.shop(&ada).await;
    server.schedule(&ada, shop, hourly("skip")).await;
    // As it was asked for when more was allowed.
    assert_eq!(server.place.execute("update schedules set timeout_seconds = 3600").await, 1);
    server.pass(3_600).await;
    assert_eq!(server.runs_of(&ada, shop, "").await[0]["timeout_seconds"], 60);
}

/// With clocks of their own, which need not agree.
async fn two_servers_take_a_time_once(kind: Kind) {
    let server = TestServer::with(kind, &[]).await;
    let ada = server.admin().await;
    let shop = server.shop(&ada).await;
    for number in 0..10 {
        let body = json!({ "name": format!("s{number}"), "cron": "* * * * *", "command": "b", "overlap": "skip" });
        server.schedule(&ada, shop, body).await;
    }
    server.app.clock.advance_seconds(60);
    let due = schedules::due(&mut server.app.db.read().await.unwrap(), server.app.now(), 100).await;
    let due = due.unwrap();
    assert_eq!(due.len(), 10);
    for schedule in &due {
        let look = || windlass_server::service::schedules::queue_due(&server.app, schedule);
        let (first, second, third) = tokio::join!(look(), look(), look());
        [first, second, third].into_iter().for_each(|looked| looked.unwrap());
    }
    let all = server.runs_of(&ada, shop, "page_size=100").await;
    assert_eq!(all.len(), 10);
    let later = server.app.now().plus_seconds(60);
    for schedule in due {
        let mut conn = server.app.db.read().await.unwrap();
        let now = schedules::get(&mut conn, schedule.id).await.unwrap().unwrap();
        assert_eq!(now.next_at.map(Timestamp::from_micros), Some(later));
    }
}
