//! Connections: how many, how long, and how they end.

use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use hyper::body::{Body as _, Frame, Incoming, SizeHint};
use hyper::service::{Service, service_fn};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use parking_lot::{Mutex, MutexGuard};
use rustix::net::sockopt::set_tcp_user_timeout;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tower::ServiceExt;
use windlass_edge::addresses::{Counted, HouseholdCounts};
use windlass_edge::local_users;

use crate::app::App;
use crate::auth::origin::Peer;
use crate::http;

/// Requests at once on one HTTP/2 connection.
const STREAMS: u32 = 32;
/// A body is given out in parts of this size, so that a client that takes its answer slowly can be told from one that
/// does not take it.
const PART: usize = 64 * 1024;

/// How long a connection must have been quiet before it may be closed to make room for another. A client that has something to ask
/// sends it with its first packets. After a request the end of its answer may still be on its way to a slow client.
const LEAST_QUIET: Duration = Duration::from_millis(100);
const LEAST_QUIET_AFTER_A_REQUEST: Duration = Duration::from_secs(10);
/// How often a connection is asked to make room while one waits.
const ASK_AGAIN: Duration = Duration::from_millis(250);

/// Where connections are taken.
pub struct Listeners {
    pub for_all: Vec<TcpListener>,
    /// Of visitors who come through the edge. It is within the machine, and serves programs of this user alone.
    pub for_edge: Option<TcpListener>,
}

