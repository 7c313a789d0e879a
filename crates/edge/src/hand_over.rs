//! One edge process after another, without a moment in which nobody serves.
//!
//! The new process asks the old one for its sockets, loads everything and says that it is ready; the old one stops
//! accepting and says so; the new one accepts. Visitors who come in between wait in the system's queue. The old one keeps
//! the sockets until the new one has served for a while, and goes on as before if it vanishes until then. After that the
//! connection between them stays, for what still concerns both: changes of the table, drains and a stop.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::BufReader;
use tokio::net::UnixStream;
use tokio::sync::Mutex;
use windlass_durable::kill_point;

use crate::control::client::{CallError, Client, line};
use crate::control::server::{answer, read, value, write};
use crate::control::{
    self, Answer, Call, Code, Done, Drain, LONGEST_LINE, Leaving, Message, Refusal, TakeOver, VERSION,
};
use crate::descriptors;
use crate::edge::Applied;
use crate::process::{Begun, EdgeError, Estate, Options, Process, Socket, bind};
use crate::route_file::Loaded;
use crate::routes::RouteSet;
use crate::stats::Stats;
use crate::target::Drained;

/// The points of a take-over at which a test can crash.
pub const KILL_POINTS: [&str; 3] =
    ["take-over-after-sockets", "take-over-before-accepting", "take-over-before-release"];

/// How long the other side may take for one step.
const STEP: Duration = Duration::from_secs(10);
/// How long a new process serves before the old one is let go.
const PROBATION: Duration = Duration::from_secs(2);
/// How long the old one waits to be let go. Visitors wait as long if the new one hangs before it has accepted any.
const RELEASE_WAIT: Duration = Duration::from_secs(10);
/// How long a call to one that has not let go may take.
const UNTIL_RELEASED: Duration = Duration::from_secs(3600);
/// How often the new one looks whether a target is empty in the old one too.
const LOOK: Duration = Duration::from_millis(20);

/// What goes from the old process to the new one. The descriptors come with it: the lock, the control socket, and the
/// sockets in this order.
#[derive(Serialize, Deserialize)]
struct Inventory {
    routes: RouteSet,
    damaged: Option<String>,
    requested: Vec<SocketAddr>,
}

/// The process that was here before, while it finishes what it has begun.
pub struct Predecessor {
    /// None once it is known to have ended.
    client: Mutex<Option<Client>>,
    /// What it has said last of targets that are being drained: it may end before it is asked again.
    heard: std::sync::Mutex<HashMap<Leaving, Drained>>,
    /// What it has said last of what it counts.
    counted: std::sync::Mutex<Stats>,
    /// It has lost its patience and serves again.
    serves_again: AtomicBool,
    /// It has let go of the sockets, or is gone.
    is_released: AtomicBool,
}

/// A process that ends by itself ends with its last request, or says first what it cuts.
fn at_its_end(heard: Option<&Drained>) -> Drained {
    let (in_flight, cut) = heard.map_or((0, 0), |heard| (heard.in_flight, heard.cut));
    Drained { in_flight, finished: in_flight.saturating_sub(cut), cut }
}

impl Predecessor {
    fn new(client: Client) -> Self {
        Self {
            client: Mutex::new(Some(client)),
            heard: std::sync::Mutex::default(),
            counted: std::sync::Mutex::default(),
            serves_again: AtomicBool::new(false),
            is_released: AtomicBool::new(false),
        }
    }

    /// Calls it, one call at a time. A call that is not answered ends the connection: the next answer would be another one's.
    async fn call<T: DeserializeOwned>(&self, call: &Call) -> Result<T, CallError> {
        let mut client = self.client.lock().await;
        // Taken out: a call that is given up in the middle must not leave its answer to the next one.
        let Some(mut calling) = client.take() else { return Err(io::Error::from(io::ErrorKind::NotConnected).into()) };
        // Until it has let go, only its end or its word settles whose the sockets are: it may just be slow.
        let limit = if self.is_released.load(Ordering::Acquire) { STEP } else { UNTIL_RELEASED };
        let answer = calling.call(call, limit).await;
        match &answer {
            // It has nothing to do with this process any more.
            Err(CallError::Refused(refusal)) if refusal.code == Code::TakenBack => {
                self.serves_again.store(true, Ordering::Release);
            }
            // What one version says another may not understand; it is an answer all the same.
            Ok(_) | Err(CallError::Refused(_) | CallError::Senseless(_)) => *client = Some(calling),
            Err(CallError::Unreachable(_)) => {}
        }
        answer
    }

