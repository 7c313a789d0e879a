//! The life of an edge: lock, load, listen, hand over or stop.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::net::UnixListener;
use tokio::sync::{MutexGuard, watch};
use tokio::task::JoinSet;

use crate::control::{self, Code, Refusal, server};
use crate::edge::{Applied, Edge, Settings, StillRouted};
use crate::hand_over::{self, Predecessor};
use crate::health;
use crate::listen::Door;
use crate::route_file::{self, Loaded};
use crate::routes::RouteSet;
use crate::target::Drained;
use crate::workers::Workers;

/// How often a process that is ending looks whether it can.
const LOOK: Duration = Duration::from_millis(20);
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

/// Everything that a process must have before it can serve.
pub struct Begun {
    pub lock: File,
    pub control: std::os::unix::net::UnixListener,
    pub sockets: Vec<Socket>,
    pub routes: Loaded,
    pub predecessor: Option<Predecessor>,
}

pub struct Process {
    pub edge: Arc<Edge>,
    pub data_dir: PathBuf,
    pub binary: String,
    pub sockets: Vec<Socket>,
    pub control: std::os::unix::net::UnixListener,
    pub lock: Mutex<Option<File>>,
    door: Door,
    workers: Arc<Workers>,
    accepting: Mutex<JoinSet<()>>,
    /// Held by whoever changes the table or hands it over. True once it was handed over.
    change: tokio::sync::Mutex<bool>,
    damage: Mutex<Option<String>>,
    stopping: watch::Sender<bool>,
    over: watch::Sender<bool>,
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
    process.write_pid();
    tokio::spawn(health::run(process.edge.clone()));
    for address in process.listening() {
        tracing::info!("edge ready at http://{address}");
    }
    if process.predecessor.is_some() {
        let process = process.clone();
        tokio::spawn(async move {
            if let Some(predecessor) = &process.predecessor {
                predecessor.release().await;
            }
        });
    }
    let (mut stopping, mut over) = (process.stopping.subscribe(), process.over.subscribe());
    tokio::select! {
        _ = stop.wait_for(|stop| *stop) => process.finish(process.edge.settings.stop_limit).await,
        _ = stopping.wait_for(|stop| *stop) => process.finish(process.edge.settings.stop_limit).await,
        _ = over.wait_for(|over| *over) => process.linger().await,
    }
    Ok(())
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
    Ok(Begun { lock, control, sockets, routes, predecessor: None })
}

