//! Several servers on one database share the work.

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Stdio;

use rustix::process::Signal;
use windlass_testing::Kind;

use super::support::*;
use crate::process::{Process, windlass};

/// A server that a busy machine keeps from saying that it lives loses its work to the other one, as it should: so these run by themselves.
mod timed {
    use super::*;

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
                    let answer = super::super::visitor::Visitor::new(edge, &host).get("/").await;
                    (answer == Ok((200, format!("shared-{application}")))).then_some(())
                })
                .await;
            }
        }
        drop(other);
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
}

/// A server that leaves puts back what it was working on, and the other one brings it to its end.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
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

/// By so many servers, one after another. An engine that was too slow for one attempt is told of, and brings another one, which fetches again
/// unless the image was built; two servers that work at once would tell of nothing.
fn assert_deployed_once(story: &str, servers: usize) {
    let attempts = servers + story.matches("Interrupted").count();
    assert!((servers..=attempts).contains(&story.matches("Fetching").count()), "{story}");
    assert_eq!(story.matches("Deployed: visitors").count(), 1, "{story}");
}

/// Each would make the containers of both again, on its own engine.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_another_engine_does_not_start_beside_the_first() {
    let platform = Platform::on(Kind::Postgres, &[]).await;
    let (home, url) = (second_home(&platform), platform.place.url.clone().unwrap());
    let socket = home.path().join("engine.sock");
    pretend_to_be_an_engine(&socket, "ANOTHER:ENGINE");
    let mut serve = windlass();
    serve.args([
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--edge-http",
        "127.0.0.1:0",
        "--edge-https",
        "127.0.0.1:0",
        "--database-url",
        &url,
    ]);
    serve.arg("--data-dir").arg(home.path()).arg("--docker-socket").arg(&socket);
    let mut second = serve.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let ended = until("it ends", async || second.try_wait().unwrap()).await;
    let mut said = String::new();
    second.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(!ended.success(), "{said}");
    assert!(said.contains("ANOTHER:ENGINE") && said.contains("docker-socket"), "{said}");
    assert!(!home.path().join("edge.sock").exists(), "it has started an edge");
    // The first one goes on.
    let repository = repository(&platform, "alone", "one");
    platform.deployed(&newest_deployment(&platform.deploy(&body("alone", &repository)))).await;
    platform.settled().await;
}

/// Says who it is, and knows nothing else.
fn pretend_to_be_an_engine(socket: &Path, id: &'static str) {
    let listener = UnixListener::bind(socket).unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = [0; 4096];
            let length = stream.read(&mut head).unwrap_or(0);
            let asked = String::from_utf8_lossy(&head[..length]).into_owned();
            let (status, body) = if asked.contains("/version") {
                ("200 OK", r#"{"Version":"28.0.0","ApiVersion":"1.44","Arch":"amd64"}"#.to_owned())
            } else if asked.contains("/info") {
                ("200 OK", format!(r#"{{"ID":"{id}","CgroupVersion":"2","SystemTime":"2026-01-01T00:00:00Z"}}"#))
            } else {
                ("404 Not Found", r#"{"message":"nothing is here"}"#.to_owned())
            };
            let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n");
            let _ = write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len());
        }
    });
}

/// A data folder with the key of the platform.
fn second_home(platform: &Platform) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let key = windlass_server::vault::ring::FILE_NAME;
    std::fs::copy(platform.data_dir().join(key), home.path().join(key)).unwrap();
    home
}

/// On the same database, with a data folder of its own and the same key.
pub fn second_server(platform: &Platform) -> (tempfile::TempDir, Process) {
    second_server_with(platform, &["--parallel-deployments", "1"])
}

/// With these arguments beside.
pub fn second_server_with(platform: &Platform, arguments: &[&str]) -> (tempfile::TempDir, Process) {
    let (home, url) = (second_home(platform), platform.place.url.clone().unwrap());
    let process = Process::start(windlass(), home.path(), &[&["--database-url", &url], arguments].concat());
    (home, process)
}