    /// Whether it still has something to do.
    pub fn is_there(&self) -> bool {
        // Whoever is calling it will find out.
        let Ok(client) = self.client.try_lock() else { return true };
        client.as_ref().is_some_and(|client| !client.is_closed())
    }

    /// Whether it has lost its patience, and this process has nothing to serve any more.
    pub fn serves_again(&self) -> bool {
        self.serves_again.load(Ordering::Acquire)
    }

    /// Everything is loaded. Returns when the predecessor accepts no more.
    pub async fn ready(&self) -> Result<(), CallError> {
        let ready = self.call::<Done>(&Call::Ready {});
        tokio::time::timeout(STEP, ready).await.map_err(io::Error::from)??;
        kill_point::reached("take-over-before-accepting");
        Ok(())
    }

    /// Lets it go, after a while. False if it serves again, whoever was told so.
    pub async fn release(&self) -> bool {
        tokio::time::sleep(PROBATION).await;
        kill_point::reached("take-over-before-release");
        if let Err(error) = self.call::<Done>(&Call::Release {}).await {
            tracing::warn!(%error, "the previous edge process did not hear that it can go");
        }
        self.is_released.store(true, Ordering::Release);
        !self.serves_again()
    }

    /// Its connections are to go where ours go.
    pub async fn apply(&self, routes: &RouteSet) {
        if self.is_there()
            && let Err(error) = self.call::<Applied>(&Call::Apply(routes.clone())).await
        {
            tracing::warn!(%error, "the previous edge process did not hear of the new routes");
        }
    }

    /// What a drain has come to there so far. One that is gone has ended with its last request.
    pub async fn draining(&self, service: &str, address: SocketAddr) -> Drained {
        let target = Leaving { service: service.to_owned(), address };
        let said = self.call(&Call::Draining(target.clone())).await;
        let mut heard = self.heard();
        match said {
            Ok(now) => {
                heard.insert(target, now);
                now
            }
            Err(_) => at_its_end(heard.get(&target)),
        }
    }

    /// Empties a target there, as it is emptied here.
    pub async fn drain(&self, service: &str, address: SocketAddr, limit: Duration) -> Drained {
        let deadline = Instant::now() + limit;
        loop {
            let now = self.draining(service, address).await;
            if now.finished + now.cut == now.in_flight || Instant::now() >= deadline {
                break;
            }
            tokio::time::sleep(LOOK).await;
        }
        let drain = Drain { service: service.to_owned(), address, deadline_ms: 0 };
        let drained = self.call(&Call::Drain(drain)).await;
        // Kept: whoever asks again hears the same.
        drained.unwrap_or_else(|_| at_its_end(self.heard().get(&Leaving { service: service.to_owned(), address })))
    }

    fn heard(&self) -> std::sync::MutexGuard<'_, HashMap<Leaving, Drained>> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it has counted, with those before it. One that is gone has counted what it said last.
    pub async fn stats(&self) -> Stats {
        let said = self.call(&Call::Stats {}).await;
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        match said {
            Ok(said) => *counted = said,
            Err(_) => counted.end(),
        }
        counted.clone()
    }

