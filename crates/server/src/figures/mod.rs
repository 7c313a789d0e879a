//! What applications and the machine use, and what visitors ask of them: taken every few seconds, and kept for a month.
//!
//! - `looks.rs` looks at the containers, `visits.rs` asks the edge, `machine.rs` looks at the machine.
//! - `keep.rs` writes rows, makes coarser ones of them, and forgets.
//! - `read.rs` reads them; `totals.rs` counts for monitors.

pub mod keep;
mod looks;
mod machine;
pub mod read;
mod totals;
mod visits;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use uuid::Uuid;
use windlass_api::Timestamp;
use windlass_figures::{FINE, Instance, Point, Subject, Usage, Visits};
use windlass_store::applications;
use windlass_store::containers::{self, Container, Purpose};

use crate::app::App;
use crate::host::Host;
use keep::Keeper;
use looks::{Look, Looks};
pub use machine::{Machine, MachinePoint, whole};
pub use totals::{Total, Totals};
use visits::{Seen, Watch};

/// Seconds from one look to the next, unless the operator says otherwise.
pub const USUAL_INTERVAL: i64 = 10;
const SECOND: i64 = 1_000_000;
/// So long after the beginning of an interval it is looked, so that a clock that is a little behind does not count it as the one before.
const SLACK: i64 = 200_000;
/// Left for what comes after the looks.
const RESERVE: Duration = Duration::from_secs(3);

/// By application.
pub type Taken = BTreeMap<Uuid, Vec<(Subject, Point)>>;

/// What was taken last, for who asks.
#[derive(Default)]
pub struct Latest {
    /// Why what containers use is not known.
    problem: RwLock<Option<String>>,
    pub machine: Mutex<Machine>,
    pub totals: Mutex<Totals>,
    pub readers: read::Readers,
}

const UNAVAILABLE: &str = "figures unavailable: what containers use cannot be measured; the server's log says why";

impl Latest {
    /// What readiness says: not the cause, which tells of the machine.
    pub fn warning(&self) -> Option<String> {
        self.problem.read().as_ref().map(|_| UNAVAILABLE.to_owned())
    }

    fn note(&self, problem: Option<String>) {
        let before = std::mem::replace(&mut *self.problem.write(), problem.clone());
        match problem {
            Some(cause) if before.is_none() => tracing::warn!(cause, "{UNAVAILABLE}"),
            None if before.is_some() => tracing::info!("what containers use is measured again"),
            _ => {}
        }
    }
}

/// Runs until it is dropped. An interval in which there was no time to look is left out.
pub async fn run(host: Arc<Host>) {
    let interval = host.app.config.figures_interval;
    if interval == 0 {
        return;
    }
    let mut sampler = Sampler::new(&host, interval);
    loop {
        tokio::time::sleep(until_next(host.app.now(), interval)).await;
        // What belongs to another installation is not this one's to measure, nor its database to write.
        match host.app.engine_health.held_by_another() {
            None => sampler.take(&host).await,
            Some(_) => host.app.figures.totals.lock().forget_memory(),
        }
    }
}

fn until_next(now: Timestamp, interval: i64) -> Duration {
    let whole = interval * SECOND;
    let past = (now.micros() - SLACK).rem_euclid(whole);
    Duration::from_micros((whole - past).unsigned_abs())
}

struct Sampler {
    interval: Duration,
    looks: Looks,
    watch: Watch,
    keeper: Keeper,
}

impl Sampler {
    fn new(host: &Host, interval: i64) -> Self {
        let interval = Duration::from_secs(interval.unsigned_abs());
        let keeper = Keeper::new(host.server_id());
        Self { interval, looks: Looks::default(), watch: Watch::default(), keeper }
    }

    async fn take(&mut self, host: &Arc<Host>) {
        let app = &host.app;
        // The point that has just ended.
        let at = FINE.point_of(app.now().micros() / SECOND - FINE.seconds);
        machine::take(app, at).await;
        let (ids, rows) = match applications_and_instances(app).await {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(%error, "figures could not be taken; trying again in some seconds");
                app.figures.totals.lock().forget_memory();
                return;
            }
        };
        let limit = self.interval.saturating_sub(RESERVE);
        let looking = tokio::time::timeout(limit, self.looks.take(host, &rows));
        let (look, seen) = tokio::join!(looking, self.watch.ask(app));
        let look = look.unwrap_or_else(|_| {
            app.figures.note(Some(format!("containers could not be looked at within {} seconds", limit.as_secs())));
            Look::default()
        });
        let mut taken = put_together(&rows, &look, seen.as_ref());
        // The edge has services of others too, such as redirects.
        taken.retain(|id, _| ids.contains(id));
        app.figures.totals.lock().add(&taken);
        if let Err(error) = self.keeper.add(app, at, &taken).await {
            tracing::warn!(%error, "figures could not be stored; those of some seconds are missing");
        }
    }
}

/// Services of extensions are not among them.
async fn applications_and_instances(app: &App) -> windlass_store::Result<(HashSet<Uuid>, Vec<Container>)> {
    let mut conn = app.db.read().await?;
    let ids = applications::ids(&mut conn).await?.into_iter().collect();
    let mut rows = containers::all(&mut conn).await?;
    rows.retain(|row| row.purpose == Purpose::App && !row.engine_id.is_empty());
    Ok((ids, rows))
}

