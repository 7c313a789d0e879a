//! Removes the files of sites that no release has any more, and notices when those of a live one are gone.

use std::sync::Arc;
use std::time::Duration;

use windlass_api::ContainerStatus;
use windlass_store::releases::{self, LiveSite};
use windlass_store::{applications, deployments};

use crate::deploy::{Interruption, Result};
use crate::engine_health::EngineState;
use crate::host::Host;
use crate::service::states;

const INTERVAL: Duration = Duration::from_secs(10);
const PASSES_PER_SWEEP: u64 = 6;
/// A visitor may still be reading a site that was given up a moment ago.
const READING_SECONDS: i64 = 60;

/// Runs until it is dropped.
pub async fn run(host: Arc<Host>) {
    for pass in 0_u64.. {
        // Not before it is known that another installation does not hold what this one would change.
        if host.app.engine_health.seen() == EngineState::Well {
            if let Err(problem) = look_after_live(&host).await {
                tracing::warn!(?problem, "the files of sites could not be looked at; trying again");
            }
            if pass.is_multiple_of(PASSES_PER_SWEEP)
                && let Err(problem) = sweep(&host).await
            {
                tracing::warn!(?problem, "sites that no release has could not be removed; trying again");
            }
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

async fn sweep(host: &Host) -> Result<()> {
    let given_up_after = host.app.now().plus_seconds(-READING_SECONDS);
    let wanted = releases::wanted_sites(&mut host.app.db.read().await?, given_up_after).await?;
    let swept = host.sites.sweep(wanted.into_iter().collect()).await;
    swept.map_err(|error| Interruption::Later(error.to_string()))
}

async fn look_after_live(host: &Host) -> Result<()> {
    let live = releases::live_sites(&mut host.app.db.read().await?).await?;
    for site in live {
        let is_there = host.sites.has(site.application_id, &site.site).await;
        let is_there = is_there.map_err(|error| Interruption::Later(error.to_string()))?;
        if is_there != site.is_there {
            tell(host, &site, is_there).await?;
        }
    }
    Ok(())
}

/// Statuses say what was seen.
async fn tell(host: &Host, site: &LiveSite, is_there: bool) -> Result<()> {
    let (mut work, now) = (host.app.begin_step().await?, host.app.now());
    let application = applications::lock(&mut work, site.application_id).await?;
    if application.and_then(|application| application.live_deployment_id) != Some(site.deployment_id) {
        return Ok(());
    }
    if !is_there {
        tracing::error!(application = %site.application_id, "the files of a live site are gone; deploy it again");
    }
    let status = if is_there { ContainerStatus::None } else { ContainerStatus::Removed };
    deployments::observe_container(&mut work, site.deployment_id, status, now).await?;
    states::settle(&mut work, site.application_id).await?;
    Ok(work.commit().await?)
}
