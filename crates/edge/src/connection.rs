//! One visitor's connection, from its first byte to its end.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::{http1, http2};
use hyper::service::{Service, service_fn};
use hyper::{Request, Response, StatusCode, Version};
use hyper_util::rt::TokioExecutor;
use rustix::net::sockopt::set_tcp_user_timeout;
use tokio::net::TcpStream;

use crate::activity::{Activity, Busy, Tracked, Verdict};
use crate::edge::Edge;
use crate::forward::{self, Worker};
use crate::headers::Origin;
use crate::listen::Place;
use crate::visitors_stream::VisitorsStream;

/// Requests at once on one HTTP/2 connection.
const STREAMS: u32 = 128;
/// Bytes of an answer that HTTP/2 holds for a visitor who does not take them.
const SEND_BUFFER: usize = 64 * 1024;

/// Who is at the other end.
pub struct Visitor {
    pub address: IpAddr,
    pub edge: Arc<Edge>,
    pub activity: Activity,
    origin: Mutex<Origin>,
    _place: Place,
}

impl Visitor {
    fn new(edge: Arc<Edge>, peer: SocketAddr, place: Place) -> Self {
        let address = peer.ip().to_canonical();
        let origin = Mutex::new(Origin::new(address, &edge.trusted_proxies));
        Self { address, edge, activity: Activity::new(), origin, _place: place }
    }

