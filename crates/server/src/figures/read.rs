//! Rows of figures as lines of numbers.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;
use windlass_api::{CurrentFigures, Decimal, FigureInstance, FigureLines, FiguresQuery, Timestamp, Whole};
use windlass_edge::counters::BOUNDS;
use windlass_figures::{COARSE, FINE, Figures, Filter, MINUTE, Parts, Span, Step, Subject, Sum, joined, sums};
use windlass_store::Conn;
use windlass_store::figures::{self as rows, Row};

use super::SECOND;
use super::keep::{FINE_SECONDS, MINUTE_SECONDS, unpacked};
use crate::app::App;
use crate::error::{Error, Result};

/// Steps that people know, from which one is chosen.
const STEPS: [i64; 10] = [10, 30, 60, 300, 600, 1_800, 3_600, 7_200, 21_600, 86_400];
const USUAL_POINTS: i64 = 360;
const MOST_POINTS: i64 = 1_440;
const USUAL_SECONDS: i64 = 3_600;
const MOST_INSTANCES: usize = 100;
/// What the record of an application tells is the average of so many seconds.
const CURRENT_SECONDS: i64 = 60;
/// Figures that are older are not how an application is.
const STALE_SECONDS: i64 = 120;
/// Readers at once: each keeps a core busy.
pub const READERS: usize = 4;
/// How long a reader may wait for its turn.
const WAIT: Duration = Duration::from_secs(5);
/// So many rows of a server are in memory at once, packed; of them one is unpacked.
const ROWS_AT_ONCE: i64 = 64;

/// Turns to read.
pub struct Readers(Arc<Semaphore>);

impl Default for Readers {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(READERS)))
    }
}

impl Readers {
    /// It belongs to the work, not to the caller: a caller who goes away does not stop it.
    pub async fn turn(&self) -> Result<OwnedSemaphorePermit> {
        let busy = |cause| Error::unavailable("Too many figures are read at once. Try again in a moment.", cause);
        match tokio::time::timeout(WAIT, self.0.clone().acquire_owned()).await {
            Ok(Ok(turn)) => Ok(turn),
            Ok(Err(closed)) => Err(busy(closed.to_string())),
            Err(late) => Err(busy(late.to_string())),
        }
    }
}

/// Which points are asked for, and in which rows they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    pub span: Span,
    tier: Step,
    now: i64,
}

impl Plan {
    /// `interval` is the time from one look to the next, so no step can be shorter.
    pub fn new(query: &FiguresQuery, now: Timestamp, interval: i64) -> Result<Self> {
        let now = now.micros().div_euclid(SECOND);
        let seconds = |time: Timestamp| time.micros().div_euclid(SECOND);
        let to = query.to.map_or(now, |to| seconds(to).min(now));
        let from = query.from.map_or(to - USUAL_SECONDS, seconds);
        if from >= to {
            return Err(Error::field("from", "must be before \"to\", and before now"));
        }
        let finest = finest_at(now - from).max(interval);
        let count =
            |step: i64| (to - from.div_euclid(step) * step).div_euclid(step) + i64::from(to.rem_euclid(step) > 0);
        let fits = |step: &&i64| **step % finest == 0 && count(**step) <= USUAL_POINTS;
        let step = match query.step.map(Whole::get) {
            Some(step) => (step + finest - 1) / finest * finest,
            None => STEPS.iter().find(fits).copied().unwrap_or(86_400),
        };
        if count(86_400) > MOST_POINTS {
            return Err(Error::field("from", format!("must be at most {} days before \"to\"", MOST_POINTS - 1)));
        }
        if count(step) > MOST_POINTS {
            let least =
                STEPS.iter().find(|step| **step % finest == 0 && count(**step) <= MOST_POINTS).unwrap_or(&86_400);
            return Err(Error::field("step", format!("must be at least {least} for so much time")));
        }
        let tier = [COARSE, MINUTE].into_iter().find(|tier| step % tier.seconds == 0).unwrap_or(FINE);
        let begin = from.div_euclid(step) * step;
        let span = Span { from: begin, seconds: step, count: usize::try_from(count(step)).unwrap_or_default() };
        Ok(Self { span, tier, now })
    }
}