/// One edge per data folder. The lock is the system's, so it ends with the process, however that ends.
fn lock(data_dir: &Path) -> Result<File, EdgeError> {
    let unusable = |source| EdgeError::DataDir { path: data_dir.display().to_string(), source };
    let mut options = fs::OpenOptions::new();
    options.create(true).read(true).write(true).truncate(false).mode(0o600);
    let mut file = options.open(data_dir.join("edge.lock")).map_err(unusable)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            let _ = file.read_to_string(&mut holder);
            Err(EdgeError::Held { path: data_dir.display().to_string(), holder: holder.trim().to_owned() })
        }
        Err(TryLockError::Error(source)) => Err(unusable(source)),
    }
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
            door: Door::new(edge.clone(), workers.clone()),
            edge,
            data_dir: options.data_dir,
            binary: control::binary(),
            sockets: begun.sockets,
            control: begun.control,
            lock: Mutex::new(Some(begun.lock)),
            workers,
            accepting: Mutex::default(),
            change: tokio::sync::Mutex::new(false),
            damage: Mutex::new(damage),
            stopping: watch::Sender::new(false),
            over: watch::Sender::new(false),
            predecessor: begun.predecessor,
        })
    }

    /// Begins, or goes on, to accept visitors and callers.
    pub fn accept(self: &Arc<Self>) -> Result<(), EdgeError> {
        let mut accepting = JoinSet::new();
        for socket in &self.sockets {
            let listener = socket.listener.try_clone()?;
            listener.set_nonblocking(true)?;
            let listener = Arc::new(tokio::net::TcpListener::from_std(listener)?);
            accepting.spawn(self.door.clone().accept(listener));
        }
        let control = self.control.try_clone()?;
        control.set_nonblocking(true)?;
        accepting.spawn(server::accept(self.clone(), Arc::new(UnixListener::from_std(control)?)));
        *self.accepting.lock().unwrap_or_else(PoisonError::into_inner) = accepting;
        Ok(())
    }

    /// From here on visitors and callers wait in the system's queue, for us or for whoever else has the sockets.
    pub async fn stop_accepting(&self) {
        let mut accepting = std::mem::take(&mut *self.accepting.lock().unwrap_or_else(PoisonError::into_inner));
        accepting.shutdown().await;
    }

    fn write_pid(&self) {
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = lock.as_mut() {
            // For people and messages only; the lock itself is the system's.
            let _ = file.set_len(0).and_then(|()| file.seek(SeekFrom::Start(0)));
            let _ = writeln!(file, "{}", std::process::id());
        }
    }

    pub fn listening(&self) -> Vec<SocketAddr> {
        self.sockets.iter().filter_map(|socket| socket.listener.local_addr().ok()).collect()
    }

    pub fn damage(&self) -> Option<String> {
        self.damage.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn open_connections(&self) -> usize {
        self.workers.open_connections()
    }

    /// The right to change the table, unless it is another process's by now.
    pub async fn change(&self) -> Result<MutexGuard<'_, bool>, Refusal> {
        let handed_over = || Refusal::new(Code::HandedOver, "another edge process has taken over: connect again");
        let change = tokio::time::timeout(CHANGE_WAIT, self.change.lock()).await.map_err(|_| handed_over())?;
        if *change { Err(handed_over()) } else { Ok(change) }
    }

    pub fn apply(&self, routes: &Arc<RouteSet>) -> Applied {
        *self.damage.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.edge.apply(routes)
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
        match self.listening().into_iter().find(is_own) {
            Some(own) => Err(Refusal::new(Code::BadRoutes, format!("{own} is the edge itself and cannot be a target"))),
            None => Ok(()),
        }
    }

    /// Drains a target here and, if it is not gone yet, in the process that was here before.
    pub async fn drain(&self, service: &str, address: SocketAddr, limit: Duration) -> Result<Drained, StillRouted> {
        let before = async {
            match &self.predecessor {
                Some(predecessor) => predecessor.drain(service, address, limit).await,
                None => Drained::default(),
            }
        };
        let (here, before) = tokio::join!(self.edge.drain(service, address, limit), before);
        let mut all = here?;
        all.add(before);
        Ok(all)
    }

    pub fn stop(&self) {
        self.stopping.send_replace(true);
    }

    pub fn handed_over(&self) -> watch::Receiver<bool> {
        self.over.subscribe()
    }

    /// The sockets are another process's now; what is under way here is still ours.
    pub fn is_over(&self, mut change: MutexGuard<'_, bool>) {
        *change = true;
        self.edge.close();
        *self.lock.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.over.send_replace(true);
    }

    /// Ends, letting requests under way finish within the limit.
    async fn finish(&self, limit: Duration) {
        tracing::info!("edge stopping; requests under way may finish");
        self.stop_accepting().await;
        let _ = fs::remove_file(control::socket(&self.data_dir));
        self.edge.close();
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
        tracing::info!("edge stopped");
    }

    /// Stays until the last connection is gone. Those that are idle get no hint before their next request: closing them
    /// now could cross with it.
    async fn linger(&self) {
        tracing::info!("another process has taken over; this one ends with its last connection");
        let deadline = Instant::now() + self.edge.settings.hand_over_limit;
        while self.open_connections() > 0 && Instant::now() < deadline {
            tokio::time::sleep(LOOK).await;
        }
        tracing::info!(connections = self.open_connections(), "edge handed over and ended");
    }
}
