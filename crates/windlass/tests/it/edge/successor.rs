//! Successors that fail: the old process goes on as if nothing had been.

use std::io::{IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::Signal;
use windlass_durable::kill_point;
use windlass_edge::control;
use windlass_edge::hand_over::KILL_POINTS;

use super::app::App;
use super::load::{Load, Visitor};
use super::support::{Edge, Home, until};

/// A process that asks for the sockets and gets them, played by the test.
struct Impostor {
    stream: UnixStream,
    sockets: Vec<OwnedFd>,
}

impl Impostor {
    fn asks(home: &Home) -> Self {
        let mut stream = UnixStream::connect(control::socket(home.path())).unwrap();
        stream.write_all(b"{\"version\":1,\"take_over\":{\"pid\":1}}\n").unwrap();
        let sockets = receive_line(&stream).1;
        assert_eq!(sockets.len(), 4, "the lock, the control socket and the two for visitors");
        Self { stream, sockets }
    }

    fn says_ready(&mut self) {
        self.stream.write_all(b"{\"version\":1,\"ready\":{}}\n").unwrap();
        assert_eq!(receive_line(&self.stream).0, "{\"ok\":{}}\n");
    }

    fn release(&mut self) -> String {
        self.stream.write_all(b"{\"version\":1,\"release\":{}}\n").unwrap();
        receive_line(&self.stream).0
    }
}

pub fn receive_line(stream: &UnixStream) -> (String, Vec<OwnedFd>) {
    let (mut line, mut received) = (Vec::new(), Vec::new());
    while !line.ends_with(b"\n") {
        let mut buffer = [0; 4096];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let read =
            recvmsg(stream, &mut [IoSliceMut::new(&mut buffer)], &mut ancillary, RecvFlags::CMSG_CLOEXEC).unwrap();
        assert!(read.bytes > 0, "the edge ended the connection");
        line.extend_from_slice(&buffer[..read.bytes]);
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                received.extend(descriptors);
            }
        }
    }
    (String::from_utf8(line).unwrap(), received)
}

/// The old process serves, takes routes, knows its name, and can still hand over.
async fn goes_on(home: &Home, old: &mut Edge, load: &Load) {
    home.answers_as(old.pid()).await;
    load.goes_on().await;
    let next = App::start("another").await;
    let routes = std::fs::read(home.route_file()).unwrap();
    home.send_to(next.address).await;
    assert_eq!(Visitor::new(home.address().await).get("/").await.unwrap().1, "another");
    home.control().await.apply(serde_json::from_slice(&routes).unwrap()).await.unwrap();
    home.drain(next.address, std::time::Duration::from_secs(20)).await;
    assert_eq!(home.pid_in_lock(), old.pid());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn successors_that_vanish_change_nothing() {
    let (home, app) = (Home::new(), App::start("app").await);
    let mut old = home.edge().await;
    home.send_to(app.address).await;
    let load = Load::start(home.address().await);
    // With nothing but the sockets, and after having said that it is ready.
    drop(Impostor::asks(&home));
    goes_on(&home, &mut old, &load).await;
    let mut ready = Impostor::asks(&home);
    ready.says_ready();
    drop(ready);
    goes_on(&home, &mut old, &load).await;
    let _next = home.hand_over(&mut old).await;
    load.goes_on().await;
    load.lost_nothing().await;
    assert!(old.ended().await.success());
}

#[tokio::test]
async fn hand_overs_that_fail_leave_no_open_files() {
    let home = Home::new();
    let edge = home.edge().await;
    let before = edge.open_files();
    for turn in 0..20 {
        let mut impostor = Impostor::asks(&home);
        if turn % 2 == 0 {
            impostor.says_ready();
        }
        drop(impostor);
        home.hello().await;
    }
    until("all files are closed", async || (edge.open_files() <= before).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn successors_that_crash_change_nothing() {
    let (home, app) = (Home::new(), App::start("app").await);
    let mut old = home.edge().await;
    home.send_to(app.address).await;
    for point in KILL_POINTS {
        // Visitors who come while a successor serves are lost with it; those who were there before are not.
        let has_served = point == "take-over-before-release";
        let address = home.address().await;
        let load = if has_served { Load::kept(address) } else { Load::start(address) };
        load.goes_on().await;
        let mut crashing = Edge::spawn(home.command().arg("--take-over").env(kill_point::VARIABLE, point));
        crashing.was_killed().await;
        assert_eq!(crashing.log().contains("edge ready"), has_served, "{point}");
        goes_on(&home, &mut old, &load).await;
        load.lost_nothing().await;
    }
    let _next = home.hand_over(&mut old).await;
    assert!(old.ended().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_successor_that_hangs_is_given_up() {
    let (home, app) = (Home::new(), App::start("app").await);
    let mut old = home.edge().await;
    home.send_to(app.address).await;
    let load = Load::start(home.address().await);
    let hanging = Impostor::asks(&home);
    load.goes_on().await;
    old.logs("did not take over").await;
    goes_on(&home, &mut old, &load).await;
    drop(hanging);
    let _next = home.hand_over(&mut old).await;
    load.lost_nothing().await;
    assert!(old.ended().await.success());
}

/// It has said that it is ready, so visitors wait for it; but not for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_successor_that_hangs_after_being_ready_is_given_up() {
    let (home, app) = (Home::new(), App::start("app").await);
    let mut old = home.edge().await;
    home.send_to(app.address).await;
    let load = Load::start(home.address().await);
    let mut hanging = Impostor::asks(&home);
    hanging.says_ready();
    old.logs("did not take over").await;
    goes_on(&home, &mut old, &load).await;
    // It wakes up, and must not think that it is the one that serves.
    let answer = hanging.release();
    assert!(answer.contains("\"error\""), "{answer}");
    drop(hanging.sockets);
    load.lost_nothing().await;
    assert_eq!(home.hello().await.pid, old.pid());
}

/// A real one that is stopped for longer than the old one waits, and then goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_successor_that_comes_too_late_leaves() {
    let (home, app) = (Home::new(), App::start("app").await);
    let mut old = home.edge().await;
    home.send_to(app.address).await;
    let load = Load::start(home.address().await);
    let mut late = home.successor();
    late.logs("edge ready").await;
    late.signal(Signal::STOP);
    old.logs("did not take over").await;
    late.signal(Signal::CONT);
    late.ended().await;
    goes_on(&home, &mut old, &load).await;
    load.lost_nothing().await;
    let _next = home.hand_over(&mut old).await;
}
