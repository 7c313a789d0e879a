//! The life of an edge: lock, load, listen, hand over or stop.

use std::fs::{self, File};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::net::UnixListener;
use tokio::sync::{MutexGuard, Notify, watch};
use tokio::task::JoinSet;
use windlass_durable::lock::{self, LockError};

use crate::control::{self, Code, Refusal, server};
use crate::edge::{Applied, Edge, Settings};
use crate::hand_over::{self, Predecessor};
use crate::health;
use crate::listen::Door;
use crate::route_file::{self, Loaded};
use crate::routes::{Owner, RouteSet};
use crate::stats::Stats;
use crate::target::Drained;
use crate::workers::Workers;

/// How often a process that is ending looks whether it can.
const LOOK: Duration = Duration::from_millis(20);
/// How often a process that has handed over is asked what it has counted.
const KEEP_UP: Duration = Duration::from_secs(1);
/// A change of the table waits for a hand-over that is under way; that has limits of its own.
const CHANGE_WAIT: Duration = Duration::from_secs(15);

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Options {
    pub data_dir: PathBuf,
    pub listen: Vec<SocketAddr>,
    pub settings: Settings,
    /// Take the sockets of the edge that is running on this folder.
    pub take_over: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum EdgeError {
    #[error("data-dir: {path} cannot be used: {source}")]
    DataDir { path: String, source: io::Error },
    #[error(
        "data-dir: {path} is served by another edge, process {holder}. Stop it (windlass stop), or choose another folder."
    )]
    Held { path: String, holder: String },
    #[error("edge-http: {address}: {source}")]
    Listen { address: SocketAddr, source: io::Error },
    #[error("the running edge did not hand over: {0}")]
    TakeOver(String),
    #[error("{0}")]
    Other(#[from] io::Error),
}

/// A socket that visitors come to.
pub struct Socket {
    /// What was asked for; the port may have been 0.
    pub requested: SocketAddr,
    pub listener: TcpListener,
}

/// What only one process at a time may use: it is what a hand-over hands over.
pub struct Estate {
    pub lock: File,
    pub control: std::os::unix::net::UnixListener,
    pub sockets: Vec<Socket>,
}

/// Everything that a process must have before it can serve.
pub struct Begun {
    pub estate: Estate,
    pub routes: Loaded,
    pub predecessor: Option<Predecessor>,
}

pub struct Process {
    pub edge: Arc<Edge>,
    pub data_dir: PathBuf,
    pub binary: String,
    /// What it was told to listen on.
    pub requested: Vec<SocketAddr>,
    /// What it listens on.
    pub listening: Vec<SocketAddr>,
    /// None once it was handed over.
    estate: Mutex<Option<Estate>>,
    door: Door,
    workers: Arc<Workers>,
    accepting: Mutex<JoinSet<()>>,
    /// Held by whoever changes the table or hands it over. True once it was handed over.
    change: tokio::sync::Mutex<bool>,
    damage: Mutex<Option<String>>,
    stopping: watch::Sender<bool>,
    over: watch::Sender<bool>,
    /// The successor has heard the last figures.
    told: Notify,
    predecessor: Option<Predecessor>,
}

/// Runs an edge until it is stopped or has handed over. `stop` may turn true at any time.
pub async fn run(options: Options, mut stop: watch::Receiver<bool>) -> Result<(), EdgeError> {
    raise_descriptor_limit();
    let begun = match options.take_over {
        true => hand_over::take(&options).await?,
        false => begin(&options)?,
    };
    let process = Arc::new(Process::new(options, begun)?);
    if let Some(predecessor) = &process.predecessor {
        predecessor.ready().await.map_err(|error| EdgeError::TakeOver(error.to_string()))?;
    }
    process.accept()?;
    tokio::spawn(health::run(process.edge.clone()));
    for address in &process.listening {
        tracing::info!("edge ready at http://{address}");
    }
    tokio::spawn(outlive_predecessor(process.clone()));
    let (mut stopping, mut over) = (process.stopping.subscribe(), process.over.subscribe());
    let told_to_stop = async {
        tokio::select! { _ = stop.wait_for(|stop| *stop) => {}, _ = stopping.wait_for(|stop| *stop) => {} }
    };
    let lived = async {
        let _ = over.wait_for(|over| *over).await;
        process.linger().await;
    };
    tokio::select! { () = told_to_stop => process.finish().await, () = lived => {} }
    Ok(())
}

