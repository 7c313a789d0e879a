//! One service: what it serves, and which of its targets gets the next request.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hyper::HeaderMap;

use super::counters::Counters;
use super::hold::Hold;
use super::stats::ServiceStats;
use super::{Target, TargetEntry};
use crate::access::{Access, SignIn};
use crate::files::{FileCache, Files};
use crate::routes::{Limits, Notice, RedirectSpec, Serves, ServiceSpec};

pub struct Service {
    pub spec: ServiceSpec,
    pub serving: Serving,
    pub counters: Arc<Counters>,
    /// What stands between it and visitors.
    pub access: Option<Access>,
}

pub enum Serving {
    Targets(Targets),
    Files(Arc<Files>),
    Page(Notice),
    Held(Arc<Hold>),
    Redirect(RedirectSpec),
}

pub struct Targets {
    pub all: Vec<Arc<Target>>,
    pub times: TimeLimits,
    /// Where the search for the least busy one begins, so that equally busy ones take turns.
    turn: AtomicUsize,
}

/// The limits of a service, as they are used.
#[derive(Clone, Copy)]
pub struct TimeLimits {
    pub connect: Duration,
    pub answer: Duration,
    pub idle: Duration,
    pub upgrade_idle: Duration,
    pub total: Duration,
    pub body_bytes: u64,
}

impl From<Limits> for TimeLimits {
    fn from(limits: Limits) -> Self {
        Self {
            connect: Duration::from_millis(limits.connect_ms),
            answer: Duration::from_millis(limits.answer_ms),
            idle: Duration::from_millis(limits.idle_ms),
            upgrade_idle: Duration::from_millis(limits.upgrade_idle_ms),
            total: Duration::from_millis(limits.total_ms),
            body_bytes: limits.body_bytes,
        }
    }
}

impl Service {
    /// The service that `spec` describes. What was there before under this name is kept where it is the same: its
    /// counters, and its targets with all that is in them.
    pub fn new(spec: &ServiceSpec, before: Option<&Arc<Self>>, workers: usize, cache: &Arc<FileCache>) -> Arc<Self> {
        if let Some(before) = before.filter(|before| before.spec == *spec && !before.is_draining()) {
            return before.clone();
        }
        let serving = match &spec.serves {
            Serves::Targets(targets) => {
                let known: HashMap<SocketAddr, &Arc<Target>> = before
                    .into_iter()
                    .flat_map(|before| before.targets())
                    .map(|target| (target.address, target))
                    .collect();
                let has_own_targets = spec.access.as_ref().is_some_and(|access| access.own_targets);
                let target = |address: &SocketAddr| match known.get(address) {
                    Some(target) if !target.is_draining() => {
                        if targets.health.is_none() {
                            // The checks have ended: no later one would take back what the last one said.
                            target.health.check_says(true);
                        }
                        (*target).clone()
                    }
                    _ if has_own_targets => Arc::new(Target::of_this_user(*address, workers)),
                    _ => Arc::new(Target::new(*address, workers)),
                };
                Serving::Targets(Targets {
                    all: targets.addresses.iter().map(target).collect(),
                    times: targets.limits.into(),
                    turn: AtomicUsize::new(0),
                })
            }
            Serves::Files(files) => Serving::Files(Arc::new(Files::new(files.clone(), cache.clone()))),
            Serves::Page(notice) => Serving::Page(*notice),
            Serves::Held(hold) => Serving::Held(Arc::new(Hold::new(*hold))),
            Serves::Redirect(redirect) => Serving::Redirect(redirect.clone()),
        };
        let counters = before.map_or_else(Arc::default, |before| before.counters.clone());
        let access_before = before.and_then(|before| before.access.as_ref());
        let access = spec.access.as_deref().map(|access| Access::new(access, access_before));
        Arc::new(Self { spec: spec.clone(), serving, counters, access })
    }

    pub fn targets(&self) -> &[Arc<Target>] {
        match &self.serving {
            Serving::Targets(targets) => &targets.all,
            Serving::Files(_) | Serving::Page(_) | Serving::Held(_) | Serving::Redirect(_) => &[],
        }
    }

    pub fn stats(&self) -> ServiceStats {
        ServiceStats {
            name: self.spec.name.clone(),
            figures: self.counters.figures(),
            targets: self.targets().iter().map(|target| target.stats()).collect(),
        }
    }

