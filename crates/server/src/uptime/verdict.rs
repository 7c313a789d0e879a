//! What a check means: for the application, and for the outage that may last or begin.

use std::time::Duration;

use windlass_api::{ApplicationState, CheckResult, Timestamp, UptimeState, Wanted};
use windlass_store::uptime::{Situation, Uptime};

use crate::engine_health::EngineState;

/// Of a reason, in characters.
const LONGEST_REASON: usize = 300;
const ANY_GOOD: std::ops::RangeInclusive<u16> = 200..=399;

/// What a visit came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Visited {
    Answered {
        status: u16,
        /// Which page of the edge's own it is, if it is one.
        page: Option<String>,
        after: Duration,
    },
    NotAnswered(String),
    /// What this server lacks to ask.
    CannotTell(String),
    /// There was no need to ask, because this is known.
    NotAsked(Verdict),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub result: CheckResult,
    /// Empty if it is up.
    pub reason: String,
    /// An outage that lasts is over, though nothing has recovered: nothing is meant to answer any more.
    pub ends_outage: bool,
}

impl Verdict {
    fn new(result: CheckResult, reason: &str) -> Self {
        Self { result, reason: reason.chars().take(LONGEST_REASON).collect(), ends_outage: false }
    }

    fn paused(reason: &str) -> Self {
        Self::new(CheckResult::Paused, reason)
    }
}

/// Why an application is not asked just now.
pub fn not_asked(situation: &Situation, engine: &EngineState) -> Option<Verdict> {
    let on_purpose = |verdict: Verdict| Some(Verdict { ends_outage: true, ..verdict });
    if situation.wanted != Wanted::Running {
        return on_purpose(Verdict::paused("it was stopped"));
    }
    if situation.live_deployment_id.is_none() && !situation.was_live {
        return on_purpose(Verdict::new(CheckResult::NotLive, "nothing of it was live yet"));
    }
    if situation.is_held {
        return Some(Verdict::paused("visitors wait for a deployment to take over"));
    }
    if situation.live_deployment_id.is_none() && situation.state == ApplicationState::Deploying {
        return Some(Verdict::paused("it is being started"));
    }
    if *engine != EngineState::Well {
        return Some(Verdict::new(CheckResult::Unknown, "the container engine does not answer"));
    }
    None
}

/// What a visit means that was made between two looks at the application.
pub fn judge(
    uptime: &Uptime,
    before: &Situation,
    after: &Situation,
    engine: &EngineState,
    visited: &Visited,
) -> Verdict {
    if after.wanted != Wanted::Running {
        return not_asked(after, engine).unwrap_or_else(|| Verdict::paused("it was stopped"));
    }
    let reason = match visited {
        Visited::NotAsked(verdict) => return verdict.clone(),
        Visited::CannotTell(reason) => return Verdict::new(CheckResult::Unknown, reason),
        Visited::NotAnswered(reason) => reason.clone(),
        Visited::Answered { status, page, .. } => {
            if let Some(verdict) = page.as_deref().and_then(|page| of_page(page, after)) {
                return verdict;
            }
            if is_expected(*status, uptime.expected_status) {
                return Verdict::new(CheckResult::Up, "");
            }
            format!("it answered with status {status}")
        }
    };
    // What fails now may be what is being changed.
    if let Some(verdict) = not_asked(after, engine) {
        return verdict;
    }
    if before.has_snapshot || after.has_snapshot {
        return Verdict::paused("a snapshot of its data is being written or restored");
    }
    if (before.live_deployment_id, &before.domain) != (after.live_deployment_id, &after.domain) {
        return Verdict::paused("it was changed while it was asked");
    }
    Verdict::new(CheckResult::Failed, &reason)
}

