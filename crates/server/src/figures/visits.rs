//! What visitors asked for, as this server's edge has counted it.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use uuid::Uuid;
use windlass_edge::counters::Figures;
use windlass_edge::stats::Stats;
use windlass_figures::{BUCKETS, Visits};

use crate::app::App;
use crate::{edge, route_publisher, traffic};

/// Remembers what the edge said, to know what is new.
#[derive(Default)]
pub struct Watch {
    before: Option<(Instant, Counters)>,
}

/// What is new since the edge was asked before.
pub struct Seen {
    watched_ms: u64,
    pub applications: HashMap<Uuid, Visits>,
    targets: HashMap<(Uuid, IpAddr), Visits>,
}

impl Seen {
    /// Requests of applications, and of their targets.
    #[cfg(test)]
    pub fn new(watched_ms: u64, applications: &[(u128, i64)], targets: &[(u128, &str, i64)]) -> Self {
        let visits = |requests| Visits { watched_ms, requests, ..Visits::default() };
        let of_application = |(id, requests): &(u128, i64)| (Uuid::from_u128(*id), visits(*requests));
        let of_target = |(id, address, requests): &(u128, &str, i64)| {
            ((Uuid::from_u128(*id), address.parse().unwrap()), visits(*requests))
        };
        let targets = targets.iter().map(of_target).collect();
        Self { watched_ms, applications: applications.iter().map(of_application).collect(), targets }
    }

    /// Of one instance. None where it is no target of the edge.
    pub fn of_target(&self, application_id: Uuid, address: &str) -> Option<&Visits> {
        self.targets.get(&(application_id, address.parse().ok()?))
    }

    /// No visitor asked for anything in this time.
    pub fn nothing(&self) -> Visits {
        Visits { watched_ms: self.watched_ms, ..Visits::default() }
    }
}

impl Watch {
    /// None when the edge does not answer, and the first time: what was asked for while no server watched is counted for no time.
    pub async fn ask(&mut self, app: &App) -> Option<Seen> {
        let stats = edge::stats(&app.config.data_dir).await.ok()?;
        let (now, counters) = (Instant::now(), Counters::new(&stats));
        let before = self.before.replace((now, counters.clone()));
        before.map(|(then, before)| {
            let watched_ms = u64::try_from(now.duration_since(then).as_millis()).unwrap_or(u64::MAX);
            counters.since(&before, watched_ms)
        })
    }
}

/// What an edge has counted since it was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counted {
    requests: u64,
    refused: u64,
    failed: u64,
    latency: [u64; BUCKETS],
}

impl Counted {
    fn new(figures: &Figures) -> Self {
        let (refused, failed) = traffic::refused_and_failed(figures);
        let mut latency = [0; BUCKETS];
        for (count, answers) in latency.iter_mut().zip(&figures.latency) {
            *count = *answers;
        }
        Self { requests: figures.requests, refused, failed, latency }
    }

    /// Less than before means that it was started anew: then all of it is new.
    fn since(&self, before: Option<&Self>, watched_ms: u64) -> Visits {
        let nothing = Self::default();
        let before = before.filter(|before| before.requests <= self.requests).unwrap_or(&nothing);
        let new = |now: u64, before: u64| i64::try_from(now.saturating_sub(before)).unwrap_or(i64::MAX);
        let mut latency = [0; BUCKETS];
        for (count, (now, before)) in latency.iter_mut().zip(self.latency.iter().zip(&before.latency)) {
            *count = new(*now, *before);
        }
        Visits {
            watched_ms,
            requests: new(self.requests, before.requests),
            errors: new(self.refused, before.refused).max(new(self.failed, before.failed)),
            latency,
        }
    }
}

#[derive(Clone, Default)]
struct Counters {
    services: HashMap<String, Counted>,
    targets: HashMap<(String, SocketAddr), Counted>,
}

impl Counters {
    /// Of applications alone.
    fn new(stats: &Stats) -> Self {
        let mut counters = Self::default();
        for service in &stats.services {
            if route_publisher::application_of(&service.name).is_none() {
                continue;
            }
            counters.services.insert(service.name.clone(), Counted::new(&service.figures));
            for target in &service.targets {
                counters.targets.insert((service.name.clone(), target.address), Counted::new(&target.figures));
            }
        }
        counters
    }

