//! Secrets at rest. A caller that stores one calls [`Vault::seal`] in the transaction that writes it, a caller that
//! needs it back calls [`Vault::open`]. A ciphertext belongs to one column of one row: moved anywhere else it does not
//! open.
//!
//! The database says which key is the current one, so that all processes agree at every instant; the keys themselves
//! come from the data folder or the environment. A key that this process has not seen yet is looked up again, which is
//! how a running server learns of a rotation.

pub mod applications;
mod certificates;
pub mod code_hosts;
mod executions;
mod registry_credentials;
pub mod ring;
mod shared_variables;
pub mod unlock;

use std::sync::Arc;

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use parking_lot::RwLock;
use uuid::Uuid;
use windlass_store::sealed::Column;
use windlass_store::{Tx, master_keys};

use crate::error::{Error, Result};
use crate::random;
use ring::{KeyId, KeySource, MasterKey, Ring};

/// The first byte of a ciphertext, should there ever be another form.
const FORM: u8 = 1;
const NONCE: usize = 24;
/// Form and key id: by these the ciphertexts of a key are found.
const BEGINNING: usize = 1 + KeyId::LENGTH;

/// Where a secret is kept.
#[derive(Clone, Copy, Debug)]
pub struct SealedCell {
    pub column: Column,
    pub row: Uuid,
}

impl SealedCell {
    /// What the ciphertext is bound to.
    fn identity(&self) -> String {
        format!("windlass {}.{} {}", self.column.table, self.column.name, self.row)
    }
}

pub struct Vault {
    source: KeySource,
    ring: RwLock<Arc<Ring>>,
}

impl Vault {
    pub(crate) fn new(source: KeySource, ring: Ring) -> Self {
        Self { source, ring: RwLock::new(Arc::new(ring)) }
    }

    /// A ciphertext for this cell under the current key, which stays the current one until the transaction ends.
    pub async fn seal(&self, tx: &mut Tx, cell: SealedCell, secret: &[u8]) -> Result<Vec<u8>> {
        let id = master_keys::hold_current(tx).await?.and_then(|id| KeyId::try_from(id.as_slice()).ok());
        let id = id.ok_or_else(|| Error::internal("the database names no master key"))?;
        encrypt(&self.key(id).await?, cell, secret)
    }

    pub async fn open(&self, cell: SealedCell, sealed: &[u8]) -> Result<Vec<u8>> {
        let (id, _, _) = parts(sealed).ok_or_else(|| damaged(cell))?;
        decrypt(&self.key(id).await?, cell, sealed)
    }

    /// The same for a secret that is text.
    pub async fn open_text(&self, cell: SealedCell, sealed: &[u8]) -> Result<String> {
        String::from_utf8(self.open(cell, sealed).await?).map_err(|_| damaged(cell))
    }

    async fn key(&self, id: KeyId) -> Result<MasterKey> {
        let known = |ring: &Ring| ring.find(id).cloned();
        let ring = self.ring.read().clone();
        if let Some(key) = known(&ring) {
            return Ok(key);
        }
        let source = self.source.clone();
        let fresh = tokio::task::spawn_blocking(move || source.read()).await.map_err(Error::internal)?;
        let fresh = fresh.map_err(Error::internal)?.unwrap_or_default();
        let key = known(&fresh);
        let key = key.ok_or_else(|| {
            let message = "A secret cannot be read or written: this server lacks the master key that it is under.";
            Error::unavailable(message, format!("the master key {id} is not in {}", self.source))
        })?;
        *self.ring.write() = Arc::new(fresh);
        Ok(key)
    }
}

/// What every ciphertext under this key begins with.
pub(crate) fn beginning(id: KeyId) -> [u8; BEGINNING] {
    let mut bytes = [FORM; BEGINNING];
    bytes[1..].copy_from_slice(id.as_bytes());
    bytes
}

pub(crate) fn encrypt(key: &MasterKey, cell: SealedCell, secret: &[u8]) -> Result<Vec<u8>> {
    let nonce: [u8; NONCE] = random::bytes();
    let identity = cell.identity();
    let payload = Payload { msg: secret, aad: identity.as_bytes() };
    let encrypted = cipher(key).encrypt(&XNonce::from(nonce), payload);
    let encrypted = encrypted.map_err(|_| Error::internal("a secret is too long to encrypt"))?;
    Ok([&beginning(key.id())[..], &nonce, &encrypted].concat())
}

