//! What other tests rely on works.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failure here is a failed test")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use windlass_testing::git::{GitServer, Repository};
use windlass_testing::testapp;

fn fetch(repository: &Repository, what: &str, header: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.current_dir(&folder)
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            .env("GIT_CONFIG_GLOBAL", "/dev/null");
        git.args(arguments).output().unwrap()
    };
    git(&["init", "--quiet", "."]);
    let header = format!("http.extraHeader={header}");
    let fetched = git(&["-c", &header, "fetch", "--quiet", "--depth=1", repository.url(), what]);
    if !fetched.status.success() {
        return fetched;
    }
    git(&["show", "FETCH_HEAD:file"])
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

#[test]
fn a_repository_is_fetched_by_branch_tag_and_hash() {
    let server = GitServer::start();
    let repository = server.repository("app");
    let first = repository.commit(&[("file", "one")], "First");
    repository.tag("v1");
    repository.commit(&[("file", "two")], "Second");
    repository.commit_on("other", &[("file", "three")], "Third");
    assert_eq!(text(&fetch(&repository, "HEAD", "")), "two");
    assert_eq!(text(&fetch(&repository, "other", "")), "three");
    assert_eq!(text(&fetch(&repository, "v1", "")), "one");
    assert_eq!(text(&fetch(&repository, &first, "")), "one");
    let server = server.without_hashes();
    assert!(text(&fetch(&repository, &first, "")).contains("not allow request for unadvertised object"));
    assert!(server.requests() > 0);
}

#[test]
fn a_large_repository_passes_through() {
    let server = GitServer::start();
    let repository = server.repository("app");
    // What a hash function makes does not compress.
    let large: String = (0..400_000_u64).map(|n| format!("{:016x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    repository.commit(&[("file", &large)], "Large");
    assert_eq!(text(&fetch(&repository, "main", "")).len(), large.len());
}

#[test]
fn a_token_is_asked_for() {
    let server = GitServer::start().with_token("swordfish");
    let repository = server.repository("app");
    repository.commit(&[("file", "one")], "First");
    // base64 of x:swordfish, and of x:guess
    assert_eq!(text(&fetch(&repository, "main", "Authorization: Basic eDpzd29yZGZpc2g=")), "one");
    assert!(text(&fetch(&repository, "main", "Authorization: Basic eDpndWVzcw==")).contains("could not read Username"));
    assert!(text(&fetch(&repository, "main", "")).contains("could not read Username"));
}

#[test]
fn a_server_misbehaves_when_told_to() {
    let server = GitServer::start();
    let repository = server.repository("app");
    repository.commit(&[("file", "one")], "First");
    let elsewhere = GitServer::start();
    server.redirect_to(&elsewhere.url());
    assert!(text(&fetch(&repository, "main", "")).contains("not found"));
    assert_eq!(elsewhere.requests(), 1);
    elsewhere.answer(503);
    assert!(text(&fetch(&repository, "main", "")).contains("503"));
}

struct App {
    process: Child,
    address: String,
}

impl App {
    fn start(environment: &[(&str, &str)]) -> Self {
        let mut command = Command::new(testapp::PROGRAM);
        command.env("LISTEN", "127.0.0.1:0").envs(environment.iter().copied()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.strip_prefix("listening on ").unwrap().split(',').next().unwrap().to_owned();
        Self { process, address }
    }

    /// Sends all requests over one connection; everything that comes back.
    fn ask(&self, requests: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(requests.as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answers = String::new();
        stream.read_to_string(&mut answers).unwrap();
        answers
    }
}

impl Drop for App {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn the_application_does_as_it_is_told() {
    let mut app = App::start(&[("VERSION", " 7\n"), ("HEALTH_STATUS", "503"), ("ODD", "a\"b\\c\nd")]);
    let two = app.ask("GET / HTTP/1.1\r\n\r\nPOST /echo HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello");
    assert_eq!(two.matches("HTTP/1.1 200").count(), 2, "{two}");
    assert_eq!(two.matches("x-version: 7\r\n").count(), 2, "{two}");
    assert!(two.ends_with("\r\n\r\nhello"), "{two}");
    assert!(app.ask("GET /slow?ms=1 HTTP/1.1\r\n\r\n").ends_with("\r\n\r\n7"));
    assert_eq!(app.ask("GET /stream?ms=1 HTTP/1.1\r\n\r\n").matches("2\r\n7\n\r\n").count(), 10);
    assert!(app.ask("GET /env HTTP/1.1\r\n\r\n").contains(r#""ODD":"a\"b\\c\u000ad""#));
    assert!(app.ask("GET /health HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 503"));
    let chunked = "POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    assert!(app.ask(chunked).ends_with("\r\n\r\nabcde"));
    assert!(app.ask("GET /exit?code=4 HTTP/1.1\r\n\r\n").ends_with("exiting"));
    assert_eq!(app.process.wait().unwrap().code(), Some(4));
}

#[test]
fn the_application_fails_when_told_to() {
    let output = Command::new(testapp::PROGRAM).env("EXIT_CODE", "3").output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output).contains("exiting with 3"));
}

#[tokio::test]
async fn the_image_runs() {
    let image = testapp::base_image().await;
    let run = |arguments: &[&str]| {
        let output =
            Command::new("docker").args(["run", "--rm", "--env", "EXIT_CODE=5", image]).args(arguments).output();
        output.unwrap()
    };
    let output = run(&[]);
    assert_eq!(output.status.code(), Some(5), "{}", text(&output));
    assert_eq!(text(&run(&["/bin/sh", "-c", "echo hello | cat"])), "hello\n");
}

#[test]
fn a_dockerfile_is_lines() {
    let plain = "FROM windlass-test/app:1\nCOPY version /version\nEXPOSE 8080\nCMD [\"/testapp\"]\n";
    assert_eq!(testapp::dockerfile(""), plain);
    let more = "FROM windlass-test/app:1\nCOPY version /version\nENV A=1\nEXPOSE 8080\nCMD [\"/testapp\"]\n";
    assert_eq!(testapp::dockerfile("ENV A=1\n"), more);
}
