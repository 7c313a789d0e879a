//! The container of a command run: like the one that visitors are served by, with the same image, variables, volumes, network and limits,
//! but for its command. Its row has the run's id.

use std::sync::Arc;

use uuid::Uuid;
use windlass_api::{ContainerStatus, EventName, Failure, RunStatus};
use windlass_durable::kill_point;
use windlass_runtime::{ContainerSpec, HealthTest, State};
use windlass_store::applications::{self, Application};
use windlass_store::containers::{self, Container, Purpose, Stage};
use windlass_store::networks::Network;
use windlass_store::runs::{self, End, Run};
use windlass_store::{jobs, organizations};

use super::run::{begin, called_off, over};
use crate::deploy::{self, Interruption, Result};
use crate::host::Host;
use crate::jobs::Held;
use crate::labels::{RUN_LABEL, short};
use crate::mounts;
use crate::service::queue;
use crate::service::runs as service;
use crate::service::work::Work;
use crate::subject::Subject;

/// A container that has its row, and what the engine is to be told about it.
pub struct Prepared {
    pub container: Container,
    pub specification: ContainerSpec,
    subject: Subject,
}

/// Of what is live now. Or how the run ends, because there is nothing that it can be a part of.
pub async fn prepare(host: &Arc<Host>, held: &Held, run: &Run) -> Result<std::result::Result<Prepared, End>> {
    let mut conn = host.app.db.read().await?;
    let application = applications::get(&mut conn, run.application_id).await?.ok_or(Interruption::Lost)?;
    let live = match service::live(&mut conn, &application).await? {
        Ok(live) => live,
        Err(reason) => return Ok(Err(over(RunStatus::Interrupted, reason))),
    };
    let service = match service::service_of(&live.release, &run.service) {
        Ok(service) => service,
        Err(problem) => return Ok(Err(over(RunStatus::Failed, problem))),
    };
    let instances = containers::instances_of(&mut conn, &[live.deployment_id]).await?;
    drop(conn);
    let (live_ones, others): (Vec<_>, Vec<_>) =
        instances.into_iter().filter(|row| row.service == service).partition(|row| row.stage == Stage::Live);
    let Some(model) = live_ones.into_iter().next() else {
        return match others.is_empty() {
            true => Ok(Err(over(RunStatus::Failed, no_container(&service)))),
            false => Err(Interruption::Later("a deployment is replacing what is live".to_owned())),
        };
    };
    let subject = Subject::load(&host.app, live.deployment_id).await?;
    refuse_host_access(host, &application, &subject, &model).await?;
    let network = deploy::network_of(host, &application).await?;
    let started = Run {
        service,
        deployment_id: Some(live.deployment_id),
        release_id: Some(live.release.id),
        status: RunStatus::Running,
        ..run.clone()
    };
    let stored = store(host, held, &started, &network, &model).await?;
    kill_point::reached("run-stored");
    match stored {
        Ok(row) => Ok(Ok(described(host, &network, row, subject, run)?)),
        Err(ended) => Ok(Err(ended)),
    }
}

fn no_container(service: &str) -> String {
    match service {
        "" => "nothing that is live has a container".to_owned(),
        service => format!("the service {service} has no container that goes on running"),
    }
}

/// The same for a run whose row was stored by an attempt before this one.
pub async fn again(host: &Host, run: &Run, row: Container) -> Result<Prepared> {
    let subject = Subject::load(&host.app, row.deployment_id).await?;
    let network = deploy::network_of(host, &subject.application).await?;
    described(host, &network, row, subject, run)
}

fn described(host: &Host, network: &Network, row: Container, subject: Subject, run: &Run) -> Result<Prepared> {
    let mut specification = deploy::specification(host, network, &row, &subject)?;
    // The one shell there is, and it is what the user asked for.
    specification.command = Some(vec!["/bin/sh".into(), "-c".into(), run.command.clone()]);
    specification.labels.insert(RUN_LABEL.into(), run.id.to_string());
    let options = &mut specification.options;
    (options.entrypoint, options.arguments) = (None, None);
    // It serves no visitors, so it is not asked whether it is well.
    options.health = Some(HealthTest { test: vec!["NONE".to_owned()], ..HealthTest::default() });
    Ok(Prepared { container: row, specification, subject })
}

/// Files that a service has beside its image.
pub async fn write_files(host: &Host, prepared: &Prepared) -> Result<()> {
    let services = prepared.subject.services.as_ref();
    match services.and_then(|services| services.get(&prepared.container.service)) {
        Some(one) => deploy::write_service_files(host, &prepared.container, &one.service).await,
        None => Ok(()),
    }
}

