//! What BuildKit keeps of builds so that later ones are faster. It belongs to the engine, not to one build.

use std::time::Duration;

use serde::Deserialize;

use crate::{Docker, Result};

/// An old engine adds up its images and volumes too before it tells.
const MEASURE_LIMIT: Duration = Duration::from_secs(120);
/// Removing many gigabytes takes its time.
const PRUNE_LIMIT: Duration = Duration::from_secs(600);

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Usage {
    build_cache: Option<Vec<Record>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Record {
    /// An image has it too, so that removing it frees nothing.
    #[serde(default)]
    shared: bool,
    /// -1 while it is not known.
    size: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Pruned {
    space_reclaimed: u64,
}

impl Docker {
    /// Bytes that only the build cache takes.
    pub async fn build_cache_bytes(&self) -> Result<u64> {
        let call = self.get("measure its build cache", "/system/df".to_owned()).query("type", "build-cache");
        let usage: Usage = call.limit(MEASURE_LIMIT).read().await?;
        let own = usage.build_cache.unwrap_or_default().into_iter().filter(|record| !record.shared);
        Ok(own.map(|record| u64::try_from(record.size).unwrap_or(0)).sum())
    }

    /// Removes what was unused for longest until no more than `keep_bytes` (at least 1) are left, and gives the bytes
    /// that were freed. What a running build needs stays.
    pub async fn prune_build_cache(&self, keep_bytes: u64) -> Result<u64> {
        let keep = keep_bytes.max(1).to_string();
        // Newer versions of the API than this crate speaks call it reserved-space.
        let call = self.post("shrink its build cache", "/build/prune".to_owned()).query("keep-storage", &keep);
        let pruned: Pruned = call.limit(PRUNE_LIMIT).read().await?;
        Ok(pruned.space_reclaimed)
    }
}
