//! A running edge process: what it has, and what may be done with it.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::BufReader;
use tokio::net::UnixStream;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{MutexGuard, Notify, watch};
use tokio::task::JoinSet;

use super::control::{self, Code, Refusal, TakeOver};
use super::hand_over::predecessor::Predecessor;
use super::holdings::{Holdings, VisitorSocket};
use super::options::{EdgeError, Listen, Options};
use super::route_file::Loaded;
use super::start::ProcessStart;
use crate::edge::{Applied, Edge};
use crate::routes::RouteSet;
use crate::scheme::HTTPS_PORT;
use crate::targets::Drained;
use crate::targets::stats::Stats;
use crate::visitor::listen::Acceptor;
use crate::visitor::workers::Workers;

/// How long a change of the table waits for a hand-over that is under way; that has limits of its own.
pub const CHANGE_LIMIT: Duration = Duration::from_secs(15);

pub struct Process {
    pub edge: Arc<Edge>,
    pub data_dir: PathBuf,
    pub binary: String,
    /// What it was told to listen on.
    pub requested: Listen,
    /// What it listens on.
    pub listening: Listen,
    pub predecessor: Option<Predecessor>,
    /// None once they were handed over.
    holdings: Mutex<Option<Holdings>>,
    acceptor: Acceptor,
    workers: Arc<Workers>,
    accepting: Mutex<JoinSet<()>>,
    /// Held while the table is changed or handed over. True once it was handed over.
    change: tokio::sync::Mutex<bool>,
    damage: Mutex<Option<String>>,
    stopping: watch::Sender<bool>,
    over: watch::Sender<bool>,
    /// The successor has heard the last figures.
    told: Notify,
    take_overs: UnboundedSender<TakeOverAsked>,
}

/// A process that asks to take over, and the connection on which it asks.
pub struct TakeOverAsked {
    pub stream: BufReader<UnixStream>,
    pub successor: TakeOver,
}

impl Process {
    pub fn new(
        options: Options,
        start: ProcessStart,
        take_overs: UnboundedSender<TakeOverAsked>,
    ) -> Result<Self, EdgeError> {
        let edge = Arc::new(Edge::new(options.settings, start.tickets)?);
        let workers = Arc::new(Workers::start(&edge)?);
        let sockets = &start.holdings.sockets;
        let requested = sockets.iter().map(|socket| (socket.scheme, socket.requested)).collect();
        let local = |socket: &VisitorSocket| Some((socket.scheme, socket.listener.local_addr().ok()?));
        let listening: Listen = sockets.iter().filter_map(local).collect();
        edge.set_https_port(https_port(&listening));
        Ok(Self {
            acceptor: Acceptor::new(edge.clone(), workers.clone(), start.holdings.sockets.len()),
            damage: Mutex::new(load(&edge, start.routes)),
            edge,
            data_dir: options.data_dir,
            binary: control::binary(),
            requested,
            listening,
            holdings: Mutex::new(Some(start.holdings)),
            workers,
            accepting: Mutex::default(),
            change: tokio::sync::Mutex::new(false),
            stopping: watch::Sender::new(false),
            over: watch::Sender::new(false),
            told: Notify::new(),
            predecessor: start.predecessor,
            take_overs,
        })
    }

    /// Looks at the lock and the sockets, as long as this process has them.
    pub fn with_holdings<T>(&self, look: impl FnOnce(&mut Holdings) -> io::Result<T>) -> io::Result<T> {
        look(self.holdings.lock().as_mut().ok_or(io::ErrorKind::NotFound)?)
    }

    pub fn acceptor(&self) -> Acceptor {
        self.acceptor.clone()
    }

    /// These tasks accept from now on.
    pub fn set_accepting(&self, accepting: JoinSet<()>) {
        *self.accepting.lock() = accepting;
    }

    /// From here on visitors and callers wait in the system's queue, for this process or another one that has the
    /// sockets.
    pub async fn stop_accepting(&self) {
        let mut accepting = std::mem::take(&mut *self.accepting.lock());
        accepting.shutdown().await;
    }

