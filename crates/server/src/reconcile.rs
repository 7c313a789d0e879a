//! Makes the engine and the edge agree with the rows, again and again: what died is started, what vanished is made anew, what
//! no row wants is removed. Events only make it sooner. Nothing without this installation's label is touched.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedMutexGuard, watch};
use tokio::task::JoinSet;
use uuid::Uuid;
use windlass_api::{ContainerStatus, Failure, LogStep};
use windlass_durable::kill_point;
use windlass_runtime::{ContainerEvent, ContainerEventKind, ContainerSummary, Events, State};
use windlass_store::containers::{self, Container, Purpose, Stage};
use windlass_store::{applications, deployments, jobs, networks, releases};

use crate::beside::Beside;
use crate::crash_loops::{self, Seen};
use crate::deploy::{self, Interruption, Result};
use crate::engine_health::EngineState;
use crate::executions;
use crate::host::Host;
use crate::labels::{APPLICATION_LABEL, DEPLOYMENT_LABEL, HELPER, PURPOSE_LABEL};
use crate::logs::Secrets;
use crate::service::{queue, states};
use crate::subject::Subject;
use crate::{firewall, host_route, pulled_images, runs};

pub const INTERVAL: Duration = Duration::from_secs(5);
/// While the engine does not answer, it is asked more often.
const HURRIED: Duration = Duration::from_secs(1);
/// An engine that takes longer to begin telling events is asked first whether it answers at all.
const EVENTS_LIMIT: Duration = Duration::from_secs(10);
/// Events come in swarms.
const SETTLE: Duration = Duration::from_millis(100);
/// Images and networks change less often, and cost more to list.
const PASSES_PER_SWEEP: u64 = 12;
/// Ends that are told of at once; of more there is nothing to learn.
const MOST_ENDS: usize = 100;
/// Of a container that ended, in its record.
const LAST_LINES: usize = 5;
const LONGEST_LAST_LINE: usize = 500;

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

/// What was heard of containers at once.
#[derive(Default)]
struct Heard {
    ends: Vec<End>,
    /// Those of which a process was ended because there was no more memory.
    out_of_memory: HashSet<String>,
}

/// A container that has ended, and with which exit code.
struct End {
    name: String,
    exit_code: i64,
}

fn hear(host: &Host, event: Option<ContainerEvent>, events: &mut Option<Events>, heard: &mut Heard) {
    match event {
        Some(ContainerEvent { name, kind: ContainerEventKind::OutOfMemory, .. }) => {
            heard.out_of_memory.insert(name);
        }
        Some(ContainerEvent { name, kind: ContainerEventKind::Died { exit_code }, .. }) => {
            host.last_ends.note(&name, exit_code, heard.out_of_memory.remove(&name));
            if heard.ends.len() < MOST_ENDS {
                heard.ends.push(End { name, exit_code });
            }
        }
        Some(_) => {}
        None => *events = None,
    }
}

/// What comes in a swarm is heard at once.
async fn pass_over(host: &Host, events: &mut Option<Events>, heard: &mut Heard) {
    while events.is_some() {
        match tokio::time::timeout(Duration::ZERO, next(events)).await {
            Ok(event) => hear(host, event, events, heard),
            Err(_) => return,
        }
    }
}

/// Nothing when there are no more to come.
async fn next(events: &mut Option<Events>) -> Option<ContainerEvent> {
    match events {
        Some(events) => events.next().await?.ok(),
        None => std::future::pending().await,
    }
}

/// Beside the passes: the last lines of a container may take a while, and the others must not wait for them.
fn tell_ends(telling: &mut JoinSet<()>, host: &Arc<Host>, ends: Vec<End>) {
    while telling.try_join_next().is_some() {}
    for end in ends.into_iter().take(MOST_ENDS.saturating_sub(telling.len())) {
        let host = host.clone();
        telling.spawn(async move {
            if let Err(problem) = tell_end(&host, &end).await {
                tracing::warn!(container = end.name, ?problem, "why it ended could not be told");
            }
        });
    }
}

