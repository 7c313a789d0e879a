//! Schedules: what an application runs again and again, and what is to be done when a time has come.

use windlass_api as api;
use windlass_api::{
    CreateSchedule, Cron, ErrorCode, EventName, Given, Overlap, RunStatus, Timestamp, UpdateSchedule, Whole,
};
use windlass_store::applications::{self, Application};
use windlass_store::runs::{self as run_rows, Run};
use windlass_store::schedules::{self, Due, Schedule};
use windlass_store::{Conn, organizations};

use crate::app::App;
use crate::auth::{Authority, Granted};
use crate::error::{Error, Result};
use crate::records;
use crate::service::audit::{Action, Actor, Change, Resource};
use crate::service::held_applications::{hold_to_change, lock_to_change, refuse_preview};
use crate::service::runs;
use crate::service::work::Work;

/// Runs that are over and remembered, unless the schedule says otherwise.
const KEPT_RUNS: i64 = 20;

pub async fn create(app: &App, granted: &Granted<Application>, input: &CreateSchedule) -> Result<api::Schedule> {
    let mut work = app.begin().await?;
    let (authority, application) = hold_to_change(&mut work, granted.authority(), granted.row().id).await?;
    runs::may_run(app, &authority)?;
    refuse_preview(&mut work, &application).await?;
    let all = schedules::of_application(&mut work, application.id).await?;
    let limit = app.config.application_schedules;
    if all.len() >= limit {
        let message = format!("{} has {limit} schedules, which is the most (application-schedules).", application.name);
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    let now = app.now();
    let is_enabled = input.enabled.unwrap_or(true);
    let schedule = Schedule {
        id: app.new_id(),
        organization_id: application.organization_id,
        application_id: application.id,
        name: input.name.to_string(),
        cron: input.cron.to_string(),
        command: input.command.to_string(),
        service: input.service.value().map(|name| name.to_string()).unwrap_or_default(),
        overlap: input.overlap.unwrap_or(Overlap::Skip),
        timeout_seconds: runs::time_limit(app, input.timeout_seconds)?,
        kept_runs: input.keep.map_or(KEPT_RUNS, Whole::get),
        next_at: next_at(&input.cron, now, is_enabled),
        created_at: now,
        updated_at: now,
    };
    refuse_taken_name(&all, &application, &schedule)?;
    refuse_service(&mut work, &application, &schedule).await?;
    schedules::insert(&mut work, &schedule).await?;
    let actor = authority.actor();
    record(&mut work, &actor, Action::Create, &application, &schedule, "created the schedule").await;
    work.commit().await?;
    Ok(records::schedules::schedule(schedule, None, true))
}

pub async fn update(app: &App, granted: &Granted<Schedule>, input: &UpdateSchedule) -> Result<api::Schedule> {
    let mut work = app.begin().await?;
    let (authority, application, mut schedule) = hold(&mut work, granted).await?;
    runs::may_run(app, &authority)?;
    let before = schedule.clone();
    if let Some(name) = &input.name {
        schedule.name = name.to_string();
    }
    if let Some(command) = &input.command {
        schedule.command = command.to_string();
    }
    match &input.service {
        Given::Absent => {}
        Given::Empty => schedule.service = String::new(),
        Given::Value(name) => schedule.service = name.to_string(),
    }
    schedule.overlap = input.overlap.unwrap_or(schedule.overlap);
    schedule.kept_runs = input.keep.map_or(schedule.kept_runs, Whole::get);
    if input.timeout_seconds.is_some() {
        schedule.timeout_seconds = runs::time_limit(app, input.timeout_seconds)?;
    }
    set_times(app, &mut schedule, input)?;
    let all = schedules::of_application(&mut work, application.id).await?;
    refuse_taken_name(&all, &application, &schedule)?;
    if schedule.service != before.service {
        refuse_service(&mut work, &application, &schedule).await?;
    }
    schedule.updated_at = app.now();
    schedules::update(&mut work, &schedule).await?;
    let actor = authority.actor();
    record(&mut work, &actor, Action::Update, &application, &schedule, "changed the schedule").await;
    let last = run_rows::newest_of_schedule(&mut work, schedule.id).await?;
    work.commit().await?;
    Ok(records::schedules::schedule(schedule, last, true))
}

/// A `cron` that is given begins anew, also if it is the same: so one is brought back to time whose next time a wrong clock has set.
fn set_times(app: &App, schedule: &mut Schedule, input: &UpdateSchedule) -> Result<()> {
    let was_enabled = schedule.next_at.is_some();
    let is_enabled = input.enabled.unwrap_or(was_enabled);
    if input.cron.is_none() && is_enabled == was_enabled {
        return Ok(());
    }
    let cron = match &input.cron {
        Some(cron) => cron.clone(),
        None => Cron::try_from(schedule.cron.as_str()).map_err(Error::internal)?,
    };
    schedule.cron = cron.to_string();
    schedule.next_at = next_at(&cron, app.now(), is_enabled);
    Ok(())
}

fn next_at(cron: &Cron, now: Timestamp, is_enabled: bool) -> Option<i64> {
    cron.next_after(now).filter(|_| is_enabled).map(Timestamp::micros)
}

/// What it has under way goes on, and its history stays with the application's.
pub async fn delete(app: &App, granted: &Granted<Schedule>) -> Result<()> {
    let mut work = app.begin().await?;
    let (authority, application, schedule) = hold(&mut work, granted).await?;
    schedules::delete(&mut work, schedule.id).await?;
    let actor = authority.actor();
    record(&mut work, &actor, Action::Delete, &application, &schedule, "deleted the schedule").await;
    work.commit().await?;
    Ok(())
}

/// As if its time had come, for the user who asks. Its next time stays.
pub async fn run_now(app: &App, granted: &Granted<Schedule>) -> Result<api::CommandRun> {
    let mut work = app.begin().await?;
    let (authority, application, schedule) = hold(&mut work, granted).await?;
    runs::may_run(app, &authority)?;
    refuse_service(&mut work, &application, &schedule).await?;
    if let Some(reason) = reason_to_skip(&mut work, &application, &schedule).await? {
        return Err(Error::new(ErrorCode::Conflict, format!("{} cannot be run now: {reason}.", schedule.name)));
    }
    let actor = authority.actor();
    let run = Run { user_id: actor.user_id(), actor: actor.name().to_owned(), ..run_of(app, &application, &schedule) };
    call_off_replaced(&mut work, &application, &schedule).await?;
    runs::enqueue(&mut work, &application, &run).await?;
    runs::record(&mut work, &actor, Action::Create, &application, &run, "ran a schedule of").await?;
    work.commit().await?;
    Ok(records::runs::run(run, true))
}

/// One that waits, of what the schedule says now.
fn run_of(app: &App, application: &Application, schedule: &Schedule) -> Run {
    Run {
        schedule_id: Some(schedule.id),
        schedule_name: schedule.name.clone(),
        command: schedule.command.clone(),
        service: schedule.service.clone(),
        // The operator may have lowered the limit since.
        timeout_seconds: schedule.timeout_seconds.min(app.config.run_seconds),
        ..runs::new(app, application)
    }
}

async fn hold(work: &mut Work<'_>, granted: &Granted<Schedule>) -> Result<(Authority, Application, Schedule)> {
    let authority = work.hold(granted.authority()).await?;
    let application = lock_to_change(work, &authority, granted.row().application_id).await?;
    let schedule = schedules::get(work, granted.row().id).await?.ok_or_else(|| Error::not_found("schedule"))?;
    Ok((authority, application, schedule))
}

fn refuse_taken_name(all: &[Schedule], application: &Application, schedule: &Schedule) -> Result<()> {
    if all.iter().any(|other| other.id != schedule.id && other.name == schedule.name) {
        let message =
            format!("name: {} has a schedule {} already. Choose another name.", application.name, schedule.name);
        return Err(Error::new(ErrorCode::NameTaken, message));
    }
    Ok(())
}

/// While nothing is live it is not known which services there will be.
async fn refuse_service(conn: &mut Conn, application: &Application, schedule: &Schedule) -> Result<()> {
    match runs::live(conn, application).await? {
        Ok(live) => match runs::service_of(&live.release, &schedule.service) {
            Ok(_) => Ok(()),
            Err(problem) => Err(Error::field("service", problem)),
        },
        Err(_) => Ok(()),
    }
}

async fn record(
    work: &mut Work<'_>,
    actor: &Actor,
    action: Action,
    application: &Application,
    schedule: &Schedule,
    verb: &str,
) {
    let command = runs::for_audit(work, application, &schedule.command).await;
    let change = Change {
        organization_id: Some(schedule.organization_id),
        action,
        resource: Resource::Schedule,
        resource_id: schedule.id,
        summary: &format!("{verb} {} of {}", schedule.name, application.name),
        details: &[
            ("application", &application.name),
            ("application_id", &application.id.to_string()),
            ("schedule", &schedule.name),
            ("cron", &schedule.cron),
            ("command", &command),
        ],
    };
    work.record(actor, &change);
}

/// Does what is to be done when the time of a schedule has come: once, whichever server it is that looks, and once for all times that
/// were missed. The next time is set in the same transaction.
pub async fn queue_due(app: &App, seen: &Due) -> windlass_store::Result<()> {
    let mut work = app.begin_step().await?;
    // Whose limit it is.
    organizations::lock(&mut work, seen.organization_id).await?;
    let Some(application) = applications::lock(&mut work, seen.application_id).await? else { return Ok(()) };
    let (schedule, now) = (schedules::get(&mut work, seen.id).await?, app.now());
    let Some(schedule) = schedule else { return Ok(()) };
    let Some(due) = schedule.next_at.filter(|at| *at <= now.micros()) else { return Ok(()) };
    let next = Cron::try_from(schedule.cron.as_str()).ok().and_then(|cron| cron.next_after(now));
    if !schedules::take_time(&mut work, schedule.id, due, next).await? {
        return Ok(());
    }
    let run = Run {
        scheduled_at: Some(due),
        actor: Actor::Schedule.name().to_owned(),
        ..run_of(app, &application, &schedule)
    };
    match reason_to_skip(&mut work, &application, &schedule).await? {
        None => {
            call_off_replaced(&mut work, &application, &schedule).await?;
            runs::enqueue(&mut work, &application, &run).await?;
        }
        Some(reason) => skip(&mut work, &application, &schedule, Run { reason, ..run }, now).await?,
    }
    work.commit().await
}

async fn reason_to_skip(
    work: &mut Work<'_>,
    application: &Application,
    schedule: &Schedule,
) -> windlass_store::Result<Option<String>> {
    if let Err(reason) = runs::live(work, application).await? {
        return Ok(Some(reason));
    }
    let under_way = under_way_of(work, schedule).await?;
    match schedule.overlap {
        _ if under_way.is_empty() => runs::beyond_limits(work, application).await,
        Overlap::Skip => Ok(Some("the run before is not over".to_owned())),
        Overlap::Queue if under_way.iter().any(|run| run.status == RunStatus::Queued) => {
            Ok(Some("a run of it waits already".to_owned()))
        }
        Overlap::Queue => runs::beyond_limits(work, application).await,
        Overlap::Replace => Ok(None),
    }
}

/// With `replace`, the next run takes the place of what is under way.
async fn call_off_replaced(
    work: &mut Work<'_>,
    application: &Application,
    schedule: &Schedule,
) -> windlass_store::Result<()> {
    if schedule.overlap != Overlap::Replace {
        return Ok(());
    }
    let replaced = under_way_of(work, schedule).await?;
    for run in &replaced {
        runs::call_off(work, application, run, "the next run of the schedule took its place").await?;
    }
    Ok(())
}

async fn under_way_of(work: &mut Work<'_>, schedule: &Schedule) -> windlass_store::Result<Vec<Run>> {
    let mut under_way = run_rows::under_way(work, schedule.application_id).await?;
    under_way.retain(|run| run.schedule_id == Some(schedule.id));
    Ok(under_way)
}

/// Of several in a row the last one is remembered: else they would fill the history.
async fn skip(
    work: &mut Work<'_>,
    application: &Application,
    schedule: &Schedule,
    run: Run,
    now: Timestamp,
) -> windlass_store::Result<()> {
    let last = run_rows::newest_of_schedule(work, schedule.id).await?;
    if let Some(last) = last.filter(|last| last.status == RunStatus::Skipped) {
        return run_rows::skip_again(work, last.id, run.scheduled_at.unwrap_or_default(), &run.reason, now).await;
    }
    let run = Run { status: RunStatus::Skipped, finished_at: Some(now.micros()), ..run };
    run_rows::insert(work, &run).await?;
    runs::tell(work, application, &run, EventName::RunSkipped, &run.reason);
    run_rows::forget_old_of_schedule(work, schedule.id, schedule.kept_runs).await
}
