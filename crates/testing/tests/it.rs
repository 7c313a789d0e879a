//! What other tests rely on works.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failure here is a failed test")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_testing::deliveries::{hmac_sha256, sample};
use windlass_testing::git::{GitServer, Repository};
use windlass_testing::gitea::Gitea;
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

/// Status and body of one call to Gitea's API.
fn call_gitea(gitea: &Gitea, authorization: &str, request: &str, body: &Value) -> (u16, Value) {
    let body = body.to_string();
    let mut stream = TcpStream::connect(gitea.url().strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let authorization = match authorization {
        "" => String::new(),
        given => format!("authorization: {given}\r\n"),
    };
    let head = format!("{request} HTTP/1.0\r\n{authorization}content-length: {}\r\n\r\n", body.len());
    stream.write_all((head + &body).as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), serde_json::from_str(body).unwrap_or_default())
}

/// What a hook's receiver gets: the head and the body of as many requests as it takes.
fn receive(listener: &std::net::TcpListener, count: usize) -> Vec<(String, Vec<u8>)> {
    let receive_one = || {
        let (stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            reader.read_line(&mut head).unwrap();
        }
        let length = head.split("Content-Length: ").nth(1).unwrap().split('\r').next().unwrap().parse().unwrap();
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        reader.get_mut().write_all(b"HTTP/1.1 202 Accepted\r\n\r\nthanks").unwrap();
        (head, body)
    };
    (0..count).map(|_| receive_one()).collect()
}

fn names(value: &Value) -> Vec<&String> {
    value.as_object().unwrap().keys().collect()
}

#[test]
fn gitea_delivers_what_was_pushed() {
    let gitea = Gitea::start();
    let token = format!("token {}", Gitea::TOKEN);
    let call = |request: &str, body: Value| call_gitea(&gitea, &token, request, &body);
    assert_eq!(call("POST /api/v1/user/repos", json!({ "name": "shop", "private": true })).0, 201);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let config = json!({ "url": url, "content_type": "json", "secret": "swordfish" });
    let hook = json!({ "type": "gitea", "active": true, "events": ["push", "create", "delete"], "config": config });
    assert_eq!(call("POST /api/v1/repos/ada/shop/hooks", hook).0, 201);

    let folder = tempfile::tempdir().unwrap();
    let remote = gitea.url().replace("http://", &format!("http://ada:{}@", Gitea::TOKEN)) + "/ada/shop.git";
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.current_dir(&folder).env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", folder.path());
        git.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com"]).args(arguments);
        let output = git.output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
    };
    git(&["init", "--quiet", "--initial-branch=main", "."]);
    for number in 0..7 {
        std::fs::write(folder.path().join(format!("file {number}")), "content").unwrap();
        git(&["add", "."]);
        git(&["commit", "--quiet", "--message", &number.to_string()]);
    }
    git(&["tag", "--annotate", "--message", "One", "v1"]);
    git(&["push", "--quiet", &remote, "main", "v1"]);
    let received = receive(&listener, 4);

    let events: Vec<&str> = received
        .iter()
        .map(|(head, _)| head.split("X-Gitea-Event: ").nth(1).unwrap().split('\r').next().unwrap())
        .collect();
    assert_eq!(events, ["create", "push", "push", "create"]);
    let (head, bytes) = &received[1];
    let signature: String = hmac_sha256(b"swordfish", bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(head.contains(&format!("X-Gitea-Signature: {signature}\r\n")), "{head}");
    assert!(head.contains(&format!("X-Hub-Signature-256: sha256={signature}\r\n")), "{head}");
    let body: Value = serde_json::from_slice(bytes).unwrap();
    assert_eq!((&body["total_commits"], body["commits"].as_array().unwrap().len()), (&json!(7), 5));
    assert_eq!((&body["commits"][0], &body["head_commit"]["added"]), (&body["head_commit"], &json!(["file 6"])));
    let real = sample("gitea", "push-branch").body;
    assert_eq!(names(&body), names(&real));
    assert_eq!(names(&body["commits"][0]), names(&real["commits"][0]));
    let tag: Value = serde_json::from_slice(&received[2].1).unwrap();
    assert_eq!((&tag["ref"], &tag["head_commit"]["id"]), (&json!("refs/tags/v1"), &body["after"]));
    assert_ne!(tag["after"], body["after"], "the tag has an object of its own");

    git(&["push", "--quiet", &remote, ":v1"]);
    let received = receive(&listener, 2);
    assert!(received[1].0.contains("X-Gitea-Event: delete\r\n"), "{received:?}");
    let deadline = Instant::now() + Duration::from_secs(20);
    while gitea.deliveries().len() < 6 && Instant::now() < deadline {
        std::thread::yield_now();
    }
    assert_eq!(gitea.deliveries().len(), 6);
    assert!(gitea.deliveries().iter().all(|delivery| (delivery.status, &*delivery.answer) == (Some(202), "thanks")));
}

