//! The server and the edge beside it: which of them starts, finds, replaces and stops the other.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getsid, kill_process};

use super::app::App;
use super::load::{Load, Socket, Visitor};
use super::support::{Home, ends, everything_to, is_running, until};
use crate::process::{Process, run, windlass, windlass_at};

const KEY: &str = "B0sVTj3fTbVvJmiyT9SKNyKiPnlh7hpxNNhT4n2C5hA=";

fn kill(pid: u32) {
    kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::KILL).unwrap();
}

/// What `windlass stop` says.
fn stop(home: &Home) -> String {
    let output = run(windlass().args(["stop", "--data-dir"]).arg(home.path()));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_killed_ten_times_is_noticed_by_no_visitor() {
    let (home, app) = (Home::new(), App::start("app").await);
    let mut servers = vec![Process::serve(home.path(), &[])];
    let edge = home.hello().await.pid;
    home.send_to(app.address).await;
    let load = Load::start(home.address().await);
    for _ in 0..10 {
        let server = servers.last_mut().unwrap();
        server.signal(Signal::KILL);
        server.wait();
        // Kept until the end: dropping one ends the edge.
        servers.push(Process::serve(home.path(), &[]));
        assert_eq!(home.hello().await.pid, edge);
        load.goes_on().await;
    }
    load.lost_nothing().await;
}

#[tokio::test]
async fn sigterm_leaves_the_edge_and_ctrl_c_stops_both() {
    let (home, app) = (Home::new(), App::start("app").await);
    let mut first = Process::serve(home.path(), &[]);
    let edge = home.hello().await.pid;
    home.send_to(app.address).await;
    first.signal(Signal::TERM);
    assert_eq!(first.wait(), Some(0));
    assert_eq!(home.hello().await.pid, edge);
    assert_eq!(Visitor::new(home.address().await).get("/").await.unwrap().0, 200);
    let mut second = Process::serve(home.path(), &[]);
    assert_eq!(home.hello().await.pid, edge);
    second.signal(Signal::INT);
    assert_eq!(second.wait(), Some(0));
    ends(edge).await;
}

#[tokio::test]
async fn stop_ends_all_that_runs_and_says_what() {
    let home = Home::new();
    assert!(stop(&home).starts_with("Nothing is running on"));
    let mut server = Process::serve(home.path(), &[]);
    let edge = home.hello().await.pid;
    assert_eq!(stop(&home), "The server has stopped.\nThe edge has stopped.\n");
    assert_eq!(server.wait(), Some(0));
    ends(edge).await;
    let mut alone = home.edge().await;
    assert_eq!(stop(&home), "The edge has stopped.\n");
    assert!(alone.ended().await.success());
    assert!(stop(&home).starts_with("Nothing is running on"));
}

/// The port is a real one, which nothing that is left of the process before may still hold.
#[tokio::test]
async fn an_edge_that_is_killed_after_a_hand_over_is_back_too() {
    let (home, app) = (Home::new(), App::start("app").await);
    // At an address that no other test uses, so that no other process is given the port meanwhile.
    let port = std::net::TcpListener::bind("127.0.0.3:0").unwrap().local_addr().unwrap();
    let _server = Process::serve(home.path(), &["--edge-http", &port.to_string()]);
    let first = home.hello().await.pid;
    home.send_to(app.address).await;
    let mut socket = Socket::open(port).await.unwrap();
    let by_hand = home.command().args(["--edge-http", &port.to_string(), "--take-over"]).stderr(Stdio::null()).spawn();
    let mut by_hand = by_hand.unwrap();
    let second = home.answers_as(by_hand.id()).await.pid;
    released(&home, first).await;
    kill(second);
    by_hand.wait().unwrap();
    let third = home.another_than(&[first, second]).await;
    assert!(third.listening.contains(&port), "{third:?}");
    assert_eq!(Visitor::new(port).get("/").await.unwrap().0, 200);
    socket.echoes().await.unwrap();
    drop(socket);
    ends(first).await;
}

/// Waits until a process that was not started by the test holds the lock no more.
async fn released(home: &Home, pid: u32) {
    let lock = home.path().join("edge.lock").canonicalize().unwrap();
    until("the process before has let go", async || {
        let files = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let holds = files.filter_map(|file| std::fs::read_link(file.path()).ok()).any(|file| file == lock);
        (!holds).then_some(())
    })
    .await;
}

/// An operator hands over by hand, with other settings: the server, which has no reason to know better, does not undo
/// it.
#[tokio::test]
async fn a_hand_over_by_hand_is_not_undone() {
    let (home, app) = (Home::new(), App::start("app").await);
    let server = Process::serve(home.path(), &["--log-level", "debug"]);
    let first = home.hello().await.pid;
    home.send_to(app.address).await;
    let mut command = home.command();
    let by_hand = super::support::Edge::spawn(command.args(["--take-over", "--edge-idle-seconds", "7"]));
    home.answers_as(by_hand.pid()).await;
    ends(first).await;
    server.wait_for("found the edge running");
    assert_eq!(home.hello().await.pid, by_hand.pid());
    // It is looked after like any other.
    by_hand.signal(Signal::KILL);
    let third = home.another_than(&[first, by_hand.pid()]).await;
    assert_eq!(Visitor::new(third.listening[0]).get("/").await.unwrap().0, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_settings_make_the_edge_change_hands() {
    let (home, app) = (Home::new(), App::start("app").await);
    let mut first = Process::serve(home.path(), &[]);
    let (edge, address) = (home.hello().await.pid, home.address().await);
    home.send_to(app.address).await;
    let load = Load::start(address);
    first.signal(Signal::KILL);
    first.wait();
    let mut second = Process::serve(home.path(), &["--edge-http", "127.0.0.2:0"]);
    let hello = home.hello().await;
    assert_ne!(hello.pid, edge);
    assert_eq!(hello.listening.len(), 2);
    assert!(hello.listening.contains(&address), "an address that stays keeps its socket");
    for address in hello.listening {
        assert_eq!(Visitor::new(address).get("/").await.unwrap().0, 200);
    }
    load.goes_on().await;
    ends(edge).await;
    // The same again: now there is nothing to change.
    second.signal(Signal::KILL);
    second.wait();
    let _third = Process::serve(home.path(), &["--edge-http", "127.0.0.2:0"]);
    assert_eq!(home.hello().await.pid, hello.pid);
    load.lost_nothing().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_binary_makes_the_edge_change_hands() {
    let (home, app, bin) = (Home::new(), App::start("app").await, tempfile::tempdir().unwrap());
    let program = bin.path().join("windlass");
    let install = || {
        std::fs::copy(env!("CARGO_BIN_EXE_windlass"), bin.path().join("new")).unwrap();
        std::fs::rename(bin.path().join("new"), &program).unwrap();
    };
    install();
    let mut first = Process::start(windlass_at(&program), home.path(), &[]);
    let before = home.hello().await;
    home.send_to(app.address).await;
    let load = Load::start(home.address().await);
    install();
    // The running edge is of the old file, and started again it is of the old file still: that is what its server is.
    kill(before.pid);
    // Visitors notice that, of course; this test is about what comes after.
    let again = home.another_than(&[before.pid]).await;
    assert_eq!(again.binary, before.binary);
    drop(load);
    let load = Load::start(again.listening[0]);
    first.signal(Signal::KILL);
    first.wait();
    let _second = Process::start(windlass_at(&program), home.path(), &[]);
    let after = home.hello().await;
    assert_ne!(after.binary, before.binary);
    assert_ne!(after.pid, again.pid);
    load.goes_on().await;
    ends(again.pid).await;
    load.lost_nothing().await;
}

/// The key is the server's. What the edge does not have cannot be taken from it.
#[tokio::test]
async fn the_edge_has_no_secrets_and_a_session_of_its_own() {
    let home = Home::new();
    let mut command = windlass();
    command.env("WINDLASS_MASTER_KEY", KEY);
    let server = Process::start(command, home.path(), &[]);
    let edge = home.hello().await.pid;
    let environment =
        |pid: u32| String::from_utf8_lossy(&std::fs::read(format!("/proc/{pid}/environ")).unwrap()).into_owned();
    assert!(environment(server.child.id()).contains(KEY), "the test looks in the right place");
    assert!(!environment(edge).contains("WINDLASS_"), "{}", environment(edge));
    let orders = std::fs::read(format!("/proc/{edge}/cmdline")).unwrap();
    assert!(!String::from_utf8_lossy(&orders).contains(KEY));
    // The leader of the session, and so in no other process's.
    let pid = Pid::from_raw(edge as i32);
    assert_eq!(getsid(pid).unwrap(), pid.unwrap());
}

/// The reader of the log of the server and its edge has gone, as a terminal does.
#[tokio::test]
async fn an_edge_whose_log_is_not_read_goes_on() {
    let (home, app) = (Home::new(), App::start("app").await);
    let mut command = windlass();
    command.args([
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--edge-http",
        "127.0.0.1:0",
        "--edge-https",
        "127.0.0.1:0",
        "--log-level",
        "info",
    ]);
    let mut server = piped(command.arg("--data-dir").arg(home.path()));
    let edge = until("the edge answers", async || {
        let mut client = windlass_edge::control::client::Client::connect(home.path()).await.ok()?;
        Some(client.hello().await.ok()?.pid)
    })
    .await;
    drop((server.stdout.take(), server.stderr.take()));
    home.control().await.apply(everything_to(app.address)).await.unwrap();
    let mut visitor = Visitor::new(home.address().await);
    assert_eq!(visitor.get("/").await.unwrap().0, 200);
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!(visitor.get("/").await.unwrap().0, 200);
    let next = home.successor();
    home.answers_as(next.pid()).await;
    assert_eq!(Visitor::new(home.address().await).get("/").await.unwrap().0, 200);
    assert_eq!(visitor.get("/").await.unwrap().0, 200);
    assert!(is_running(next.pid()));
    drop(visitor);
    ends(edge).await;
}

fn piped(command: &mut Command) -> std::process::Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// An edge that says who it is in words that this version does not know is asked to hand over, not taken for absent.
#[test]
fn an_edge_of_another_version_is_asked_to_hand_over() {
    use std::io::{BufRead, BufReader, Write};
    let home = Home::new();
    let listener = std::os::unix::net::UnixListener::bind(home.path().join("edge.sock")).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).unwrap();
            let answer = match line.contains("take_over") {
                true => r#"{"error":{"code":"bad_call","message":"not to you"}}"#,
                false => r#"{"ok":{"process":7,"edition":"another"}}"#,
            };
            writeln!(&stream, "{answer}").unwrap();
        }
    });
    let output = run(windlass()
        .args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--edge-http",
            "127.0.0.1:0",
            "--edge-https",
            "127.0.0.1:0",
            "--data-dir",
        ])
        .arg(home.path()));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("the running edge did not hand over: not to you"), "{said}");
}