/// Why a live container ended: its last lines for its record, and a line in the log of its deployment. One that ends again and again
/// is told of there ever more rarely.
async fn tell_end(host: &Host, end: &End) -> Result<()> {
    let row = containers::by_name(&mut host.app.db.read().await?, &end.name).await?;
    let row = row.filter(|row| row.stage == Stage::Live && row.purpose == Purpose::App);
    let Some(row) = row else { return Ok(()) };
    let Some(found) = host.container(&end.name).await? else { return Ok(()) };
    let subject = Subject::load(&host.app, row.deployment_id).await?;
    note_last_lines(host, &found, &Secrets::of(&subject)).await?;
    let restarts = found.restart_count;
    if restarts > 1 && !restarts.is_power_of_two() {
        return Ok(());
    }
    let (log, writer) = deploy::open_log(host, &subject, LogStep::Run);
    let (code, times) = (end.exit_code, restarts.max(1));
    // After the last of what it printed, if that does not take too long.
    if let Err(problem) = host.read_to_end(&end.name).await {
        tracing::debug!(container = end.name, ?problem, "its last lines come later");
    }
    let words =
        format!("The container {} ended with exit code {code} and is started again ({times} times so far).", end.name);
    log.note(words).await;
    drop(log);
    writer.finish().await;
    Ok(())
}