/// What the edge says in the application's place. None if it says that the application fails.
fn of_page(page: &str, situation: &Situation) -> Option<Verdict> {
    let blocked = |why: &str| Some(Verdict::new(CheckResult::Blocked, &format!("the edge kept the check out: {why}")));
    match page {
        "stopped" | "held" => Some(Verdict::paused("visitors wait for it to be started or changed")),
        "starting" if situation.state == ApplicationState::Deploying => Some(Verdict::paused("it is being started")),
        // As when a certificate has come in this moment. What is behind it was not asked.
        "redirect" => Some(Verdict::new(CheckResult::Unknown, "the edge sends visitors to another address")),
        "maintenance" => Some(Verdict::paused("it is in maintenance")),
        "forbidden" => blocked("its access settings let in other networks only"),
        "sign_in_required" => blocked("visitors must sign in"),
        "too_many_requests" => blocked("its access settings limit how often visitors ask"),
        "too_many_tries" | "sign_in_busy" => blocked("too many visitors sign in"),
        _ => None,
    }
}

fn is_expected(status: u16, expected: i64) -> bool {
    match expected {
        0 => ANY_GOOD.contains(&status),
        _ => i64::from(status) == expected,
    }
}

/// What is to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    Nothing,
    /// An outage begins.
    Down,
    /// It is over.
    Up,
    /// It is over, and nothing is told.
    Ended,
}

/// What is known of an application after one more check. `lasts` says whether it was down before.
pub fn turn(uptime: &mut Uptime, verdict: &Verdict, lasts: bool, now: Timestamp) -> Turn {
    let before = uptime.state;
    let (state, turn) = match verdict.result {
        CheckResult::Failed => after_failure(uptime, lasts, now),
        result => {
            // What fails before and after it has not failed in a row.
            (uptime.failed_checks, uptime.failing_since) = (0, None);
            let turn = match result {
                CheckResult::Up if lasts => Turn::Up,
                _ if lasts && verdict.ends_outage => Turn::Ended,
                _ => Turn::Nothing,
            };
            (state_of(result), turn)
        }
    };
    uptime.state = state;
    uptime.reason.clone_from(&verdict.reason);
    uptime.checked_at = Some(now.micros());
    if state != before {
        uptime.since = now;
    }
    turn
}

fn after_failure(uptime: &mut Uptime, lasts: bool, now: Timestamp) -> (UptimeState, Turn) {
    uptime.failed_checks += 1;
    uptime.failing_since.get_or_insert(now.micros());
    match uptime.state {
        _ if lasts => (UptimeState::Down, Turn::Nothing),
        _ if uptime.failed_checks >= uptime.failures => (UptimeState::Down, Turn::Down),
        UptimeState::Up => (UptimeState::Up, Turn::Nothing),
        _ => (UptimeState::Unknown, Turn::Nothing),
    }
}

const fn state_of(result: CheckResult) -> UptimeState {
    match result {
        CheckResult::Up => UptimeState::Up,
        CheckResult::Failed => UptimeState::Down,
        CheckResult::Paused => UptimeState::Paused,
        CheckResult::NotLive => UptimeState::NotLive,
        CheckResult::Blocked => UptimeState::Blocked,
        CheckResult::Unknown => UptimeState::Unknown,
    }
}

/// So much longer than from one check to the next, and than an answer may take, the last one says something.
const SLACK_SECONDS: i64 = 60;

/// What can be said of it now, from the last check. A clock that was set back makes a check one of the future, which says nothing either.
pub fn shown(
    state: UptimeState,
    wanted: Wanted,
    checked_at: Option<i64>,
    (interval_seconds, timeout_seconds): (i64, i64),
    now: Timestamp,
) -> UptimeState {
    let within = (2 * interval_seconds + timeout_seconds + SLACK_SECONDS) * 1_000_000;
    let is_recent = checked_at.is_some_and(|checked| (now.micros() - checked).abs() <= within);
    match state {
        _ if wanted != Wanted::Running => UptimeState::Paused,
        state if is_recent => state,
        _ => UptimeState::NoRecentCheck,
    }
}

#[cfg(test)]
mod tests;