#[tokio::test]
async fn an_edge_that_listens_elsewhere_is_noticed_and_has_a_name() {
    let home = Home::new();
    let server = Process::serve(home.path(), &[]);
    let first = home.hello().await.pid;
    assert_eq!(std::fs::read_to_string(format!("/proc/{first}/comm")).unwrap(), "windlass-edge\n");
    let arguments = std::fs::read_to_string(format!("/proc/{first}/cmdline")).unwrap();
    assert!(arguments.starts_with("windlass\0edge\0"), "{arguments}");
    let told = || server.request("GET", "/health", "", "");
    assert!(!told().contains("edge-http"), "{}", told());
    let mut command = windlass();
    command.args(["edge", "--take-over", "--edge-http", "127.0.0.2:0", "--data-dir"]).arg(home.path());
    let mut moved = command.stderr(Stdio::null()).spawn().unwrap();
    home.answers_as(moved.id()).await;
    assert!(told().contains("it listens at other addresses than edge-http and edge-https set"), "{}", told());
    drop(server);
    let _ = moved.wait();
}

/// Run by itself: a process takes longer to start beside other tests.
mod timed {
    use super::*;

    #[tokio::test]
    async fn an_edge_that_is_killed_is_back_at_once() {
        let (home, app) = (Home::new(), App::start("app").await);
        let server = Process::serve(home.path(), &[]);
        home.send_to(app.address).await;
        let mut pids = Vec::new();
        for _ in 0..3 {
            let pid = home.hello().await.pid;
            pids.push(pid);
            let killed = Instant::now();
            kill(pid);
            let hello = home.another_than(&pids).await;
            assert!(killed.elapsed() < Duration::from_secs(3), "it took {:?}", killed.elapsed());
            assert_eq!(Visitor::new(hello.listening[0]).get("/").await.unwrap(), (200, "app".into()));
            let entry = format!("/proc/{pid}");
            until("a process asks what became of the edge", async || (!Path::new(&entry).exists()).then_some(())).await;
        }
        assert!(server.request("GET", "/health", "", "").starts_with("HTTP/1.1 200"));
    }
}
