//! The targets that are no longer in the table: those that are not empty yet, and, for a while, those that are.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::targets::Target;

/// How long a target is remembered after its last request if no drain of it is asked for.
const REMEMBERED: Duration = Duration::from_secs(600);

#[derive(Default)]
pub struct LeavingTargets(Mutex<Vec<Left>>);

struct Left {
    service: String,
    target: Arc<Target>,
    since: Instant,
}

impl LeavingTargets {
    /// Adds targets that the table has no more, each with the name of its service, and forgets those of long ago.
    pub fn remember(&self, missing: Vec<(String, Arc<Target>)>) {
        let since = Instant::now();
        let names: HashSet<(&str, SocketAddr)> =
            missing.iter().map(|(service, target)| (service.as_str(), target.address)).collect();
        let mut leaving = self.0.lock();
        leaving.retain(|old| {
            let is_over = old.target.is_cut() || old.target.in_flight() == 0;
            // What is over does not count in the next drain of a target with the same name.
            let comes_again = names.contains(&(old.service.as_str(), old.target.address));
            !is_over || (!comes_again && old.since.elapsed() < REMEMBERED)
        });
        leaving.extend(missing.into_iter().map(|(service, target)| Left { service, target, since }));
    }

    /// Those of one service and address. There is more than one if the address came back and left again.
    pub fn named(&self, service: &str, address: SocketAddr) -> Vec<Arc<Target>> {
        let leaving = self.0.lock();
        let meant = leaving.iter().filter(|one| one.service == service && one.target.address == address);
        meant.map(|one| one.target.clone()).collect()
    }

    pub fn has_service(&self, service: &str) -> bool {
        self.0.lock().iter().any(|one| one.service == service)
    }

    /// All of them, each with the name of its service.
    pub fn all(&self) -> Vec<(String, Arc<Target>)> {
        self.0.lock().iter().map(|one| (one.service.clone(), one.target.clone())).collect()
    }
}
