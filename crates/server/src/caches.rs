//! What is kept to be faster the next time stays within its budget: the engine's build cache, and what was fetched of
//! repositories.

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;
use windlass_store::applications;

use crate::deploy::cache;
use crate::engine_health::EngineState;
use crate::host::Host;

/// Other programs build on the engine too; their share is noticed after this time.
const INTERVAL: Duration = Duration::from_secs(300);
/// Between two looks, so that many builds do not keep the engine busy with counting.
const PAUSE: Duration = Duration::from_secs(10);

/// Runs until it is dropped.
pub async fn run(host: Arc<Host>) {
    loop {
        // The reconciler says when the engine does not answer.
        let is_bounded = bound_build_cache(&host).await.unwrap_or_else(|problem| {
            tracing::debug!(%problem, "the engine's build cache could not be looked at; trying again");
            true
        });
        if let Err(problem) = bound_repositories(&host).await {
            tracing::warn!(problem, "what was fetched of repositories could not be removed; trying again");
        }
        tokio::time::sleep(PAUSE).await;
        if is_bounded {
            let _ = tokio::time::timeout(INTERVAL, host.caches_grew.notified()).await;
        }
    }
}

/// Lets the engine remove what was unused for longest. What a build under way needs stays, so the cache may still be
/// too large afterwards. Returns whether there is nothing more to do for now.
async fn bound_build_cache(host: &Host) -> windlass_runtime::Result<bool> {
    let budget = host.app.config.build_cache_bytes;
    let bytes = host.build_cache_bytes().await?;
    show(host, bytes);
    // Not before it is known that another installation does not hold what this one would change.
    if budget == 0 || bytes <= budget || host.app.engine_health.seen() != EngineState::Well {
        return Ok(true);
    }
    let freed = host.prune_build_cache(budget).await?;
    let bytes = host.build_cache_bytes().await?;
    tracing::info!(freed, bytes, budget, "removed the oldest of the engine's build cache (build-cache-mib)");
    show(host, bytes);
    // What cannot be removed now, because a build uses it, is not worth asking for again at once.
    Ok(bytes <= budget || freed == 0)
}

fn show(host: &Host, bytes: u64) {
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    host.app.metrics.build_cache_bytes.set(bytes);
}

/// Those that were unused for longest go first, and those of applications that are gone: another server of the database
/// that removes an application cannot reach this folder.
async fn bound_repositories(host: &Host) -> Result<(), String> {
    let root = host.repositories_dir();
    // In this order: an application is there before it is fetched.
    let mut orphans = cache::applications(&root).await;
    if !orphans.is_empty() {
        for id in application_ids(host).await.map_err(|error| error.to_string())? {
            orphans.remove(&id);
        }
    }
    for id in orphans {
        cache::forget(&root, id).await.map_err(|error| error.to_string())?;
    }
    cache::trim(&root, host.app.config.repository_cache_bytes).await.map_err(|error| error.to_string())
}

async fn application_ids(host: &Host) -> windlass_store::Result<Vec<Uuid>> {
    applications::ids(&mut host.app.db.read().await?).await
}