    /// Ends it too, and waits until it has ended.
    pub async fn stop(&self, limit: Duration) {
        let told: Result<Done, CallError> = self.call(&Call::Stop {}).await;
        let deadline = Instant::now() + limit + STEP;
        while told.is_ok() && self.is_there() && Instant::now() < deadline {
            tokio::time::sleep(LOOK).await;
        }
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
    let inventory = match serde_json::from_slice(&text).map_err(|error| failed(error.into()))? {
        Answer::Ok::<Inventory>(inventory) => inventory,
        Answer::Error(refusal) => return Err(EdgeError::TakeOver(refusal.message)),
    };
    let mut received = received.into_iter();
    let mut next = || received.next().ok_or_else(|| EdgeError::TakeOver("sockets are missing".into()));
    let lock = File::from(next()?);
    let control = UnixListener::from(next()?);
    let given: Vec<(SocketAddr, OwnedFd)> =
        inventory.requested.iter().map(|address| Ok((*address, next()?))).collect::<Result<_, EdgeError>>()?;
    let estate = Estate { lock, control, sockets: wanted(&options.listen, given)? };
    inventory.routes.check().map_err(|problems| EdgeError::TakeOver(problems.join("; ")))?;
    let routes = match inventory.damaged {
        Some(why) => Loaded::Damaged(why),
        None => Loaded::Routes(inventory.routes),
    };
    Ok(Begun { estate, routes, predecessor: Some(Predecessor::new(Client::new(stream))) })
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
    if let Err(error) = hand(process, &mut stream).await {
        tracing::warn!(%error, pid = successor.pid, "the other process did not take over; this one goes on");
        take_back(process).await;
        drop(change);
        return refuse(stream).await;
    }
    process.is_over(change);
    while let Some(call) = read(&mut stream).await? {
        concerns_both(process, &mut stream, call).await?;
    }
    Ok(())
}

async fn hand(process: &Arc<Process>, stream: &mut BufReader<UnixStream>) -> io::Result<()> {
    send_inventory(process, stream.get_ref()).await?;
    match tokio::time::timeout(STEP, read(stream)).await?? {
        Some(Ok(Call::Ready {})) => {}
        Some(_) => return Err(io::Error::other("it said something else than that it is ready")),
        None => return Err(io::Error::other("it is gone")),
    }
    process.stop_accepting().await;
    write(stream, value(&Done {})).await?;
    until_released(process, stream).await
}

/// The new process serves. A stop ends both, so this one need not wait for it to go well.
async fn until_released(process: &Arc<Process>, stream: &mut BufReader<UnixStream>) -> io::Result<()> {
    // Only the silence counts: what was asked is answered, however long that takes.
    let deadline = tokio::time::Instant::now() + RELEASE_WAIT;
    loop {
        match tokio::time::timeout_at(deadline, read(stream)).await?? {
            Some(Ok(Call::Release {})) => return write(stream, value(&Done {})).await,
            Some(call) => {
                let is_stop = matches!(call, Ok(Call::Stop {}));
                concerns_both(process, stream, call).await?;
                if is_stop {
                    return Ok(());
                }
            }
            None => return Err(io::Error::other("it is gone")),
        }
    }
}

async fn send_inventory(process: &Process, stream: &UnixStream) -> io::Result<()> {
    let inventory = Inventory {
        routes: RouteSet::clone(&process.edge.table().routes),
        damaged: process.damage(),
        requested: process.requested.clone(),
    };
    let sent: Vec<OwnedFd> = process.with_estate(|estate| {
        let sockets = estate.sockets.iter().map(|socket| socket.listener.as_fd());
        let all = [estate.lock.as_fd(), estate.control.as_fd()].into_iter().chain(sockets);
        all.map(|descriptor| descriptor.try_clone_to_owned()).collect()
    })?;
    let sent: Vec<BorrowedFd<'_>> = sent.iter().map(AsFd::as_fd).collect();
    let text = line(&Answer::Ok(inventory))?;
    tokio::time::timeout(STEP, descriptors::send(stream, &text, &sent)).await?
}

/// Accepts again, whatever it takes: nobody else does.
async fn take_back(process: &Arc<Process>) {
    while let Err(error) = process.accept() {
        tracing::error!(%error, "visitors cannot be accepted");
        tokio::time::sleep(LOOK).await;
    }
}

/// Tells a process that comes too late that it has nothing to serve, for as long as it can ask.
async fn refuse(mut stream: BufReader<UnixStream>) -> io::Result<()> {
    while read(&mut stream).await?.is_some() {
        let refusal = Refusal::new(Code::TakenBack, "the new process was not heard of for too long");
        write(&mut stream, Err(refusal)).await?;
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
            write(stream, value(&stats)).await?;
            process.has_told(&stats);
            return Ok(());
        }
        Ok(call @ (Call::Drain(_) | Call::Draining(_) | Call::Stop {})) => answer(process, call).await,
        Ok(_) => Err(Refusal::new(Code::HandedOver, "this process has handed over")),
        Err(refusal) => Err(refusal),
    };
    write(stream, answer).await
}
