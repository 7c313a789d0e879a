//! Deployments: what is asked for becomes a row and a job in one transaction. Who works on it is not known here.

use uuid::Uuid;
use windlass_api as api;
use windlass_api::{DeploymentKind, DeploymentState, ErrorCode, Wanted};
use windlass_store::applications::{self, Application};
use windlass_store::deployments::{self, Deployment};
use windlass_store::jobs;
use windlass_store::releases::{self, Release};

use crate::app::App;
use crate::auth::{Authority, Granted};
use crate::error::{Error, Result};
use crate::records;
use crate::service::audit::{Action, Actor, Change, Resource};
use crate::service::held_applications::hold_to_change;
use crate::service::restores::{self, Restore};
use crate::service::work::Work;
use crate::service::{extension_sources, queue, states};
use crate::shared_variables;

/// What a deployment is to bring to visitors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeploymentRequest {
    /// A new release with the application's configuration as it is now.
    Deploy {
        /// None for the newest commit.
        commit: Option<String>,
    },
    Redeploy {
        without_cache: bool,
    },
    Rollback {
        release_id: Uuid,
    },
    Restart {
        release_id: Uuid,
    },
    Start {
        release_id: Uuid,
    },
    /// What is live, or was live last, with a volume from a snapshot.
    Restore {
        release_id: Uuid,
    },
}

impl DeploymentRequest {
    const fn kind(&self) -> DeploymentKind {
        match self {
            Self::Deploy { .. } => DeploymentKind::Deploy,
            Self::Redeploy { .. } => DeploymentKind::Redeploy,
            Self::Rollback { .. } => DeploymentKind::Rollback,
            Self::Restart { .. } => DeploymentKind::Restart,
            Self::Start { .. } => DeploymentKind::Start,
            Self::Restore { .. } => DeploymentKind::Restore,
        }
    }

    /// Empty for the newest.
    fn commit(&self) -> &str {
        match self {
            Self::Deploy { commit: Some(commit) } => commit,
            _ => "",
        }
    }

    /// None when it makes a release of its own.
    const fn release_id(&self) -> Option<Uuid> {
        match self {
            Self::Deploy { .. } | Self::Redeploy { .. } => None,
            Self::Rollback { release_id }
            | Self::Restart { release_id }
            | Self::Start { release_id }
            | Self::Restore { release_id } => Some(*release_id),
        }
    }

    /// Whether one that still waits is of no use any more once this is asked for.
    const fn supersedes(&self, kind: DeploymentKind) -> bool {
        match self {
            Self::Deploy { .. } | Self::Redeploy { .. } | Self::Rollback { .. } => true,
            // What else waits brings another release, or other data.
            Self::Restore { .. } => matches!(kind, DeploymentKind::Restart | DeploymentKind::Start),
            Self::Restart { .. } | Self::Start { .. } => {
                matches!(kind, DeploymentKind::Restart | DeploymentKind::Start)
            }
        }
    }

    const fn summary(&self) -> &'static str {
        match self {
            Self::Deploy { .. } => "queued a deployment of",
            Self::Redeploy { .. } => "queued another deployment of",
            Self::Rollback { .. } => "queued a rollback of",
            Self::Restart { .. } => "queued a restart of",
            Self::Start { .. } => "queued the start of",
            Self::Restore { .. } => "queued a restore of data of",
        }
    }
}

/// Queues a deployment of an application that the caller holds.
pub async fn enqueue(
    work: &mut Work<'_>,
    actor: &Actor,
    application: &Application,
    order: &DeploymentRequest,
    restores: &[Restore],
) -> Result<Deployment> {
    let (app, now) = (work.app, work.app.now());
    let id = app.new_id();
    let release_id = match order.release_id() {
        Some(release_id) => release_id,
        None => new_release(work, application, id, order.commit()).await?,
    };
    let waiting = deployments::under_way(work, application.id).await?;
    let superseded = waiting.iter().filter(|waiting| order.supersedes(waiting.kind));
    let mut restores = restores.to_vec();
    for deployment in superseded {
        // What is to be brought back is brought back by the newer one.
        let theirs: Vec<Restore> = serde_json::from_str(&deployment.restores).map_err(Error::internal)?;
        for restore in theirs.into_iter().filter(|_| deployment.state == DeploymentState::Queued) {
            if !restores.iter().any(|given| given.volume_id == restore.volume_id) {
                restores.push(restore);
            }
        }
        withdraw(work, application, deployment, &format!("superseded by {id}")).await?;
    }
    let mut deployment = new_deployment(id, application, release_id, actor, order, app.new_id(), now);
    deployment.restores = serde_json::to_string(&restores).map_err(Error::internal)?;
    states::insert(work, application, &deployment).await?;
    work.enqueue(&queue::deployment(application, id, order.release_id().is_some())).await?;
    if order.kind() != DeploymentKind::Restart {
        states::want(work, application.id, Wanted::Running).await?;
    }
    states::settle(work, application.id).await?;
    deployments::forget_old(work, application.id, app.config.kept_deployments).await?;
    let change = Change {
        organization_id: Some(application.organization_id),
        action: Action::Create,
        resource: Resource::Deployment,
        resource_id: id,
        summary: &format!("{} {}", order.summary(), application.name),
        details: &[
            ("application", &application.name),
            ("application_id", &application.id.to_string()),
            ("kind", order.kind().as_str()),
            ("release_id", &release_id.to_string()),
        ],
    };
    work.record(actor, &change);
    Ok(deployment)
}

