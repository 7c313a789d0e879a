//! One connection to the engine's socket for one request, and the answer that comes back over it.

use std::io;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::{Error, Result};

/// The longest JSON text that is taken from the engine at once.
const LONGEST_JSON: usize = 16 << 20;

/// A request's body: all at once, or as it is made.
pub(crate) enum RequestBody {
    Whole(Option<Bytes>),
    Stream(mpsc::Receiver<io::Result<Bytes>>),
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut *self {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Stream(chunks) => chunks.poll_recv(cx).map(|chunk| chunk.map(|chunk| chunk.map(Frame::data))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        match self {
            Self::Whole(bytes) => hyper::body::SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Self::Stream(_) => hyper::body::SizeHint::default(),
        }
    }
}

/// The engine ends what it is doing for a request when the connection closes, so the connection ends with its owner.
pub(crate) struct Task(JoinHandle<()>);

impl Task {
    pub(crate) fn spawn(work: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(work))
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

pub(crate) async fn send(socket: &Path, request: Request<RequestBody>) -> Result<(Response<Incoming>, Task)> {
    let stream = UnixStream::connect(socket)
        .await
        .map_err(|error| Error::Unreachable { message: format!("{}: {error}", socket.display()) })?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| Error::unreachable(&error))?;
    let task = Task::spawn(async move {
        // Its error is the request's error too.
        let _ = connection.with_upgrades().await;
    });
    let response = sender.send_request(request).await.map_err(|error| Error::unreachable(&error))?;
    Ok((response, task))
}

/// The body of an answer, read piece by piece.
pub(crate) struct EngineAnswer {
    body: Incoming,
    unread: BytesMut,
    _connection: Task,
}

impl EngineAnswer {
    pub(crate) fn new(body: Incoming, connection: Task) -> Self {
        Self { body, unread: BytesMut::new(), _connection: connection }
    }

    /// The next bytes as they come; none at the end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>> {
        while let Some(frame) = self.body.frame().await {
            let frame = frame.map_err(|error| Error::unreachable(&error))?;
            if let Ok(bytes) = frame.into_data() {
                return Ok(Some(bytes));
            }
        }
        Ok(None)
    }

    /// The next of the values that the engine sends one to a line; none at the end. A caller may stop waiting and come
    /// back.
    pub(crate) async fn next_json<T: DeserializeOwned>(&mut self) -> Result<Option<T>> {
        loop {
            while let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line = self.unread.split_to(end + 1);
                if !line.trim_ascii().is_empty() {
                    return serde_json::from_slice(&line).map(Some).map_err(Error::unreadable);
                }
            }
            match self.chunk().await? {
                Some(_) if self.unread.len() > LONGEST_JSON => return Err(Error::unreadable("a line is too long")),
                Some(bytes) => self.unread.extend_from_slice(&bytes),
                None if self.unread.trim_ascii().is_empty() => return Ok(None),
                None => {
                    let rest = std::mem::take(&mut self.unread);
                    return serde_json::from_slice(&rest).map(Some).map_err(Error::unreadable);
                }
            }
        }
    }

    pub(crate) async fn whole(mut self) -> Result<BytesMut> {
        while let Some(bytes) = self.chunk().await? {
            if self.unread.len() + bytes.len() > LONGEST_JSON {
                return Err(Error::unreadable("it is too long"));
            }
            self.unread.extend_from_slice(&bytes);
        }
        Ok(self.unread)
    }
}
