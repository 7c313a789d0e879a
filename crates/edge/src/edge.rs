//! What all workers share: the table behind its one pointer, the targets that are leaving it, and whether the edge is
//! ending.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use hyper::header::HeaderValue;
use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, watch};

use crate::access::PasswordChecks;
use crate::files::{FileCache, Files};
use crate::leaving::LeavingTargets;
use crate::request_ids::RequestIds;
use crate::routes::{Notice, RedirectSpec, RouteSet};
use crate::settings::Settings;
use crate::table::Table;
use crate::targets::hold::Hold;
use crate::targets::service::{Service, Serving};
use crate::targets::stats::{ServiceStats, Stats};
use crate::targets::{Drained, Target, TargetEntry};
use crate::tls::handshake::Handshakes;
use crate::tls::tickets::{TicketKeys, TicketSecrets};

/// How often a request looks again because all targets of its service were draining. Each time there is a newer table.
const LOOKS: usize = 100;
/// Each takes up to a megabyte for as long as the answer takes. Others are sent as they are.
const MOST_COMPRESSIONS: usize = 256;

pub struct Edge {
    pub settings: Settings,
    pub trusted_proxies: Arc<[IpAddr]>,
    table: ArcSwap<Table>,
    pub handshakes: Handshakes,
    pub password_checks: PasswordChecks,
    /// Answers that may be compressed at once.
    pub compressions: Arc<Semaphore>,
    /// At which port visitors come encrypted, once it is known; 0 for nowhere.
    https_port: AtomicU16,
    /// Tells requests that wait that there is a newer table, or that the edge is ending.
    news: watch::Sender<()>,
    cache: Arc<FileCache>,
    leaving: LeavingTargets,
    request_ids: RequestIds,
    /// Requests for hosts that have no route.
    pub unrouted: AtomicU64,
    /// Connections that were not served because their address has too many.
    pub refused: AtomicU64,
    /// Connections with a request under way, or an answer that is not handed to the system yet.
    pub busy: AtomicUsize,
    /// From now on every answer is the last of its connection.
    closing: AtomicBool,
    /// No request waits any more because its service is held.
    holds_ended: AtomicBool,
    /// How often the table was changed, so that a server notices when another process has changed it.
    changes: AtomicU64,
    /// The route file could not be read, and no other routes were given since.
    damaged: AtomicBool,
}

/// Where a request goes.
pub enum Destination {
    Target(Arc<Service>, TargetEntry),
    Files(Arc<Service>, Arc<Files>),
    Page(Arc<Service>, Notice),
    /// The request waits for the next table.
    Held(Arc<Service>, Arc<Hold>),
    Redirect(Arc<Service>, RedirectSpec),
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
    /// With the keys of the session tickets of the process before, if there is one.
    pub fn new(settings: Settings, tickets: Option<TicketSecrets>) -> io::Result<Self> {
        let tickets = TicketKeys::new(tickets).map_err(|_| io::Error::other("the system has no random numbers"))?;
        let handshakes = Handshakes::new(tickets, &settings).map_err(io::Error::other)?;
        Ok(Self {
            trusted_proxies: settings.trusted_proxies.iter().map(IpAddr::to_canonical).collect(),
            settings,
            table: ArcSwap::default(),
            handshakes,
            password_checks: PasswordChecks::new()?,
            compressions: Arc::new(Semaphore::new(MOST_COMPRESSIONS)),
            https_port: AtomicU16::new(0),
            news: watch::Sender::new(()),
            cache: Arc::new(FileCache::new(FileCache::DEFAULT_BYTES)),
            leaving: LeavingTargets::default(),
            request_ids: RequestIds::new(),
            unrouted: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            busy: AtomicUsize::new(0),
            closing: AtomicBool::new(false),
            holds_ended: AtomicBool::new(false),
            changes: AtomicU64::new(0),
            damaged: AtomicBool::new(false),
        })
    }

    pub fn table(&self) -> Arc<Table> {
        self.table.load_full()
    }

    /// The same, for a moment that no other task waits in.
    pub fn table_now(&self) -> arc_swap::Guard<Arc<Table>> {
        self.table.load()
    }