/// One point for each instance, and one for each application: what is of none of its instances.
fn put_together(rows: &[Container], look: &Look, seen: Option<&Seen>) -> Taken {
    let mut taken = Taken::new();
    let mut of_instances: BTreeMap<Uuid, (Visits, bool)> = BTreeMap::new();
    for row in rows {
        let usage = look.usages.get(&row.id).copied();
        let asked = seen.and_then(|seen| seen.of_target(row.application_id, &row.address));
        if usage.is_none() && asked.is_none() {
            continue;
        }
        let visits = seen.map(|seen| asked.cloned().unwrap_or_else(|| seen.nothing()));
        let (sum, was_used) = of_instances.entry(row.application_id).or_default();
        *sum = visits.iter().fold(sum.clone(), |sum, visits| sum.with(visits));
        *was_used |= usage.is_some();
        taken.entry(row.application_id).or_default().push((subject(row), Point { usage, visits }));
    }
    let with_visits = seen.into_iter().flat_map(|seen| seen.applications.keys().copied());
    let all: Vec<Uuid> = with_visits.chain(of_instances.keys().copied()).collect();
    for id in all {
        let points = taken.entry(id).or_default();
        if points.iter().any(|(subject, _)| *subject == Subject::Whole) {
            continue;
        }
        let (of_instances, was_used) = of_instances.remove(&id).unwrap_or_default();
        let measured_ms = look.looked_ms.filter(|_| was_used);
        let usage = measured_ms.map(|measured_ms| Usage { measured_ms, ..Usage::default() });
        let visits = seen.map(|seen| {
            let all = seen.applications.get(&id).cloned().unwrap_or_else(|| seen.nothing());
            all.without(&of_instances)
        });
        points.push((Subject::Whole, Point { usage, visits }));
    }
    taken
}

fn subject(row: &Container) -> Subject {
    Subject::Instance(Instance {
        deployment_id: row.deployment_id,
        container_id: row.id,
        ordinal: u32::try_from(row.ordinal).unwrap_or_default(),
        service: row.service.clone(),
    })
}

#[cfg(test)]
mod tests {
    use windlass_api::ContainerStatus;
    use windlass_store::containers::Stage;

    use super::*;

    pub(super) fn row(number: u128, application: u128, address: &str) -> Container {
        Container {
            id: Uuid::from_u128(number),
            application_id: Uuid::from_u128(application),
            deployment_id: Uuid::from_u128(3),
            purpose: Purpose::App,
            ordinal: 1,
            service: String::new(),
            port: 0,
            specification_hash: String::new(),
            hosts: String::new(),
            stage: Stage::Live,
            name: String::new(),
            engine_id: "c0ffee".into(),
            status: ContainerStatus::Running,
            address: address.into(),
            mounts: String::new(),
            steady_restarts: 0,
            crash_loop: String::new(),
            created_at: Timestamp::from_micros(0),
        }
    }

    /// Of each subject of an application: whether it is the whole, how long it was measured, and its requests.
    fn told(taken: &Taken, application: u128) -> Vec<(bool, Option<u64>, Option<i64>)> {
        let told = |(subject, point): &(Subject, Point)| {
            let measured = point.usage.map(|usage| usage.measured_ms);
            (*subject == Subject::Whole, measured, point.visits.as_ref().map(|visits| visits.requests))
        };
        taken[&Uuid::from_u128(application)].iter().map(told).collect()
    }

    #[test]
    fn the_whole_has_what_none_of_the_instances_has() {
        let rows = [row(11, 1, "10.0.0.1"), row(12, 1, "10.0.0.2"), row(13, 1, "")];
        let usage = Usage { measured_ms: 9_000, ..Usage::default() };
        let look = Look { looked_ms: Some(10_000), usages: [(Uuid::from_u128(11), usage)].into() };
        let seen = Seen::new(10_000, &[(1, 9), (2, 4)], &[(1, "10.0.0.1", 5), (1, "10.0.0.2", 3)]);
        let taken = put_together(&rows, &look, Some(&seen));
        let of_instances = [(false, Some(9_000), Some(5)), (false, None, Some(3))];
        assert_eq!(told(&taken, 1), [of_instances.as_slice(), &[(true, Some(10_000), Some(1))]].concat());
        // A site has visitors and no container.
        assert_eq!(told(&taken, 2), [(true, None, Some(4))]);
        let without_edge = put_together(&rows, &look, None);
        assert_eq!(told(&without_edge, 1), [(false, Some(9_000), None), (true, Some(10_000), None)]);
        assert!(put_together(&rows, &Look::default(), None).is_empty(), "nothing was measured");
    }

    #[test]
    fn looks_are_at_the_same_moments_on_every_server() {
        let next = |micros: i64| until_next(Timestamp::from_micros(micros), 10).as_micros();
        assert_eq!(next(0), 200_000);
        assert_eq!(next(200_000), 10_000_000);
        assert_eq!(next(9_999_999), 200_001);
        assert_eq!(next(10 * SECOND + 150_000), 50_000);
    }
}
