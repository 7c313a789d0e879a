//! The engine itself: what it is, and what happens when it is not there.

use std::path::Path;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixListener;
use tokio::sync::mpsc;
use windlass_runtime::{Build, Docker, Dockerfile, Error, Label, Labels};

use crate::support::{World, docker_program};

#[tokio::test]
async fn the_engine_tells_what_it_is() {
    let world = World::new().await;
    let engine = world.docker.ping().await.unwrap();
    let said = docker_program(["version", "-f", "{{.Server.Version}} {{.Server.APIVersion}} {{.Server.Arch}}"]);
    assert_eq!(format!("{} {} {}", engine.version, engine.api_version, engine.architecture), said.trim());
    assert!(matches!(engine.cgroup_version, Some(1 | 2)));
}

fn a_build(context: &Path) -> Build {
    Build {
        context: context.to_owned(),
        git: None,
        tree: context.to_owned(),
        dockerfile: Dockerfile::InContext("Dockerfile".to_owned()),
        target: String::new(),
        tag: "x:1".to_owned(),
        labels: Labels::new(),
        args: Vec::new(),
        secrets: Vec::new(),
        no_cache: false,
        cache_namespace: "namespace".to_owned(),
        host_name: "host.invalid".to_owned(),
        has_network: true,
    }
}

async fn every_call_is_unreachable(docker: &Docker) {
    let label = Label::new("a", "b");
    let results = [
        docker.ping().await.map(drop),
        docker.inspect("x").await.map(drop),
        docker.remove("x").await,
        docker.stop("x", Duration::from_secs(1)).await,
        docker.containers(&label).await.map(drop),
        docker.image("x").await.map(drop),
        docker.networks(None).await.map(drop),
        docker.wait("x").await.map(drop),
        docker.exec("x", &["true".to_owned()]).await.map(drop),
        docker.events(&label).await.map(drop),
        docker.build(a_build(Path::new("/")), mpsc::channel(1).0).await.map(drop),
    ];
    for result in results {
        assert!(matches!(result, Err(Error::Unreachable { .. })), "{result:?}");
    }
}

#[tokio::test]
async fn an_engine_that_is_not_there_is_unreachable() {
    every_call_is_unreachable(&Docker::new(Path::new("/no/such/docker.sock"))).await;

    let folder = TempDir::new().unwrap();
    let refusing = folder.path().join("refusing.sock");
    drop(UnixListener::bind(&refusing).unwrap());
    every_call_is_unreachable(&Docker::new(&refusing)).await;
}

#[tokio::test]
async fn a_connection_that_breaks_is_unreachable() {
    let folder = TempDir::new().unwrap();
    let socket = folder.path().join("breaking.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let breaking = tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 1024]).await;
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"half").await;
        }
    });
    every_call_is_unreachable(&Docker::new(&socket)).await;
    breaking.abort();
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_never_answers_is_given_up() {
    let folder = TempDir::new().unwrap();
    let socket = folder.path().join("silent.sock");
    let _listener = UnixListener::bind(&socket).unwrap();
    let docker = Docker::new(&socket);
    let start = Instant::now();
    let grace = Duration::from_secs(1000);
    let label = Label::new("a", "b");
    let results = [
        docker.ping().await.map(drop),
        docker.inspect("x").await.map(drop),
        docker.remove("x").await,
        docker.stop("x", grace).await,
        docker.containers(&label).await.map(drop),
        docker.tail("x", 1).await.map(drop),
        docker.events(&label).await.map(drop),
        docker.wait("x").await.map(drop),
        docker.exec("x", &["true".to_owned()]).await.map(drop),
        docker.build(a_build(folder.path()), mpsc::channel(1).0).await.map(drop),
    ];
    for result in results {
        assert!(matches!(result, Err(Error::TimedOut { .. })), "{result:?}");
    }
    assert!(start.elapsed() < Duration::from_secs(20), "the clock of this test is not the machine's");
}

/// Speaks one version of the API and refuses the others, as an engine does.
async fn answer_as_engine(listener: &UnixListener, version: &str) {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut request = [0; 1024];
    let length = stream.read(&mut request).await.unwrap();
    let request = String::from_utf8_lossy(&request[..length]);
    let (status, body) = if request.starts_with("GET /version ") {
        ("200 OK", format!(r#"{{"Version":"1","ApiVersion":"{version}","Arch":"amd64"}}"#))
    } else if request.starts_with(&format!("GET /v{version}/")) {
        ("200 OK", "[]".to_owned())
    } else {
        ("400 Bad Request", r#"{"message":"client version 1.47 is too new"}"#.to_owned())
    };
    let answer = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(answer.as_bytes()).await.unwrap();
}

#[tokio::test]
async fn an_engine_that_is_replaced_by_an_older_one_is_asked_for_its_version_again() {
    let folder = TempDir::new().unwrap();
    let socket = folder.path().join("engine.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let (replace, mut version) = tokio::sync::watch::channel("1.47");
    let engine = tokio::spawn(async move {
        loop {
            let current = *version.borrow_and_update();
            tokio::select! {
                () = answer_as_engine(&listener, current) => {}
                _ = version.changed() => {}
            }
        }
    });
    let docker = Docker::new(&socket);
    docker.networks(None).await.unwrap();
    replace.send("1.41").unwrap();
    let refused = docker.networks(None).await;
    assert!(matches!(refused, Err(Error::Refused { status: 400, .. })), "{refused:?}");
    docker.networks(None).await.unwrap();
    engine.abort();
}
