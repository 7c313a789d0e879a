//! Services of a project, started in the order of their dependencies.

use windlass_api::ContainerStatus;
use windlass_compose::{Condition, Project, Restart, Service};
use windlass_durable::kill_point;
use windlass_runtime::{Creation, State};
use windlass_store::containers::{self, Container, Purpose, Stage};
use windlass_store::installations::{self, Seen};
use windlass_store::networks::{self, Network};
use windlass_store::volumes as volume_rows;

use super::specification::{self, Specification, container_spec};
use super::{Engine, image, volumes, wait};
use crate::deploy;
use crate::executions::failure::{StepFailure, StepResult};
use crate::labels::short;
use crate::service::preparation;

/// A service that is to run, and what it needs.
struct Wanted<'p> {
    service: &'p Service,
    image: String,
    specification: Specification,
    /// Whether it is started again when it ends.
    is_kept: bool,
}

/// Starts what is new or has changed, and leaves the rest alone.
pub async fn up(engine: &Engine<'_>, project: &Project) -> StepResult<()> {
    refuse(engine, project)?;
    let network = deploy::ensure_network(engine.host, engine.installation.organization_id).await?;
    let mut all = Vec::new();
    for service in &project.services {
        all.push(wanted(engine, service).await?);
    }
    let mut rows = Vec::new();
    for one in &all {
        rows.push(row(engine, &network, one).await?);
    }
    let mut hosts: Vec<_> = all.iter().zip(&rows).flat_map(|(one, row)| names(one.service, row.address())).collect();
    for earlier in started_before(engine, project).await? {
        if !hosts.iter().any(|(name, _)| *name == earlier.0) {
            hosts.push(earlier);
        }
    }
    for (one, row) in all.iter_mut().zip(rows) {
        one.specification.hosts.clone_from(&hosts);
        await_dependencies(engine, one.service).await?;
        match row {
            Row::Unchanged(seen, stored) if !stored.has_moved(&hosts) => keep(engine, &seen).await?,
            Row::Unchanged(seen, _) if has_done_its_work(engine, &seen).await? => keep(engine, &seen).await?,
            // A container learns where the others are when it is made.
            Row::Unchanged(seen, _) => {
                let container = new_row(engine, &network, one, Some(&seen)).await?;
                start(engine, &network, one, &container).await?;
            }
            Row::New(container) => start(engine, &network, one, &container).await?,
        }
    }
    Ok(())
}

/// Where the services are that earlier steps of this execution have started or kept.
async fn started_before(engine: &Engine<'_>, project: &Project) -> StepResult<Vec<(String, String)>> {
    let is_own = |seen: &Seen| {
        let of_execution = [Some(seen.service.execution_id), seen.service.kept_by];
        seen.stage != Stage::Leaving && of_execution.contains(&Some(engine.execution.id))
    };
    let in_project = |seen: &Seen| project.services.iter().any(|service| service.name == seen.service.name);
    let mut hosts = Vec::new();
    for seen in engine.services().await?.iter().filter(|seen| is_own(seen) && !in_project(seen)) {
        let stored = specification::load(engine.host, seen.service.id).await?;
        hosts.extend(names(&stored.service, &seen.address));
    }
    Ok(hosts)
}

/// Whether it was to end, and has ended well: it needs no other any more, and is not to do its work again.
async fn has_done_its_work(engine: &Engine<'_>, seen: &Seen) -> StepResult<bool> {
    let found = engine.host.container(&seen.container_name).await?;
    let has_ended = found.is_some_and(|found| found.state == State::Exited && found.exit_code == 0);
    Ok(!seen.service.is_kept && has_ended)
}

