//! What is under way in the process that was there before still counts, and still hears of changes.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::task::JoinHandle;

use super::app::App;
use super::load::{Load, Socket, Visitor};
use super::support::{DEADLINE, Edge, Home, until};
use crate::process::{run, windlass};

type HeldAnswer = JoinHandle<Result<(u16, String), String>>;

struct Scene {
    home: Home,
    old: App,
    new: App,
    edge: Edge,
}

impl Scene {
    /// An edge that sends everything to the old instance.
    async fn new() -> Self {
        let (home, old, new) = (Home::new(), App::start("old").await, App::start("new").await);
        let edge = home.edge().await;
        home.send_to(old.address).await;
        Self { home, old, new, edge }
    }

    /// A request that is in the old instance until it is let go.
    async fn hold(&self) -> HeldAnswer {
        let (mut visitor, before) = (Visitor::new(self.home.address().await), self.active());
        let asking = tokio::spawn(async move { visitor.get("/held").await });
        until("the request is in", async || (self.active() > before).then_some(())).await;
        asking
    }

    fn active(&self) -> usize {
        self.old.seen.active.load(Ordering::SeqCst)
    }

    /// Another edge; the one before has let go or not, as it happens to be.
    async fn begin_hand_over(&mut self) -> Edge {
        let next = self.home.successor();
        self.home.answers_as(next.pid()).await;
        std::mem::replace(&mut self.edge, next)
    }

    async fn hand_over(&mut self) -> Edge {
        let before = self.begin_hand_over().await;
        before.lets_go().await;
        before
    }

    /// Drains the old instance, which is empty only once the requests that are held are let go.
    async fn drains(&self, held: Vec<HeldAnswer>) {
        let count = held.len();
        let draining = self.home.drain(self.old.address, DEADLINE);
        let letting_go = async {
            // Time enough to come back at once if no request is counted.
            tokio::time::sleep(Duration::from_millis(300)).await;
            assert_eq!(self.active(), count, "a request was cut");
            self.old.let_go(count);
        };
        let (drained, ()) = tokio::join!(draining, letting_go);
        assert_eq!((drained.in_flight, drained.finished, drained.cut), (count as u64, count as u64, 0));
        for answer in held {
            assert_eq!(answer.await.unwrap().unwrap(), (200, "old".into()));
        }
    }
}

#[tokio::test]
async fn a_drain_waits_for_requests_in_the_process_before() {
    let mut scene = Scene::new().await;
    let held = scene.hold().await;
    let mut before = scene.hand_over().await;
    scene.home.send_to(scene.new.address).await;
    scene.drains(vec![held]).await;
    assert!(before.ended().await.success());
}

/// Requests in three processes, of which the middle one has nothing else to do.
#[tokio::test]
async fn a_drain_waits_for_all_processes_before() {
    let mut scene = Scene::new().await;
    let first = scene.hold().await;
    let mut one = scene.hand_over().await;
    let mut two = scene.hand_over().await;
    let third = scene.hold().await;
    scene.home.send_to(scene.new.address).await;
    scene.drains(vec![first, third]).await;
    assert!(one.ended().await.success() && two.ended().await.success());
}

/// In the first seconds the old process can still take the sockets back. Neither a drain nor new routes may make it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_right_after_a_hand_over_disturbs_no_visitor() {
    let mut scene = Scene::new().await;
    let load = Load::start(scene.home.address().await);
    let held = scene.hold().await;
    let mut before = scene.begin_hand_over().await;
    scene.home.send_to(scene.new.address).await;
    let draining = scene.home.drain(scene.old.address, DEADLINE);
    let letting_go = async {
        before.lets_go().await;
        scene.old.let_go(1);
    };
    let (drained, ()) = tokio::join!(draining, letting_go);
    assert!(drained.in_flight >= 1 && drained.cut == 0, "{drained:?}");
    assert_eq!(held.await.unwrap().unwrap(), (200, "old".into()));
    load.goes_on().await;
    load.lost_nothing().await;
    assert!(before.ended().await.success());
    assert_eq!(scene.home.hello().await.pid, scene.edge.pid());
}

