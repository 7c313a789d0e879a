//! Applications, their deployments and what those printed.
//!
//! Application ▸ organization, user, status, deployments ▸ status, logs. ApplicationDeployment ▸ application ▸
//! organization, user, status, and ApplicationDeployment ▸ status, logs. A list of applications has neither deployments
//! nor logs nor the organizations of users, a list of deployments neither their application nor logs.

use std::collections::{BTreeMap, HashMap};

use uuid::Uuid;
use windlass_api as api;
use windlass_api::{Configuration, Link, MASK, Timestamp, Triggers, Variables};
use windlass_store::Conn;
use windlass_store::applications::Application;
use windlass_store::containers::{self, Container};
use windlass_store::deployments::{self, Shown};
use windlass_store::memberships;
use windlass_store::organizations::Organization;
use windlass_store::previews;
use windlass_store::releases::{self, Artifact, Release};
use windlass_store::users::User;
use windlass_store::volumes;

use super::budget::Budget;
use super::volumes::volume;
use super::{Viewer, bare_organization, bare_user, full_user};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::figures::read as figures;
use crate::shared_variables::SharedVariables;
use crate::vault::Vault;

pub const EMBEDDED_DEPLOYMENTS: i64 = 20;
const PROXY_SERVER: &str = "windlass";

/// The caller that an organization's applications are shown to, and how much they see of them.
pub struct ApplicationViewer<'a> {
    pub vault: &'a Vault,
    /// Where visitors reach applications.
    pub config: &'a Config,
    pub now: Timestamp,
    /// How long deleted volumes wait.
    pub volume_grace_seconds: i64,
    pub caller: Viewer,
    pub organization: &'a Organization,
    /// The values of variables that are not secret.
    pub sees_values: bool,
    pub sees_members: bool,
}

/// Without lines.
pub async fn application(
    conn: &mut Conn,
    viewer: &ApplicationViewer<'_>,
    row: &Application,
) -> Result<api::Application> {
    let mut record = without_arrays(conn, viewer, row).await?;
    record.preview_of = previews::get(conn, row.id).await?.map(|preview| preview.application_id);
    let newest = deployments::page(conn, row.id, 0, EMBEDDED_DEPLOYMENTS).await?;
    record.deployments = newest.into_iter().map(|shown| bare_deployment(viewer, shown)).collect();
    let volumes = volumes::of_application(conn, row.id).await?;
    record.volumes = volumes.into_iter().map(|row| volume(row, viewer.volume_grace_seconds)).collect();
    record.figures = figures::current(conn, &[row.id], viewer.now).await?.remove(&row.id);
    Ok(record)
}

/// Without anything that there are several of.
async fn listed(
    conn: &mut Conn,
    viewer: &ApplicationViewer<'_>,
    rows: &[Application],
) -> Result<Vec<api::Application>> {
    let ids: Vec<Uuid> = rows.iter().map(|row| row.id).collect();
    let live = releases::current_of(conn, &ids).await?;
    let live: HashMap<Uuid, &Release> = live.iter().map(|release| (release.application_id, release)).collect();
    let mut crash_loops = crash_loops(conn, &ids).await?;
    let creators = creators(conn, viewer, rows).await?;
    let (mut records, mut budget) = (Vec::new(), Budget::of_a_list());
    let mut shared = SharedVariables::of(viewer.vault, viewer.organization.id);
    for row in rows {
        let creator = creators.get(&row.user_id).cloned().map(bare_user);
        let mut record = record(conn, viewer, row, live.get(&row.id).copied(), creator, &mut shared).await?;
        record.crash_loop = crash_loops.remove(&row.id);
        let api::Application { build_variables, environment_variables, preview_variables, .. } = &mut record;
        budget.spend(&mut [build_variables, environment_variables, preview_variables]);
        records.push(record);
    }
    Ok(records)
}

/// As they are in a list: each with its newest deployment.
pub async fn applications(
    conn: &mut Conn,
    viewer: &ApplicationViewer<'_>,
    rows: &[Application],
) -> Result<Vec<api::Application>> {
    let ids: Vec<Uuid> = rows.iter().map(|row| row.id).collect();
    let mut records = listed(conn, viewer, rows).await?;
    for shown in deployments::newest_of(conn, &ids).await? {
        let its = records.iter_mut().find(|record| record.id == shown.deployment.application_id);
        its.into_iter().for_each(|record| record.deployments.push(bare_deployment(viewer, shown.clone())));
    }
    let mut figures = figures::current(conn, &ids, viewer.now).await?;
    records.iter_mut().for_each(|record| record.figures = figures.remove(&record.id));
    Ok(records)
}

