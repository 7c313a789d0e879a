//! Visitors who must give a name and a password. To compare a password takes long, by purpose: only a few are compared
//! at once, never on a thread that serves connections, and those that were right are remembered.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::HeaderMap;
use hyper::header::HeaderValue;
use parking_lot::Mutex;
use ring::hmac;
use ring::rand::SystemRandom;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::buckets::Buckets;
use super::credentials::Credentials;
use crate::addresses::neighbourhood;
use crate::password;
use crate::routes::{SignInSpec, SignInUser};

/// A household that has given so many wrong passwords within a minute must wait before it gives another.
const WRONG_PER_MINUTE: u32 = 10;
/// The same for all households of a neighbourhood: one person can have many of them.
const WRONG_NEARBY_PER_MINUTE: u32 = 60;
const MOST_AT_ONCE: usize = 4;
/// How long a password may wait for its turn.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// What all services share: the turns in which passwords are compared, and the key under which right ones are
/// remembered.
pub struct PasswordChecks {
    turns: Arc<Semaphore>,
    longest_wait: Duration,
    /// Known to this process only.
    key: hmac::Key,
    /// Wrong passwords by household, and by neighbourhood: of all services together, because all share the turns.
    wrong: Arc<Buckets>,
    wrong_nearby: Arc<Buckets>,
}

impl PasswordChecks {
    pub fn new() -> io::Result<Self> {
        // The other half of the processors goes on serving visitors.
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self::with(processors.div_ceil(2).min(MOST_AT_ONCE), LONGEST_WAIT)
    }

    fn with(at_once: usize, longest_wait: Duration) -> io::Result<Self> {
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new())
            .map_err(|_| io::Error::other("the system has no random numbers"))?;
        let buckets = |per_minute| Arc::new(Buckets::new(per_minute, per_minute));
        Ok(Self {
            turns: Arc::new(Semaphore::new(at_once)),
            longest_wait,
            key,
            wrong: buckets(WRONG_PER_MINUTE),
            wrong_nearby: buckets(WRONG_NEARBY_PER_MINUTE),
        })
    }

    fn may_try(&self, address: IpAddr) -> Result<(), SignInRefusal> {
        let now = Instant::now();
        let nearby = self.wrong_nearby.look(neighbourhood(address), now);
        self.wrong.look(address, now).and(nearby).map_err(SignInRefusal::TooManyTries)
    }

    /// First the service's own turn, so that one that many guess at does not take all of them. None when that takes too long.
    async fn turn(&self, of_service: &Arc<Semaphore>) -> Option<[OwnedSemaphorePermit; 2]> {
        let both = async {
            let own = of_service.clone().acquire_owned().await.ok()?;
            Some([own, self.turns.clone().acquire_owned().await.ok()?])
        };
        tokio::time::timeout(self.longest_wait, both).await.ok()?
    }
}

pub struct SignIn {
    spec: SignInSpec,
    /// What asks a visitor for a name and a password.
    pub challenge: HeaderValue,
    users: HashMap<String, User>,
    /// Compared with for names that are none of theirs, so that this takes as long.
    unknown: User,
    /// In which its passwords are compared, one after the other.
    turn: Arc<Semaphore>,
}

struct User {
    is_known: bool,
    iterations: NonZeroU32,
    /// What makes the comparison take as long as that of the user with the most iterations.
    more: Option<NonZeroU32>,
    salt: Vec<u8>,
    hash: Vec<u8>,
    /// Of the password that was right.
    remembered: Mutex<Option<hmac::Tag>>,
}

/// Why a visitor does not come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignInRefusal {
    /// The name or the password is wrong, or not there.
    NotSignedIn,
    /// The household has given too many wrong passwords, and must wait for so long.
    TooManyTries(Duration),
    /// Too many others wait for their passwords to be compared.
    Busy,
}