/// A Gitea with a repository that has a branch beside `main`, and a hook for what pull requests are about.
fn gitea_with_hook(listener: &std::net::TcpListener) -> Gitea {
    let gitea = Gitea::start();
    gitea.add_repository("shop");
    gitea.push("ada/shop", "main", &[("file", "one")]);
    gitea.push("ada/shop", "topic", &[("file", "two")]);
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let config = json!({ "url": url, "content_type": "json", "secret": "swordfish" });
    let hook = json!({ "type": "gitea", "active": true, "events": ["push", "pull_request"], "config": config });
    let token = format!("token {}", Gitea::TOKEN);
    assert_eq!(call_gitea(&gitea, &token, "POST /api/v1/repos/ada/shop/hooks", &hook).0, 201);
    gitea
}

/// The next deliveries: event, finer event, action and body.
fn told(listener: &std::net::TcpListener, count: usize) -> Vec<(String, Value)> {
    let header = |head: &str, name: &str| {
        head.split(&format!("{name}: ")).nth(1).unwrap().split('\r').next().unwrap().to_owned()
    };
    let describe = |(head, bytes): (String, Vec<u8>)| {
        let signature: String = hmac_sha256(b"swordfish", &bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(header(&head, "X-Gitea-Signature"), signature);
        let body: Value = serde_json::from_slice(&bytes).unwrap();
        let (event, kind) = (header(&head, "X-Gitea-Event"), header(&head, "X-Gitea-Event-Type"));
        (format!("{event} {kind} {}", body["action"].as_str().unwrap_or("-")), body)
    };
    receive(listener, count).into_iter().map(describe).collect()
}

fn what(told: &[(String, Value)]) -> Vec<&str> {
    told.iter().map(|(what, _)| &**what).collect()
}

#[test]
fn gitea_tells_of_pull_requests() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let gitea = gitea_with_hook(&listener);
    assert_eq!(gitea.open_pull_request("ada/shop", "topic", "Topic"), 1);
    let opened = told(&listener, 1);
    assert_eq!(what(&opened), ["pull_request pull_request opened"]);
    let (body, real) = (&opened[0].1, sample("gitea", "pull-request-opened").body);
    assert_eq!(names(body), names(&real));
    assert_eq!(names(&body["pull_request"]["head"]), names(&real["pull_request"]["head"]));
    let missing = names(&real["pull_request"]).into_iter().filter(|name| body["pull_request"].get(name).is_none());
    assert_eq!(missing.collect::<Vec<_>>(), ["content_version"], "which is of a later version");
    let head = &body["pull_request"]["head"];
    assert_eq!((&head["ref"], &head["repo_id"]), (&json!("topic"), &body["pull_request"]["base"]["repo_id"]));

    let second = gitea.push("ada/shop", "topic", &[("file", "three")]);
    let pushed = told(&listener, 2);
    assert_eq!(what(&pushed), ["push push -", "pull_request pull_request_sync synchronized"]);
    assert_eq!(pushed[1].1["pull_request"]["head"]["sha"], second);
    let changed_at = |told: &(String, Value)| told.1["pull_request"]["updated_at"].as_str().unwrap().to_owned();
    assert!(changed_at(&opened[0]) < changed_at(&pushed[1]));
    gitea.push("ada/shop", "main", &[("other", "one")]);
    assert_eq!(what(&told(&listener, 1)), ["push push -"]);

    gitea.retitle_pull_request("ada/shop", 1, "Another");
    gitea.close_pull_request("ada/shop", 1);
    let third = gitea.push("ada/shop", "topic", &[("file", "four")]);
    gitea.reopen_pull_request("ada/shop", 1);
    gitea.merge_pull_request("ada/shop", 1);
    let rest = told(&listener, 6);
    let all = ["pull_request pull_request edited", "pull_request pull_request closed", "push push -"];
    assert_eq!(what(&rest[..3]), all);
    let all = ["pull_request pull_request reopened", "pull_request pull_request closed", "push push -"];
    assert_eq!(what(&rest[3..]), all);
    assert_eq!(
        (&rest[1].1["pull_request"]["merged"], &rest[4].1["pull_request"]["merged"]),
        (&json!(false), &json!(true))
    );
    assert_eq!(rest[3].1["pull_request"]["head"]["sha"], third);
    assert_eq!(rest[5].1["after"], rest[4].1["pull_request"]["merge_commit_sha"]);
}

