//! Containers of services: all have their rows and addresses first, then they are started, each after those that it depends on.

use std::collections::HashSet;
use std::time::Duration;

use tokio::time::Instant;
use windlass_api::{Failure, LogStep};
use windlass_compose::Condition;
use windlass_durable::kill_point;
use windlass_runtime::{Creation, State};
use windlass_store::application_domains;
use windlass_store::containers::{self, Container, Purpose};
use windlass_store::networks::Network;

use super::health::wait_for_service;
use super::{Wanted, specification, write_files};
use crate::deploy::attempt::Attempt;
use crate::deploy::container::{NewContainer, row};
use crate::deploy::failure::{Interruption, Result, failed};
use crate::deploy::{health, start, volumes};

/// How long all services together may take that others wait for until they have ended.
const TASK_LIMIT: Duration = Duration::from_secs(600);
/// Of a row that is new.
const NO_HOSTS: &str = "[]";

/// The row of each service's container; that of before where it is kept.
pub async fn rows(attempt: &Attempt<'_>, network: &Network, all: &[Wanted]) -> Result<Vec<Container>> {
    let mut rows = Vec::new();
    for wanted in all {
        rows.push(match &wanted.kept {
            Some(kept) => Container { ordinal: wanted.ordinal.into(), ..kept.clone() },
            None => new_row(attempt, network, wanted).await?,
        });
    }
    kill_point::reached("compose-stored");
    store_addresses_of_others(attempt, all, &mut rows).await?;
    Ok(rows)
}

async fn new_row(attempt: &Attempt<'_>, network: &Network, wanted: &Wanted) -> Result<Container> {
    let purpose = if wanted.definition.is_task { Purpose::PreRun } else { Purpose::App };
    let part = NewContainer {
        purpose,
        ordinal: wanted.ordinal,
        mounts: &wanted.mounts,
        service: wanted.name(),
        port: wanted.definition.port,
        specification_hash: &wanted.hash,
    };
    row(attempt.host, attempt.held, &attempt.deployment, network, &part).await
}

/// Each finds the others by their names. What may stay when the others are replaced finds only those that it depends on.
async fn store_addresses_of_others(attempt: &Attempt<'_>, all: &[Wanted], rows: &mut [Container]) -> Result<()> {
    let addresses: Vec<String> = rows.iter().map(|row| row.address.clone()).collect();
    for (wanted, row) in all.iter().zip(rows.iter_mut()).filter(|(wanted, _)| wanted.kept.is_none()) {
        let told = all.iter().zip(&addresses).filter(|(other, _)| finds(attempt, wanted, other));
        let hosts: Vec<(&str, &str)> =
            told.flat_map(|(other, address)| names(other).map(move |name| (name, address.as_str()))).collect();
        let hosts = serde_json::to_string(&hosts)
            .map_err(|error| Interruption::Failed(Failure::Internal, error.to_string()))?;
        if row.hosts != NO_HOSTS && row.hosts != hosts {
            remove_outdated(attempt, row).await?;
        }
        row.hosts = hosts;
    }
    let mut tx = attempt.held.begin().await?;
    for (_, row) in all.iter().zip(rows).filter(|(wanted, _)| wanted.kept.is_none()) {
        containers::set_hosts(&mut tx, row.id, &row.hosts).await?;
    }
    tx.commit().await?;
    Ok(())
}

fn finds(attempt: &Attempt<'_>, wanted: &Wanted, other: &Wanted) -> bool {
    let is_named = wanted.definition.service.depends_on.iter().any(|need| need.service == other.name());
    let finds_all = !wanted.has_own_data() || is_main(attempt, wanted.name());
    !other.definition.is_task && (finds_all || is_named || other.name() == wanted.name())
}

/// An attempt before this one has made it when other services were elsewhere, and the engine cannot tell a container anything new.
async fn remove_outdated(attempt: &Attempt<'_>, row: &Container) -> Result<()> {
    let Some(found) = attempt.host.container(&row.name).await? else { return Ok(()) };
    if row.purpose == Purpose::PreRun && found.state != State::Created {
        return failed(
            Failure::PreRunFailed,
            format!(
                "{} runs once for each deployment, and has begun beside services that are replaced by now. Deploy again.",
                row.service
            ),
        );
    }
    attempt.held.check().await?;
    Ok(attempt.host.remove_container(&row.name).await?)
}

fn names(wanted: &Wanted) -> impl Iterator<Item = &str> {
    std::iter::once(wanted.name()).chain(wanted.definition.service.aliases.iter().map(String::as_str))
}

/// Starts all services in order, waits until they are well, and returns the containers that serve.
pub async fn start_all(
    attempt: &mut Attempt<'_>,
    network: &Network,
    all: &[Wanted],
    rows: &[Container],
) -> Result<Vec<Container>> {
    let mut well = HashSet::new();
    let tasks_end = Instant::now() + TASK_LIMIT;
    for (wanted, row) in all.iter().zip(rows) {
        await_dependencies(attempt, wanted, all, rows, &mut well).await?;
        attempt.log.enter(LogStep::Start);
        match &wanted.kept {
            Some(_) => {
                attempt.log.note(format!("{}: stays as it is ({})", wanted.name(), row.name)).await;
                well.insert(wanted.name().to_owned());
            }
            None if wanted.definition.is_task => run_task(attempt, network, wanted, row, tasks_end).await?,
            None => start_one(attempt, network, wanted, row).await?,
        }
    }
    let serving: Vec<_> = all.iter().zip(rows).filter(|(wanted, _)| !wanted.definition.is_task).collect();
    for (wanted, row) in &serving {
        wait_until_well(attempt, wanted, row, &mut well).await?;
    }
    let new: Vec<Container> =
        serving.iter().filter(|(wanted, _)| wanted.kept.is_none()).map(|(_, row)| (*row).clone()).collect();
    health::all_run(attempt, &new).await?;
    // What the engine calls them was noted when they were made.
    let mut conn = attempt.host.app.db.read().await?;
    let mut instances = Vec::new();
    for (_, row) in serving {
        let stored = containers::by_name(&mut conn, &row.name).await?.ok_or(Interruption::Lost)?;
        instances.push(Container { ordinal: row.ordinal, ..stored });
    }
    Ok(instances)
}

