//! The process that was here before, while it finishes what it has begun.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use tokio::sync::Mutex;
use windlass_durable::kill_point;

use super::{LOOK_INTERVAL, STEP_LIMIT};
use crate::edge::Applied;
use crate::process::control::client::{CallError, Client};
use crate::process::control::{Call, Code, Done, Drain, LeavingTarget};
use crate::routes::RouteSet;
use crate::targets::Drained;
use crate::targets::stats::Stats;

/// How long a new process serves before it releases the old one.
const RELEASE_DELAY: Duration = Duration::from_secs(2);
/// How long a call to a predecessor that is not released may take.
const UNRELEASED_CALL_LIMIT: Duration = Duration::from_secs(3600);

pub struct Predecessor {
    /// None once it is known to have ended.
    client: Mutex<Option<Client>>,
    /// The newest version of tables that it can read.
    route_version: u32,
    /// What it has said last of targets that are being drained: it may end before it is asked again.
    heard: parking_lot::Mutex<HashMap<LeavingTarget, Drained>>,
    /// What it has said last of what it counts.
    counted: parking_lot::Mutex<Stats>,
    /// It has waited too long and serves again.
    serves_again: AtomicBool,
    /// It has closed the sockets, or has ended.
    is_released: AtomicBool,
}

/// A process that ends by itself ends with its last request, or says first what it cuts.
fn at_its_end(heard: Option<&Drained>) -> Drained {
    let (in_flight, cut) = heard.map_or((0, 0), |heard| (heard.in_flight, heard.cut));
    Drained { in_flight, finished: in_flight.saturating_sub(cut), cut }
}

impl Predecessor {
    pub fn new(client: Client, route_version: u32) -> Self {
        Self {
            client: Mutex::new(Some(client)),
            route_version,
            heard: parking_lot::Mutex::default(),
            counted: parking_lot::Mutex::default(),
            serves_again: AtomicBool::new(false),
            is_released: AtomicBool::new(false),
        }
    }

    /// Calls it, one call at a time. A call that is not answered ends the connection: the next answer would be
    /// that of an earlier call.
    async fn call<T: DeserializeOwned>(&self, call: &Call) -> Result<T, CallError> {
        let mut client = self.client.lock().await;
        // Taken out: a call that is given up in the middle must not leave its answer to the next one.
        let Some(mut calling) = client.take() else { return Err(io::Error::from(io::ErrorKind::NotConnected).into()) };
        // Until it is released, only its end or its reply settles which process has the sockets: it may just be slow.
        let limit = if self.is_released.load(Ordering::Acquire) { STEP_LIMIT } else { UNRELEASED_CALL_LIMIT };
        let answer = calling.call(call, limit).await;
        match &answer {
            // It has nothing to do with this process any more.
            Err(CallError::Refused(refusal)) if refusal.code == Code::TakenBack => {
                self.serves_again.store(true, Ordering::Release);
            }
            // What one version says another may not understand; it is an answer all the same.
            Ok(_) | Err(CallError::Refused(_) | CallError::NotUnderstood(_)) => *client = Some(calling),
            Err(CallError::Unreachable(_)) => {}
        }
        answer
    }

    /// Whether it still has something to do.
    pub fn is_there(&self) -> bool {
        // A call is under way, and will find out.
        let Ok(client) = self.client.try_lock() else { return true };
        client.as_ref().is_some_and(|client| !client.is_closed())
    }

    /// Whether it has waited too long and serves again, so that this process has nothing to serve any more.
    pub fn serves_again(&self) -> bool {
        self.serves_again.load(Ordering::Acquire)
    }

    /// Everything is loaded. Returns when the predecessor accepts no more.
    pub async fn ready(&self) -> Result<(), CallError> {
        let ready = self.call::<Done>(&Call::Ready {});
        tokio::time::timeout(STEP_LIMIT, ready).await.map_err(io::Error::from)??;
        kill_point::reached("take-over-before-accepting");
        Ok(())
    }

    /// Releases it, after a while. False if it serves again.
    pub async fn release(&self) -> bool {
        tokio::time::sleep(RELEASE_DELAY).await;
        kill_point::reached("take-over-before-release");
        if let Err(error) = self.call::<Done>(&Call::Release {}).await {
            tracing::warn!(%error, "the previous edge process did not hear that it is released");
        }
        self.is_released.store(true, Ordering::Release);
        !self.serves_again()
    }

    /// Tells it the new table, which is for its last connections too.
    pub async fn apply(&self, routes: &RouteSet) {
        if self.is_there()
            && let Err(error) = self.call::<Applied>(&Call::Apply(routes.for_version(self.route_version))).await
        {
            tracing::warn!(%error, "the previous edge process did not hear of the new routes");
        }
    }

    /// What a drain has come to there so far. One that has ended has ended with its last request.
    pub async fn draining(&self, service: &str, address: SocketAddr) -> Drained {
        let target = LeavingTarget { service: service.to_owned(), address };
        let said = self.call(&Call::Draining(target.clone())).await;
        let mut heard = self.heard.lock();
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
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
        let drain = Drain { service: service.to_owned(), address, deadline_ms: 0 };
        let drained = self.call(&Call::Drain(drain)).await;
        // Kept: a caller that asks again is told the same.
        drained.unwrap_or_else(|_| {
            at_its_end(self.heard.lock().get(&LeavingTarget { service: service.to_owned(), address }))
        })
    }

    /// What it has counted, with those before it. One that has ended has counted what it said last.
    pub async fn stats(&self) -> Stats {
        let said = self.call(&Call::Stats {}).await;
        let mut counted = self.counted.lock();
        match said {
            Ok(said) => *counted = said,
            Err(_) => counted.end(),
        }
        counted.clone()
    }

    /// Ends it too, and waits until it has ended.
    pub async fn stop(&self, limit: Duration) {
        let told: Result<Done, CallError> = self.call(&Call::Stop {}).await;
        let deadline = Instant::now() + limit + STEP_LIMIT;
        while told.is_ok() && self.is_there() && Instant::now() < deadline {
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    }
}
