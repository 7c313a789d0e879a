//! Connections that have changed their protocol, such as WebSocket: bytes both ways until one side ends them.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::exchange::Exchange;
use super::traffic::Traffic;
use crate::targets::counters::Cause;

/// How long both sides may take to hand over their connections.
const UPGRADE_LIMIT: Duration = Duration::from_secs(10);

/// Carries bytes between the two until both have ended or nothing moves for `idle_limit`.
pub async fn run(visitor: OnUpgrade, target: OnUpgrade, idle_limit: Duration, exchange: Exchange) {
    let both = async { tokio::try_join!(visitor, target) };
    let Ok(Ok((visitor, target))) = tokio::time::timeout(UPGRADE_LIMIT, both).await else { return };
    let traffic = Arc::new(Traffic::new());
    let mut visitor = TokioIo::new(visitor);
    let mut target = Watched { inner: TokioIo::new(target), traffic: traffic.clone() };
    // Declared last and so dropped first: it is counted to its end before the connection is closed.
    let mut exchange = exchange;
    exchange.upgraded(traffic.clone());
    let copied = tokio::select! {
        copied = tokio::io::copy_bidirectional(&mut visitor, &mut target) => copied,
        () = traffic.still_for(idle_limit) => Err(io::ErrorKind::TimedOut.into()),
    };
    match copied {
        Ok(_) => exchange.complete(),
        Err(error) if error.kind() == io::ErrorKind::TimedOut => exchange.failed(Cause::Slow),
        // A side that breaks off an upgraded connection has ended it; there is no answer that could be incomplete.
        Err(_) => exchange.complete(),
    }
}

/// The target's side, through which all bytes of both directions go.
struct Watched<T> {
    inner: T,
    traffic: Arc<Traffic>,
}

impl<T: AsyncRead + Unpin> AsyncRead for Watched<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        self.traffic.was_read(buffer.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Watched<T> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.inner).poll_write(context, bytes))?;
        self.traffic.was_written(written);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