pub(crate) fn decrypt(key: &MasterKey, cell: SealedCell, sealed: &[u8]) -> Result<Vec<u8>> {
    let (_, nonce, encrypted) = parts(sealed).ok_or_else(|| damaged(cell))?;
    let identity = cell.identity();
    let payload = Payload { msg: encrypted, aad: identity.as_bytes() };
    cipher(key).decrypt(&XNonce::from(nonce), payload).map_err(|_| damaged(cell))
}

fn cipher(key: &MasterKey) -> XChaCha20Poly1305 {
    XChaCha20Poly1305::new(&key.derive("encryption").into())
}

pub(crate) fn parts(sealed: &[u8]) -> Option<(KeyId, [u8; NONCE], &[u8])> {
    let (beginning, rest) = sealed.split_at_checked(BEGINNING)?;
    let (nonce, encrypted) = rest.split_first_chunk()?;
    let (form, id) = beginning.split_first()?;
    (*form == FORM).then_some((KeyId::try_from(id).ok()?, *nonce, encrypted))
}

pub(crate) fn damaged(cell: SealedCell) -> Error {
    Error::internal(format!(
        "the ciphertext in {} does not open: it was changed or moved. Save that setting again, or remove it",
        cell.identity()
    ))
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use windlass_store::sealed::INSTANCE_SECRET;

    use super::*;

    const CELL: SealedCell = SealedCell { column: INSTANCE_SECRET, row: Uuid::from_u128(1) };

    #[test]
    fn opens_only_where_and_with_what_it_was_sealed() {
        let (key, other) = (MasterKey::random(), MasterKey::random());
        let sealed = encrypt(&key, CELL, b"hunter2").unwrap();
        assert_eq!(decrypt(&key, CELL, &sealed).unwrap(), b"hunter2");
        assert!(decrypt(&other, CELL, &sealed).is_err());
        assert!(decrypt(&key, SealedCell { row: Uuid::from_u128(2), ..CELL }, &sealed).is_err());
        let elsewhere = Column { name: "sealed_other", ..INSTANCE_SECRET };
        assert!(decrypt(&key, SealedCell { column: elsewhere, ..CELL }, &sealed).is_err());
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            // The key id itself is not part of what is authenticated: another one finds another key, or none.
            assert!((1..BEGINNING).contains(&at) || decrypt(&key, CELL, &changed).is_err(), "byte {at}");
            assert!(decrypt(&key, CELL, &sealed[..at]).is_err(), "cut at {at}");
        }
    }

    /// Installations that there are must be able to read what they have stored.
    #[test]
    fn what_was_sealed_long_ago_opens() {
        let ring = Ring::parse("BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=").unwrap();
        let sealed =
            STANDARD.decode("AaxW2GoJLH8wAAECAwQFBgcICQoLDA0ODxAREhMUFRYXaYDY5vVOgEJ5qNlh8Fwo39eQgwR3Viw=").unwrap();
        let (id, _, _) = parts(&sealed).unwrap();
        assert_eq!(decrypt(ring.find(id).unwrap(), CELL, &sealed).unwrap(), b"hunter2");
    }

    /// The database keeps the check value and the id of a key beside the ciphertexts.
    #[test]
    fn what_recognises_a_key_does_not_open_anything() {
        let key = MasterKey::random();
        assert!(!key.check_value().starts_with(key.id().as_bytes()));
        let sealed = encrypt(&key, CELL, b"hunter2").unwrap();
        let (_, nonce, encrypted) = parts(&sealed).unwrap();
        let identity = CELL.identity();
        let payload = Payload { msg: encrypted, aad: identity.as_bytes() };
        let cipher = XChaCha20Poly1305::new(&key.check_value().into());
        assert!(cipher.decrypt(&XNonce::from(nonce), payload).is_err());
    }

    #[test]
    fn no_two_ciphertexts_are_alike() {
        let key = MasterKey::random();
        assert_ne!(encrypt(&key, CELL, b"x").unwrap(), encrypt(&key, CELL, b"x").unwrap());
        assert!(encrypt(&key, CELL, b"x").unwrap().starts_with(&beginning(key.id())));
    }
}