/// Without lines.
pub async fn deployment(
    conn: &mut Conn,
    viewer: &ApplicationViewer<'_>,
    row: &Application,
    shown: Shown,
) -> Result<api::ApplicationDeployment> {
    let application = without_arrays(conn, viewer, row).await?;
    Ok(api::ApplicationDeployment { application: Link::to(application), ..bare_deployment(viewer, shown) })
}

async fn without_arrays(
    conn: &mut Conn,
    viewer: &ApplicationViewer<'_>,
    row: &Application,
) -> Result<api::Application> {
    let live = releases::current_of(conn, &[row.id]).await?;
    let creator = match creators(conn, viewer, std::slice::from_ref(row)).await?.remove(&row.user_id) {
        Some(user) => Some(full_user(conn, &user, viewer.caller).await?),
        None => None,
    };
    let mut shared = SharedVariables::of(viewer.vault, viewer.organization.id);
    let mut record = record(conn, viewer, row, live.first(), creator, &mut shared).await?;
    record.crash_loop = crash_loops(conn, &[row.id]).await?.remove(&row.id);
    Ok(record)
}

/// By application: of the instance that crashed last.
async fn crash_loops(conn: &mut Conn, ids: &[Uuid]) -> Result<HashMap<Uuid, api::CrashLoop>> {
    let mut newest: HashMap<Uuid, api::CrashLoop> = HashMap::new();
    for (id, text) in containers::crash_loops_of(conn, ids).await? {
        let Some(other) = crash_loop(&text) else { continue };
        if newest.get(&id).is_none_or(|known| known.crashed_at < other.crashed_at) {
            newest.insert(id, other);
        }
    }
    Ok(newest)
}

/// None while it does not crash.
fn crash_loop(text: &str) -> Option<api::CrashLoop> {
    serde_json::from_str(text).ok()
}

/// As a part of something else.
pub async fn bare_application(
    conn: &mut Conn,
    viewer: &ApplicationViewer<'_>,
    row: &Application,
) -> Result<api::Application> {
    let record = listed(conn, viewer, std::slice::from_ref(row)).await?.pop();
    record.ok_or_else(|| Error::internal("one application gave no record"))
}

/// Those who created the applications and still belong to the organization.
async fn creators(
    conn: &mut Conn,
    viewer: &ApplicationViewer<'_>,
    rows: &[Application],
) -> Result<HashMap<Uuid, User>> {
    if !viewer.sees_members {
        return Ok(HashMap::new());
    }
    let mut ids: Vec<Uuid> = rows.iter().map(|row| row.user_id).collect();
    ids.sort_unstable();
    ids.dedup();
    let members = memberships::members_among(conn, viewer.organization.id, &ids).await?;
    Ok(members.into_iter().map(|member| (member.user.id, member.user)).collect())
}

async fn record(
    conn: &mut Conn,
    viewer: &ApplicationViewer<'_>,
    row: &Application,
    live: Option<&Release>,
    creator: Option<api::User>,
    shared: &mut SharedVariables<'_>,
) -> Result<api::Application> {
    let configuration = Configuration::from_json(&row.configuration).map_err(Error::internal)?;
    let variables = viewer.vault.application_variables(row).await?;
    let pending_fields = match live {
        // What one that is being deleted refers to may be gone already.
        Some(live) if row.wanted != api::Wanted::Deleted => {
            let filled_in = shared.fill(conn, &configuration.environment, &variables).await?;
            pending(viewer.vault, &configuration, &filled_in, live).await?
        }
        _ => Vec::new(),
    };
    let live_port = match live.and_then(|live| live.artifact.as_ref()) {
        Some(Artifact::Image(image)) => image.port,
        Some(Artifact::Services(services)) => services.port,
        Some(Artifact::Site(_)) | None => 0,
    };
    Ok(api::Application {
        id: row.id,
        name: row.name.clone(),
        repository: row.repository.clone(),
        build_variables: shown_variables(viewer, &variables, &variables.build)?,
        environment_variables: shown_variables(viewer, &variables, &variables.environment)?,
        preview_variables: shown_variables(viewer, &variables, &variables.preview)?,
        branch: configuration.branch,
        base_path: configuration.base_path,
        dockerfile_path: configuration.dockerfile_path,
        build_pack: configuration.build_pack,
        environment: configuration.environment,
        domain: row.domain.clone(),
        url: viewer.config.visitors_url(&row.domain),
        port: if configuration.port == 0 { live_port } else { configuration.port },
        pre_run_command: configuration.pre_run_command,
        post_run_command: configuration.post_run_command,
        proxy_server: PROXY_SERVER.to_owned(),
        labels: serde_json::from_str(&row.labels).map_err(Error::internal)?,
        organization_id: row.organization_id,
        user_id: row.user_id,
        organization: Link::to(bare_organization(viewer.organization)),
        user: creator.map_or(Link::Cut, Link::to),
        status: Link::to(status(row)),
        deployments: Vec::new(),
        logs: Vec::new(),
        created_at: row.created_at,
        updated_at: row.updated_at,
        secret_names: variables.secret_names,
        preview_secret_names: variables.preview_secret_names,
        preview_of: None,
        has_repository_credentials: row.sealed_credentials.is_some(),
        settings: configuration.settings,
        connection_id: row.connection_id,
        triggers: Triggers::from_json(&row.triggers).map_err(Error::internal)?,
        pending_fields,
        volumes: Vec::new(),
        crash_loop: None,
        figures: None,
    })
}

