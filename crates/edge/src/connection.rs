//! One visitor's connection: what it may do, how long it may be silent, and how it ends.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::header::{CONNECTION, HeaderValue};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rustix::net::sockopt::set_tcp_user_timeout;
use tokio::net::TcpStream;

use crate::body::{Body, BodyError};
use crate::edge::{Edge, Settings};
use crate::forward::{self, Worker};
use crate::headers::Origin;
use crate::listen::Place;

/// Requests at once on one HTTP/2 connection.
const STREAMS: u32 = 128;
/// Bytes of an answer that HTTP/2 holds for a visitor who does not take them.
const SEND_BUFFER: usize = 64 * 1024;

/// Who is at the other end.
pub struct Visitor {
    pub address: IpAddr,
    edge: Arc<Edge>,
    origin: Mutex<Origin>,
    activity: Activity,
    _place: Place,
}

impl Visitor {
    fn new(edge: Arc<Edge>, peer: SocketAddr, place: Place) -> Self {
        let address = peer.ip().to_canonical();
        let is_trusted = edge.settings.trusted_proxies.contains(&address);
        let origin = Mutex::new(Origin::new(address, is_trusted));
        Self { address, edge, origin, activity: Activity::new(), _place: place }
    }

    pub fn origin(&self) -> MutexGuard<'_, Origin> {
        self.origin.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Visitor {
    fn drop(&mut self) {
        if self.activity.is_busy.load(Ordering::Relaxed) {
            self.edge.busy.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// Serves one connection until it ends.
pub async fn serve(worker: Worker, stream: TcpStream, peer: SocketAddr, place: Place) {
    let edge = worker.edge.clone();
    prepare(&stream, edge.settings.idle_limit);
    let visitor = Arc::new(Visitor::new(edge.clone(), peer, place));
    let io = Watched { inner: TokioIo::new(stream), visitor: visitor.clone() };
    let answering = visitor.clone();
    let service = service_fn(move |request| {
        let (worker, visitor) = (worker.clone(), answering.clone());
        async move { Ok::<_, Infallible>(answer(&worker, &visitor, request).await) }
    });
    let builder = builder(&edge.settings);
    let mut connection = pin!(builder.serve_connection_with_upgrades(io, service));
    let mut alarm = pin!(tokio::time::sleep_until(visitor.activity.deadline(&edge.settings).into()));
    let mut is_leaving = false;
    let ended = std::future::poll_fn(|context| {
        if let Poll::Ready(ended) = connection.as_mut().poll(context) {
            return Poll::Ready(ended.map_err(|error| error.to_string()));
        }
        if !is_leaving && edge.is_closing() && visitor.activity.is_http2.load(Ordering::Relaxed) {
            is_leaving = true;
            connection.as_mut().graceful_shutdown();
            context.waker().wake_by_ref();
        }
        visitor.rest();
        loop {
            let deadline = visitor.activity.deadline(&edge.settings);
            if alarm.deadline() > deadline.into() {
                alarm.as_mut().reset(deadline.into());
            }
            ready!(alarm.as_mut().poll(context));
            if deadline <= Instant::now() {
                return Poll::Ready(Err("silent for too long".to_owned()));
            }
            alarm.as_mut().reset(deadline.into());
        }
    });
    if let Err(error) = ended.await {
        tracing::debug!(error, %peer, "connection ended");
    }
}

fn prepare(stream: &TcpStream, idle_limit: Duration) {
    // What is written is complete: waiting to fill a packet only delays it.
    let _ = stream.set_nodelay(true);
    // A visitor who does not take an answer is given up by the system. Where that cannot be set, the answer just waits.
    let millis = u32::try_from(idle_limit.as_millis()).unwrap_or(u32::MAX);
    let _ = set_tcp_user_timeout(stream, millis);
}

fn builder(settings: &Settings) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    // Silence is watched here, for both versions alike and without a timer for every request.
    builder.http1().header_read_timeout(None).max_buf_size(settings.head_bytes);
    let head_bytes = u32::try_from(settings.head_bytes).unwrap_or(u32::MAX);
    builder.http2().max_concurrent_streams(STREAMS).max_header_list_size(head_bytes).max_send_buf_size(SEND_BUFFER);
    builder
}

async fn answer(worker: &Worker, visitor: &Arc<Visitor>, request: Request<Incoming>) -> Response<Tracked> {
    let busy = Busy::new(visitor.clone());
    let version = request.version();
    if version == Version::HTTP_2 {
        visitor.activity.is_http2.store(true, Ordering::Relaxed);
    }
    let mut answer = forward::answer(worker, visitor, request).await;
    if worker.edge.is_closing() && version != Version::HTTP_2 && answer.status() != StatusCode::SWITCHING_PROTOCOLS {
        answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    answer.map(|body| Tracked { body, is_offered: false, busy })
}

/// What a connection is doing, so that one that does nothing can be closed.
struct Activity {
    started: Instant,
    /// Requests whose answers are not complete.
    requests: AtomicU32,
    /// Those of them of which a part is ready that an HTTP/2 visitor does not take. Over HTTP/1 the system watches this.
    offered: AtomicU32,
    /// When such a part was last taken.
    taken: AtomicU64,
    /// When the first byte of a head came that is not complete yet, in milliseconds after `started`; 0 for none.
    head_since: AtomicU64,
    /// When the last answer was complete.
    quiet_since: AtomicU64,
    is_http2: AtomicBool,
    /// Whether the visitor takes no more bytes for now.
    is_blocked: AtomicBool,
    /// Whether the edge waits for this connection when it stops.
    is_busy: AtomicBool,
}

impl Activity {
    fn new() -> Self {
        Self {
            started: Instant::now(),
            requests: AtomicU32::new(0),
            offered: AtomicU32::new(0),
            taken: AtomicU64::new(0),
            head_since: AtomicU64::new(0),
            quiet_since: AtomicU64::new(0),
            is_http2: AtomicBool::new(false),
            is_blocked: AtomicBool::new(false),
            is_busy: AtomicBool::new(false),
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Until when the connection may stay as it is. A request under way has limits of its own.
    fn deadline(&self, settings: &Settings) -> Instant {
        let requests = self.requests.load(Ordering::Relaxed);
        if requests > 0 {
            // Where all of them wait for the visitor, the silence is the visitor's.
            let is_ours = self.offered.load(Ordering::Relaxed) < requests;
            let taken = self.started + Duration::from_millis(self.taken.load(Ordering::Relaxed));
            return if is_ours { Instant::now() } else { taken } + settings.idle_limit;
        }
        // The end of an answer is still on its way to a slow visitor; the system gives up one who takes nothing.
        if self.is_blocked.load(Ordering::Relaxed) {
            return Instant::now() + settings.idle_limit;
        }
        let head_since = self.head_since.load(Ordering::Relaxed);
        if head_since > 0 && !self.is_http2.load(Ordering::Relaxed) {
            return self.started + Duration::from_millis(head_since) + settings.head_limit;
        }
        self.started + Duration::from_millis(self.quiet_since.load(Ordering::Relaxed)) + settings.idle_limit
    }

    fn bytes_came(&self) {
        if self.requests.load(Ordering::Relaxed) == 0 && self.head_since.load(Ordering::Relaxed) == 0 {
            self.head_since.store(self.now().max(1), Ordering::Relaxed);
        }
    }
}

/// A request under way.
pub struct Busy(Arc<Visitor>);

impl Busy {
    pub fn new(visitor: Arc<Visitor>) -> Self {
        let activity = &visitor.activity;
        activity.requests.fetch_add(1, Ordering::Relaxed);
        activity.head_since.store(0, Ordering::Relaxed);
        if !activity.is_busy.swap(true, Ordering::Relaxed) {
            visitor.edge.busy.fetch_add(1, Ordering::AcqRel);
        }
        Self(visitor)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let activity = &self.0.activity;
        activity.quiet_since.store(activity.now(), Ordering::Relaxed);
        activity.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Visitor {
    /// Notes that nothing is under way any more, once the last byte has been handed to the system.
    fn rest(&self) {
        let activity = &self.activity;
        let is_done = activity.requests.load(Ordering::Relaxed) == 0 && !activity.is_blocked.load(Ordering::Relaxed);
        if is_done && activity.is_busy.swap(false, Ordering::Relaxed) {
            self.edge.busy.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// A body that keeps its request under way until its last byte is taken.
pub struct Tracked {
    body: Body,
    /// A part was given and the next is not asked for yet.
    is_offered: bool,
    busy: Busy,
}

impl Tracked {
    fn offer(&mut self, is_offered: bool) {
        let activity = &self.busy.0.activity;
        if is_offered && activity.is_http2.load(Ordering::Relaxed) {
            activity.taken.store(activity.now(), Ordering::Relaxed);
            if !self.is_offered {
                self.is_offered = true;
                activity.offered.fetch_add(1, Ordering::Relaxed);
            }
        } else if self.is_offered {
            self.is_offered = false;
            activity.offered.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        self.offer(false);
    }
}

impl hyper::body::Body for Tracked {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        self.offer(matches!(frame, Poll::Ready(Some(Ok(_)))));
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The connection itself, noting what goes through it.
struct Watched {
    inner: TokioIo<TcpStream>,
    visitor: Arc<Visitor>,
}

impl Watched {
    fn note<T>(&self, written: Poll<T>) -> Poll<T> {
        self.visitor.activity.is_blocked.store(written.is_pending(), Ordering::Relaxed);
        written
    }
}

impl Read for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        self.visitor.activity.bytes_came();
        Poll::Ready(Ok(()))
    }
}

impl Write for Watched {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.note(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(context, buffers);
        self.note(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
