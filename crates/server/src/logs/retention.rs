//! Old lines go, and so do those beyond what one application, or one organization, may keep.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;
use windlass_api::Timestamp;
use windlass_store::logs::Kept;
use windlass_store::{Result, applications, executions, installations, runs};

use crate::app::App;

const INTERVAL: Duration = Duration::from_secs(5);
/// Lines of what no longer exists are looked for more rarely, as long as there is room.
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

/// Those of an organization that have the most lose lines, until all of it fits.
async fn trim_organizations(app: &App, keep_from: Timestamp) -> Result<()> {
    let (store, most) = (&app.logs.store, app.config.organization_log_bytes);
    let kept = store.kept().await?;
    // Most installations never come so far, and need not ask whose lines they are.
    if kept.iter().map(|one| one.bytes).sum::<i64>() <= most {
        return Ok(());
    }
    // In this order: an application or an execution is there before its lines are.
    let owners = log_owners(app).await?;
    // These first, because they count for no organization: one that has command runs forgotten one after the other would keep more than its own.
    delete_orphans(app, &kept, &owners).await?;
    let mut organizations: HashMap<Uuid, Vec<Kept>> = HashMap::new();
    for one in kept {
        if let Some(organization_id) = owners.get(&one.application_id) {
            organizations.entry(*organization_id).or_default().push(one);
        }
    }
    for all in organizations.into_values() {
        let share = fair_share(all.iter().map(|one| one.bytes).collect(), most);
        for one in all.iter().filter(|one| one.bytes > share) {
            while store.trim(one.application_id, share, keep_from, app.now()).await? > 0 {
                tokio::time::sleep(BREATH).await;
            }
        }
    }
    Ok(())
}

/// A command run keeps less than an application.
async fn trim_runs(app: &App, keep_from: Timestamp) -> Result<()> {
    let (store, most) = (&app.logs.store, app.config.run_log_bytes);
    for one in store.kept().await?.into_iter().filter(|one| one.bytes > most) {
        if runs::get(&mut app.db.read().await?, one.application_id).await?.is_none() {
            continue;
        }
        while store.trim(one.application_id, most, keep_from, app.now()).await? > 0 {
            tokio::time::sleep(BREATH).await;
        }
    }
    Ok(())
}

/// The organization of each application, execution, installation and command run: each of them has lines.
async fn log_owners(app: &App) -> Result<HashMap<Uuid, Uuid>> {
    let mut conn = app.db.read().await?;
    let mut owners = applications::organizations(&mut conn).await?;
    owners.extend(executions::organizations(&mut conn).await?);
    owners.extend(installations::organizations(&mut conn).await?);
    owners.extend(runs::organizations(&mut conn).await?);
    Ok(owners.into_iter().collect())
}

/// Lines of what was deleted or forgotten.
async fn delete_orphans(app: &App, kept: &[Kept], owners: &HashMap<Uuid, Uuid>) -> Result<()> {
    for one in kept.iter().filter(|one| !owners.contains_key(&one.application_id)) {
        while !app.logs.store.delete_some(one.application_id).await? {
            tokio::time::sleep(BREATH).await;
        }
    }
    Ok(())
}

/// The most that each may keep so that all of them together keep no more than `most`.
fn fair_share(mut sizes: Vec<i64>, most: i64) -> i64 {
    sizes.sort_unstable();
    let (mut room, mut left) = (most, i64::try_from(sizes.len()).unwrap_or(i64::MAX));
    for size in sizes {
        if size > room / left {
            return room / left;
        }
        (room, left) = (room - size, left - 1);
    }
    i64::MAX
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
    trim_runs(app, keep_from).await?;
    trim_organizations(app, keep_from).await?;
    if with_orphans {
        let kept = store.kept().await?;
        delete_orphans(app, &kept, &log_owners(app).await?).await?;
    }
    while store.give_back().await? {
        tokio::time::sleep(BREATH).await;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_give_and_the_small_ones_keep_all() {
        assert_eq!(fair_share(vec![10, 20, 30], 60), i64::MAX);
        assert_eq!(fair_share(vec![10, 20, 30], 59), 29);
        assert_eq!(fair_share(vec![10, 900, 800], 110), 50);
        assert_eq!(fair_share(vec![100, 100, 100], 90), 30);
        assert_eq!(fair_share(vec![], 1), i64::MAX);
    }
}
