//! No request is lost: not by a deploy, a rollback or a restart of the application, nor by the end of the server.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::crowd::{Crowd, Visit, all_answered};
use super::support::*;
use super::visitor::Visitor;

const LEAST_PER_SECOND: f64 = 300.0;

/// When each version was live, at the longest: from when it was asked for until the next one was seen to be live.
#[derive(Default)]
struct Timeline(BTreeMap<usize, (String, Instant, Option<Instant>)>);

impl Timeline {
    fn asked(&mut self, version: &str) -> usize {
        let number = self.0.len();
        self.0.insert(number, (version.to_owned(), Instant::now(), None));
        number
    }

    /// What was live before is live no more.
    fn seen(&mut self, number: usize) {
        let now = Instant::now();
        for (_, (_, _, end)) in self.0.range_mut(..number) {
            end.get_or_insert(now);
        }
    }

    fn was_live(&self, version: &str, visit: &Visit) -> bool {
        self.0
            .values()
            .any(|(live, from, to)| live == version && *from <= visit.ended && to.is_none_or(|to| visit.sent <= to))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_while_everything_changes() {
    let mut platform = Platform::start().await;
    let repository = repository(&platform, "busy", "v0");
    let mut body = body("busy", &repository);
    body["kept_releases"] = json!(30);
    let application = platform.deploy(&body);
    let id = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    let edge = platform.edge().await;
    let mut timeline = Timeline::default();
    timeline.asked("v0");
    let crowd = Crowd::come(edge, "busy.localhost");

    let mut slow = Vec::new();
    let mut releases: Vec<(String, String)> = Vec::new();
    for turn in 1..=20 {
        let version = format!("v{turn}");
        commit(&repository, &version);
        if turn % 7 == 1 {
            slow.push(slow_visit(edge));
        }
        let number = timeline.asked(&version);
        let deployment = newest_deployment(&platform.deploy(&body));
        if turn % 7 == 3 {
            platform.kill_server();
            platform.start_server(None);
        }
        platform.deployed(&deployment).await;
        timeline.seen(number);
        releases.push((deployment, version));
    }
    for turn in 0..5 {
        let (deployment, version) = releases[turn * 3].clone();
        let number = timeline.asked(&version);
        let rollback = platform.call("POST", "/deploy/application/rollback", &json!({ "id": deployment }));
        platform.deployed(&id_of(&rollback)).await;
        timeline.seen(number);
    }
    let live = releases[12].1.clone();
    for _ in 0..5 {
        let number = timeline.asked(&live);
        let restart = platform.call("POST", "/deploy/application/restart", &json!({ "id": id }));
        platform.deployed(&id_of(&restart)).await;
        timeline.seen(number);
    }
    assert_eq!(slow.len(), 3);
    for slow in slow {
        let (status, version) = slow.await.unwrap().unwrap();
        assert_eq!(status, 200);
        assert!(version.starts_with('v'), "{version}");
    }
    let (visits, time) = crowd.go().await;
    check(&visits, time, &timeline);
    platform.settled().await;
    assert_eq!(containers_of(&id).len(), 1);
    no_request_was_cut(&platform, &id);
}

/// A request that takes longer than a deployment.
fn slow_visit(edge: SocketAddr) -> JoinHandle<Result<(u16, String), String>> {
    tokio::spawn(async move { Visitor::new(edge, "busy.localhost").get("/slow?ms=10000").await })
}

fn check(visits: &[Visit], time: Duration, timeline: &Timeline) {
    all_answered(visits);
    for visit in visits {
        let Ok((_, version)) = &visit.answer else { continue };
        assert!(timeline.was_live(version, visit), "{version} was not live then");
    }
    let rate = visits.len() as f64 / time.as_secs_f64();
    assert!(rate >= LEAST_PER_SECOND, "only {rate:.0} requests a second");
}

fn no_request_was_cut(platform: &Platform, id: &str) {
    let path = format!("/deploy/application/deployments?id={id}&limit=100");
    let all = platform.call("GET", &path, &Value::Null);
    let deployments = all["deployments"].as_array().unwrap();
    assert!(deployments.len() >= 31, "{}", deployments.len());
    for deployment in deployments {
        assert_eq!(deployment["requests_failed"], 0, "{deployment}");
    }
}
