//! What is kept to be faster the next time stays within its budget: the engine's build cache, and what was fetched of
//! repositories.

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;
use windlass_store::applications;

use crate::deploy::cache;
use crate::engine::Engine;
use crate::engine_health::Seen;

/// Other programs build on the engine too; their share is noticed after this time.
const INTERVAL: Duration = Duration::from_secs(300);
/// Between two looks, so that many builds do not keep the engine busy with counting.
const PAUSE: Duration = Duration::from_secs(10);

/// Runs until it is dropped.
pub async fn run(engine: Arc<Engine>) {
    loop {
        // The reconciler says when the engine does not answer.
        let is_bounded = bound_build_cache(&engine).await.unwrap_or_else(|problem| {
            tracing::debug!(%problem, "the engine's build cache could not be looked at; trying again");
            true
        });
        if let Err(problem) = bound_repositories(&engine).await {
            tracing::warn!(problem, "what was fetched of repositories could not be removed; trying again");
        }
        tokio::time::sleep(PAUSE).await;
        if is_bounded {
            let _ = tokio::time::timeout(INTERVAL, engine.caches_grew.notified()).await;
        }
    }
}

/// Lets the engine remove what was unused for longest. What a build under way needs stays, so the cache may still be too large
/// afterwards. Returns whether there is nothing more to do for now.
async fn bound_build_cache(engine: &Engine) -> windlass_runtime::Result<bool> {
    let budget = engine.app.config.build_cache_bytes;
    let bytes = engine.docker.build_cache_bytes().await?;
    show(engine, bytes);
    // Not before it is known that another installation does not hold what this one would change.
    if budget == 0 || bytes <= budget || engine.app.engine_health.seen() != Seen::Well {
        return Ok(true);
    }
    let freed = engine.docker.prune_build_cache(budget).await?;
    let bytes = engine.docker.build_cache_bytes().await?;
    tracing::info!(freed, bytes, budget, "removed the oldest of the engine's build cache (build-cache-mib)");
    show(engine, bytes);
    // What cannot be removed now, because a build uses it, is not worth asking for again at once.
    Ok(bytes <= budget || freed == 0)
}

fn show(engine: &Engine, bytes: u64) {
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    engine.app.metrics.build_cache_bytes.set(bytes);
}

/// Those that were unused for longest go first, and those of applications that are gone: another server of the database that
/// removes an application cannot reach this folder.
async fn bound_repositories(engine: &Engine) -> Result<(), String> {
    let root = engine.repositories_dir();
    // In this order: an application is there before it is fetched.
    let mut orphans = cache::applications(&root).await;
    if !orphans.is_empty() {
        for id in application_ids(engine).await.map_err(|error| error.to_string())? {
            orphans.remove(&id);
        }
    }
    for id in orphans {
        cache::forget(&root, id).await.map_err(|error| error.to_string())?;
    }
    cache::trim(&root, engine.app.config.repository_cache_bytes).await.map_err(|error| error.to_string())
}

async fn application_ids(engine: &Engine) -> windlass_store::Result<Vec<Uuid>> {
    applications::ids(&mut engine.app.db.read().await?).await
}
