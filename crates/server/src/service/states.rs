//! The states of applications and deployments: every change of one is made here, and told.

use uuid::Uuid;
use windlass_api::{ContainerStatus, DeploymentKind, DeploymentState, EventName, Failure, Wanted};
use windlass_store::applications::{self, Application, Transition};
use windlass_store::containers::{self, Container, Purpose};
use windlass_store::deployments::{self, Deployment};
use windlass_store::jobs;
use windlass_store::previews::{self, Preview};
use windlass_store::releases::{self, Release};

use crate::crash_loops::Seen;
use crate::service::queue::{self, OfPullRequest};
use crate::service::work::{EventSubject, Work};

type Result<T> = windlass_store::Result<T>;

/// What an application's users want from now on. The caller holds the application, and settles it afterwards.
pub async fn want(work: &mut Work<'_>, application_id: Uuid, wanted: Wanted) -> Result<()> {
    work.wake_reconciler();
    applications::set_wanted(work, application_id, wanted).await
}

/// When a deployment was called off before anything was live: what was stopped before it is stopped again. The caller settles it
/// afterwards.
pub async fn fall_back_to_stopped(work: &mut Work<'_>, application_id: Uuid) -> Result<()> {
    work.wake_reconciler();
    applications::fall_back_to_stopped(work, application_id).await
}

/// The deployment whose container visitors reach. The caller holds the application, and settles it afterwards.
pub async fn set_live(work: &mut Work<'_>, application_id: Uuid, deployment_id: Option<Uuid>) -> Result<()> {
    work.wake_reconciler();
    applications::set_live(work, application_id, deployment_id).await
}

/// Makes the application's state say what the other rows say. The transition that happened, if one did.
pub async fn settle(work: &mut Work<'_>, application_id: Uuid) -> Result<Option<Transition>> {
    let now = work.app.now();
    let Some(transition) = applications::settle(work, application_id, now).await? else { return Ok(None) };
    work.wake_reconciler();
    let about = EventSubject {
        organization_id: transition.organization_id,
        application_id: Some(application_id),
        deployment_id: None,
    };
    let details = [("application", transition.name.as_str()), ("before", transition.from.as_str())];
    work.tell(transition.to.into(), about, &details);
    Ok(Some(transition))
}

/// The next state of a deployment. False when it was in another state than the row says, and nothing changed.
pub async fn advance(
    work: &mut Work<'_>,
    application: &Application,
    deployment: &Deployment,
    to: DeploymentState,
) -> Result<bool> {
    let now = work.app.now();
    if !deployments::advance(work, deployment.id, deployment.state, to, now).await? {
        return Ok(false);
    }
    tell_deployment(work, application, deployment.id, to, deployment.kind.as_str(), None, "");
    // From the build on the commit is known.
    if matches!(to, DeploymentState::Building | DeploymentState::Deployed) {
        report(work, application, deployment).await?;
    }
    Ok(true)
}

/// The last state of a deployment that did not succeed, and why. False when it was in another state than the row says, and nothing
/// changed. A reason that was given before stays, unless it failed.
pub async fn end(
    work: &mut Work<'_>,
    application: &Application,
    deployment: &Deployment,
    to: DeploymentState,
    failure: Option<Failure>,
    reason: &str,
) -> Result<bool> {
    let now = work.app.now();
    deployments::explain(work, deployment.id, failure, reason).await?;
    if !deployments::advance(work, deployment.id, deployment.state, to, now).await? {
        return Ok(false);
    }
    tell_deployment(work, application, deployment.id, to, deployment.kind.as_str(), failure, reason);
    report(work, application, deployment).await?;
    Ok(true)
}

/// A deployment that waits for its turn.
pub async fn insert(work: &mut Work<'_>, application: &Application, deployment: &Deployment) -> Result<()> {
    deployments::insert(work, deployment).await?;
    tell_deployment(work, application, deployment.id, deployment.state, deployment.kind.as_str(), None, "");
    report(work, application, deployment).await
}

/// The code host is to hear of it, if the application has a connection. What only brings back an earlier release says nothing new
/// about its commit.
async fn report(work: &mut Work<'_>, application: &Application, deployment: &Deployment) -> Result<()> {
    let is_new = matches!(deployment.kind, DeploymentKind::Deploy | DeploymentKind::Redeploy);
    if application.connection_id.is_none() || !is_new {
        return Ok(());
    }
    if let Some(preview) = previews::get(work, application.id).await? {
        comment(work, application, &preview).await?;
    }
    // One that waits tells what is then.
    if jobs::hold_waiting(work, &queue::report_key(deployment.id)).await? {
        return Ok(());
    }
    let job = queue::report(application.organization_id, work.app.new_id(), deployment.id);
    work.enqueue(&job).await
}

/// The pull request of a preview is to say how the preview is, if its application has a connection.
pub async fn comment(work: &mut Work<'_>, application: &Application, preview: &Preview) -> Result<()> {
    let Some(connection_id) = application.connection_id else { return Ok(()) };
    let about = OfPullRequest {
        connection_id,
        repository: application.repository.clone(),
        application_id: preview.application_id,
        pull_request: preview.pull_request,
    };
    if jobs::hold_waiting(work, &about.key()).await? {
        return Ok(());
    }
    let job = queue::comment(application.organization_id, work.app.new_id(), &about);
    work.enqueue(&job).await
}