#[test]
fn gitea_has_pull_requests_of_forks() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let gitea = gitea_with_hook(&listener);
    let fork = gitea.fork("ada/shop");
    assert_eq!(fork, "grace/shop");
    let first = gitea.push(&fork, "patch", &[("file", "forked")]);
    assert_eq!(gitea.open_pull_request("ada/shop", "grace:patch", "Patch"), 1);
    let second = gitea.push(&fork, "patch", &[("file", "forked again")]);
    let received = told(&listener, 2);
    let all = ["pull_request pull_request opened", "pull_request pull_request_sync synchronized"];
    assert_eq!(what(&received), all, "and no push, which was to the fork");
    let shas = received.iter().map(|(_, body)| body["pull_request"]["head"]["sha"].as_str().unwrap());
    assert_eq!(shas.collect::<Vec<_>>(), [&*first, &second]);
    let body = &received[0].1;
    assert_eq!(body["repository"]["full_name"], "ada/shop");
    assert_eq!(body["sender"]["login"], "grace");
    let head = &body["pull_request"]["head"]["repo"];
    let described = (&head["full_name"], &head["fork"], &head["parent"]["full_name"]);
    assert_eq!(described, (&json!("grace/shop"), &json!(true), &json!("ada/shop")));
    let folder = tempfile::tempdir().unwrap();
    let remote = gitea.url().replace("http://", &format!("http://ada:{}@", Gitea::TOKEN)) + "/ada/shop.git";
    let git = |arguments: &[&str]| Command::new("git").current_dir(&folder).args(arguments).output().unwrap();
    git(&["init", "--quiet", "."]);
    let fetched = git(&["fetch", "--quiet", "--depth=1", &remote, "refs/pull/1/head"]);
    assert!(fetched.status.success(), "{}", text(&fetched));
    assert_eq!(text(&git(&["show", "FETCH_HEAD:file"])), "forked again");
    assert_eq!(text(&git(&["rev-parse", "FETCH_HEAD"])).trim(), second);
    let token = format!("token {}", Gitea::TOKEN);
    let (_, own) = call_gitea(&gitea, &token, "GET /api/v1/user/repos", &Value::Null);
    assert_eq!(own.as_array().unwrap().len(), 1, "the fork is another user's");
}

#[test]
fn gitea_answers_calls_about_pull_requests() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let gitea = gitea_with_hook(&listener);
    let token = format!("token {}", Gitea::TOKEN);
    let call = |request: &str, body: Value| {
        let (method, path) = request.split_once(' ').unwrap();
        call_gitea(&gitea, &token, &format!("{method} /api/v1/repos/ada/shop{path}"), &body)
    };
    let wish = json!({ "title": "Topic", "head": "topic", "base": "main" });
    let (status, opened) = call("POST /pulls", wish.clone());
    assert_eq!((status, &opened["number"], &opened["state"]), (201, &json!(1), &json!("open")));
    assert_eq!(call("POST /pulls", wish).0, 409);
    assert_eq!(call("POST /pulls", json!({ "title": "x", "head": "none", "base": "main" })).0, 404);
    let (status, closed) = call("PATCH /pulls/1", json!({ "state": "closed" }));
    assert_eq!((status, &closed["state"]), (201, &json!("closed")));
    assert_eq!(call("PATCH /pulls/1", json!({ "state": "open" })).1["state"], "open");
    assert_eq!(call("GET /pulls/1", Value::Null).1["closed_at"], Value::Null);
    assert_eq!(call("GET /pulls/2", Value::Null).0, 404);
    assert_eq!(call("POST /pulls/1/merge", json!({ "Do": "merge" })).0, 200);
    assert_eq!(call("GET /pulls/1", Value::Null).1["merged"], true);
    let actions =
        ["opened", "closed", "reopened", "closed"].map(|action| format!("pull_request pull_request {action}"));
    assert_eq!(what(&told(&listener, 5))[..4], actions);
    // A branch that is deleted takes its pull request along.
    gitea.push("ada/shop", "next", &[("file", "five")]);
    assert_eq!(gitea.open_pull_request("ada/shop", "next", "Next"), 2);
    let folder = tempfile::tempdir().unwrap();
    let remote = gitea.url().replace("http://", &format!("http://ada:{}@", Gitea::TOKEN)) + "/ada/shop.git";
    let git = |arguments: &[&str]| Command::new("git").current_dir(&folder).args(arguments).output().unwrap();
    git(&["init", "--quiet", "."]);
    assert!(git(&["push", "--quiet", &remote, ":next"]).status.success());
    let deleted = told(&listener, 3);
    assert_eq!(deleted[2].1["pull_request"]["head"]["ref"], "refs/pull/2/head");
    assert_eq!(deleted[2].1["pull_request"]["state"], "closed");
}

