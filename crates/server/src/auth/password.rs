//! Argon2id, away from the async threads and a few at a time: each hash takes tens of milliseconds and 19 MiB.

use std::sync::Arc;
use std::time::Duration;

use argon2::{Algorithm, Argon2, Params, PasswordHasher, PasswordVerifier, Version};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use windlass_edge::password::{PasswordHash, hash_password};

use crate::error::{Error, Result};

const TOO_MANY_LOGINS: &str = "Too many logins at once. Try again in a moment.";
/// How long a password may wait for its turn.
const WAIT: Duration = Duration::from_secs(5);

/// How much work a hash is. Each hash says its own, so that those of before stay valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PasswordCost {
    pub memory_kib: u32,
    pub passes: u32,
    /// Of the passwords of visitors, for which the edge has no memory to give.
    pub edge_iterations: u32,
}

impl Default for PasswordCost {
    /// As OWASP recommends.
    fn default() -> Self {
        Self { memory_kib: 19_456, passes: 2, edge_iterations: 600_000 }
    }
}

pub struct Passwords {
    cost: PasswordCost,
    turns: Arc<Semaphore>,
    /// Of those that visitors give to the edge: members set many at once, and must not keep users from logging in.
    edge_turns: Arc<Semaphore>,
    /// The hash of no password. Checking against it makes an unknown account cost what a known one does.
    no_user: Arc<str>,
}

impl Passwords {
    pub fn new(parallel: usize, cost: PasswordCost) -> Self {
        let PasswordCost { memory_kib, passes, .. } = cost;
        // The salt and parameters matter for the time it takes; the hash itself matches no password.
        let no_user = format!(
            "$argon2id$v=19$m={memory_kib},t={passes},p=1$bm9ib2R5IGhhcyB0aGlz$\
             AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
        );
        Self {
            cost,
            turns: Arc::new(Semaphore::new(parallel)),
            edge_turns: Arc::new(Semaphore::new(1)),
            no_user: no_user.into(),
        }
    }

    pub async fn hash(&self, password: &str) -> Result<String> {
        let turn = turn(&self.turns, TOO_MANY_LOGINS).await?;
        let password = password.to_owned();
        let params = Params::new(self.cost.memory_kib, self.cost.passes, 1, None).map_err(Error::internal)?;
        let hash = tokio::task::spawn_blocking(move || {
            let _held_until_done = turn;
            Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
                .hash_password(password.as_bytes())
                .map(|hash| hash.to_string())
        });
        hash.await.map_err(Error::internal)?.map_err(Error::internal)
    }

    /// Of a password that visitors of an application give to the edge, which compares it; and the iterations that it takes.
    pub async fn hash_for_edge(&self, password: &str) -> Result<(PasswordHash, u32)> {
        let turn = turn(&self.edge_turns, "Too many passwords are set at once. Try again in a moment.").await?;
        let (password, iterations) = (password.to_owned(), self.cost.edge_iterations);
        let hash = tokio::task::spawn_blocking(move || {
            let _held_until_done = turn;
            hash_password(&password, iterations)
        });
        Ok((hash.await.map_err(Error::internal)?.map_err(Error::internal)?, iterations))
    }

    /// Takes the same time whether there is a hash to compare with or not.
    pub async fn verify(&self, password: &str, hash: Option<&str>) -> Result<bool> {
        let turn = turn(&self.turns, TOO_MANY_LOGINS).await?;
        let known = hash.is_some();
        let hash = hash.unwrap_or(&self.no_user).to_owned();
        let password = password.to_owned();
        let matches = tokio::task::spawn_blocking(move || {
            let _held_until_done = turn;
            Argon2::default().verify_password(password.as_bytes(), hash.as_str()).is_ok()
        });
        Ok(matches.await.map_err(Error::internal)? && known)
    }
}

/// It belongs to the work, not to the caller: a caller who goes away does not stop the hashing.
async fn turn(turns: &Arc<Semaphore>, words: &'static str) -> Result<OwnedSemaphorePermit> {
    let busy = |cause| Error::unavailable(words, cause);
    match tokio::time::timeout(WAIT, turns.clone().acquire_owned()).await {
        Ok(Ok(turn)) => Ok(turn),
        Ok(Err(closed)) => Err(busy(closed.to_string())),
        Err(late) => Err(busy(late.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn tells_right_from_wrong() {
        let passwords = Passwords::new(1, PasswordCost::default());
        let hash = passwords.hash("correct horse").await.unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert!(passwords.verify("correct horse", Some(&hash)).await.unwrap());
        assert!(!passwords.verify("battery staple", Some(&hash)).await.unwrap());
    }

    #[tokio::test]
    async fn a_caller_who_goes_away_frees_no_turn() {
        let passwords = Passwords::new(1, PasswordCost::default());
        let mut verify = Box::pin(passwords.verify("wrong", None));
        assert!(tokio::time::timeout(Duration::from_millis(1), &mut verify).await.is_err());
        drop(verify);
        assert_eq!(passwords.turns.available_permits(), 0);
        let turn = tokio::time::timeout(WAIT, passwords.turns.acquire()).await;
        assert!(turn.is_ok(), "the turn never comes back");
    }

    #[tokio::test]
    async fn nobody_takes_as_long_as_somebody() {
        let passwords = Passwords::new(1, PasswordCost::default());
        let hash = passwords.hash("correct horse").await.unwrap();
        // The shortest of each, of as many tries as a busy machine needs.
        let (mut times, mut ratio) = ([Duration::MAX; 2], 0.0);
        for _ in 0..50 {
            for (best, hash) in times.iter_mut().zip([Some(hash.as_str()), None]) {
                let start = std::time::Instant::now();
                assert!(!passwords.verify("wrong", hash).await.unwrap());
                *best = start.elapsed().min(*best);
            }
            ratio = times[1].as_secs_f64() / times[0].as_secs_f64();
            if (0.5..2.0).contains(&ratio) {
                return;
            }
        }
        panic!("known and unknown take {times:?}: {ratio}");
    }
}
