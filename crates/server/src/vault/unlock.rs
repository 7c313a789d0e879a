//! At start: is this the key of this database? A wrong or missing one is refused before anything is changed, and a key
//! is made only for a database that has never had one.

use windlass_store::sealed::{self, INSTANCE_SECRET};
use windlass_store::{Conn, Db, instance, master_keys};

use super::ring::{KeyId, KeySource, Ring, VARIABLE};
use super::{SealedCell, Vault};
use crate::error::Error;

/// The name under which the key of the audit chains is kept. It is a key of its own, sealed by the master key, so that
/// a rotation leaves the chains verifiable.
pub const AUDIT_KEY: &str = "audit key";

#[derive(Debug, thiserror::Error)]
pub enum UnlockError {
    #[error("master key: {0}")]
    Source(String),
    #[error(
        "master key: the secrets in this database are encrypted, and there is no key at {source_name}. Put back the file \
         that was there, or set {VARIABLE}. Nothing was changed."
    )]
    Missing { source_name: String },
    #[error(
        "master key: {source_name} does not hold the key of this database ({needed}), but {held}. Put back the right \
         one. Nothing was changed."
    )]
    Wrong { source_name: String, needed: KeyId, held: String },
    #[error(
        "master key: this database is filled but knows of no key, although one may be at {source_name}. Was the database \
         exchanged, or tampered with? Put back the one that belongs to this installation. Nothing was changed."
    )]
    Unkeyed { source_name: String },
    #[error("master key: the database is damaged: {0}. Nothing was changed.")]
    Damaged(&'static str),
    #[error("this version of Windlass has not been started on this database yet: run `windlass serve` first")]
    NeverStarted,
    #[error(transparent)]
    Store(#[from] windlass_store::Error),
    #[error("master key: {0}")]
    Cipher(String),
}

/// What a server needs to be able to work: the keys.
pub struct Unlocked {
    pub vault: Vault,
    pub audit_key: [u8; 32],
}

/// Whether the key fits, without writing anything: not even a migration has run.
pub async fn check(db: &Db, source: &KeySource) -> Result<(), UnlockError> {
    let ring = read(source)?;
    let mut conn = db.read().await?;
    if !instance::is_known(&mut conn).await? {
        return Ok(());
    }
    if master_keys::current(&mut conn).await?.is_some() {
        let ring = matching_ring(&mut conn, source, ring).await?;
        return open_audit_key(&mut conn, &Vault::new(source.clone(), ring)).await.map(drop);
    }
    // A database gets its key before it gets anything else.
    if !master_keys::is_untouched(&mut conn).await? || instance::admin_registered(&mut conn).await? {
        return Err(UnlockError::Unkeyed { source_name: source.to_string() });
    }
    Ok(())
}

/// The keys of a database that has been started before: nothing is made and nothing is written.
pub async fn unlock_existing(db: &Db, source: KeySource) -> Result<Unlocked, UnlockError> {
    let mut conn = db.read().await?;
    if !instance::is_known(&mut conn).await? || master_keys::current(&mut conn).await?.is_none() {
        return Err(UnlockError::NeverStarted);
    }
    let ring = read(&source)?;
    let ring = matching_ring(&mut conn, &source, ring).await?;
    let vault = Vault::new(source, ring);
    let audit_key = open_audit_key(&mut conn, &vault).await?;
    Ok(Unlocked { vault, audit_key })
}

async fn open_audit_key(conn: &mut Conn, vault: &Vault) -> Result<[u8; 32], UnlockError> {
    let sealed = sealed::instance_secret(conn, AUDIT_KEY).await?;
    let sealed = sealed.ok_or(UnlockError::Damaged("the key of the audit chains is missing"))?;
    let cell = SealedCell { column: INSTANCE_SECRET, row: sealed.id };
    let key = vault.open(cell, &sealed.value).await.map_err(in_words)?;
    key.try_into().map_err(|_| UnlockError::Damaged("the key of the audit chains has a wrong length"))
}

pub fn read(source: &KeySource) -> Result<Option<Ring>, UnlockError> {
    source.read().map_err(UnlockError::Source)
}

/// The ring, if it holds every key that the database's ciphertexts may be under.
async fn matching_ring(conn: &mut Conn, source: &KeySource, ring: Option<Ring>) -> Result<Ring, UnlockError> {
    let source_name = source.to_string();
    let ring = ring.ok_or(UnlockError::Missing { source_name: source_name.clone() })?;
    for row in master_keys::all(conn).await? {
        let needed =
            KeyId::try_from(row.id.as_slice()).map_err(|_| UnlockError::Damaged("a key id has a wrong length"))?;
        let fits = ring.find(needed).is_some_and(|key| key.check_value() == row.check_value.as_slice());
        if !fits {
            let held = ring.0.iter().map(|key| key.id().to_string()).collect::<Vec<_>>().join(", ");
            return Err(UnlockError::Wrong { source_name, needed, held });
        }
    }
    Ok(ring)
}

pub fn in_words(error: Error) -> UnlockError {
    UnlockError::Cipher(error.cause.unwrap_or(error.message))
}
