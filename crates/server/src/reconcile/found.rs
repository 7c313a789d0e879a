//! What the engine says of one container.

use std::sync::Arc;

use tokio::sync::OwnedMutexGuard;
use windlass_runtime::{ContainerSummary, State};
use windlass_store::containers::Container;

use crate::beside::Beside;
use crate::crash_loops::{self, Seen};
use crate::host::Host;

/// Whether the engine can do nothing with it but remove it.
pub fn is_dead(found: &ContainerSummary) -> bool {
    matches!(found.state, State::Dead | State::Removing)
}

/// The next pass makes another one.
pub fn remove_dead(host: &Arc<Host>, beside: &mut Beside, row: &Container, no_other: OwnedMutexGuard<()>) {
    if beside.is_busy_with(&row.name) {
        return;
    }
    let (host, name) = (host.clone(), row.name.clone());
    beside.begin(&row.name, async move {
        let _no_other = no_other;
        host.remove_container(&name).await?;
        host.app.rows_changed.notify_one();
        Ok(())
    });
}

pub fn judge(host: &Host, row: &Container, found: Option<&windlass_runtime::Container>) -> Seen {
    let seen = crash_loops::judge(row, found, host.last_ends.of(&row.name), host.app.now());
    if seen.crash_loop.is_none() {
        host.last_ends.forget(&row.name);
    }
    seen
}
