//! Connections: how many, how long, and how they end.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::service::{Service, service_fn};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use rustix::net::sockopt::set_tcp_user_timeout;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tower::ServiceExt;

use crate::app::App;
use crate::auth::origin::Peer;
use crate::http;

/// Requests at once on one HTTP/2 connection.
const STREAMS: u32 = 32;

/// Accepts and serves on all listeners until `stop` turns true; then lets requests under way finish, within the limit.
pub async fn serve(app: Arc<App>, listeners: Vec<TcpListener>, mut stop: watch::Receiver<bool>) {
    let limit = app.config.shutdown_limit;
    let graceful = Arc::new(GracefulShutdown::new());
    let (cut, _) = watch::channel(false);
    let door = Door {
        router: http::router(app.clone()),
        places: Arc::new(Semaphore::new(app.config.max_connections)),
        idle_limit: app.config.idle_limit,
        cut: cut.clone(),
    };
    let mut accepting = JoinSet::new();
    for listener in listeners {
        accepting.spawn(accept(listener, door.clone(), graceful.clone()));
    }
    // An error means that the sender is gone, which is a stop too.
    let _ = stop.wait_for(|stop| *stop).await;
    accepting.shutdown().await;
    let Some(graceful) = Arc::into_inner(graceful) else { return };
    if tokio::time::timeout(limit, graceful.shutdown()).await.is_err() {
        tracing::warn!(seconds = limit.as_secs(), "some requests did not finish in time and were cut");
        cut.send_replace(true);
        cut.closed().await;
    }
}

/// What every connection needs.
#[derive(Clone)]
struct Door {
    router: Router,
    places: Arc<Semaphore>,
    idle_limit: Duration,
    cut: watch::Sender<bool>,
}

async fn accept(listener: TcpListener, door: Door, graceful: Arc<GracefulShutdown>) {
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of descriptors, most likely: waiting gives connections time to end.
                tracing::warn!(%error, "could not accept a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        // The next ones wait in the system's queue until there is a place.
        let Ok(place) = door.places.clone().acquire_owned().await else { return };
        prepare(&stream, door.idle_limit);
        let activity = Arc::new(Activity::new());
        let service = service(door.router.clone(), peer, activity.clone());
        let connection = builder(door.idle_limit).serve_connection(TokioIo::new(stream), service).into_owned();
        let watched = graceful.watch(connection);
        let (mut cut, idle_limit) = (door.cut.subscribe(), door.idle_limit);
        tokio::spawn(async move {
            let mut watched = pin!(watched);
            tokio::select! {
                ended = &mut watched => {
                    if let Err(error) = ended {
                        tracing::debug!(%error, %peer, "connection ended");
                    }
                }
                () = activity.idle_for(idle_limit) => tracing::debug!(%peer, "silent connection closed"),
                _ = cut.wait_for(|cut| *cut) => {}
            }
            drop(place);
        });
    }
}

fn prepare(stream: &TcpStream, idle_limit: Duration) {
    // Answers are small and complete: waiting to fill a packet only delays them.
    let _ = stream.set_nodelay(true);
    // A client that does not take its answer is given up by the system. Where that cannot be set, the answer just waits.
    let millis = u32::try_from(idle_limit.as_millis()).unwrap_or(u32::MAX);
    let _ = set_tcp_user_timeout(stream, millis);
}

fn builder(idle_limit: Duration) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(idle_limit);
    builder.http2().timer(TokioTimer::new()).max_concurrent_streams(STREAMS);
    builder
}

fn service(
    router: Router,
    peer: SocketAddr,
    activity: Arc<Activity>,
) -> impl Service<Request<Incoming>, Response = Response<Held>, Error = Infallible, Future: Send + 'static> + Send + 'static
{
    service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(Peer(peer));
        let busy = Busy::new(activity.clone());
        let answer = router.clone().oneshot(request.map(Body::new));
        async move { Ok(answer.await?.map(|body| Held { body, _busy: busy })) }
    })
}

/// Whether a connection is doing something, so that one that does nothing can be closed. The connection library has no
/// limit for a client that connects and never says a word.
struct Activity {
    started: Instant,
    requests: AtomicUsize,
    /// When the last request ended, in milliseconds after `started`.
    quiet_since: AtomicU64,
}

impl Activity {
    fn new() -> Self {
        Self { started: Instant::now(), requests: AtomicUsize::new(0), quiet_since: AtomicU64::new(0) }
    }

    /// Returns once nothing was under way for so long.
    async fn idle_for(&self, limit: Duration) {
        loop {
            let quiet = match self.requests.load(Ordering::Acquire) {
                0 => self
                    .started
                    .elapsed()
                    .saturating_sub(Duration::from_millis(self.quiet_since.load(Ordering::Acquire))),
                _ => Duration::ZERO,
            };
            match limit.checked_sub(quiet) {
                Some(left) if !left.is_zero() => tokio::time::sleep(left).await,
                _ => return,
            }
        }
    }
}

/// A request under way.
struct Busy(Arc<Activity>);

impl Busy {
    fn new(activity: Arc<Activity>) -> Self {
        activity.requests.fetch_add(1, Ordering::AcqRel);
        Self(activity)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let millis = u64::try_from(self.0.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.0.quiet_since.store(millis, Ordering::Release);
        self.0.requests.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A body that keeps its request under way until its last byte is taken.
struct Held {
    body: Body,
    _busy: Busy,
}

impl hyper::body::Body for Held {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
