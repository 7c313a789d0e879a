//! Containers that end by themselves again and again. They have one status meanwhile, `crashing`, whether they run just now or wait
//! for their next start: the engine starts them again after a pause that it doubles each time.

use std::collections::HashMap;
use std::time::Duration;

use time::OffsetDateTime;
use windlass_api::{ContainerStatus, CrashLoop, Timestamp};
use windlass_runtime as runtime;
use windlass_runtime::{ContainerHealth, State};
use windlass_store::containers::{Container, Purpose};

/// How long a container must stay up until its crashes are over. The engine's pauses begin anew after the same time.
const STEADY: Duration = Duration::from_secs(10);
/// The engine's pause after the first crash, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// What is to be stored of a container that was looked at.
#[derive(Debug, PartialEq, Eq)]
pub struct Seen {
    pub engine_id: String,
    pub status: ContainerStatus,
    pub steady_restarts: i64,
    pub crash_loop: Option<CrashLoop>,
}

impl Seen {
    /// JSON, as the row has it.
    pub fn crash_loop_text(&self) -> String {
        let text = self.crash_loop.as_ref().and_then(|crash_loop| serde_json::to_string(crash_loop).ok());
        text.unwrap_or_default()
    }

    /// Whether the row says the same.
    pub fn is_known(&self, row: &Container) -> bool {
        (row.status, &row.engine_id, row.steady_restarts) == (self.status, &self.engine_id, self.steady_restarts)
            && row.crash_loop == self.crash_loop_text()
    }
}

/// How a container ended: the engine tells it once, and forgets it with the next start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    pub exit_code: i64,
    pub out_of_memory: bool,
    pub last_lines: Vec<String>,
}

/// How each container ended last, by name, as far as this server has heard of it.
#[derive(Default)]
pub struct LastEnds(parking_lot::Mutex<HashMap<String, Ending>>);

impl LastEnds {
    /// What it printed last comes later.
    pub fn note(&self, name: &str, exit_code: i64, out_of_memory: bool) {
        let mut ends = self.0.lock();
        let end = ends.entry(name.to_owned()).or_default();
        (end.exit_code, end.out_of_memory) = (exit_code, out_of_memory);
    }

    pub fn note_lines(&self, name: &str, lines: Vec<String>) {
        if let Some(end) = self.0.lock().get_mut(name) {
            end.last_lines = lines;
        }
    }

    pub fn of(&self, name: &str) -> Option<Ending> {
        self.0.lock().get(name).cloned()
    }

    pub fn forget(&self, name: &str) {
        self.0.lock().remove(name);
    }

    /// Forgets those of containers that are gone.
    pub fn keep(&self, is_there: impl Fn(&str) -> bool) {
        self.0.lock().retain(|name, _| is_there(name));
    }
}

/// What a look at a container means, after what its row says.
pub fn judge(row: &Container, found: Option<&runtime::Container>, ending: Option<Ending>, now: Timestamp) -> Seen {
    let Some(found) = found else {
        let status = ContainerStatus::Removed;
        return Seen { engine_id: String::new(), status, steady_restarts: 0, crash_loop: None };
    };
    let before: Option<CrashLoop> = serde_json::from_str(&row.crash_loop).ok();
    let restarts = i64::try_from(found.restart_count).unwrap_or(i64::MAX);
    // The engine counts from 0 again when it was told to start it.
    let steady_restarts = if row.steady_restarts > restarts { 0 } else { row.steady_restarts };
    let crashes = restarts - steady_restarts;
    let was_crashing = crashes > 0 || before.is_some();
    let is_crashing = match found.state {
        State::Running | State::Paused => was_crashing && !is_steady(found, now),
        State::Restarting => true,
        // A service with `restart: on-failure` stays ended after exit code 0.
        State::Exited if row.purpose == Purpose::Service && found.exit_code == 0 && found.error.is_empty() => false,
        State::Exited | State::Created => before.is_some() || !found.error.is_empty(),
        State::Dead | State::Removing => false,
    };
    let engine_id = found.id.clone();
    if !is_crashing {
        return Seen { engine_id, status: plain_status(found), steady_restarts: restarts, crash_loop: None };
    }
    let crash_loop = Some(crash_loop(found, crashes.max(1), ending, before));
    Seen { engine_id, status: ContainerStatus::Crashing, steady_restarts, crash_loop }
}

