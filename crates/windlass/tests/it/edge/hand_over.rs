//! One edge after another, under load.

use rustix::process::Signal;

use super::app::App;
use super::load::{Load, Socket, Visitor};
use super::support::{Edge, Home, until};
use crate::process::{run, windlass};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_hand_overs_under_load_lose_nothing() {
    let (home, app) = (Home::new(), App::start("app").await);
    let mut current = home.edge().await;
    home.send_to(app.address).await;
    let address = home.address().await;
    let load = Load::start(address);
    let (mut sockets, mut before) = (Vec::new(), Vec::new());
    for turn in 0..10 {
        // On the first turns only, so that later processes end while earlier ones still have something to do.
        if turn < 2 {
            sockets.push(Socket::open(address).await.unwrap());
        }
        let next = home.hand_over(&mut current).await;
        load.goes_on().await;
        for socket in &mut sockets {
            socket.echoes().await.unwrap();
        }
        before.push(std::mem::replace(&mut current, next));
    }
    load.lost_nothing().await;
    for socket in &mut sockets {
        socket.echoes().await.unwrap();
    }
    assert!(!before[0].has_ended(), "who carries the first socket?");
    drop(sockets);
    for edge in &mut before {
        assert!(edge.ended().await.success(), "{}", edge.log());
    }
    assert_eq!(home.hello().await.pid, current.pid());
    assert_eq!(home.pid_in_lock(), current.pid());
    assert!(!current.has_ended());
}

/// What is connected but silent when the hand-over comes is answered once more, told to come again, and let go.
#[tokio::test]
async fn a_silent_connection_is_told_at_its_next_request() {
    let (home, app) = (Home::new(), App::start("app").await);
    let mut first = home.edge().await;
    home.send_to(app.address).await;
    let mut visitor = Visitor::new(home.address().await);
    assert_eq!(visitor.get("/").await.unwrap(), (200, "app".into()));
    let _second = home.hand_over(&mut first).await;
    assert!(!first.has_ended(), "it has closed a connection on which a request could be on its way");
    assert_eq!(visitor.get("/").await.unwrap(), (200, "app".into()));
    assert!(first.ended().await.success());
    assert_eq!(visitor.get("/").await.unwrap(), (200, "app".into()));
}

/// A process that has handed over has no sockets any more: nothing of it is in the way of the next one.
#[tokio::test]
async fn a_lingering_process_is_not_in_the_way() {
    let (home, app) = (Home::new(), App::start("app").await);
    let mut first = home.edge().await;
    home.send_to(app.address).await;
    let address = home.address().await;
    let mut socket = Socket::open(address).await.unwrap();
    let mut second = home.hand_over(&mut first).await;
    second.signal(Signal::KILL);
    second.ended().await;
    let refused = tokio::net::TcpStream::connect(address).await;
    assert!(refused.is_err(), "a process that does not serve takes connections");
    let mut command = home.command();
    let third = Edge::spawn(command.args(["--edge-http", &address.to_string()]));
    let hello = home.answers_as(third.pid()).await;
    assert!(hello.listening.contains(&address));
    assert_eq!(Visitor::new(address).get("/").await.unwrap().0, 200);
    socket.echoes().await.unwrap();
    drop(socket);
    assert!(first.ended().await.success());
}

#[tokio::test]
async fn a_process_that_has_handed_over_can_be_told_to_end() {
    let (home, app) = (Home::new(), App::start("app").await);
    let mut first = home.edge().await;
    home.send_to(app.address).await;
    let mut socket = Socket::open(home.address().await).await.unwrap();
    let second = home.hand_over(&mut first).await;
    first.signal(Signal::TERM);
    assert!(first.ended().await.success());
    socket.ended().await;
    assert_eq!(home.hello().await.pid, second.pid(), "the one that serves goes on");
    assert_eq!(Visitor::new(home.address().await).get("/").await.unwrap().0, 200);
}

#[tokio::test]
async fn without_a_running_edge_there_is_nothing_to_take_over() {
    let home = Home::new();
    let mut edge = home.successor();
    assert_eq!(edge.ended().await.code(), Some(1));
    until("it says why", async || edge.log().contains("did not hand over").then_some(())).await;
}

/// Visitors know the addresses that the running edge has; the settings of the process that starts the next one need
/// not.
#[tokio::test]
async fn a_successor_listens_where_its_predecessor_did() {
    let home = Home::new();
    let first = home.edge().await;
    let address = home.address().await;
    let take_over = || {
        let mut command = windlass();
        command.args(["edge", "--take-over", "--shutdown-seconds", "1", "--data-dir"]).arg(home.path());
        command
    };
    let second = Edge::spawn(&mut take_over());
    assert_eq!(home.answers_as(second.pid()).await.listening, [address]);
    first.lets_go().await;
    // Settings that say otherwise are refused, and a flag is obeyed.
    let refused = run(take_over().env("WINDLASS_EDGE_HTTP", "127.0.0.2:0"));
    assert_eq!(refused.status.code(), Some(1));
    let problem = String::from_utf8(refused.stderr).unwrap();
    assert!(problem.contains("give --edge-http 127.0.0.2:0 if that is meant"), "{problem}");
    let third = Edge::spawn(take_over().args(["--edge-http", "127.0.0.2:0"]));
    let moved = home.answers_as(third.pid()).await.listening;
    assert_eq!(moved[0].ip().to_string(), "127.0.0.2");
}
