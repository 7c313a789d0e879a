//! The one change that Windlass makes to the machine's own routes: a packet for a container that is gone must not leave
//! the machine, so everything in the network pool that is no container's is unreachable.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use windlass_durable::file;

use crate::config::Subnet;
use crate::holder::folder_identity;

/// Behind every other route: it acts only where there is none.
const METRIC: &str = "4278198272";
const LIMIT: Duration = Duration::from_secs(5);

/// Needs root; without it the machine's other routes decide. Several installations may share it: one that takes it away
/// is followed by another that puts it back, within a minute.
pub async fn add(data_dir: &Path, pool: Subnet) {
    let pool = pool.to_string();
    if !ip(&["route", "replace", "unreachable", &pool, "metric", METRIC]).await {
        return tracing::debug!(pool, "no unreachable route could be set for the network pool");
    }
    // So that a stop knows what to take away, whatever the setting is by then.
    if noted(data_dir).as_ref() != Some(&pool)
        && let Err(error) = write_note(data_dir, &pool)
    {
        tracing::warn!(%error, "the host route of the network pool could not be noted, and stays after a stop");
    }
}

/// When server and edge have ended there is nothing left to send such packets.
pub async fn remove(data_dir: &Path) {
    let Some(pool) = noted(data_dir) else { return };
    if !ip(&["route", "del", "unreachable", &pool, "metric", METRIC]).await {
        tracing::debug!(pool, "the host route of the network pool was gone already");
    }
    let _ = std::fs::remove_file(note(data_dir));
}

fn note(data_dir: &Path) -> PathBuf {
    data_dir.join("host-route")
}

fn write_note(data_dir: &Path, pool: &str) -> std::io::Result<()> {
    file::replace(&note(data_dir), format!("{pool} {}", folder_identity(data_dir)?).as_bytes())
}

/// The note in a copy of a folder is the original's.
fn noted(data_dir: &Path) -> Option<String> {
    let text = std::fs::read_to_string(note(data_dir)).ok()?;
    let (pool, folder) = text.split_once(' ')?;
    (folder_identity(data_dir).ok()? == folder).then(|| pool.to_owned())
}

async fn ip(arguments: &[&str]) -> bool {
    let mut command = Command::new("ip");
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let done = tokio::time::timeout(LIMIT, command.status()).await;
    done.is_ok_and(|done| done.is_ok_and(|status| status.success()))
}