fn plain_status(found: &runtime::Container) -> ContainerStatus {
    match (found.state, &found.health) {
        (State::Running | State::Paused, Some(ContainerHealth::Unhealthy(_))) => ContainerStatus::Unhealthy,
        (State::Running | State::Paused, _) => ContainerStatus::Running,
        (State::Created, _) => ContainerStatus::Starting,
        (State::Restarting | State::Exited | State::Dead | State::Removing, _) => ContainerStatus::Exited,
    }
}

/// One that was started in the future was started before the clock was set back.
fn is_steady(found: &runtime::Container, now: Timestamp) -> bool {
    let Some(started_at) = found.started_at.map(timestamp) else { return true };
    let up = now.micros().saturating_sub(started_at.micros());
    u64::try_from(up).map_or(true, |micros| Duration::from_micros(micros) >= STEADY)
}

fn crash_loop(
    found: &runtime::Container,
    crashes: i64,
    ending: Option<Ending>,
    before: Option<CrashLoop>,
) -> CrashLoop {
    let runs = matches!(found.state, State::Running | State::Paused);
    let of_before = before.as_ref().map(|before| (before.exit_code, before.out_of_memory));
    let (exit_code, out_of_memory) = match &ending {
        Some(ending) => (Some(ending.exit_code), ending.out_of_memory || (!runs && found.oom_killed)),
        None if !runs => (Some(found.exit_code), found.oom_killed),
        None => of_before.unwrap_or_default(),
    };
    let last_lines = ending.map(|ending| ending.last_lines).filter(|lines| !lines.is_empty());
    let crashed_at = found.finished_at.map(timestamp);
    CrashLoop {
        crashes,
        exit_code,
        out_of_memory,
        reason: reason(found, exit_code, out_of_memory),
        last_lines: last_lines.or(before.map(|before| before.last_lines)).unwrap_or_default(),
        crashed_at,
        next_start_at: crashed_at.filter(|_| found.state == State::Restarting).map(|at| next_start(at, crashes)),
    }
}

fn reason(found: &runtime::Container, exit_code: Option<i64>, out_of_memory: bool) -> String {
    match exit_code {
        _ if !found.error.is_empty() => format!("it cannot be started: {}", found.error),
        _ if out_of_memory => "it used more memory than it may (memory_mb) and was killed".into(),
        Some(code) => format!("it ended by itself with exit code {code}"),
        None => "it ended by itself while the server was not there to see it".into(),
    }
}

/// By the engine's rule: the pause is doubled with each crash that comes before the container has stayed up.
fn next_start(crashed_at: Timestamp, crashes: i64) -> Timestamp {
    let doublings = u32::try_from(crashes - 1).unwrap_or(u32::MAX).min(16);
    let pause = (FIRST_PAUSE * 2_u32.pow(doublings)).min(LONGEST_PAUSE);
    Timestamp::from_micros(crashed_at.micros().saturating_add(i64::try_from(pause.as_micros()).unwrap_or(i64::MAX)))
}

