//! Command runs: asked for, cancelled, and what became of them. Carrying them out is in `runs`.

use uuid::Uuid;
use windlass_api as api;
use windlass_api::{Can, ErrorCode, EventName, RunCommand, RunSeconds, RunStatus, Wanted};
use windlass_store::applications::Application;
use windlass_store::releases::{self, Artifact, Release};
use windlass_store::runs::{self, End, Run};
use windlass_store::{Conn, deployments, jobs, schedules};

use crate::app::App;
use crate::auth::{Authority, Granted};
use crate::error::{Error, Result};
use crate::logs::Secrets;
use crate::records;
use crate::service::audit::{Action, Actor, Change, Resource};
use crate::service::held_applications::{hold_to_change, lock};
use crate::service::queue;
use crate::service::states;
use crate::service::work::Work;
use crate::shared_variables;

/// Of a command, in the audit log.
const LONGEST_IN_AUDIT: usize = 200;

pub async fn create(app: &App, granted: &Granted<Application>, input: &RunCommand) -> Result<api::CommandRun> {
    let mut work = app.begin().await?;
    let (authority, application) = hold_to_change(&mut work, granted.authority(), granted.row().id).await?;
    may_run(app, &authority)?;
    let timeout_seconds = time_limit(app, input.timeout_seconds)?;
    let service = input.service.as_deref().unwrap_or_default();
    let live = live(&mut work, &application).await?;
    let live = live.map_err(|reason| Error::new(ErrorCode::Conflict, format!("No command can be run: {reason}.")))?;
    service_of(&live.release, service).map_err(|problem| Error::field("service", problem))?;
    if let Some(reason) = beyond_limits(&mut work, &application).await? {
        return Err(Error::new(
            ErrorCode::Conflict,
            format!("No more commands can be run: {reason}. Try again later."),
        ));
    }
    let actor = authority.actor();
    let run = Run {
        user_id: actor.user_id(),
        actor: actor.name().to_owned(),
        command: input.command.to_string(),
        service: service.to_owned(),
        timeout_seconds,
        ..new(app, &application)
    };
    enqueue(&mut work, &application, &run).await?;
    record(&mut work, &actor, Action::Create, &application, &run, "ran a command of").await?;
    work.commit().await?;
    Ok(records::runs::run(run, true))
}

/// A command can read all that its application's variables hold, and print it.
pub fn may_run(app: &App, authority: &Authority) -> Result<()> {
    authority.require(app, Can::VariableRead)
}

/// One that waits, without what it is to do.
pub fn new(app: &App, application: &Application) -> Run {
    Run {
        id: app.new_id(),
        organization_id: application.organization_id,
        application_id: application.id,
        schedule_id: None,
        schedule_name: String::new(),
        scheduled_at: None,
        user_id: None,
        actor: String::new(),
        command: String::new(),
        service: String::new(),
        timeout_seconds: 0,
        status: RunStatus::Queued,
        ending: String::new(),
        reason: String::new(),
        exit_code: None,
        deployment_id: None,
        release_id: None,
        has_begun: false,
        created_at: app.now(),
        started_at: None,
        finished_at: None,
    }
}

/// The row, and the job that carries it out.
pub async fn enqueue(work: &mut Work<'_>, application: &Application, run: &Run) -> windlass_store::Result<()> {
    runs::insert(work, run).await?;
    work.enqueue(&queue::run(run)).await?;
    tell(work, application, run, EventName::RunQueued, "");
    Ok(())
}

/// How long a run may take.
pub fn time_limit(app: &App, asked: Option<RunSeconds>) -> Result<i64> {
    let most = app.config.run_seconds;
    match asked.map(RunSeconds::get) {
        None => Ok(most),
        Some(seconds) if seconds <= most => Ok(seconds),
        Some(_) => Err(Error::field("timeout_seconds", format!("must be at most {most} (run-seconds)"))),
    }
}

/// What visitors are served by, of which a run gets a container of its own.
pub struct Live {
    pub deployment_id: Uuid,
    pub release: Release,
}

