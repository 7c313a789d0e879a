//! Volumes of applications: what is wanted of them. Containers get them when they are next made; the engine's side is in
//! `deploy`.

use uuid::Uuid;
use windlass_api as api;
use windlass_api::{
    AttachVolume, Command, Configuration, ErrorCode, EventName, Given, NewVolume, NewVolumes, Timestamp, UpdateVolume,
    VolumeOrigin, Whole,
};
use windlass_store::applications::Application;
use windlass_store::volumes::{self, Volume};
use windlass_store::{containers, jobs};

use crate::app::App;
use crate::auth::{Authority, Granted};
use crate::error::{Error, Result};
use crate::mounts;
use crate::records;
use crate::service::audit::{Action, Actor, Change, Resource};
use crate::service::held_applications::{hold_to_change, lock_to_change, refuse_preview};
use crate::service::states;
use crate::service::work::{EventSubject, Work};

/// Snapshots that are kept of those that no user asked for, unless the volume says otherwise.
pub const KEPT_SNAPSHOTS: i64 = 7;
/// How many times as many volumes there may be with those that wait to be removed.
const WITH_DELETED: i64 = 5;

pub async fn create(app: &App, granted: &Granted<Application>, input: &NewVolume) -> Result<api::Volume> {
    let mut work = app.begin().await?;
    let (authority, application) = hold_to_change(&mut work, granted.authority(), granted.row().id).await?;
    refuse_preview(&mut work, &application).await?;
    if volumes::by_name(&mut work, application.id, &input.name).await?.is_some() {
        let message = format!("name: {} has a volume {} already. Choose another name.", application.name, &*input.name);
        return Err(Error::new(ErrorCode::NameTaken, message));
    }
    let volume = make(&mut work, &authority, &application, input).await?;
    check(&mut work, &application, "shared").await?;
    finish(work, volume).await
}

pub async fn update(
    app: &App,
    granted: &Granted<Application>,
    name: &str,
    input: &UpdateVolume,
) -> Result<api::Volume> {
    let mut work = app.begin().await?;
    let (authority, application) = hold_to_change(&mut work, granted.authority(), granted.row().id).await?;
    refuse_preview(&mut work, &application).await?;
    let mut volume = of_name(&mut work, &application, name).await?;
    if let Some(name) = &input.name {
        volume.name = name.to_string();
    }
    Fields::of_update(input).fill(app, &mut volume);
    write(&mut work, &volume).await?;
    check(&mut work, &application, "shared").await?;
    record(&mut work, &authority.actor(), Action::Update, &volume, "changed the volume");
    finish(work, volume).await
}

/// It stays for a while, in which it can be attached again.
pub async fn delete(app: &App, granted: &Granted<Application>, name: &str) -> Result<()> {
    let mut work = app.begin().await?;
    let (authority, application) = hold_to_change(&mut work, granted.authority(), granted.row().id).await?;
    let volume = of_name(&mut work, &application, name).await?;
    mark_deleted(&mut work, &authority.actor(), volume, app.now()).await?;
    work.commit().await?;
    Ok(())
}

/// Those that are deleted together with their application.
pub async fn delete_named(
    work: &mut Work<'_>,
    actor: &Actor,
    application: &Application,
    names: &[String],
) -> Result<()> {
    for name in names {
        let volume = volumes::by_name(work, application.id, name).await?;
        let volume = volume.ok_or_else(|| {
            Error::field("volumes", format!("{} has no volume {name}; nothing was deleted", application.name))
        })?;
        let now = work.app.now();
        mark_deleted(work, actor, volume, now).await?;
    }
    Ok(())
}

/// The same by id, also of one whose application was deleted.
pub async fn discard(app: &App, granted: &Granted<Volume>) -> Result<()> {
    let mut work = app.begin().await?;
    let authority = work.hold(granted.authority()).await?;
    let volume = of_id(&mut work, &authority, granted.row().id).await?;
    if volume.deleted_at.is_some() {
        return Err(Error::new(ErrorCode::Conflict, format!("The volume {} is deleted already.", volume.name)));
    }
    refuse_installed(&volume)?;
    mark_deleted(&mut work, &authority.actor(), volume, app.now()).await?;
    work.commit().await?;
    Ok(())
}