/// A release that has yet to be made, with the configuration of this moment. It has the id of its deployment.
async fn new_release(work: &mut Work<'_>, application: &Application, id: Uuid, commit: &str) -> Result<Uuid> {
    let app = work.app;
    let variables = shared_variables::of_application(work, &app.vault, application).await?.of_release();
    let release = Release {
        id,
        application_id: application.id,
        configuration: application.configuration.clone(),
        sealed_variables: app.vault.seal_release_variables(work, id, &variables).await?,
        commit_hash: commit.to_owned(),
        commit_author: String::new(),
        commit_message: String::new(),
        artifact: None,
        live_at: None,
        removed_at: None,
        created_at: app.now(),
    };
    releases::insert(work, &release).await?;
    extension_sources::carry_on(work, application, id).await?;
    Ok(id)
}

fn new_deployment(
    id: Uuid,
    application: &Application,
    release_id: Uuid,
    actor: &Actor,
    order: &DeploymentRequest,
    status_id: Uuid,
    now: api::Timestamp,
) -> Deployment {
    Deployment {
        id,
        application_id: application.id,
        release_id,
        triggered_by: actor.trigger(),
        user_id: actor.user_id(),
        kind: order.kind(),
        without_cache: matches!(order, DeploymentRequest::Redeploy { without_cache: true }),
        status_id,
        state: DeploymentState::Queued,
        state_changed_at: now,
        failure: String::new(),
        reason: String::new(),
        container_id: String::new(),
        container_name: String::new(),
        container_status: api::ContainerStatus::None,
        started_at: None,
        finished_at: None,
        requests_served: 0,
        requests_failed: 0,
        held_at: None,
        held_before: 0,
        held_ms: 0,
        held_requests: 0,
        restores: "[]".into(),
        created_at: now,
        updated_at: now,
    }
}

/// Cancels a deployment that no worker has begun. False when one has.
async fn withdraw(
    work: &mut Work<'_>,
    application: &Application,
    deployment: &Deployment,
    reason: &str,
) -> Result<bool> {
    let now = work.app.now();
    let is_waiting = deployment.state == DeploymentState::Queued && jobs::withdraw(work, deployment.id).await?;
    if is_waiting {
        states::end(work, application, deployment, DeploymentState::Cancelled, None, reason).await?;
        if deployment.release_id == deployment.id {
            releases::set_removed(work, deployment.release_id, now).await?;
        }
    }
    Ok(is_waiting)
}

/// Cancels what waits, and asks for the end of what is under way.
pub async fn cancel_all(work: &mut Work<'_>, application: &Application, reason: &str) -> Result<()> {
    for deployment in deployments::under_way(work, application.id).await? {
        if !withdraw(work, application, &deployment, reason).await? {
            request_cancel(work, deployment.id, reason).await?;
        }
    }
    Ok(())
}

/// Asks the worker to call it off. The first reason that was given stays.
async fn request_cancel(work: &mut Work<'_>, id: Uuid, reason: &str) -> Result<()> {
    let now = work.app.now();
    if jobs::request_cancel(work, id, now).await? {
        deployments::explain_cancel(work, id, reason, now).await?;
    }
    Ok(())
}

pub async fn redeploy(
    app: &App,
    granted: &Granted<Application>,
    without_cache: bool,
) -> Result<api::ApplicationDeployment> {
    let mut work = app.begin().await?;
    let (authority, application) = hold_to_change(&mut work, granted.authority(), granted.row().id).await?;
    order(work, &authority, &application, &DeploymentRequest::Redeploy { without_cache }, &[]).await
}

/// A commit that was pushed to Windlass itself.
pub async fn deploy_commit(
    app: &App,
    granted: &Granted<Application>,
    commit: &str,
) -> Result<api::ApplicationDeployment> {
    let mut work = app.begin().await?;
    let (authority, application) = hold_to_change(&mut work, granted.authority(), granted.row().id).await?;
    let request = DeploymentRequest::Deploy { commit: Some(commit.to_owned()) };
    order(work, &authority, &application, &request, &[]).await
}

/// What a restart is asked for of.
pub enum Restartable {
    Application(Granted<Application>),
    /// It must be the live one.
    Deployment(Granted<Deployment>),
}

