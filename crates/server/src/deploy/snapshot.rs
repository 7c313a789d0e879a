//! snapshot: what a volume holds, as a tar. Its data is whole because the containers that write it are paused or stopped, or have run
//! a command of their own. A helper container that is never started reaches the volume, so the application's image need not have
//! anything for it.

use std::io;

use uuid::Uuid;
use windlass_api::{DeploymentKind, EventName, Failure, LogStep, SnapshotOrigin, SnapshotState};
use windlass_durable::kill_point;
use windlass_runtime::{Executed, HelperSpec, Mount};
use windlass_store::applications::{self, Application};
use windlass_store::containers::{self, Container, Purpose, Stage};
use windlass_store::snapshots::{self, Snapshot};
use windlass_store::volumes::{self, Volume};
use windlass_store::{deployments, releases};

use super::attempt::Attempt;
use super::failure::{Interruption, Result, failed};
use super::mounts::{self, Mounted};
use crate::host::Host;
use crate::jobs::Held;
use crate::labels::{APPLICATION_LABEL, HELPER, INSTANCE_LABEL, PURPOSE_LABEL, short};
use crate::service::snapshots as service;
use crate::service::states;
use crate::snapshot_files::{SnapshotFile, Summary};

/// How often the engine may be lost during one snapshot.
const MOST_TRIES: i64 = 5;
/// Where a helper container has its volume.
const PATH: &str = "/volume";
const EMPTY_IMAGE: &str = "windlass/empty:1";
const MIB: i64 = 1024 * 1024;