/// One that was deleted, or whose application was, becomes a volume of an application.
pub async fn attach(app: &App, granted: &Granted<Volume>, input: &AttachVolume) -> Result<api::Volume> {
    let mut work = app.begin().await?;
    let authority = work.hold(granted.authority()).await?;
    let application = lock_to_change(&mut work, &authority, input.application_id).await?;
    refuse_preview(&mut work, &application).await?;
    let mut volume = of_id(&mut work, &authority, granted.row().id).await?;
    refuse_installed(&volume)?;
    if volume.application_id.is_some() && volume.deleted_at.is_none() {
        let message = format!("The volume {} belongs to {} already.", volume.name, volume.application_name);
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    let grace = app.config.volume_grace_seconds;
    let is_over = |at: i64| Timestamp::from_micros(at).plus_seconds(grace) <= app.now();
    if volume.deleted_at.is_some_and(is_over) {
        let message = format!("The volume {} was deleted too long ago, and is being removed.", volume.name);
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    refuse_in_use_elsewhere(&mut work, &volume, application.id).await?;
    (volume.application_id, volume.application_name) = (Some(application.id), application.name.clone());
    (volume.deleted_at, volume.updated_at) = (None, app.now());
    if let Some(name) = &input.name {
        volume.name = name.to_string();
    }
    Fields { path: input.path.as_deref(), ..Fields::default() }.fill(app, &mut volume);
    volume.next_snapshot_at = next_snapshot(app, volume.snapshot_hours);
    write(&mut work, &volume).await?;
    check(&mut work, &application, "shared").await?;
    record(&mut work, &authority.actor(), Action::Update, &volume, "attached the volume");
    finish(work, volume).await
}

/// As long as an extension has it installed.
fn refuse_installed(volume: &Volume) -> Result<()> {
    match volume.installation_id {
        None => Ok(()),
        Some(_) => {
            let message = format!(
                "The volume {} belongs to the installation {}. Uninstall it first.",
                volume.name, volume.application_name
            );
            Err(Error::new(ErrorCode::Conflict, message))
        }
    }
}

/// What a deployment or an update says of volumes. True when it changes something. The application's row must be there.
pub async fn apply(
    work: &mut Work<'_>,
    authority: &Authority,
    application: &Application,
    given: Option<&NewVolumes>,
) -> Result<bool> {
    let mut changed = false;
    for input in given.into_iter().flat_map(|given| given.iter()) {
        let stored = volumes::by_name(work, application.id, &input.name).await?;
        changed |= match stored {
            Some(volume) => change(work, authority, volume, input).await?,
            None => {
                make(work, authority, application, input).await?;
                true
            }
        };
    }
    Ok(changed)
}

async fn change(work: &mut Work<'_>, authority: &Authority, volume: Volume, input: &NewVolume) -> Result<bool> {
    let host_path = input.host_path.value().map_or("", |path| &**path);
    if input.host_path != Given::Absent && host_path != volume.host_path {
        let problem = format!("{}: host_path cannot change; make another volume", volume.name);
        return Err(Error::field("volumes", problem));
    }
    let mut wanted = volume.clone();
    Fields::of(input).fill(work.app, &mut wanted);
    if changeable(&wanted) == changeable(&volume) {
        return Ok(false);
    }
    write(work, &wanted).await?;
    record(work, &authority.actor(), Action::Update, &wanted, "changed the volume");
    Ok(true)
}

/// What users change of it, to be compared.
fn changeable(volume: &Volume) -> impl PartialEq + '_ {
    let texts = [&volume.name, &volume.path, &volume.before_snapshot, &volume.after_snapshot];
    (texts, volume.shared, volume.snapshot_hours, volume.kept_snapshots)
}

async fn make(
    work: &mut Work<'_>,
    authority: &Authority,
    application: &Application,
    input: &NewVolume,
) -> Result<Volume> {
    let Some(path) = &input.path else {
        return Err(Error::field("path", format!("is required for the new volume {}", &*input.name)));
    };
    let host_path = input.host_path.value().map_or("", |path| &**path);
    if !host_path.is_empty() && !authority.organization().host_access {
        return Err(Error::field("host_path", "is for organizations with host access only"));
    }
    let mut volume = new(work.app, application, &input.name, path, VolumeOrigin::User);
    host_path.clone_into(&mut volume.host_path);
    Fields::of(input).fill(work.app, &mut volume);
    refuse_beyond_ceiling(work, application.organization_id).await?;
    insert(work, application, &volume).await?;
    record(work, &authority.actor(), Action::Create, &volume, "created the volume");
    Ok(volume)
}

/// One that an image declares. The caller holds the application.
pub async fn insert_of_image(work: &mut Work<'_>, application: &Application, name: &str, path: &str) -> Result<Volume> {
    let volume = new(work.app, application, name, path, VolumeOrigin::Image);
    insert(work, application, &volume).await?;
    Ok(volume)
}

/// One that a compose file names. The caller holds the application.
pub async fn insert_of_compose(
    work: &mut Work<'_>,
    application: &Application,
    name: &str,
    path: &str,
) -> Result<Volume> {
    let volume = new(work.app, application, name, path, VolumeOrigin::Compose);
    insert(work, application, &volume).await?;
    Ok(volume)
}

pub async fn insert(work: &mut Work<'_>, application: &Application, volume: &Volume) -> Result<()> {
    volumes::insert(work, volume).await?;
    let details = [("application", application.name.as_str()), ("volume", &volume.name), ("path", &volume.path)];
    work.tell(EventName::VolumeCreated, states::subject(application, None), &details);
    Ok(())
}

pub fn new(app: &App, application: &Application, name: &str, path: &str, origin: VolumeOrigin) -> Volume {
    let (id, now) = (app.new_id(), app.now());
    Volume {
        id,
        organization_id: application.organization_id,
        application_id: Some(application.id),
        installation_id: None,
        application_name: application.name.clone(),
        name: name.to_owned(),
        path: path.to_owned(),
        shared: false,
        host_path: String::new(),
        engine_name: format!("wl-volume-{}", id.simple()),
        origin,
        size_bytes: None,
        measured_at: None,
        used_at: None,
        snapshot_hours: 0,
        kept_snapshots: KEPT_SNAPSHOTS,
        before_snapshot: String::new(),
        after_snapshot: String::new(),
        next_snapshot_at: None,
        deleted_at: None,
        created_at: now,
        updated_at: now,
    }
}

/// What a request can say of a volume, whichever request it is.
#[derive(Default)]
struct Fields<'a> {
    path: Option<&'a str>,
    shared: Option<bool>,
    snapshot_hours: Option<api::SnapshotHours>,
    kept_snapshots: Option<api::KeptSnapshots>,
    before_snapshot: Option<&'a Given<Command>>,
    after_snapshot: Option<&'a Given<Command>>,
}

