//! The control socket, and callers who do not know how to use it.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;

use windlass_edge::control;
use windlass_edge::control::lines::LONGEST_LINE;

use super::app::App;
use super::load::{Load, Visitor};
use super::support::{DEADLINE, Home, everything_to};
use crate::process::{run, windlass};

const HELLO: &[u8] = b"{\"version\":1,\"hello\":{}}\n";

fn connect(home: &Home) -> UnixStream {
    let stream = UnixStream::connect(control::socket(home.path())).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream.set_write_timeout(Some(DEADLINE)).unwrap();
    stream
}

fn answer(stream: &UnixStream) -> String {
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).expect("an answer");
    line
}

/// The answer to some bytes, on a connection of their own.
fn ask(home: &Home, bytes: &[u8]) -> String {
    let mut stream = connect(home);
    stream.write_all(bytes).unwrap();
    answer(&stream)
}

#[tokio::test]
async fn only_the_owner_can_call() {
    let home = Home::new();
    let mut first = home.edge().await;
    let mode = || std::fs::metadata(control::socket(home.path())).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(), 0o600);
    let _second = home.hand_over(&mut first).await;
    assert_eq!(mode(), 0o600);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_who_make_no_sense_disturb_no_visitor() {
    let (home, app) = (Home::new(), App::start("app").await);
    let edge = home.edge().await;
    home.send_to(app.address).await;
    let load = Load::start(home.address().await);
    tokio::task::block_in_place(|| {
        let bad: [&[u8]; 10] = [
            b"garbage\n",
            b"\n",
            b"\xff\xfe\x00\n",
            b"{}\n",
            b"[[[[[[[[\n",
            b"{\"version\":2,\"stats\":{}}\n",
            b"{\"version\":1,\"stats\":{},\"hello\":{}}\n",
            b"{\"version\":1,\"fly\":{}}\n",
            b"{\"version\":1,\"apply\":{\"version\":1}}\n",
            b"{\"version\":1,\"release\":{}}\n",
        ];
        for bytes in bad {
            let answer = ask(&home, bytes);
            assert!(answer.contains("\"bad_call\""), "{:?}: {answer:?}", String::from_utf8_lossy(bytes));
        }
        assert!(ask(&home, b"{\"version\":2,\"stats\":{}}\n").contains("version 2"));
        // Deeper than any parser should follow.
        let mut deep = b"{\"version\":1,\"hello\":".to_vec();
        deep.extend(std::iter::repeat_n(b'[', 1_000_000));
        deep.push(b'\n');
        assert!(ask(&home, &deep).contains("\"bad_call\""));
        // A caller who was not understood can say it better.
        let mut stream = connect(&home);
        stream.write_all(b"hello?\n").unwrap();
        assert!(answer(&stream).contains("\"bad_call\""));
        stream.write_all(HELLO).unwrap();
        assert!(answer(&stream).contains("\"pid\""));
        for _ in 0..10 {
            connect(&home).write_all(b"{\"version\":1,\"hel").unwrap();
        }
    });
    load.goes_on().await;
    load.lost_nothing().await;
    assert_eq!(home.hello().await.pid, edge.pid());
}

/// Longer than the longest: the caller is told, and not listened to any more.
#[tokio::test]
async fn a_line_that_does_not_end_is_dropped() {
    let home = Home::new();
    let edge = home.edge().await;
    let mut stream = connect(&home);
    let (piece, mut written) = (vec![b'x'; 1 << 20], 0);
    let mut listener = stream.try_clone().unwrap();
    let reading = std::thread::spawn(move || {
        let mut answer = String::new();
        let _ = listener.read_to_string(&mut answer);
        answer
    });
    while stream.write_all(&piece).is_ok() {
        written += piece.len();
        assert!(written < 4 * LONGEST_LINE, "it listens for ever");
    }
    let answer = reading.join().unwrap();
    assert!(answer.is_empty() || answer.contains("\"bad_call\""), "{answer}");
    assert_eq!(home.hello().await.pid, edge.pid());
}

/// No caller who is connected, silent or in the middle of a line keeps another from being heard.
#[tokio::test]
async fn a_hundred_callers_at_once_are_all_heard() {
    let (home, app) = (Home::new(), App::start("app").await);
    let mut edge = home.edge().await;
    let silent: Vec<UnixStream> = (0..100).map(|_| connect(&home)).collect();
    let mut half: Vec<UnixStream> = (0..20).map(|_| connect(&home)).collect();
    for stream in &mut half {
        stream.write_all(&HELLO[..9]).unwrap();
    }
    let mut callers: Vec<UnixStream> = (0..100).map(|_| connect(&home)).collect();
    for caller in &mut callers {
        caller.write_all(HELLO).unwrap();
    }
    for caller in &callers {
        assert!(answer(caller).contains(&format!("\"pid\":{}", edge.pid())));
    }
    home.send_to(app.address).await;
    // Those that were interrupted can go on.
    for stream in &mut half {
        stream.write_all(&HELLO[9..]).unwrap();
        assert!(answer(stream).contains("\"pid\""));
    }
    // Nor is a hand-over kept from happening; after it all of them must come again.
    let _next = home.hand_over(&mut edge).await;
    for mut stream in silent.into_iter().chain(callers) {
        let _ = stream.write_all(HELLO);
        assert_eq!(stream.read(&mut [0]).unwrap_or(0), 0);
    }
    assert!(edge.ended().await.success());
}

/// A service that wants one has a line in the log for every request; the others have none.
#[tokio::test]
async fn the_access_log_is_a_matter_of_each_service() {
    let (home, app) = (Home::new(), App::start("app").await);
    let edge = home.edge().await;
    home.send_to(app.address).await;
    let mut visitor = Visitor::new(home.address().await);
    assert_eq!(visitor.get("/quiet?token=secret").await.unwrap().0, 200);
    let mut routes = everything_to(app.address);
    routes.services[0].access_log = true;
    home.control().await.apply(routes).await.unwrap();
    assert_eq!(visitor.get("/loud?token=secret").await.unwrap().0, 200);
    edge.logs("path=/loud").await;
    let log = edge.log();
    let line = log.lines().find(|line| line.contains("path=/loud")).unwrap();
    for part in
        ["service=app", "method=GET", "status=200", "sent=3", "visitor=127.0.0.1", "request_id=", "failure=\"\""]
    {
        assert!(line.contains(part), "{part} in {line}");
    }
    assert!(!log.contains("/quiet") && !log.contains("secret"), "{log}");
}

#[tokio::test]
async fn a_drain_of_what_never_was_is_an_error() {
    let (home, app) = (Home::new(), App::start("app").await);
    let _edge = home.edge().await;
    home.send_to(app.address).await;
    let drain = |service: &str| {
        run(windlass().args(["routes", "drain", service, "127.0.0.1:9", "--data-dir"]).arg(home.path()))
    };
    let refused = drain("nonesuch");
    assert_eq!(refused.status.code(), Some(1));
    let problem = String::from_utf8(refused.stderr).unwrap();
    assert!(problem.contains("there is no service \"nonesuch\""), "{problem}");
    // A service that is there may have had such a target, which is empty then.
    assert!(drain("app").status.success());
}
