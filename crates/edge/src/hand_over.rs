//! One edge process after another, without a moment in which nobody serves.
//!
//! The new process asks the old one for its sockets, loads everything and says that it is ready; the old one stops
//! accepting and says so; the new one accepts. Visitors who come in between wait in the system's queue. The old one keeps
//! the sockets until the new one has served for a while, and goes on as before if it vanishes until then.

use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::BufReader;
use tokio::net::UnixStream;
use tokio::sync::Mutex;
use windlass_durable::kill_point;

use crate::control::client::{CallError, Client, line};
use crate::control::server::{answer, read, value, write};
use crate::control::{self, Answer, Call, Code, Done, Drain, LONGEST_LINE, Message, Refusal, TakeOver, VERSION};
use crate::descriptors;
use crate::process::{Begun, EdgeError, Options, Process, Socket, bind};
use crate::route_file::Loaded;
use crate::routes::RouteSet;
use crate::target::Drained;

/// The points of a take-over at which a test can crash.
pub const KILL_POINTS: [&str; 3] =
    ["take-over-after-sockets", "take-over-before-accepting", "take-over-before-release"];

/// How long the other side may take for one step.
const STEP: Duration = Duration::from_secs(10);
/// How long a new process serves before the old one is let go.
const PROBATION: Duration = Duration::from_secs(2);
/// How long the old one waits to be let go.
const RELEASE_WAIT: Duration = Duration::from_secs(30);

/// What goes from the old process to the new one. The descriptors come with it: the lock, the control socket, and the
/// sockets in this order.
#[derive(Serialize, Deserialize)]
struct Estate {
    routes: RouteSet,
    damaged: Option<String>,
    requested: Vec<SocketAddr>,
}

/// The process that was here before, while it finishes what it has begun.
pub struct Predecessor(Mutex<Client>);

impl Predecessor {
    /// Everything is loaded. Returns when the predecessor accepts no more.
    pub async fn ready(&self) -> Result<(), CallError> {
        let Done {} = self.0.lock().await.call(&Call::Ready {}, STEP).await?;
        kill_point::reached("take-over-before-accepting");
        Ok(())
    }

    pub async fn release(&self) {
        tokio::time::sleep(PROBATION).await;
        kill_point::reached("take-over-before-release");
        let released: Result<Done, CallError> = self.0.lock().await.call(&Call::Release {}, STEP).await;
        if let Err(error) = released {
            tracing::warn!(%error, "the previous edge process did not hear that it can go");
        }
    }

    /// What is still in a target there. A process that is gone has nothing in it.
    pub async fn drain(&self, service: &str, address: SocketAddr, limit: Duration) -> Drained {
        let deadline_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        let drain = Drain { service: service.to_owned(), address, deadline_ms };
        self.0.lock().await.drain(drain).await.unwrap_or_default()
    }
}

/// The new process's side: sockets and routes of the one that is running.
pub async fn take(options: &Options) -> Result<Begun, EdgeError> {
    let failed = |error: io::Error| EdgeError::TakeOver(error.to_string());
    let receiving = async {
        let stream = UnixStream::connect(control::socket(&options.data_dir)).await?;
        let call = Call::TakeOver(TakeOver { pid: std::process::id() });
        descriptors::send(&stream, &line(&Message { version: VERSION, call })?, &[]).await?;
        let (text, received) = descriptors::receive_line(&stream, LONGEST_LINE).await?;
        Ok((stream, text, received))
    };
    let (stream, text, received) =
        tokio::time::timeout(STEP, receiving).await.map_err(|error| failed(error.into()))?.map_err(failed)?;
    kill_point::reached("take-over-after-sockets");
    let estate = match serde_json::from_slice(&text).map_err(|error| failed(error.into()))? {
        Answer::Ok::<Estate>(estate) => estate,
        Answer::Error(refusal) => return Err(EdgeError::TakeOver(refusal.message)),
    };
    let mut received = received.into_iter();
    let mut next = || received.next().ok_or_else(|| EdgeError::TakeOver("sockets are missing".into()));
    let lock = File::from(next()?);
    let control = UnixListener::from(next()?);
    let given: Vec<(SocketAddr, OwnedFd)> =
        estate.requested.iter().map(|address| Ok((*address, next()?))).collect::<Result<_, EdgeError>>()?;
    let sockets = wanted(&options.listen, given)?;
    estate.routes.check().map_err(|problems| EdgeError::TakeOver(problems.join("; ")))?;
    let routes = match estate.damaged {
        Some(why) => Loaded::Damaged(why),
        None => Loaded::Routes(estate.routes),
    };
    let predecessor = Some(Predecessor(Mutex::new(Client::new(stream))));
    Ok(Begun { lock, control, sockets, routes, predecessor })
}