impl SignIn {
    /// As it was before if it is the same.
    pub fn new(spec: &SignInSpec, before: Option<&Arc<Self>>) -> Arc<Self> {
        if let Some(before) = before.filter(|before| before.spec == *spec) {
            return before.clone();
        }
        let most = spec.users.iter().map(|user| user.iterations).max().unwrap_or_default();
        let challenge = format!("Basic realm=\"{}\", charset=\"UTF-8\"", spec.realm);
        Arc::new(Self {
            // Checked: no character in it ends the line.
            challenge: HeaderValue::try_from(challenge).unwrap_or(HeaderValue::from_static("Basic realm=\"\"")),
            users: spec.users.iter().map(|user| (user.name.clone(), User::new(user, most))).collect(),
            unknown: User::unknown(most),
            turn: before.map_or_else(|| Arc::new(Semaphore::new(1)), |before| before.turn.clone()),
            spec: spec.clone(),
        })
    }

    /// Whether a visitor comes in with what a request says.
    pub async fn check(
        self: &Arc<Self>,
        checks: &PasswordChecks,
        headers: &HeaderMap,
        address: IpAddr,
    ) -> Result<(), SignInRefusal> {
        let given = Credentials::read(headers).ok_or(SignInRefusal::NotSignedIn)?;
        if self.remembers(checks, &given) {
            return Ok(());
        }
        checks.may_try(address)?;
        let turn = checks.turn(&self.turn).await.ok_or(SignInRefusal::Busy)?;
        // Requests come in groups: while this one waited, another has shown that the password is right, or has been one
        // wrong password too many.
        if self.remembers(checks, &given) {
            return Ok(());
        }
        checks.may_try(address)?;
        let (this, key) = (self.clone(), checks.key.clone());
        let wrong = [checks.wrong.clone(), checks.wrong_nearby.clone()];
        // It is counted also if the visitor leaves before it ends.
        let comparing = tokio::task::spawn_blocking(move || {
            let is_right = this.compare(&key, &given);
            if !is_right {
                // It may be one too many when several were compared at once: none is let in for it.
                let now = Instant::now();
                let _ = (wrong[0].take(address, now), wrong[1].take(neighbourhood(address), now));
            }
            drop(turn);
            is_right
        });
        if comparing.await.unwrap_or(false) { Ok(()) } else { Err(SignInRefusal::NotSignedIn) }
    }

    fn user(&self, name: &str) -> &User {
        self.users.get(name).unwrap_or(&self.unknown)
    }

    fn remembers(&self, checks: &PasswordChecks, given: &Credentials) -> bool {
        self.user(&given.name).remembers(&checks.key, &given.password)
    }

    /// Takes long.
    fn compare(&self, key: &hmac::Key, given: &Credentials) -> bool {
        let user = self.user(&given.name);
        let is_right = user.has_password(&given.password);
        if is_right {
            *user.remembered.lock() = Some(hmac::sign(key, &given.password));
        }
        is_right
    }
}

impl User {
    /// Checked: the digits can be read, and there is at least one iteration.
    fn new(spec: &SignInUser, most_iterations: u32) -> Self {
        Self {
            is_known: true,
            iterations: NonZeroU32::new(spec.iterations).unwrap_or(NonZeroU32::MIN),
            more: NonZeroU32::new(most_iterations.saturating_sub(spec.iterations)),
            salt: password::from_hex(&spec.salt).unwrap_or_default(),
            hash: password::from_hex(&spec.hash).unwrap_or_default(),
            remembered: Mutex::default(),
        }
    }

    fn unknown(iterations: u32) -> Self {
        Self {
            is_known: false,
            iterations: NonZeroU32::new(iterations).unwrap_or(NonZeroU32::MIN),
            more: None,
            salt: vec![0; password::SALT_LENGTH],
            hash: vec![0; password::HASH_LENGTH],
            remembered: Mutex::default(),
        }
    }

    fn remembers(&self, key: &hmac::Key, password: &[u8]) -> bool {
        let remembered = *self.remembered.lock();
        remembered.is_some_and(|tag| hmac::verify(key, password, tag.as_ref()).is_ok())
    }

    fn has_password(&self, password: &[u8]) -> bool {
        let is_same = password::is_password(password, self.iterations, &self.salt, &self.hash);
        if let Some(more) = self.more {
            password::is_password(password, more, &self.salt, &self.hash);
        }
        is_same && self.is_known
    }
}

#[cfg(test)]
mod tests;