    fn since(&self, before: &Self, watched_ms: u64) -> Seen {
        let nothing = Visits { watched_ms, ..Visits::default() };
        let mut seen = Seen { watched_ms, applications: HashMap::new(), targets: HashMap::new() };
        for (name, now) in &self.services {
            let Some(id) = route_publisher::application_of(name) else { continue };
            let sum = seen.applications.entry(id).or_insert_with(|| nothing.clone());
            *sum = sum.with(&now.since(before.services.get(name), watched_ms));
        }
        for (key, now) in &self.targets {
            let Some(id) = route_publisher::application_of(&key.0) else { continue };
            let sum = seen.targets.entry((id, key.1.ip())).or_insert_with(|| nothing.clone());
            *sum = sum.with(&now.since(before.targets.get(key), watched_ms));
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use windlass_edge::counters::BOUNDS;
    use windlass_edge::stats::{ServiceStats, TargetStats};

    use super::*;

    const SHOP: Uuid = Uuid::from_u128(1);

    fn figures(requests: u64, refused: u64) -> Figures {
        let mut latency = vec![0; BOUNDS.len() + 1];
        latency[3] = requests;
        Figures { requests, statuses: [("5xx".to_owned(), refused)].into(), latency, ..Figures::default() }
    }

    fn service(name: &str, requests: u64, refused: u64, targets: &[(u8, u64)]) -> ServiceStats {
        let target = |(last, requests): &(u8, u64)| TargetStats {
            address: ([10, 0, 0, *last], 80).into(),
            is_well: true,
            is_draining: false,
            figures: figures(*requests, 0),
        };
        ServiceStats {
            name: name.into(),
            figures: figures(requests, refused),
            targets: targets.iter().map(target).collect(),
        }
    }

    fn counters(services: Vec<ServiceStats>) -> Counters {
        Counters::new(&Stats { services, ..Stats::default() })
    }

    fn seen(before: Vec<ServiceStats>, now: Vec<ServiceStats>) -> Seen {
        counters(now).since(&counters(before), 10_000)
    }

    /// Requests and errors of the application, and the requests of its targets.
    fn told(seen: &Seen) -> ((i64, i64), Vec<i64>) {
        let all = &seen.applications[&SHOP];
        let targets = (1..=3).filter_map(|last| seen.of_target(SHOP, &format!("10.0.0.{last}")));
        ((all.requests, all.errors), targets.map(|visits| visits.requests).collect())
    }

    #[test]
    fn there_are_as_many_numbers_of_answers_as_the_edge_counts() {
        assert_eq!(BUCKETS, BOUNDS.len() + 1);
    }

    #[test]
    fn only_what_came_since_is_new() {
        let name = SHOP.to_string();
        let now = vec![service(&name, 15, 3, &[(1, 9), (2, 4)])];
        let since = seen(vec![service(&name, 10, 2, &[(1, 8)])], now.clone());
        assert_eq!(told(&since), ((5, 1), vec![1, 4]));
        assert_eq!((since.applications[&SHOP].latency[3], since.applications[&SHOP].watched_ms), (5, 10_000));
        assert_eq!(told(&seen(now.clone(), now)), ((0, 0), vec![0, 0]));
    }

    #[test]
    fn an_edge_that_was_started_anew_counts_from_nothing() {
        let name = SHOP.to_string();
        let since = seen(vec![service(&name, 100, 5, &[(1, 80)])], vec![service(&name, 3, 1, &[(1, 2)])]);
        assert_eq!(told(&since), ((3, 1), vec![2]));
    }

    #[test]
    fn services_of_an_application_are_added_and_others_are_left_out() {
        let other = route_publisher::edge_service_name(SHOP, "api", "web");
        let now = vec![
            service(&SHOP.to_string(), 5, 0, &[(1, 5)]),
            service(&other, 7, 1, &[(2, 7)]),
            service("x", 9, 0, &[]),
        ];
        let since = seen(Vec::new(), now);
        assert_eq!(told(&since), ((12, 1), vec![5, 7]));
        assert_eq!(since.applications.len(), 1);
    }
}
