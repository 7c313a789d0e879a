//! Snapshots of volumes: asked for, listed, deleted and brought back. Writing and reading them is in `deploy`.

use uuid::Uuid;
use windlass_api as api;
use windlass_api::{ErrorCode, EventName, SnapshotOrigin, SnapshotState, Wanted};
use windlass_store::applications::Application;
use windlass_store::snapshots::{self, Snapshot};
use windlass_store::volumes::Volume;
use windlass_store::{deployments as rows, jobs, releases};

use crate::app::App;
use crate::auth::{Authority, Granted};
use crate::error::{Error, Result};
use crate::records;
use crate::service::audit::{Action, Change, Resource};
use crate::service::deployments::{self, DeploymentRequest};
use crate::service::held_applications::{hold_to_change, refuse_preview};
use crate::service::queue;
use crate::service::restores::Restore;
use crate::service::states;
use crate::service::volumes::{of_name, refuse_beyond_bytes};
use crate::service::work::Work;
use crate::snapshot_files;

pub async fn create(app: &App, granted: &Granted<Application>, volume_name: &str) -> Result<api::Snapshot> {
    let mut work = app.begin().await?;
    let (authority, application) = hold_to_change(&mut work, granted.authority(), granted.row().id).await?;
    let volume = of_name(&mut work, &application, volume_name).await?;
    if volume.used_at.is_none() {
        let message = format!("The volume {} has nothing in it: no container has had it yet.", volume.name);
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    let pending = snapshots::pending_of(&mut work, application.id).await?;
    if pending.iter().any(|snapshot| snapshot.volume_id == volume.id) {
        let message = format!("A snapshot of the volume {} is being written already.", volume.name);
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    refuse_beyond_bytes(&mut work, application.organization_id).await?;
    let snapshot = enqueue(&mut work, &application, &volume, SnapshotOrigin::User).await?;
    record(&mut work, &authority, Action::Create, &snapshot, "asked for a snapshot of the volume");
    work.commit().await?;
    Ok(records::volumes::snapshot(snapshot))
}

/// A row and the job that writes the file. The caller holds the application.
pub async fn enqueue(
    work: &mut Work<'_>,
    application: &Application,
    volume: &Volume,
    origin: SnapshotOrigin,
) -> Result<Snapshot> {
    let snapshot = new(work.app, volume, origin);
    snapshots::insert(work, &snapshot).await?;
    work.enqueue(&queue::snapshot(application, snapshot.id)).await?;
    Ok(snapshot)
}

pub fn new(app: &App, volume: &Volume, origin: SnapshotOrigin) -> Snapshot {
    Snapshot {
        id: app.new_id(),
        organization_id: volume.organization_id,
        application_id: volume.application_id,
        application_name: volume.application_name.clone(),
        volume_id: volume.id,
        volume_name: volume.name.clone(),
        origin,
        deployment_id: None,
        live_release_id: None,
        state: SnapshotState::Pending,
        reason: String::new(),
        size_bytes: 0,
        sha256: String::new(),
        created_at: app.now(),
        finished_at: None,
    }
}

/// What became of one, in its row and for those who listen. False when it had ended before.
pub async fn end(
    work: &mut Work<'_>,
    application: &Application,
    snapshot: &Snapshot,
    state: SnapshotState,
    reason: &str,
) -> Result<bool> {
    let now = work.app.now();
    let has_ended = snapshots::end(work, snapshot, state, reason, now).await?;
    if has_ended {
        let name = match state {
            SnapshotState::Ready => EventName::SnapshotSucceeded,
            SnapshotState::Failed | SnapshotState::Pending | SnapshotState::Deleted => EventName::SnapshotFailed,
        };
        let details =
            [("application", application.name.as_str()), ("volume", &snapshot.volume_name), ("reason", reason)];
        work.tell(name, states::subject(application, snapshot.deployment_id), &details);
    }
    Ok(has_ended)
}

/// Those that a deployment had asked for and that were not written: it is over.
pub async fn end_of_deployment(work: &mut Work<'_>, application: &Application, deployment_id: Uuid) -> Result<()> {
    for snapshot in snapshots::of_deployment(work, deployment_id).await? {
        let reason = "the deployment ended before it was written";
        end(work, application, &snapshot, SnapshotState::Failed, reason).await?;
    }
    Ok(())
}

/// Those that no worker has begun: the application is stopped or deleted, which must not wait for them.
pub async fn withdraw_all(work: &mut Work<'_>, application: &Application, reason: &str) -> Result<()> {
    for snapshot in snapshots::pending_of(work, application.id).await? {
        if jobs::withdraw(work, snapshot.id).await? {
            end(work, application, &snapshot, SnapshotState::Failed, reason).await?;
        }
    }
    Ok(())
}

/// One that is being written cannot be deleted.
pub async fn delete(app: &App, granted: &Granted<Snapshot>) -> Result<()> {
    let mut work = app.begin().await?;
    let authority = work.hold(granted.authority()).await?;
    let snapshot = granted.row();
    if !snapshots::mark_deleted(&mut work, snapshot.id).await? {
        let message = "The snapshot is being written. Delete it when it is ready.";
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    record(&mut work, &authority, Action::Delete, snapshot, "deleted a snapshot of the volume");
    work.commit().await?;
    // What cannot be removed now is tried again later.
    if let Err(error) = remove(app, snapshot.id).await {
        tracing::warn!(cause = error.cause, snapshot = %snapshot.id, "the file of a snapshot could not be removed yet");
    }
    Ok(())
}

/// The file, then the row, of one that is marked as deleted.
pub async fn remove(app: &App, id: Uuid) -> Result<()> {
    snapshot_files::remove(&app.config, id).await.map_err(Error::internal)?;
    let mut work = app.begin_step().await?;
    snapshots::delete(&mut work, id).await?;
    work.commit().await?;
    Ok(())
}

/// Queues a deployment of what is live, or was live last, with the volume as it was.
pub async fn restore(
    app: &App,
    granted: &Granted<Application>,
    volume_name: &str,
    snapshot_id: Uuid,
) -> Result<api::ApplicationDeployment> {
    let mut work = app.begin().await?;
    let (authority, application) = hold_to_change(&mut work, granted.authority(), granted.row().id).await?;
    refuse_preview(&mut work, &application).await?;
    let volume = of_name(&mut work, &application, volume_name).await?;
    let snapshot = snapshots::of_organization(&mut work, authority.organization_id(), snapshot_id).await?;
    let snapshot = snapshot.ok_or_else(|| Error::not_found("snapshot"))?;
    if snapshot.state != SnapshotState::Ready {
        let message = format!("The snapshot is {}, not ready.", snapshot.state.as_str());
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    if !volume.host_path.is_empty() {
        let message = format!("The volume {} is a folder of the machine, into which nothing is restored.", volume.name);
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    refuse_beyond_bytes(&mut work, application.organization_id).await?;
    let release_id = release_to_run(&mut work, &application).await?;
    let restores = [Restore { volume_id: volume.id, snapshot_id }];
    deployments::order(work, &authority, &application, &DeploymentRequest::Restore { release_id }, &restores).await
}

async fn release_to_run(work: &mut Work<'_>, application: &Application) -> Result<Uuid> {
    if let (Some(live), Wanted::Running) = (application.live_deployment_id, application.wanted)
        && let Some(live) = rows::get(work, live).await?
    {
        return Ok(live.release_id);
    }
    let last = releases::last_kept(work, application.id).await?;
    last.map(|release| release.id).ok_or_else(|| {
        let message = format!("{} has no release that could be started with it: deploy it first.", application.name);
        Error::new(ErrorCode::Conflict, message)
    })
}

fn record(work: &mut Work<'_>, authority: &Authority, action: Action, snapshot: &Snapshot, verb: &str) {
    let change = Change {
        organization_id: Some(snapshot.organization_id),
        action,
        resource: Resource::Snapshot,
        resource_id: snapshot.id,
        summary: &format!("{verb} {} of {}", snapshot.volume_name, snapshot.application_name),
        details: &[("volume", &snapshot.volume_name), ("application", &snapshot.application_name)],
    };
    work.record(&authority.actor(), &change);
}
