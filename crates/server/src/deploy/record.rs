//! record: the command after the switch, what became of visitors' requests, and releases beyond those that are kept.

use windlass_api::{Configuration, LogStep};
use windlass_durable::kill_point;
use windlass_edge::target::Drained;
use windlass_store::containers::{self, Purpose};
use windlass_store::jobs::{self, Job};
use windlass_store::{deployments, releases};

use super::attempt::{Subject, begin_work, check_held, read};
use super::command;
use super::failure::{Interruption, Result};
use super::log::Log;
use crate::engine::Engine;

pub async fn record(engine: &Engine, job: &Job, drained: Drained) -> Result<()> {
    let subject = Subject::load(&engine.app, job.deployment_id.unwrap_or_default()).await?;
    let (log, writer) = subject.open_log(engine, LogStep::Drain);
    let recorded = sum_up(engine, job, &subject, &log, drained).await;
    drop(log);
    writer.finish().await;
    recorded
}

async fn sum_up(engine: &Engine, job: &Job, subject: &Subject, log: &Log, drained: Drained) -> Result<()> {
    if drained.in_flight > 0 {
        let words = format!("{} finished, {} were cut off at the deadline", drained.finished, drained.cut);
        log.note(format!("Drained the container before: of {} requests under way {words}", drained.in_flight)).await;
    }
    if !subject.configuration.post_run_command.is_empty() {
        post_run(engine, job, subject, log).await?;
    }
    remove_commands(engine, job, subject).await?;
    kill_point::reached("finish-before-record");
    prune(engine, job, subject).await?;
    kill_point::reached("finish-pruned");
    let mut tx = begin_work(engine, job).await?;
    let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let (finished, cut) = (count(drained.finished), count(drained.cut));
    deployments::set_requests(&mut tx, subject.deployment.id, finished, cut, engine.app.now()).await?;
    jobs::delete(&mut tx, job).await?;
    tx.commit().await?;
    Ok(())
}

/// Visitors are served already, so that it failed is told and changes nothing.
async fn post_run(engine: &Engine, job: &Job, subject: &Subject, log: &Log) -> Result<()> {
    log.enter(LogStep::PostRun);
    match command::run(engine, job, subject, Purpose::PostRun, log).await {
        Ok(0) => log.note("The post-run command ended well.").await,
        Ok(code) => log.note(format!("The post-run command ended with exit code {code}.")).await,
        Err(Interruption::Failed(_, words)) => log.note(format!("The post-run command failed: {words}.")).await,
        Err(other) => return Err(other),
    }
    Ok(())
}

/// The containers of commands stay until now, so that none of them ever runs twice.
async fn remove_commands(engine: &Engine, job: &Job, subject: &Subject) -> Result<()> {
    let rows = containers::of_deployment(&mut engine.app.db.read().await?, subject.deployment.id).await?;
    for container in rows {
        if container.purpose == Purpose::App {
            continue;
        }
        check_held(engine, job).await?;
        engine.remove_container(&container.name).await?;
        let mut tx = begin_work(engine, job).await?;
        containers::delete(&mut tx, container.id, engine.app.now()).await?;
        tx.commit().await?;
    }
    Ok(())
}

/// First the row says that the release cannot be gone back to, then its image goes.
async fn prune(engine: &Engine, job: &Job, subject: &Subject) -> Result<()> {
    let mut tx = begin_work(engine, job).await?;
    // As the application has it now; the release may be an old one.
    let configuration: Configuration = read(&subject.application.configuration)?;
    let kept = i64::from(configuration.settings.kept_releases);
    let surplus = releases::surplus(&mut tx, subject.application.id, kept).await?;
    for release in &surplus {
        releases::set_removed(&mut tx, release.id, engine.app.now()).await?;
    }
    tx.commit().await?;
    kill_point::reached("finish-releases-marked");
    for release in &surplus {
        check_held(engine, job).await?;
        if let Err(error) = engine.docker.remove_image(&release.image).await {
            tracing::warn!(%error, image = release.image, "the image of an old release could not be removed yet");
        }
    }
    Ok(())
}