    /// Why there are no routes although there should be.
    pub fn damage(&self) -> Option<String> {
        self.damage.lock().clone()
    }

    pub fn open_connections(&self) -> usize {
        self.workers.open_connections()
    }

    pub fn has_predecessor(&self) -> bool {
        self.predecessor.as_ref().is_some_and(Predecessor::is_there)
    }

    /// The right to change the table, unless it is another process's by now or this one is about to end.
    pub async fn change(&self) -> Result<MutexGuard<'_, bool>, Refusal> {
        let handed_over = || Refusal::new(Code::HandedOver, "another edge process has taken over: connect again");
        let busy = || Refusal::new(Code::Busy, "the edge is handing over or stopping: try again");
        let change = tokio::time::timeout(CHANGE_LIMIT, self.change.lock()).await.map_err(|_| busy())?;
        if *change { Err(handed_over()) } else { Ok(change) }
    }

    /// The same right, however long it takes to get. True if the table was handed over meanwhile.
    pub async fn change_at_last(&self) -> MutexGuard<'_, bool> {
        self.change.lock().await
    }

    /// Changes the table here and in the predecessor, which still has connections.
    pub async fn apply(&self, routes: &Arc<RouteSet>) -> Applied {
        *self.damage.lock() = None;
        let applied = self.edge.apply(routes);
        if let Some(predecessor) = &self.predecessor {
            predecessor.apply(routes).await;
        }
        applied
    }

    /// Whether the predecessor serves again, so that what is applied here reaches no visitor any more.
    pub fn is_passed_over(&self) -> bool {
        self.predecessor.as_ref().is_some_and(Predecessor::serves_again)
    }

    /// Drains a target here and, if it has not ended yet, in the predecessor.
    pub async fn drain(&self, service: &str, address: SocketAddr, limit: Duration) -> Result<Drained, Refusal> {
        if !self.edge.knows(service) && !self.has_predecessor() {
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

    /// What a drain has come to so far, here and in the predecessor.
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
    pub fn mark_told(&self, stats: &Stats) {
        if *self.over.borrow() && stats.open_connections == 0 {
            self.told.notify_one();
        }
    }

    /// Returns when the successor has heard the last figures.
    pub async fn told(&self) {
        self.told.notified().await;
    }

    pub fn stop(&self) {
        self.stopping.send_replace(true);
    }

    pub fn stopping(&self) -> watch::Receiver<bool> {
        self.stopping.subscribe()
    }

    pub fn handed_over(&self) -> watch::Receiver<bool> {
        self.over.subscribe()
    }

    /// Passes on that another process asks to take over.
    pub fn ask_for_take_over(&self, asked: TakeOverAsked) {
        // It is listened to for as long as the process lives.
        let _ = self.take_overs.send(asked);
    }

    /// The sockets are another process's now; what is under way here still belongs to this one. Not even closed sockets
    /// may stay: they would take connections for as long as this process lives, and keep their ports from the next one.
    pub fn mark_handed_over(&self, mut change: MutexGuard<'_, bool>) {
        *change = true;
        self.edge.close();
        *self.holdings.lock() = None;
        self.over.send_replace(true);
    }
}

/// Serves what was loaded; why it cannot, if it was damaged.
fn load(edge: &Edge, routes: Loaded) -> Option<String> {
    match routes {
        Loaded::Routes(routes) => {
            edge.apply(&Arc::new(routes));
            None
        }
        Loaded::Nothing => None,
        Loaded::Damaged(why) => {
            tracing::error!("{why}. Visitors are told so until routes are applied.");
            edge.routes_are_damaged();
            Some(why)
        }
    }
}

/// Where visitors are sent who came unencrypted: the usual port if it is served, else the first that is; 0 for none.
fn https_port(listening: &Listen) -> u16 {
    let mut ports = listening.https.iter().map(SocketAddr::port);
    let usual = ports.clone().find(|port| *port == HTTPS_PORT);
    usual.or_else(|| ports.next()).unwrap_or_default()
}
