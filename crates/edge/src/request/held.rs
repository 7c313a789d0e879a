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
    let (started, mut waiting) = (Instant::now(), None::<Waiting>);
    // Before the table is looked into, so that no change of it is missed.
    let mut news = edge.news();
    let destination = loop {
        let hold = match edge.route(host, path, tried) {
            Destination::Held(_, hold) => hold,
            destination => break Ok(destination),
        };
        // A request keeps its turn as long as the hold is the same.
        if waiting.as_ref().is_none_or(|waiting| !waiting.is_for(&hold)) {
            let Some(turn) = hold.enter() else { break Err(Page::Held) };
            if waiting.replace(turn).is_none() {
                exchange.waits();
            }
        }
        let changed = tokio::time::timeout_at(hold.until.into(), news.changed()).await;
        if changed.is_err() || edge.has_ended_holds() {
            break Err(Page::Held);
        }
    };
    if waiting.is_some() {
        exchange.waited(started.elapsed());
    }
    destination
}
