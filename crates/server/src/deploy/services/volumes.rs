//! The volumes of services: rows of the application, found again by their names.

use windlass_api::{ContainerPath, Failure};
use windlass_compose::{Mount, Source};
use windlass_runtime::Image;
use windlass_store::volumes::{self as rows, Volume};

use crate::compose_volumes;
use crate::deploy::attempt::Attempt;
use crate::deploy::failure::{Result, failed};
use crate::deploy::restore::restored_volumes;
use crate::deploy::volumes::{ensure_on_engine, refuse_host_folders};
use crate::mounts::Mounted;
use crate::release_services::{ReleaseService, ReleaseServices};
use crate::service;

/// What each service has of them, there on the engine unless it is to be restored.
pub async fn ensure(attempt: &Attempt<'_>, services: &ReleaseServices, images: &[Image]) -> Result<Vec<Vec<Mounted>>> {
    let wanted: Vec<Vec<(String, String)>> =
        services.all.iter().zip(images).map(|(one, image)| compose_volumes::wanted(&one.service, image)).collect();
    let all = with_new_ones(attempt, &wanted).await?;
    refuse_host_folders(attempt, &all).await?;
    let restored = restored_volumes(&attempt.deployment)?;
    for volume in all.iter().filter(|volume| !restored.contains(&volume.id)) {
        let is_used = wanted.iter().flatten().any(|(_, name)| *name == volume.name);
        if is_used {
            ensure_on_engine(attempt.host, volume).await?;
        }
    }
    Ok(services.all.iter().zip(&wanted).map(|(one, wanted)| mounted(one, wanted, &all)).collect())
}

/// The volumes of the application, with a new one for each name that has none.
async fn with_new_ones(attempt: &Attempt<'_>, wanted: &[Vec<(String, String)>]) -> Result<Vec<Volume>> {
    let mut work = attempt.held.begin().await?;
    let mut all = rows::of_application(&mut work, attempt.application.id).await?;
    let mut added = Vec::new();
    for (path, name) in wanted.iter().flatten() {
        if all.iter().any(|volume| volume.name == *name) {
            continue;
        }
        let Ok(path) = ContainerPath::try_from(path.as_str()) else {
            return failed(Failure::VolumeUnusable, format!("a volume cannot be at {path}"));
        };
        service::volumes::refuse_beyond_ceiling(&mut work, attempt.application.organization_id)
            .await
            .or_else(|refusal| failed(Failure::VolumeUnusable, refusal.message))?;
        all.push(service::volumes::insert_of_compose(&mut work, &attempt.application, name, &path).await?);
        added.push(format!("Made the volume {name}, which stays."));
    }
    let limit = attempt.host.app.config.application_volumes;
    if all.len() > limit {
        let words =
            format!("with those of the compose file there would be {} volumes, and {limit} are possible", all.len());
        return failed(Failure::VolumeUnusable, words);
    }
    work.commit().await?;
    for line in added {
        attempt.log.note(line).await;
    }
    Ok(all)
}

fn mounted(one: &ReleaseService, wanted: &[(String, String)], all: &[Volume]) -> Vec<Mounted> {
    let is_read_only =
        |path: &str| one.service.volumes.iter().find(|mount| mount.target == path).is_some_and(|mount| mount.read_only);
    let of_volume = |(path, name): &(String, String)| {
        let volume = all.iter().find(|volume| volume.name == *name)?;
        Some(Mounted { path: path.clone(), read_only: is_read_only(path), ..Mounted::of(volume) })
    };
    wanted.iter().filter_map(of_volume).chain(one.service.volumes.iter().filter_map(folder)).collect()
}

/// A folder of the machine, for organizations with host access. What is in it is no concern of releases.
fn folder(mount: &Mount) -> Option<Mounted> {
    match &mount.source {
        Source::Bind(host_path) => Some(Mounted {
            volume_id: uuid::Uuid::nil(),
            engine_name: String::new(),
            host_path: host_path.clone(),
            path: mount.target.clone(),
            shared: true,
            read_only: mount.read_only,
        }),
        Source::Volume(_) | Source::Anonymous => None,
    }
}
