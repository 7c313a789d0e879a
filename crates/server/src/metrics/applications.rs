//! What applications use and visitors ask of them, since this server was started, in the format of Prometheus.

use std::fmt::Error;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use uuid::Uuid;

use crate::figures::{Total, Totals};

/// As they are in the moment of a scrape. There is a bound on how many they are.
#[derive(Debug)]
struct Applications {
    totals: Vec<(Application, Total)>,
    left_out: usize,
}

/// By its id, as services of the edge are: names change.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Application {
    application: String,
}

/// A registry for one scrape.
pub fn registry(totals: &Totals) -> Registry {
    let label = |id: Uuid| Application { application: id.to_string() };
    let all = totals.of_applications().map(|(id, total)| (label(id), *total)).collect();
    let mut registry = Registry::with_prefix("windlass_application");
    registry.register_collector(Box::new(Applications { totals: all, left_out: totals.left_out() }));
    registry
}

impl Collector for Applications {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), Error> {
        let left_out = i64::try_from(self.left_out).unwrap_or(i64::MAX);
        let help = "Applications beyond the most that are told of";
        encoder.encode_descriptor("left_out", help, None, MetricType::Gauge)?.encode_gauge(&left_out)?;
        let mut memory = encoder.encode_descriptor("memory_bytes", "Memory now", None, MetricType::Gauge)?;
        let known = self.totals.iter().filter_map(|(label, total)| Some((label, total.memory?)));
        for (label, bytes) in known {
            memory.encode_family(label)?.encode_gauge(&i64::try_from(bytes).unwrap_or(i64::MAX))?;
        }
        let mut cpu = encoder.encode_descriptor("cpu_seconds", "Time of processors", None, MetricType::Counter)?;
        for (label, total) in &self.totals {
            let seconds = total.cpu_us as f64 / 1e6;
            cpu.encode_family(label)?.encode_counter::<NoLabelSet, _, u64>(&seconds, None)?;
        }
        self.counter(&mut encoder, "network_received_bytes", "Bytes received", |total| total.network.inward)?;
        self.counter(&mut encoder, "network_sent_bytes", "Bytes sent", |total| total.network.outward)?;
        self.counter(&mut encoder, "disk_read_bytes", "Bytes read from disks", |total| total.disk.inward)?;
        self.counter(&mut encoder, "disk_written_bytes", "Bytes written to disks", |total| total.disk.outward)?;
        self.counter(&mut encoder, "restarts", "Containers that were started again", |total| total.restarts)?;
        self.counter(&mut encoder, "requests", "Requests of visitors", |total| total.requests)?;
        self.counter(&mut encoder, "errors", "Requests with errors", |total| total.errors)
    }
}

impl Applications {
    fn counter(
        &self,
        encoder: &mut DescriptorEncoder,
        name: &str,
        help: &str,
        value: impl Fn(&Total) -> u64,
    ) -> Result<(), Error> {
        let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        self.totals.iter().try_for_each(|(label, total)| {
            metric.encode_family(label)?.encode_counter::<NoLabelSet, _, u64>(&value(total), None)
        })
    }
}
