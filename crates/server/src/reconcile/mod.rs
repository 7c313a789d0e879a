//! Makes the engine and the edge agree with the rows, again and again: what died is started, what vanished is made anew, what
//! no row wants is removed. Events only make it sooner. Nothing without this installation's label is touched.

mod ends;
mod found;
mod live;
mod services;
mod sweep;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use uuid::Uuid;
use windlass_api::{ContainerStatus, Failure};
use windlass_runtime::{ContainerSummary, State};
use windlass_store::containers::{self, Container, Purpose, Stage};
use windlass_store::{applications, jobs};

use crate::beside::Beside;
use crate::deploy::{Interruption, Result};
use crate::engine_health::EngineState;
use crate::host::Host;
use crate::labels::{APPLICATION_LABEL, HELPER, PURPOSE_LABEL};
use crate::service::{queue, states};
use crate::{firewall, pulled_images, runs};

use ends::{Heard, hear, next, pass_over, tell_ends};

pub const INTERVAL: Duration = Duration::from_secs(5);
/// While the engine does not answer, it is asked more often.
const HURRIED: Duration = Duration::from_secs(1);
/// An engine that takes longer to begin telling events is asked first whether it answers at all.
const EVENTS_LIMIT: Duration = Duration::from_secs(10);
/// Events come in swarms.
const SETTLE: Duration = Duration::from_millis(100);
/// Images and networks change less often, and cost more to list.
const PASSES_PER_SWEEP: u64 = 12;

