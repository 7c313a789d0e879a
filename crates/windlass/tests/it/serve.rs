//! Starting, stopping, and refusing to start.

use std::fs::Permissions;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::process::Signal;

use crate::process::{Process, run, token_in, windlass};

#[test]
fn restarts_with_everything_it_knew() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = Process::serve(folder.path(), &[]);
    let token = token_in(&first.register(""));
    first.signal(Signal::TERM);
    assert_eq!(first.wait(), Some(0));
    let second = Process::serve(folder.path(), &[]);
    let answer = second.request("GET", "/user", &token, "");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn survives_being_killed() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = Process::serve(folder.path(), &[]);
    let token = token_in(&first.register(""));
    first.signal(Signal::KILL);
    first.wait();
    let second = Process::serve(folder.path(), &[]);
    assert!(second.request("GET", "/user", &token, "").starts_with("HTTP/1.1 200"));
}

#[test]
fn a_stop_lets_requests_under_way_finish() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Process::serve(folder.path(), &[]);
    let body = r#"{"email":"ada@example.org","password":"correct horse"}"#;
    let mut stream = server.connect();
    let head = format!(
        "POST /api/v1/auth/register HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\nexpect: 100-continue\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    // The server asks for the body: so the request is under way when the stop comes.
    let mut interim = [0; 25];
    stream.read_exact(&mut interim).unwrap();
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    server.signal(Signal::TERM);
    server.wait_for("stopping");
    stream.write_all(body.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(server.wait(), Some(0));
}

#[test]
fn a_second_server_on_the_same_folder_names_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let first = Process::serve(folder.path(), &[]);
    let second = run(windlass().args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(folder.path()));
    assert_eq!(second.status.code(), Some(1));
    let problem = String::from_utf8(second.stderr).unwrap();
    assert!(problem.contains(&format!("process {}", first.child.id())), "{problem}");
    assert!(first.request("GET", "/health", "", "").starts_with("HTTP/1.1 200"));
}

#[test]
fn all_configuration_problems_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let file = folder.path().join("windlass.toml");
    std::fs::write(&file, "base_domain = 'Not A Domain'\nsession_days = 0\n").unwrap();
    let output = run(windlass()
        .args(["serve", "--log-format", "xml", "--data-dir"])
        .arg(&data)
        .arg("--config")
        .arg(&file)
        .env("WINDLASS_LISTEN", "nowhere"));
    assert_eq!(output.status.code(), Some(1));
    let problems = String::from_utf8(output.stderr).unwrap();
    for key in ["4 problem(s)", "listen:", "base-domain:", "log-format:", "session-days:"] {
        assert!(problems.contains(key), "{key} in {problems}");
    }
    assert!(!data.exists(), "something was started although the configuration is wrong");
}

#[test]
fn what_cannot_be_used_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let occupied = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = occupied.local_addr().unwrap().to_string();
    let cases: [(&[&str], &str); 3] = [
        (&["--listen", &address], "listen:"),
        (&["--listen", "127.0.0.1:0", "--database-url", "postgres://user@127.0.0.1:1/none"], "database-url:"),
        (&["--config", "/nonexistent/windlass.toml"], "config:"),
    ];
    for (arguments, key) in cases {
        let output = run(windlass().args(["serve", "--data-dir"]).arg(folder.path()).args(arguments));
        let problem = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{problem}");
        assert!(problem.contains(key), "{key} in {problem}");
    }
    std::fs::write(
        folder.path().join("windlass.db"),
        "this is no database, whatever its name says; it is much too short",
    )
    .unwrap();
    let output = run(windlass().args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(folder.path()));
    let problem = String::from_utf8(output.stderr).unwrap();
    assert!(problem.contains("windlass.db") && !problem.contains("database-url"), "{problem}");
    let output = run(windlass().args(["serve", "--data-dir", "/dev/null/data"]));
    assert!(String::from_utf8(output.stderr).unwrap().contains("data-dir:"));
}

#[test]
fn beyond_loopback_a_set_up_token_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    let server = Process::serve(folder.path(), &["--listen", "0.0.0.0:0"]);
    let line = server.wait_for("Set-up token");
    let token = line.rsplit(' ').next().unwrap().to_owned();
    assert!(server.register("").contains("\"setup_token_required\""));
    assert!(server.register(&format!(",\"token\":\"{token}\"")).starts_with("HTTP/1.1 200"));
}

#[test]
fn the_log_can_be_json_and_holds_no_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let server = Process::serve(folder.path(), &["--log-format", "json", "--log-level", "trace"]);
    let token = token_in(&server.register(""));
    server.request("GET", "/user", &token, "");
    server.request("GET", "/nothing", "", "");
    server.signal(Signal::TERM);
    let mut last = String::new();
    while !last.contains("\"stopped\"") {
        last = server.wait_for("");
        // That goes to the terminal, and not into the log.
        if last.starts_with("Set-up token") {
            continue;
        }
        assert!(last.starts_with('{'), "{last}");
        assert!(!last.contains(&token) && !last.contains("correct horse"), "{last}");
    }
}