fn timestamp(at: OffsetDateTime) -> Timestamp {
    Timestamp::from_micros(i64::try_from(at.unix_timestamp_nanos() / 1_000).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;
    use windlass_store::containers::Stage;

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

    fn row() -> Container {
        Container {
            service: String::new(),
            port: 0,
            specification_hash: String::new(),
            hosts: "[]".into(),
            id: Uuid::nil(),
            application_id: Uuid::nil(),
            deployment_id: Uuid::nil(),
            purpose: Purpose::App,
            ordinal: 1,
            stage: Stage::Live,
            name: "wl".into(),
            engine_id: "c1".into(),
            status: ContainerStatus::Running,
            address: String::new(),
            mounts: "[]".into(),
            steady_restarts: 0,
            crash_loop: String::new(),
            created_at: NOW,
        }
    }

    /// With so many restarts, started so many seconds ago.
    fn found(state: State, restart_count: u64, up: i64) -> runtime::Container {
        let at = |seconds: i64| OffsetDateTime::from_unix_timestamp(NOW.micros() / 1_000_000 - seconds).ok();
        runtime::Container {
            id: "c1".into(),
            name: "wl".into(),
            image: String::new(),
            labels: runtime::Labels::new(),
            state,
            exit_code: 0,
            oom_killed: false,
            error: String::new(),
            health: None,
            pid: None,
            started_at: at(up),
            finished_at: at(up + 1),
            addresses: Vec::new(),
            restart_count,
            log_path: None,
        }
    }

    /// The row after a look at the container.
    fn after(row: &Container, found: &runtime::Container, ending: Option<Ending>) -> (Container, Option<CrashLoop>) {
        let seen = judge(row, Some(found), ending, NOW);
        let (status, steady_restarts, crash_loop) = (seen.status, seen.steady_restarts, seen.crash_loop_text());
        let row = Container { status, steady_restarts, crash_loop, ..row.clone() };
        assert!(seen.is_known(&row));
        (row, seen.crash_loop)
    }

    #[test]
    fn it_crashes_until_it_has_stayed_up() {
        let ending = Some(Ending { exit_code: 3, ..Ending::default() });
        let (first, crashes) = after(&row(), &found(State::Running, 1, 0), ending);
        assert_eq!((first.status, crashes.map(|one| one.crashes)), (ContainerStatus::Crashing, Some(1)));
        // The server was away, and knows nothing but the row.
        let (second, crashes) = after(&first, &found(State::Running, 2, 9), None);
        let crashes = crashes.unwrap();
        assert_eq!((second.status, crashes.crashes, crashes.exit_code), (ContainerStatus::Crashing, 2, Some(3)));
        let (steady, none) = after(&second, &found(State::Running, 2, 10), None);
        assert_eq!((steady.status, steady.steady_restarts, none), (ContainerStatus::Running, 2, None));
        let (again, crashes) = after(&steady, &found(State::Restarting, 3, 0), None);
        assert_eq!((again.status, crashes.map(|one| one.crashes)), (ContainerStatus::Crashing, Some(1)));
    }

    /// An application that ends well is started again, so that is a crash too.
    #[test]
    fn a_service_that_has_ended_well_is_no_crash() {
        let crashing = after(&row(), &found(State::Running, 1, 0), None).0;
        let service = Container { purpose: Purpose::Service, ..crashing.clone() };
        assert_eq!(after(&service, &found(State::Exited, 1, 0), None).0.status, ContainerStatus::Exited);
        assert_eq!(after(&crashing, &found(State::Exited, 1, 0), None).0.status, ContainerStatus::Crashing);
    }

    #[test]
    fn a_start_that_was_asked_for_is_no_crash() {
        let (steady, none) = after(&row(), &found(State::Running, 0, 0), None);
        assert_eq!((steady.status, none), (ContainerStatus::Running, None));
        // With the engine all containers end, and are started.
        let (ended, none) = after(&steady, &found(State::Exited, 0, 0), None);
        assert_eq!((ended.status, none), (ContainerStatus::Exited, None));
        // Unless it crashed before: it has not stayed up since.
        let (crashing, _) = after(&steady, &found(State::Restarting, 4, 0), None);
        let (still, crashes) = after(&crashing, &found(State::Running, 0, 1), None);
        assert_eq!((still.status, crashes.map(|one| one.crashes)), (ContainerStatus::Crashing, Some(1)));
    }

    #[test]
    fn the_reason_is_the_nearest_one() {
        let words = |found: &runtime::Container, ending| after(&row(), found, ending).1.unwrap().reason;
        let mut broken = found(State::Exited, 0, 0);
        broken.error = "exec: not found".into();
        assert_eq!(words(&broken, None), "it cannot be started: exec: not found");
        let ending = Ending { exit_code: 137, out_of_memory: true, last_lines: Vec::new() };
        let of_memory = words(&found(State::Running, 1, 0), Some(ending));
        assert_eq!(of_memory, "it used more memory than it may (memory_mb) and was killed");
        let unseen = words(&found(State::Running, 1, 0), None);
        assert_eq!(unseen, "it ended by itself while the server was not there to see it");
    }

    #[test]
    fn pauses_are_those_of_the_engine() {
        let pause = |crashes| next_start(NOW, crashes).micros() - NOW.micros();
        assert_eq!([1, 2, 3].map(pause), [100_000, 200_000, 400_000]);
        assert_eq!([10, 11, i64::MAX].map(pause), [51_200_000, 60_000_000, 60_000_000]);
    }

    /// A clock that is set back or forward ends what began before, and no more.
    #[test]
    fn a_clock_that_jumps_keeps_nothing_crashing() {
        for up in [-3_600, 3_600] {
            let (steady, none) = after(&row(), &found(State::Running, 1, up), None);
            assert_eq!((steady.status, none), (ContainerStatus::Running, None));
        }
    }
}
