//! Edges as processes of their own, and what tests ask them.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use windlass_edge::Drained;
use windlass_edge::control::client::Client;
use windlass_edge::control::{Drain, Hello};
use windlass_edge::routes::{Limits, Route, RouteSet, Serves, ServiceSpec, TargetsSpec};

use crate::process::{end_edge, windlass};

/// Nothing in these tests takes longer unless something is wrong.
pub const DEADLINE: Duration = Duration::from_secs(40);

/// Waits for a condition, not for a time.
pub async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + DEADLINE;
    while Instant::now() < deadline {
        if let Some(found) = look().await {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("in vain: {what}");
}

/// A data folder. The edge that holds it at the end is ended.
pub struct Home {
    folder: TempDir,
}

impl Home {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn route_file(&self) -> PathBuf {
        self.path().join("routes.json")
    }

    /// `windlass edge` on this folder.
    pub fn command(&self) -> Command {
        let mut command = windlass();
        // Upgraded connections do not end by themselves, and a stop waits for them as long as it may.
        command.args(["edge", "--edge-http", "127.0.0.1:0", "--edge-https", "127.0.0.1:0", "--shutdown-seconds", "1"]);
        command.arg("--data-dir").arg(self.path());
        command
    }

    /// An edge that answers.
    pub async fn edge(&self) -> Edge {
        let edge = Edge::spawn(&mut self.command());
        self.answers_as(edge.pid()).await;
        edge
    }

    /// An edge that has asked the one that runs for its sockets.
    pub fn successor(&self) -> Edge {
        Edge::spawn(self.command().arg("--take-over"))
    }

    /// One edge after another, all the way.
    pub async fn hand_over(&self, from: &mut Edge) -> Edge {
        let to = self.successor();
        self.answers_as(to.pid()).await;
        from.lets_go().await;
        to
    }

    /// Waits until the edge that answers on the control socket is this process.
    pub async fn answers_as(&self, pid: u32) -> Hello {
        until("the edge answers", async || {
            let hello = Client::connect(self.path()).await.ok()?.hello().await.ok()?;
            (hello.pid == pid).then_some(hello)
        })
        .await
    }

    /// Waits until an edge answers that is none of these.
    pub async fn another_than(&self, pids: &[u32]) -> Hello {
        until("another edge answers", async || {
            let hello = Client::connect(self.path()).await.ok()?.hello().await.ok()?;
            (!pids.contains(&hello.pid)).then_some(hello)
        })
        .await
    }

    pub async fn control(&self) -> Client {
        until("the control socket takes a caller", async || Client::connect(self.path()).await.ok()).await
    }

    pub async fn hello(&self) -> Hello {
        self.control().await.hello().await.expect("an answer")
    }

    pub async fn address(&self) -> SocketAddr {
        self.hello().await.listening[0]
    }

    /// Everything goes to this target.
    pub async fn send_to(&self, target: SocketAddr) {
        self.control().await.apply(everything_to(target)).await.expect("routes that can be applied");
    }

    pub async fn drain(&self, address: SocketAddr, limit: Duration) -> Drained {
        let drain = Drain { service: "app".into(), address, deadline_ms: limit.as_millis() as u64 };
        self.control().await.drain(drain).await.expect("a drain")
    }

    /// Who the lock file says it is.
    pub fn pid_in_lock(&self) -> u32 {
        std::fs::read_to_string(self.path().join("edge.lock")).unwrap().trim().parse().unwrap()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        end_edge(self.path());
    }
}

/// An edge that this test has started. It ends with the test.
pub struct Edge {
    child: Child,
    log: Arc<Mutex<String>>,
}

impl Edge {
    pub fn spawn(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("windlass starts");
        let log = Arc::new(Mutex::new(String::new()));
        let (lines, kept) = (BufReader::new(child.stderr.take().expect("its log")).lines(), log.clone());
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                kept.lock().unwrap().push_str(&format!("{line}\n"));
            }
        });
        Self { child, log }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    pub async fn logs(&self, text: &str) {
        until(&format!("{text:?} in the log"), async || self.log().contains(text).then_some(())).await;
    }

    /// Waits until it has handed over. It may still have connections.
    pub async fn lets_go(&self) {
        self.logs("another process has taken over").await;
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("the process lives");
    }

    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a status").is_some()
    }

    pub async fn ended(&mut self) -> ExitStatus {
        until("the process ends", async || self.child.try_wait().expect("a status")).await
    }

    pub fn open_files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.pid())).unwrap().count()
    }

    /// Waits until a kill point has ended it.
    pub async fn was_killed(&mut self) {
        let status = self.ended().await;
        assert_eq!(status.signal(), Some(Signal::KILL.as_raw()), "it never came to this point:\n{}", self.log());
    }
}

impl Drop for Edge {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let _ = writeln!(std::io::stderr(), "process {} said:\n{}", self.pid(), self.log());
        }
    }
}

/// Whether a process that need not be our child runs. One that has ended and is not reaped yet does not.
pub fn is_running(pid: u32) -> bool {
    let state = |stat: String| stat.rsplit(')').next().is_some_and(|rest| !rest.trim_start().starts_with('Z'));
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(state)
}

pub async fn ends(pid: u32) {
    until("the process ends", async || (!is_running(pid)).then_some(())).await;
}

pub fn everything_to(target: SocketAddr) -> RouteSet {
    let targets = TargetsSpec { addresses: vec![target], health: None, limits: Limits::default() };
    let mut routes = RouteSet::default();
    routes.routes.push(Route::new("*", "app"));
    routes.services.push(ServiceSpec {
        name: "app".into(),
        serves: Serves::Targets(targets),
        access_log: false,
        access: None,
    });
    routes
}
