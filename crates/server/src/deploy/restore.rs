//! restore: what a volume held once, into a new volume on the engine, beside the one that is in use. The switch exchanges them. Until
//! then nothing of what is live has changed, and a deployment that fails leaves it so.

use uuid::Uuid;
use windlass_api::{Failure, LogStep, SnapshotState};
use windlass_durable::kill_point;
use windlass_store::deployments::Deployment;
use windlass_store::snapshots::{self, Snapshot};
use windlass_store::volumes::{self, Volume};

use super::attempt::Attempt;
use super::failure::{Interruption, Result, failed};
use super::helper::Helper;
use super::volumes::make_on_engine;
use crate::labels::short;
use crate::mounts::Mounted;
use crate::service::restores::Restore;
use crate::service::work::Work;
use crate::snapshot_files;
use crate::subject::SubjectError;

fn read_restores(json: &str) -> std::result::Result<Vec<Restore>, SubjectError> {
    serde_json::from_str(json)
        .map_err(|error| SubjectError::Unreadable(format!("the restores cannot be read: {error}")))
}

/// The volumes that a deployment brings back. What they hold now is of no matter to it.
pub fn restored_volumes(deployment: &Deployment) -> Result<Vec<Uuid>> {
    Ok(read_restores(&deployment.restores)?.into_iter().map(|restore| restore.volume_id).collect())
}

/// Fills a new volume for each that is brought back, and lets the containers have it.
pub async fn prepare(attempt: &Attempt<'_>, mounts: &mut [&mut Mounted]) -> Result<()> {
    for restore in read_restores(&attempt.deployment.restores)? {
        if !mounts.iter().any(|mounted| mounted.volume_id == restore.volume_id) {
            return failed(
                Failure::VolumeUnusable,
                "the volume that was to be restored was deleted, or is not used any more",
            );
        }
        attempt.log.enter(LogStep::Data);
        let beside = beside(attempt, restore).await?;
        if beside.used_at.is_none() {
            fill(attempt, &beside, restore.snapshot_id).await?;
        }
        for mounted in mounts.iter_mut().filter(|mounted| mounted.volume_id == restore.volume_id) {
            mounted.engine_name.clone_from(&beside.engine_name);
        }
    }
    Ok(())
}

fn name_beside(attempt: &Attempt<'_>, restore: Restore) -> String {
    format!("wl-volume-{}-{}", restore.volume_id.simple(), short(attempt.deployment.id))
}

/// The row of the new volume. It counts as given up, so that it goes by itself if the deployment fails.
async fn beside(attempt: &Attempt<'_>, restore: Restore) -> Result<Volume> {
    let (engine_name, app) = (name_beside(attempt, restore), &attempt.host.app);
    let mut work = attempt.held.begin().await?;
    if let Some(stored) = volumes::by_engine_name(&mut work, &engine_name).await? {
        return Ok(stored);
    }
    let volume = volumes::get(&mut work, restore.volume_id).await?.ok_or(Interruption::Lost)?;
    let (id, now) = (app.new_id(), app.now());
    let beside = Volume {
        id,
        engine_name,
        size_bytes: None,
        measured_at: None,
        used_at: None,
        next_snapshot_at: None,
        deleted_at: Some(volumes::GIVEN_UP),
        created_at: now,
        updated_at: now,
        ..volume
    };
    volumes::insert(&mut work, &beside).await?;
    work.commit().await?;
    kill_point::reached("data-restore-stored");
    Ok(beside)
}

/// Can run twice: what is in the tar is written over.
async fn fill(attempt: &Attempt<'_>, beside: &Volume, snapshot_id: Uuid) -> Result<()> {
    let host = attempt.host;
    let snapshot = snapshots::get(&mut host.app.db.read().await?, snapshot_id).await?;
    let Some(snapshot) = snapshot.filter(|snapshot| snapshot.state == SnapshotState::Ready) else {
        return failed(Failure::SnapshotFailed, "the snapshot was deleted");
    };
    attempt
        .log
        .note(format!("Restoring the volume {} from the snapshot of {}", beside.name, snapshot.created_at))
        .await;
    make_on_engine(host, beside).await?;
    let helper = Helper::of_volume(host, beside.id, beside.application_id, Mounted::of(beside).mount()).await?;
    let filled = unpack(attempt, &helper, &snapshot).await;
    helper.remove(host).await?;
    filled?;
    let (mut work, now) = (attempt.held.begin().await?, host.app.now());
    // From now on it is as it should be, and is not filled again.
    volumes::set_used(&mut work, &beside.engine_name, now).await?;
    volumes::set_size(&mut work, &beside.engine_name, snapshot.size_bytes, now).await?;
    work.commit().await?;
    kill_point::reached("data-restored");
    Ok(())
}

async fn unpack(attempt: &Attempt<'_>, helper: &Helper, snapshot: &Snapshot) -> Result<()> {
    let (host, config) = (attempt.host, &attempt.host.app.config);
    let unreadable = |error: std::io::Error| {
        Interruption::Failed(Failure::SnapshotFailed, format!("the file of the snapshot: {error}"))
    };
    let (uid, gid, mode) = snapshot_files::root(config, snapshot.id).await.map_err(unreadable)?;
    let (pieces, reading) = snapshot_files::pieces(config, snapshot.id).await.map_err(unreadable)?;
    let unpacked = host.extract(&helper.name, helper.path(), pieces, config.snapshot_limit).await;
    let read = reading.await.unwrap_or_else(|error| Err(std::io::Error::other(error)));
    // Why a file could not be read says more than what the engine makes of that.
    let read = match (unpacked, read) {
        (_, Err(error)) if error.kind() != std::io::ErrorKind::BrokenPipe => return Err(unreadable(error)),
        (Err(error), _) => return Err(error.into()),
        (Ok(()), read) => read.map_err(unreadable)?,
    };
    if read.sha256 != snapshot.sha256 {
        let words =
            "the file of the snapshot is not what was written: its checksum is another one. Nothing was restored";
        return failed(Failure::SnapshotFailed, words);
    }
    Ok(host.set_owner(&helper.name, helper.path(), uid, gid, mode).await?)
}

/// In the switch: what the application's volumes were until now can be attached again for a while.
pub async fn exchange(work: &mut Work<'_>, attempt: &Attempt<'_>) -> Result<()> {
    for restore in read_restores(&attempt.deployment.restores)? {
        let beside = volumes::by_engine_name(work, &name_beside(attempt, restore)).await?;
        let volume = volumes::get(work, restore.volume_id).await?;
        let (Some(beside), Some(volume)) = (beside, volume) else { return Err(Interruption::Lost) };
        volumes::exchange(work, &volume, &beside).await?;
        let now = attempt.host.app.now();
        let before = Volume { deleted_at: Some(now.micros()), updated_at: now, ..beside };
        volumes::update(work, &before).await?;
    }
    Ok(())
}