/// Or, in words, why nothing of the application can be run.
pub async fn live(
    conn: &mut Conn,
    application: &Application,
) -> windlass_store::Result<std::result::Result<Live, String>> {
    let name = &application.name;
    match application.wanted {
        Wanted::Running => {}
        Wanted::Stopped => return Ok(Err(format!("{name} is stopped"))),
        Wanted::Deleted => return Ok(Err(format!("{name} is being deleted"))),
    }
    let deployment = match application.live_deployment_id {
        Some(id) => deployments::get(conn, id).await?,
        None => None,
    };
    let release = match &deployment {
        Some(deployment) => releases::get(conn, deployment.release_id).await?,
        None => None,
    };
    let (Some(deployment), Some(release)) = (deployment, release) else {
        return Ok(Err(format!("nothing of {name} is live yet")));
    };
    if release.is_site() {
        return Ok(Err(format!("{name} is a site, which has no containers")));
    }
    Ok(Ok(Live { deployment_id: deployment.id, release }))
}

/// The service that a run of a release is of; empty for one without services. Or what is wrong with the one that was asked for.
pub fn service_of(release: &Release, asked: &str) -> std::result::Result<String, String> {
    let services = match &release.artifact {
        Some(Artifact::Services(services)) => services,
        _ if asked.is_empty() => return Ok(String::new()),
        _ => return Err("the live release has no services".to_owned()),
    };
    if asked.is_empty() {
        return Ok(services.main.clone());
    }
    let names: Vec<&str> = services.all.iter().map(|one| one.service.as_str()).collect();
    match names.contains(&asked) {
        true => Ok(asked.to_owned()),
        false => Err(format!("the live release has no service {asked}; it has {}", names.join(", "))),
    }
}

/// Why no further one can wait. For a caller that holds the organization.
pub async fn beyond_limits(work: &mut Work<'_>, application: &Application) -> windlass_store::Result<Option<String>> {
    let (of_application, of_organization) = (work.app.config.application_runs, work.app.config.organization_runs);
    if runs::under_way(work, application.id).await?.len() >= of_application {
        return Ok(Some(format!(
            "{of_application} runs of {} wait or are under way, which is the most (application-runs)",
            application.name
        )));
    }
    if runs::count_under_way(work, application.organization_id).await? >= of_organization {
        return Ok(Some(format!(
            "{of_organization} runs of the organization wait or are under way, which is the most (organization-runs)"
        )));
    }
    Ok(None)
}