    pub fn origin(&self) -> MutexGuard<'_, Origin> {
        self.origin.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settle(&self) {
        if self.activity.settles() {
            self.edge.busy.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

impl Drop for Visitor {
    fn drop(&mut self) {
        if self.activity.is_busy() {
            self.edge.busy.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// Why a connection was closed by us.
#[derive(Debug, thiserror::Error)]
enum Ended {
    #[error("silent for too long")]
    Silent,
    #[error(transparent)]
    Http(#[from] hyper::Error),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Serves one connection until it ends.
pub async fn serve(worker: Worker, stream: TcpStream, peer: SocketAddr, place: Place) {
    let edge = &worker.edge;
    prepare(&stream, edge.settings.idle_limit);
    let visitor = Arc::new(Visitor::new(edge.clone(), peer, place));
    let stream = VisitorsStream::new(stream, visitor.clone());
    if let Err(error) = serve_any(&worker, &visitor, stream).await {
        tracing::debug!(%error, %peer, "connection ended");
    }
    // An upgraded one lives on elsewhere, and is not at work any more for those who wait for that.
    visitor.settle();
}

fn prepare(stream: &TcpStream, idle_limit: Duration) {
    // What is written is complete: waiting to fill a packet only delays it.
    let _ = stream.set_nodelay(true);
    // A visitor who does not take an answer is given up by the system. Where that cannot be set, the answer just waits.
    let millis = u32::try_from(idle_limit.as_millis()).unwrap_or(u32::MAX);
    let _ = set_tcp_user_timeout(stream, millis);
}

/// While nothing is under way, all that is left of a connection is this small future: the large ones are boxed and dropped.
async fn serve_any(worker: &Worker, visitor: &Arc<Visitor>, mut stream: VisitorsStream) -> Result<(), Ended> {
    in_time(visitor, stream.readable()).await?;
    let learning = tokio::time::timeout(visitor.edge.settings.head_limit, stream.speaks_http2());
    if learning.await.map_err(|_| Ended::Silent)?? {
        return Box::pin(serve_http2(worker, visitor, stream)).await;
    }
    while let Some(resting) = Box::pin(serve_http1(worker, visitor, stream)).await? {
        in_time(visitor, resting.readable()).await?;
        stream = resting;
    }
    Ok(())
}

/// Waits for the visitor to say something.
async fn in_time(visitor: &Visitor, something: impl Future<Output = std::io::Result<()>>) -> Result<(), Ended> {
    let deadline = visitor.activity.quiet_since() + visitor.edge.settings.idle_limit;
    Ok(tokio::time::timeout_at(deadline.into(), something).await.map_err(|_| Ended::Silent)??)
}

/// Serves until the connection ends, or until it is to rest.
async fn serve_http1(
    worker: &Worker,
    visitor: &Arc<Visitor>,
    stream: VisitorsStream,
) -> Result<Option<VisitorsStream>, Ended> {
    let settings = &worker.edge.settings;
    let mut builder = http1::Builder::new();
    // Silence is watched here, without a timer for every request.
    builder.header_read_timeout(None).max_buf_size(settings.head_bytes);
    let service = service(worker.clone(), visitor.clone());
    let mut connection = builder.serve_connection(stream, service).with_upgrades();
    let mut alarm = pin!(tokio::time::sleep(Activity::first_look(settings)));
    let is_resting = std::future::poll_fn(|context| {
        if let Poll::Ready(ended) = Pin::new(&mut connection).poll(context) {
            return Poll::Ready(ended.map(|()| false).map_err(Ended::Http));
        }
        visitor.settle();
        while alarm.as_mut().poll(context).is_ready() {
            match visitor.activity.verdict(settings) {
                Verdict::Wait(until) => alarm.as_mut().reset(until.into()),
                Verdict::Rest => return Poll::Ready(Ok(true)),
                Verdict::Close => return Poll::Ready(Err(Ended::Silent)),
            }
        }
        Poll::Pending
    });
    match is_resting.await? {
        true => Ok(connection.into_parts().map(|parts| parts.io.unread(parts.read_buf))),
        false => Ok(None),
    }
}

async fn serve_http2(worker: &Worker, visitor: &Arc<Visitor>, stream: VisitorsStream) -> Result<(), Ended> {
    let settings = &worker.edge.settings;
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(u32::try_from(settings.head_bytes).unwrap_or(u32::MAX))
        .max_send_buf_size(SEND_BUFFER);
    let mut connection = pin!(builder.serve_connection(stream, service(worker.clone(), visitor.clone())));
    let mut alarm = pin!(tokio::time::sleep(Activity::first_look(settings)));
    let mut is_leaving = false;
    std::future::poll_fn(|context| {
        if let Poll::Ready(ended) = connection.as_mut().poll(context) {
            return Poll::Ready(ended.map_err(Ended::Http));
        }
        // Only now, with a request at hand: one that is on its way to an idle connection would be lost.
        if !is_leaving && worker.edge.is_closing() {
            is_leaving = true;
            connection.as_mut().graceful_shutdown();
            context.waker().wake_by_ref();
        }
        visitor.settle();
        while alarm.as_mut().poll(context).is_ready() {
            match visitor.activity.verdict_http2(settings) {
                Verdict::Wait(until) => alarm.as_mut().reset(until.into()),
                Verdict::Rest | Verdict::Close => return Poll::Ready(Err(Ended::Silent)),
            }
        }
        Poll::Pending
    })
    .await
}

fn service(
    worker: Worker,
    visitor: Arc<Visitor>,
) -> impl Service<Request<Incoming>, Response = Response<Tracked>, Error = Infallible, Future: Send + 'static> + Send + 'static
{
    service_fn(move |request| {
        let (worker, visitor) = (worker.clone(), visitor.clone());
        async move { Ok(answer(&worker, &visitor, request).await) }
    })
}

async fn answer(worker: &Worker, visitor: &Arc<Visitor>, request: Request<Incoming>) -> Response<Tracked> {
    let busy = Busy::new(visitor.clone());
    let is_http2 = request.version() == Version::HTTP_2;
    let mut answer = forward::answer(worker, visitor, request).await;
    if !is_http2 && worker.edge.is_closing() && answer.status() != StatusCode::SWITCHING_PROTOCOLS {
        answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    answer.map(|body| Tracked::new(body, busy, is_http2))
}