#[test]
fn gitea_keeps_comments() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let gitea = gitea_with_hook(&listener);
    let token = format!("token {}", Gitea::TOKEN);
    let call = |request: &str, body: Value| {
        let (method, path) = request.split_once(' ').unwrap();
        call_gitea(&gitea, &token, &format!("{method} /api/v1/repos/ada/shop/issues{path}"), &body)
    };
    gitea.open_pull_request("ada/shop", "topic", "Topic");
    let (status, made) = call("POST /1/comments", json!({ "body": "Preview" }));
    assert_eq!((status, &made["body"], &made["user"]["login"]), (201, &json!("Preview"), &json!("ada")));
    let id = made["id"].as_u64().unwrap();
    let (status, changed) = call(&format!("PATCH /comments/{id}"), json!({ "body": "Preview, again" }));
    assert_eq!((status, &changed["id"], &changed["body"]), (200, &made["id"], &json!("Preview, again")));
    let (_, all) = call("GET /1/comments?limit=50&page=1", Value::Null);
    assert_eq!(all, json!([changed]));
    let kept = gitea.comments("ada/shop", 1);
    assert_eq!(kept.len(), 1);
    assert_eq!((kept[0].id, &*kept[0].text, kept[0].changes), (id, "Preview, again", 1));
    assert_eq!(call("POST /1/comments", json!({ "body": "" })).0, 422);
    assert_eq!(call("POST /9/comments", json!({ "body": "x" })).0, 500);
    assert_eq!(call("PATCH /comments/9999", json!({ "body": "x" })).0, 404);
    assert_eq!(call_gitea(&gitea, "", "POST /api/v1/repos/ada/shop/issues/1/comments", &json!({})).0, 404);
    let all = ["issue_comment pull_request_comment created", "issue_comment pull_request_comment edited"];
    let received = told(&listener, 3);
    assert_eq!(what(&received)[1..], all);
    assert_eq!(received[2].1["changes"]["body"]["from"], "Preview");
}

#[test]
fn gitea_asks_for_its_token() {
    let gitea = Gitea::start();
    let call = |authorization: &str, path: &str| {
        call_gitea(&gitea, authorization, &format!("GET /api/v1{path}"), &Value::Null).0
    };
    let (token, bearer) = (format!("token {}", Gitea::TOKEN), format!("Bearer {}", Gitea::TOKEN));
    for (name, is_private) in [("open", false), ("closed", true)] {
        let body = json!({ "name": name, "private": is_private });
        assert_eq!(call_gitea(&gitea, &token, "POST /api/v1/user/repos", &body).0, 201);
    }
    assert_eq!([&*token, &bearer, "token guess"].map(|given| call(given, "/user")), [200, 200, 401]);
    assert_eq!(["/repos/ada/open", "/repos/ada/closed"].map(|path| call(&token, path)), [200, 200]);
    assert_eq!(["/repos/ada/open", "/repos/ada/closed"].map(|path| call("token guess", path)), [401, 401]);
    assert_eq!(["/repos/ada/open", "/repos/ada/closed"].map(|path| call("", path)), [200, 404]);
    gitea.fail(503);
    assert_eq!(call(&token, "/user"), 503);
    gitea.go_on();
    assert_eq!(call(&token, "/user"), 200);
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
