//! What the engine says that a container uses.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use super::{Reading, Transfer};
use crate::call::encoded;
use crate::containers::none_if_absent;
use crate::{Docker, Result};

/// An older engine takes two looks, a second apart, whatever it is asked for.
const LIMIT: Duration = Duration::from_secs(5);
const NANOSECONDS: u64 = 1_000;

impl Docker {
    /// None when there is no such container, or it does not run.
    pub async fn usage(&self, name: &str) -> Result<Option<Reading>> {
        let call = self
            .get("tell what a container uses", format!("/containers/{}/stats", encoded(name)))
            .query("stream", "false")
            .query("one-shot", "true")
            .limit(LIMIT);
        let answer: Option<StatsAnswer> = none_if_absent(call.read().await)?;
        Ok(answer.and_then(reading))
    }
}

#[derive(Deserialize)]
struct StatsAnswer {
    cpu_stats: CpuAnswer,
    memory_stats: MemoryAnswer,
    #[serde(default)]
    networks: Option<BTreeMap<String, NetworkAnswer>>,
    #[serde(default)]
    blkio_stats: DiskAnswer,
}

#[derive(Deserialize)]
struct CpuAnswer {
    cpu_usage: CpuUsage,
}

#[derive(Deserialize)]
struct CpuUsage {
    total_usage: u64,
}

#[derive(Deserialize)]
struct MemoryAnswer {
    /// Not there when nothing runs.
    usage: Option<u64>,
    stats: Option<BTreeMap<String, u64>>,
}

#[derive(Deserialize)]
struct NetworkAnswer {
    rx_bytes: u64,
    tx_bytes: u64,
}

#[derive(Default, Deserialize)]
struct DiskAnswer {
    io_service_bytes_recursive: Option<Vec<DiskEntry>>,
}

#[derive(Deserialize)]
struct DiskEntry {
    op: String,
    value: u64,
}

fn reading(answer: StatsAnswer) -> Option<Reading> {
    let memory = answer.memory_stats.usage.filter(|usage| *usage > 0)?;
    let stats = answer.memory_stats.stats.unwrap_or_default();
    // The first name is that of control groups of version 1, which have the second one too, of the group alone.
    let unused = ["total_inactive_file", "inactive_file"].iter().find_map(|name| stats.get(*name)).copied();
    Some(Reading {
        cpu_us: answer.cpu_stats.cpu_usage.total_usage / NANOSECONDS,
        memory_bytes: memory - unused.filter(|unused| *unused < memory).unwrap_or_default(),
        network: answer.networks.map(|all| network(&all)),
        disk: answer.blkio_stats.io_service_bytes_recursive.map(|entries| disk(&entries)),
    })
}

fn network(all: &BTreeMap<String, NetworkAnswer>) -> Transfer {
    let sum = |side: fn(&NetworkAnswer) -> u64| all.values().map(side).fold(0, u64::saturating_add);
    Transfer { inward: sum(|one| one.rx_bytes), outward: sum(|one| one.tx_bytes) }
}

fn disk(entries: &[DiskEntry]) -> Transfer {
    let sum = |op: &str| {
        let those = entries.iter().filter(|entry| entry.op.eq_ignore_ascii_case(op));
        those.map(|entry| entry.value).fold(0, u64::saturating_add)
    };
    Transfer { inward: sum("read"), outward: sum("write") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Reading> {
        reading(serde_json::from_str(text).unwrap())
    }

    #[test]
    fn what_engines_say() {
        let second = r#"{ "cpu_stats": { "cpu_usage": { "total_usage": 5000000 } },
            "memory_stats": { "usage": 1000, "stats": { "inactive_file": 300, "anon": 5 } },
            "networks": { "eth0": { "rx_bytes": 1, "tx_bytes": 2 }, "eth1": { "rx_bytes": 10, "tx_bytes": 20 } },
            "blkio_stats": { "io_service_bytes_recursive": [
                { "major": 8, "minor": 0, "op": "read", "value": 4 }, { "major": 8, "minor": 0, "op": "write", "value": 5 },
                { "major": 9, "minor": 0, "op": "Read", "value": 40 }, { "major": 8, "minor": 0, "op": "Total", "value": 9 } ] } }"#;
        let transfer = |inward, outward| Some(Transfer { inward, outward });
        assert_eq!(
            read(second),
            Some(Reading { cpu_us: 5_000, memory_bytes: 700, network: transfer(11, 22), disk: transfer(44, 5) })
        );
        let first = r#"{ "cpu_stats": { "cpu_usage": { "total_usage": 1000 } },
            "memory_stats": { "usage": 1000, "stats": { "inactive_file": 1, "total_inactive_file": 2000 } },
            "blkio_stats": { "io_service_bytes_recursive": null } }"#;
        assert_eq!(read(first), Some(Reading { cpu_us: 1, memory_bytes: 1_000, network: None, disk: None }));
        let ended = r#"{ "cpu_stats": { "cpu_usage": { "total_usage": 0 } }, "memory_stats": {}, "blkio_stats": {} }"#;
        assert_eq!(read(ended), None);
    }
}
