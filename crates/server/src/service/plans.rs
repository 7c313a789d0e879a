//! Plans: what running an extension would do, without doing it.

use windlass_api::{Can, ExtensionPlan, PlannedStep, RunExtension};
use windlass_compose::{Service, Source};
use windlass_extension::{Action, FileAction, Kind, PackageState, ResolvedStep, UserAction};
use windlass_store::extensions::Extension;

use crate::app::App;
use crate::auth::Granted;
use crate::error::Result;
use crate::service::executions::{phase, refuse_volumes, volumes_of};
use crate::service::installed_volumes;
use crate::service::preparation::{Asked, Prepared, done, prepare, reasons_for_host_access, services};

/// The steps as they would be done, with secrets masked.
pub async fn plan(app: &App, granted: &Granted<Extension>, input: &RunExtension) -> Result<ExtensionPlan> {
    let row = granted.row();
    let name = input.name.as_deref().unwrap_or(&row.extension_key);
    let prepared = prepare(app, row, &Asked::Given(input.variables.as_ref()), name).await?;
    let organization_id = granted.authority().organization_id();
    match prepared.kind {
        Kind::Install => {
            let mut conn = app.db.read().await?;
            installed_volumes::left_behind(&mut conn, organization_id, name, volumes_of(input)).await?;
        }
        Kind::Run => refuse_volumes(input)?,
    }
    // Only what the caller may do counts: a member's run publishes no ports of the machine either.
    let has_host_access = granted.authority().may(Can::ExtensionHost);
    let dangers = reasons_for_host_access(&prepared.steps);
    let masked = |texts: Vec<String>| texts.iter().map(|text| prepared.masked(text)).collect::<Vec<_>>();
    Ok(ExtensionPlan {
        extension_id: row.extension_key.clone(),
        version: row.version.clone(),
        content_hash: row.content_hash.clone(),
        variable_values: prepared.shown_values(),
        is_allowed: dangers.is_empty() || has_host_access,
        needs_host_access: !dangers.is_empty(),
        dangers: masked(dangers),
        images: masked(images(&prepared.steps)),
        ports: masked(services(&prepared.steps).flat_map(published).collect()),
        volumes: masked(services(&prepared.steps).flat_map(volumes).collect()),
        files: masked(done(&prepared.steps).filter_map(file).collect()),
        domains: masked(done(&prepared.steps).filter_map(domain).collect()),
        steps: (1..)
            .zip(&prepared.steps)
            .map(|(order, step)| planned(&prepared, order, step, has_host_access))
            .collect(),
    })
}

fn images(steps: &[ResolvedStep]) -> Vec<String> {
    let pulled = done(steps).filter_map(|action| match action {
        Action::Pull { image } => Some(image.clone()),
        _ => None,
    });
    let mut images: Vec<_> = pulled.chain(services(steps).map(|service| service.image.clone())).collect();
    images.sort_unstable();
    images.dedup();
    images
}

fn published(service: &Service) -> Vec<String> {
    let shown = |port: &windlass_compose::Port| {
        let published = port.published.map_or("any".to_owned(), |port| port.to_string());
        format!("{published}:{} of {}", port.container, service.name)
    };
    service.ports.iter().map(shown).collect()
}

fn volumes(service: &Service) -> Vec<String> {
    let shown = |mount: &windlass_compose::Mount| {
        let source = match &mount.source {
            Source::Volume(name) => format!("volume {name}"),
            Source::Anonymous => "a volume of its own".to_owned(),
            Source::Bind(path) => format!("the machine's {path}"),
        };
        format!("{source} at {} of {}", mount.target, service.name)
    };
    service.volumes.iter().map(shown).collect()
}

fn file(action: &Action) -> Option<String> {
    match action {
        Action::File(
            FileAction::MakeDirectory { path, .. } | FileAction::Write { path, .. } | FileAction::Delete { path },
        ) => Some(path.display().to_string()),
        Action::File(FileAction::Copy { to, .. } | FileAction::Move { to, .. }) => Some(to.display().to_string()),
        Action::UpFile { path } => Some(path.display().to_string()),
        _ => None,
    }
}

fn domain(action: &Action) -> Option<String> {
    match action {
        Action::Route { domain, .. } => Some(domain.clone()),
        _ => None,
    }
}

fn planned(prepared: &Prepared, order: i64, step: &ResolvedStep, has_host_access: bool) -> PlannedStep {
    let actions = described(&step.action, has_host_access);
    PlannedStep {
        step_order: order,
        step_name: step.name.clone(),
        step_type: step.kind.as_str().to_owned(),
        phase: phase(step.phase),
        skipped: prepared.masked(step.skipped.as_deref().unwrap_or_default()),
        ignore_errors: step.ignore_errors,
        timeout_seconds: i64::try_from(step.timeout.as_secs()).unwrap_or(i64::MAX),
        actions: actions.iter().map(|action| prepared.masked(action)).collect(),
        undo: prepared.masked(&undo(&step.action)),
        needs_host_access: step.needs_host_access().iter().map(|reason| prepared.masked(reason)).collect(),
    }
}

