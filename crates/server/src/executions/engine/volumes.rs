//! Volumes of services. They belong to the installation and outlive its containers.

use std::collections::BTreeMap;

use windlass_api::VolumeOrigin;
use windlass_compose::Service;
use windlass_runtime::Image;
use windlass_store::volumes::{self, Volume};

use super::Engine;
use crate::compose_volumes;
use crate::deploy::ensure_volume_on_engine;
use crate::executions::failure::StepResult;
use crate::service;
use crate::service::work::Work;

/// What mounts of a service become: the volume's row for each path.
pub type Mounts = BTreeMap<String, Volume>;

/// The volumes of a service by path, there on the engine. What its image declares gets one too: what the engine would make by itself
/// goes with the container.
pub async fn ensure(engine: &Engine<'_>, service: &Service, image: &Image) -> StepResult<Mounts> {
    let mut mounts = Mounts::new();
    for (path, name) in compose_volumes::wanted(service, image) {
        mounts.insert(path.clone(), row(engine, &name, &path).await?);
    }
    for volume in mounts.values() {
        ensure_volume_on_engine(engine.host, volume).await?;
    }
    Ok(mounts)
}

async fn row(engine: &Engine<'_>, name: &str, path: &str) -> StepResult<Volume> {
    let mut work = engine.held.begin().await?;
    let stored = volumes::of_installation(&mut work, engine.installation.id).await?;
    if let Some(volume) = stored.into_iter().find(|volume| volume.name == name) {
        return Ok(volume);
    }
    service::volumes::refuse_beyond_ceiling(&mut work, engine.installation.organization_id).await?;
    let volume = new(&work, engine, name, path);
    volumes::insert(&mut work, &volume).await?;
    work.commit().await?;
    engine.log.note(format!("Made the volume {name}, which stays.")).await;
    Ok(volume)
}

fn new(work: &Work<'_>, engine: &Engine<'_>, name: &str, path: &str) -> Volume {
    let app = work.app;
    let id = app.new_id();
    Volume {
        id,
        organization_id: engine.installation.organization_id,
        application_id: None,
        installation_id: Some(engine.installation.id),
        application_name: engine.installation.name.clone(),
        name: name.to_owned(),
        path: path.to_owned(),
        // Services of one installation may have it at the same time, as Compose lets them.
        shared: true,
        host_path: String::new(),
        engine_name: format!("wl-{}", id.simple()),
        origin: VolumeOrigin::Extension,
        size_bytes: None,
        measured_at: None,
        used_at: None,
        snapshot_hours: 0,
        kept_snapshots: service::volumes::KEPT_SNAPSHOTS,
        before_snapshot: String::new(),
        after_snapshot: String::new(),
        next_snapshot_at: None,
        deleted_at: None,
        created_at: app.now(),
        updated_at: app.now(),
    }
}
