//! The threads that serve connections: each with a runtime of its own, so that a request never crosses from one to
//! another.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::connection;
use super::permit::ConnectionPermit;
use crate::edge::Edge;
use crate::request::worker::Worker;
use crate::scheme::Scheme;

/// How often each worker looks for connections to targets that were idle for too long.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

pub struct Workers(Vec<WorkerThread>);

struct WorkerThread {
    /// As many can be in it as there are permits for connections.
    connections: UnboundedSender<AcceptedConnection>,
    open: Arc<AtomicUsize>,
    _thread: JoinHandle<()>,
}

/// A visitor's connection, before its first byte.
pub struct AcceptedConnection {
    pub stream: TcpStream,
    pub scheme: Scheme,
    pub peer: SocketAddr,
    pub permit: ConnectionPermit,
}

impl Workers {
    pub fn start(edge: &Arc<Edge>) -> io::Result<Self> {
        let threads = (0..edge.settings.threads).map(|index| WorkerThread::start(Worker { edge: edge.clone(), index }));
        threads.collect::<io::Result<_>>().map(Self)
    }

    /// Connections that are open, upgraded ones included.
    pub fn open_connections(&self) -> usize {
        self.0.iter().map(|thread| thread.open.load(Ordering::Relaxed)).sum()
    }

    /// Gives a connection to the thread that has the fewest.
    pub fn serve(&self, mut accepted: AcceptedConnection) {
        if let Some(thread) = self.0.iter().min_by_key(|thread| thread.open.load(Ordering::Relaxed)) {
            accepted.permit.count(thread.open.clone());
            // A thread ends with the process only.
            let _ = thread.connections.send(accepted);
        }
    }
}

impl WorkerThread {
    fn start(worker: Worker) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (connections, waiting) = unbounded_channel();
        let open = Arc::new(AtomicUsize::new(0));
        let name = format!("edge-{}", worker.index);
        let thread = std::thread::Builder::new().name(name).spawn(move || runtime.block_on(run(worker, waiting)))?;
        Ok(Self { connections, open, _thread: thread })
    }
}

async fn run(worker: Worker, mut waiting: UnboundedReceiver<AcceptedConnection>) {
    tokio::spawn(sweep(worker.clone()));
    while let Some(accepted) = waiting.recv().await {
        match accepted.scheme {
            Scheme::Http => tokio::spawn(connection::serve_plain(worker.clone(), accepted)),
            Scheme::Https => tokio::spawn(connection::serve_secured(worker.clone(), accepted)),
        };
    }
}

async fn sweep(worker: Worker) {
    loop {
        tokio::time::sleep(SWEEP_INTERVAL).await;
        for target in worker.edge.all_targets() {
            target.sweep_connections(worker.index);
        }
    }
}