/// Host access may have been taken away since the release was built.
async fn refuse_host_access(
    host: &Host,
    application: &Application,
    subject: &Subject,
    model: &Container,
) -> Result<()> {
    if let Some(services) = &subject.services {
        deploy::refuse_host_access(host, application, services).await?;
    }
    let has_folder = mounts::of_container(model)?.iter().any(|mounted| !mounted.host_path.is_empty());
    if has_folder
        && !organizations::has_host_access(&mut host.app.db.read().await?, application.organization_id).await?
    {
        let words = "it would have a folder of the machine, and the organization has no host access";
        return Err(Interruption::Failed(Failure::VolumeUnusable, words.to_owned()));
    }
    deploy::refuse_vanished_volumes(host, model).await
}

/// The row of the container, in the transaction in which the run begins.
async fn store(
    host: &Host,
    held: &Held,
    run: &Run,
    network: &Network,
    model: &Container,
) -> Result<std::result::Result<Container, End>> {
    let (mut work, application) = begin(held, run.application_id).await?;
    let application = application.ok_or(Interruption::Lost)?;
    if let Some(ended) = called_off(&mut work, run).await? {
        return Ok(Err(ended));
    }
    if application.live_deployment_id != run.deployment_id {
        return Err(Interruption::Later("another release is live by now".to_owned()));
    }
    refuse_beside_deployment_or_snapshot(&mut work, &application, model).await?;
    let mut row = Container {
        id: run.id,
        purpose: Purpose::Run,
        ordinal: 1,
        stage: Stage::Starting,
        name: format!("wl-{}-run-{}", short(application.id), short(run.id)),
        engine_id: String::new(),
        status: ContainerStatus::None,
        address: String::new(),
        steady_restarts: 0,
        crash_loop: String::new(),
        created_at: host.app.now(),
        ..model.clone()
    };
    // The address's row names the container's: that one comes first.
    containers::insert(&mut work, &row).await?;
    row.address = deploy::take_address(&mut work, network, row.id).await?.to_string();
    containers::set_address(&mut work, row.id, &row.address).await?;
    if !runs::start(&mut work, run, host.app.now()).await? {
        return Err(Interruption::Lost);
    }
    service::tell(&mut work, &application, run, EventName::RunStarted, "");
    work.commit().await?;
    Ok(Ok(row))
}

/// A command writes what the containers of its own release write: never what those of another one do, and nothing that a snapshot is to hold.
/// What waits for the data goes first, else commands that follow each other could keep it waiting for ever. That a volume is shared says
/// nothing about the next release, nor about a snapshot.
async fn refuse_beside_deployment_or_snapshot(
    work: &mut Work<'_>,
    application: &Application,
    model: &Container,
) -> Result<()> {
    if mounts::of_container(model)?.is_empty() {
        return Ok(());
    }
    let is_deploy = |kind: &str| matches!(kind, queue::DEPLOY | queue::ROLL_OUT);
    let waits = jobs::of_application(work, application.id).await?.iter().any(|job| is_deploy(&job.kind));
    if application.held_until.is_some() || waits {
        return Err(Interruption::Later("a deployment is about to write the volumes".to_owned()));
    }
    deploy::refuse_beside_snapshot(work, application.id).await
}

pub async fn row_of(host: &Host, run_id: Uuid) -> Result<Option<Container>> {
    Ok(containers::get(&mut host.app.db.read().await?, run_id).await?)
}

/// The end of the job: nothing of the run is left but its row and its lines.
pub async fn remove(host: &Host, held: &Held, run_id: Uuid) -> Result<()> {
    let row = row_of(host, run_id).await?;
    if let Some(row) = &row {
        host.remove_container(&row.name).await?;
        kill_point::reached("run-removed");
    }
    let application_id = row.as_ref().map_or(Uuid::nil(), |row| row.application_id);
    let (mut work, _) = begin(held, application_id).await?;
    if let Some(row) = row {
        containers::delete(&mut work, row.id, host.app.now()).await?;
    }
    held.done(&mut work).await?;
    Ok(work.commit().await?)
}

/// What no worker does any more: removes one whose job is gone, and lets one go on that was paused for a snapshot when its worker was killed.
pub async fn look_after(host: Arc<Host>, row: Container, state: Option<State>) -> Result<()> {
    let mut conn = host.app.db.read().await?;
    // The rows were read a moment ago: look again.
    let has_job = jobs::exists(&mut conn, row.id).await?;
    let is_left = !has_job && containers::get(&mut conn, row.id).await?.is_some();
    let is_forgotten = state == Some(State::Paused) && !jobs::is_worked_on(&mut conn, row.application_id).await?;
    drop(conn);
    if has_job && is_forgotten {
        host.unpause_container(&row.name).await?;
    }
    if !is_left {
        return Ok(());
    }
    tracing::info!(container = row.name, "removing a container of a command whose run is over");
    host.remove_container(&row.name).await?;
    let (mut work, now) = (host.app.begin_step().await?, host.app.now());
    containers::delete(&mut work, row.id, now).await?;
    Ok(work.commit().await?)
}