/// The job of one that was asked for or is due.
pub async fn take(host: &Host, held: &Held, snapshot_id: Uuid) -> Result<()> {
    let mut conn = host.app.db.read().await?;
    let snapshot = snapshots::get(&mut conn, snapshot_id).await?.filter(|row| row.state == SnapshotState::Pending);
    let application = applications::get(&mut conn, held.application_id()).await?.ok_or(Interruption::Lost)?;
    drop(conn);
    let Some(snapshot) = snapshot else { return end(held).await };
    let taken = match volumes::get(&mut host.app.db.read().await?, snapshot.volume_id).await? {
        Some(volume) => write_whole(host, &application, &snapshot, &volume).await,
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
        Ok(summary) => conclude(&mut work, host, &application, &snapshot, Ok(&summary)).await?,
        Err(Interruption::Failed(_, words)) => {
            conclude(&mut work, host, &application, &snapshot, Err(&words)).await?;
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

/// What became of it, in its row and for those who listen.
async fn conclude(
    work: &mut crate::service::work::Work<'_>,
    host: &Host,
    application: &Application,
    snapshot: &Snapshot,
    taken: std::result::Result<&Summary, &str>,
) -> Result<()> {
    let (state, reason, name) = match taken {
        Ok(_) => (SnapshotState::Ready, "", EventName::SnapshotSucceeded),
        Err(words) => (SnapshotState::Failed, words, EventName::SnapshotFailed),
    };
    let summary = taken.ok();
    let row = Snapshot {
        size_bytes: summary.map_or(0, |summary| i64::try_from(summary.bytes).unwrap_or(i64::MAX)),
        sha256: summary.map(|summary| summary.sha256.clone()).unwrap_or_default(),
        ..snapshot.clone()
    };
    if !snapshots::end(work, &row, state, reason, host.app.now()).await? {
        return Err(Interruption::Lost);
    }
    let details = [("application", application.name.as_str()), ("volume", &snapshot.volume_name), ("reason", reason)];
    work.tell(name, states::subject(application, snapshot.deployment_id), &details);
    Ok(())
}

/// With the containers that have the volume kept from writing to it meanwhile.
async fn write_whole(host: &Host, application: &Application, snapshot: &Snapshot, volume: &Volume) -> Result<Summary> {
    let running = running(host, application.id, volume).await?;
    let limit = host.app.config.snapshot_limit;
    let written = tokio::time::timeout(limit, async {
        if volume.before_snapshot.is_empty() {
            pause(host, &running).await?;
        } else {
            command(host, &running, &volume.before_snapshot, "before").await?;
        }
        kill_point::reached("snapshot-begun");
        write(host, snapshot, &Mounted::of(volume)).await
    });
    let written = written.await.unwrap_or_else(|_| {
        failed(Failure::SnapshotFailed, format!("it took more than {} s (snapshot-seconds)", limit.as_secs()))
    });
    // Whatever has happened, they go on.
    for container in &running {
        host.unpause_container(&container.name).await?;
    }
    if !volume.after_snapshot.is_empty() {
        command(host, &running, &volume.after_snapshot, "after").await?;
    }
    written
}

/// The containers that visitors are served by and that have the volume.
async fn running(host: &Host, application_id: Uuid, volume: &Volume) -> Result<Vec<Container>> {
    let rows = containers::of_application(&mut host.app.db.read().await?, application_id).await?;
    let mut running = Vec::new();
    for row in rows {
        let mounts = mounts::of_container(&row)?;
        let has_it = mounts.iter().any(|mounted| mounted.engine_name == volume.engine_name);
        if has_it && row.purpose == Purpose::App && row.stage == Stage::Live {
            running.push(row);
        }
    }
    Ok(running)
}

/// One that does not run just now writes nothing.
async fn pause(host: &Host, running: &[Container]) -> Result<()> {
    for container in running {
        match host.pause_container(&container.name).await {
            Ok(()) | Err(windlass_runtime::Error::NotFound { .. } | windlass_runtime::Error::Conflict { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

async fn command(host: &Host, running: &[Container], text: &str, which: &str) -> Result<()> {
    // The shell of the container, which is what the user asked for.
    let words = ["/bin/sh", "-c", text].map(str::to_owned);
    for container in running {
        let exec = host.exec(&container.name, &words).await?;
        let Executed { exit_code, output, .. } = exec.run(host.app.config.snapshot_limit).await?;
        if exit_code != 0 {
            let words = format!("the command {which} the snapshot ended with exit code {exit_code}: {}", output.trim());
            return failed(Failure::SnapshotFailed, words);
        }
    }
    Ok(())
}

/// The tar of a volume, into its file.
async fn write(host: &Host, snapshot: &Snapshot, mounted: &Mounted) -> Result<Summary> {
    let helper = Helper::create(host, snapshot.id, snapshot.application_id, mounted.mount()).await?;
    let mut file = SnapshotFile::create(&host.app.config, snapshot.id).await.map_err(|error| file_problem(&error))?;
    let written = copy(host, &helper, snapshot, &mut file).await;
    helper.remove(host).await?;
    match written {
        Ok(()) => file.finish().await.map_err(|error| file_problem(&error)),
        Err(problem) => {
            file.discard().await;
            Err(problem)
        }
    }
}

async fn copy(host: &Host, helper: &Helper, snapshot: &Snapshot, file: &mut SnapshotFile) -> Result<()> {
    let most = bytes_left(host, snapshot.organization_id).await?;
    let mut archive = host.archive(&helper.name, PATH).await?;
    while let Some(chunk) = archive.chunk().await? {
        file.write(&chunk).await.map_err(|error| file_problem(&error))?;
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

/// How much more the organization may store; none for no ceiling.
async fn bytes_left(host: &Host, organization_id: Uuid) -> Result<Option<u64>> {
    let most = host.app.config.organization_data_bytes;
    if most == 0 {
        return Ok(None);
    }
    let mut conn = host.app.db.read().await?;
    let used = volumes::bytes_of_organization(&mut conn, organization_id).await?
        + snapshots::bytes_of_organization(&mut conn, organization_id).await?;
    Ok(Some(u64::try_from(most.saturating_sub(used)).unwrap_or(0)))
}

fn file_problem(error: &io::Error) -> Interruption {
    let class = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Failure::DiskFull,
        _ => Failure::SnapshotFailed,
    };
    Interruption::Failed(class, format!("the file of the snapshot: {error}"))
}

/// A container that is never started, through which the engine reaches a volume.
pub struct Helper {
    pub name: String,
}

impl Helper {
    /// One that an attempt before this one has left is made anew.
    pub async fn create(host: &Host, id: Uuid, application_id: Option<Uuid>, mount: Mount) -> Result<Self> {
        let name = format!("wl-helper-{}", short(id));
        host.ensure_empty_image(EMPTY_IMAGE).await?;
        host.remove_ended_container(&name).await?;
        // The reconciler removes it when no job of the application is left.
        let labels = [
            (INSTANCE_LABEL, host.installation.to_string()),
            (APPLICATION_LABEL, application_id.unwrap_or_default().to_string()),
            (PURPOSE_LABEL, HELPER.to_owned()),
        ];
        let labels = labels.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let mounts = vec![Mount { path: PATH.to_owned(), ..mount }];
        host.create_helper(&HelperSpec { name: name.clone(), image: EMPTY_IMAGE.to_owned(), labels, mounts }).await?;
        Ok(Self { name })
    }

    pub const fn path(&self) -> &'static str {
        PATH
    }

    pub async fn remove(self, host: &Host) -> Result<()> {
        Ok(host.remove_ended_container(&self.name).await?)
    }
}

/// Those beyond what the volume keeps, of those that no user asked for.
async fn remove_surplus(host: &Host, volume_id: Uuid) -> Result<()> {
    let mut conn = host.app.db.read().await?;
    let Some(volume) = volumes::get(&mut conn, volume_id).await? else { return Ok(()) };
    let surplus = snapshots::surplus(&mut conn, volume_id, volume.kept_snapshots).await?;
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
    let Some(live_release_id) = live_release(attempt).await? else { return Ok(()) };
    attempt.log.enter(LogStep::Data);
    let all = volumes::of_application(&mut attempt.host.app.db.read().await?, attempt.application.id).await?;
    for volume in all.iter().filter(|volume| volume.used_at.is_some()) {
        let snapshot = pending(attempt, volume, live_release_id).await?;
        if snapshot.state == SnapshotState::Ready {
            continue;
        }
        let written = write_whole(attempt.host, &attempt.application, &snapshot, volume);
        let written = match &attempt.hold {
            Some(hold) => hold.during("the snapshot before the deployment", written).await,
            None => written.await,
        };
        let mut work = attempt.held.begin().await?;
        let taken = match &written {
            Ok(summary) => Ok(summary),
            Err(Interruption::Failed(_, words)) => Err(words.as_str()),
            Err(_) => return written.map(drop),
        };
        conclude(&mut work, attempt.host, &attempt.application, &snapshot, taken).await?;
        work.commit().await?;
        kill_point::reached("data-snapshot-stored");
        let summary = written?;
        let mib = summary.bytes as f64 / MIB as f64;
        attempt.log.note(format!("Took a snapshot of the volume {}: {mib:.1} MiB.", volume.name)).await;
        remove_surplus(attempt.host, volume.id).await?;
    }
    Ok(())
}

async fn live_release(attempt: &Attempt<'_>) -> Result<Option<Uuid>> {
    let Some(live) = attempt.application.live_deployment_id else { return Ok(None) };
    let mut conn = attempt.host.app.db.read().await?;
    let Some(deployment) = deployments::get(&mut conn, live).await? else { return Ok(None) };
    Ok(releases::get(&mut conn, deployment.release_id).await?.map(|release| release.id))
}

/// The row of the snapshot, made now unless an attempt before this one has made it.
async fn pending(attempt: &Attempt<'_>, volume: &Volume, live_release_id: Uuid) -> Result<Snapshot> {
    let mut work = attempt.held.begin().await?;
    let made = snapshots::of_deployment(&mut work, attempt.deployment.id).await?;
    if let Some(snapshot) = made.into_iter().find(|snapshot| snapshot.volume_id == volume.id) {
        return Ok(snapshot);
    }
    let mut snapshot = service::new(&attempt.host.app, volume, SnapshotOrigin::Deployment);
    snapshot.deployment_id = Some(attempt.deployment.id);
    snapshot.live_release_id = Some(live_release_id);
    snapshots::insert(&mut work, &snapshot).await?;
    work.commit().await?;
    Ok(snapshot)
}