/// Lets the process that was here before go, and keeps up with what it counts until then. If it has lost its patience and
/// serves again, this one leaves.
async fn outlive_predecessor(process: Arc<Process>) {
    let Some(predecessor) = &process.predecessor else { return };
    if !predecessor.release().await {
        tracing::error!("the previous edge process was not answered in time and serves again; this one ends");
        let change = process.change.lock().await;
        process.stop_accepting().await;
        process.is_over(change);
        return;
    }
    while predecessor.is_there() {
        predecessor.stats().await;
        tokio::time::sleep(KEEP_UP).await;
    }
}

/// A first start: nobody else may be there.
fn begin(options: &Options) -> Result<Begun, EdgeError> {
    let data_dir = &options.data_dir;
    let unusable = |source| EdgeError::DataDir { path: data_dir.display().to_string(), source };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(data_dir).map_err(unusable)?;
    let lock = lock(data_dir)?;
    let routes = route_file::load(data_dir).map_err(unusable)?;
    let sockets = options.listen.iter().map(|address| bind(*address)).collect::<Result<_, _>>()?;
    let control = bind_control(data_dir).map_err(unusable)?;
    Ok(Begun { estate: Estate { lock, control, sockets }, routes, predecessor: None })
}

/// One edge per data folder.
fn lock(data_dir: &Path) -> Result<File, EdgeError> {
    let path = data_dir.display().to_string();
    lock::take(&data_dir.join("edge.lock")).map_err(|error| match error {
        LockError::Held(holder) => EdgeError::Held { path, holder },
        LockError::Io(source) => EdgeError::DataDir { path, source },
    })
}

pub fn bind(address: SocketAddr) -> Result<Socket, EdgeError> {
    let listener = TcpListener::bind(address).map_err(|source| EdgeError::Listen { address, source })?;
    Ok(Socket { requested: address, listener })
}

/// Under its name only once nobody else can open it. What is there under that name is a dead process's: the lock is ours.
fn bind_control(data_dir: &Path) -> io::Result<std::os::unix::net::UnixListener> {
    let (path, new) = (control::socket(data_dir), data_dir.join("edge.sock.new"));
    let _ = fs::remove_file(&new);
    let listener = std::os::unix::net::UnixListener::bind(&new)?;
    fs::set_permissions(&new, fs::Permissions::from_mode(0o600))?;
    fs::rename(&new, &path)?;
    Ok(listener)
}

/// Every visitor takes one descriptor, and every request another.
fn raise_descriptor_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // Where it cannot be raised, fewer visitors are served at once.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

impl Process {
    fn new(options: Options, begun: Begun) -> Result<Self, EdgeError> {
        let edge = Arc::new(Edge::new(options.settings));
        let workers = Arc::new(Workers::start(&edge)?);
        let sockets = &begun.estate.sockets;
        let requested = sockets.iter().map(|socket| socket.requested).collect();
        let listening = sockets.iter().filter_map(|socket| socket.listener.local_addr().ok()).collect();
        let mut damage = None;
        match begun.routes {
            Loaded::Routes(routes) => {
                edge.apply(&Arc::new(routes));
            }
            Loaded::Nothing => {}
            Loaded::Damaged(why) => {
                tracing::error!("{why}. Visitors are told so until routes are applied.");
                edge.routes_are_damaged();
                damage = Some(why);
            }
        }
        Ok(Self {
            door: Door::new(edge.clone(), workers.clone(), begun.estate.sockets.len()),
            edge,
            data_dir: options.data_dir,
            binary: control::binary(),
            requested,
            listening,
            estate: Mutex::new(Some(begun.estate)),
            workers,
            accepting: Mutex::default(),
            change: tokio::sync::Mutex::new(false),
            damage: Mutex::new(damage),
            stopping: watch::Sender::new(false),
            over: watch::Sender::new(false),
            told: Notify::new(),
            predecessor: begun.predecessor,
        })
    }

    /// What is ours, as long as it is.
    pub fn with_estate<T>(&self, look: impl FnOnce(&mut Estate) -> io::Result<T>) -> io::Result<T> {
        let mut estate = self.estate.lock().unwrap_or_else(PoisonError::into_inner);
        look(estate.as_mut().ok_or(io::ErrorKind::NotFound)?)
    }

