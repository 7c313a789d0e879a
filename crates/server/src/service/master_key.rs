//! A new master key for the old one, while servers run.
//!
//! 1. The new key joins the old one in the file, so that every process can find both.
//! 2. The database makes it the current one: from here on everything new is sealed under it.
//! 3. What is under the old key is sealed anew, a few at a time.
//! 4. When nothing is left, the database forgets the old key, 5. and so does the file.
//!
//! Each step can be repeated and each begins where an interrupted one has left off, so a process that dies anywhere
//! leaves everything readable, and running the command again finishes the work.

use std::path::Path;

use uuid::Uuid;
use windlass_store::sealed::{self, COLUMNS, Column};
use windlass_store::{Conn, master_keys};

use crate::app::App;
use crate::error::Error;
use crate::service::audit::{Action, Actor, Change, Resource};
use crate::vault::ring::{KeyId, KeySource, MasterKey, Ring, VARIABLE, write_file};
use crate::vault::{self, SealedCell, beginning, decrypt, encrypt};
use windlass_durable::kill_point;

const BATCH: i64 = 100;

/// What was done, for the operator.
#[derive(Debug, PartialEq, Eq)]
pub struct Rotated {
    pub from: KeyId,
    pub to: KeyId,
    pub secrets: u64,
}

/// The points at which a test interrupts it.
pub const KILL_POINTS: [&str; 6] = [
    "rotate-before-file",
    "rotate-after-file",
    "rotate-after-switch",
    "rotate-after-first-secret",
    "rotate-after-forgetting",
    "rotate-after-cleaning",
];

/// Step 1 alone, for those who must give the new key to other servers before it is used. True when it was needed.
pub async fn prepare(app: &App, source: &KeySource) -> Result<bool, Error> {
    let KeySource::File(path) = source else {
        return Err(Error::internal(format!("{VARIABLE} holds the keys: append the new one there")));
    };
    let ring = source.read().map_err(Error::internal)?.unwrap_or_default();
    let mut conn = app.db.read().await?;
    let (known, current) = (master_keys::all(&mut conn).await?, current(&mut conn).await?);
    drop(conn);
    if known.len() > 1 {
        return Err(Error::internal("a rotation was interrupted. Finish it first: run rotate-key without --prepare."));
    }
    if !ring.after(current).is_empty() {
        return Ok(false);
    }
    add_key(path, &ring, current).await?;
    Ok(true)
}

pub async fn rotate(app: &App, source: &KeySource) -> Result<Rotated, Error> {
    let ring = source.read().map_err(Error::internal)?.unwrap_or_default();
    let mut conn = app.db.read().await?;
    let known = master_keys::all(&mut conn).await?;
    let current = current(&mut conn).await?;
    drop(conn);
    // Two known keys: a rotation was interrupted after its switch and is finished now.
    let to = if known.len() > 1 { current } else { switch(app, source, &ring, current).await? };
    let mut known = known.iter().filter_map(|row| KeyId::try_from(row.id.as_slice()).ok());
    let from = known.find(|id| *id != to).unwrap_or(current);
    let ring = source.read().map_err(Error::internal)?.unwrap_or_default();
    let mut secrets = 0;
    for column in COLUMNS {
        secrets += seal_anew(app, &ring, column, to).await?;
    }
    forget_others(app, to).await?;
    kill_point::reached("rotate-after-forgetting");
    if let KeySource::File(path) = source {
        let newest = ring.find(to).cloned().into_iter().collect();
        write(path, &Ring(newest)).await?;
    }
    kill_point::reached("rotate-after-cleaning");
    Ok(Rotated { from, to, secrets })
}

async fn current(conn: &mut Conn) -> Result<KeyId, Error> {
    let id = master_keys::current(conn).await?.and_then(|id| KeyId::try_from(id.as_slice()).ok());
    id.ok_or_else(|| Error::internal("the database names no master key"))
}

