//! What all workers share: the table behind its one pointer, the targets that are leaving it, and whether the edge itself is.

use std::collections::HashSet;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use hyper::header::HeaderValue;
use serde::{Deserialize, Serialize};

use crate::files::{Cache, Files};
use crate::routes::{Notice, RouteSet};
use crate::service::{Service, Serving};
use crate::stats::{ServiceStats, Stats};
use crate::table::Table;
use crate::target::{Drained, Entry, Target};

/// How often a request looks again because all targets of its service were draining. Each time there is a newer table.
const LOOKS: usize = 100;
/// How long a target that nobody drains is remembered after its last request.
const REMEMBERED: Duration = Duration::from_secs(600);

/// How the edge treats its visitors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    pub threads: usize,
    /// Proxies in front, whose word about the visitor is taken.
    pub trusted_proxies: Vec<IpAddr>,
    pub max_connections: usize,
    /// Connections from one address; 0 for no limit.
    pub address_connections: usize,
    /// How long the head of a request may take.
    pub head_limit: Duration,
    /// How long a connection may be silent.
    pub idle_limit: Duration,
    pub head_bytes: usize,
    /// How long requests under way may go on when the edge is stopped.
    pub stop_limit: Duration,
    /// How long they may go on when another process has taken over.
    pub hand_over_limit: Duration,
}

pub struct Edge {
    pub settings: Settings,
    pub trusted_proxies: Arc<[IpAddr]>,
    table: ArcSwap<Table>,
    cache: Arc<Cache>,
    leaving: Mutex<Vec<Leaving>>,
    request_ids: RequestIds,
    /// Requests for hosts that have no route.
    pub unrouted: AtomicU64,
    /// Connections that were not served because their address has too many.
    pub refused: AtomicU64,
    /// Connections with a request under way, or an answer that is not handed to the system yet.
    pub busy: AtomicUsize,
    /// From now on every answer is the last of its connection.
    closing: AtomicBool,
    /// How often the table was changed, so that a server notices when another process has changed it.
    changes: AtomicU64,
    /// The route file could not be read, and no other routes were given since.
    damaged: AtomicBool,
}

/// A target that is no longer in the table, and is not empty yet or not asked for.
#[derive(Clone)]
struct Leaving {
    service: String,
    target: Arc<Target>,
    since: Instant,
}

/// Where a request goes.
pub enum Routed {
    Target(Arc<Service>, Entry),
    Files(Arc<Service>, Arc<Files>),
    Page(Arc<Service>, Notice),
    Nowhere,
}

/// How long the parts of a change of the table took.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Applied {
    pub routes: u64,
    pub build_us: u64,
    pub swap_us: u64,
    /// How often the table of this process has been changed, this time included.
    #[serde(default)]
    pub changes: u64,
}

#[derive(Debug, thiserror::Error)]
#[error("{address} still gets requests of service {service:?}: apply routes without it first")]
pub struct StillRouted {
    service: String,
    address: SocketAddr,
}

impl Edge {
    pub fn new(settings: Settings) -> Self {
        Self {
            trusted_proxies: settings.trusted_proxies.iter().map(IpAddr::to_canonical).collect(),
            settings,
            table: ArcSwap::default(),
            cache: Arc::new(Cache::new(Cache::DEFAULT_BYTES)),
            leaving: Mutex::default(),
            request_ids: RequestIds::new(),
            unrouted: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            busy: AtomicUsize::new(0),
            closing: AtomicBool::new(false),
            changes: AtomicU64::new(0),
            damaged: AtomicBool::new(false),
        }
    }

    pub fn table(&self) -> Arc<Table> {
        self.table.load_full()
    }

    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Makes a checked set of routes the table. Targets that are not in it any more get no new request from here on.
    pub fn apply(&self, routes: &Arc<RouteSet>) -> Applied {
        let started = Instant::now();
        let before = self.table.load_full();
        let next = Arc::new(Table::new(routes, &before, self.settings.threads, &self.cache));
        let built = Instant::now();
        // The order matters: whoever finds a target closed looks into the table again, and must find the new one.
        self.table.store(next.clone());
        let missing = before.targets_missing_in(&next);
        for (_, target) in &missing {
            target.close();
        }
        let swapped = built.elapsed();
        self.damaged.store(false, Ordering::Release);
        self.remember(missing);
        Applied {
            routes: routes.routes.len() as u64,
            build_us: micros(built - started),
            swap_us: micros(swapped),
            changes: self.changes.fetch_add(1, Ordering::AcqRel) + 1,
        }
    }

    fn remember(&self, missing: Vec<(String, Arc<Target>)>) {
        let since = Instant::now();
        let names: HashSet<(&str, SocketAddr)> =
            missing.iter().map(|(service, target)| (service.as_str(), target.address)).collect();
        let mut leaving = self.leaving();
        leaving.retain(|old| {
            let is_over = old.target.is_cut() || old.target.in_flight() == 0;
            // What is over is another story than what is drained next under the same name.
            let comes_again = names.contains(&(old.service.as_str(), old.target.address));
            !is_over || (!comes_again && old.since.elapsed() < REMEMBERED)
        });
        leaving.extend(missing.into_iter().map(|(service, target)| Leaving { service, target, since }));
    }

