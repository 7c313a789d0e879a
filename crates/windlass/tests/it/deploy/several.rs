//! Several servers on one database share the work.

use rustix::process::Signal;
use windlass_testing::Kind;

use super::support::*;
use crate::process::{Process, windlass};

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_deploy_each_application_once() {
    let platform = Platform::on(Kind::Postgres, &["--parallel-deployments", "1"]).await;
    let (home, other) = second_server(&platform);
    let mut deployments = Vec::new();
    for number in 0..6 {
        let name = format!("shared-{number}");
        let repository = repository(&platform, &name, &name);
        deployments.push(newest_deployment(&platform.deploy(&body(&name, &repository))));
    }
    for deployment in &deployments {
        platform.deployed(deployment).await;
        assert_deployed_once(&platform.story(deployment), 1);
    }
    platform.settled().await;
    // Both edges are told of all, no matter which server deployed them.
    for (number, edge) in [platform.edge().await, edge_of(home.path()).await].into_iter().enumerate() {
        for application in 0..6 {
            let host = format!("shared-{application}.localhost");
            until(&format!("edge {number} serves {host}"), async || {
                let answer = super::visitor::Visitor::new(edge, &host).get("/").await;
                (answer == Ok((200, format!("shared-{application}")))).then_some(())
            })
            .await;
        }
    }
    drop(other);
}

/// A server that leaves puts back what it was working on, and the other one brings it to its end.
#[tokio::test(flavor = "multi_thread")]
async fn what_one_server_leaves_the_other_finishes() {
    let mut platform = Platform::on(Kind::Postgres, &["--parallel-deployments", "1"]).await;
    let repository = repository(&platform, "passed-on", "one");
    platform.git.hang();
    let deployment = newest_deployment(&platform.deploy(&body("passed-on", &repository)));
    until("it is under way", async || {
        (platform.deployment(&deployment)["status"]["status"] == "cloning").then_some(())
    })
    .await;
    let (_home, other) = second_server(&platform);
    // What hangs goes on hanging; the next visitor is answered.
    platform.git.go_on();
    platform.process().signal(Signal::TERM);
    platform.wait_for_end();
    platform.use_server(other);
    platform.deployed(&deployment).await;
    assert_deployed_once(&platform.story(&deployment), 2);
    platform.settled().await;
}

/// A server that is killed says nothing; the other one notices within seconds, not only when its claims have run out.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_dead_server_was_working_on_is_taken_over_in_seconds() {
    let mut platform = Platform::on(Kind::Postgres, &["--parallel-deployments", "1"]).await;
    let repository = repository(&platform, "orphan", "one");
    platform.git.hang();
    let deployment = newest_deployment(&platform.deploy(&body("orphan", &repository)));
    until("it is under way", async || {
        (platform.deployment(&deployment)["status"]["status"] == "cloning").then_some(())
    })
    .await;
    let (_home, other) = second_server(&platform);
    platform.git.go_on();
    platform.kill_server();
    let died = std::time::Instant::now();
    platform.use_server(other);
    platform.deployed(&deployment).await;
    let took = died.elapsed();
    assert!(took < std::time::Duration::from_secs(45), "{took:?}");
    platform.settled().await;
}

/// By so many servers, one after another. An engine that was too slow for one attempt is told of, and brings another one; two servers that
/// work at once would tell of nothing.
fn assert_deployed_once(story: &str, servers: usize) {
    let attempts = servers + story.matches("Interrupted").count();
    assert_eq!(story.matches("Fetching").count(), attempts, "{story}");
    assert_eq!(story.matches("Deployed: visitors").count(), 1, "{story}");
}

/// On the same database, with a data folder of its own and the same key.
pub fn second_server(platform: &Platform) -> (tempfile::TempDir, Process) {
    let home = tempfile::tempdir().unwrap();
    let key = windlass_server::vault::ring::FILE_NAME;
    std::fs::copy(platform.data_dir().join(key), home.path().join(key)).unwrap();
    let url = platform.place.url.clone().unwrap();
    let process = Process::start(windlass(), home.path(), &["--database-url", &url, "--parallel-deployments", "1"]);
    (home, process)
}