/// The same on PostgreSQL: started, used, reset by the operator, started again.
#[test]
fn lives_on_postgres() {
    let url = std::env::var("TEST_DATABASE_URL").expect("run `make test`, or `scripts/with-postgres cargo test`");
    let schema = format!("binary_{}", std::process::id());
    let url = format!("{url}?options[search_path]={schema}");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(windlass_testing::create_schema(&schema));
    let folder = tempfile::tempdir().unwrap();
    let mut first = Process::serve(folder.path(), &["--database-url", &url]);
    let token = token_in(&first.register(""));
    assert!(!folder.path().join("windlass.db").exists());
    let reset = ["admin", "reset-password", "--email", "ada@example.org", "--database-url", &url];
    let output = run(windlass().args(reset).arg("--data-dir").arg(folder.path()));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(first.request("GET", "/user", &token, "").starts_with("HTTP/1.1 401"));
    first.signal(Signal::TERM);
    assert_eq!(first.wait(), Some(0));
    let second = Process::serve(folder.path(), &["--database-url", &url]);
    assert!(second.request("GET", "/auth/is-admin-registered", "", "").contains("\"admin_registered\":true"));
}

#[test]
fn links_know_the_port_that_was_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let server = Process::serve(folder.path(), &[]);
    let token = token_in(&server.register(""));
    let answer = server.request("POST", "/organizations/invite/send", &token, r#"{"email":"x@example.org"}"#);
    assert!(answer.contains(&format!("\"link\":\"http://{}/#invitation=", server.address)), "{answer}");
}

/// Requests that do not end are cut when the time for stopping is over.
#[test]
fn a_stop_ends_in_time() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Process::serve(folder.path(), &["--shutdown-seconds", "1"]);
    let mut stream = server.connect();
    let head =
        "POST /api/v1/auth/login HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\nexpect: 100-continue\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let mut interim = [0; 25];
    stream.read_exact(&mut interim).unwrap();
    server.signal(Signal::TERM);
    server.wait_for("were cut");
    assert_eq!(server.wait(), Some(0));
}

#[test]
fn the_data_folder_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("deep/data");
    let _server = Process::serve(&data, &[]);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&data), 0o700);
    assert_eq!(mode(&data.join("windlass.db")), 0o600);
}

/// The edge's figures are in `/metrics`, and its absence is in the readiness.
#[test]
fn the_edge_belongs_to_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let server = Process::serve(folder.path(), &[]);
    let health = server.ok("GET", "/health", "", "");
    let names: Vec<&str> =
        health["data"]["dependencies"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["database", "logs", "data_folder", "edge", "engine"]);
    let line = server.wait_for("visitors reach applications at http://");
    let mut visitor = std::net::TcpStream::connect(line.rsplit('/').next().unwrap()).unwrap();
    visitor.write_all(b"GET / HTTP/1.1\r\nhost: unknown\r\nconnection: close\r\n\r\n").unwrap();
    let mut page = String::new();
    visitor.read_to_string(&mut page).unwrap();
    assert!(page.starts_with("HTTP/1.1 404") && page.contains("knows of no application"), "{page}");
    let token = token_in(&server.register(""));
    let metrics = server.metrics(&token);
    for line in ["windlass_edge_up 1", "windlass_edge_unrouted_requests_total 1", "windlass_http_requests_total{"] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
    assert_eq!(metrics.matches("# EOF").count(), 1);
}

#[test]
fn a_folder_that_others_can_read_is_made_private_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let empty = folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    std::fs::set_permissions(&empty, Permissions::from_mode(0o755)).unwrap();
    drop(Process::serve(&empty, &[]));
    assert_eq!(mode(&empty), 0o700);
    // A folder of Windlass' own that was opened to others since.
    std::fs::set_permissions(&empty, Permissions::from_mode(0o750)).unwrap();
    drop(Process::serve(&empty, &[]));
    assert_eq!(mode(&empty), 0o700);
    let shared = folder.path().join("shared");
    std::fs::create_dir(&shared).unwrap();
    std::fs::write(shared.join("letter"), "for all users").unwrap();
    std::fs::set_permissions(&shared, Permissions::from_mode(0o755)).unwrap();
    let refused = run(windlass().args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(&shared));
    let problem = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(1) && problem.contains("chmod 700"), "{problem}");
    assert_eq!(mode(&shared), 0o755);
    assert_eq!(std::fs::read_dir(&shared).unwrap().count(), 1, "nothing was left there");
}

/// A supervisor starts the next one in the instant in which the last one ended, before the kernel has freed what it
/// held.
#[test]
fn a_server_that_was_killed_is_not_in_the_way_of_the_next() {
    let folder = tempfile::tempdir().unwrap();
    // An address of this test alone: on another one a neighbour could take the port between two servers.
    let free = std::net::TcpListener::bind("127.0.0.77:0").unwrap().local_addr().unwrap().to_string();
    let mut last = Process::serve(folder.path(), &["--listen", &free]);
    for _ in 0..10 {
        last.signal(Signal::KILL);
        let next = Process::serve(folder.path(), &["--listen", &free]);
        std::mem::replace(&mut last, next).leave_edge();
    }
}

#[tokio::test]
async fn what_postgres_says_by_the_way_is_not_logged() {
    let place = windlass_testing::DatabaseLocation::fresh(windlass_testing::Kind::Postgres).await;
    let (folder, url) = (place.folder.path().join("data"), place.url.clone().unwrap());
    for _ in 0..2 {
        let mut server = Process::serve(&folder, &["--database-url", &url]);
        server.signal(Signal::TERM);
        let said = server.said_before("stopped");
        assert!(said.contains("stopping") && !said.contains("already exists"), "{said}");
        assert_eq!(server.wait(), Some(0));
    }
}
