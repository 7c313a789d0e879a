//! One command run, from its row to its end. Each step can run twice without harm, but for the start of its container, which is seen to
//! happen once: after a crash the container is followed on, and where it is gone the run is told to be interrupted.

use std::sync::Arc;

use uuid::Uuid;
use windlass_api::{LogStep, RunStatus};
use windlass_durable::kill_point;
use windlass_runtime::{Creation, State};
use windlass_store::applications::{self, Application};
use windlass_store::containers::{self, Container, Stage};
use windlass_store::jobs;
use windlass_store::logs::LogLine;
use windlass_store::runs::{self, End, Run};

use super::container::{self, Prepared};
use super::follow::follow;
use crate::deploy::{Interruption, Result, bounded_reason};
use crate::host::Host;
use crate::jobs::{Held, Lease};
use crate::service::runs as service;
use crate::service::work::Work;

const VANISHED: &str = "its container vanished, so it is not known how far it came";

pub async fn carry_out(host: &Arc<Host>, held: &Held, run_id: Uuid, lease: &mut Lease) -> Result<()> {
    kill_point::reached("run-claimed");
    let run = runs::get(&mut host.app.db.read().await?, run_id).await?;
    // Its row goes with the application's.
    if let Some(run) = run.filter(|run| !run.status.is_over()) {
        let ended = match Box::pin(attempt(host, held, &run, lease)).await {
            Ok(ended) => ended,
            Err(Interruption::Failed(_, words)) => over(RunStatus::Failed, words),
            Err(Interruption::Later(words)) => {
                note_waiting(host, held, &run, &words).await;
                return Err(Interruption::Later(words));
            }
            Err(other) => return Err(other),
        };
        end(host, held, &run, ended).await?;
        kill_point::reached("run-ended");
    }
    match lease.during(container::remove(host, held, run_id)).await {
        Some(removed) => removed,
        None => Err(Interruption::Lost),
    }
}

pub fn over(status: RunStatus, reason: impl Into<String>) -> End {
    End { status, exit_code: None, reason: reason.into() }
}

/// Once, because it is tried again soon.
async fn note_waiting(host: &Host, held: &Held, run: &Run, words: &str) {
    if run.status == RunStatus::Queued && held.job.fence == 1 {
        let line = LogLine::note(host.app.now(), LogStep::Command, format!("The run waits: {words}."));
        host.app.logs.note(run.id, run.id, line).await;
    }
}

/// A transaction of the worker that holds the job, in which no other changes the run's application.
pub async fn begin<'a>(held: &'a Held, application_id: Uuid) -> Result<(Work<'a>, Option<Application>)> {
    let mut work = held.app.begin_step().await?;
    let application = applications::lock(&mut work, application_id).await?;
    jobs::hold(&mut work, &held.job).await?;
    Ok((work, application))
}

/// From wherever an attempt before this one has come to.
async fn attempt(host: &Arc<Host>, held: &Held, run: &Run, lease: &mut Lease) -> Result<End> {
    let starting = Box::pin(async {
        match run.status {
            RunStatus::Queued => match container::prepare(host, held, run).await? {
                Ok(prepared) => start_new(host, held, run, &prepared).await,
                Err(ended) => Ok(Err(ended)),
            },
            _ => start_again(host, held, run).await,
        }
    });
    let started = lease.during(starting).await;
    match started {
        None => Err(Interruption::Lost),
        Some(started) => match started? {
            Ok(container) => follow(host, held, run, &container, lease).await,
            Err(ended) => Ok(ended),
        },
    }
}

/// What the run has for its container, or how it ended without one.
type Started = std::result::Result<Container, End>;

async fn start_new(host: &Host, held: &Held, run: &Run, prepared: &Prepared) -> Result<Started> {
    let row = &prepared.container;
    let state = match host.create_container(&prepared.specification).await? {
        Creation::Created(_) => State::Created,
        Creation::Exists(found) => found.state,
    };
    if state == State::Created {
        container::write_files(host, prepared).await?;
    }
    kill_point::reached("run-created");
    let (mut work, _) = begin(held, run.application_id).await?;
    if let Some(ended) = called_off(&mut work, run).await? {
        return Ok(Err(ended));
    }
    runs::set_begun(&mut work, run.id).await?;
    work.commit().await?;
    kill_point::reached("run-begun");
    start(host, held, row, state).await?;
    Ok(Ok(row.clone()))
}

async fn start(host: &Host, held: &Held, row: &Container, state: State) -> Result<()> {
    if state == State::Created {
        held.check().await?;
        host.start_container(&row.name).await?;
    }
    kill_point::reached("run-started");
    Ok(())
}

/// After a crash, or when the engine was lost. What has begun is never begun again.
async fn start_again(host: &Host, held: &Held, run: &Run) -> Result<Started> {
    let row = container::row_of(host, run.id).await?;
    let Some(row) = row else { return Ok(Err(lost(host, run).await?)) };
    if !run.has_begun {
        let prepared = container::again(host, run, row).await?;
        return start_new(host, held, run, &prepared).await;
    }
    match host.container(&row.name).await? {
        None => Ok(Err(lost(host, run).await?)),
        Some(found) => {
            start(host, held, &row, found.state).await?;
            Ok(Ok(row))
        }
    }
}

/// Its container is gone: something that ends all of the application's may have said why.
pub async fn lost(host: &Host, run: &Run) -> Result<End> {
    let now = runs::get(&mut host.app.db.read().await?, run.id).await?.ok_or(Interruption::Lost)?;
    Ok(match now.decided() {
        Some(status) => over(status, now.reason),
        None => over(RunStatus::Interrupted, VANISHED),
    })
}

/// In the transaction that is about to let it begin.
pub async fn called_off(work: &mut Work<'_>, run: &Run) -> Result<Option<End>> {
    let now = runs::get(work, run.id).await?.ok_or(Interruption::Lost)?;
    if let Some(status) = now.decided() {
        return Ok(Some(over(status, now.reason)));
    }
    Ok(match containers::get(work, run.id).await? {
        Some(row) if row.stage == Stage::Leaving => Some(over(RunStatus::Interrupted, "the application was stopped")),
        _ => None,
    })
}

/// Of one that was called off it does not matter why it could not be started meanwhile.
pub fn as_decided(run: &Run, ended: End) -> End {
    match run.decided() {
        Some(status) if ended.exit_code.is_none() => over(status, run.reason.clone()),
        _ => ended,
    }
}

/// What became of it, for its followers first: who sees that it is over has seen all of its lines.
async fn end(host: &Host, held: &Held, run: &Run, ended: End) -> Result<()> {
    let ended = match runs::get(&mut host.app.db.read().await?, run.id).await? {
        Some(now) => as_decided(&now, ended),
        None => ended,
    };
    let ended = End { reason: bounded_reason(&ended.reason), ..ended };
    let words = match ended.reason.as_str() {
        "" => format!("The run has ended: {}.", shown(ended.status)),
        reason => format!("The run has ended: {}. Reason: {reason}", shown(ended.status)),
    };
    for text in words.lines().map(str::to_owned) {
        let line = LogLine::note(host.app.now(), LogStep::Command, text);
        host.app.logs.note(run.id, run.id, line).await;
    }
    let (mut work, application) = begin(held, run.application_id).await?;
    if let Some(application) = application {
        let run = runs::get(&mut work, run.id).await?.ok_or(Interruption::Lost)?;
        service::end(&mut work, &application, &run, &ended).await?;
        work.commit().await?;
    }
    Ok(())
}

fn shown(status: RunStatus) -> String {
    status.as_str().replace('_', " ")
}
