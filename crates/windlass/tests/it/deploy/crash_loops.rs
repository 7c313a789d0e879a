//! An application that ends again and again has one state, until it stays up.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_store::events;

use super::support::*;
use super::visitor::Visitor;

const SECRET: &str = "hunter2-hunter2-hunter2";
/// How long a loop is watched: long enough for several crashes.
const WATCHED: Duration = Duration::from_secs(20);

/// The names of all events of an application, in their order.
async fn events_of(platform: &Platform, application: &str) -> Vec<String> {
    let db = platform.database().await;
    let all = events::after(&mut db.read().await.unwrap(), 0, 1_000).await.unwrap();
    db.close().await;
    let of_it = all.into_iter().filter(|event| event.application_id.is_some_and(|id| id.to_string() == application));
    of_it.map(|event| event.name.as_str().to_owned()).collect()
}

fn times(names: &[String], name: &str) -> usize {
    names.iter().filter(|other| *other == name).count()
}

/// Application, deployment and instance, as they are shown.
fn statuses(application: &Value) -> (String, String, String) {
    let deployment = &application["deployments"][0];
    let [status, whole, one] =
        [&application["status"]["status"], &deployment["container_status"], &deployment["instances"][0]["status"]]
            .map(|status| status.as_str().expect("a status").to_owned());
    (status, whole, one)
}

async fn end_it(platform: &Platform, host: &str, code: u32) {
    let _ = Visitor::new(platform.edge().await, host).get(&format!("/exit?code={code}")).await;
}

async fn until_status(platform: &Platform, id: &str, status: &str) -> Value {
    until(&format!("it is {status}"), async || {
        let application = platform.application(id);
        (application["status"]["status"] == status).then_some(application)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_loop_has_one_state_with_a_reason() {
    let platform = Platform::start().await;
    let repository = repository(&platform, "shaky", "one");
    let mut body = body("shaky", &repository);
    body["environment_variables"] = json!({ "TOKEN": SECRET });
    body["secret_names"] = json!(["TOKEN"]);
    let application = platform.deploy(&body);
    let id = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    platform.settled().await;
    assert_eq!(platform.application(&id)["crash_loop"], Value::Null);
    let said = format!("/append?/crash=goodbye-{SECRET}");
    assert_eq!(platform.visit("shaky.localhost", &said).await.0, 200);
    end_it(&platform, "shaky.localhost", 3).await;
    until_status(&platform, &id, "failed").await;

    let (mut seen, mut pauses, began) = (BTreeSet::new(), BTreeSet::new(), Instant::now());
    let (mut last, mut compared) = (Value::Null, 0);
    while began.elapsed() < WATCHED {
        let application = platform.application(&id);
        seen.insert(statuses(&application));
        last = application["crash_loop"].clone();
        let of_instance = &application["deployments"][0]["instances"][0]["crash_loop"];
        // They are read one after the other, and it may crash in between.
        if of_instance["crashes"] == last["crashes"] {
            assert_eq!(last["reason"], of_instance["reason"]);
            compared += 1;
        }
        if let (Some(from), Some(to)) = (last["crashed_at"].as_str(), last["next_start_at"].as_str()) {
            pauses.insert((last["crashes"].as_i64(), microseconds(to) - microseconds(from)));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(compared > 10, "only {compared} were compared");
    let crashing = ("failed".to_owned(), "crashing".to_owned(), "crashing".to_owned());
    assert_eq!(seen, BTreeSet::from([crashing]), "{last}");
    assert!(last["crashes"].as_i64().is_some_and(|crashes| crashes >= 4), "{last}");
    assert_eq!(last["exit_code"], 3, "{last}");
    assert_eq!(last["out_of_memory"], false, "{last}");
    assert_eq!(last["reason"], "it ended by itself with exit code 3");
    let lines = last["last_lines"].to_string();
    assert!(lines.contains("goodbye-********") && !last.to_string().contains(SECRET), "{last}");
    let pauses: Vec<i64> = pauses.into_iter().map(|(_, pause)| pause).collect();
    assert!(pauses.len() >= 2 && pauses.is_sorted_by(|one, next| one * 2 <= *next), "{pauses:?}");
    // In lists too.
    let page = platform.call("GET", "/deploy/applications?state=failed", &Value::Null);
    assert!(page["applications"][0]["crash_loop"]["crashes"].as_i64() >= last["crashes"].as_i64(), "{page}");
    let told = events_of(&platform, &id).await;
    assert_eq!((times(&told, "application.crashed"), times(&told, "application.failed")), (1, 1), "{told:?}");
    assert_eq!(times(&told, "application.running"), 1, "{told:?}");

    commit(&repository, "two");
    platform.deployed(&newest_deployment(&platform.deploy(&body))).await;
    let fixed = until_status(&platform, &id, "running").await;
    assert_eq!(fixed["crash_loop"], Value::Null);
    assert_eq!(platform.visit("shaky.localhost", "/").await, (200, "two".into()));
}

fn microseconds(moment: &str) -> i64 {
    serde_json::from_value::<windlass_api::Timestamp>(json!(moment)).expect("a moment").micros()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_crash_is_served_again_at_once_and_over_when_it_stays_up() {
    let platform = Platform::start().await;
    let repository = repository(&platform, "sound", "one");
    let mut body = body("sound", &repository);
    body["memory_mb"] = json!(64);
    let application = platform.deploy(&body);
    let id = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    platform.settled().await;
    for code in [0, 7] {
        end_it(&platform, "sound.localhost", code).await;
        let began = Instant::now();
        until("it serves again", async || {
            (platform.visit("sound.localhost", "/").await == (200, "one".into())).then_some(())
        })
        .await;
        println!("served again {} ms after a crash", began.elapsed().as_millis());
        let failed = until_status(&platform, &id, "failed").await;
        assert_eq!(failed["crash_loop"]["crashes"], 1, "{failed}");
        assert_eq!(failed["crash_loop"]["exit_code"], code, "{failed}");
        let steady = until_status(&platform, &id, "running").await;
        assert_eq!(steady["crash_loop"], Value::Null);
        assert_eq!(statuses(&steady).2, "running");
    }
}