impl<'a> Fields<'a> {
    fn of(input: &'a NewVolume) -> Self {
        Self {
            path: input.path.as_deref(),
            shared: input.shared,
            snapshot_hours: input.snapshot_hours,
            kept_snapshots: input.kept_snapshots,
            before_snapshot: Some(&input.before_snapshot),
            after_snapshot: Some(&input.after_snapshot),
        }
    }

    fn of_update(input: &'a UpdateVolume) -> Self {
        Self {
            path: input.path.as_deref(),
            shared: input.shared,
            snapshot_hours: input.snapshot_hours,
            kept_snapshots: input.kept_snapshots,
            before_snapshot: Some(&input.before_snapshot),
            after_snapshot: Some(&input.after_snapshot),
        }
    }

    fn fill(&self, app: &App, volume: &mut Volume) {
        if let Some(path) = self.path {
            path.clone_into(&mut volume.path);
        }
        for (field, given) in
            [(&mut volume.before_snapshot, self.before_snapshot), (&mut volume.after_snapshot, self.after_snapshot)]
        {
            match given {
                None | Some(Given::Absent) => {}
                Some(Given::Empty) => field.clear(),
                Some(Given::Value(command)) => *field = command.to_string(),
            }
        }
        volume.shared = self.shared.unwrap_or(volume.shared);
        volume.kept_snapshots = self.kept_snapshots.map_or(volume.kept_snapshots, Whole::get);
        if let Some(hours) = self.snapshot_hours.map(Whole::get)
            && hours != volume.snapshot_hours
        {
            volume.snapshot_hours = hours;
            volume.next_snapshot_at = next_snapshot(app, hours);
        }
        volume.updated_at = app.now();
    }
}

fn next_snapshot(app: &App, hours: i64) -> Option<i64> {
    (hours > 0).then(|| app.now().plus_seconds(3_600 * hours).micros())
}

