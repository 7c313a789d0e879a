//! A request whose service is held: it waits for the next table.

use std::sync::Arc;
use std::time::Instant;

use super::exchange::Exchange;
use super::pages::Page;
use crate::edge::{Destination, Edge};
use crate::targets::Target;
use crate::targets::hold::Waiting;

/// Where a request for this host and path goes once its service is not held any more, into none of the tried targets if
/// there is another. A page when too many wait already, or when time is up.
pub async fn wait(
    edge: &Edge,
    exchange: &mut Exchange,
    host: &str,
    path: &str,
    tried: &[Arc<Target>],
) -> Result<Destination, Page> {
    let started = Instant::now();
    let destination = next_destination(edge, host, path, tried).await;
    exchange.held(started.elapsed());
    destination
}

async fn next_destination(edge: &Edge, host: &str, path: &str, tried: &[Arc<Target>]) -> Result<Destination, Page> {
    let mut waiting: Option<Waiting> = None;
    // Before the table is looked into, so that no change of it is missed.
    let mut news = edge.news();
    loop {
        let hold = match edge.route(host, path, tried) {
            Destination::Held(_, hold) => hold,
            destination => return Ok(destination),
        };
        // A request keeps its turn as long as the hold is the same.
        if waiting.as_ref().is_none_or(|waiting| !waiting.is_for(&hold)) {
            waiting = Some(hold.enter().ok_or(Page::Held)?);
        }
        let changed = tokio::time::timeout_at(hold.until.into(), news.changed()).await;
        if changed.is_err() || edge.has_ended_holds() {
            return Err(Page::Held);
        }
    }
}
