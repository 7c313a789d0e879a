//! stop: visitors get a page that says so, requests under way finish, and the container goes. The release stays, to be started
//! again.

use windlass_api::Wanted;
use windlass_durable::kill_point;
use windlass_store::applications;
use windlass_store::containers::{self, Stage};
use windlass_store::jobs::{self, Job};

use super::attempt::begin_work;
use super::drain::retire;
use super::failure::Result;
use crate::engine::Engine;

pub async fn stop(engine: &Engine, job: &Job) -> Result<()> {
    let application = applications::get(&mut engine.app.db.read().await?, job.application_id).await?;
    // Somebody may have changed their mind since.
    let is_wanted = application.is_some_and(|application| application.wanted == Wanted::Stopped);
    if is_wanted {
        retire_all(engine, job).await?;
        kill_point::reached("stop-retired");
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