/// The step in which everything is kept that is so old.
fn finest_at(age: i64) -> i64 {
    if age <= FINE_SECONDS + FINE.row {
        FINE.seconds
    } else if age <= MINUTE_SECONDS + COARSE.seconds {
        MINUTE.seconds
    } else {
        COARSE.seconds
    }
}

/// What the rows of an application say of the time of a plan.
pub struct Found {
    plan: Plan,
    filter: Filter,
    servers: BTreeMap<Uuid, Measured>,
    /// Whatever the filter says, so that the caller sees what there is to choose from.
    instances: HashMap<(Uuid, Uuid), FigureInstance>,
    _turn: OwnedSemaphorePermit,
}

/// By one server.
struct Measured {
    parts: Parts,
    /// Of the time before, the coarser points have everything.
    coarse_until: i64,
}

pub async fn of_application(app: &App, application_id: Uuid, plan: Plan, query: &FiguresQuery) -> Result<Found> {
    let filter = Filter { deployment_id: query.deployment_id, container_id: query.instance_id };
    let Plan { span, tier, now } = plan;
    let turn = app.figures.readers.turn().await?;
    let mut found = Found { plan, filter, servers: BTreeMap::new(), instances: HashMap::new(), _turn: turn };
    for starts in parts_of(tier, tier.row_of(span.from)..span.end()) {
        found = found.with_rows(app, application_id, tier, starts).await?;
    }
    let recent = FINE.row_of(span.from.max(now - FINE_SECONDS));
    if tier != FINE && recent < span.end() {
        found = found.with_rows(app, application_id, FINE, recent..span.end()).await?;
    }
    Ok(found)
}

fn parts_of(step: Step, time: Range<i64>) -> impl Iterator<Item = Range<i64>> {
    let length = step.row * ROWS_AT_ONCE;
    let count = (time.end - time.start - 1).max(0) / length + 1;
    (0..count).map(move |number| time.start + number * length).map(move |from| from..(from + length).min(time.end))
}

impl Found {
    async fn with_rows(mut self, app: &App, application_id: Uuid, step: Step, starts: Range<i64>) -> Result<Self> {
        let mut conn = app.db.read().await?;
        let rows = rows::of_application(&mut conn, application_id, step.seconds, starts).await?;
        drop(conn);
        let adding = tokio::task::spawn_blocking(move || {
            rows.iter().for_each(|row| self.add(row, step));
            self
        });
        adding.await.map_err(Error::internal)
    }

    fn add(&mut self, row: &Row, step: Step) {
        let Plan { span, tier, .. } = self.plan;
        let new = || Measured { parts: Parts::new(span, self.filter), coarse_until: i64::MIN };
        let server = self.servers.entry(row.server_id).or_insert_with(new);
        let from = if step == tier { span.from } else { span.from.max(server.coarse_until) };
        let figures = unpacked(row, step).within(from..span.end());
        if let Some(last) = figures.last().filter(|_| step == tier) {
            server.coarse_until = server.coarse_until.max(last + step.seconds);
        }
        server.parts.add(&figures);
        note_instances(&mut self.instances, &figures);
    }

    pub fn into_lines(self) -> (FigureLines, Vec<FigureInstance>) {
        let parts = self.servers.into_values().map(|measured| measured.parts);
        (lines(&joined(parts, &self.plan.span)), newest(self.instances))
    }
}

