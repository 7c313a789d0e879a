//! A request over a connection, and its answer within a bound.

use std::error::Error;
use std::io;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc::Sender;
use tokio::time::Instant;

use crate::tls::tls_reason;
use crate::{Answer, CallError};

/// For the head of an answer, and for what is read ahead of its body.
const READ_BUFFER: usize = 64 << 10;
/// How long the beginning of a body is waited for when the status is known.
const BEGINNING_WAIT: Duration = Duration::from_secs(1);

/// How the body of an answer is taken.
#[derive(Clone, Copy)]
pub(crate) enum Take<'a> {
    /// As a whole; one that is too long is an error.
    Whole,
    /// How it begins; what is too long is not read.
    Beginning,
    /// In pieces, if the status is 200; otherwise not at all.
    Pieces(&'a Sender<Bytes>),
}

/// The connection is polled here and nowhere else, so it ends with the future that a caller holds.
pub(crate) async fn exchange(
    host: &str,
    stream: impl AsyncRead + AsyncWrite + Unpin,
    request: Request<Full<Bytes>>,
    most_bytes: usize,
    take: Take<'_>,
) -> Result<Answer, CallError> {
    let handshake = http1::Builder::new().max_buf_size(READ_BUFFER).handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.map_err(|error| sorted(host, &error))?;
    let answer = async {
        let response = sender.send_request(request).await.map_err(|error| sorted(host, &error))?;
        let (head, body) = response.into_parts();
        let body = match take {
            Take::Whole => whole(host, body, most_bytes).await?,
            Take::Beginning => beginning(body, most_bytes).await,
            Take::Pieces(pieces) => {
                if head.status == StatusCode::OK {
                    pass_on(host, body, most_bytes, pieces).await?;
                }
                Bytes::new()
            }
        };
        Ok(Answer { status: head.status, headers: head.headers, body })
    };
    tokio::pin!(answer);
    tokio::select! {
        biased;
        answer = &mut answer => return answer,
        // Its error is the answer's error too.
        _ = connection => {}
    }
    answer.await
}

async fn whole(host: &str, body: Incoming, most_bytes: usize) -> Result<Bytes, CallError> {
    let (mut bounded, mut read) = (Bounded::new(host, body, most_bytes)?, BytesMut::new());
    while let Some(bytes) = bounded.next().await? {
        read.extend_from_slice(&bytes);
    }
    Ok(read.freeze())
}

/// The status has said all that matters, so a body that breaks off or drips begins like any other.
async fn beginning(mut body: Incoming, most_bytes: usize) -> Bytes {
    let (mut read, until) = (BytesMut::new(), Instant::now() + BEGINNING_WAIT);
    while read.len() < most_bytes
        && let Ok(Some(Ok(frame))) = tokio::time::timeout_at(until, body.frame()).await
    {
        // What is not data is a trailer.
        let Ok(bytes) = frame.into_data() else { continue };
        read.extend_from_slice(&bytes[..bytes.len().min(most_bytes - read.len())]);
    }
    read.freeze()
}

/// Until the end, or until the caller takes no more pieces.
async fn pass_on(host: &str, body: Incoming, most_bytes: usize, pieces: &Sender<Bytes>) -> Result<(), CallError> {
    let mut bounded = Bounded::new(host, body, most_bytes)?;
    while let Some(bytes) = bounded.next().await? {
        if pieces.send(bytes).await.is_err() {
            break;
        }
    }
    Ok(())
}

/// A body that may have so many bytes.
struct Bounded<'a> {
    host: &'a str,
    body: Incoming,
    most: usize,
    left: usize,
}

impl<'a> Bounded<'a> {
    fn new(host: &'a str, body: Incoming, most: usize) -> Result<Self, CallError> {
        let bounded = Self { host, body, most, left: most };
        if bounded.body.size_hint().lower() > most as u64 { Err(bounded.too_large()) } else { Ok(bounded) }
    }

    fn too_large(&self) -> CallError {
        CallError::TooLarge { host: self.host.to_owned(), limit: self.most }
    }

    async fn next(&mut self) -> Result<Option<Bytes>, CallError> {
        while let Some(frame) = self.body.frame().await {
            // What is not data is a trailer.
            let Ok(bytes) = frame.map_err(|error| sorted(self.host, &error))?.into_data() else { continue };
            self.left = self.left.checked_sub(bytes.len()).ok_or_else(|| self.too_large())?;
            return Ok(Some(bytes));
        }
        Ok(None)
    }
}

/// hyper has an error of its own for heads that it cannot read; about the rest, the errors below it tell.
fn sorted(host: &str, error: &hyper::Error) -> CallError {
    let host = host.to_owned();
    let mut below = std::iter::successors(error.source(), |&cause| cause.source());
    let io = below.find_map(|cause| cause.downcast_ref::<io::Error>());
    if let Some(reason) = io.and_then(tls_reason) {
        return CallError::TlsFailed { host, reason };
    }
    let is_malformed = |io: &io::Error| matches!(io.kind(), io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput);
    if error.is_parse() || io.is_some_and(is_malformed) || server_spoke_first(error) {
        CallError::BadAnswer { host }
    } else {
        CallError::ClosedEarly { host }
    }
}

/// Whether bytes were there before the request was written. hyper cancels the request then, and for the reason it has an
/// error without a name or a cause.
fn server_spoke_first(error: &hyper::Error) -> bool {
    let reason = error.source().and_then(|cause| cause.downcast_ref::<hyper::Error>());
    error.is_canceled() && reason.is_some_and(|reason| !reason.is_incomplete_message() && reason.source().is_none())
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::*;

    /// What becomes of a request to a server that has sent this before the request is written.
    async fn after_greeting(greeting: &str) -> CallError {
        let (mut server, client) = tokio::io::duplex(1024);
        server.write_all(greeting.as_bytes()).await.unwrap();
        if greeting.is_empty() {
            drop(server);
        }
        let request = Request::new(Full::default());
        exchange("a.org", client, request, 100, Take::Whole).await.unwrap_err()
    }

    #[tokio::test]
    async fn a_server_that_speaks_first_does_not_speak_http() {
        assert_eq!(
            after_greeting("SSH-2.0-OpenSSH_9.2p1\r\n").await,
            CallError::BadAnswer { host: "a.org".to_owned() }
        );
    }

    #[tokio::test]
    async fn a_server_that_closes_before_the_request_has_closed_early() {
        assert_eq!(after_greeting("").await, CallError::ClosedEarly { host: "a.org".to_owned() });
    }
}
