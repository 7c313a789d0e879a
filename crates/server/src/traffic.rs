//! Asks the edge now and then what it has counted, and adds what is new to the minute.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;
use windlass_edge::counters::{Cause, Figures};
use windlass_edge::stats::Stats;
use windlass_store::traffic::{self, Requests};

use crate::app::App;
use crate::edge;

const INTERVAL: Duration = Duration::from_secs(10);
/// How far back the API shows it.
pub const KEPT_MINUTES: i64 = 24 * 60;
pub const MINUTE_MICROS: i64 = 60_000_000;

/// Runs until it is dropped. What visitors did while no server ran is not known by the minute, so it is left out.
pub async fn run(app: Arc<App>) {
    let mut ticks = tokio::time::interval(INTERVAL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut before: Option<HashMap<Uuid, Requests>> = None;
    loop {
        ticks.tick().await;
        let Ok(stats) = edge::stats(&app.config.data_dir).await else { continue };
        let now = counted(&stats);
        if let Some(before) = &before
            && let Err(error) = add(&app, &news(before, &now)).await
        {
            tracing::warn!(%error, "visitors' requests could not be noted; trying again in some seconds");
            continue;
        }
        before = Some(now);
    }
}

async fn add(app: &App, news: &[(Uuid, Requests)]) -> windlass_store::Result<()> {
    if news.is_empty() {
        return Ok(());
    }
    let mut tx = app.db.begin().await?;
    traffic::add(&mut tx, app.now().micros() / MINUTE_MICROS, news).await?;
    tx.commit().await
}

/// Services are named by their application.
fn counted(stats: &Stats) -> HashMap<Uuid, Requests> {
    let by_id = |service: &windlass_edge::stats::ServiceStats| {
        service.name.parse().ok().map(|id| (id, requests(&service.figures)))
    };
    stats.services.iter().filter_map(by_id).collect()
}

fn requests(figures: &Figures) -> Requests {
    let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let faults = [Cause::Connect, Cause::Slow, Cause::Closed, Cause::Invalid, Cause::Cut];
    let failed: u64 = faults.into_iter().map(|cause| figures.failed(cause)).sum();
    let answered: u64 = figures.statuses.values().sum();
    // A request that fails before its answer has begun is answered with 5xx: it must not count twice.
    let errors = figures.statuses.get("5xx").copied().unwrap_or_default().max(failed);
    Requests {
        requests: number(figures.requests),
        errors: number(errors),
        answers: number(answered),
        answer_us: number(figures.latency_us),
    }
}

/// What was counted since. Less than before means that an edge was started anew: then all of it is new.
fn news(before: &HashMap<Uuid, Requests>, now: &HashMap<Uuid, Requests>) -> Vec<(Uuid, Requests)> {
    let since = |id: &Uuid, now: &Requests| match before.get(id) {
        Some(before) if before.requests <= now.requests => Requests {
            requests: now.requests - before.requests,
            errors: (now.errors - before.errors).max(0),
            answers: (now.answers - before.answers).max(0),
            answer_us: (now.answer_us - before.answer_us).max(0),
        },
        _ => *now,
    };
    let news = now.iter().map(|(id, now)| (*id, since(id, now)));
    news.filter(|(_, since)| *since != Requests::default()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(requests: i64, errors: i64) -> HashMap<Uuid, Requests> {
        let counted = Requests { requests, errors, answers: requests, answer_us: requests * 10 };
        HashMap::from([(Uuid::from_u128(1), counted)])
    }

    #[test]
    fn only_what_came_since_is_news() {
        let expected = seen(3, 1).into_iter().collect::<Vec<_>>();
        assert_eq!(news(&seen(2, 0), &seen(5, 1)), expected);
        assert_eq!(news(&seen(5, 1), &seen(5, 1)), []);
        assert_eq!(news(&HashMap::new(), &seen(3, 1)), expected);
    }

    #[test]
    fn an_edge_that_was_started_anew_counts_from_nothing() {
        assert_eq!(news(&seen(50, 4), &seen(3, 1)), seen(3, 1).into_iter().collect::<Vec<_>>());
    }
}
