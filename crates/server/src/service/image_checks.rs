//! Applications that follow the tag of their image: which do, and what is deployed when it leads to another one.

use uuid::Uuid;
use windlass_api::{Changes, RepositoryAddress, Timestamp, Triggers, Wanted};
use windlass_store::applications::{self, Application};
use windlass_store::image_checks::{self, ImageCheck};
use windlass_store::{deployments as deployment_rows, organizations};

use crate::app::App;
use crate::error::{Error, Result};
use crate::service::audit::Actor;
use crate::service::deployments::{self, DeploymentRequest};
use crate::service::work::Work;

/// Brings the row of an application in line with what a request wants.
pub async fn apply(work: &mut Work<'_>, application: &Application, changes: &Changes) -> Result<()> {
    if changes.auto_update.is_none() {
        return Ok(());
    }
    let triggers = Triggers::from_json(&application.triggers).map_err(Error::internal)?;
    if !triggers.auto_update {
        return Ok(image_checks::delete(work, application.id).await?);
    }
    let seconds = work.app.config.image_check_seconds;
    let check = ImageCheck {
        application_id: application.id,
        organization_id: application.organization_id,
        next_at: work.app.now().plus_seconds(seconds),
        checked_at: Timestamp::from_micros(0),
        digest: String::new(),
    };
    Ok(image_checks::insert(work, &check).await?)
}

/// Only what is made from an image has a tag to follow.
pub fn refuse_without_image(application: &Application, triggers: &Triggers) -> Result<()> {
    match triggers.auto_update && application.repository != RepositoryAddress::IMAGE {
        true => Err(Error::field("auto_update", "is for an application whose repository is image")),
        false => Ok(()),
    }
}

/// Queues a deployment because the tag leads to another image. An image that could not be deployed is not tried again by itself.
pub async fn deploy(app: &App, application_id: Uuid, organization_id: Uuid, digest: &str) -> Result<()> {
    let mut work = app.begin_step().await?;
    organizations::lock(&mut work, organization_id).await?;
    let Some(application) = applications::lock(&mut work, application_id).await? else { return Ok(()) };
    let is_busy = !deployment_rows::under_way(&mut work, application_id).await?.is_empty();
    if is_busy || application.wanted != Wanted::Running {
        return Ok(());
    }
    if !image_checks::set_digest(&mut work, application_id, digest).await? {
        return Ok(());
    }
    let newest = DeploymentRequest::Deploy { commit: None };
    deployments::enqueue(&mut work, &Actor::Schedule, &application, &newest, &[]).await?;
    work.commit().await?;
    Ok(())
}
