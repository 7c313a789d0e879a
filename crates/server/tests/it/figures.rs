//! What was measured, as it is kept and told. That it is measured rightly is tested with a real engine and a real edge.

use axum::http::Method;
use serde_json::{Value, json};
use uuid::Uuid;
use windlass_api::Role;
use windlass_figures::{BUCKETS, Flow, Instance, Point, Subject, Usage, Visits};
use windlass_server::figures::Taken;
use windlass_server::figures::keep::Keeper;
use windlass_server::figures::read::READERS;
use windlass_store::figures as rows;
use windlass_testing::on_both_databases;

use crate::deploys::least;
use crate::support::{Person, TestServer, id_of, server};

on_both_databases!(server: points_come_in_lines_and_gaps_are_gaps, coarser_points_say_the_same, a_server_goes_on_where_it_ended,
    two_servers_write_rows_of_their_own, what_is_old_is_forgotten, a_clock_that_is_ahead_deletes_nothing, readers_wait_for_their_turn, questions_that_make_no_sense, tenants_see_their_own,
    a_record_has_a_line_of_them, monitors_get_totals, the_machine_is_for_admins);

const HERE: Uuid = Uuid::from_u128(1_001);
const THERE: Uuid = Uuid::from_u128(1_002);
const DAY: i64 = 86_400;

/// What one point of the tests says: a quarter of a processor, and so many requests in ten seconds, of which one failed.
fn point(requests: i64) -> Point {
    let flow = Some(Flow { inward: 20_000, outward: 5_000 });
    let usage = Usage {
        measured_ms: 10_000,
        cpu_us: 2_500_000,
        memory: 64 << 20,
        peak: 64 << 20,
        network: flow,
        disk: None,
        restarts: 0,
    };
    let mut latency = [0; BUCKETS];
    latency[3] = requests;
    Point { usage: Some(usage), visits: Some(Visits { watched_ms: 10_000, requests, errors: 1, latency }) }
}

fn looked() -> Point {
    let usage = Usage { measured_ms: 10_000, ..Usage::default() };
    Point { usage: Some(usage), visits: Some(Visits { watched_ms: 10_000, ..Visits::default() }) }
}

fn instance(number: u128) -> Subject {
    let (deployment_id, container_id) = (Uuid::from_u128(number / 10), Uuid::from_u128(number));
    Subject::Instance(Instance { deployment_id, container_id, ordinal: 1, service: String::new() })
}

fn taken(application: &Value, instances: &[(u128, i64)]) -> Taken {
    let points = instances.iter().map(|(number, requests)| (instance(*number), point(*requests)));
    Taken::from([(id_of(application), points.chain([(Subject::Whole, looked())]).collect())])
}

impl TestServer {
    /// In seconds since 1970.
    fn second(&self) -> i64 {
        self.app.now().micros() / 1_000_000
    }

    /// Points of one instance from so many seconds ago up to now, with three requests each.
    async fn measured(&self, keeper: &mut Keeper, application: &Value, ago: i64) {
        for at in (self.second() - ago..self.second()).step_by(10) {
            keeper.add(&self.app, at, &taken(application, &[(11, 3)])).await.unwrap();
        }
    }

    /// How many rows there are of a step.
    async fn rows(&self, application: &Value, step: i64) -> usize {
        let mut conn = self.app.db.read().await.unwrap();
        rows::of_application(&mut conn, id_of(application), step, 0..i64::MAX).await.unwrap().len()
    }

    async fn figures(&self, person: &Person, application: &Value, query: &str) -> Value {
        let id = id_of(application);
        self.get(&format!("/deploy/application/{id}/figures?{query}")).by(person).ok().await
    }
}

fn numbers(figures: &Value, line: &str) -> Vec<Option<f64>> {
    figures["lines"][line].as_array().unwrap().iter().map(Value::as_f64).collect()
}