fn lines(sums: &[Sum]) -> FigureLines {
    FigureLines {
        cpu_millis: sums.iter().map(|sum| sum.cpu_millis().map(Decimal::new)).collect(),
        memory_bytes: sums.iter().map(|sum| sum.memory().map(whole)).collect(),
        memory_peak_bytes: sums.iter().map(|sum| sum.peak().map(bytes)).collect(),
        network_received: sums.iter().map(|sum| sum.network().map(|(received, _)| whole(received))).collect(),
        network_sent: sums.iter().map(|sum| sum.network().map(|(_, sent)| whole(sent))).collect(),
        disk_read: sums.iter().map(|sum| sum.disk().map(|(read, _)| whole(read))).collect(),
        disk_written: sums.iter().map(|sum| sum.disk().map(|(_, written)| whole(written))).collect(),
        restarts: sums.iter().map(|sum| sum.restarts().map(bytes)).collect(),
        requests: sums.iter().map(Sum::requests).collect(),
        requests_per_second: sums.iter().map(|sum| sum.requests_per_second().map(Decimal::new)).collect(),
        errors: sums.iter().map(Sum::errors).collect(),
        p50_ms: sums.iter().map(|sum| percentile(sum, 50.0)).collect(),
        p95_ms: sums.iter().map(|sum| percentile(sum, 95.0)).collect(),
        p99_ms: sums.iter().map(|sum| percentile(sum, 99.0)).collect(),
    }
}

fn percentile(sum: &Sum, percent: f64) -> Option<Decimal> {
    sum.percentile_ms(&BOUNDS, percent).map(Decimal::new)
}

fn whole(number: f64) -> i64 {
    number.round() as i64
}