async fn await_dependencies(
    attempt: &mut Attempt<'_>,
    wanted: &Wanted,
    all: &[Wanted],
    rows: &[Container],
    well: &mut HashSet<String>,
) -> Result<()> {
    for need in wanted.definition.service.depends_on.iter().filter(|need| need.condition == Condition::Healthy) {
        let other = all.iter().zip(rows).find(|(other, _)| other.name() == need.service);
        if let Some((other, row)) = other {
            wait_until_well(attempt, other, row, well).await?;
        }
    }
    Ok(())
}

async fn wait_until_well(
    attempt: &mut Attempt<'_>,
    wanted: &Wanted,
    row: &Container,
    well: &mut HashSet<String>,
) -> Result<()> {
    if well.contains(wanted.name()) || wanted.definition.is_task {
        return Ok(());
    }
    let is_visited = is_visited(attempt, wanted).await?;
    wait_for_service(attempt, row, &wanted.definition, &wanted.image, is_visited).await?;
    well.insert(wanted.name().to_owned());
    Ok(())
}

/// Whether visitors reach it. Then it must take connections, not only run.
async fn is_visited(attempt: &Attempt<'_>, wanted: &Wanted) -> Result<bool> {
    if is_main(attempt, wanted.name()) {
        return Ok(true);
    }
    let mut conn = attempt.host.app.db.read().await?;
    let domains = application_domains::of_application(&mut conn, attempt.application.id).await?;
    let leads_here = domains.iter().any(|domain| domain.service == wanted.name());
    Ok(leads_here && wanted.definition.port > 0)
}

/// The one that visitors of the main domain reach.
pub fn main_service<'a>(attempt: &'a Attempt<'_>) -> &'a str {
    attempt.release.main_service().unwrap_or_default()
}

fn is_main(attempt: &Attempt<'_>, name: &str) -> bool {
    main_service(attempt) == name
}

async fn start_one(attempt: &mut Attempt<'_>, network: &Network, wanted: &Wanted, row: &Container) -> Result<()> {
    let specification = specification(attempt.host, network, row, attempt)?;
    let engine_id = start::create(attempt, &specification).await?;
    kill_point::reached("compose-created");
    start::note_engine_id(attempt, row, &engine_id, is_main(attempt, wanted.name())).await?;
    volumes::give_to_user(attempt, row, &wanted.image.user, &wanted.mounts).await?;
    write_files(attempt.host, row, &wanted.definition.service).await?;
    let finds = match wanted.has_own_data() && !is_main(attempt, wanted.name()) {
        true => ". It has a volume and finds only the services that it depends on",
        false => "",
    };
    attempt.log.note(format!("Starting {} ({}) at {}{finds}", wanted.name(), row.name, row.address)).await;
    match attempt.host.start_container(&row.name).await {
        Ok(()) => {}
        Err(windlass_runtime::Error::StartFailed { message }) => {
            return failed(start::start_failure(&message), format!("{}: {message}", wanted.name()));
        }
        Err(error) => return Err(error.into()),
    }
    volumes::note_use(attempt, &wanted.mounts).await?;
    attempt.host.collector.begin(&row.name).await?;
    kill_point::reached("compose-started");
    Ok(())
}

/// Until it has ended. One that has begun is never begun again: after a crash its end is waited for, or looked up.
async fn run_task(
    attempt: &Attempt<'_>,
    network: &Network,
    wanted: &Wanted,
    row: &Container,
    tasks_end: Instant,
) -> Result<()> {
    attempt.log.enter(LogStep::PreRun);
    let specification = specification(attempt.host, network, row, attempt)?;
    let state = match attempt.host.create_container(&specification).await? {
        Creation::Created(_) => State::Created,
        Creation::Exists(found) => found.state,
    };
    kill_point::reached("compose-task-created");
    if state == State::Created {
        volumes::give_to_user(attempt, row, &wanted.image.user, &wanted.mounts).await?;
        write_files(attempt.host, row, &wanted.definition.service).await?;
        attempt.log.note(format!("Running {} ({}), which others wait for", wanted.name(), row.name)).await;
        attempt.host.start_container(&row.name).await?;
        volumes::note_use(attempt, &wanted.mounts).await?;
    }
    attempt.host.collector.begin(&row.name).await?;
    let ended = async {
        let Ok(ended) = tokio::time::timeout_at(tasks_end, attempt.host.wait_for_container(&row.name)).await else {
            return failed(
                Failure::TimedOut,
                format!(
                    "{} has not ended, and others wait for it. All services of that kind have {} s together. Let it end sooner, or let the others \
                     depend on it with the condition service_started.",
                    wanted.name(),
                    TASK_LIMIT.as_secs()
                ),
            );
        };
        Ok(ended?)
    };
    let code = attempt.in_time(&format!("the service {}", wanted.name()), ended).await?;
    attempt.host.read_to_end(&row.name).await?;
    match code {
        0 => Ok(()),
        code => failed(
            Failure::PreRunFailed,
            format!("{} ended with exit code {code}, and others wait for it to succeed", wanted.name()),
        ),
    }
}