/// What it printed last before it ended. It may have been started again since.
async fn note_last_lines(host: &Host, found: &windlass_runtime::Container, secrets: &Secrets) -> Result<()> {
    let lines = host.last_lines_until(&found.name, LAST_LINES, found.finished_at).await?;
    let shown = |line: &String| secrets.safe_beginning(line).chars().take(LONGEST_LAST_LINE).collect();
    host.last_ends.note_lines(&found.name, lines.iter().map(shown).collect());
    host.app.rows_changed.notify_one();
    Ok(())
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
                sweep_images(host).await?;
                pulled_images::sweep(host).await?;
                sweep_networks(host).await?;
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
            if let Err(problem) = look_after_service(host, beside, row, found).await {
                end_if_lost(&problem)?;
                tracing::warn!(container = row.name, ?problem, "a service could not be brought in line; trying again");
            }
            continue;
        }
        let outcome = match row.stage {
            Stage::Live => keep_alive(host, beside, row, found).await,
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

/// A service of an extension: rows without a job of their installation are made true.
async fn look_after_service(
    host: &Arc<Host>,
    beside: &mut Beside,
    row: &Container,
    found: Option<&ContainerSummary>,
) -> Result<()> {
    let Some(no_other) = host.try_to_lock_containers(row.application_id) else { return Ok(()) };
    if executions::engine::is_busy(host, row.application_id).await? {
        return Ok(());
    }
    // The rows were read when the pass began.
    let now = containers::by_name(&mut host.app.db.read().await?, &row.name).await?;
    let Some(row) = now else { return Ok(()) };
    match row.stage {
        Stage::Live if found.is_some_and(is_dead) => {
            remove_dead(host, beside, &row, no_other);
            Ok(())
        }
        Stage::Live => {
            let kept = executions::engine::keep_alive(host, &row, found.map(|found| found.state)).await;
            // Also when it could not be repaired: what is shown is what is.
            observe_service(host, &row).await?;
            kept
        }
        Stage::Stopped => observe_service(host, &row).await,
        // The execution that put it aside is over.
        Stage::Held => executions::engine::resume(host, &row).await,
        Stage::Starting | Stage::Leaving if beside.is_busy_with(&row.name) => Ok(()),
        Stage::Starting | Stage::Leaving => {
            tracing::info!(container = row.name, "removing a service whose time is over");
            beside.begin(&row.name.clone(), forget_service(host.clone(), row, no_other));
            Ok(())
        }
    }
}

async fn forget_service(host: Arc<Host>, row: Container, _no_other: OwnedMutexGuard<()>) -> Result<()> {
    executions::engine::remove_container(&host, row.id, &row.name).await?;
    let (mut work, now) = (host.app.begin_step().await?, host.app.now());
    containers::delete(&mut work, row.id, now).await?;
    Ok(work.commit().await?)
}

/// Whether the engine can do nothing with it but remove it.
fn is_dead(found: &ContainerSummary) -> bool {
    matches!(found.state, State::Dead | State::Removing)
}

/// The next pass makes another one.
fn remove_dead(host: &Arc<Host>, beside: &mut Beside, row: &Container, no_other: OwnedMutexGuard<()>) {
    if beside.is_busy_with(&row.name) {
        return;
    }
    let (host, name) = (host.clone(), row.name.clone());
    beside.begin(&row.name, async move {
        let _no_other = no_other;
        host.remove_container(&name).await?;
        host.app.rows_changed.notify_one();
        Ok(())
    });
}

async fn observe_service(host: &Host, row: &Container) -> Result<()> {
    let found = host.container(&row.name).await?;
    let seen = judge(host, row, found.as_ref());
    if seen.is_known(row) {
        return Ok(());
    }
    let mut work = host.app.begin_step().await?;
    containers::observe(&mut work, row.id, &seen.engine_id, seen.status).await?;
    containers::set_crash_loop(&mut work, row.id, seen.steady_restarts, &seen.crash_loop_text()).await?;
    Ok(work.commit().await?)
}

fn judge(host: &Host, row: &Container, found: Option<&windlass_runtime::Container>) -> Seen {
    let seen = crash_loops::judge(row, found, host.last_ends.of(&row.name), host.app.now());
    if seen.crash_loop.is_none() {
        host.last_ends.forget(&row.name);
    }
    seen
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

/// What visitors are sent to must run. At the same address: no route changes.
async fn keep_alive(
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

/// Removes images of this installation that belong to no release that can be made live.
async fn sweep_images(host: &Host) -> Result<()> {
    let images = host.images().await?;
    let mut conn = host.app.db.read().await?;
    let wanted: HashSet<String> = releases::wanted_images(&mut conn).await?.into_iter().collect();
    for image in images {
        if wanted.contains(&image.id) {
            continue;
        }
        // One that is being built is in no row yet.
        let release = match image.labels.get(DEPLOYMENT_LABEL).and_then(|id| id.parse().ok()) {
            Some(id) => releases::get(&mut conn, id).await?,
            None => None,
        };
        if release.is_some_and(|release| release.removed_at.is_none() && release.artifact.is_none()) {
            continue;
        }
        tracing::info!(image = image.id, "removing an image that belongs to no release");
        for name in image.tags.iter().chain(image.tags.is_empty().then_some(&image.id)) {
            if let Err(error) = host.remove_image(name).await {
                tracing::debug!(%error, name, "an image could not be removed yet");
            }
        }
    }
    Ok(())
}

/// Networks whose organization has no application any more, or whose preview is gone, and networks without a row.
async fn sweep_networks(host: &Host) -> Result<()> {
    deploy::remove_unused_networks(host).await?;
    let _one_at_a_time = host.networks.lock().await;
    let on_engine = host.networks().await?;
    let rows = networks::all(&mut host.app.db.read().await?).await?;
    if !rows.is_empty() {
        host_route::add(&host.app.config.data_dir, host.app.config.network_pool).await;
    }
    for stray in on_engine {
        if rows.iter().any(|row| row.name == stray.name) {
            continue;
        }
        tracing::info!(network = stray.name, "removing a network that has no row");
        if let Err(error) = host.remove_network(&stray.name).await {
            tracing::warn!(network = stray.name, %error, "it could not be removed; trying again");
        }
    }
    Ok(())
}