/// Accepts and serves on all listeners until `stop` turns true; then lets requests under way finish, within the limit.
pub async fn serve(app: Arc<App>, listeners: Listeners, mut stop: watch::Receiver<bool>) {
    let limit = app.config.shutdown_limit;
    let graceful = Arc::new(GracefulShutdown::new());
    let (cut, _) = watch::channel(false);
    let settings = ConnectionSettings {
        app: app.clone(),
        router: http::router(app.clone()),
        addresses: HouseholdCounts::new(app.config.network_pool.into()),
        room: Arc::new(Room::new(app.config.max_connections)),
        idle_limit: app.config.idle_limit,
        cut: cut.clone(),
    };
    let mut accepting = JoinSet::new();
    for listener in listeners.for_all {
        accepting.spawn(accept(listener, false, settings.clone(), graceful.clone()));
    }
    if let Some(listener) = listeners.for_edge {
        // Room of its own: visitors of the edge, who are counted there, leave all of the other to callers who come here.
        let room = Arc::new(Room::new((app.config.max_connections / 2).max(1)));
        accepting.spawn(accept(listener, true, ConnectionSettings { room, ..settings.clone() }, graceful.clone()));
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
struct ConnectionSettings {
    app: Arc<App>,
    router: Router,
    addresses: HouseholdCounts,
    room: Arc<Room>,
    idle_limit: Duration,
    cut: watch::Sender<bool>,
}

/// Room for connections. When there is none left, the one that has been quiet the longest makes room: clients that connect and say
/// nothing must not keep others out.
struct Room {
    /// As many permits as connections there may be.
    connections: Arc<Semaphore>,
    /// Connections that wait for a permit.
    waiting: AtomicUsize,
    /// Wakes one quiet connection at a time, the one first that has waited the longest.
    wanted: Notify,
}

impl Room {
    fn new(connections: usize) -> Self {
        let connections = Arc::new(Semaphore::new(connections));
        Self { connections, waiting: AtomicUsize::new(0), wanted: Notify::new() }
    }

    /// As long as no connection is quiet, the next ones wait in the system's queue.
    async fn enter(&self) -> Option<OwnedSemaphorePermit> {
        if let Ok(permit) = self.connections.clone().try_acquire_owned() {
            return Some(permit);
        }
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let permit = loop {
            self.wanted.notify_one();
            let permit = self.connections.clone().acquire_owned();
            if let Ok(permit) = tokio::time::timeout(ASK_AGAIN, permit).await {
                break permit.ok();
            }
        };
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        permit
    }

    fn is_wanted(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0
    }
}

/// Its address has as many connections as it may have.
struct TooMany;

impl ConnectionSettings {
    /// Proxies and the edge bring many clients' connections, so they have no limit.
    fn count(&self, peer: Peer) -> Result<Option<Counted>, TooMany> {
        let config = &self.app.config;
        if config.address_connections == 0 || peer.is_trusted(&config.trusted_proxies) {
            return Ok(None);
        }
        self.addresses.add(peer.address.ip(), config.address_connections).map(Some).ok_or(TooMany)
    }
}

async fn accept(listener: TcpListener, is_edge: bool, settings: ConnectionSettings, graceful: Arc<GracefulShutdown>) {
    loop {
        let (stream, address) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of descriptors, most likely: waiting gives connections time to end.
                tracing::warn!(%error, "could not accept a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let Ok(local) = stream.local_addr() else { continue };
        if is_edge && !local_users::connected_from(address, local).await {
            tracing::warn!(peer = %address, "a program of another user has called where only the edge does");
            continue;
        }
        let peer = Peer { address, local, is_edge };
        // Closed at once: what waits for a permit would keep others from being accepted.
        let Ok(of_address) = settings.count(peer) else { continue };
        let Some(permit) = settings.room.enter().await else { return };
        prepare(&stream, settings.idle_limit);
        let activity = Arc::new(Activity::new());
        let service = service(settings.router.clone(), peer, activity.clone());
        let connection = builder(settings.idle_limit).serve_connection(TokioIo::new(stream), service).into_owned();
        let watched = graceful.watch(connection);
        let (mut cut, room, idle_limit) = (settings.cut.subscribe(), settings.room.clone(), settings.idle_limit);
        tokio::spawn(async move {
            let mut watched = pin!(watched);
            tokio::select! {
                ended = &mut watched => {
                    if let Err(error) = ended {
                        tracing::debug!(%error, peer = %address, "connection ended");
                    }
                }
                () = activity.may_end(idle_limit, &room) => tracing::debug!(peer = %address, "silent connection closed"),
                _ = cut.wait_for(|cut| *cut) => {}
            }
            drop((of_address, permit));
        });
    }
}

fn prepare(stream: &TcpStream, idle_limit: Duration) {
    // Answers are small and complete: waiting to fill a packet only delays them.
    let _ = stream.set_nodelay(true);
    // A client that does not take its answer is given up by the system. Where that cannot be set, the answer just
    // waits.
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
    peer: Peer,
    activity: Arc<Activity>,
) -> impl Service<Request<Incoming>, Response = Response<TrackedBody>, Error = Infallible, Future: Send + 'static>
+ Send
+ 'static {
    service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer);
        let busy = Busy::new(activity.clone());
        let answer = router.clone().oneshot(request.map(Body::new));
        async move { Ok(answer.await?.map(|body| TrackedBody::new(body, busy))) }
    })
}

/// Whether a connection is doing something, so that one that does nothing can be closed. The connection library has no
/// limit for a client that connects and sends nothing, nor for one that lets an answer wait on a stream of its own.
struct Activity {
    doing: Mutex<Doing>,
    /// Told when the last request under way has ended.
    turned_quiet: Notify,
}

struct Doing {
    /// Requests under way, and all that there were.
    requests: usize,
    seen: u64,
    /// When the last request ended.
    quiet_since: Instant,
    /// Answers of which something could be taken, and since when it was not.
    untaken: HashMap<u64, Instant>,
}

impl Activity {
    fn new() -> Self {
        let doing = Doing { requests: 0, seen: 0, quiet_since: Instant::now(), untaken: HashMap::new() };
        Self { doing: Mutex::new(doing), turned_quiet: Notify::new() }
    }

