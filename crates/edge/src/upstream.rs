//! Connections to targets: made, kept for the next request, and given up.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::request_body::{Progress, RequestBody};
use crate::target::Target;

/// Node.js closes after 5 s; whoever closes first must be us. In seconds, of which the first may be a short one.
const IDLE_LIMIT: u32 = 4;
/// How many idle connections one worker keeps to one target.
const MOST_IDLE: usize = 256;
/// How long a connection may take to be ready for the next request after it has given its answer.
const SETTLE_LIMIT: Duration = Duration::from_secs(1);
const ENFILE: i32 = rustix::io::Errno::NFILE.raw_os_error();
const EMFILE: i32 = rustix::io::Errno::MFILE.raw_os_error();
/// The largest head of an answer.
const ANSWER_HEAD: usize = 128 * 1024;

/// What requests are sent with. The connection ends with it, at once: by itself it would first wait for a target that takes
/// no more bytes, and hold the visitor's body for as long as that lives.
pub struct Sender {
    pub requests: http1::SendRequest<RequestBody>,
    target: Weak<Target>,
    connection: Option<u64>,
}

impl Sender {
    /// The connection carries another protocol now, and ends with that.
    pub fn let_go(mut self) {
        self.connection = None;
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        if let (Some(target), Some(connection)) = (self.target.upgrade(), self.connection) {
            target.end(connection);
        }
    }
}

/// Idle connections of one worker to one target. The one that was used last is used next, so that those beyond the need
/// grow old and go.
#[derive(Default)]
pub struct Pool(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    idle: Vec<Idle>,
    /// Goes forward once a second. A clock would be asked twice for every request.
    second: u32,
}

struct Idle {
    sender: Sender,
    since: u32,
}

impl Pool {
    pub fn take(&self) -> Option<Sender> {
        let mut kept = self.kept();
        while let Some(newest) = kept.idle.pop() {
            if newest.sender.requests.is_ready() {
                return Some(newest.sender);
            }
        }
        None
    }

    pub fn clear(&self) {
        self.kept().idle.clear();
    }

    /// To be called once a second: closes what has been idle for too long.
    pub fn tick(&self) {
        let mut kept = self.kept();
        kept.second = kept.second.wrapping_add(1);
        let now = kept.second;
        kept.idle.retain(|idle| now.wrapping_sub(idle.since) < IDLE_LIMIT && !idle.sender.requests.is_closed());
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection, its answer taken, waits for the next request. A body that is still being sent may go on as long as it moves,
/// until the deadline.
pub fn give_back(
    target: &Arc<Target>,
    worker: usize,
    mut sender: Sender,
    body: Option<Arc<Progress>>,
    idle: Duration,
    deadline: Instant,
) {
    if sender.requests.is_closed() {
        return;
    }
    if sender.requests.is_ready() {
        keep(target, worker, sender);
        return;
    }
    let target = target.clone();
    tokio::spawn(async move {
        let settling = settles(&mut sender, body.as_deref(), idle);
        if let Ok(true) = tokio::time::timeout_at(deadline.into(), settling).await {
            keep(&target, worker, sender);
        }
    });
}

async fn settles(sender: &mut Sender, body: Option<&Progress>, idle: Duration) -> bool {
    let (received, limit) = match body {
        Some(body) => (Some(&body.received), idle),
        None => (None, SETTLE_LIMIT),
    };
    let so_far = || received.map_or(0, |received| received.load(Ordering::Relaxed));
    loop {
        let before = so_far();
        match tokio::time::timeout(limit, sender.requests.ready()).await {
            Ok(ready) => return ready.is_ok(),
            Err(_) if so_far() > before => {}
            Err(_) => return false,
        }
    }
}

fn keep(target: &Target, worker: usize, sender: Sender) {
    let mut kept = target.pool(worker).kept();
    // Asked under the lock: whoever closes the target empties the pool after it has said so.
    if !target.is_draining() && kept.idle.len() < MOST_IDLE {
        let since = kept.second;
        kept.idle.push(Idle { sender, since });
    }
}

/// A new connection.
pub async fn connect(target: &Arc<Target>, limit: Duration) -> io::Result<Sender> {
    let connected = tokio::time::timeout(limit, TcpStream::connect(target.address)).await;
    let stream = match connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
        Ok(stream) => stream,
        Err(error) => {
            // Having no descriptor left is not the target's fault.
            let is_ours = error.raw_os_error().is_some_and(|code| [EMFILE, ENFILE].contains(&code));
            if !is_ours {
                target.health.not_connected();
            }
            return Err(error);
        }
    };
    target.health.connected();
    // Requests are written whole: waiting to fill a packet only delays them.
    let _ = stream.set_nodelay(true);
    let mut builder = http1::Builder::new();
    // Most requests are a head and nothing else, which needs no vectored writing.
    builder.max_buf_size(ANSWER_HEAD).writev(false);
    let (requests, connection) = builder.handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    let address = target.address;
    let connection = target.spawn(async move {
        if let Err(error) = connection.with_upgrades().await {
            tracing::trace!(%error, %address, "connection to a target ended");
        }
    });
    Ok(Sender { requests, target: Arc::downgrade(target), connection: Some(connection) })
}