/// The message for the caller, and the run. One that waits is cancelled at once, one that runs as soon as its container has ended.
pub async fn cancel(app: &App, granted: &Granted<Run>) -> Result<(&'static str, api::CommandRun)> {
    let mut work = app.begin().await?;
    let authority = work.hold(granted.authority()).await?;
    let application = lock(&mut work, &authority, granted.row().application_id).await?;
    let id = granted.row().id;
    let run = runs::get(&mut work, id).await?.ok_or_else(|| Error::not_found("run"))?;
    if run.status.is_over() {
        let message = format!("This run is over: it is {}.", run.status.as_str());
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    let actor = authority.actor();
    let is_ended = call_off(&mut work, &application, &run, &format!("cancelled by {}", actor.name())).await?;
    record(&mut work, &actor, Action::Update, &application, &run, "cancelled a command of").await?;
    let run = runs::get(&mut work, id).await?.ok_or_else(|| Error::not_found("run"))?;
    work.commit().await?;
    let message = if is_ended { "Run cancelled" } else { "Run is being cancelled" };
    Ok((message, records::runs::run(run, authority.may(Can::VariableRead))))
}

/// Cancels one that is not over. True when that was all: no worker has begun it. The caller holds the application.
pub async fn call_off(
    work: &mut Work<'_>,
    application: &Application,
    run: &Run,
    reason: &str,
) -> windlass_store::Result<bool> {
    let is_withdrawn = run.status == RunStatus::Queued && jobs::withdraw(work, run.id).await?;
    if is_withdrawn {
        let ended = End { status: RunStatus::Cancelled, exit_code: None, reason: reason.to_owned() };
        end(work, application, run, &ended).await?;
    } else {
        let now = work.app.now();
        runs::set_ending(work, run.id, RunStatus::Cancelled, reason).await?;
        jobs::request_cancel(work, run.id, now).await?;
    }
    Ok(is_withdrawn)
}

/// The application is stopped or deleted: those that wait are over, and the others end.
pub async fn interrupt_all(work: &mut Work<'_>, application: &Application, reason: &str) -> windlass_store::Result<()> {
    for run in runs::under_way(work, application.id).await? {
        if run.status == RunStatus::Queued && jobs::withdraw(work, run.id).await? {
            let ended = End { status: RunStatus::Interrupted, exit_code: None, reason: reason.to_owned() };
            end(work, application, &run, &ended).await?;
        } else {
            runs::set_ending(work, run.id, RunStatus::Interrupted, reason).await?;
            // It ends by itself too: the application may be started again before what it had was ended.
            let now = work.app.now();
            jobs::request_cancel(work, run.id, now).await?;
        }
    }
    Ok(())
}

/// A run is over: told to all who want to hear of it. Does nothing when it was over already.
pub async fn end(work: &mut Work<'_>, application: &Application, run: &Run, ended: &End) -> windlass_store::Result<()> {
    let (now, kept) = (work.app.now(), work.app.config.kept_runs);
    if !runs::end(work, run.id, ended, now).await? {
        return Ok(());
    }
    let name = match ended.status {
        RunStatus::Succeeded => EventName::RunSucceeded,
        RunStatus::Cancelled => EventName::RunCancelled,
        RunStatus::Skipped => EventName::RunSkipped,
        RunStatus::Failed | RunStatus::TimedOut | RunStatus::Interrupted | RunStatus::Queued | RunStatus::Running => {
            EventName::RunFailed
        }
    };
    tell(work, application, run, name, &ended.reason);
    match run.schedule_id {
        Some(id) => {
            let kept = schedules::get(work, id).await?.map_or(kept, |schedule| schedule.kept_runs);
            runs::forget_old_of_schedule(work, id, kept).await
        }
        None => {
            record_end(work, application, run, ended);
            runs::forget_old_of_application(work, application.id, kept).await
        }
    }
}

pub fn tell(work: &mut Work<'_>, application: &Application, run: &Run, name: EventName, reason: &str) {
    let id = run.id.to_string();
    let details = [
        ("application", application.name.as_str()),
        ("run", &id),
        ("schedule", &run.schedule_name),
        ("reason", reason),
    ];
    work.tell(name, states::subject(application, run.deployment_id), &details);
}

pub async fn record(
    work: &mut Work<'_>,
    actor: &Actor,
    action: Action,
    application: &Application,
    run: &Run,
    verb: &str,
) -> Result<()> {
    let command = for_audit(work, application, &run.command).await;
    let change = Change {
        organization_id: Some(run.organization_id),
        action,
        resource: Resource::Run,
        resource_id: run.id,
        summary: &format!("{verb} {}", application.name),
        details: &[
            ("application", &application.name),
            ("application_id", &application.id.to_string()),
            ("command", &command),
            ("service", &run.service),
        ],
    };
    work.record(actor, &change);
    Ok(())
}

/// How it ended is as important as who began it. Of a schedule's only its history tells that: they are many.
fn record_end(work: &mut Work<'_>, application: &Application, run: &Run, ended: &End) {
    let exit_code = ended.exit_code.map(|code| code.to_string()).unwrap_or_default();
    let change = Change {
        organization_id: Some(run.organization_id),
        action: Action::Update,
        resource: Resource::Run,
        resource_id: run.id,
        summary: &format!("saw the end of a command of {}", application.name),
        details: &[
            ("application", &application.name),
            ("application_id", &application.id.to_string()),
            ("status", ended.status.as_str()),
            ("exit_code", &exit_code),
        ],
    };
    work.record(&Actor::Server, &change);
}

/// The beginning of a command, without values that are marked secret.
pub async fn for_audit(work: &mut Work<'_>, application: &Application, command: &str) -> String {
    let app = work.app;
    let secrets = match shared_variables::of_application(work, &app.vault, application).await {
        Ok(variables) => Secrets::new(&variables, []),
        Err(error) => {
            tracing::warn!(cause = error.cause, "what must not be shown cannot be read, so nothing is shown");
            Secrets::Everything
        }
    };
    let safe = secrets.mask(command);
    safe.chars().take(LONGEST_IN_AUDIT).map(|c| if c.is_control() { ' ' } else { c }).collect()
}
