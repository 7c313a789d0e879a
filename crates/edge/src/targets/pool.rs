//! Connections to a target that are kept for the next request.

use std::sync::Arc;

use hyper::client::conn::http1;
use parking_lot::Mutex;

use super::tasks::Tasks;
use crate::body::Body;

/// Node.js closes after 5 s, and the edge must be the one that closes first. In seconds, of which the first may be
/// short.
const IDLE_LIMIT: u32 = 4;
/// How many idle connections one worker keeps to one target.
const MOST_IDLE: usize = 256;

/// What requests are sent with. The connection ends with it, at once: by itself it would first wait for a target that
/// takes no more bytes, and hold the visitor's body for as long as that lives.
pub struct Sender {
    pub requests: http1::SendRequest<Body>,
    tasks: Arc<Tasks>,
    connection: Option<u64>,
}

impl Sender {
    /// `connection` is the task of `tasks` that moves the bytes.
    pub fn new(requests: http1::SendRequest<Body>, tasks: Arc<Tasks>, connection: u64) -> Self {
        Self { requests, tasks, connection: Some(connection) }
    }

    /// The connection carries another protocol now, and ends with that.
    pub fn let_go(mut self) {
        self.connection = None;
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        if let Some(connection) = self.connection {
            self.tasks.end(connection);
        }
    }
}

/// Idle connections of one worker to one target. The one that was used last is used next, so that those that are not
/// needed stay idle and are closed.
#[derive(Default)]
pub struct Pool(Mutex<KeptConnections>);

#[derive(Default)]
struct KeptConnections {
    idle: Vec<IdleConnection>,
    /// Goes forward once a second. A clock would be asked twice for every request.
    second: u32,
}

struct IdleConnection {
    sender: Sender,
    since: u32,
}

impl Pool {
    pub fn take(&self) -> Option<Sender> {
        let mut kept = self.0.lock();
        while let Some(newest) = kept.idle.pop() {
            if newest.sender.requests.is_ready() {
                return Some(newest.sender);
            }
        }
        None
    }

    /// `may_keep` is asked while the pool is locked.
    pub fn keep(&self, sender: Sender, may_keep: impl FnOnce() -> bool) {
        let mut kept = self.0.lock();
        if may_keep() && kept.idle.len() < MOST_IDLE {
            let since = kept.second;
            kept.idle.push(IdleConnection { sender, since });
        }
    }

    pub fn clear(&self) {
        self.0.lock().idle.clear();
    }

    /// To be called once a second: closes what has been idle for too long.
    pub fn tick(&self) {
        let mut kept = self.0.lock();
        kept.second = kept.second.wrapping_add(1);
        let now = kept.second;
        kept.idle.retain(|idle| now.wrapping_sub(idle.since) < IDLE_LIMIT && !idle.sender.requests.is_closed());
    }
}

#[cfg(test)]
mod tests {
    use hyper_util::rt::TokioIo;
    use tokio::io::DuplexStream;

    use super::super::Target;
    use super::*;

    /// A connection that is ready for a request, and its other end.
    async fn connected() -> (Sender, DuplexStream) {
        let (ours, theirs) = tokio::io::duplex(1024);
        let (mut requests, connection) = http1::handshake(TokioIo::new(ours)).await.unwrap();
        let tasks = Arc::new(Tasks::default());
        let connection = tasks.spawn(async move { connection.await.unwrap_or_default() });
        requests.ready().await.unwrap();
        (Sender::new(requests, tasks, connection), theirs)
    }

    #[tokio::test]
    async fn idle_connections_have_a_bound_and_an_end() {
        let pool = Pool::default();
        let mut others = Vec::new();
        for _ in 0..=MOST_IDLE {
            let (sender, other) = connected().await;
            others.push(other);
            pool.keep(sender, || true);
        }
        let kept = || pool.0.lock().idle.len();
        assert_eq!(kept(), MOST_IDLE);
        (1..IDLE_LIMIT).for_each(|_| pool.tick());
        assert_eq!(kept(), MOST_IDLE);
        pool.tick();
        assert_eq!(kept(), 0);
    }

    #[tokio::test]
    async fn a_target_that_is_draining_keeps_none() {
        let target = Target::new("127.0.0.1:9".parse().unwrap(), 1);
        let [(first, _one), (second, _two), (third, _three)] =
            [connected().await, connected().await, connected().await];
        target.keep_connection(0, first);
        assert!(target.kept_connection(0).is_some());
        target.keep_connection(0, second);
        target.close();
        assert!(target.kept_connection(0).is_none());
        // An answer that ends after that.
        target.keep_connection(0, third);
        assert!(target.kept_connection(0).is_none());
    }
}
