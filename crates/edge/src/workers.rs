//! The threads that serve connections: each with a runtime of its own, so that a request never crosses from one to another.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::connection;
use crate::edge::Edge;
use crate::forward::Worker;
use crate::listen::Place;

/// How often connections to targets that nobody uses grow a second older.
const SWEEP: Duration = Duration::from_secs(1);

pub struct Workers(Vec<Thread>);

struct Thread {
    /// As many can be in it as there are places for connections.
    connections: UnboundedSender<(TcpStream, SocketAddr, Place)>,
    open: Arc<AtomicUsize>,
    _thread: JoinHandle<()>,
}

impl Workers {
    pub fn start(edge: &Arc<Edge>) -> io::Result<Self> {
        let threads = (0..edge.settings.threads).map(|index| Thread::start(Worker { edge: edge.clone(), index }));
        threads.collect::<io::Result<_>>().map(Self)
    }

    /// Connections that are open, upgraded ones included.
    pub fn open_connections(&self) -> usize {
        self.0.iter().map(|thread| thread.open.load(Ordering::Relaxed)).sum()
    }

    /// Gives a connection to the thread that has the fewest.
    pub fn serve(&self, stream: TcpStream, peer: SocketAddr, mut place: Place) {
        if let Some(thread) = self.0.iter().min_by_key(|thread| thread.open.load(Ordering::Relaxed)) {
            place.count(Open::new(thread.open.clone()));
            // A thread ends with the process only.
            let _ = thread.connections.send((stream, peer, place));
        }
    }
}

impl Thread {
    fn start(worker: Worker) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (connections, waiting) = unbounded_channel();
        let open = Arc::new(AtomicUsize::new(0));
        let name = format!("edge-{}", worker.index);
        let thread = std::thread::Builder::new().name(name).spawn(move || runtime.block_on(run(worker, waiting)))?;
        Ok(Self { connections, open, _thread: thread })
    }
}

async fn run(worker: Worker, mut waiting: UnboundedReceiver<(TcpStream, SocketAddr, Place)>) {
    tokio::spawn(sweep(worker.clone()));
    while let Some((stream, peer, place)) = waiting.recv().await {
        let stream = match tokio::net::TcpStream::from_std(stream) {
            Ok(stream) => stream,
            Err(error) => {
                tracing::warn!(%error, "could not serve a connection");
                continue;
            }
        };
        tokio::spawn(connection::serve(worker.clone(), stream, peer, place));
    }
}

/// One of a thread's connections.
pub struct Open(Arc<AtomicUsize>);

impl Open {
    fn new(count: Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn sweep(worker: Worker) {
    loop {
        tokio::time::sleep(SWEEP).await;
        for target in worker.edge.all_targets() {
            target.pool(worker.index).tick();
        }
    }
}