/// As close as figures are that are rounded.
fn close(number: Option<f64>, true_one: f64) -> bool {
    number.is_some_and(|number| (number - true_one).abs() <= true_one / 100.0)
}

fn sum(figures: &Value, line: &str) -> f64 {
    numbers(figures, line).into_iter().flatten().sum()
}

async fn points_come_in_lines_and_gaps_are_gaps(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.running(&ada, least("shop")).await;
    server.app.clock.advance_seconds(DAY);
    let (now, mut keeper) = (server.second(), Keeper::new(HERE));
    keeper.add(&server.app, now - 60, &taken(&shop, &[(11, 5)])).await.unwrap();
    keeper.add(&server.app, now - 50, &taken(&shop, &[(11, 5), (21, 2)])).await.unwrap();
    keeper.add(&server.app, now - 10, &taken(&shop, &[(21, 0)])).await.unwrap();
    let told = server.figures(&ada, &shop, "").await;
    assert_eq!((&told["step_seconds"], &told["points"]), (&json!(10), &json!(360)));
    let last = |line: &str| numbers(&told, line)[354..].to_vec();
    let gap = None;
    assert_eq!(last("requests"), [Some(5.0), Some(7.0), gap, gap, gap, Some(0.0)]);
    let cpu = last("cpu_millis");
    assert!(close(cpu[0], 250.0) && close(cpu[1], 500.0) && close(cpu[5], 250.0) && cpu[2..5] == [gap; 3], "{cpu:?}");
    assert_eq!(last("errors"), [Some(1.0), Some(2.0), gap, gap, gap, Some(1.0)]);
    assert_eq!(last("requests_per_second"), [Some(0.5), Some(0.7), gap, gap, gap, Some(0.0)]);
    assert!(close(last("memory_bytes")[1], 2.0 * f64::from(64 << 20)));
    assert!(close(last("network_received")[0], 2_000.0) && close(last("network_sent")[0], 500.0));
    assert_eq!(last("disk_read"), [gap; 6], "what is not known is no 0");
    assert_eq!(last("p50_ms")[5], gap, "without answers");
    // Between 2.5 and 5 ms.
    assert_eq!(last("p50_ms")[0], Some(3.75));
    let ids: Vec<_> = told["instances"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
    assert_eq!(ids, [Uuid::from_u128(21), Uuid::from_u128(11)].map(|id| id.to_string()));

    let one = server.figures(&ada, &shop, &format!("instance_id={}", Uuid::from_u128(21))).await;
    assert_eq!(numbers(&one, "requests")[354..], [gap, Some(2.0), gap, gap, gap, Some(0.0)]);
    assert_eq!(one["instances"].as_array().unwrap().len(), 2);
    let one = server.figures(&ada, &shop, &format!("deployment_id={}", Uuid::from_u128(1))).await;
    assert_eq!(numbers(&one, "requests")[354..], [Some(5.0), Some(5.0), gap, gap, gap, gap]);
    let minute = server.figures(&ada, &shop, "step=60").await;
    assert!(numbers(&minute, "requests")[59] == Some(12.0) && close(numbers(&minute, "cpu_millis")[59], 333.333));
}

async fn coarser_points_say_the_same(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.running(&ada, least("shop")).await;
    server.app.clock.advance_seconds(DAY + 900);
    server.measured(&mut Keeper::new(HERE), &shop, 3_000).await;
    for step in [10, 60, 600, 1_200] {
        let told = server.figures(&ada, &shop, &format!("step={step}")).await;
        assert_eq!((sum(&told, "requests"), sum(&told, "errors")), (900.0, 300.0), "{step}");
        let cpu: Vec<f64> = numbers(&told, "cpu_millis").into_iter().flatten().collect();
        assert!(!cpu.is_empty() && cpu.iter().all(|cpu| close(Some(*cpu), 250.0)), "{step}: {cpu:?}");
    }
    let counts = [server.rows(&shop, 10).await, server.rows(&shop, 60).await, server.rows(&shop, 600).await];
    assert_eq!(counts, [50, 2, 2], "each step has rows of its own length");
}

async fn a_server_goes_on_where_it_ended(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.running(&ada, least("shop")).await;
    server.app.clock.advance_seconds(DAY);
    let now = server.second();
    // Started anew in the middle of a minute, and again after it has made coarser rows.
    Keeper::new(HERE).add(&server.app, now - 1_200, &taken(&shop, &[(11, 1)])).await.unwrap();
    Keeper::new(HERE).add(&server.app, now - 1_190, &taken(&shop, &[(11, 2)])).await.unwrap();
    Keeper::new(HERE).add(&server.app, now - 600, &taken(&shop, &[(11, 4)])).await.unwrap();
    Keeper::new(HERE).add(&server.app, now - 590, &taken(&shop, &[(11, 8)])).await.unwrap();
    for step in [10, 60, 600] {
        assert_eq!(sum(&server.figures(&ada, &shop, &format!("step={step}")).await, "requests"), 15.0, "{step}");
    }
    // What was not made coarser because the server was down is when it comes back within the hour.
    server.app.clock.advance_seconds(1_800);
    Keeper::new(HERE).add(&server.app, server.second() - 10, &taken(&shop, &[(11, 16)])).await.unwrap();
    let told = server.figures(&ada, &shop, &format!("from={}&step=600", "2026-01-01T23:00:00Z")).await;
    assert_eq!(sum(&told, "requests"), 31.0);
}

async fn two_servers_write_rows_of_their_own(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.running(&ada, least("shop")).await;
    server.app.clock.advance_seconds(DAY);
    for keeper in [HERE, THERE] {
        server.measured(&mut Keeper::new(keeper), &shop, 1_200).await;
    }
    for step in [10, 600] {
        let told = server.figures(&ada, &shop, &format!("step={step}")).await;
        // Each edge has visitors of its own; the containers are the same ones.
        assert_eq!(sum(&told, "requests"), 720.0, "{step}");
        let cpu: Vec<f64> = numbers(&told, "cpu_millis").into_iter().flatten().collect();
        assert!(cpu.iter().all(|cpu| close(Some(*cpu), 250.0)), "{step}: {cpu:?}");
        assert_eq!(told["instances"].as_array().unwrap().len(), 1);
    }
}

/// Of the last 70 minutes, which is long enough for a clock to be believed.
async fn measured_by_the_minute(server: &TestServer, keeper: &mut Keeper, application: &Value) {
    for at in (server.second() - 4_200..server.second()).step_by(60) {
        keeper.add(&server.app, at, &taken(application, &[(11, 3)])).await.unwrap();
    }
}

async fn what_is_old_is_forgotten(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.running(&ada, least("shop")).await;
    let mut keeper = Keeper::new(HERE);
    server.app.clock.advance_seconds(DAY);
    server.measured(&mut keeper, &shop, 1_200).await;
    let starts = async |step| server.rows(&shop, step).await;
    // The rows of a minute, an hour and a day that there are of the last 70 minutes, of which the last ten are not made coarser yet; and older ones.
    server.app.clock.advance_seconds(2 * 3_600);
    measured_by_the_minute(&server, &mut keeper, &shop).await;
    assert_eq!([starts(10).await, starts(60).await, starts(600).await], [70, 2 + 1, 1 + 1]);
    server.app.clock.advance_seconds(2 * DAY);
    measured_by_the_minute(&server, &mut keeper, &shop).await;
    assert_eq!([starts(10).await, starts(60).await, starts(600).await], [70, 2, 1 + 2]);
    server.app.clock.advance_seconds(32 * DAY);
    measured_by_the_minute(&server, &mut keeper, &shop).await;
    assert_eq!([starts(10).await, starts(60).await, starts(600).await], [70, 2, 1]);
}

async fn a_clock_that_is_ahead_deletes_nothing(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.running(&ada, least("shop")).await;
    server.app.clock.advance_seconds(DAY);
    let (now, mut keeper) = (server.second(), Keeper::new(HERE));
    measured_by_the_minute(&server, &mut keeper, &shop).await;
    let ahead = now + 400 * DAY;
    for at in (ahead..ahead + 3_000).step_by(600) {
        keeper.add(&server.app, at, &taken(&shop, &[(11, 0)])).await.unwrap();
        // Nor does a server that was started meanwhile.
        Keeper::new(THERE).add(&server.app, at, &taken(&shop, &[(11, 0)])).await.unwrap();
    }
    // It is put right.
    for at in [now, now + 600, now + 1_200] {
        keeper.add(&server.app, at, &taken(&shop, &[(11, 3)])).await.unwrap();
    }
    assert_eq!(server.rows(&shop, 10).await, 70 + 2 * 5 + 3);
    // By now only coarser rows are read. Those of before are there, and those of after were made, but for the last ten minutes.
    server.app.clock.advance_seconds(3 * 3_600);
    for step in [60, 600] {
        let told = server.figures(&ada, &shop, &format!("from=2026-01-01T22:50:00Z&step={step}")).await;
        assert_eq!(sum(&told, "requests"), f64::from(70 + 2) * 3.0, "{step}");
    }
}

/// Each needs memory and a processor.
async fn readers_wait_for_their_turn(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.running(&ada, least("shop")).await;
    let mut turns = Vec::new();
    for _ in 0..READERS {
        turns.push(server.app.figures.readers.turn().await.unwrap());
    }
    let path = format!("/deploy/application/{}/figures", id_of(&shop));
    let message = server.get(&path).by(&ada).fails(503, "unavailable").await;
    assert!(message.starts_with("Too many figures are read at once"), "{message}");
    let (told, ()) = tokio::join!(server.figures(&ada, &shop, ""), async { drop(turns.pop()) });
    assert_eq!(sum(&told, "requests"), 0.0);
    server.figures(&ada, &shop, "").await;
}

async fn questions_that_make_no_sense(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.running(&ada, least("shop")).await;
    let path = format!("/deploy/application/{}/figures", id_of(&shop));
    for (query, field) in [
        ("step=5", "step"),
        ("step=86401", "step"),
        ("step=ten", "step"),
        ("from=yesterday", "from"),
        ("to=2026-13-01", "to"),
        ("from=2026-01-01T00:00:00Z&to=2025-12-31T23:00:00Z", "from"),
        ("from=2100-01-01", "from"),
        ("from=0001-01-01", "from"),
        ("from=2025-12-01&step=600", "step"),
        ("deployment_id=1", "deployment_id"),
        ("instance_id=first", "instance_id"),
    ] {
        let problem = server.get(&format!("{path}?{query}")).by(&ada).fails(400, "invalid_request").await;
        assert!(problem.starts_with(&format!("{field}: ")), "{query}: {problem}");
    }
    let told = server.figures(&ada, &shop, &format!("instance_id={}", Uuid::from_u128(9))).await;
    assert_eq!((sum(&told, "requests"), &told["instances"]), (0.0, &json!([])));
    server.figures(&ada, &shop, "from=&to=&step=").await;
}

async fn tenants_see_their_own(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.running(&ada, least("shop")).await;
    let eve = server.stranger(&ada, "eve").await;
    let path = |id: Uuid| format!("/deploy/application/{id}/figures?step=nonsense");
    server.get(&path(id_of(&shop))).by(&eve).fails(404, "not_found").await;
    server.get(&path(server.app.new_id())).by(&ada).fails(404, "not_found").await;
    // An instance of another application is none of this one.
    let blog = server.running(&ada, least("blog")).await;
    server.app.clock.advance_seconds(DAY);
    let at = server.second() - 10;
    Keeper::new(HERE).add(&server.app, at, &taken(&shop, &[(11, 5)])).await.unwrap();
    let told = server.figures(&ada, &blog, &format!("instance_id={}", Uuid::from_u128(11))).await;
    assert_eq!((sum(&told, "requests"), &told["instances"]), (0.0, &json!([])));
    // What is measured of an application that is gone hinders no other.
    let mut both = taken(&shop, &[(11, 7)]);
    both.insert(Uuid::from_u128(5), vec![(Subject::Whole, looked())]);
    Keeper::new(HERE).add(&server.app, at, &both).await.unwrap();
    assert_eq!(sum(&server.figures(&ada, &shop, "").await, "requests"), 12.0);
}

async fn a_record_has_a_line_of_them(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.running(&ada, least("shop")).await;
    assert_eq!(shop["figures"], Value::Null);
    server.app.clock.advance_seconds(DAY);
    server.measured(&mut Keeper::new(HERE), &shop, 120).await;
    let line = server.application(&ada, &shop["id"]).await["figures"].clone();
    assert!(close(line["cpu_millis"].as_f64(), 250.0) && line["requests_per_second"] == 0.3, "{line}");
    assert_eq!((&line["error_percent"], &line["p50_ms"]), (&json!(33.333), &json!(3.75)), "{line}");
    assert_eq!(line["at"], json!(server.app.now()));
    let listed = server.get("/deploy/applications").by(&ada).ok().await;
    assert_eq!(listed["applications"][0]["figures"], line);
    // What it was some minutes ago is not how it is.
    server.app.clock.advance_seconds(121);
    assert_eq!(server.application(&ada, &shop["id"]).await["figures"], Value::Null);
}

async fn monitors_get_totals(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.running(&ada, least("shop")).await;
    for _ in 0..2 {
        server.app.figures.totals.lock().add(&taken(&shop, &[(11, 3), (12, 4)]));
    }
    let metrics = server.call_raw(Method::GET, "/metrics").by(&ada).send().await.text;
    let id = id_of(&shop);
    for line in [
        format!("windlass_application_requests_total{{application=\"{id}\"}} 14"),
        format!("windlass_application_errors_total{{application=\"{id}\"}} 4"),
        format!("windlass_application_cpu_seconds_total{{application=\"{id}\"}} 10.0"),
        format!("windlass_application_memory_bytes{{application=\"{id}\"}} {}", 2 * (64 << 20)),
        format!("windlass_application_network_sent_bytes_total{{application=\"{id}\"}} 20000"),
        "windlass_application_left_out 0".to_owned(),
    ] {
        assert!(metrics.lines().any(|told| told == line), "no {line} in {metrics}");
    }
    // Of what is not measured any more there is no memory, while the counters stay.
    let visits = Point { usage: None, ..looked() };
    for taken in [Taken::from([(id, vec![(Subject::Whole, visits)])]), Taken::new()] {
        server.app.figures.totals.lock().add(&taken);
        let metrics = server.call_raw(Method::GET, "/metrics").by(&ada).send().await.text;
        assert!(!metrics.contains("windlass_application_memory_bytes{"), "{metrics}");
        assert!(
            metrics.contains(&format!("windlass_application_requests_total{{application=\"{id}\"}} 14")),
            "{metrics}"
        );
    }
}

async fn the_machine_is_for_admins(server: TestServer) {
    let ada = server.admin().await;
    let grace = server.join(&ada, "grace", Role::Owner).await;
    server.get("/instance/figures").by(&grace).fails(403, "forbidden").await;
    let told = server.get("/instance/figures").by(&ada).ok().await;
    assert!(told["memory_total_bytes"].as_i64().unwrap() > 0 && told["processors"].as_i64().unwrap() > 0, "{told}");
    assert!(told["data_folder"]["free_bytes"].as_i64().unwrap() > 0, "{told}");
    assert_eq!((&told["points"], &told["lines"]["load"]), (&json!(0), &json!([])), "nothing was taken yet");
}