#[tokio::test]
async fn several_drains_at_once_do_not_wait_for_each_other() {
    let mut scene = Scene::new().await;
    let held = scene.hold().await;
    let _before = scene.hand_over().await;
    scene.home.send_to(scene.new.address).await;
    let long = scene.home.drain(scene.old.address, DEADLINE);
    let short = async {
        let other = "127.0.0.1:9".parse().unwrap();
        let drained = tokio::time::timeout(Duration::from_secs(5), scene.home.drain(other, DEADLINE)).await;
        assert_eq!(drained.expect("nothing to wait for").in_flight, 0);
        tokio::time::timeout(Duration::from_secs(5), scene.home.send_to(scene.new.address)).await.expect("no waiting");
        scene.old.let_go(1);
    };
    let (drained, ()) = tokio::join!(long, short);
    assert_eq!(drained.finished, 1);
    assert_eq!(held.await.unwrap().unwrap().0, 200);
}

#[tokio::test]
async fn a_drain_cuts_what_is_left_in_the_process_before() {
    let mut scene = Scene::new().await;
    let held = scene.hold().await;
    let _before = scene.hand_over().await;
    scene.home.send_to(scene.new.address).await;
    let drained = scene.home.drain(scene.old.address, Duration::from_millis(300)).await;
    assert_eq!((drained.in_flight, drained.finished, drained.cut), (1, 0, 1));
    assert_eq!(held.await.unwrap().unwrap().0, 502);
}

/// A connection that was silent during the hand-over asks once more where it was, long after the routes have changed.
#[tokio::test]
async fn the_process_before_hears_of_new_routes() {
    let mut scene = Scene::new().await;
    let mut visitor = Visitor::new(scene.home.address().await);
    assert_eq!(visitor.get("/").await.unwrap().1, "old");
    let mut before = scene.hand_over().await;
    scene.home.send_to(scene.new.address).await;
    assert_eq!(scene.home.drain(scene.old.address, DEADLINE).await.in_flight, 0);
    assert_eq!(visitor.get("/").await.unwrap(), (200, "new".into()));
    assert!(before.ended().await.success());
}

/// Routes that were accepted by a successor that then failed are not forgotten.
#[tokio::test]
async fn routes_of_a_successor_that_failed_stay() {
    let mut scene = Scene::new().await;
    let old = scene.begin_hand_over().await;
    scene.home.send_to(scene.new.address).await;
    scene.edge.signal(rustix::process::Signal::KILL);
    scene.edge.ended().await;
    scene.home.answers_as(old.pid()).await;
    let address = scene.home.address().await;
    assert_eq!(Visitor::new(address).get("/").await.unwrap(), (200, "new".into()));
    let saved = std::fs::read_to_string(scene.home.route_file()).unwrap();
    assert!(saved.contains(&scene.new.address.to_string()), "{saved}");
}

#[tokio::test]
async fn a_stop_reaches_the_process_before_too() {
    let mut scene = Scene::new().await;
    let mut socket = Socket::open(scene.home.address().await).await.unwrap();
    let mut before = scene.hand_over().await;
    socket.echoes().await.unwrap();
    stop(&scene.home);
    assert!(scene.edge.ended().await.success() && before.ended().await.success());
    socket.ended().await;
}

/// Right after a hand-over, when the old process would still step in for one that vanishes.
#[tokio::test]
async fn a_stop_right_after_a_hand_over_stops_both() {
    let mut scene = Scene::new().await;
    let mut before = scene.begin_hand_over().await;
    stop(&scene.home);
    assert!(scene.edge.ended().await.success());
    assert!(before.ended().await.success(), "{}", before.log());
    assert!(!windlass_edge::control::socket(scene.home.path()).exists());
}

fn stop(home: &Home) {
    let output = run(windlass().args(["stop", "--data-dir"]).arg(home.path()));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("The edge has stopped"));
}

/// What was counted before a hand-over is not forgotten, and what the old process still does is added.
#[tokio::test]
async fn counting_goes_on_over_a_hand_over() {
    let mut scene = Scene::new().await;
    let mut visitor = Visitor::new(scene.home.address().await);
    for _ in 0..3 {
        visitor.get("/").await.unwrap();
    }
    let held = scene.hold().await;
    let mut before = scene.hand_over().await;
    Visitor::new(scene.home.address().await).get("/").await.unwrap();
    let figures = async |home: &Home| home.control().await.stats().await.unwrap().services[0].figures.clone();
    let under_way = figures(&scene.home).await;
    assert_eq!((under_way.requests, under_way.in_flight, under_way.statuses["2xx"]), (5, 1, 4));
    scene.old.let_go(1);
    held.await.unwrap().unwrap();
    drop(visitor);
    until("the last answer is counted", async || (figures(&scene.home).await.statuses["2xx"] == 5).then_some(())).await;
    assert!(before.ended().await.success());
    let after = figures(&scene.home).await;
    assert_eq!((after.requests, after.in_flight, after.statuses["2xx"]), (5, 0, 5));
}
