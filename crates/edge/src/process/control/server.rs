//! Answering calls.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;

use super::lines::{read_call, value, write_reply};
use super::{Call, Code, Done, Hello, Refusal};
use crate::process::apply::apply;
use crate::process::running::{Process, TakeOverAsked};

/// Lines that are read at once; more wait. Callers that are silent, or wait for a reply, keep no other caller waiting.
const MOST_LINES: usize = 64;
/// How long a line may take once it has begun.
const LINE_LIMIT: Duration = Duration::from_secs(10);
/// The longest that a drain may wait.
const LONGEST_DRAIN: Duration = Duration::from_secs(86_400);

pub async fn accept(process: Arc<Process>, listener: Arc<UnixListener>) {
    let lines = Arc::new(Semaphore::new(MOST_LINES));
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let (process, lines) = (process.clone(), lines.clone());
                tokio::spawn(async move {
                    if let Err(error) = serve(&process, stream, &lines).await {
                        tracing::debug!(%error, "a caller of the control socket was lost");
                    }
                });
            }
            Err(error) => {
                tracing::warn!(%error, "could not accept a caller of the control socket");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Answers one caller until it ends the connection, or until another process has taken over.
async fn serve(process: &Process, stream: UnixStream, lines: &Semaphore) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut over = process.handed_over();
    loop {
        let call = tokio::select! {
            call = next(&mut stream, lines) => call?,
            _ = over.wait_for(|over| *over) => return Ok(()),
        };
        // Both can be true at once. A call that came after the hand-over is for the new process: the caller finds the
        // connection closed and connects again.
        if *over.borrow() {
            return Ok(());
        }
        let Some(call) = call else { return Ok(()) };
        let reply = match call {
            Ok(Call::TakeOver(successor)) => {
                process.ask_for_take_over(TakeOverAsked { stream, successor });
                return Ok(());
            }
            Ok(call) => answer(process, call).await,
            Err(refusal) => Err(refusal),
        };
        write_reply(&mut stream, reply).await?;
    }
}

/// The next call. A caller may be silent for ever, but not in the middle of a line.
async fn next(stream: &mut BufReader<UnixStream>, lines: &Semaphore) -> io::Result<Option<Result<Call, Refusal>>> {
    if stream.fill_buf().await?.is_empty() {
        return Ok(None);
    }
    let _permit = lines.acquire().await.map_err(io::Error::other)?;
    tokio::time::timeout(LINE_LIMIT, read_call(stream)).await?
}

/// Answers a call that is no part of a hand-over.
pub async fn answer(process: &Process, call: Call) -> Result<serde_json::Value, Refusal> {
    match call {
        Call::Hello {} => value(&hello(process)),
        Call::Apply(routes) => value(&apply(process, routes).await?),
        Call::Drain(drain) => {
            let limit = Duration::from_millis(drain.deadline_ms).min(LONGEST_DRAIN);
            value(&process.drain(&drain.service, drain.address, limit).await?)
        }
        Call::Draining(target) => value(&process.draining(&target.service, target.address).await),
        Call::Stats {} => value(&process.stats().await),
        Call::Stop {} => {
            process.stop();
            value(&Done {})
        }
        Call::TakeOver(_) | Call::Ready {} | Call::Release {} => {
            Err(Refusal::new(Code::BadCall, "this call is part of a hand-over that is not under way"))
        }
    }
}

fn hello(process: &Process) -> Hello {
    Hello {
        pid: std::process::id(),
        binary: process.binary.clone(),
        settings: process.edge.settings.clone(),
        requested: process.requested.http.clone(),
        requested_https: process.requested.https.clone(),
        listening_https: process.listening.https.clone(),
        listening: process.listening.http.clone(),
        changes: process.edge.changes(),
        damaged: process.damage(),
    }
}