/// A new container of what is live.
pub async fn restart(app: &App, what: &Restartable) -> Result<api::ApplicationDeployment> {
    let (authority, application_id, deployment_id) = match what {
        Restartable::Application(granted) => (granted.authority(), granted.row().id, None),
        Restartable::Deployment(granted) => (granted.authority(), granted.row().application_id, Some(granted.row().id)),
    };
    let mut work = app.begin().await?;
    let (authority, application) = hold_to_change(&mut work, authority, application_id).await?;
    let live = match application.live_deployment_id {
        Some(live) if application.wanted == Wanted::Running => deployments::get(&mut work, live).await?,
        _ => None,
    };
    let live = live.ok_or_else(|| {
        let message = format!("{} is not running, so there is nothing to restart.", application.name);
        Error::new(ErrorCode::Conflict, message)
    })?;
    if deployment_id.is_some_and(|id| id != live.id) {
        let message = "This deployment is not the live one. Restart the application, or roll back to the deployment.";
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    order(work, &authority, &application, &DeploymentRequest::Restart { release_id: live.release_id }, &[]).await
}

/// What was live last, after a stop.
pub async fn start(app: &App, granted: &Granted<Application>) -> Result<api::ApplicationDeployment> {
    let mut work = app.begin().await?;
    let (authority, application) = hold_to_change(&mut work, granted.authority(), granted.row().id).await?;
    let is_idle =
        application.live_deployment_id.is_none() && deployments::under_way(&mut work, application.id).await?.is_empty();
    if application.wanted != Wanted::Stopped && !is_idle {
        let message = format!("{} is not stopped.", application.name);
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    let release = releases::last_kept(&mut work, application.id).await?.ok_or_else(|| {
        let message = format!("{} has no release that could be started: deploy it first.", application.name);
        Error::new(ErrorCode::Conflict, message)
    })?;
    order(work, &authority, &application, &DeploymentRequest::Start { release_id: release.id }, &[]).await
}

/// Back to the release of an earlier deployment, and to what the volumes held when that was replaced if `with_data` says so.
pub async fn rollback(app: &App, granted: &Granted<Deployment>, with_data: bool) -> Result<api::ApplicationDeployment> {
    let (mut work, deployment) = (app.begin().await?, granted.row());
    let (authority, application) = hold_to_change(&mut work, granted.authority(), deployment.application_id).await?;
    let release = releases::get(&mut work, deployment.release_id).await?.filter(Release::is_kept);
    let release = release.ok_or_else(|| {
        let message = "The release of this deployment was never live, or its image is not kept any more.";
        Error::new(ErrorCode::ReleaseGone, message)
    })?;
    let restores = match with_data {
        true => restores::of_release(&mut work, application.id, release.id).await?,
        false => Vec::new(),
    };
    order(work, &authority, &application, &DeploymentRequest::Rollback { release_id: release.id }, &restores).await
}

/// The message for the caller, and the deployment. One that waits is cancelled at once, one that is under way as soon
/// as it can be.
pub async fn cancel(app: &App, granted: &Granted<Deployment>) -> Result<(&'static str, api::ApplicationDeployment)> {
    let mut work = app.begin().await?;
    let (authority, application) = hold_to_change(&mut work, granted.authority(), granted.row().application_id).await?;
    let deployment = deployments::get(&mut work, granted.row().id).await?;
    let deployment = deployment.ok_or_else(|| Error::not_found("deployment"))?;
    if deployment.state.is_over() {
        let message = format!("This deployment is over: it is {}.", deployment.state.as_str());
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    if application.live_deployment_id == Some(deployment.id) {
        let message = "Visitors are served by this deployment already. Roll back instead.";
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    let actor = authority.actor();
    let reason = format!("cancelled by {}", actor.name());
    let message = match withdraw(&mut work, &application, &deployment, &reason).await? {
        true => {
            states::fall_back_to_stopped(&mut work, application.id).await?;
            "Deployment cancelled"
        }
        false => {
            request_cancel(&mut work, deployment.id, &reason).await?;
            "Deployment is being cancelled"
        }
    };
    states::settle(&mut work, application.id).await?;
    let change = Change {
        organization_id: Some(application.organization_id),
        action: Action::Update,
        resource: Resource::Deployment,
        resource_id: deployment.id,
        summary: &format!("cancelled a deployment of {}", application.name),
        details: &[("application", &application.name), ("application_id", &application.id.to_string())],
    };
    work.record(&actor, &change);
    Ok((message, finish(work, &authority, deployment.id).await?))
}

/// Queues a deployment of an application that the caller holds, and answers with it.
pub async fn order(
    mut work: Work<'_>,
    authority: &Authority,
    application: &Application,
    order: &DeploymentRequest,
    restores: &[Restore],
) -> Result<api::ApplicationDeployment> {
    let deployment = enqueue(&mut work, &authority.actor(), application, order, restores).await?;
    finish(work, authority, deployment.id).await
}

/// Commits, and answers with the deployment.
pub async fn finish(mut work: Work<'_>, authority: &Authority, id: Uuid) -> Result<api::ApplicationDeployment> {
    let app = work.app;
    let gone = || Error::internal("a deployment vanished while it was held");
    let shown = deployments::shown(&mut work, id).await?.ok_or_else(gone)?;
    let application = applications::get(&mut work, shown.deployment.application_id).await?.ok_or_else(gone)?;
    let viewer = authority.application_viewer(app);
    let record = records::applications::deployment(&mut work, &viewer, &application, shown).await?;
    work.commit().await?;
    Ok(records::logs::deployment_with_lines(&app.logs.store, record).await)
}
