//! Installations: what extensions have installed, brought to another version, back, or removed.

use uuid::Uuid;
use windlass_api as api;
use windlass_api::{Can, ErrorCode, ExecutionKind, InstallationState, UpdateInstallation};
use windlass_extension::{Kind, Values};
use windlass_store::executions::{self, Execution};
use windlass_store::extensions::{self, Extension};
use windlass_store::installations::{self, Installation};

use crate::app::App;
use crate::auth::{Authority, Granted};
use crate::error::{Error, Result};
use crate::records;
use crate::service::audit::{Action, Change, Resource};
use crate::service::executions::{NewExecution, insert};
use crate::service::extensions::hash;
use crate::service::preparation::{Asked, Prepared, prepare, reasons_for_host_access};
use crate::service::work::Work;

/// The installation that a run of an extension is about: a new one, or one whose first execution failed.
pub async fn begin(
    work: &mut Work<'_>,
    authority: &Authority,
    extension: &Extension,
    name: &str,
) -> Result<Installation> {
    let app = work.app;
    let stored = installations::by_name(work, authority.organization_id(), name).await?;
    let Some(stored) = stored else {
        refuse_too_many(work, authority).await?;
        let installation = Installation {
            id: app.new_id(),
            organization_id: authority.organization_id(),
            user_id: authority.user_id(),
            extension_id: extension.id,
            name: name.to_owned(),
            state: InstallationState::Installing,
            execution_id: None,
            created_at: app.now(),
            updated_at: app.now(),
        };
        installations::insert(work, &installation).await?;
        return Ok(installation);
    };
    let stored = installations::lock(work, stored.id).await?.unwrap_or(stored);
    let is_again = stored.state == InstallationState::Failed
        && stored.execution_id.is_none()
        && stored.extension_id == extension.id;
    if !is_again {
        let message = format!(
            "{name} is installed already. Update it (POST /api/v1/extensions/installations/{}/update), or give another \
             name to install it once more.",
            stored.id
        );
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    installations::set_state(work, stored.id, InstallationState::Installing, app.now()).await?;
    Ok(Installation { state: InstallationState::Installing, ..stored })
}

async fn refuse_too_many(work: &mut Work<'_>, authority: &Authority) -> Result<()> {
    let limit = work.app.config.organization_installations;
    if installations::count_of_organization(work, authority.organization_id()).await? >= limit {
        let message = format!(
            "An organization can have {limit} installations (organization-installations). Uninstall one first."
        );
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    Ok(())
}

/// The extension as it is now, with the values that the installation has and those that are given.
pub async fn update(
    app: &App,
    granted: &Granted<Installation>,
    input: &UpdateInstallation,
) -> Result<api::ExtensionExecution> {
    let row = granted.row();
    let extension = newest(app, row).await?;
    refuse_another_text(input, &extension, &extension.content_hash)?;
    let stored = in_force(app, row).await?.values;
    let defaults = input.defaults.as_deref().unwrap_or_default();
    let asked = Asked::Merged { stored, given: input.variables.as_ref(), defaults };
    let prepared = prepare(app, &extension, &asked, &row.name).await?;
    if prepared.kind != Kind::Install {
        return Err(Error::new(ErrorCode::Conflict, no_longer_installs(row)));
    }
    // It may have been changed since its row was read.
    refuse_another_text(input, &extension, &hash(&prepared.yaml_content))?;
    let new = NewExecution { kind: ExecutionKind::Update, ..NewExecution::default() };
    change(app, granted, &extension, new, &prepared, "updated").await
}

/// Who has looked at an offer gets what it showed.
fn refuse_another_text(input: &UpdateInstallation, extension: &Extension, content_hash: &str) -> Result<()> {
    match input.content_hash.as_deref() {
        Some(looked_at) if *looked_at != *content_hash => {
            let message = format!("{} has another text by now. Look at the offer again.", extension.extension_key);
            Err(Error::new(ErrorCode::Conflict, message))
        }
        _ => Ok(()),
    }
}

/// What an update brings an installation to.
pub async fn newest(app: &App, row: &Installation) -> Result<Extension> {
    let extension = extensions::get(&mut app.db.read().await?, row.extension_id).await?;
    extension.filter(|extension| extension.deleted_at.is_none()).ok_or_else(|| {
        Error::new(
            ErrorCode::Conflict,
            format!("The extension of {} was deleted, so there is nothing newer.", row.name),
        )
    })
}

pub fn no_longer_installs(row: &Installation) -> String {
    format!("The extension is of the type run by now, and {} is an installation.", row.name)
}

/// The execution that an installation is the result of, with its text and its values.
pub struct InForce {
    pub execution: Execution,
    pub yaml_content: String,
    pub values: Values,
}

pub async fn in_force(app: &App, row: &Installation) -> Result<InForce> {
    let Some(execution_id) = row.execution_id else {
        let message = format!("{} was never installed to the end. Run the extension again.", row.name);
        return Err(Error::new(ErrorCode::Conflict, message));
    };
    let mut conn = app.db.read().await?;
    let execution = executions::get(&mut conn, execution_id).await?;
    let execution = execution.ok_or_else(|| Error::not_found("execution"))?;
    let material = executions::material(&mut conn, execution_id).await?;
    let material = material.ok_or_else(|| Error::not_found("execution"))?;
    drop(conn);
    let values = app.vault.execution_values(execution_id, &material.sealed_values).await?;
    Ok(InForce { execution, yaml_content: material.yaml_content, values })
}

async fn values_of(app: &App, execution_id: Uuid) -> Result<Values> {
    let material = executions::material(&mut app.db.read().await?, execution_id).await?;
    let material = material.ok_or_else(|| Error::not_found("execution"))?;
    app.vault.execution_values(execution_id, &material.sealed_values).await
}

/// The values of a first execution that failed: what it has written to volumes knows its secrets.
pub async fn values_of_failed(
    app: &App,
    organization_id: Uuid,
    extension: &Extension,
    name: &str,
) -> Result<Option<Values>> {
    let mut conn = app.db.read().await?;
    let stored = installations::by_name(&mut conn, organization_id, name).await?;
    let is_same = |stored: &Installation| stored.execution_id.is_none() && stored.extension_id == extension.id;
    let Some(stored) = stored.filter(is_same) else { return Ok(None) };
    let filter = executions::Filter { installation_id: Some(stored.id), ..executions::Filter::default() };
    let (newest, _) = executions::page(&mut conn, organization_id, filter, (0, 100)).await?;
    drop(conn);
    match newest.iter().find(|newest| newest.kind == ExecutionKind::Install) {
        Some(newest) => values_of(app, newest.id).await.map(Some),
        None => Ok(None),
    }
}

/// What was in force before the last update, with the values of then.
pub async fn roll_back(app: &App, granted: &Granted<Installation>) -> Result<api::ExtensionExecution> {
    let row = granted.row();
    let mut conn = app.db.read().await?;
    let before = before_last(&mut conn, row).await?.ok_or_else(|| {
        Error::new(ErrorCode::Conflict, format!("There is no earlier version of {} to go back to.", row.name))
    })?;
    let material = executions::material(&mut conn, before.id).await?.ok_or_else(|| Error::not_found("execution"))?;
    let extension = extensions::get(&mut conn, row.extension_id).await?;
    let extension = extension.ok_or_else(|| Error::not_found("extension"))?;
    drop(conn);
    let values = app.vault.execution_values(before.id, &material.sealed_values).await?;
    let prepared = Prepared::again(material.yaml_content, values, &row.name).await?;
    // What is remembered of it is what it was then.
    let extension = Extension { version: before.version, content_hash: before.content_hash, ..extension };
    let kind = NewExecution { kind: ExecutionKind::Rollback, restored_id: Some(before.id), ..NewExecution::default() };
    change(app, granted, &extension, kind, &prepared, "rolled back").await
}

/// What was in force before the last update. After a rollback: before what that has brought back.
async fn before_last(conn: &mut windlass_store::Conn, row: &Installation) -> Result<Option<Execution>> {
    let all = executions::completed_of_installation(conn, row.id).await?;
    let Some(current) = all.iter().find(|execution| Some(execution.id) == row.execution_id) else { return Ok(None) };
    let since = current.restored_id.unwrap_or(current.id);
    let Some(before) = all.iter().find(|execution| execution.id < since) else { return Ok(None) };
    // A rollback has the text of an earlier one.
    let original = before.restored_id.and_then(|id| all.iter().find(|execution| execution.id == id));
    Ok(Some(original.unwrap_or(before).clone()))
}

async fn change(
    app: &App,
    granted: &Granted<Installation>,
    extension: &Extension,
    new: NewExecution,
    prepared: &Prepared,
    verb: &str,
) -> Result<api::ExtensionExecution> {
    let mut work = app.begin().await?;
    let authority = work.hold(granted.authority()).await?;
    let row = hold_still(&mut work, granted.row()).await?;
    if !reasons_for_host_access(&prepared.steps).is_empty() {
        authority.require(app, Can::ExtensionHost)?;
    }
    let new = NewExecution { installation_id: Some(row.id), ..new };
    let execution = insert(&mut work, &authority, extension, new, prepared).await?;
    installations::set_state(&mut work, row.id, InstallationState::Updating, app.now()).await?;
    record(&mut work, &authority, Action::Update, &row, verb);
    let answer = records::executions::full(&mut work, execution).await?;
    work.commit().await?;
    Ok(answer)
}

/// Fails while an execution of it is under way.
pub async fn hold_still(work: &mut Work<'_>, row: &Installation) -> Result<Installation> {
    let row = installations::lock(work, row.id).await?.ok_or_else(|| Error::not_found("installation"))?;
    match row.state {
        InstallationState::Installed | InstallationState::Failed => Ok(row),
        InstallationState::Installing | InstallationState::Updating | InstallationState::Uninstalling => {
            let message = format!("{} is {}: wait until that is over, or cancel it.", row.name, row.state.as_str());
            Err(Error::new(ErrorCode::Conflict, message))
        }
    }
}

/// An execution was called off before it began: the installation is what it was before.
pub async fn fall_back(work: &mut Work<'_>, execution: &Execution) -> Result<()> {
    let Some(id) = execution.installation_id else { return Ok(()) };
    let Some(row) = installations::lock(work, id).await? else { return Ok(()) };
    let state = if row.execution_id.is_some() { InstallationState::Installed } else { InstallationState::Failed };
    let now = work.app.now();
    Ok(installations::set_state(work, id, state, now).await?)
}

pub fn record(work: &mut Work<'_>, authority: &Authority, action: Action, row: &Installation, verb: &str) {
    let change = Change {
        organization_id: Some(row.organization_id),
        action,
        resource: Resource::Installation,
        resource_id: row.id,
        summary: &format!("{verb} the installation {}", row.name),
        details: &[("installation", &row.name)],
    };
    work.record(&authority.actor(), &change);
}