/// What reaches beyond the organization's containers is looked at once more: host access may have been taken away, and a file of the
/// machine was not read before.
fn refuse(engine: &Engine<'_>, project: &Project) -> StepResult<()> {
    let mut problems: Vec<String> = project.services.iter().flat_map(preparation::unsupported).collect();
    if !engine.has_host_access {
        let dangers = project.services.iter().flat_map(Service::dangers);
        problems.extend(dangers.map(|danger| format!("{} {}, which needs host access", danger.path, danger.what)));
    }
    if problems.is_empty() { Ok(()) } else { Err(StepFailure::new(problems.join("; "))) }
}

async fn wanted<'p>(engine: &Engine<'_>, service: &'p Service) -> StepResult<Wanted<'p>> {
    let image = image::ensure(engine, &service.image, service.pull_policy).await?;
    let mounts = volumes::ensure(engine, service, &image).await?;
    let name = &engine.installation.name;
    // Only where it makes a difference: who asks for an update must not replace what asks nothing of the machine.
    let reaches_host = engine.has_host_access && (!service.ports.is_empty() || !service.dangers().is_empty());
    let specification = Specification::new(service, &image.id, &mounts, name, reaches_host);
    Ok(Wanted { service, image: service.image.clone(), specification, is_kept: service.restart != Restart::No })
}

/// The container's row of a service.
enum Row {
    /// A container of an earlier execution is what is wanted, and this is how it was made.
    Unchanged(Seen, Box<Specification>),
    New(Container),
}

impl Row {
    fn address(&self) -> &str {
        match self {
            Self::Unchanged(seen, _) => &seen.address,
            Self::New(container) => &container.address,
        }
    }
}

/// By its name and its other names.
fn names(service: &Service, address: &str) -> Vec<(String, String)> {
    let names = std::iter::once(&service.name).chain(&service.aliases);
    names.map(|name| (name.clone(), address.to_owned())).collect()
}

/// The row of this execution, made now unless an attempt before this one has made it, or a container of before is what is wanted.
async fn row(engine: &Engine<'_>, network: &Network, wanted: &Wanted<'_>) -> StepResult<Row> {
    let all = engine.services().await?;
    let same_name = |seen: &&Seen| seen.service.name == wanted.service.name;
    let is_own = |seen: &&Seen| seen.service.execution_id == engine.execution.id;
    if let Some(own) = all.iter().filter(same_name).find(is_own) {
        let container = containers::by_name(&mut engine.host.app.db.read().await?, &own.container_name).await?;
        return container.map(Row::New).ok_or_else(|| StepFailure::new("its container's row is gone"));
    }
    let before =
        all.iter().filter(same_name).find(|seen| matches!(seen.stage, Stage::Live | Stage::Held | Stage::Stopped));
    if let Some(before) = before.filter(|before| before.stage == Stage::Live) {
        match specification::load(engine.host, before.service.id).await {
            Ok(stored) if stored.asks_for_the_same(&wanted.specification).map_err(StepFailure::new)? => {
                return Ok(Row::Unchanged(before.clone(), Box::new(stored)));
            }
            // What it was made of cannot be read any more, so it is made anew.
            Ok(_) | Err(deploy::Interruption::Failed(..)) => {}
            Err(problem) => return Err(problem.into()),
        }
    }
    new_row(engine, network, wanted, before).await.map(Row::New)
}