/// What was seen of one live instance of an application. The caller holds the application.
pub async fn observe(
    work: &mut Work<'_>,
    application: &Application,
    before: &Deployment,
    instance: &Container,
    seen: &Seen,
) -> Result<()> {
    let now = work.app.now();
    containers::observe(work, instance.id, &seen.engine_id, seen.status).await?;
    containers::set_crash_loop(work, instance.id, seen.steady_restarts, &seen.crash_loop_text()).await?;
    let instances = containers::instances_of(work, &[before.id]).await?;
    let Some(first) = shown_instance(work, before, &instances).await? else { return Ok(()) };
    let status = match first.service.as_str() {
        "" => combined_status(&instances.iter().map(|instance| instance.status).collect::<Vec<_>>()),
        _ => services_status(first, &instances),
    };
    deployments::set_container(work, before.id, &first.name, &first.engine_id, status, now).await?;
    let was_there = matches!(before.container_status, ContainerStatus::Running | ContainerStatus::Unhealthy);
    if was_there && matches!(status, ContainerStatus::Exited | ContainerStatus::Crashing) {
        let about = subject(application, Some(before.id));
        let reason = seen.crash_loop.as_ref().map_or("", |crash_loop| crash_loop.reason.as_str());
        let details = [("application", application.name.as_str()), ("reason", reason)];
        work.tell(EventName::ApplicationCrashed, about, &details);
    }
    settle(work, application.id).await.map(drop)
}

/// The row of a container was deleted. A deployment that has lost its last instance says so. The caller holds the
/// application.
pub async fn container_deleted(work: &mut Work<'_>, container: &Container) -> Result<()> {
    let now = work.app.now();
    let is_last = container.purpose == Purpose::App
        && containers::instances_of(work, &[container.deployment_id]).await?.is_empty();
    if is_last {
        deployments::observe_container(work, container.deployment_id, ContainerStatus::Removed, now).await?;
    }
    Ok(())
}

/// The one that stands for all of them where only one is shown: of services, the one that visitors of the main domain reach.
async fn shown_instance<'a>(
    work: &mut Work<'_>,
    deployment: &Deployment,
    instances: &'a [Container],
) -> Result<Option<&'a Container>> {
    if instances.iter().all(|instance| instance.service.is_empty()) {
        return Ok(instances.first());
    }
    let release = releases::get(work, deployment.release_id).await?;
    let main = release.as_ref().and_then(Release::main_service);
    Ok(instances.iter().find(|instance| Some(instance.service.as_str()) == main).or(instances.first()))
}

/// Without its main service the application serves no visitor, whatever else runs.
fn services_status(main: &Container, instances: &[Container]) -> ContainerStatus {
    let all_run = instances.iter().all(|instance| instance.status == ContainerStatus::Running);
    match main.status {
        ContainerStatus::Running if !all_run => ContainerStatus::Unhealthy,
        status => status,
    }
}

/// The status of a deployment, from those of its instances: as long as one of them runs, visitors are served.
fn combined_status(instances: &[ContainerStatus]) -> ContainerStatus {
    use ContainerStatus::{Crashing, Exited, Removed, Running, Starting, Unhealthy};
    let has = |status| instances.contains(&status);
    if !instances.is_empty() && instances.iter().all(|status| *status == Running) {
        return Running;
    }
    if has(Running) {
        return Unhealthy;
    }
    [Unhealthy, Crashing, Starting, Exited].into_iter().find(|status| has(*status)).unwrap_or(Removed)
}

pub fn subject(application: &Application, deployment_id: Option<Uuid>) -> EventSubject {
    EventSubject { organization_id: application.organization_id, application_id: Some(application.id), deployment_id }
}

fn tell_deployment(
    work: &mut Work<'_>,
    application: &Application,
    deployment_id: Uuid,
    state: DeploymentState,
    kind: &str,
    failure: Option<Failure>,
    reason: &str,
) {
    let failure = failure.map_or("", Failure::as_str);
    let details =
        [("application", application.name.as_str()), ("kind", kind), ("failure", failure), ("reason", reason)];
    work.tell(state.into(), subject(application, Some(deployment_id)), &details);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deployment_runs_as_long_as_one_instance_does() {
        use ContainerStatus::{Crashing, Exited, Removed, Running, Starting, Unhealthy};
        for status in [Running, Unhealthy, Crashing, Starting, Exited, Removed] {
            assert_eq!(combined_status(&[status]), status, "one instance speaks for itself");
        }
        assert_eq!(combined_status(&[Running, Running]), Running);
        assert_eq!(combined_status(&[Running, Exited]), Unhealthy);
        assert_eq!(combined_status(&[Starting, Running]), Unhealthy);
        assert_eq!(combined_status(&[Crashing, Running]), Unhealthy);
        assert_eq!(combined_status(&[Starting, Crashing, Exited]), Crashing);
        assert_eq!(combined_status(&[Unhealthy, Exited]), Unhealthy);
        assert_eq!(combined_status(&[Removed, Exited]), Exited);
        assert_eq!(combined_status(&[]), Removed);
    }
}
