//! What an edge tells about what it has counted.

use std::collections::HashMap;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::counters::Figures;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Stats {
    pub services: Vec<ServiceStats>,
    pub unrouted_requests: u64,
    pub refused_connections: u64,
    pub open_connections: u64,
}

impl Stats {
    /// Adds what another process has counted for the services and targets that are here.
    pub fn add(&mut self, other: &Self) {
        self.unrouted_requests += other.unrouted_requests;
        self.refused_connections += other.refused_connections;
        self.open_connections += other.open_connections;
        let others: HashMap<&str, &ServiceStats> =
            other.services.iter().map(|service| (service.name.as_str(), service)).collect();
        for service in &mut self.services {
            let Some(other) = others.get(service.name.as_str()) else { continue };
            service.figures.add(&other.figures);
            for target in &mut service.targets {
                let same = other.targets.iter().find(|other| other.address == target.address);
                same.iter().for_each(|same| target.figures.add(&same.figures));
            }
        }
    }

    /// The process that counted them has ended.
    pub fn end(&mut self) {
        self.open_connections = 0;
        for service in &mut self.services {
            service.figures.end();
            service.targets.iter_mut().for_each(|target| target.figures.end());
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ServiceStats {
    pub name: String,
    #[serde(flatten)]
    pub figures: Figures,
    pub targets: Vec<TargetStats>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TargetStats {
    pub address: SocketAddr,
    pub is_well: bool,
    pub is_draining: bool,
    #[serde(flatten)]
    pub figures: Figures,
}

impl ServiceStats {
    /// Adds a target that is leaving. The same address may have come back meanwhile: then they are one.
    pub fn add_target(&mut self, target: TargetStats) {
        match self.targets.iter_mut().find(|same| same.address == target.address) {
            Some(same) => same.figures.add(&target.figures),
            None => self.targets.push(target),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(port: u16, requests: u64) -> TargetStats {
        let figures = Figures { requests, in_flight: 1, ..Figures::default() };
        TargetStats { address: ([127, 0, 0, 1], port).into(), is_well: true, is_draining: false, figures }
    }

    fn stats(requests: u64, targets: Vec<TargetStats>) -> Stats {
        let figures = Figures { requests, in_flight: 1, ..Figures::default() };
        let services = vec![ServiceStats { name: "shop".into(), figures, targets }];
        Stats {
            services,
            unrouted_requests: requests,
            refused_connections: 2 * requests,
            open_connections: 3 * requests,
        }
    }

    fn requests(stats: &Stats) -> Vec<u64> {
        stats.services[0].targets.iter().map(|target| target.figures.requests).collect()
    }

    #[test]
    fn services_and_targets_of_two_processes_are_added() {
        let mut sum = stats(1, vec![target(1, 10), target(2, 20)]);
        sum.add(&stats(100, vec![target(2, 1_000), target(3, 5_000)]));
        assert_eq!((sum.unrouted_requests, sum.refused_connections, sum.open_connections), (101, 202, 303));
        assert_eq!((sum.services[0].figures.requests, requests(&sum)), (101, vec![10, 1_020]));
        sum.services[0].add_target(target(2, 7));
        sum.services[0].add_target(target(4, 8));
        assert_eq!(requests(&sum), [10, 1_027, 8]);
        sum.end();
        let under_way = |figures: &Figures| figures.in_flight;
        assert_eq!((sum.open_connections, under_way(&sum.services[0].figures)), (0, 0));
        assert!(sum.services[0].targets.iter().all(|target| under_way(&target.figures) == 0));
    }
}
