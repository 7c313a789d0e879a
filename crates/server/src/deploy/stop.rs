//! stop: visitors get a page that says so, requests under way finish, and the container goes. The release stays, to be started
//! again.

use windlass_api::{LogStep, LogStream, Wanted};
use windlass_durable::kill_point;
use windlass_store::applications::{self, Application};
use windlass_store::containers::{self, Stage};
use windlass_store::jobs::{self, Job};
use windlass_store::logs::Line;

use super::attempt::begin_work;
use super::drain::retire;
use super::failure::Result;
use crate::engine::Engine;

pub async fn stop(engine: &Engine, job: &Job) -> Result<()> {
    let application = applications::get(&mut engine.app.db.read().await?, job.application_id).await?;
    // It may have been started again since.
    let stopped = application.filter(|application| application.wanted == Wanted::Stopped);
    let is_wanted = stopped.is_some();
    if let Some(application) = stopped {
        retire_all(engine, job).await?;
        kill_point::reached("stop-retired");
        leave_line(engine, &application).await;
    }
    let mut tx = begin_work(engine, job).await?;
    let rows = containers::of_application(&mut tx, job.application_id).await?;
    if is_wanted || !rows.iter().any(|row| row.stage == Stage::Live) {
        applications::set_live(&mut tx, job.application_id, None).await?;
    }
    jobs::delete(&mut tx, job).await?;
    applications::settle(&mut tx, job.application_id, engine.app.now()).await?;
    tx.commit().await?;
    Ok(())
}

/// Into the log of what was live: a person who reads it must see why nothing is printed any more.
async fn leave_line(engine: &Engine, application: &Application) {
    let Some(live) = application.live_deployment_id else { return };
    let text = "Stopped on request. Visitors get a page that says so, until it is started again.".to_owned();
    let line = Line { at: engine.app.now(), stream: LogStream::Windlass, step: LogStep::Drain, text };
    engine.app.logs.note(application.id, live, line).await;
}

/// Ends every container that the application has.
pub async fn retire_all(engine: &Engine, job: &Job) -> Result<()> {
    let mut tx = begin_work(engine, job).await?;
    let rows = containers::of_application(&mut tx, job.application_id).await?;
    for container in &rows {
        containers::set_stage(&mut tx, container.id, Stage::Leaving).await?;
    }
    tx.commit().await?;
    for container in &rows {
        retire(engine, job, container).await?;
    }
    Ok(())
}