fn bytes(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn note_instances(instances: &mut HashMap<(Uuid, Uuid), FigureInstance>, figures: &Figures) {
    for (subject, points) in figures.series() {
        let (Subject::Instance(instance), Some(first), Some(last)) =
            (subject, points.keys().next(), points.keys().next_back())
        else {
            continue;
        };
        let moment = |second: &i64| Timestamp::from_micros(second.saturating_mul(SECOND));
        let (first_at, last_at) = (moment(first), moment(last));
        let known =
            instances.entry((instance.deployment_id, instance.container_id)).or_insert_with(|| FigureInstance {
                id: instance.container_id,
                deployment_id: instance.deployment_id,
                ordinal: instance.ordinal.into(),
                service: instance.service.clone(),
                first_at,
                last_at,
            });
        known.first_at = known.first_at.min(first_at);
        known.last_at = known.last_at.max(last_at);
    }
}

fn newest(instances: HashMap<(Uuid, Uuid), FigureInstance>) -> Vec<FigureInstance> {
    let mut instances: Vec<_> = instances.into_values().collect();
    let order = |one: &FigureInstance| (std::cmp::Reverse((one.last_at, one.deployment_id)), one.ordinal, one.id);
    instances.sort_by_key(order);
    instances.truncate(MOST_INSTANCES);
    instances
}

/// How some applications are, by their ids. One query, however many they are.
pub async fn current(conn: &mut Conn, ids: &[Uuid], now: Timestamp) -> Result<HashMap<Uuid, CurrentFigures>> {
    let now = now.micros().div_euclid(SECOND);
    let starts = FINE.row_of(now - STALE_SECONDS - CURRENT_SECONDS)..now + FINE.row;
    let mut found: HashMap<Uuid, Vec<Row>> = HashMap::new();
    for row in rows::of_applications(conn, ids, FINE.seconds, starts).await? {
        found.entry(row.application_id).or_default().push(row);
    }
    let telling = tokio::task::spawn_blocking(move || {
        // One after the other: unpacked, they are much larger.
        found.into_iter().filter_map(|(id, rows)| Some((id, at_last(&rows, now)?))).collect()
    });
    telling.await.map_err(Error::internal)
}

fn at_last(rows: &[Row], now: i64) -> Option<CurrentFigures> {
    let mut found: BTreeMap<Uuid, Figures> = BTreeMap::new();
    rows.iter().for_each(|row| found.entry(row.server_id).or_default().extend(unpacked(row, FINE)));
    let last = found.values().filter_map(Figures::last).max()?;
    let end = last + FINE.seconds;
    if end < now - STALE_SECONDS {
        return None;
    }
    let span = Span { from: end - CURRENT_SECONDS, seconds: CURRENT_SECONDS, count: 1 };
    let sum = sums(found.values(), &span, &Filter::default()).pop().filter(|sum| !sum.is_empty())?;
    Some(CurrentFigures {
        at: Timestamp::from_micros(end.saturating_mul(SECOND)),
        cpu_millis: sum.cpu_millis().map(Decimal::new),
        memory_bytes: sum.memory().map(whole),
        requests_per_second: sum.requests_per_second().map(Decimal::new),
        error_percent: sum.error_percent().map(Decimal::new),
        p50_ms: percentile(&sum, 50.0),
        p95_ms: percentile(&sum, 95.0),
        p99_ms: percentile(&sum, 99.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_800_000_000;

    fn time(second: i64) -> Option<Timestamp> {
        Some(Timestamp::from_micros(second * SECOND))
    }

    fn plan(
        from: Option<i64>,
        to: Option<i64>,
        step: &str,
        interval: i64,
    ) -> std::result::Result<(i64, i64, usize, i64), String> {
        let step = if step.is_empty() { None } else { Some(Whole::try_from(step).unwrap()) };
        let query = FiguresQuery { from: from.and_then(time), to: to.and_then(time), step, ..FiguresQuery::default() };
        let plan = Plan::new(&query, Timestamp::from_micros(NOW * SECOND), interval);
        plan.map(|plan| (plan.span.from - NOW, plan.span.seconds, plan.span.count, plan.tier.seconds))
            .map_err(|error| error.message)
    }

    #[test]
    fn a_step_is_chosen_by_the_length_of_the_time() {
        for (hours, step, count, tier) in
            [(1, 10, 360, 10), (3, 60, 180, 60), (6, 60, 360, 60), (24, 300, 288, 60), (24 * 30, 7_200, 360, 600)]
        {
            assert_eq!(plan(Some(NOW - hours * 3_600), None, "", 10), Ok((-hours * 3_600, step, count, tier)));
        }
        assert_eq!(plan(None, None, "", 10), Ok((-3_600, 10, 360, 10)));
        assert_eq!(plan(None, Some(NOW + 500), "", 10), Ok((-3_600, 10, 360, 10)), "the future is not asked");
    }

    #[test]
    fn no_step_is_shorter_than_what_is_kept_and_taken() {
        assert_eq!(plan(Some(NOW - 600), None, "15", 10), Ok((-600, 20, 30, 10)));
        assert_eq!(plan(Some(NOW - 600), None, "10", 30), Ok((-600, 30, 20, 10)));
        assert_eq!(plan(Some(NOW - 7_200), None, "10", 10), Ok((-7_200, 60, 120, 60)));
        assert_eq!(plan(Some(NOW - 3 * 86_400), None, "60", 10), Ok((-3 * 86_400, 600, 432, 600)));
        assert_eq!(plan(Some(NOW - 605), Some(NOW - 5), "600", 10), Ok((-1_200, 600, 2, 600)));
    }

    #[test]
    fn much_time_is_read_in_parts() {
        let parts = |days: i64| parts_of(COARSE, 0..days * 86_400).map(|part| part.end / 86_400).collect::<Vec<_>>();
        assert_eq!((parts(30), parts(64), parts(150)), (vec![30], vec![64], vec![64, 128, 150]));
    }

    #[test]
    fn what_cannot_be_answered_is_named() {
        for (from, to, step, problem) in [
            (Some(NOW), None, "", "from: must be before \"to\", and before now"),
            (Some(NOW + 5), Some(NOW + 10), "", "from: must be before \"to\", and before now"),
            (Some(NOW - 20 * 86_400), None, "600", "step: must be at least 1800 for so much time"),
            (Some(0), None, "", "from: must be at most 1439 days before \"to\""),
        ] {
            assert_eq!(plan(from, to, step, 10), Err(problem.to_owned()));
        }
    }
}
