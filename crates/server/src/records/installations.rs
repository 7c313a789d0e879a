//! Installations. They embed nothing but what is their own.

use uuid::Uuid;
use windlass_api as api;
use windlass_api::ValidationStatus;
use windlass_store::containers::Stage;
use windlass_store::executions::{self, Execution};
use windlass_store::extensions::{self, Extension};
use windlass_store::installations::{self as rows, Installation, Route, Seen};
use windlass_store::logs::{Stored, line_id};
use windlass_store::volumes::{self, Volume};
use windlass_store::{Conn, Result};

use super::budget::Budget;
use crate::config::Config;

pub async fn installation(
    conn: &mut Conn,
    config: &Config,
    row: Installation,
    may_see_values: bool,
) -> Result<api::Installation> {
    let parts = Parts::of(conn, std::slice::from_ref(&row)).await?;
    Ok(parts.record(config, row, may_see_values))
}

/// In five queries, however many there are.
pub async fn installations(
    conn: &mut Conn,
    config: &Config,
    rows: Vec<Installation>,
    may_see_values: bool,
) -> Result<Vec<api::Installation>> {
    let parts = Parts::of(conn, &rows).await?;
    let mut budget = Budget::of_a_list();
    let each = |row| {
        let mut record = parts.record(config, row, may_see_values);
        budget.spend(&mut [&mut record.variable_values]);
        record
    };
    Ok(rows.into_iter().map(each).collect())
}

/// What several installations have.
struct Parts {
    extensions: Vec<Extension>,
    executions: Vec<Execution>,
    services: Vec<Seen>,
    routes: Vec<Route>,
    volumes: Vec<Volume>,
}

impl Parts {
    async fn of(conn: &mut Conn, rows: &[Installation]) -> Result<Self> {
        let ids: Vec<Uuid> = rows.iter().map(|row| row.id).collect();
        let extension_ids: Vec<Uuid> = rows.iter().map(|row| row.extension_id).collect();
        let execution_ids: Vec<Uuid> = rows.iter().filter_map(|row| row.execution_id).collect();
        Ok(Self {
            extensions: extensions::among(conn, &extension_ids).await?,
            executions: executions::among(conn, &execution_ids).await?,
            services: rows::services_of(conn, &ids).await?,
            routes: rows::routes_of(conn, &ids).await?,
            volumes: volumes::of_installations(conn, &ids).await?,
        })
    }

    fn record(&self, config: &Config, row: Installation, may_see_values: bool) -> api::Installation {
        let extension = self.extensions.iter().find(|extension| extension.id == row.extension_id);
        let execution = self.executions.iter().find(|execution| Some(execution.id) == row.execution_id);
        let text = |of: fn(&Execution) -> &String| execution.map(of).cloned().unwrap_or_default();
        let content_hash = text(|execution| &execution.content_hash);
        let has_update = |extension: &Extension| {
            let is_usable = extension.deleted_at.is_none() && extension.validation_status == ValidationStatus::Valid;
            is_usable && !content_hash.is_empty() && extension.content_hash != content_hash
        };
        api::Installation {
            has_update: extension.is_some_and(has_update),
            extension_key: extension.map(|extension| extension.extension_key.clone()).unwrap_or_default(),
            version: text(|execution| &execution.version),
            variable_values: if may_see_values { text(|execution| &execution.variable_values) } else { String::new() },
            services: self
                .services
                .iter()
                .filter(|seen| is_shown(&row, seen))
                .map(|seen| service(&row, seen))
                .collect(),
            domains: self
                .routes
                .iter()
                .filter(|route| route.installation_id == row.id && route.is_live)
                .map(|route| domain(config, route))
                .collect(),
            volumes: self.volumes.iter().filter(|volume| volume.installation_id == Some(row.id)).map(volume).collect(),
            content_hash,
            id: row.id,
            organization_id: row.organization_id,
            user_id: row.user_id,
            extension_id: row.extension_id,
            state: row.state,
            execution_id: row.execution_id,
            name: row.name,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

fn is_shown(row: &Installation, seen: &Seen) -> bool {
    seen.service.installation_id == row.id && seen.stage != Stage::Leaving
}

fn service(row: &Installation, seen: &Seen) -> api::InstalledService {
    api::InstalledService {
        name: seen.service.name.clone(),
        image: seen.service.image.clone(),
        image_id: seen.service.image_id.clone(),
        status: seen.status,
        container_name: seen.container_name.clone(),
        address: seen.address.clone(),
        host: format!("{}.{}", seen.service.name, row.name),
    }
}

fn domain(config: &Config, route: &Route) -> api::InstalledDomain {
    api::InstalledDomain {
        domain: route.domain.clone(),
        url: config.visitors_url(&route.domain),
        service: route.service.clone(),
        port: route.port,
    }
}

fn volume(volume: &Volume) -> api::InstalledVolume {
    api::InstalledVolume { id: volume.id, name: volume.name.clone(), size_bytes: volume.size_bytes }
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
