//! Answering calls.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;

use super::client::line;
use super::{Answer, Call, Code, Done, Hello, LONGEST_LINE, Message, Refusal, VERSION};
use crate::edge::Applied;
use crate::hand_over;
use crate::process::Process;
use crate::route_file;
use crate::routes::RouteSet;

/// Lines that are read at once; more wait. Callers who are silent, or wait for an answer, keep nobody waiting.
const LINES: usize = 64;
/// How long a line may take once it has begun.
const LINE_LIMIT: Duration = Duration::from_secs(10);
/// The longest that a drain may wait.
const LONGEST_DRAIN: Duration = Duration::from_secs(86_400);

pub async fn accept(process: Arc<Process>, listener: Arc<UnixListener>) {
    let lines = Arc::new(Semaphore::new(LINES));
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

/// Answers one caller until it leaves, or until another process has taken over.
async fn serve(process: &Arc<Process>, stream: UnixStream, lines: &Semaphore) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut over = process.handed_over();
    loop {
        let call = tokio::select! {
            call = next(&mut stream, lines) => call?,
            _ = over.wait_for(|over| *over) => return Ok(()),
        };
        let Some(call) = call else { return Ok(()) };
        let answer = match call {
            Ok(Call::TakeOver(successor)) => return hand_over::give(process, stream, successor).await,
            Ok(call) => answer(process, call).await,
            Err(refusal) => Err(refusal),
        };
        write(&mut stream, answer).await?;
    }
}

/// The next call. A caller may be silent for ever, but not in the middle of a line.
async fn next(stream: &mut BufReader<UnixStream>, lines: &Semaphore) -> io::Result<Option<Result<Call, Refusal>>> {
    if stream.fill_buf().await?.is_empty() {
        return Ok(None);
    }
    let _place = lines.acquire().await.map_err(io::Error::other)?;
    tokio::time::timeout(LINE_LIMIT, read(stream)).await?
}

pub async fn read(stream: &mut BufReader<UnixStream>) -> io::Result<Option<Result<Call, Refusal>>> {
    let mut text = Vec::new();
    (&mut *stream).take(LONGEST_LINE as u64).read_until(b'\n', &mut text).await?;
    if text.len() == LONGEST_LINE && !text.ends_with(b"\n") {
        // Where the next call begins, nobody knows.
        return Err(io::Error::other("the line is too long"));
    }
    Ok((!text.is_empty()).then(|| parse(&text)))
}

pub async fn write(stream: &mut BufReader<UnixStream>, answer: Result<serde_json::Value, Refusal>) -> io::Result<()> {
    let answer = match answer {
        Ok(answer) => Answer::Ok(answer),
        Err(refusal) => Answer::Error(refusal),
    };
    stream.get_mut().write_all(&line(&answer)?).await
}

fn parse(text: &[u8]) -> Result<Call, Refusal> {
    let refuse = |message: String| Refusal::new(Code::BadCall, message);
    match serde_json::from_slice::<Message<Call>>(text) {
        // These must be understood by all versions, or an upgrade could not take over.
        Ok(Message {
            call: call @ (Call::Hello {} | Call::TakeOver(_) | Call::Ready {} | Call::Release {} | Call::Stop {}),
            ..
        }) => Ok(call),
        Ok(message) if message.version == VERSION => Ok(message.call),
        Ok(message) => Err(refuse(format!("version {} is not spoken here, only {VERSION}", message.version))),
        Err(error) => Err(refuse(format!("not a call of version {VERSION}: {error}"))),
    }
}

/// Answers what changes nothing about whose sockets these are.
pub async fn answer(process: &Arc<Process>, call: Call) -> Result<serde_json::Value, Refusal> {
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

pub fn value(answer: &impl Serialize) -> Result<serde_json::Value, Refusal> {
    serde_json::to_value(answer).map_err(|error| Refusal::new(Code::BadCall, error.to_string()))
}

/// Checked, then saved, then served. If any of these fails, nothing has changed.
async fn apply(process: &Arc<Process>, routes: RouteSet) -> Result<Applied, Refusal> {
    routes.check().map_err(|problems| Refusal::new(Code::BadRoutes, problems.join("\n")))?;
    process.refuse_loops(&routes)?;
    let _change = process.change().await?;
    process.refuse_other_owner(&routes)?;
    let routes = Arc::new(routes);
    let (folder, saved) = (process.data_dir.clone(), routes.clone());
    let saving = tokio::task::spawn_blocking(move || route_file::save(&folder, &saved)).await;
    let not_saved =
        |error: io::Error| Refusal::new(Code::NotSaved, format!("the route file cannot be written: {error}"));
    saving.unwrap_or_else(|error| Err(io::Error::other(error))).map_err(not_saved)?;
    let applied = process.apply(&routes).await;
    if process.is_passed_over() {
        return Err(Refusal::new(Code::HandedOver, "the previous edge process serves again: connect again"));
    }
    Ok(applied)
}

fn hello(process: &Process) -> Hello {
    Hello {
        pid: std::process::id(),
        binary: process.binary.clone(),
        settings: process.edge.settings.clone(),
        requested: process.requested.clone(),
        listening: process.listening.clone(),
        changes: process.edge.changes(),
        damaged: process.damage(),
    }
}
