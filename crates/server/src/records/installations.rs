//! Installations. They embed nothing but what is their own.

use uuid::Uuid;
use windlass_api as api;
use windlass_store::containers::Stage;
use windlass_store::installations::{self, Installation, Seen};
use windlass_store::logs::{Stored, line_id};
use windlass_store::{Conn, Result, executions, extensions, volumes};

/// In six queries.
pub async fn installation(conn: &mut Conn, row: Installation, may_see_values: bool) -> Result<api::Installation> {
    let extension = extensions::get(conn, row.extension_id).await?;
    let execution = match row.execution_id {
        Some(id) => executions::get(conn, id).await?,
        None => None,
    };
    let services = installations::services(conn, row.id).await?;
    let routes = installations::routes(conn, row.id).await?;
    let volumes = volumes::of_installation(conn, row.id).await?;
    let (version, content_hash, variable_values) = execution
        .map(|execution| (execution.version, execution.content_hash, execution.variable_values))
        .unwrap_or_default();
    let is_usable = |extension: &&extensions::Extension| {
        extension.deleted_at.is_none() && extension.validation_status == api::ValidationStatus::Valid
    };
    let newest = extension.as_ref().filter(is_usable);
    Ok(api::Installation {
        id: row.id,
        organization_id: row.organization_id,
        user_id: row.user_id,
        extension_id: row.extension_id,
        has_update: newest.is_some_and(|newest| !content_hash.is_empty() && newest.content_hash != content_hash),
        extension_key: extension.map(|extension| extension.extension_key).unwrap_or_default(),
        state: row.state,
        version,
        content_hash,
        execution_id: row.execution_id,
        variable_values: if may_see_values { variable_values } else { String::new() },
        services: services
            .into_iter()
            .filter(|seen| seen.stage != Stage::Leaving)
            .map(|seen| api::InstalledService {
                host: format!("{}.{}", seen.service.name, row.name),
                name: seen.service.name,
                image: seen.service.image,
                image_id: seen.service.image_id,
                status: seen.status,
                container_name: seen.container_name,
                address: seen.address,
            })
            .collect(),
        domains: routes
            .into_iter()
            .filter(|route| route.is_live)
            .map(|route| api::InstalledDomain { domain: route.domain, service: route.service, port: route.port })
            .collect(),
        volumes: volumes
            .into_iter()
            .map(|volume| api::InstalledVolume { id: volume.id, name: volume.name, size_bytes: volume.size_bytes })
            .collect(),
        name: row.name,
        created_at: row.created_at,
        updated_at: row.updated_at,
    })
}

pub fn log(installation_id: Uuid, services: &[Seen], stored: Stored) -> api::InstallationLog {
    let Stored { seq, deployment_id, line } = stored;
    let service = services.iter().find(|seen| seen.service.id == deployment_id);
    api::InstallationLog {
        id: line_id(installation_id, seq, line.at),
        installation_id,
        service: service.map(|seen| seen.service.name.clone()).unwrap_or_default(),
        message: line.text,
        stream: line.stream,
        sequence: seq,
        created_at: line.at,
    }
}
