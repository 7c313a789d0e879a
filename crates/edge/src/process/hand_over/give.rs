//! The old process's side of a hand-over. If anything goes wrong before the release, it goes on as before.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::BufReader;
use tokio::net::UnixStream;

use super::{Inventory, LOOK_INTERVAL, STEP_LIMIT};
use crate::process::accepting;
use crate::process::control::lines::{line, read_call, value, write_reply};
use crate::process::control::server::answer;
use crate::process::control::{Call, Code, Done, Refusal, Reply, TakeOver};
use crate::process::descriptors;
use crate::process::running::Process;
use crate::routes::NEWEST_VERSION;

/// How long the old process waits to be released. Visitors wait as long if the new one hangs before it has accepted
/// any.
const RELEASE_LIMIT: Duration = Duration::from_secs(10);

pub async fn give(process: &Arc<Process>, mut stream: BufReader<UnixStream>, successor: TakeOver) -> io::Result<()> {
    let change = match process.change().await {
        Ok(change) => change,
        Err(refusal) => return write_reply(&mut stream, Err(refusal)).await,
    };
    tracing::info!(pid = successor.pid, "another process asks to take over");
    if let Err(error) = send_and_wait(process, &mut stream, successor.route_version).await {
        tracing::warn!(%error, pid = successor.pid, "the other process did not take over; this one goes on");
        take_back(process).await;
        drop(change);
        return refuse(stream).await;
    }
    process.mark_handed_over(change);
    while let Some(call) = read_call(&mut stream).await? {
        concerns_both(process, &mut stream, call).await?;
    }
    Ok(())
}

async fn send_and_wait(
    process: &Arc<Process>,
    stream: &mut BufReader<UnixStream>,
    route_version: u32,
) -> io::Result<()> {
    send_inventory(process, stream.get_ref(), route_version).await?;
    match tokio::time::timeout(STEP_LIMIT, read_call(stream)).await?? {
        Some(Ok(Call::Ready {})) => {}
        Some(_) => return Err(io::Error::other("it said something else than that it is ready")),
        None => return Err(io::Error::other("it has ended the connection")),
    }
    process.stop_accepting().await;
    write_reply(stream, value(&Done {})).await?;
    until_released(process, stream).await
}

/// The new process serves. A stop ends both, so this one need not wait for the release.
async fn until_released(process: &Arc<Process>, stream: &mut BufReader<UnixStream>) -> io::Result<()> {
    // Only the silence counts: what was asked is answered, however long that takes.
    let deadline = tokio::time::Instant::now() + RELEASE_LIMIT;
    loop {
        match tokio::time::timeout_at(deadline, read_call(stream)).await?? {
            Some(Ok(Call::Release {})) => return write_reply(stream, value(&Done {})).await,
            Some(call) => {
                let is_stop = matches!(call, Ok(Call::Stop {}));
                concerns_both(process, stream, call).await?;
                if is_stop {
                    return Ok(());
                }
            }
            None => return Err(io::Error::other("it has ended the connection")),
        }
    }
}

async fn send_inventory(process: &Process, stream: &UnixStream, route_version: u32) -> io::Result<()> {
    let inventory = Inventory {
        routes: process.edge.table().routes.for_version(route_version),
        damaged: process.damage(),
        requested: process.requested.http.clone(),
        requested_https: process.requested.https.clone(),
        tickets: Some(process.edge.handshakes.ticket_secrets()),
        route_version: NEWEST_VERSION,
    };
    let sent: Vec<OwnedFd> = process.with_holdings(|holdings| {
        let sockets = holdings.sockets.iter().map(|socket| socket.listener.as_fd());
        let all = [holdings.lock.as_fd(), holdings.control.as_fd()].into_iter().chain(sockets);
        all.map(|descriptor| descriptor.try_clone_to_owned()).collect()
    })?;
    let sent: Vec<BorrowedFd<'_>> = sent.iter().map(AsFd::as_fd).collect();
    let text = line(&Reply::Ok(inventory))?;
    tokio::time::timeout(STEP_LIMIT, descriptors::send(stream, &text, &sent)).await?
}

/// Accepts again, however often it must be tried: no other process does.
async fn take_back(process: &Arc<Process>) {
    while let Err(error) = accepting::accept(process) {
        tracing::error!(%error, "visitors cannot be accepted");
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
}

/// Tells a process that comes too late that it has nothing to serve, for as long as it can ask.
async fn refuse(mut stream: BufReader<UnixStream>) -> io::Result<()> {
    while read_call(&mut stream).await?.is_some() {
        let refusal = Refusal::new(Code::TakenBack, "the new process was not heard of for too long");
        write_reply(&mut stream, Err(refusal)).await?;
    }
    Ok(())
}

/// Answers the successor about what is still under way here.
async fn concerns_both(
    process: &Arc<Process>,
    stream: &mut BufReader<UnixStream>,
    call: Result<Call, Refusal>,
) -> io::Result<()> {
    let answer = match call {
        // Checked and saved by the successor.
        Ok(Call::Apply(routes)) => value(&process.apply(&Arc::new(routes)).await),
        Ok(Call::Stats {}) => {
            let stats = process.stats().await;
            write_reply(stream, value(&stats)).await?;
            process.mark_told(&stats);
            return Ok(());
        }
        Ok(call @ (Call::Drain(_) | Call::Draining(_) | Call::Stop {})) => answer(process, call).await,
        Ok(_) => Err(Refusal::new(Code::HandedOver, "this process has handed over")),
        Err(refusal) => Err(refusal),
    };
    write_reply(stream, answer).await
}
