//! Old lines go, and so do those beyond what one application may keep.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use windlass_store::{Result, applications, executions, installations};

use crate::app::App;

const INTERVAL: Duration = Duration::from_secs(5);
/// Lines of applications that no longer exist are looked for more rarely.
const ROUNDS_PER_SWEEP: u64 = 120;
/// Between two steps, so that writers and readers come first.
const BREATH: Duration = Duration::from_millis(5);

/// Runs until it is dropped.
pub async fn run(app: Arc<App>) {
    let mut ticks = tokio::time::interval(INTERVAL);
    for round in 0_u64.. {
        ticks.tick().await;
        if let Err(error) = trim_all(&app, round.is_multiple_of(ROUNDS_PER_SWEEP)).await {
            tracing::warn!(%error, "old log lines could not be removed; trying again");
        }
    }
}

/// One round: everything that is too old or too much, and the room it took.
pub async fn trim_all(app: &App, with_orphans: bool) -> Result<()> {
    let store = &app.logs.store;
    let now = app.now();
    let keep_from = now.plus_seconds(-app.config.log_seconds);
    for application_id in store.overfull(app.config.log_bytes, keep_from).await? {
        while store.trim(application_id, app.config.log_bytes, keep_from, now).await? > 0 {
            tokio::time::sleep(BREATH).await;
        }
    }
    if with_orphans {
        // In this order: an application or an execution is there before its lines are.
        let kept = store.kept().await?;
        let mut conn = app.db.read().await?;
        let mut existing: HashSet<_> = applications::ids(&mut conn).await?.into_iter().collect();
        existing.extend(executions::ids(&mut conn).await?);
        existing.extend(installations::ids(&mut conn).await?);
        drop(conn);
        for one in kept.iter().filter(|one| !existing.contains(&one.application_id)) {
            while !store.delete_some(one.application_id).await? {
                tokio::time::sleep(BREATH).await;
            }
        }
    }
    while store.give_back().await? {
        tokio::time::sleep(BREATH).await;
    }
    Ok(())
}
