//! What the edge has counted, in the format of Prometheus.

use std::fmt::Error;
use std::net::SocketAddr;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use windlass_edge::counters::{BOUNDS, CLASSES, Cause, Figures};
use windlass_edge::stats::Stats;

/// What one edge said when it was asked; none when it did not answer.
#[derive(Debug)]
struct Edge(Option<Stats>);

/// A registry for one scrape.
pub fn registry(stats: Option<Stats>) -> Registry {
    let mut registry = Registry::with_prefix("windlass_edge");
    registry.register_collector(Box::new(Edge(stats)));
    registry
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Service {
    service: String,
    /// Empty for the service as a whole.
    target: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Part {
    service: String,
    target: String,
    part: &'static str,
}

type Row<'a> = (Service, &'a Figures);

impl Collector for Edge {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), Error> {
        let up = i64::from(self.0.is_some());
        encoder.encode_descriptor("up", "Whether the edge answers", None, MetricType::Gauge)?.encode_gauge(&up)?;
        let Some(stats) = &self.0 else { return Ok(()) };
        let total = |encoder: &mut DescriptorEncoder, name, help, value: u64| {
            let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            metric.encode_counter::<NoLabelSet, _, u64>(&value, None)
        };
        total(&mut encoder, "unrouted_requests", "Requests for hosts without a route", stats.unrouted_requests)?;
        total(
            &mut encoder,
            "refused_connections",
            "Connections beyond their address's limit",
            stats.refused_connections,
        )?;
        let open = i64::try_from(stats.open_connections).unwrap_or(i64::MAX);
        encoder.encode_descriptor("connections", "Open connections", None, MetricType::Gauge)?.encode_gauge(&open)?;
        let rows = rows(stats);
        answers(&mut encoder, &rows)?;
        failures(&mut encoder, &rows)?;
        counter(&mut encoder, &rows, "requests_begun", "Requests", |figures| figures.requests)?;
        counter(&mut encoder, &rows, "retries", "Requests sent again", |figures| figures.retries)?;
        counter(&mut encoder, &rows, "held_requests", "Requests that waited for the next containers", |figures| {
            figures.held
        })?;
        counter(&mut encoder, &rows, "received_bytes", "Bytes of bodies from visitors", |figures| {
            figures.received_bytes
        })?;
        counter(&mut encoder, &rows, "sent_bytes", "Bytes of bodies to visitors", |figures| figures.sent_bytes)?;
        gauge(&mut encoder, &rows, "in_flight", "Requests under way", |figures| figures.in_flight)?;
        gauge(&mut encoder, &rows, "upgrades", "Open upgraded connections", |figures| figures.upgrades)?;
        latencies(&mut encoder, &rows)
    }
}

/// Each service as a whole, then each of its targets.
fn rows(stats: &Stats) -> Vec<Row<'_>> {
    let label = |service: &str, target: Option<SocketAddr>| Service {
        service: service.to_owned(),
        target: target.map(|address| address.to_string()).unwrap_or_default(),
    };
    let mut rows = Vec::new();
    for service in &stats.services {
        rows.push((label(&service.name, None), &service.figures));
        rows.extend(service.targets.iter().map(|one| (label(&service.name, Some(one.address)), &one.figures)));
    }
    rows
}

fn counter(
    encoder: &mut DescriptorEncoder,
    rows: &[Row<'_>],
    name: &str,
    help: &str,
    value: impl Fn(&Figures) -> u64,
) -> Result<(), Error> {
    let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    rows.iter().try_for_each(|(label, figures)| {
        metric.encode_family(label)?.encode_counter::<NoLabelSet, _, u64>(&value(figures), None)
    })
}

fn gauge(
    encoder: &mut DescriptorEncoder,
    rows: &[Row<'_>],
    name: &str,
    help: &str,
    value: impl Fn(&Figures) -> u64,
) -> Result<(), Error> {
    let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    rows.iter().try_for_each(|(label, figures)| {
        let value = i64::try_from(value(figures)).unwrap_or(i64::MAX);
        metric.encode_family(label)?.encode_gauge(&value)
    })
}

fn parts(
    encoder: &mut DescriptorEncoder,
    rows: &[Row<'_>],
    (name, help): (&str, &str),
    values: impl Fn(&Figures) -> Vec<(&'static str, u64)>,
) -> Result<(), Error> {
    let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    for (label, figures) in rows {
        for (part, value) in values(figures) {
            let label = Part { service: label.service.clone(), target: label.target.clone(), part };
            metric.encode_family(&label)?.encode_counter::<NoLabelSet, _, u64>(&value, None)?;
        }
    }
    Ok(())
}

fn answers(encoder: &mut DescriptorEncoder, rows: &[Row<'_>]) -> Result<(), Error> {
    let by_class = |figures: &Figures| {
        CLASSES.map(|class| (class, figures.statuses.get(class).copied().unwrap_or_default())).into()
    };
    parts(encoder, rows, ("answers", "Answers by the class of their status"), by_class)
}

fn failures(encoder: &mut DescriptorEncoder, rows: &[Row<'_>]) -> Result<(), Error> {
    let by_cause = |figures: &Figures| Cause::ALL.map(|cause| (cause.name(), figures.failed(cause))).into();
    parts(encoder, rows, ("failures", "Requests without a whole answer, by cause"), by_cause)
}

fn latencies(encoder: &mut DescriptorEncoder, rows: &[Row<'_>]) -> Result<(), Error> {
    let (name, help) = ("answer_seconds", "Time from a request's head to its answer's");
    let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
    for (label, figures) in rows {
        let bounds = BOUNDS.iter().map(|micros| *micros as f64 / 1e6).chain([f64::MAX]);
        let buckets: Vec<(f64, u64)> = bounds.zip(figures.latency.iter().copied()).collect();
        let count = figures.latency.iter().sum();
        let sum = figures.latency_us as f64 / 1e6;
        metric.encode_family(label)?.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)?;
    }
    Ok(())
}