/// The fields in which what the next release would be made with differs from the live one.
async fn pending(
    vault: &Vault,
    configuration: &Configuration,
    variables: &Variables,
    live: &Release,
) -> Result<Vec<String>> {
    let made_with = Configuration::from_json(&live.configuration).map_err(Error::internal)?;
    let mut names = configuration.differences(&made_with);
    names.retain(|name| !Configuration::ACT_AT_ONCE.contains(&name.as_str()));
    names.extend(variables.of_release().differences(&vault.release_variables(live).await?));
    Ok(names)
}

/// As JSON text, with masks for what the caller must not see.
fn shown_variables(viewer: &ApplicationViewer<'_>, all: &Variables, some: &BTreeMap<String, String>) -> Result<String> {
    let shown: BTreeMap<&str, &str> = some
        .iter()
        .map(|(name, value)| {
            let is_hidden = !viewer.sees_values || all.is_secret(name);
            (name.as_str(), if is_hidden { MASK } else { value.as_str() })
        })
        .collect();
    serde_json::to_string(&shown).map_err(Error::internal)
}

fn status(row: &Application) -> api::ApplicationStatus {
    api::ApplicationStatus {
        id: row.status_id,
        application_id: row.id,
        application: Link::Cut,
        status: row.state,
        created_at: row.created_at,
        updated_at: row.state_changed_at,
    }
}

/// With its application cut off, and without what it printed.
pub fn bare_deployment(viewer: &ApplicationViewer<'_>, shown: Shown) -> api::ApplicationDeployment {
    let row = shown.deployment;
    api::ApplicationDeployment {
        id: row.id,
        application_id: row.application_id,
        application: Link::Cut,
        commit_hash: shown.commit_hash,
        artifact: match (shown.image_id.is_empty(), shown.has_site, shown.has_services) {
            (_, true, _) => api::ArtifactKind::Site,
            (_, _, true) => api::ArtifactKind::Services,
            (false, false, false) => api::ArtifactKind::Image,
            (true, false, false) => api::ArtifactKind::None,
        },
        container_id: row.container_id,
        container_image: shown.image_id,
        container_name: row.container_name,
        container_status: row.container_status,
        instances: shown.instances.into_iter().map(instance).collect(),
        status: Link::to(api::DeploymentStatus {
            id: row.status_id,
            application_deployment_id: row.id,
            application_deployment: Link::Cut,
            status: row.state,
            created_at: row.created_at,
            updated_at: row.state_changed_at,
        }),
        logs: Vec::new(),
        created_at: row.created_at,
        updated_at: row.updated_at,
        kind: row.kind,
        triggered_by: row.triggered_by,
        user_id: row.user_id.filter(|_| viewer.sees_members),
        user_name: shown.user_name.filter(|_| viewer.sees_members).unwrap_or_default(),
        release_id: row.release_id,
        commit_author: shown.commit_author,
        commit_message: shown.commit_message,
        failure: row.failure,
        reason: row.reason,
        can_roll_back: shown.is_kept,
        can_restore_data: shown.is_kept && shown.has_data,
        requests_served: row.requests_served,
        requests_failed: row.requests_failed,
        held_ms: row.held_ms,
        held_requests: row.held_requests,
        started_at: row.started_at.map(Timestamp::from_micros),
        completed_at: row.finished_at.map(Timestamp::from_micros),
    }
}

fn instance(row: Container) -> api::DeploymentInstance {
    let crash_loop = crash_loop(&row.crash_loop);
    let Container { ordinal, service, name, engine_id: container_id, status, .. } = row;
    api::DeploymentInstance { ordinal, service, name, container_id, status, crash_loop }
}
