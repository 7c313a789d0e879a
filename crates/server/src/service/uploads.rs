//! Uploads: begun, completed with a deployment, deleted. What is received is in `uploads`.

use uuid::Uuid;
use windlass_api as api;
use windlass_api::{ErrorCode, RepositoryAddress};
use windlass_store::applications::Application;
use windlass_store::uploads::{self, Upload};

use crate::app::App;
use crate::auth::Authority;
use crate::error::{Error, Result};
use crate::service::audit::{Action, Change, Resource};
use crate::service::deployments::{self, DeploymentRequest};
use crate::service::held_applications::hold_to_change;
use crate::service::work::Work;
use crate::uploads::longest;

/// `size_bytes` is 0 and `sha256` empty when they are not known. With the application as it is now.
pub async fn begin(
    app: &App,
    authority: &Authority,
    application_id: Uuid,
    size_bytes: i64,
    sha256: &str,
) -> Result<(Application, Upload)> {
    let mut work = app.begin().await?;
    let (authority, application) = hold_to_change(&mut work, authority, application_id).await?;
    check(&application)?;
    check_number(&mut work, &authority, size_bytes).await?;
    let now = app.now();
    // One that comes in one request is over with it.
    let lifetime = match size_bytes {
        0 => i64::try_from(longest(&app.config).as_secs() * 2).map_err(Error::internal)?,
        _ => app.config.kept_upload_seconds,
    };
    let upload = Upload {
        id: app.new_id(),
        organization_id: application.organization_id,
        user_id: authority.user_id(),
        application_id,
        size_bytes,
        sha256: sha256.to_ascii_lowercase(),
        deployment_id: None,
        created_at: now,
        expires_at: now.plus_seconds(lifetime),
    };
    uploads::insert(&mut work, &upload).await?;
    record_change(&mut work, &authority, Action::Create, &application, upload.id, "began an upload to");
    work.commit().await?;
    Ok((application, upload))
}

/// Only applications that are deployed from what is sent to Windlass itself.
fn check(application: &Application) -> Result<()> {
    if application.repository == RepositoryAddress::PUSHED {
        return Ok(());
    }
    let message = format!(
        "{} is deployed from {}. Only an application with the repository push takes uploads.",
        application.name, application.repository
    );
    Err(Error::new(ErrorCode::Conflict, message))
}

async fn check_number(work: &mut Work<'_>, authority: &Authority, size_bytes: i64) -> Result<()> {
    let (app, ids) = (work.app, (authority.organization_id(), authority.user_id()));
    let unknown_bytes = i64::try_from(app.config.upload_bytes).map_err(Error::internal)?;
    let (all, own, open_bytes) = uploads::open(work, ids.0, ids.1, app.now(), unknown_bytes).await?;
    let limits = [
        (all, app.config.organization_uploads, "in this organization", "organization-uploads"),
        (own, app.config.user_uploads, "of yours", "user-uploads"),
    ];
    for (open, limit, whose, setting) in limits {
        if open >= limit {
            let message = format!(
                "{limit} uploads {whose} are not complete, which is the limit ({setting}). Complete or delete one, or wait until one expires."
            );
            return Err(Error::new(ErrorCode::Conflict, message));
        }
    }
    let most = app.config.organization_upload_bytes;
    let more = if size_bytes == 0 { unknown_bytes } else { size_bytes };
    if open_bytes.saturating_add(more) > most {
        let message = format!(
            "With it, uploads in this organization that are not complete would have more than {} MiB (organization-uploads-mib). Complete or delete one, or wait until one expires.",
            most >> 20
        );
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    Ok(())
}

/// Queues the deployment of the commit that it became; once, however often it is completed.
pub async fn deploy(
    app: &App,
    authority: &Authority,
    upload: &Upload,
    bytes: u64,
    commit: &str,
) -> Result<api::Upload> {
    let mut work = app.begin().await?;
    let (authority, application) = hold_to_change(&mut work, authority, upload.application_id).await?;
    let known = uploads::of_organization(&mut work, upload.organization_id, upload.id, app.now()).await?;
    let known = known.ok_or_else(|| Error::not_found("upload"))?;
    if known.deployment_id.is_some() {
        return Ok(record(&known, known.size_bytes.unsigned_abs()));
    }
    let request = DeploymentRequest::Deploy { commit: Some(commit.to_owned()) };
    let deployment = deployments::enqueue(&mut work, &authority.actor(), &application, &request, &[]).await?;
    let size_bytes = i64::try_from(bytes).map_err(Error::internal)?;
    if !uploads::complete(&mut work, upload.id, size_bytes, deployment.id).await? {
        return Err(Error::internal("an upload was completed while it was held"));
    }
    work.commit().await?;
    Ok(record(&Upload { size_bytes, deployment_id: Some(deployment.id), ..known }, bytes))
}

pub async fn delete(app: &App, authority: &Authority, application: &Application, upload: &Upload) -> Result<()> {
    let mut work = app.begin().await?;
    let authority = work.hold(authority).await?;
    uploads::delete(&mut work, upload.id).await?;
    record_change(&mut work, &authority, Action::Delete, application, upload.id, "deleted an upload to");
    work.commit().await?;
    Ok(())
}

/// Without an audit entry: no user asked for it.
pub async fn delete_failed(app: &App, id: Uuid) -> Result<()> {
    let mut work = app.begin_step().await?;
    uploads::delete(&mut work, id).await?;
    work.commit().await?;
    Ok(())
}

pub fn record(upload: &Upload, received: u64) -> api::Upload {
    api::Upload {
        id: upload.id,
        application_id: upload.application_id,
        offset: i64::try_from(received).unwrap_or(i64::MAX),
        size: upload.size_bytes,
        sha256: upload.sha256.clone(),
        deployment_id: upload.deployment_id,
        created_at: upload.created_at,
        expires_at: upload.expires_at,
    }
}

fn record_change(
    work: &mut Work<'_>,
    authority: &Authority,
    action: Action,
    application: &Application,
    id: Uuid,
    verb: &str,
) {
    let change = Change {
        organization_id: Some(application.organization_id),
        action,
        resource: Resource::Upload,
        resource_id: id,
        summary: &format!("{verb} {}", application.name),
        details: &[("application", &application.name), ("application_id", &application.id.to_string())],
    };
    work.record(&authority.actor(), &change);
}
