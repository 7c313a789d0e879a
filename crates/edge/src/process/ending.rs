//! How a process ends: stopped, or after another one has taken over.

use std::fs;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::control;
use super::running::{CHANGE_LIMIT, Process};

/// How often a process that is ending looks whether it can.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);
/// How long a process that has handed over waits for its successor to ask for the last figures.
const LAST_FIGURES_LIMIT: Duration = Duration::from_secs(2);

/// Ends, letting requests under way finish within the limit. Its predecessor ends with it.
pub async fn finish(process: &Process) {
    // A hand-over that is under way is settled first, and none begins from here on.
    let is_over = tokio::time::timeout(CHANGE_LIMIT, process.change_at_last()).await;
    let is_over = is_over.is_ok_and(|is_over| *is_over);
    tracing::info!("edge stopping; requests under way may finish");
    if !is_over {
        process.stop_accepting().await;
        let _ = fs::remove_file(control::socket(&process.data_dir));
    }
    process.edge.close();
    process.edge.end_holds();
    let limit = process.edge.settings.stop_limit;
    let before = async {
        if let Some(predecessor) = &process.predecessor {
            let _ = tokio::time::timeout(limit + CHANGE_LIMIT, predecessor.stop(limit)).await;
        }
    };
    let ((), ()) = tokio::join!(until_quiet(process, limit), before);
    tracing::info!("edge stopped");
}

/// Returns when no connection is busy any more, or at the limit.
async fn until_quiet(process: &Process, limit: Duration) {
    let deadline = Instant::now() + limit;
    while process.edge.busy.load(Ordering::Acquire) > 0 && Instant::now() < deadline {
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
    let cut = process.edge.busy.load(Ordering::Acquire);
    if cut > 0 {
        tracing::warn!(
            connections = cut,
            seconds = limit.as_secs(),
            "some requests did not finish in time and were cut"
        );
    }
}

/// Stays until the last connection is gone. Those that are idle get no hint before their next request: closing them now
/// could cross with it. The predecessor is reached through this process, so it ends first.
pub async fn linger(process: &Process) {
    tracing::info!("another process has taken over; this one ends with its last connection");
    let deadline = Instant::now() + process.edge.settings.hand_over_limit;
    while (process.open_connections() > 0 || process.has_predecessor()) && Instant::now() < deadline {
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
    // The successor is to hear of what is cut, and of the last that was counted, if it is still there to ask.
    process.edge.cut_leaving();
    let _ = tokio::time::timeout(LAST_FIGURES_LIMIT, process.told()).await;
    tracing::info!(connections = process.open_connections(), "edge handed over and ended");
}
