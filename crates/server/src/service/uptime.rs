//! Uptime checks: how an application is asked, and what becomes of what it answers.

use windlass_api as api;
use windlass_api::{CheckResult, ErrorCode, EventName, Timestamp, UpdateUptime, UptimeState, Whole, ZeroOr};
use windlass_store::applications::Application;
use windlass_store::outages::{self, Outage};
use windlass_store::uptime::{self as rows, Situation, Uptime};
use windlass_store::uptime_checks::{self as checks, UptimeCheck};
use windlass_store::{Conn, applications};

use crate::app::App;
use crate::auth::Granted;
use crate::error::{Error, Result};
use crate::records::uptime as records;
use crate::service::audit::{Action, Actor, Change, Resource};
use crate::service::held_applications::{hold_to_change, refuse_preview};
use crate::service::states;
use crate::service::work::Work;
use crate::uptime::verdict::{Turn, Verdict, Visited, judge, turn};

const INTERVAL_SECONDS: i64 = 60;
const TIMEOUT_SECONDS: i64 = 10;
const FAILURES: i64 = 2;
/// Of one application.
const KEPT_OUTAGES: i64 = 1_000;

/// As it is while nothing was said about it.
fn usual(application: &Application, now: Timestamp) -> Uptime {
    Uptime {
        application_id: application.id,
        organization_id: application.organization_id,
        path: "/".to_owned(),
        interval_seconds: INTERVAL_SECONDS,
        expected_status: 0,
        timeout_seconds: TIMEOUT_SECONDS,
        failures: FAILURES,
        next_at: None,
        state: UptimeState::Unknown,
        reason: String::new(),
        since: now,
        checked_at: None,
        failed_checks: 0,
        failing_since: None,
        created_at: now,
        updated_at: now,
    }
}

pub async fn get(app: &App, granted: &Granted<Application>) -> Result<api::Uptime> {
    let mut conn = app.db.read().await?;
    let stored = rows::get(&mut conn, granted.row().id).await?;
    record(app, &mut conn, granted.row(), stored.unwrap_or_else(|| usual(granted.row(), app.now()))).await
}

async fn record(app: &App, conn: &mut Conn, application: &Application, uptime: Uptime) -> Result<api::Uptime> {
    let counts = checks::counts(conn, application.id, app.now()).await?;
    Ok(records::uptime(uptime, application.wanted, counts, app.now()))
}

/// The next check is made at once. One that is under way was asked for otherwise, and does not count.
pub async fn update(app: &App, granted: &Granted<Application>, input: &UpdateUptime) -> Result<api::Uptime> {
    let mut work = app.begin().await?;
    let (authority, application) = hold_to_change(&mut work, granted.authority(), granted.row().id).await?;
    refuse_preview(&mut work, &application).await?;
    let stored = rows::get(&mut work, application.id).await?;
    let was_enabled = stored.as_ref().is_some_and(|stored| stored.next_at.is_some());
    let is_enabled = input.enabled.unwrap_or(was_enabled || stored.is_none());
    if is_enabled && !was_enabled {
        check_room(&mut work, &application).await?;
    }
    let now = app.now();
    let mut uptime = stored.unwrap_or_else(|| usual(&application, now));
    change(&mut uptime, input);
    uptime.next_at = is_enabled.then_some(now.micros());
    // What was seen before says nothing about how it is asked from now on.
    (uptime.failed_checks, uptime.failing_since) = (0, None);
    if !is_enabled || !was_enabled {
        (uptime.state, uptime.reason, uptime.since) = (UptimeState::Unknown, "it was not checked yet".to_owned(), now);
        uptime.checked_at = None;
        outages::end(&mut work, application.id, false, now).await?;
    }
    // Never the same twice, so that a check that began before is known by it.
    uptime.updated_at = Timestamp::from_micros(now.micros().max(uptime.updated_at.micros() + 1));
    rows::put(&mut work, &uptime).await?;
    note(&mut work, &authority.actor(), Action::Update, &application, &uptime);
    let record = record(app, &mut work, &application, uptime).await?;
    work.commit().await?;
    app.uptime_changed.notify_one();
    Ok(record)
}

fn change(uptime: &mut Uptime, input: &UpdateUptime) {
    if let Some(path) = &input.path {
        uptime.path = path.to_string();
    }
    uptime.interval_seconds = input.interval_seconds.map_or(uptime.interval_seconds, Whole::get);
    uptime.expected_status = input.expected_status.map_or(uptime.expected_status, ZeroOr::get);
    uptime.timeout_seconds = input.timeout_seconds.map_or(uptime.timeout_seconds, Whole::get);
    uptime.failures = input.failures.map_or(uptime.failures, Whole::get);
}