    pub fn times(&self) -> TimeLimits {
        match &self.serving {
            Serving::Targets(targets) => targets.times,
            Serving::Files(_) | Serving::Page(_) | Serving::Held(_) | Serving::Redirect(_) => Limits::default().into(),
        }
    }

    pub fn sign_in(&self) -> Option<&Arc<SignIn>> {
        self.access.as_ref()?.sign_in.as_ref()
    }

    /// Whether what its targets answer is to be compressed.
    pub fn compresses(&self) -> bool {
        self.access.as_ref().is_some_and(|access| access.compress)
    }

    /// Sets the headers that all of its answers have.
    pub fn set_headers(&self, headers: &mut HeaderMap) {
        if let Some(access) = &self.access {
            access.headers.apply(headers);
        }
    }

    /// Whether there is a target that was not tried yet.
    pub fn has_another(&self, tried: &[Arc<Target>]) -> bool {
        self.targets().iter().any(|target| !tried.iter().any(|tried| Arc::ptr_eq(tried, target)))
    }

    fn is_draining(&self) -> bool {
        self.targets().iter().any(|target| target.is_draining())
    }
}

impl Targets {
    /// Enters the least busy target, of those that are well if there are any, and none of `tried` if there is
    /// another. None when all are draining: there is a newer table.
    pub fn enter(&self, tried: &[Arc<Target>]) -> Option<TargetEntry> {
        if let [only] = self.all.as_slice() {
            return only.enter();
        }
        let mut left: Vec<&Arc<Target>> = self.all.iter().collect();
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        while !left.is_empty() {
            let count = left.len();
            let best = (0..count).map(|offset| (turn + offset) % count).min_by_key(|index| {
                let target = left[*index];
                let is_tried = tried.iter().any(|tried| Arc::ptr_eq(tried, target));
                (is_tried, !target.health.is_preferred(), target.in_flight())
            })?;
            if let Some(entry) = left[best].enter() {
                return Some(entry);
            }
            left.swap_remove(best);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::TargetsSpec;

    fn targets(number: u16) -> Targets {
        let all = (0..number).map(|port| Arc::new(Target::new(SocketAddr::from(([127, 0, 0, 1], port)), 1))).collect();
        Targets { all, times: Limits::default().into(), turn: AtomicUsize::new(0) }
    }

    #[test]
    fn equally_busy_targets_take_turns() {
        let targets = targets(3);
        let ports: Vec<_> = (0..6).map(|_| targets.enter(&[]).unwrap().target().address.port()).collect();
        assert_eq!(ports, [0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn a_target_that_was_tried_comes_last() {
        let targets = targets(2);
        let [tried, busy] = targets.all.as_slice() else { unreachable!() };
        let _requests = [busy.enter(), busy.enter()];
        assert!(Arc::ptr_eq(targets.enter(std::slice::from_ref(tried)).unwrap().target(), busy));
        busy.close();
        assert!(Arc::ptr_eq(targets.enter(std::slice::from_ref(tried)).unwrap().target(), tried), "there is no other");
    }

    fn service(ports: &[u16], before: Option<&Arc<Service>>) -> Arc<Service> {
        let addresses = ports.iter().map(|port| SocketAddr::from(([127, 0, 0, 1], *port))).collect();
        let serves = Serves::Targets(TargetsSpec { addresses, health: None, limits: Limits::default() });
        let spec = ServiceSpec { name: "shop".into(), serves, access_log: false, access: None };
        Service::new(&spec, before, 1, &Arc::new(FileCache::new(0)))
    }

    /// What leaves cannot come back: requests that were told to end would be new ones.
    #[test]
    fn a_target_stays_the_same_unless_it_is_draining() {
        let first = service(&[1, 2], None);
        assert!(Arc::ptr_eq(&service(&[1, 2], Some(&first)), &first));
        let changed = service(&[2, 3], Some(&first));
        assert!(Arc::ptr_eq(&changed.targets()[0], &first.targets()[1]));
        first.targets()[1].close();
        let again = service(&[1, 2], Some(&first));
        assert!(!Arc::ptr_eq(&again, &first), "one of its targets is leaving");
        assert!(Arc::ptr_eq(&again.targets()[0], &first.targets()[0]));
        assert!(!again.targets()[1].is_draining());
    }

    #[test]
    fn there_is_another_target_until_all_were_tried() {
        let service = service(&[1, 2], None);
        let all = service.targets();
        assert!(service.has_another(&[]) && service.has_another(&all[..1]) && !service.has_another(all));
    }
}