/// The sockets that this process is to listen on: those that it was given, and new ones for the rest.
fn wanted(listen: &[SocketAddr], mut given: Vec<(SocketAddr, OwnedFd)>) -> Result<Vec<Socket>, EdgeError> {
    let mut sockets = Vec::new();
    for address in listen {
        sockets.push(match given.iter().position(|(requested, _)| requested == address) {
            Some(index) => Socket { requested: *address, listener: TcpListener::from(given.swap_remove(index).1) },
            None => bind(*address)?,
        });
    }
    Ok(sockets)
}

/// The old process's side. Whatever goes wrong before the release, it goes on as before.
pub async fn give(process: &Arc<Process>, mut stream: BufReader<UnixStream>, successor: TakeOver) -> io::Result<()> {
    let change = match process.change().await {
        Ok(change) => change,
        Err(refusal) => return write(&mut stream, Err(refusal)).await,
    };
    tracing::info!(pid = successor.pid, "another process asks to take over");
    let handed = hand(process, &mut stream).await;
    if let Err(error) = handed {
        tracing::warn!(%error, pid = successor.pid, "the other process did not take over; this one goes on");
        process.accept().map_err(io::Error::other)?;
        return Ok(());
    }
    process.is_over(change);
    link(process, stream).await
}

async fn hand(process: &Arc<Process>, stream: &mut BufReader<UnixStream>) -> io::Result<()> {
    send_estate(process, stream.get_ref()).await?;
    expect(stream, STEP, |call| matches!(call, Call::Ready {})).await?;
    process.stop_accepting().await;
    write(stream, value(&Done {})).await?;
    expect(stream, RELEASE_WAIT, |call| matches!(call, Call::Release {})).await?;
    write(stream, value(&Done {})).await
}

async fn send_estate(process: &Process, stream: &UnixStream) -> io::Result<()> {
    let estate = Estate {
        routes: RouteSet::clone(&process.edge.table().routes),
        damaged: process.damage(),
        requested: process.sockets.iter().map(|socket| socket.requested).collect(),
    };
    let lock = {
        let lock = process.lock.lock().unwrap_or_else(PoisonError::into_inner);
        lock.as_ref().map(File::try_clone).transpose()?.ok_or(io::ErrorKind::NotFound)?
    };
    let mut sent: Vec<BorrowedFd<'_>> = vec![lock.as_fd(), process.control.as_fd()];
    sent.extend(process.sockets.iter().map(|socket| socket.listener.as_fd()));
    let text = line(&Answer::Ok(estate))?;
    tokio::time::timeout(STEP, descriptors::send(stream, &text, &sent)).await?
}

/// The next call, which must be the one that comes next.
async fn expect(stream: &mut BufReader<UnixStream>, limit: Duration, is_it: fn(&Call) -> bool) -> io::Result<()> {
    match tokio::time::timeout(limit, read(stream)).await?? {
        Some(Ok(call)) if is_it(&call) => Ok(()),
        Some(_) => Err(io::Error::other("it said something else than it should")),
        None => Err(io::Error::other("it is gone")),
    }
}

/// Answers the successor's questions about what is still under way here.
async fn link(process: &Arc<Process>, mut stream: BufReader<UnixStream>) -> io::Result<()> {
    while let Some(call) = read(&mut stream).await? {
        let answer = match call {
            Ok(call @ (Call::Drain(_) | Call::Stats {})) => answer(process, call).await,
            Ok(_) => Err(Refusal::new(Code::HandedOver, "this process has handed over")),
            Err(refusal) => Err(refusal),
        };
        write(&mut stream, answer).await?;
    }
    Ok(())
}
