//! What is kept to be faster the next time stays within its budget: the engine's build cache, and what was fetched of
//! repositories.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use windlass_store::applications;

use crate::deploy::{Interruption, cache};
use crate::engine::Engine;
use crate::engine_health::Seen;

/// What other programs build on the engine is noticed then.
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
        if let Err(problem) = forget_orphans(&engine).await {
            tracing::warn!(?problem, "repositories of removed applications could not be removed; trying again");
        }
        tokio::time::sleep(PAUSE).await;
        if is_bounded {
            let _ = tokio::time::timeout(INTERVAL, engine.caches_grew.notified()).await;
        }
    }
}

/// Lets the engine remove what was unused for longest. What a build under way needs stays, so the cache may still be too large
/// afterwards. Whether it is not.
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
    Ok(bytes <= budget)
}

fn show(engine: &Engine, bytes: u64) {
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    engine.app.build_cache_bytes.store(bytes, Ordering::Relaxed);
    engine.app.metrics.build_cache_bytes.set(bytes);
}

/// With several servers on one database an application may be removed by another one, which cannot reach this folder.
async fn forget_orphans(engine: &Engine) -> Result<(), Interruption> {
    let root = engine.repositories_dir();
    // In this order: an application is there before it is fetched.
    let mut orphans = cache::owners(&root).await;
    if orphans.is_empty() {
        return Ok(());
    }
    for id in applications::ids(&mut engine.app.db.read().await?).await? {
        orphans.remove(&id);
    }
    for id in orphans {
        cache::forget(&root, id).await.map_err(|error| Interruption::Later(error.to_string()))?;
    }
    Ok(())
}