    /// Begins, or goes on, to accept visitors and callers.
    pub fn accept(self: &Arc<Self>) -> io::Result<()> {
        let accepting = self.with_estate(|estate| self.accept_on(estate))?;
        *self.accepting.lock().unwrap_or_else(PoisonError::into_inner) = accepting;
        Ok(())
    }

    fn accept_on(self: &Arc<Self>, estate: &mut Estate) -> io::Result<JoinSet<()>> {
        let mut accepting = JoinSet::new();
        for socket in &estate.sockets {
            let listener = socket.listener.try_clone()?;
            listener.set_nonblocking(true)?;
            let listener = Arc::new(tokio::net::TcpListener::from_std(listener)?);
            accepting.spawn(self.door.clone().accept(listener));
        }
        let control = estate.control.try_clone()?;
        control.set_nonblocking(true)?;
        accepting.spawn(server::accept(self.clone(), Arc::new(UnixListener::from_std(control)?)));
        lock::sign(&mut estate.lock);
        Ok(accepting)
    }

    /// From here on visitors and callers wait in the system's queue, for us or for whoever else has the sockets.
    pub async fn stop_accepting(&self) {
        let mut accepting = std::mem::take(&mut *self.accepting.lock().unwrap_or_else(PoisonError::into_inner));
        accepting.shutdown().await;
    }

    pub fn damage(&self) -> Option<String> {
        self.damage.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn open_connections(&self) -> usize {
        self.workers.open_connections()
    }

    /// The right to change the table, unless it is another process's by now or this one is about to end.
    pub async fn change(&self) -> Result<MutexGuard<'_, bool>, Refusal> {
        let handed_over = || Refusal::new(Code::HandedOver, "another edge process has taken over: connect again");
        let busy = || Refusal::new(Code::Busy, "the edge is handing over or stopping: try again");
        let change = tokio::time::timeout(CHANGE_WAIT, self.change.lock()).await.map_err(|_| busy())?;
        if *change { Err(handed_over()) } else { Ok(change) }
    }

    /// Changes the table here and in the process that was here before, which still has connections.
    pub async fn apply(&self, routes: &Arc<RouteSet>) -> Applied {
        *self.damage.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let applied = self.edge.apply(routes);
        if let Some(predecessor) = &self.predecessor {
            predecessor.apply(routes).await;
        }
        applied
    }

    /// Whether what is applied here reaches nobody any more.
    pub fn is_passed_over(&self) -> bool {
        self.predecessor.as_ref().is_some_and(Predecessor::serves_again)
    }

    /// A target that is the edge itself would send every request round and round.
    pub fn refuse_loops(&self, routes: &RouteSet) -> Result<(), Refusal> {
        let targets = routes.addresses();
        let is_own = |own: &SocketAddr| {
            let matches = |target: &SocketAddr| {
                target.port() == own.port()
                    && (target.ip() == own.ip() || (own.ip().is_unspecified() && target.ip().is_loopback()))
            };
            targets.iter().any(matches)
        };
        match self.listening.iter().copied().find(is_own) {
            Some(own) => Err(Refusal::new(Code::BadRoutes, format!("{own} is the edge itself and cannot be a target"))),
            None => Ok(()),
        }
    }

    /// A table by hand must not take the applications of a server offline. Without a route there is nothing to lose.
    pub fn refuse_other_owner(&self, routes: &RouteSet) -> Result<(), Refusal> {
        let table = self.edge.table();
        let is_servers = table.routes.owner == Owner::Server && !table.routes.routes.is_empty();
        if is_servers && routes.owner != Owner::Server {
            return Err(Refusal::new(
                Code::NotYours,
                "this edge serves the applications of a Windlass server, which alone changes its routes; nothing was \
                 changed. For routes of your own, run an edge on another data folder (windlass edge --data-dir FOLDER).",
            ));
        }
        Ok(())
    }

