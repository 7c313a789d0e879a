//! Deployments, step by step.

mod cache;
mod git;
mod history;
mod lfs;
mod submodules;

use std::time::Duration;

use windlass_server::deploy::git::Limits;

/// What one fetch may take.
const fn limits() -> Limits {
    Limits { time: Duration::from_secs(60), bytes: 64 << 20, files: 1000, memory: 1 << 30, private_targets: false }
}
