//! What expires is removed, so that tables stay small.

use std::sync::Arc;
use std::time::Duration;

use windlass_store::{Result, invitations, sessions};

use crate::app::App;

const INTERVAL: Duration = Duration::from_secs(3_600);

/// Runs until it is dropped.
pub async fn run(app: Arc<App>) {
    let mut ticks = tokio::time::interval(INTERVAL);
    loop {
        ticks.tick().await;
        match sweep(&app).await {
            Ok(0) => {}
            Ok(removed) => tracing::info!(removed, "removed what had expired"),
            Err(error) => tracing::warn!(%error, "could not remove what has expired; trying again in an hour"),
        }
    }
}

pub async fn sweep(app: &App) -> Result<u64> {
    let now = app.now();
    let mut tx = app.db.begin().await?;
    let removed = sessions::delete_expired(&mut tx, now).await? + invitations::delete_expired(&mut tx, now).await?;
    tx.commit().await?;
    Ok(removed)
}