    /// Drains a target here and, if it is not gone yet, in the process that was here before.
    pub async fn drain(&self, service: &str, address: SocketAddr, limit: Duration) -> Result<Drained, Refusal> {
        let may_be_known_before = self.predecessor.as_ref().is_some_and(Predecessor::is_there);
        if !self.edge.knows(service) && !may_be_known_before {
            let words = format!("there is no service {service:?}, in the routes or leaving them");
            return Err(Refusal::new(Code::UnknownService, words));
        }
        let before = async {
            match &self.predecessor {
                Some(predecessor) => predecessor.drain(service, address, limit).await,
                None => Drained::default(),
            }
        };
        let (here, before) = tokio::join!(self.edge.drain(service, address, limit), before);
        let mut all = here.map_err(|still| Refusal::new(Code::StillRouted, still.to_string()))?;
        all.add(before);
        Ok(all)
    }

    /// What a drain has come to so far, here and in the process before.
    pub async fn draining(&self, service: &str, address: SocketAddr) -> Drained {
        let mut all = self.edge.draining(service, address);
        if let Some(predecessor) = &self.predecessor {
            all.add(predecessor.draining(service, address).await);
        }
        all
    }

    /// What was counted here, and in the processes before.
    pub async fn stats(&self) -> Stats {
        let mut stats = Stats { open_connections: self.open_connections() as u64, ..self.edge.stats() };
        if let Some(predecessor) = &self.predecessor {
            stats.add(&predecessor.stats().await);
        }
        stats
    }

    /// The successor has heard these. Without connections nothing is counted any more.
    pub fn has_told(&self, stats: &Stats) {
        if *self.over.borrow() && stats.open_connections == 0 {
            self.told.notify_one();
        }
    }

    pub fn stop(&self) {
        self.stopping.send_replace(true);
    }

    pub fn handed_over(&self) -> watch::Receiver<bool> {
        self.over.subscribe()
    }

    /// The sockets are another process's now; what is under way here is still ours. Not even closed sockets may stay:
    /// they would take connections for as long as this process lives, and keep their ports from the next one.
    pub fn is_over(&self, mut change: MutexGuard<'_, bool>) {
        *change = true;
        self.edge.close();
        *self.estate.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.over.send_replace(true);
    }

    /// Ends, letting requests under way finish within the limit. Nobody who was here before stays either.
    async fn finish(&self) {
        // A hand-over that is under way first settles whose sockets these are, and none begins from here on.
        let is_over = tokio::time::timeout(CHANGE_WAIT, self.change.lock()).await;
        let is_over = is_over.is_ok_and(|is_over| *is_over);
        tracing::info!("edge stopping; requests under way may finish");
        if !is_over {
            self.stop_accepting().await;
            let _ = fs::remove_file(control::socket(&self.data_dir));
        }
        self.edge.close();
        let limit = self.edge.settings.stop_limit;
        let before = async {
            if let Some(predecessor) = &self.predecessor {
                let _ = tokio::time::timeout(limit + CHANGE_WAIT, predecessor.stop(limit)).await;
            }
        };
        let ((), ()) = tokio::join!(self.rest(limit), before);
        tracing::info!("edge stopped");
    }

    async fn rest(&self, limit: Duration) {
        let deadline = Instant::now() + limit;
        while self.edge.busy.load(Ordering::Acquire) > 0 && Instant::now() < deadline {
            tokio::time::sleep(LOOK).await;
        }
        let cut = self.edge.busy.load(Ordering::Acquire);
        if cut > 0 {
            tracing::warn!(
                connections = cut,
                seconds = limit.as_secs(),
                "some requests did not finish in time and were cut"
            );
        }
    }

    /// Stays until the last connection is gone. Those that are idle get no hint before their next request: closing them
    /// now could cross with it. The process before is reached through this one, so it goes first.
    async fn linger(&self) {
        tracing::info!("another process has taken over; this one ends with its last connection");
        let deadline = Instant::now() + self.edge.settings.hand_over_limit;
        let has_predecessor = || self.predecessor.as_ref().is_some_and(Predecessor::is_there);
        while (self.open_connections() > 0 || has_predecessor()) && Instant::now() < deadline {
            tokio::time::sleep(LOOK).await;
        }
        // The successor is to hear of what is cut, and of the last that was counted, if it is still there to ask.
        self.edge.cut_leaving();
        let _ = tokio::time::timeout(2 * KEEP_UP, self.told.notified()).await;
        tracing::info!(connections = self.open_connections(), "edge handed over and ended");
    }
}
