//! snapshot: what a volume holds, as a tar. Its data is whole because the containers that write it are paused or stopped, or have run
//! a command of their own. A helper container that is never started reaches the volume, so the application's image need not have
//! anything for it.

use std::io;
use std::path::Path;
use std::time::Duration;

use uuid::Uuid;
use windlass_api::{DeploymentKind, Failure, LogStep, SnapshotOrigin, SnapshotState};
use windlass_durable::kill_point;
use windlass_runtime::Executed;
use windlass_store::applications::{self, Application};
use windlass_store::containers::{self, Container, Purpose, Stage};
use windlass_store::snapshots::{self, Snapshot};
use windlass_store::volumes::{self, Volume};
use windlass_store::{deployments, releases};

use super::attempt::Attempt;
use super::ending::bounded_reason;
use super::failure::{Interruption, Result, failed};
use super::health_check::shown;
use super::helper::Helper;
use super::hold;
use super::paused::Paused;
use crate::disk::Disks;
use crate::host::Host;
use crate::jobs::Held;
use crate::logs::Secrets;
use crate::mounts::{self, Mounted};
use crate::service::snapshots as service;
use crate::service::work::Work;
use crate::snapshot_files::{self, SnapshotFile, Summary};
use crate::subject::Subject;

/// How often the engine may be lost during one snapshot.
const MOST_TRIES: i64 = 5;
const MIB: i64 = 1024 * 1024;
/// How long all commands after a snapshot may take.
const AFTER_LIMIT: Duration = Duration::from_secs(60);
/// How often the disk is looked at, and which part of it is left free.
const BETWEEN_LOOKS: u64 = 64 << 20;
const LEAST_FREE_PART: u64 = 20;

/// The job of one that was asked for or is due.
pub async fn take(host: &Host, held: &Held, snapshot_id: Uuid) -> Result<()> {
    let mut conn = host.app.db.read().await?;
    let snapshot = snapshots::get(&mut conn, snapshot_id).await?.filter(|row| row.state == SnapshotState::Pending);
    let application = applications::get(&mut conn, held.application_id()).await?.ok_or(Interruption::Lost)?;
    drop(conn);
    let Some(snapshot) = snapshot else { return end(held).await };
    let taken = match volumes::get(&mut host.app.db.read().await?, snapshot.volume_id).await? {
        Some(volume) => write_whole(host, &snapshot, &volume).await,
        None => failed(Failure::SnapshotFailed, "the volume was removed"),
    };
    let taken = match taken {
        Err(Interruption::EngineLost(words)) if held.job.attempts + 1 >= MOST_TRIES => {
            failed(Failure::EngineUnreachable, words)
        }
        taken => taken,
    };
    let mut work = held.begin().await?;
    match taken {
        Ok(written) => conclude(&mut work, &application, &snapshot, Ok(&written)).await?,
        Err(Interruption::Failed(_, words)) => {
            conclude(&mut work, &application, &snapshot, Err(&words)).await?;
        }
        Err(other) => return Err(other),
    }
    held.done(&mut work).await?;
    work.commit().await?;
    kill_point::reached("snapshot-stored");
    remove_surplus(host, snapshot.volume_id).await
}

async fn end(held: &Held) -> Result<()> {
    let mut work = held.begin().await?;
    held.done(&mut work).await?;
    work.commit().await?;
    Ok(())
}

/// A snapshot that is there.
struct Written {
    summary: Summary,
    /// What went wrong afterwards.
    remark: String,
}

/// What became of it, in its row and for those who listen.
async fn conclude(
    work: &mut Work<'_>,
    application: &Application,
    snapshot: &Snapshot,
    taken: std::result::Result<&Written, &str>,
) -> Result<()> {
    let (state, words) = match taken {
        Ok(written) => (SnapshotState::Ready, written.remark.as_str()),
        Err(words) => (SnapshotState::Failed, words),
    };
    let summary = taken.ok().map(|written| &written.summary);
    let row = Snapshot {
        size_bytes: summary.map_or(0, |summary| i64::try_from(summary.bytes).unwrap_or(i64::MAX)),
        sha256: summary.map(|summary| summary.sha256.clone()).unwrap_or_default(),
        ..snapshot.clone()
    };
    match service::end(work, application, &row, state, &bounded_reason(words)).await? {
        true => Ok(()),
        false => Err(Interruption::Lost),
    }
}