async fn check_room(work: &mut Work<'_>, application: &Application) -> Result<()> {
    let limit = work.app.config.organization_uptime_checks;
    if rows::count_of_organization(work, application.organization_id).await? >= limit {
        let message = format!(
            "The uptime of {limit} applications of an organization can be checked (organization-uptime-checks). Turn off another check first."
        );
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    Ok(())
}

/// With all that it has come to.
pub async fn delete(app: &App, granted: &Granted<Application>) -> Result<()> {
    let mut work = app.begin().await?;
    let (authority, application) = hold_to_change(&mut work, granted.authority(), granted.row().id).await?;
    let Some(uptime) = rows::get(&mut work, application.id).await? else {
        return Err(Error::not_found("uptime check"));
    };
    rows::delete(&mut work, application.id).await?;
    note(&mut work, &authority.actor(), Action::Delete, &application, &uptime);
    work.commit().await?;
    app.uptime_changed.notify_one();
    Ok(())
}

fn note(work: &mut Work<'_>, actor: &Actor, action: Action, application: &Application, uptime: &Uptime) {
    let verb = match (action, uptime.next_at) {
        (Action::Delete, _) => "deleted the uptime check of",
        (_, None) => "turned off the uptime check of",
        _ => "changed the uptime check of",
    };
    let change = Change {
        organization_id: Some(application.organization_id),
        action,
        resource: Resource::Uptime,
        resource_id: application.id,
        summary: &format!("{verb} {}", application.name),
        details: &[
            ("application", &application.name),
            // What follows may be secret.
            ("path", uptime.path.split('?').next().unwrap_or_default()),
            ("interval_seconds", &uptime.interval_seconds.to_string()),
        ],
    };
    work.record(actor, &change);
}

/// Writes down what a check has come to, and tells when an outage begins or is over: once, because the application is held meanwhile. A check
/// whose settings were changed since it began counts for nothing.
pub async fn conclude(
    app: &App,
    checked: &Uptime,
    before: &Situation,
    visited: &Visited,
) -> windlass_store::Result<()> {
    let (mut work, now) = (app.begin_step().await?, app.now());
    let Some(application) = applications::lock(&mut work, checked.application_id).await? else { return Ok(()) };
    let stored = rows::get(&mut work, application.id).await?;
    let is_same = |stored: &Uptime| stored.updated_at == checked.updated_at && stored.next_at.is_some();
    let Some(mut uptime) = stored.filter(is_same) else { return Ok(()) };
    let Some(after) = rows::situation(&mut work, application.id).await? else { return Ok(()) };
    let verdict = judge(&uptime, before, &after, &app.engine_health.seen(), visited);
    let lasts = outages::lasts(&mut work, application.id).await?;
    let was = uptime.state;
    let turned = turn(&mut uptime, &verdict, lasts, now);
    rows::conclude(&mut work, &uptime).await?;
    checks::insert(&mut work, &row(app, &uptime, &verdict, visited, now)).await?;
    tell(&mut work, &application, &uptime, &verdict, turned).await?;
    work.commit().await?;
    if uptime.state != was {
        app.uptime_changed.notify_one();
    }
    Ok(())
}

fn row(app: &App, uptime: &Uptime, verdict: &Verdict, visited: &Visited, now: Timestamp) -> UptimeCheck {
    let (status, answer_ms) = match visited {
        Visited::Answered { status, after, .. } => {
            (Some(i64::from(*status)), Some(i64::try_from(after.as_millis()).unwrap_or(i64::MAX)))
        }
        Visited::NotAnswered(_) | Visited::CannotTell(_) | Visited::NotAsked(_) => (None, None),
    };
    UptimeCheck {
        id: app.new_id(),
        application_id: uptime.application_id,
        result: verdict.result,
        status,
        answer_ms,
        reason: verdict.reason.clone(),
        checked_at: now,
    }
}

async fn tell(
    work: &mut Work<'_>,
    application: &Application,
    uptime: &Uptime,
    verdict: &Verdict,
    turned: Turn,
) -> windlass_store::Result<()> {
    let (app, now) = (work.app, work.app.now());
    let about = states::subject(application, None);
    match turned {
        Turn::Nothing => {}
        Turn::Ended => drop(outages::end(work, application.id, false, now).await?),
        Turn::Down => {
            debug_assert_eq!(verdict.result, CheckResult::Failed);
            let outage = Outage {
                id: app.new_id(),
                application_id: application.id,
                started_at: uptime.failing_since.map_or(now, Timestamp::from_micros),
                ended_at: None,
                recovered: false,
                reason: verdict.reason.clone(),
            };
            outages::begin(work, &outage, KEPT_OUTAGES).await?;
            let details = [
                ("application", application.name.as_str()),
                ("domain", application.domain.as_str()),
                ("reason", verdict.reason.as_str()),
            ];
            work.tell(EventName::ApplicationDown, about, &details);
        }
        Turn::Up => {
            let ended = outages::end(work, application.id, true, now).await?;
            let lasted = ended.map(|outage| lasted(outage.started_at, now)).unwrap_or_default();
            let details = [
                ("application", application.name.as_str()),
                ("domain", application.domain.as_str()),
                ("lasted", lasted.as_str()),
            ];
            work.tell(EventName::ApplicationUp, about, &details);
        }
    }
    Ok(())
}

/// In the two largest units.
fn lasted(from: Timestamp, to: Timestamp) -> String {
    let seconds = (to.micros() - from.micros()).max(0) / 1_000_000;
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, _, _) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_told_in_its_two_largest_units() {
        let told = |seconds: i64| lasted(Timestamp::from_micros(0), Timestamp::from_micros(seconds * 1_000_000));
        assert_eq!(
            [-1, 59, 60, 3_599, 3_660, 90_000].map(told),
            ["0 s", "59 s", "1 min 0 s", "59 min 59 s", "1 h 1 min", "1 d 1 h"]
        );
    }
}
