//! One visitor's connection, from its first byte to its end.

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::{http1, http2};
use hyper::service::{Service, service_fn};
use hyper::{Request, Response, StatusCode, Version};
use hyper_util::rt::TokioExecutor;
use rustix::net::sockopt::set_tcp_user_timeout;
use tokio::net::TcpStream;

use super::activity::{Activity, IdleVerdict, RequestUnderWay};
use super::permit::ConnectionPermit;
use super::stream::VisitorStream;
use super::tracked_body::TrackedBody;
use super::transport::Transport;
use super::workers::AcceptedConnection;
use crate::request::forward;
use crate::request::visitor::Visitor;
use crate::request::worker::Worker;
use crate::settings::Settings;

/// Requests at once on one HTTP/2 connection.
const STREAMS: u32 = 128;
/// Bytes of an answer that HTTP/2 holds for a visitor who does not take them.
const SEND_BUFFER: usize = 64 * 1024;

/// Why a connection was closed by the edge.
#[derive(Debug, thiserror::Error)]
enum ConnectionEnd {
    #[error("silent for too long")]
    Silent,
    #[error(transparent)]
    Http(#[from] hyper::Error),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// One visitor's connection.
struct Connection {
    worker: Worker,
    visitor: Arc<Visitor>,
    activity: Arc<Activity>,
}

/// Serves a connection as it is, until it ends.
pub async fn serve_plain(worker: Worker, accepted: AcceptedConnection) {
    let AcceptedConnection { stream, peer, permit, .. } = accepted;
    match tcp(&worker, stream) {
        Ok(stream) => {
            let visitor = Visitor::new(peer.ip(), None, &worker.edge.trusted_proxies);
            serve(worker, Transport::plain(stream), visitor, permit).await;
        }
        Err(error) => tracing::warn!(%error, "could not serve a connection"),
    }
}

/// Serves an encrypted connection until it ends, from the handshake on.
pub async fn serve_secured(worker: Worker, accepted: AcceptedConnection) {
    let AcceptedConnection { stream, peer, permit, .. } = accepted;
    let (edge, address) = (&worker.edge, peer.ip());
    let stream = match tcp(&worker, stream) {
        Ok(stream) => stream,
        Err(error) => return tracing::warn!(%error, "could not serve a connection"),
    };
    // In a box: a handshake is short and large, and a connection is long.
    match Box::pin(edge.handshakes.accept(stream, address, edge.settings.head_limit)).await {
        Ok(Some(secured)) => {
            let visitor = Visitor::new(address, Some(secured.certificate), &edge.trusted_proxies);
            serve(worker, Transport::secured(secured.stream), visitor, permit).await;
        }
        Ok(None) => tracing::debug!(%peer, "an authority was shown a proof"),
        Err(error) => tracing::debug!(%error, %peer, "no handshake"),
    }
}

/// Sets the options of a visitor's socket.
fn tcp(worker: &Worker, stream: std::net::TcpStream) -> std::io::Result<TcpStream> {
    let stream = TcpStream::from_std(stream)?;
    // What is written is complete: waiting to fill a packet only delays it.
    let _ = stream.set_nodelay(true);
    // A visitor who does not take an answer is given up by the system. Where that cannot be set, the answer just
    // waits.
    let millis = u32::try_from(worker.edge.settings.idle_limit.as_millis()).unwrap_or(u32::MAX);
    let _ = set_tcp_user_timeout(&stream, millis);
    Ok(stream)
}

async fn serve(worker: Worker, transport: Transport, visitor: Visitor, permit: ConnectionPermit) {
    let visitor = Arc::new(visitor);
    let activity = Arc::new(Activity::new(worker.edge.clone(), visitor.clone(), permit));
    let stream = VisitorStream::new(transport, activity.clone());
    let connection = Arc::new(Connection { worker, visitor, activity });
    if let Err(error) = connection.serve(stream).await {
        let visitor = &connection.visitor;
        tracing::debug!(%error, address = %visitor.address, scheme = %visitor.scheme(), "connection ended");
    }
    // An upgraded one lives on in its tunnel, which the edge does not wait for when it ends.
    connection.activity.settle();
}

impl Connection {
    fn settings(&self) -> &Settings {
        &self.worker.edge.settings
    }

    /// While nothing is under way, all that is left of a connection is this small future: the large ones are boxed and
    /// dropped.
    async fn serve(self: &Arc<Self>, mut stream: VisitorStream) -> Result<(), ConnectionEnd> {
        self.in_time(stream.readable()).await?;
        let learning = tokio::time::timeout(self.settings().head_limit, stream.speaks_http2());
        if learning.await.map_err(|_| ConnectionEnd::Silent)?? {
            return Box::pin(self.serve_http2(stream)).await;
        }
        while let Some(mut resting) = Box::pin(self.serve_http1(stream)).await? {
            self.in_time(resting.readable()).await?;
            stream = resting;
        }
        Ok(())
    }

    /// Waits for the visitor to say something.
    async fn in_time(&self, something: impl Future<Output = std::io::Result<()>>) -> Result<(), ConnectionEnd> {
        let deadline = self.activity.quiet_since() + self.settings().idle_limit;
        Ok(tokio::time::timeout_at(deadline.into(), something).await.map_err(|_| ConnectionEnd::Silent)??)
    }

    /// Serves until the connection ends, or until it is to rest.
    async fn serve_http1(self: &Arc<Self>, stream: VisitorStream) -> Result<Option<VisitorStream>, ConnectionEnd> {
        let mut builder = http1::Builder::new();
        // Silence is watched here, without a timer for every request.
        builder.header_read_timeout(None).max_buf_size(self.settings().head_bytes);
        let mut connection = builder.serve_connection(stream, service(self.clone())).with_upgrades();
        let mut alarm = pin!(tokio::time::sleep(self.activity.first_look()));
        let is_resting = std::future::poll_fn(|context| {
            if let Poll::Ready(ended) = Pin::new(&mut connection).poll(context) {
                return Poll::Ready(ended.map(|()| false).map_err(ConnectionEnd::Http));
            }
            self.activity.settle();
            while alarm.as_mut().poll(context).is_ready() {
                match self.activity.verdict() {
                    IdleVerdict::Wait(until) => alarm.as_mut().reset(until.into()),
                    IdleVerdict::Rest => return Poll::Ready(Ok(true)),
                    IdleVerdict::Close => return Poll::Ready(Err(ConnectionEnd::Silent)),
                }
            }
            Poll::Pending
        });
        match is_resting.await? {
            true => Ok(connection.into_parts().map(|parts| parts.io.unread(parts.read_buf))),
            false => Ok(None),
        }
    }

    async fn serve_http2(self: &Arc<Self>, stream: VisitorStream) -> Result<(), ConnectionEnd> {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder
            .max_concurrent_streams(STREAMS)
            .max_header_list_size(u32::try_from(self.settings().head_bytes).unwrap_or(u32::MAX))
            .max_send_buf_size(SEND_BUFFER);
        let mut connection = pin!(builder.serve_connection(stream, service(self.clone())));
        let mut alarm = pin!(tokio::time::sleep(self.activity.first_look()));
        let mut is_leaving = false;
        std::future::poll_fn(|context| {
            if let Poll::Ready(ended) = connection.as_mut().poll(context) {
                return Poll::Ready(ended.map_err(ConnectionEnd::Http));
            }
            // Only now, with a request at hand: one that is on its way to an idle connection would be lost.
            if !is_leaving && self.worker.edge.is_closing() {
                is_leaving = true;
                connection.as_mut().graceful_shutdown();
                context.waker().wake_by_ref();
            }
            self.activity.settle();
            while alarm.as_mut().poll(context).is_ready() {
                match self.activity.verdict_http2() {
                    IdleVerdict::Wait(until) => alarm.as_mut().reset(until.into()),
                    IdleVerdict::Rest | IdleVerdict::Close => return Poll::Ready(Err(ConnectionEnd::Silent)),
                }
            }
            Poll::Pending
        })
        .await
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<TrackedBody> {
        let under_way = RequestUnderWay::new(self.activity.clone());
        let is_http2 = request.version() == Version::HTTP_2;
        let mut answer = forward::answer(&self.worker, &self.visitor, request).await;
        if !is_http2 && self.worker.edge.is_closing() && answer.status() != StatusCode::SWITCHING_PROTOCOLS {
            answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        answer.map(|body| TrackedBody::new(body, under_way, is_http2))
    }
}

fn service(
    connection: Arc<Connection>,
) -> impl Service<Request<Incoming>, Response = Response<TrackedBody>, Error = Infallible, Future: Send + 'static>
+ Send
+ 'static {
    service_fn(move |request| {
        let connection = connection.clone();
        async move { Ok(connection.answer(request).await) }
    })
}