    /// What a request that waits listens to.
    pub fn news(&self) -> watch::Receiver<()> {
        self.news.subscribe()
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
        // Before the routes: a visitor who is sent to https finds the certificate there.
        self.handshakes.certificates.apply(routes);
        // The order matters: a request that finds a target closed looks into the table again, and must find the new
        // one.
        self.table.store(next.clone());
        self.news.send_replace(());
        let missing = before.targets_missing_in(&next);
        for (_, target) in &missing {
            target.close();
        }
        let swapped = built.elapsed();
        self.damaged.store(false, Ordering::Release);
        self.leaving.remember(missing);
        Applied {
            routes: routes.routes.len() as u64,
            build_us: micros(built - started),
            swap_us: micros(swapped),
            changes: self.changes.fetch_add(1, Ordering::AcqRel) + 1,
        }
    }

    /// Waits until the last request has left a target that is not routed to any more, and cuts what is left at the
    /// deadline. A caller that asks again is told the same, for a while: it may have been killed before it heard it. A
    /// target that is not remembered has nothing in it.
    pub async fn drain(&self, service: &str, address: SocketAddr, limit: Duration) -> Result<Drained, StillRouted> {
        let table = self.table();
        let routed = table.services.get(service).map(|service| service.targets()).unwrap_or_default();
        if routed.iter().any(|target| target.address == address) {
            return Err(StillRouted { service: service.to_owned(), address });
        }
        let deadline = Instant::now() + limit;
        let mut all = Drained::default();
        for target in self.leaving.named(service, address) {
            all.add(target.drain(deadline).await);
        }
        Ok(all)
    }

    /// Whether a service is in the table, or has targets that are leaving it.
    pub fn knows(&self, service: &str) -> bool {
        self.table().services.contains_key(service) || self.leaving.has_service(service)
    }

    /// What a drain has come to so far.
    pub fn draining(&self, service: &str, address: SocketAddr) -> Drained {
        let mut all = Drained::default();
        for target in self.leaving.named(service, address) {
            all.add(target.draining());
        }
        all
    }

    /// Ends what is still in targets that are not routed to any more.
    pub fn cut_leaving(&self) {
        self.leaving.all().iter().for_each(|(_, target)| target.cut());
    }

    /// Where a request for this host and path goes, into none of the tried targets if there is another.
    pub fn route(&self, host: &str, path: &str, tried: &[Arc<Target>]) -> Destination {
        for _ in 0..LOOKS {
            let table = self.table.load();
            let Some(service) = table.find(host, path) else {
                self.unrouted.fetch_add(1, Ordering::Relaxed);
                return Destination::Nowhere;
            };
            match &service.serving {
                Serving::Files(files) => return Destination::Files(service.clone(), files.clone()),
                Serving::Page(notice) => return Destination::Page(service.clone(), *notice),
                Serving::Held(hold) => return Destination::Held(service.clone(), hold.clone()),
                Serving::Redirect(redirect) => return Destination::Redirect(service.clone(), redirect.clone()),
                Serving::Targets(targets) => {
                    if let Some(entry) = targets.enter(tried) {
                        return Destination::Target(service.clone(), entry);
                    }
                }
            }
        }
        Destination::Nowhere
    }

    pub fn set_https_port(&self, port: u16) {
        self.https_port.store(port, Ordering::Relaxed);
    }

    /// At which port visitors can come encrypted.
    pub fn https_port(&self) -> Option<u16> {
        Some(self.https_port.load(Ordering::Relaxed)).filter(|port| *port > 0)
    }

    /// What was counted, service by service in the order of their names.
    pub fn stats(&self) -> Stats {
        let mut services: Vec<ServiceStats> = self.table().services.values().map(|service| service.stats()).collect();
        services.sort_by(|one, other| one.name.cmp(&other.name));
        for (name, target) in self.leaving.all().iter().filter(|(_, target)| target.in_flight() > 0) {
            if let Ok(index) = services.binary_search_by(|service| service.name.cmp(name)) {
                services[index].add_target(target.stats());
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
        routed.chain(self.leaving.all().into_iter().map(|(_, target)| target)).collect()
    }

    pub fn next_request_id(&self) -> HeaderValue {
        self.request_ids.next()
    }

    /// Requests that wait are told to come again: this process ends.
    pub fn end_holds(&self) {
        self.holds_ended.store(true, Ordering::Release);
        self.news.send_replace(());
    }

    pub fn has_ended_holds(&self) -> bool {
        self.holds_ended.load(Ordering::Acquire)
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