pub async fn run(host: Arc<Host>, mut stop: watch::Receiver<bool>) {
    let (mut events, mut pass, mut was_told) = (None, 0_u64, false);
    let (mut telling, mut beside) = (JoinSet::new(), Beside::default());
    loop {
        // Events tell of all that changes but for addresses, which a list has too.
        let is_thorough = was_told || events.is_none() || pass.is_multiple_of(PASSES_PER_SWEEP);
        let mut is_well = look_after(&host, &mut beside, pass, is_thorough).await;
        was_told = !is_well;
        if is_well && events.is_none() {
            if let Ok(Ok(told)) = tokio::time::timeout(EVENTS_LIMIT, host.events()).await {
                events = Some(told);
            }
            is_well = events.is_some();
        }
        pass += 1;
        tokio::select! {
            () = tokio::time::sleep(if is_well { INTERVAL } else { HURRIED }) => {}
            () = host.app.rows_changed.notified() => was_told = true,
            event = next(&mut events) => {
                let mut heard = Heard::default();
                hear(&host, event, &mut events, &mut heard);
                was_told = true;
                tokio::time::sleep(SETTLE).await;
                pass_over(&host, &mut events, &mut heard).await;
                tell_ends(&mut telling, &host, heard.ends);
            }
            () = stopped(&mut stop) => return,
        }
    }
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

/// A thorough pass looks at each container; others only at those of which a list tells something new.
async fn look_after(host: &Arc<Host>, beside: &mut Beside, pass: u64, is_thorough: bool) -> bool {
    let seen = host.look().await;
    let is_due = pass.is_multiple_of(PASSES_PER_SWEEP) || host.app.engine_health.seen() != EngineState::Well;
    // Before a job is told that the engine answers, so that the rules are there first wherever they can be set.
    if seen == EngineState::Well
        && is_due
        && let Err(problem) = firewall::apply(host).await
    {
        tracing::warn!(?problem, "what containers can reach could not be looked after; trying again");
    }
    let before = host.app.engine_health.set(seen.clone());
    if seen != before {
        tell_what_is_seen(&seen);
        host.app.jobs_waiting.notify_one();
    }
    if matches!(seen, EngineState::HeldByAnother { .. }) {
        return false;
    }
    let mut answers = seen == EngineState::Well;
    if answers {
        let reconciled = async {
            reconcile_containers(host, beside, is_thorough).await?;
            if pass.is_multiple_of(PASSES_PER_SWEEP) {
                host.app.build_limits.apply(host).await?;
                sweep::images(host).await?;
                pulled_images::sweep(host).await?;
                sweep::networks(host).await?;
                if !beside.is_busy_with(EVERY_READER) {
                    beside.begin(EVERY_READER, forget_vanished(host.clone()));
                }
            }
            Ok::<_, Interruption>(())
        };
        if let Err(problem) = reconciled.await {
            tracing::warn!(?problem, "the container engine could not be brought in line; trying again");
            // It is asked again at once, before anything else waits for it in vain.
            answers = !matches!(problem, Interruption::EngineLost(_));
        }
    }
    if let Err(error) = host.routes.publish(&host.app).await {
        tracing::warn!(%error, "the edge could not be told its routes; trying again");
    }
    answers
}

fn tell_what_is_seen(seen: &EngineState) {
    match seen {
        EngineState::NotAsked => {}
        EngineState::Well => tracing::info!("the container engine answers"),
        EngineState::Unreachable(problem) => tracing::warn!("{problem}. Deployments wait until it answers."),
        EngineState::HeldByAnother { other, words, .. } => tracing::error!(other, "{words}"),
    }
}

/// In the place of a container's name.
const EVERY_READER: &str = "all that were read";

/// How far containers were read that are gone.
async fn forget_vanished(host: Arc<Host>) -> Result<()> {
    let known = host.collector.known().await?;
    Ok(host.collector.forget_vanished(known, &host.containers().await?).await?)
}

async fn reconcile_containers(host: &Arc<Host>, beside: &mut Beside, is_thorough: bool) -> Result<()> {
    // In this order: a row comes before its container and goes after it, so what has no row now is wanted by none.
    let (helpers, on_engine): (Vec<_>, Vec<_>) = host.containers().await?.into_iter().partition(is_helper);
    host.collector.look_after(&on_engine);
    let mut conn = host.app.db.read().await?;
    let rows = containers::all(&mut conn).await?;
    let busy: HashSet<Uuid> = jobs::busy_applications(&mut conn).await?.into_iter().collect();
    drop(conn);
    let by_name: HashMap<&str, &ContainerSummary> =
        on_engine.iter().map(|found| (found.name.as_str(), found)).collect();
    host.last_ends.keep(|name| by_name.contains_key(name));
    // What visitors are sent to comes first.
    for row in
        rows.iter().filter(|row| row.stage == Stage::Live).chain(rows.iter().filter(|row| row.stage != Stage::Live))
    {
        let found = by_name.get(row.name.as_str()).copied();
        if !is_thorough && found.is_some_and(|found| is_as_known(row, found)) {
            continue;
        }
        if row.purpose == Purpose::Run {
            if !beside.is_busy_with(&row.name) {
                let state = found.map(|found| found.state);
                beside.begin(&row.name, runs::look_after(host.clone(), row.clone(), state));
            }
            continue;
        }
        if row.purpose == Purpose::Service {
            if let Err(problem) = services::look_after(host, beside, row, found).await {
                end_if_lost(&problem)?;
                tracing::warn!(container = row.name, ?problem, "a service could not be brought in line; trying again");
            }
            continue;
        }
        let outcome = match row.stage {
            Stage::Live => live::keep_alive(host, beside, row, found).await,
            // The worker that has a job of the application knows what to do with it.
            Stage::Starting | Stage::Leaving if busy.contains(&row.application_id) => Ok(()),
            // A job starts it again, or ends it: see `resume_held`.
            Stage::Held | Stage::Stopped => Ok(()),
            Stage::Starting | Stage::Leaving => {
                if !beside.is_busy_with(&row.name) {
                    beside.begin(&row.name, forget(host.clone(), row.clone()));
                }
                Ok(())
            }
        };
        if let Err(problem) = outcome {
            end_if_lost(&problem)?;
            tracing::warn!(container = row.name, ?problem, "a container could not be brought in line; trying again");
        }
    }
    resume_held(host).await?;
    for helper in helpers.iter().filter(|helper| !application_of(helper).is_some_and(|id| busy.contains(&id))) {
        tracing::info!(container = helper.name, "removing a container whose work is over");
        host.remove_ended_container(&helper.name).await?;
    }
    let names: HashSet<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    for stray in &on_engine {
        if names.contains(stray.name.as_str()) || beside.is_busy_with(&stray.name) {
            continue;
        }
        tracing::info!(container = stray.name, "removing a container that belongs to no instance");
        let (host, name) = (host.clone(), stray.name.clone());
        beside.begin(&stray.name, async move { Ok(host.remove_container(&name).await?) });
    }
    Ok(())
}

/// Whether a live container runs, at its address, as its row says.
fn is_as_known(row: &Container, found: &ContainerSummary) -> bool {
    let is_at_its_address = || found.addresses.iter().any(|address| address.to_string() == row.address);
    row.stage == Stage::Live
        && row.status == ContainerStatus::Running
        && row.crash_loop.is_empty()
        && row.engine_id == found.id
        && found.state == State::Running
        && is_at_its_address()
}

/// An engine that does not answer is not asked for one container after another: each would be waited for.
fn end_if_lost(problem: &Interruption) -> Result<()> {
    match problem {
        Interruption::EngineLost(words) => Err(Interruption::EngineLost(words.clone())),
        Interruption::Failed(Failure::TimedOut, words) => Err(Interruption::EngineLost(words.clone())),
        _ => Ok(()),
    }
}

/// Whether it is never started.
fn is_helper(found: &ContainerSummary) -> bool {
    found.labels.get(PURPOSE_LABEL).is_some_and(|purpose| purpose == HELPER)
}

fn application_of(found: &ContainerSummary) -> Option<Uuid> {
    found.labels.get(APPLICATION_LABEL)?.parse().ok()
}

/// Visitors wait, and no job is left that sees to it: what was stopped is to be started again.
async fn resume_held(host: &Host) -> Result<()> {
    let waiting = applications::held(&mut host.app.db.read().await?).await?;
    for id in waiting {
        let mut work = host.app.begin_step().await?;
        let Some(application) = applications::lock(&mut work, id).await? else { continue };
        if application.held_until.is_some() && jobs::of_application(&mut work, id).await?.is_empty() {
            work.enqueue(&queue::resume(&application, host.app.new_id())).await?;
            work.commit().await?;
        }
    }
    Ok(())
}

/// A container that its deployment or its successor has no more use for, and whose job is over.
async fn forget(host: Arc<Host>, row: Container) -> Result<()> {
    // The rows were read a moment ago, and a deployment may have ended meanwhile: look again.
    let mut conn = host.app.db.read().await?;
    let has_job = !jobs::of_application(&mut conn, row.application_id).await?.is_empty();
    let now = containers::by_name(&mut conn, &row.name).await?;
    drop(conn);
    if has_job || now.is_none_or(|now| now.stage == Stage::Live) {
        return Ok(());
    }
    tracing::info!(container = row.name, "removing a container whose work is over");
    host.remove_container(&row.name).await?;
    let (mut work, now) = (host.app.begin_step().await?, host.app.now());
    applications::lock(&mut work, row.application_id).await?;
    containers::delete(&mut work, row.id, now).await?;
    states::container_deleted(&mut work, &row).await?;
    states::settle(&mut work, row.application_id).await?;
    work.commit().await?;
    Ok(())
}
