//! Calling an edge.

use std::io;
use std::path::Path;
use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use super::lines::{LONGEST_LINE, line};
use super::{Call, Done, Drain, Hello, Message, Refusal, Reply, VERSION, socket};
use crate::edge::Applied;
use crate::routes::RouteSet;
use crate::targets::Drained;
use crate::targets::stats::Stats;

/// How long a call may take: all but a drain are answered at once, or after a hand-over that is under way.
const CALL_LIMIT: Duration = Duration::from_secs(30);

pub struct Client {
    stream: BufReader<UnixStream>,
}

#[derive(Debug, thiserror::Error)]
pub enum CallError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("the edge cannot be reached: {0}")]
    Unreachable(#[from] io::Error),
    #[error("the edge's answer makes no sense: {0}")]
    NotUnderstood(#[from] serde_json::Error),
}

impl Client {
    pub async fn connect(data_dir: &Path) -> io::Result<Self> {
        let stream = tokio::time::timeout(CALL_LIMIT, UnixStream::connect(socket(data_dir))).await??;
        Ok(Self::new(stream))
    }

    pub fn new(stream: UnixStream) -> Self {
        Self { stream: BufReader::new(stream) }
    }

    pub async fn hello(&mut self) -> Result<Hello, CallError> {
        self.call(&Call::Hello {}, CALL_LIMIT).await
    }

    pub async fn apply(&mut self, routes: RouteSet) -> Result<Applied, CallError> {
        self.call(&Call::Apply(routes), CALL_LIMIT).await
    }

    pub async fn drain(&mut self, drain: Drain) -> Result<Drained, CallError> {
        let limit = CALL_LIMIT + Duration::from_millis(drain.deadline_ms);
        self.call(&Call::Drain(drain), limit).await
    }

    pub async fn stats(&mut self) -> Result<Stats, CallError> {
        self.call(&Call::Stats {}, CALL_LIMIT).await
    }

    /// Returns as soon as the edge has heard it.
    pub async fn stop(&mut self) -> Result<Done, CallError> {
        self.call(&Call::Stop {}, CALL_LIMIT).await
    }

    /// Whether the edge has ended the connection. Only between calls: what can be read then is its end.
    pub(crate) fn is_closed(&self) -> bool {
        let mut byte = [0];
        let read = self.stream.get_ref().try_read(&mut byte);
        !read.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Returns when the edge ends the connection.
    pub async fn closed(&mut self) {
        let mut byte = [0];
        let _ = self.stream.read(&mut byte).await;
    }

    pub(crate) async fn call<T: DeserializeOwned>(&mut self, call: &Call, limit: Duration) -> Result<T, CallError> {
        let line = line(&Message { version: VERSION, call })?;
        let exchange = async {
            self.stream.get_mut().write_all(&line).await?;
            self.read_line().await
        };
        let answer = tokio::time::timeout(limit, exchange).await.map_err(io::Error::from)??;
        match serde_json::from_slice(&answer)? {
            Reply::Ok(answer) => Ok(answer),
            Reply::Error(refusal) => Err(refusal.into()),
        }
    }

    async fn read_line(&mut self) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        (&mut self.stream).take(LONGEST_LINE as u64).read_until(b'\n', &mut line).await?;
        if line.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line)
    }
}