/// A container of the application that it was taken from keeps it until it is replaced, and would write it beside those of the other
/// application.
async fn refuse_in_use_elsewhere(work: &mut Work<'_>, volume: &Volume, application_id: Uuid) -> Result<()> {
    let Some(before) = volume.application_id.filter(|before| *before != application_id) else { return Ok(()) };
    let is_busy = !jobs::of_application(work, before).await?.is_empty();
    let rows = containers::of_application(work, before).await?;
    let has_it = |row| mounts::has_volume(row, &volume.engine_name).unwrap_or(true);
    if is_busy || rows.iter().any(has_it) {
        let message = format!(
            "The volume {} is still in use by a container of {}. Restart or stop that application first.",
            volume.name, volume.application_name
        );
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    Ok(())
}

/// What must hold for the volumes of an application together. The caller holds the application and has written them. `blamed` is the
/// field of the request that is named when several instances would share one.
pub async fn check(work: &mut Work<'_>, application: &Application, blamed: &str) -> Result<()> {
    let all = volumes::of_application(work, application.id).await?;
    let limit = work.app.config.application_volumes;
    if all.len() > limit {
        let message = format!("An application can have {limit} volumes. Delete one first.");
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    for (index, volume) in all.iter().enumerate() {
        // Services have containers of their own, so that their paths are their own too.
        let is_of_service = |volume: &Volume| volume.origin == VolumeOrigin::Compose;
        let clashes = |other: &&Volume| other.path == volume.path && !is_of_service(other) && !is_of_service(volume);
        if let Some(other) = all[..index].iter().find(clashes) {
            let problem =
                format!("{} is the path of {} already, so not of {} too", volume.path, other.name, volume.name);
            return Err(Error::field("path", problem));
        }
    }
    let configuration = Configuration::from_json(&application.configuration).map_err(Error::internal)?;
    let replicas = configuration.settings.replicas;
    match all.iter().find(|volume| !volume.shared && volume.origin != VolumeOrigin::Compose) {
        Some(volume) if replicas > 1 => Err(Error::field(blamed, not_for_replicas(replicas, &volume.name))),
        _ => Ok(()),
    }
}

/// Why several instances cannot have a volume.
pub fn not_for_replicas(replicas: u32, name: &str) -> String {
    format!(
        "{replicas} instances would write the volume {name} at once, and it is not shared. Use one replica, or set \
         shared to true if the application can share it."
    )
}

/// Fails when the organization has as many volumes, or as much in them, as it may.
pub async fn refuse_beyond_ceiling(work: &mut Work<'_>, organization_id: Uuid) -> Result<()> {
    let limit = work.app.config.organization_volumes;
    if volumes::count_of_organization(work, organization_id).await? >= limit {
        let message = format!("An organization can have {limit} volumes (organization-volumes). Delete one first.");
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    if volumes::count_all(work, organization_id).await? >= limit.saturating_mul(WITH_DELETED) {
        let message = "Too many deleted volumes of the organization wait to be removed. Wait until they are.";
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    refuse_beyond_bytes(work, organization_id).await
}

/// Fails when volumes and snapshots of the organization take as much as they may.
pub async fn refuse_beyond_bytes(work: &mut Work<'_>, organization_id: Uuid) -> Result<()> {
    const MIB: i64 = 1024 * 1024;
    let most = work.app.config.organization_data_bytes;
    let used = volumes::data_of_organization(work, organization_id).await?;
    if most > 0 && used >= most {
        let message = format!(
            "Volumes and snapshots of the organization take {} MiB, and can take {} (organization-data-mib). Delete \
             some first.",
            used / MIB,
            most / MIB
        );
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    Ok(())
}

/// Of two requests that choose the same name, the second is refused: names are unique.
pub async fn write(work: &mut Work<'_>, volume: &Volume) -> Result<()> {
    volumes::update(work, volume).await.map_err(|error| match error {
        windlass_store::Error::Duplicate => {
            let message = format!("name: there is a volume {} already. Choose another name.", volume.name);
            Error::new(ErrorCode::NameTaken, message)
        }
        other => other.into(),
    })
}

pub async fn mark_deleted(work: &mut Work<'_>, actor: &Actor, mut volume: Volume, at: Timestamp) -> Result<()> {
    (volume.deleted_at, volume.updated_at, volume.next_snapshot_at) = (Some(at.micros()), work.app.now(), None);
    write(work, &volume).await?;
    let about = EventSubject {
        organization_id: volume.organization_id,
        application_id: volume.application_id,
        deployment_id: None,
    };
    let details = [("application", volume.application_name.as_str()), ("volume", &volume.name)];
    work.tell(EventName::VolumeDeleted, about, &details);
    record(work, actor, Action::Delete, &volume, "deleted the volume");
    Ok(())
}

pub async fn of_name(work: &mut Work<'_>, application: &Application, name: &str) -> Result<Volume> {
    let volume = volumes::by_name(work, application.id, name).await?;
    volume.ok_or_else(|| Error::not_found("volume"))
}

async fn of_id(work: &mut Work<'_>, authority: &Authority, id: Uuid) -> Result<Volume> {
    let volume = volumes::get(work, id).await?;
    let volume = volume.filter(|volume| volume.organization_id == authority.organization_id());
    volume.ok_or_else(|| Error::not_found("volume"))
}

async fn finish(work: Work<'_>, volume: Volume) -> Result<api::Volume> {
    let grace = work.app.config.volume_grace_seconds;
    work.commit().await?;
    Ok(records::volumes::volume(volume, grace))
}

pub fn record(work: &mut Work<'_>, actor: &Actor, action: Action, volume: &Volume, verb: &str) {
    let change = Change {
        organization_id: Some(volume.organization_id),
        action,
        resource: Resource::Volume,
        resource_id: volume.id,
        summary: &format!("{verb} {} of {}", volume.name, volume.application_name),
        details: &[("name", &volume.name), ("application", &volume.application_name), ("path", &volume.path)],
    };
    work.record(actor, &change);
}
