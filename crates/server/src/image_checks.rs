//! Asks registries if the tags of images lead to other ones, for the applications that want to follow them: one question at a time,
//! and organizations take turns.

use std::sync::Arc;
use std::time::Duration;

use windlass_api::{Configuration, Wanted};
use windlass_store::image_checks::{self, ImageCheck};
use windlass_store::{applications, releases};

use crate::app::App;
use crate::deploy::{Interruption, Result};
use crate::engine_health::EngineState;
use crate::error::Error;
use crate::host::Host;
use crate::registries;
use crate::service;

/// So late a check begins at most, if no other is under way.
const INTERVAL: Duration = Duration::from_secs(1);
/// A registry that is slower is asked again the next time.
const LONGEST: Duration = Duration::from_secs(30);

/// Runs until it is dropped.
pub async fn run(host: Arc<Host>) {
    loop {
        // Another installation may hold what would be deployed.
        while host.app.engine_health.seen() == EngineState::Well {
            match look_at_next(&host).await {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    tracing::warn!(?error, "the next image could not be looked for; trying again");
                    break;
                }
            }
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// False when the time of none has come.
pub async fn look_at_next(host: &Host) -> Result<bool> {
    let app = &host.app;
    let due = image_checks::next_due(&mut app.db.read().await?, app.now()).await?;
    let Some(check) = due else { return Ok(false) };
    if take(app, &check).await?
        && let Err(problem) = look(host, &check).await
    {
        // Users see the same in the plan.
        tracing::debug!(?problem, application = %check.application_id, "a registry could not be asked for an image");
    }
    Ok(true)
}

/// Whatever comes of it, the next time is an interval away. False when another server has taken it.
async fn take(app: &App, check: &ImageCheck) -> Result<bool> {
    let (mut work, now) = (app.begin_step().await?, app.now());
    let taken = image_checks::take(&mut work, check, now, now.plus_seconds(app.config.image_check_seconds)).await?;
    work.commit().await?;
    Ok(taken)
}

async fn look(host: &Host, check: &ImageCheck) -> Result<()> {
    let app = &host.app;
    let mut conn = app.db.read().await?;
    let application = applications::get(&mut conn, check.application_id).await?;
    let live = releases::current_of(&mut conn, &[check.application_id]).await?.pop();
    drop(conn);
    let (Some(application), Some(live)) = (application, live) else { return Ok(()) };
    if application.wanted != Wanted::Running {
        return Ok(());
    }
    let configuration = Configuration::from_json(&application.configuration).map_err(Error::internal)?;
    let image = registries::image_of(&configuration)?;
    if image.digest().is_some() {
        return Ok(());
    }
    let asking = registries::newest_digest(app, application.organization_id, &image, LONGEST);
    let Ok(digest) = tokio::time::timeout(LONGEST, asking).await else {
        return Err(Interruption::Later("the registry did not answer in time".to_owned()));
    };
    let digest = digest?;
    if digest != live.commit_hash && digest != check.digest {
        service::image_checks::deploy(app, application.id, application.organization_id, &digest).await?;
    }
    Ok(())
}
