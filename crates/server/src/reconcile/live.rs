//! What visitors are sent to must run, at the same address: no route changes.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;
use windlass_durable::kill_point;
use windlass_runtime::{ContainerSummary, State};
use windlass_store::containers::{self, Container, Purpose, Stage};
use windlass_store::{applications, deployments, jobs};

use super::found::{is_dead, judge, remove_dead};
use crate::beside::Beside;
use crate::crash_loops::Seen;
use crate::deploy::{self, Result};
use crate::host::Host;
use crate::service::states;
use crate::subject::Subject;

pub(super) async fn keep_alive(
    host: &Arc<Host>,
    beside: &mut Beside,
    row: &Container,
    found: Option<&ContainerSummary>,
) -> Result<()> {
    // Another task is about to stop or start it.
    let Some(no_other) = host.try_to_lock_containers(row.application_id) else { return Ok(()) };
    // The rows were read when the pass began; it may be replaced or stopped by now.
    let Some(row) = if_live(host, row).await?.filter(|row| row.purpose == Purpose::App) else { return Ok(()) };
    if found.is_some_and(is_dead) {
        remove_dead(host, beside, &row, no_other);
        return Ok(());
    }
    let state = found.map(|found| found.state);
    let mut repaired = repair(host, &row, state).await;
    if state != Some(State::Running) && if_live(host, &row).await?.is_none() {
        // Another server has held or replaced it meanwhile.
        repaired = Ok(host.stop_container(&row.name, Duration::ZERO).await?);
    }
    // Also when it could not be repaired: what is shown is what is.
    if observe(host, &row).await? == Observed::Unreachable && !beside.is_busy_with(&row.name) {
        tracing::warn!(container = row.name, "removing a container that has lost its address");
        beside.begin(&row.name.clone(), replace(host.clone(), row, no_other));
    }
    repaired
}

/// Where the container stood, another one is made.
async fn replace(host: Arc<Host>, row: Container, _no_other: OwnedMutexGuard<()>) -> Result<()> {
    host.remove_container(&row.name).await?;
    match if_live(&host, &row).await? {
        Some(row) => make_again(&host, &row).await,
        None => Ok(()),
    }
}

/// The row as it is now.
async fn if_live(host: &Host, row: &Container) -> Result<Option<Container>> {
    let now = containers::by_name(&mut host.app.db.read().await?, &row.name).await?;
    Ok(now.filter(|now| now.stage == Stage::Live))
}

async fn repair(host: &Host, row: &Container, state: Option<State>) -> Result<()> {
    match state {
        Some(State::Running | State::Restarting) => Ok(()),
        // The worker that takes a snapshot of its volume has paused it.
        Some(State::Paused) if jobs::is_worked_on(&mut host.app.db.read().await?, row.application_id).await? => Ok(()),
        Some(State::Paused) => Ok(host.unpause_container(&row.name).await?),
        Some(state @ (State::Created | State::Exited)) => {
            tracing::info!(container = row.name, "starting a container that has ended");
            if state == State::Created && !row.service.is_empty() {
                write_files(host, row, &Subject::load(&host.app, row.deployment_id).await?).await?;
            }
            host.restart_always(&row.name).await?;
            Ok(host.start_container(&row.name).await?)
        }
        // Removed already, beside this.
        Some(State::Dead | State::Removing) => Ok(()),
        None => make_again(host, row).await,
    }
}

/// Those that a service of a compose file has, before it is started.
async fn write_files(host: &Host, row: &Container, subject: &Subject) -> Result<()> {
    match subject.services.as_ref().and_then(|services| services.get(&row.service)) {
        Some(one) => deploy::write_service_files(host, row, &one.service).await,
        None => Ok(()),
    }
}

async fn make_again(host: &Host, row: &Container) -> Result<()> {
    tracing::info!(container = row.name, "making a container again that has vanished");
    let subject = Subject::load(&host.app, row.deployment_id).await?;
    if let Some(services) = &subject.services {
        deploy::refuse_host_access(host, &subject.application, services).await?;
    }
    let network = deploy::network_of(host, &subject.application).await?;
    let specification = deploy::specification(host, &network, row, &subject)?;
    deploy::refuse_vanished_volumes(host, row).await?;
    host.create_container(&specification).await?;
    write_files(host, row, &subject).await?;
    kill_point::reached("reconcile-made-again");
    host.restart_always(&row.name).await?;
    Ok(host.start_container(&row.name).await?)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Observed {
    Told,
    /// It runs, but not at its address: no visitor can reach it.
    Unreachable,
}

/// Statuses say what was seen.
async fn observe(host: &Host, row: &Container) -> Result<Observed> {
    let found = host.container(&row.name).await?;
    if let Some(found) = &found
        && found.state == State::Running
        && !found.addresses.iter().any(|address| address.to_string() == row.address)
        && if_live(host, row).await?.is_some()
    {
        return Ok(Observed::Unreachable);
    }
    let seen = judge(host, row, found.as_ref());
    if !seen.is_known(row) {
        tell_status(host, row, &seen).await?;
    }
    Ok(Observed::Told)
}

async fn tell_status(host: &Host, row: &Container, seen: &Seen) -> Result<()> {
    let mut work = host.app.begin_step().await?;
    let Some(application) = applications::lock(&mut work, row.application_id).await? else { return Ok(()) };
    let before = deployments::get(&mut work, row.deployment_id).await?;
    let now = containers::by_name(&mut work, &row.name).await?;
    let (Some(before), true) = (before, now.is_some_and(|now| now.stage == Stage::Live)) else { return Ok(()) };
    states::observe(&mut work, &application, &before, row, seen).await?;
    work.commit().await?;
    Ok(())
}