    fn leaving(&self) -> MutexGuard<'_, Vec<Leaving>> {
        self.leaving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the last request has left a target that is not routed to any more, and cuts what is left at the
    /// deadline. Whoever asks again hears the same, for a while: it may have been killed before it heard it. A target that
    /// nobody remembers has nothing in it.
    pub async fn drain(&self, service: &str, address: SocketAddr, limit: Duration) -> Result<Drained, StillRouted> {
        let table = self.table();
        let routed = table.services.get(service).map(|service| service.targets()).unwrap_or_default();
        if routed.iter().any(|target| target.address == address) {
            return Err(StillRouted { service: service.to_owned(), address });
        }
        let is_meant = |one: &Leaving| one.service == service && one.target.address == address;
        let meant: Vec<Leaving> = self.leaving().iter().filter(|one| is_meant(one)).cloned().collect();
        let deadline = Instant::now() + limit;
        let mut all = Drained::default();
        for one in &meant {
            all.add(one.target.drain(deadline).await);
        }
        Ok(all)
    }

    /// Whether a service is in the table, or has targets that are leaving it.
    pub fn knows(&self, service: &str) -> bool {
        self.table().services.contains_key(service) || self.leaving().iter().any(|one| one.service == service)
    }

    /// What a drain has come to so far.
    pub fn draining(&self, service: &str, address: SocketAddr) -> Drained {
        let mut all = Drained::default();
        for one in self.leaving().iter().filter(|one| one.service == service && one.target.address == address) {
            all.add(one.target.draining());
        }
        all
    }

    /// Ends whatever is still in targets that are not routed to any more.
    pub fn cut_leaving(&self) {
        self.leaving().iter().for_each(|one| one.target.cut());
    }

    /// Where a request for this host and path goes, into none of the tried targets if there is another.
    pub fn route(&self, host: &str, path: &str, tried: &[Arc<Target>]) -> Routed {
        for _ in 0..LOOKS {
            let table = self.table.load();
            let Some(service) = table.find(host, path) else {
                self.unrouted.fetch_add(1, Ordering::Relaxed);
                return Routed::Nowhere;
            };
            match &service.serving {
                Serving::Files(files) => return Routed::Files(service.clone(), files.clone()),
                Serving::Page(notice) => return Routed::Page(service.clone(), *notice),
                Serving::Targets(targets) => {
                    if let Some(entry) = targets.enter(tried) {
                        return Routed::Target(service.clone(), entry);
                    }
                }
            }
        }
        Routed::Nowhere
    }

    /// What was counted, service by service in the order of their names.
    pub fn stats(&self) -> Stats {
        let mut services: Vec<ServiceStats> = self.table().services.values().map(|service| service.stats()).collect();
        services.sort_by(|one, other| one.name.cmp(&other.name));
        for one in self.leaving().iter().filter(|one| one.target.in_flight() > 0) {
            if let Ok(index) = services.binary_search_by(|service| service.name.cmp(&one.service)) {
                services[index].add_target(one.target.stats());
            }
        }
        Stats {
            services,
            unrouted_requests: self.unrouted.load(Ordering::Relaxed),
            refused_connections: self.refused.load(Ordering::Relaxed),
            open_connections: 0,
        }
    }

    /// Every target that the edge knows of, those that are leaving included.
    pub fn all_targets(&self) -> Vec<Arc<Target>> {
        let table = self.table();
        let routed = table.services.values().flat_map(|service| service.targets().iter().cloned());
        routed.chain(self.leaving().iter().map(|one| one.target.clone())).collect()
    }

    pub fn next_request_id(&self) -> HeaderValue {
        self.request_ids.next()
    }

    pub fn close(&self) {
        self.closing.store(true, Ordering::Release);
    }

    pub fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    pub fn routes_are_damaged(&self) {
        self.damaged.store(true, Ordering::Release);
    }

    pub fn has_damaged_routes(&self) -> bool {
        self.damaged.load(Ordering::Acquire)
    }
}

fn micros(took: Duration) -> u64 {
    u64::try_from(took.as_micros()).unwrap_or(u64::MAX)
}

/// Ids that are unique in this process and, very likely, elsewhere. They are no secrets.
struct RequestIds {
    process: u64,
    next: AtomicU64,
}

impl RequestIds {
    fn new() -> Self {
        // The standard library's hasher is seeded from the system's randomness.
        Self { process: RandomState::new().build_hasher().finish(), next: AtomicU64::new(0) }
    }

    fn next(&self) -> HeaderValue {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let whole = (u128::from(self.process) << 64) | u128::from(number);
        let mut text = [0; 32];
        for (index, digit) in text.iter_mut().enumerate() {
            *digit = DIGITS[(whole >> (124 - 4 * index)) as usize & 15];
        }
        HeaderValue::from_bytes(&text).unwrap_or(HeaderValue::from_static("none"))
    }
}