/// With the containers that have the volume kept from writing to it meanwhile.
async fn write_whole(host: &Host, snapshot: &Snapshot, volume: &Volume) -> Result<Written> {
    let running = running(host, volume).await?;
    let mut paused = Paused::none(host);
    let limit = host.app.config.snapshot_limit;
    let written = tokio::time::timeout(limit, async {
        if volume.before_snapshot.is_empty() {
            paused.pause(&running).await?;
        } else {
            command(host, &running, &volume.before_snapshot, "before").await?;
            // Those are not told by it what is to come.
            let commands: Vec<Container> = running.iter().filter(|row| hold::is_command(row)).cloned().collect();
            paused.pause(&commands).await?;
        }
        kill_point::reached("snapshot-begun");
        let written = write(host, snapshot, volume).await?;
        paused.check().await?;
        Ok(written)
    });
    let written = written.await.unwrap_or_else(|_| {
        failed(Failure::SnapshotFailed, format!("it took more than {} s (snapshot-seconds)", limit.as_secs()))
    });
    paused.unpause().await?;
    let after = async {
        match volume.after_snapshot.as_str() {
            "" => Ok(()),
            text => command(host, &running, text, "after").await,
        }
    };
    let after = tokio::time::timeout(AFTER_LIMIT, after).await.unwrap_or_else(|_| {
        failed(Failure::SnapshotFailed, format!("the command after it took more than {} s", AFTER_LIMIT.as_secs()))
    });
    let summary = written?;
    match after {
        Ok(()) => Ok(Written { summary, remark: String::new() }),
        Err(Interruption::Failed(_, remark)) => Ok(Written { summary, remark }),
        Err(other) => Err(other),
    }
}

/// Every container that may be running and has the volume.
async fn running(host: &Host, volume: &Volume) -> Result<Vec<Container>> {
    let Some(application_id) = volume.application_id else { return Ok(Vec::new()) };
    let rows = containers::of_application(&mut host.app.db.read().await?, application_id).await?;
    let mut running = Vec::new();
    for row in rows {
        if row.stage != Stage::Held && mounts::has_volume(&row, &volume.engine_name)? {
            running.push(row);
        }
    }
    Ok(running)
}

/// In the containers that visitors are served by.
async fn command(host: &Host, running: &[Container], text: &str, which: &str) -> Result<()> {
    // The shell of the container, which is what the user asked for.
    let words = ["/bin/sh", "-c", text].map(str::to_owned);
    for container in running.iter().filter(|row| row.purpose == Purpose::App && row.stage == Stage::Live) {
        let exec = host.exec(&container.name, &words).await?;
        let Executed { exit_code, output, is_cut } = exec.run(host.app.config.snapshot_limit).await?;
        if exit_code != 0 {
            let secrets = Secrets::of(&Subject::load(&host.app, container.deployment_id).await?);
            let output = shown(&output, is_cut, &secrets);
            let words = format!("the command {which} the snapshot ended with exit code {exit_code}: {output}");
            return failed(Failure::SnapshotFailed, words);
        }
    }
    Ok(())
}

/// The tar of a volume, into its file.
async fn write(host: &Host, snapshot: &Snapshot, volume: &Volume) -> Result<Summary> {
    check_on_engine(host, volume).await?;
    let helper = Helper::of_volume(host, snapshot.id, snapshot.application_id, Mounted::of(volume).mount()).await?;
    let mut file = SnapshotFile::create(&host.app.config, snapshot.id).await.map_err(|error| file_problem(&error))?;
    let written = copy(host, &helper, snapshot, &mut file).await;
    helper.remove(host).await?;
    written?;
    file.finish().await.map_err(|error| file_problem(&error))
}

/// The engine would make an empty volume in the place of one that has vanished.
async fn check_on_engine(host: &Host, volume: &Volume) -> Result<()> {
    if !volume.host_path.is_empty() {
        return Ok(());
    }
    if host.owns_volume(&volume.engine_name).await? {
        return Ok(());
    }
    failed(Failure::VolumeUnusable, format!("the engine no longer has the volume {}", volume.name))
}

async fn copy(host: &Host, helper: &Helper, snapshot: &Snapshot, file: &mut SnapshotFile) -> Result<()> {
    let most = bytes_left(host, snapshot.organization_id).await?;
    let (folder, mut next_look) = (snapshot_files::folder(&host.app.config), 0);
    let mut archive = host.archive(&helper.name, helper.path()).await?;
    while let Some(chunk) = archive.chunk().await? {
        file.write(&chunk).await.map_err(|error| file_problem(&error))?;
        if file.bytes >= next_look {
            next_look = file.bytes + BETWEEN_LOOKS;
            leave_room(&host.app.disks, &folder).await?;
        }
        if most.is_some_and(|most| file.bytes > most) {
            let mib = host.app.config.organization_data_bytes / MIB;
            let words = format!(
                "with it, volumes and snapshots of the organization would take more than {mib} MiB (organization-data-mib)"
            );
            return failed(Failure::SnapshotFailed, words);
        }
    }
    Ok(())
}

/// The database may be on the same disk.
async fn leave_room(disks: &Disks, folder: &Path) -> Result<()> {
    match disks.space(folder).await {
        Some(space) if space.free < space.whole / LEAST_FREE_PART => {
            failed(Failure::DiskFull, "No space left for it: the disk of snapshot-dir is nearly full")
        }
        _ => Ok(()),
    }
}

