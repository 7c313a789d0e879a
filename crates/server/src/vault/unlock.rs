//! At start: is this the key of this database? A wrong or missing one is refused before anything is changed, and a key is
//! made only for a database that has never had one.

use std::path::Path;

use uuid::Uuid;
use windlass_api::Timestamp;
use windlass_store::sealed::{self, INSTANCE_SECRET};
use windlass_store::{Conn, Db, Tx, audit, instance, master_keys};

use super::ring::{KeyId, MasterKey, Ring, Source, VARIABLE, write_file};
use super::{Place, Vault, encrypt};
use crate::error::Error;

/// The name under which the key of the audit chains is kept. It is a key of its own, sealed by the master key, so that a
/// rotation leaves the chains verifiable.
const AUDIT_KEY: &str = "audit key";

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
        "master key: this database is filled but knows of no key, although there is one at {source_name}. Was the database \
         exchanged, or tampered with? If it comes from a version that had no keys, move that file away and start again. \
         Nothing was changed."
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
pub async fn check(db: &Db, source: &Source) -> Result<(), UnlockError> {
    let mut conn = db.read().await?;
    if !master_keys::are_known(&mut conn).await? {
        return Ok(());
    }
    let ring = read(source)?;
    match master_keys::current(&mut conn).await? {
        Some(_) => matching_ring(&mut conn, source, ring).await.map(drop),
        None => refuse_exchanged(&mut conn, source, ring.as_ref()).await,
    }
}

/// After the migrations: the keys of this database, made now if it has never had any.
pub async fn unlock(db: &Db, source: Source, new_id: Uuid, now: Timestamp) -> Result<Unlocked, UnlockError> {
    let ring = read(&source)?;
    let mut conn = db.read().await?;
    let is_keyed = master_keys::current(&mut conn).await?.is_some();
    drop(conn);
    if !is_keyed {
        first_start(db, &source, ring, new_id, now).await?;
    }
    unlock_existing(db, source).await
}

/// The keys of a database that has been started before: nothing is made and nothing is written.
pub async fn unlock_existing(db: &Db, source: Source) -> Result<Unlocked, UnlockError> {
    let mut conn = db.read().await?;
    if !master_keys::are_known(&mut conn).await? || master_keys::current(&mut conn).await?.is_none() {
        return Err(UnlockError::NeverStarted);
    }
    let ring = read(&source)?;
    let ring = matching_ring(&mut conn, &source, ring).await?;
    let sealed = sealed::instance_secret(&mut conn, AUDIT_KEY).await?;
    drop(conn);
    let sealed = sealed.ok_or(UnlockError::Damaged("the key of the audit chains is missing"))?;
    let vault = Vault::new(source, ring);
    let place = Place { column: INSTANCE_SECRET, row: sealed.id };
    let audit_key = vault.open(place, &sealed.value).await.map_err(in_words)?;
    let audit_key =
        audit_key.try_into().map_err(|_| UnlockError::Damaged("the key of the audit chains has a wrong length"))?;
    Ok(Unlocked { vault, audit_key })
}

fn read(source: &Source) -> Result<Option<Ring>, UnlockError> {
    source.read().map_err(UnlockError::Source)
}

/// The ring, if it holds every key that the database's ciphertexts may be under.
async fn matching_ring(conn: &mut Conn, source: &Source, ring: Option<Ring>) -> Result<Ring, UnlockError> {
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

/// A database without a key, beside a key file that says there was one.
async fn refuse_exchanged(conn: &mut Conn, source: &Source, ring: Option<&Ring>) -> Result<(), UnlockError> {
    let is_filled = instance::admin_registered(conn).await? || !audit::is_empty(conn).await?;
    match source {
        Source::File(_) if is_filled && ring.is_some() => Err(UnlockError::Unkeyed { source_name: source.to_string() }),
        _ => Ok(()),
    }
}

async fn first_start(
    db: &Db,
    source: &Source,
    ring: Option<Ring>,
    new_id: Uuid,
    now: Timestamp,
) -> Result<(), UnlockError> {
    let mut tx = db.begin().await?;
    // Another server on the same database may have been quicker; then its key counts.
    if !master_keys::claim_first(&mut tx).await? {
        return Ok(());
    }
    let ring = match (ring, source) {
        (Some(ring), _) => ring,
        (None, Source::File(path)) => make_file(path)?,
        (None, Source::Environment(_)) => return Err(UnlockError::Source(format!("{VARIABLE} is empty"))),
    };
    let key = ring.newest().ok_or(UnlockError::Damaged("the ring is empty"))?;
    record(&mut tx, key, new_id, now).await?;
    Ok(tx.commit().await?)
}

fn make_file(path: &Path) -> Result<Ring, UnlockError> {
    let ring = Ring(vec![MasterKey::random()]);
    write_file(path, &ring)
        .map_err(|error| UnlockError::Source(format!("{} cannot be written: {error}", path.display())))?;
    tracing::info!("made a master key: {}. Keep a copy of it, apart from the database.", path.display());
    Ok(ring)
}

async fn record(tx: &mut Tx, key: &MasterKey, new_id: Uuid, now: Timestamp) -> Result<(), UnlockError> {
    let row = master_keys::MasterKey {
        id: key.id().as_bytes().to_vec(),
        check_value: key.check_value().to_vec(),
        created_at: now,
    };
    master_keys::insert(tx, &row).await?;
    master_keys::set_current(tx, &row.id).await?;
    let place = Place { column: INSTANCE_SECRET, row: new_id };
    let audit_key = encrypt(key, place, &MasterKey::random().derive(AUDIT_KEY)).map_err(in_words)?;
    sealed::insert_instance_secret(tx, new_id, AUDIT_KEY, &audit_key).await?;
    Ok(())
}

fn in_words(error: Error) -> UnlockError {
    UnlockError::Cipher(error.cause.unwrap_or(error.message))
}
