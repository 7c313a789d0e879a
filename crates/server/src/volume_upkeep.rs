//! What volumes need from time to time: deleted ones go when their time is over, sizes are measured, snapshots that are due are asked
//! for, and files of deleted snapshots are removed.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use windlass_api::{SnapshotOrigin, Timestamp, Wanted};
use windlass_store::volumes::{self, Volume};
use windlass_store::{applications, containers, jobs, organizations, snapshots};

use crate::deploy::Result;
use crate::engine_health::EngineState;
use crate::host::Host;
use crate::mounts;
use crate::service;
use crate::snapshot_files;

const INTERVAL: Duration = Duration::from_secs(10);
/// Measuring reads every file name of every volume.
const BETWEEN_MEASUREMENTS: Duration = Duration::from_secs(900);
/// A server that starts has other things to do.
const BEFORE_FIRST_MEASUREMENT: Duration = Duration::from_secs(60);
/// So much is done in one round; the next comes soon.
const AT_ONCE: i64 = 50;

/// Runs until it is dropped.
pub async fn run(host: Arc<Host>) {
    let mut next_measurement = Instant::now() + BEFORE_FIRST_MEASUREMENT;
    loop {
        // Not before it is known that another installation does not hold what this one would change.
        if host.app.engine_health.seen() == EngineState::Well {
            note("deleted volumes could not be removed", remove_deleted(&host).await);
            note("snapshots that are due could not be asked for", ask_for_due(&host).await);
            if Instant::now() >= next_measurement {
                next_measurement = Instant::now() + BETWEEN_MEASUREMENTS;
                note("volumes could not be measured", measure(&host).await);
                note("the use of volumes could not be stored", note_use(&host).await);
                sweep_files(&host).await;
            }
        }
        note("files of deleted snapshots could not be removed", remove_snapshots(&host).await);
        tokio::time::sleep(INTERVAL).await;
    }
}

fn note(what: &str, done: Result<()>) {
    if let Err(problem) = done {
        tracing::warn!(?problem, "{what}; trying again");
    }
}

/// Those whose time is over, unless a container still has them.
async fn remove_deleted(host: &Host) -> Result<()> {
    let before = host.app.now().plus_seconds(-host.app.config.volume_grace_seconds);
    let due = volumes::deleted_before(&mut host.app.db.read().await?, before, AT_ONCE).await?;
    for volume in due {
        if is_in_use(host, &volume).await? || !give_up(host, &volume, before).await? {
            continue;
        }
        if is_ours(host, &volume).await? {
            match host.remove_volume(&volume.engine_name).await {
                Err(error @ windlass_runtime::Error::Conflict { .. }) => {
                    tracing::debug!(%error, volume = volume.engine_name, "a deleted volume is still in use");
                    continue;
                }
                removed => removed?,
            }
        }
        tracing::info!(volume = volume.name, application = volume.application_name, "removed a deleted volume");
        let mut work = host.app.begin_step().await?;
        volumes::delete(&mut work, volume.id).await?;
        work.commit().await?;
    }
    Ok(())
}

/// Whether there is something on the engine that this installation may remove.
async fn is_ours(host: &Host, volume: &Volume) -> Result<bool> {
    Ok(volume.host_path.is_empty() && host.owns_volume(&volume.engine_name).await?)
}

/// From now on it cannot be attached. False when it was attached in the last moment.
async fn give_up(host: &Host, volume: &Volume, before: Timestamp) -> Result<bool> {
    let mut work = host.app.begin_step().await?;
    organizations::lock(&mut work, volume.organization_id).await?;
    let now = volumes::get(&mut work, volume.id).await?;
    let is_due = now.is_some_and(|now| now.deleted_at.is_some_and(|at| at <= before.micros()));
    if is_due {
        volumes::give_up(&mut work, volume.id).await?;
        work.commit().await?;
    }
    Ok(is_due)
}

/// Whether a container has it, or a job of its application may be about to give it to one.
async fn is_in_use(host: &Host, volume: &Volume) -> Result<bool> {
    let Some(application_id) = volume.application_id else { return Ok(false) };
    let mut conn = host.app.db.read().await?;
    if !jobs::of_application(&mut conn, application_id).await?.is_empty() {
        return Ok(true);
    }
    for container in containers::of_application(&mut conn, application_id).await? {
        if mounts::has_volume(&container, &volume.engine_name)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// One for each volume, whose next moment is set in the same transaction: no server asks for it twice.
async fn ask_for_due(host: &Host) -> Result<()> {
    let now = host.app.now();
    let due = volumes::due(&mut host.app.db.read().await?, now, AT_ONCE).await?;
    for volume in due {
        let mut work = host.app.begin_step().await?;
        let Some(application_id) = volume.application_id else { continue };
        let application = applications::lock(&mut work, application_id).await?;
        let volume = volumes::get(&mut work, volume.id).await?;
        let (Some(application), Some(volume)) = (application, volume) else { continue };
        let is_due = volume.next_snapshot_at.is_some_and(|at| at <= now.micros()) && volume.deleted_at.is_none();
        if !is_due {
            continue;
        }
        let next = (volume.snapshot_hours > 0).then(|| now.plus_seconds(3_600 * volume.snapshot_hours));
        volumes::set_next_snapshot(&mut work, volume.id, next).await?;
        let pending = snapshots::pending_of(&mut work, application_id).await?;
        let is_waiting = pending.iter().any(|snapshot| snapshot.volume_id == volume.id);
        if volume.used_at.is_some() && application.wanted != Wanted::Deleted && !is_waiting {
            service::snapshots::enqueue(&mut work, &application, &volume, SnapshotOrigin::Schedule).await?;
        }
        work.commit().await?;
    }
    Ok(())
}

async fn measure(host: &Host) -> Result<()> {
    let (sizes, now) = (host.volume_sizes().await?, host.app.now());
    for (engine_name, bytes) in sizes {
        let mut work = host.app.begin_step().await?;
        volumes::set_size(&mut work, &engine_name, i64::try_from(bytes).unwrap_or(i64::MAX), now).await?;
        work.commit().await?;
    }
    Ok(())
}

/// What live containers have is in use.
async fn note_use(host: &Host) -> Result<()> {
    let rows = containers::all(&mut host.app.db.read().await?).await?;
    for row in rows.iter().filter(|row| row.stage == containers::Stage::Live) {
        for engine_name in mounts::engine_names(row)? {
            // One at a time: a transaction that holds several would wait for others that hold them in another order.
            let mut work = host.app.begin_step().await?;
            volumes::set_used(&mut work, &engine_name, host.app.now()).await?;
            work.commit().await?;
        }
    }
    Ok(())
}

async fn remove_snapshots(host: &Host) -> Result<()> {
    let all = snapshots::deleted(&mut host.app.db.read().await?, AT_ONCE).await?;
    for snapshot in all {
        service::snapshots::remove(&host.app, snapshot.id).await?;
    }
    Ok(())
}

async fn sweep_files(host: &Host) {
    if let Err(error) = snapshot_files::sweep(&host.app.config).await {
        tracing::warn!(%error, "what is left of unfinished snapshots could not be removed");
    }
}
