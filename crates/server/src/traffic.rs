//! Asks the edge now and then what it has counted, and adds what is new to the minute.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;
use windlass_edge::counters::{Cause, Figures};
use windlass_edge::stats::{ServiceStats, Stats};
use windlass_store::traffic::{self, Requests};

use crate::app::App;
use crate::edge;
use crate::route_publisher;

const INTERVAL: Duration = Duration::from_secs(10);
/// How far back the API shows it, and one more of its longest slots.
pub const KEPT_MINUTES: i64 = 25 * 60;
pub const MINUTE_MICROS: i64 = 60_000_000;

/// Runs until it is dropped. What visitors did while no server ran is not known by the minute, so it is left out.
pub async fn run(app: Arc<App>) {
    let mut ticks = tokio::time::interval(INTERVAL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut before: Option<HashMap<String, Counted>> = None;
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

/// Answers of 5xx, and requests without a whole answer, visitors who left apart. A request can be both.
pub fn refused_and_failed(figures: &Figures) -> (u64, u64) {
    let faults = [Cause::Connect, Cause::Slow, Cause::Closed, Cause::Invalid, Cause::Cut];
    let failed = faults.into_iter().map(|cause| figures.failed(cause)).sum();
    (figures.statuses.get("5xx").copied().unwrap_or_default(), failed)
}

/// What an edge has counted for one of its services since it was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counted {
    requests: u64,
    /// Answers of 5xx.
    refused: u64,
    /// Requests without a whole answer, visitors who left apart.
    failed: u64,
    answers: u64,
    answer_us: u64,
}

impl Counted {
    fn new(figures: &Figures) -> Self {
        let (refused, failed) = refused_and_failed(figures);
        Self {
            requests: figures.requests,
            refused,
            failed,
            answers: figures.statuses.values().sum(),
            answer_us: figures.latency_us,
        }
    }

    fn since(&self, before: &Self) -> Requests {
        let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let (refused, failed) =
            (self.refused.saturating_sub(before.refused), self.failed.saturating_sub(before.failed));
        Requests {
            requests: number(self.requests.saturating_sub(before.requests)),
            // A request that fails before its answer has begun is answered with 5xx: it must not count twice.
            errors: number(refused.max(failed)),
            answers: number(self.answers.saturating_sub(before.answers)),
            answer_us: number(self.answer_us.saturating_sub(before.answer_us)),
        }
    }
}

/// By the edge's names of its services.
fn counted(stats: &Stats) -> HashMap<String, Counted> {
    let counted = |service: &ServiceStats| (service.name.clone(), Counted::new(&service.figures));
    stats.services.iter().map(counted).collect()
}

/// What was counted since, by application. Less than before means that an edge was started anew: then all of it is new.
fn news(before: &HashMap<String, Counted>, now: &HashMap<String, Counted>) -> Vec<(Uuid, Requests)> {
    let nothing = Counted::default();
    let mut news: HashMap<Uuid, Requests> = HashMap::new();
    for (name, now) in now {
        let Some(application) = route_publisher::application_of(name) else { continue };
        let before = before.get(name).filter(|before| before.requests <= now.requests);
        news.entry(application).or_default().add(&now.since(before.unwrap_or(&nothing)));
    }
    news.into_iter().filter(|(_, since)| *since != Requests::default()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(requests: u64, refused: u64, failed: u64) -> HashMap<String, Counted> {
        let counted = Counted { requests, refused, failed, answers: requests, answer_us: requests * 10 };
        HashMap::from([(Uuid::from_u128(1).to_string(), counted)])
    }

    /// The same beside another service of the application.
    fn beside(other: u64, main: HashMap<String, Counted>) -> HashMap<String, Counted> {
        let name = route_publisher::edge_service_name(Uuid::from_u128(1), "api", "web");
        let of_other = seen(other, 0, 0).into_values().map(|counted| (name.clone(), counted));
        of_other.chain(main).collect()
    }

    fn told(requests: i64, errors: i64) -> Vec<(Uuid, Requests)> {
        vec![(Uuid::from_u128(1), Requests { requests, errors, answers: requests, answer_us: requests * 10 })]
    }

    #[test]
    fn only_what_came_since_is_news() {
        assert_eq!(news(&seen(2, 0, 0), &seen(5, 1, 0)), told(3, 1));
        assert_eq!(news(&seen(5, 1, 1), &seen(5, 1, 1)), []);
        assert_eq!(news(&HashMap::new(), &seen(3, 1, 0)), told(3, 1));
    }

    #[test]
    fn answers_that_broke_off_hide_no_later_errors() {
        assert_eq!(news(&seen(100, 0, 100), &seen(190, 90, 100)), told(90, 90));
        assert_eq!(news(&seen(100, 50, 0), &seen(110, 50, 10)), told(10, 10));
    }

    #[test]
    fn an_edge_that_was_started_anew_counts_from_nothing() {
        assert_eq!(news(&seen(50, 4, 0), &seen(3, 1, 0)), told(3, 1));
    }
    #[test]
    fn a_service_that_comes_or_goes_leaves_the_others_as_they_are() {
        assert_eq!(news(&beside(500, seen(50, 0, 0)), &seen(60, 1, 0)), told(10, 1));
        assert_eq!(news(&seen(50, 0, 0), &beside(3, seen(60, 1, 0))), told(13, 1));
        assert_eq!(news(&beside(500, seen(50, 0, 0)), &beside(503, seen(60, 1, 0))), told(13, 1));
    }
}