/// How much more the organization may store; none for no ceiling.
async fn bytes_left(host: &Host, organization_id: Uuid) -> Result<Option<u64>> {
    let most = host.app.config.organization_data_bytes;
    if most == 0 {
        return Ok(None);
    }
    let mut conn = host.app.db.read().await?;
    let used = volumes::data_of_organization(&mut conn, organization_id).await?;
    Ok(Some(u64::try_from(most.saturating_sub(used)).unwrap_or(0)))
}

fn file_problem(error: &io::Error) -> Interruption {
    let class = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Failure::DiskFull,
        _ => Failure::SnapshotFailed,
    };
    Interruption::Failed(class, format!("the file of the snapshot: {error}"))
}

/// Those beyond what the volume keeps, of those that no user asked for.
async fn remove_surplus(host: &Host, volume_id: Uuid) -> Result<()> {
    let mut conn = host.app.db.read().await?;
    let Some(volume) = volumes::get(&mut conn, volume_id).await? else { return Ok(()) };
    let mut surplus = snapshots::surplus(&mut conn, volume_id, SnapshotState::Ready, volume.kept_snapshots).await?;
    surplus.extend(snapshots::surplus(&mut conn, volume_id, SnapshotState::Failed, volume.kept_snapshots).await?);
    drop(conn);
    for snapshot in surplus {
        let mut work = host.app.begin_step().await?;
        snapshots::mark_deleted(&mut work, snapshot.id).await?;
        work.commit().await?;
        service::remove(&host.app, snapshot.id).await?;
    }
    Ok(())
}

/// Of every volume, before a deployment changes what runs, if the application says so.
pub async fn before_deploy(attempt: &Attempt<'_>) -> Result<()> {
    // As the application has it now; the release may be an old one.
    let configuration = crate::subject::read_configuration(&attempt.application.configuration)?;
    let changes = !matches!(attempt.deployment.kind, DeploymentKind::Restart | DeploymentKind::Start);
    if !configuration.settings.snapshot_before_deploy || !changes {
        return Ok(());
    }
    let Some(release_id) = release_before(attempt).await? else { return Ok(()) };
    attempt.log.enter(LogStep::Data);
    let all = volumes::of_application(&mut attempt.host.app.db.read().await?, attempt.application.id).await?;
    // A folder of the machine is never restored.
    for volume in all.iter().filter(|volume| volume.used_at.is_some() && volume.host_path.is_empty()) {
        take_before_deploy(attempt, volume, release_id).await?;
    }
    Ok(())
}

async fn take_before_deploy(attempt: &Attempt<'_>, volume: &Volume, release_id: Uuid) -> Result<()> {
    let snapshot = pending(attempt, volume, release_id).await?;
    match snapshot.state {
        SnapshotState::Pending => {}
        SnapshotState::Ready => return Ok(()),
        SnapshotState::Failed | SnapshotState::Deleted => return failed(Failure::SnapshotFailed, snapshot.reason),
    }
    let writing = Box::pin(write_whole(attempt.host, &snapshot, volume));
    let written = attempt.in_time("the snapshot before the deployment", writing).await;
    let taken = match &written {
        Ok(written) => Ok(written),
        Err(Interruption::Failed(_, words)) => Err(words.as_str()),
        Err(_) => return written.map(drop),
    };
    let mut work = attempt.held.begin().await?;
    conclude(&mut work, &attempt.application, &snapshot, taken).await?;
    work.commit().await?;
    kill_point::reached("data-snapshot-stored");
    let mib = written?.summary.bytes as f64 / MIB as f64;
    attempt.log.note(format!("Took a snapshot of the volume {}: {mib:.1} MiB.", volume.name)).await;
    remove_surplus(attempt.host, volume.id).await
}

/// The release that has written the data until now, also if it is stopped.
async fn release_before(attempt: &Attempt<'_>) -> Result<Option<Uuid>> {
    let mut conn = attempt.host.app.db.read().await?;
    if let Some(live) = attempt.application.live_deployment_id {
        return Ok(deployments::get(&mut conn, live).await?.map(|deployment| deployment.release_id));
    }
    Ok(releases::last_kept(&mut conn, attempt.application.id).await?.map(|release| release.id))
}

/// The row of the snapshot, made now unless an attempt before this one has made it.
async fn pending(attempt: &Attempt<'_>, volume: &Volume, release_id: Uuid) -> Result<Snapshot> {
    let mut work = attempt.held.begin().await?;
    let made = snapshots::of_deployment(&mut work, attempt.deployment.id).await?;
    if let Some(snapshot) = made.into_iter().find(|snapshot| snapshot.volume_id == volume.id) {
        return Ok(snapshot);
    }
    let mut snapshot = service::new(&attempt.host.app, volume, SnapshotOrigin::Deployment);
    snapshot.deployment_id = Some(attempt.deployment.id);
    snapshot.live_release_id = Some(release_id);
    snapshots::insert(&mut work, &snapshot).await?;
    work.commit().await?;
    Ok(snapshot)
}