/// What would be done, in words for people.
fn described(action: &Action, has_host_access: bool) -> Vec<String> {
    match action {
        Action::Skipped => Vec::new(),
        Action::Command { script, user, .. } => {
            let user = user.as_ref().map_or(String::new(), |user| format!(" as {user}"));
            vec![format!("run on the machine{user}: {script}")]
        }
        Action::File(action) => vec![describe_file(action)],
        Action::Service { name, change } => vec![format!("{} the machine's service {name}", change.as_str())],
        Action::User(action) => vec![describe_user(action)],
        Action::Package { names, state } => vec![describe_packages(names, *state)],
        Action::Pull { image } => vec![format!("pull {image}")],
        Action::Up { project } => {
            project.services.iter().flat_map(|service| describe_service(service, has_host_access)).collect()
        }
        Action::UpFile { path } => vec![format!("run the services that {} describes then", path.display())],
        Action::Start { service } => vec![format!("start {service}")],
        Action::Stop { service } => vec![format!("stop {service}")],
        Action::Remove { service } => vec![format!("remove {service}")],
        Action::Down => vec!["remove all services".to_owned()],
        Action::Route { domain, service, port } => {
            let service = service.as_deref().unwrap_or("the only service");
            vec![format!("send visitors of {domain} to port {port} of {service}")]
        }
        Action::Unroute { domain } => vec![format!("send visitors of {domain} nowhere any more")],
        Action::WaitSeconds(seconds) => vec![format!("wait for {seconds} s")],
        Action::WaitFor { service, port: Some(port) } => {
            vec![format!("wait until {service} accepts connections at port {port}")]
        }
        Action::WaitFor { service, port: None } => vec![format!("wait until {service} is well")],
    }
}

fn describe_packages(names: &[String], state: PackageState) -> String {
    let verb = match state {
        PackageState::Present => "install",
        PackageState::Absent => "remove",
        PackageState::Latest => "install or upgrade",
    };
    format!("{verb} the packages {}", names.join(", "))
}

fn describe_file(action: &FileAction) -> String {
    match action {
        FileAction::MakeDirectory { path, .. } => format!("make the folder {}", path.display()),
        FileAction::Write { path, content, .. } => format!("write {} ({} bytes)", path.display(), content.len()),
        FileAction::Copy { from, to, .. } => format!("copy {} to {}", from.display(), to.display()),
        FileAction::Move { from, to } => format!("move {} to {}", from.display(), to.display()),
        FileAction::Delete { path } => format!("delete {}", path.display()),
    }
}

fn describe_user(action: &UserAction) -> String {
    match action {
        UserAction::Ensure { name, .. } => format!("make sure that there is a user {name}"),
        UserAction::Delete { name } => format!("delete the user {name}"),
        UserAction::AddGroups { name, groups } => format!("add {name} to {}", groups.join(", ")),
        UserAction::RemoveGroups { name, groups } => format!("remove {name} from {}", groups.join(", ")),
    }
}

fn describe_service(service: &Service, has_host_access: bool) -> Vec<String> {
    let mut lines = vec![format!("run {} from {}", service.name, service.image)];
    lines.extend(volumes(service).into_iter().map(|volume| format!("{}: {volume}", service.name)));
    for port in published(service) {
        lines.push(match has_host_access {
            true => format!("publish port {port} on the machine"),
            false => {
                format!("not publish port {port} on the machine: that needs host access; a domain leads there too")
            }
        });
    }
    if !service.environment.is_empty() {
        let names: Vec<_> = service.environment.iter().map(|(name, _)| name.as_str()).collect();
        lines.push(format!("{}: with {}", service.name, names.join(", ")));
    }
    lines
}

/// Empty if it cannot be undone.
fn undo(action: &Action) -> String {
    match action {
        Action::Command { revert: Some(revert), .. } => format!("run on the machine: {revert}"),
        Action::Command { revert: None, .. } | Action::User(UserAction::Delete { .. }) => String::new(),
        Action::File(_) => "what was there before is put back".to_owned(),
        Action::Service { .. } => "the service is as it was before".to_owned(),
        Action::User(_) => "the user is as before; folders stay".to_owned(),
        Action::Package { .. } => "packages that were not there are removed, removed ones are installed".to_owned(),
        Action::Up { .. } | Action::UpFile { .. } | Action::Remove { .. } | Action::Down => {
            "its containers are removed, and those that they replaced are started again; volumes stay".to_owned()
        }
        Action::Route { .. } | Action::Unroute { .. } => "visitors are sent where they were before".to_owned(),
        Action::Start { .. } | Action::Stop { .. } => "the service is as it was before".to_owned(),
        Action::Skipped | Action::Pull { .. } | Action::WaitSeconds(_) | Action::WaitFor { .. } => {
            "nothing is to be undone".to_owned()
        }
    }
}