/// It has the address of the container that it replaces, so that the others find it where it was.
async fn new_row(
    engine: &Engine<'_>,
    network: &Network,
    wanted: &Wanted<'_>,
    before: Option<&Seen>,
) -> StepResult<Container> {
    let (app, id) = (&engine.host.app, engine.installation.id);
    let mut work = engine.held.begin().await?;
    let mut container = Container {
        id: app.new_id(),
        application_id: id,
        deployment_id: engine.execution.id,
        purpose: Purpose::Service,
        ordinal: 1,
        service: String::new(),
        port: 0,
        specification_hash: String::new(),
        hosts: "[]".to_owned(),
        stage: Stage::Starting,
        name: format!("wl-{}-{}-{}", short(id), short(engine.execution.id), short(app.new_id())),
        engine_id: String::new(),
        status: ContainerStatus::None,
        address: String::new(),
        mounts: "[]".to_owned(),
        steady_restarts: 0,
        crash_loop: String::new(),
        created_at: app.now(),
    };
    containers::insert(&mut work, &container).await?;
    container.address = match before {
        Some(before) => {
            networks::take_address(&mut work, network.owner_id, &before.address, container.id).await?;
            before.address.clone()
        }
        None => deploy::take_address(&mut work, network, container.id).await?.to_string(),
    };
    containers::set_address(&mut work, container.id, &container.address).await?;
    let sealed = wanted.specification.seal(&mut work, container.id).await?;
    let service = installations::Service {
        id: container.id,
        installation_id: id,
        execution_id: engine.execution.id,
        name: wanted.service.name.clone(),
        image: wanted.image.clone(),
        image_id: wanted.specification.image_id.clone(),
        is_kept: wanted.is_kept,
        kept_by: None,
    };
    installations::insert_service(&mut work, &service, &sealed).await?;
    work.commit().await?;
    kill_point::reached("service-stored");
    Ok(container)
}

async fn keep(engine: &Engine<'_>, seen: &Seen) -> StepResult<()> {
    let mut work = engine.held.begin().await?;
    installations::keep_service(&mut work, seen.service.id, engine.execution.id).await?;
    work.commit().await?;
    engine.log.note(format!("{} is as it should be.", seen.service.name)).await;
    Ok(())
}

async fn await_dependencies(engine: &Engine<'_>, service: &Service) -> StepResult<()> {
    for dependency in &service.depends_on {
        match dependency.condition {
            Condition::Started => {}
            Condition::Healthy => wait::until_well(engine, &dependency.service).await?,
            Condition::Completed => wait::until_completed(engine, &dependency.service).await?,
        }
    }
    Ok(())
}

async fn start(engine: &Engine<'_>, network: &Network, wanted: &Wanted<'_>, container: &Container) -> StepResult<()> {
    for seen in engine.services().await? {
        let is_before = seen.service.name == wanted.service.name && seen.service.execution_id != engine.execution.id;
        if is_before && seen.stage != Stage::Leaving {
            engine.put_aside(&seen).await?;
        }
    }
    kill_point::reached("service-predecessor-stopped");
    store_specification(engine, wanted, container).await?;
    let specification = container_spec(engine.host, network, container, &wanted.specification)?;
    let state = match engine.host.create_container(&specification).await? {
        Creation::Created(_) => State::Created,
        Creation::Exists(found) if !wanted.is_kept && found.state == State::Exited && found.exit_code == 0 => {
            // It did its work before a crash of the server, and is not to do it again.
            return Ok(());
        }
        Creation::Exists(found) => found.state,
    };
    kill_point::reached("service-created");
    if state == State::Created {
        deploy::write_service_files(engine.host, container, wanted.service).await?;
    }
    engine.log.note(format!("Starting {} ({}) at {}", wanted.service.name, container.name, container.address)).await;
    engine.host.start_container(&container.name).await?;
    engine.host.collector.begin(&container.name).await?;
    note_use(engine, &wanted.specification).await?;
    kill_point::reached("service-started");
    Ok(())
}

/// Where the others are is known only now, and belongs to what the container is made of when it is made again.
async fn store_specification(engine: &Engine<'_>, wanted: &Wanted<'_>, container: &Container) -> StepResult<()> {
    let mut work = engine.held.begin().await?;
    let sealed = wanted.specification.seal(&mut work, container.id).await?;
    installations::set_specification(&mut work, container.id, &sealed).await?;
    work.commit().await?;
    Ok(())
}

async fn note_use(engine: &Engine<'_>, specification: &Specification) -> StepResult<()> {
    let (mut work, now) = (engine.held.begin().await?, engine.host.app.now());
    for name in specification.volumes.values() {
        volume_rows::set_used(&mut work, name, now).await?;
    }
    work.commit().await?;
    Ok(())
}