    /// Returns once nothing was under way for so long, or an answer was not taken for so long; sooner if there is no room for
    /// others.
    async fn may_end(&self, limit: Duration, room: &Room) {
        loop {
            let quiet = self.idle_since().map_or(Duration::ZERO, |since| since.elapsed());
            let left = limit.saturating_sub(quiet);
            if left.is_zero() {
                return;
            }
            let room_after = self.makes_room_after();
            let may_make_room = room_after.is_some_and(|time| time.is_zero());
            let wait = room_after.filter(|time| !time.is_zero()).map_or(left, |time| left.min(time));
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = self.turned_quiet.notified() => {}
                // A request may have begun since, or there is room by now.
                () = room.wanted.notified(), if may_make_room => {
                    if room.is_wanted() && self.makes_room_after().is_some_and(|time| time.is_zero()) {
                        return;
                    }
                }
            }
        }
    }

    /// The time until it may be closed for another; none while a request is under way.
    fn makes_room_after(&self) -> Option<Duration> {
        let doing = self.doing();
        let least = if doing.seen == 0 { LEAST_QUIET } else { LEAST_QUIET_AFTER_A_REQUEST };
        (doing.requests == 0).then(|| least.saturating_sub(doing.quiet_since.elapsed()))
    }

    /// Quiet, or with an answer that is not taken.
    fn idle_since(&self) -> Option<Instant> {
        let doing = self.doing();
        match doing.requests {
            0 => Some(doing.quiet_since),
            _ => doing.untaken.values().min().copied(),
        }
    }

    fn doing(&self) -> MutexGuard<'_, Doing> {
        self.doing.lock()
    }
}

/// A request under way.
struct Busy {
    activity: Arc<Activity>,
    number: u64,
}

impl Busy {
    fn new(activity: Arc<Activity>) -> Self {
        let mut doing = activity.doing();
        doing.requests += 1;
        doing.seen += 1;
        let number = doing.seen;
        drop(doing);
        Self { activity, number }
    }

    /// There is something that the client can take.
    fn mark_ready(&self) {
        self.activity.doing().untaken.entry(self.number).or_insert_with(Instant::now);
    }

    /// The client has taken all that there was.
    fn mark_taken(&self) {
        self.activity.doing().untaken.remove(&self.number);
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let mut doing = self.activity.doing();
        doing.untaken.remove(&self.number);
        doing.requests -= 1;
        doing.quiet_since = Instant::now();
        if doing.requests == 0 {
            self.activity.turned_quiet.notify_one();
        }
    }
}

/// A body that keeps its request under way until its last byte is taken, and that knows whether the client takes it:
/// the connection polls it only when it can send more.
struct TrackedBody {
    body: Body,
    /// What is left of the last part of the body.
    rest: Bytes,
    busy: Arc<Busy>,
}

impl TrackedBody {
    fn new(body: Body, busy: Busy) -> Self {
        busy.mark_ready();
        Self { body, rest: Bytes::new(), busy: Arc::new(busy) }
    }

    fn part(&mut self) -> Frame<Bytes> {
        let length = self.rest.len().min(PART);
        Frame::data(self.rest.split_to(length))
    }

    /// While the body has no data, the server is what is waited for; once it has some, the client is.
    fn poll_body(&mut self, context: &Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let waker = BodyWaker { waker: context.waker().clone(), busy: Arc::downgrade(&self.busy) };
        Pin::new(&mut self.body).poll_frame(&mut Context::from_waker(&Waker::from(Arc::new(waker))))
    }
}

impl hyper::body::Body for TrackedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.busy.mark_taken();
        if self.rest.is_empty() {
            match self.poll_body(context) {
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(frame) => return Poll::Ready(Some(Ok(frame))),
                },
                other => return other,
            }
        }
        self.busy.mark_ready();
        Poll::Ready(Some(Ok(self.part())))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (rest, body) = (self.rest.len() as u64, self.body.size_hint());
        let mut hint = SizeHint::new();
        hint.set_lower(body.lower().saturating_add(rest));
        if let Some(upper) = body.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint
    }
}

/// Wakes the task that waits for a body, and notes that there is data for it.
struct BodyWaker {
    waker: Waker,
    /// Weak: a waker that is kept for longer than the body does not keep the request under way.
    busy: Weak<Busy>,
}

impl Wake for BodyWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if let Some(busy) = self.busy.upgrade() {
            busy.mark_ready();
        }
        self.waker.wake_by_ref();
    }
}
