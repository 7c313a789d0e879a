//! Looks which schedules' times have come.

use std::sync::Arc;
use std::time::Duration;

use windlass_store::schedules;

use crate::app::App;
use crate::engine_health::EngineState;
use crate::service;

/// So late a run is queued at most, if nothing is in the way.
const INTERVAL: Duration = Duration::from_secs(1);
/// So many are asked for in one round; the next comes soon.
const AT_ONCE: i64 = 100;

/// Runs until it is dropped.
pub async fn run(app: Arc<App>) {
    loop {
        // Not before it is known that another installation does not hold what this one would run something beside.
        if app.engine_health.seen() == EngineState::Well
            && let Err(error) = queue_due(&app).await
        {
            tracing::warn!(%error, "schedules whose time has come could not be looked for; trying again");
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Every schedule whose time has come.
pub async fn queue_due(app: &App) -> windlass_store::Result<()> {
    let due = schedules::due(&mut app.db.read().await?, app.now(), AT_ONCE).await?;
    for schedule in due {
        // One that cannot be read must not keep the others from their time.
        if let Err(error) = service::schedules::queue_due(app, &schedule).await {
            tracing::warn!(%error, schedule = %schedule.id, "the run of a schedule could not be queued; trying again");
        }
    }
    Ok(())
}
