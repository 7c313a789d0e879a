//! What is counted, in a registry of the server's own.

mod applications;
mod edge;

use std::time::Duration;

use axum::http::Method;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::encoding::{EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use windlass_edge::stats::Stats;
use windlass_store::Db;

use crate::figures::Totals;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    method: &'static str,
    route: String,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Route {
    route: String,
}

pub struct Metrics {
    registry: Registry,
    requests: Family<Answered, Counter>,
    durations: Family<Route, Histogram>,
    pub log_followers: Gauge,
    pub event_followers: Gauge,
    pub build_cache_bytes: Gauge,
}

impl Metrics {
    pub fn new(db: Db) -> Self {
        let requests = Family::<Answered, Counter>::default();
        let durations = Family::<Route, Histogram>::new_with_constructor(|| {
            Histogram::new([0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0])
        });
        let mut registry = Registry::with_prefix("windlass");
        registry.register("http_requests", "Answered requests", requests.clone());
        registry.register("http_request_duration_seconds", "Time to an answer", durations.clone());
        registry.register("database_queries", "Queries sent to the database", Queries(db));
        let log_followers = Gauge::default();
        registry.register("log_followers", "Clients that follow or download logs at present", log_followers.clone());
        let event_followers = Gauge::default();
        registry.register("event_followers", "Clients that follow events at present", event_followers.clone());
        let build_cache_bytes = Gauge::default();
        registry.register("build_cache_bytes", "What the engine keeps of builds", build_cache_bytes.clone());
        Self { registry, requests, durations, log_followers, event_followers, build_cache_bytes }
    }

    /// All figures in the text format of Prometheus, with those of applications and of the edge.
    pub fn render(&self, applications: &Totals, edge: Option<Stats>) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode_registry(&mut text, &self.registry)?;
        encode_registry(&mut text, &applications::registry(applications))?;
        encode_registry(&mut text, &edge::registry(edge))?;
        encode_eof(&mut text)?;
        Ok(text)
    }

    pub fn request(&self, method: &Method, route: &str, status: u16, took: Duration) {
        let method = match *method {
            Method::GET => "GET",
            Method::POST => "POST",
            Method::PUT => "PUT",
            Method::PATCH => "PATCH",
            Method::DELETE => "DELETE",
            // Whatever else a client makes up must not become a label of its own.
            _ => "other",
        };
        self.durations.get_or_create(&Route { route: route.to_owned() }).observe(took.as_secs_f64());
        self.requests.get_or_create(&Answered { method, route: route.to_owned(), status }).inc();
    }
}

/// The store counts its queries itself.
struct Queries(Db);

impl std::fmt::Debug for Queries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Queries")
    }
}

impl EncodeMetric for Queries {
    fn encode(&self, encoder: prometheus_client::encoding::MetricEncoder<'_>) -> Result<(), std::fmt::Error> {
        ConstCounter::new(self.0.queries()).encode(encoder)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Counter
    }
}
