//! What a database gets once: a master key and the key of its audit chains. Both in one transaction, so that afterwards nothing else
//! can pass for them.

use std::path::Path;

use windlass_api::Timestamp;
use windlass_store::sealed::{self, INSTANCE_SECRET};
use windlass_store::{Db, Tx, master_keys};

use crate::clock::Ids;
use crate::service::audit::chain;
use crate::vault::ring::{KeySource, MasterKey, Ring, VARIABLE, write_file};
use crate::vault::unlock::{AUDIT_KEY, UnlockError, Unlocked, in_words, read, unlock_existing};
use crate::vault::{SealedCell, encrypt};

/// The keys of this database, made now if it has never had any. The caller has checked that it may get some.
pub async fn unlock(db: &Db, source: KeySource, ids: &Ids, now: Timestamp) -> Result<Unlocked, UnlockError> {
    let mut conn = db.read().await?;
    let is_keyed = master_keys::current(&mut conn).await?.is_some();
    drop(conn);
    if !is_keyed {
        give_keys(db, &source, ids, now).await?;
    }
    unlock_existing(db, source).await
}

async fn give_keys(db: &Db, source: &KeySource, ids: &Ids, now: Timestamp) -> Result<(), UnlockError> {
    let mut tx = db.begin().await?;
    // Another server on the same database may have been quicker; then its key counts.
    if !master_keys::claim_first(&mut tx).await? {
        return Ok(());
    }
    let ring = match (read(source)?, source) {
        (Some(ring), _) => ring,
        (None, KeySource::File(path)) => make_file(path)?,
        (None, KeySource::Environment(_)) => return Err(UnlockError::Source(format!("{VARIABLE} is empty"))),
    };
    let key = ring.newest().ok_or(UnlockError::Damaged("the ring is empty"))?;
    let audit_key = MasterKey::random().derive(AUDIT_KEY);
    record(&mut tx, key, &audit_key, ids, now).await?;
    chain::begin_instance_chain(&mut tx, &audit_key).await?;
    Ok(tx.commit().await?)
}

fn make_file(path: &Path) -> Result<Ring, UnlockError> {
    let ring = Ring(vec![MasterKey::random()]);
    write_file(path, &ring)
        .map_err(|error| UnlockError::Source(format!("{} cannot be written: {error}", path.display())))?;
    tracing::info!("made a master key: {}. Keep a copy of it, apart from the database.", path.display());
    Ok(ring)
}

async fn record(
    tx: &mut Tx,
    key: &MasterKey,
    audit_key: &[u8; 32],
    ids: &Ids,
    now: Timestamp,
) -> Result<(), UnlockError> {
    let row = master_keys::MasterKey {
        id: key.id().as_bytes().to_vec(),
        check_value: key.check_value().to_vec(),
        created_at: now,
    };
    master_keys::insert(tx, &row).await?;
    master_keys::set_first(tx, &row.id).await?;
    let place = SealedCell { column: INSTANCE_SECRET, row: ids.next(now) };
    let sealed = encrypt(key, place, audit_key).map_err(in_words)?;
    sealed::insert_instance_secret(tx, place.row, AUDIT_KEY, &sealed).await?;
    Ok(())
}
