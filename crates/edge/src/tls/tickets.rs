//! Session tickets: a visitor who comes again skips the expensive part of the handshake. The keys change every few
//! hours, and a process that takes over gets them, so that no visitor notices.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::RwLock;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::error::Unspecified;
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};
use tokio_rustls::rustls::server::ProducesTickets;

const NAME_LEN: usize = 16;
/// How long a key makes tickets. It reads them until it is twice as old.
const LIFETIME: Duration = Duration::from_secs(6 * 3600);

/// The secret of one key. It is handed from process to process, and is never written to disk.
#[derive(Clone, Serialize, Deserialize)]
struct TicketSecret {
    name: [u8; NAME_LEN],
    secret: [u8; 32],
    /// How old it is.
    age: Duration,
}

/// All that another process needs to read the tickets of this one, and to make its own.
#[derive(Clone, Serialize, Deserialize)]
pub struct TicketSecrets {
    current: TicketSecret,
    before: Option<TicketSecret>,
}

impl fmt::Debug for TicketSecrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("(hidden)")
    }
}

struct TicketKey {
    name: [u8; NAME_LEN],
    secret: [u8; 32],
    cipher: LessSafeKey,
    made: Instant,
}

struct Keys {
    current: TicketKey,
    before: Option<TicketKey>,
}

pub struct TicketKeys(RwLock<Keys>);

impl TicketKey {
    fn new(random: &SystemRandom) -> Result<Self, Unspecified> {
        let mut secret = TicketSecret { name: [0; NAME_LEN], secret: [0; 32], age: Duration::ZERO };
        random.fill(&mut secret.name)?;
        random.fill(&mut secret.secret)?;
        Self::from_secret(secret)
    }

    fn from_secret(TicketSecret { name, secret, age }: TicketSecret) -> Result<Self, Unspecified> {
        let cipher = LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, &secret)?);
        let made = Instant::now().checked_sub(age).unwrap_or_else(Instant::now);
        Ok(Self { name, secret, cipher, made })
    }

    fn to_secret(&self) -> TicketSecret {
        TicketSecret { name: self.name, secret: self.secret, age: self.made.elapsed() }
    }

    fn seal(&self, plain: &[u8]) -> Option<Vec<u8>> {
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).ok()?;
        let mut sealed = plain.to_vec();
        let (name, nonce_bytes) = (self.name, nonce);
        self.cipher.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(name), &mut sealed).ok()?;
        Some([&name[..], &nonce_bytes[..], &sealed].concat())
    }

    fn open(&self, nonce: [u8; NONCE_LEN], sealed: &[u8]) -> Option<Vec<u8>> {
        let mut bytes = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(nonce);
        let plain = self.cipher.open_in_place(nonce, Aad::from(self.name), &mut bytes).ok()?.len();
        bytes.truncate(plain);
        Some(bytes)
    }
}

impl TicketKeys {
    /// Those of the process before, or new ones.
    pub fn new(given: Option<TicketSecrets>) -> Result<Arc<Self>, Unspecified> {
        let keys = match given {
            Some(given) => Keys {
                current: TicketKey::from_secret(given.current)?,
                before: given.before.map(TicketKey::from_secret).transpose()?,
            },
            None => Keys { current: TicketKey::new(&SystemRandom::new())?, before: None },
        };
        Ok(Arc::new(Self(RwLock::new(keys))))
    }

    pub fn secrets(&self) -> TicketSecrets {
        let keys = self.0.read();
        TicketSecrets { current: keys.current.to_secret(), before: keys.before.as_ref().map(TicketKey::to_secret) }
    }

    /// Puts a new key in the place of one that is too old, and forgets one that is twice as old.
    fn renew(&self, lifetime: Duration) {
        let is_due = |keys: &Keys| {
            let is_over = keys.before.as_ref().is_some_and(|key| key.made.elapsed() >= lifetime * 2);
            (keys.current.made.elapsed() >= lifetime, is_over)
        };
        if is_due(&self.0.read()) == (false, false) {
            return;
        }
        let Ok(next) = TicketKey::new(&SystemRandom::new()) else { return };
        let mut keys = self.0.write();
        if is_due(&keys).0 {
            keys.before = Some(std::mem::replace(&mut keys.current, next));
        }
        if is_due(&keys).1 {
            keys.before = None;
        }
    }
}

impl ProducesTickets for TicketKeys {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        u32::try_from(LIFETIME.as_secs()).unwrap_or(u32::MAX)
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        self.renew(LIFETIME);
        self.0.read().current.seal(plain)
    }

    fn decrypt(&self, ticket: &[u8]) -> Option<Vec<u8>> {
        self.renew(LIFETIME);
        let (name, rest) = ticket.split_first_chunk::<NAME_LEN>()?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE_LEN>()?;
        let keys = self.0.read();
        let key = [Some(&keys.current), keys.before.as_ref()].into_iter().flatten().find(|key| key.name == *name)?;
        key.open(*nonce, sealed)
    }
}

impl fmt::Debug for TicketKeys {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("TicketKeys")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_are_read_by_the_next_process_and_after_one_change_of_keys() {
        let keys = TicketKeys::new(None).unwrap();
        let ticket = keys.encrypt(b"session").unwrap();
        assert!(!ticket.windows(7).any(|part| part == b"session"));
        assert_eq!(keys.decrypt(&ticket).unwrap(), b"session");

        let text = serde_json::to_string(&keys.secrets()).unwrap();
        let next = TicketKeys::new(Some(serde_json::from_str(&text).unwrap())).unwrap();
        assert_eq!(next.decrypt(&ticket).unwrap(), b"session");

        let old = next.secrets();
        let aged = |age| {
            let current = TicketSecret { age, ..old.current.clone() };
            TicketKeys::new(Some(TicketSecrets { current, before: None })).unwrap()
        };
        let next = aged(LIFETIME);
        assert_eq!(next.decrypt(&ticket).unwrap(), b"session", "made with the key before");
        assert_ne!(next.secrets().current.name, old.current.name);
        let late = aged(LIFETIME * 2);
        assert_eq!(late.decrypt(&ticket), None, "it is twice as old");
        assert!(late.secrets().before.is_none());
    }

    #[test]
    fn what_is_not_a_ticket_is_none() {
        let keys = TicketKeys::new(None).unwrap();
        let ticket = keys.encrypt(b"session").unwrap();
        for changed in [0, NAME_LEN, NAME_LEN + NONCE_LEN, ticket.len() - 1] {
            let mut wrong = ticket.clone();
            wrong[changed] ^= 1;
            assert_eq!(keys.decrypt(&wrong), None, "byte {changed}");
        }
        for length in [0, NAME_LEN, NAME_LEN + NONCE_LEN, ticket.len() - 1] {
            assert_eq!(keys.decrypt(&ticket[..length]), None, "{length} bytes");
        }
    }
}
