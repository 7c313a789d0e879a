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