/// Steps 1 and 2.
async fn switch(app: &App, source: &KeySource, ring: &Ring, current: KeyId) -> Result<KeyId, Error> {
    let key = match (ring.after(current).last(), source) {
        // The environment's second key, or one that an interrupted rotation has put into the file.
        (Some(key), _) => key.clone(),
        (None, KeySource::File(path)) => add_key(path, ring, current).await?,
        (None, KeySource::Environment(_)) => {
            return Err(Error::internal(format!(
                "{VARIABLE} holds no newer key than the current one. Append one, separated by a comma \
                 (openssl rand -base64 32 makes it), restart every server with it, and run this again."
            )));
        }
    };
    let row = master_keys::MasterKey {
        id: key.id().as_bytes().to_vec(),
        check_value: key.check_value().to_vec(),
        created_at: app.now(),
    };
    let mut work = app.begin().await?;
    master_keys::insert(&mut work, &row).await?;
    if !master_keys::exchange_current(&mut work, current.as_bytes(), &row.id).await? {
        return Err(Error::internal("the master key was rotated by another command meanwhile. Run the command again."));
    }
    let change = Change {
        organization_id: None,
        action: Action::Update,
        resource: Resource::MasterKey,
        resource_id: Uuid::nil(),
        summary: "rotated the master key",
        details: &[("from", &current.to_string()), ("to", &key.id().to_string())],
    };
    work.record(&Actor::Operator, &change);
    work.commit().await?;
    kill_point::reached("rotate-after-switch");
    Ok(key.id())
}

async fn add_key(path: &Path, ring: &Ring, current: KeyId) -> Result<MasterKey, Error> {
    let key = MasterKey::random();
    // What is older than the only key that the database knows is left over from a rotation that did not come to its
    // last step.
    let kept = ring.find(current).cloned().into_iter().chain([key.clone()]).collect();
    kill_point::reached("rotate-before-file");
    write(path, &Ring(kept)).await?;
    kill_point::reached("rotate-after-file");
    Ok(key)
}

async fn write(path: &Path, ring: &Ring) -> Result<(), Error> {
    let (path, ring) = (path.to_owned(), ring.clone());
    let written = tokio::task::spawn_blocking(move || write_file(&path, &ring)).await.map_err(Error::internal)?;
    written.map_err(|error| Error::internal(format!("the file of the master key cannot be written: {error}")))
}

/// Step 3 for one column.
async fn seal_anew(app: &App, ring: &Ring, column: Column, to: KeyId) -> Result<u64, Error> {
    let missing = |id: KeyId| Error::internal(format!("the master key {id} is missing"));
    let key = ring.find(to).ok_or_else(|| missing(to))?;
    let mut done = 0;
    loop {
        let mut conn = app.db.read().await?;
        let batch = sealed::beginning_otherwise(&mut conn, column, &beginning(to), BATCH).await?;
        drop(conn);
        if batch.is_empty() {
            return Ok(done);
        }
        for old in batch {
            let place = SealedCell { column, row: old.id };
            let (id, _, _) = vault::parts(&old.value).ok_or_else(|| vault::damaged(place))?;
            let secret = decrypt(ring.find(id).ok_or_else(|| missing(id))?, place, &old.value)?;
            let mut tx = app.db.begin().await?;
            sealed::replace(&mut tx, column, old.id, &old.value, &encrypt(key, place, &secret)?).await?;
            tx.commit().await?;
            kill_point::reached("rotate-after-first-secret");
            done += 1;
        }
    }
}

/// Step 4, only if nothing is under another key any more.
async fn forget_others(app: &App, to: KeyId) -> Result<(), Error> {
    let mut tx = app.db.begin().await?;
    for column in COLUMNS {
        if !sealed::beginning_otherwise(&mut tx, column, &beginning(to), 1).await?.is_empty() {
            return Err(Error::internal("a secret is still under the old key. Run the command again."));
        }
    }
    master_keys::keep_only(&mut tx, to.as_bytes()).await?;
    Ok(tx.commit().await?)
}
