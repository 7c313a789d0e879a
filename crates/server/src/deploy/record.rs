//! record: the command after the switch, what became of visitors' requests, and releases beyond those that are kept.

use uuid::Uuid;
use windlass_api::LogStep;
use windlass_durable::kill_point;
use windlass_edge::Drained;
use windlass_store::containers::{self, Purpose};
use windlass_store::deployments::{self, PostRun};
use windlass_store::releases;
use windlass_store::volumes;

use super::attempt::open_log;
use super::command;
use super::failure::{Interruption, Result};
use crate::host::Host;
use crate::jobs::Held;
use crate::logs::work_log::Log;
use crate::mounts::{self, Mounted};
use crate::subject::{Subject, SubjectError, read_configuration};

pub async fn record(host: &Host, held: &Held, deployment_id: Uuid, drained: Drained) -> Result<()> {
    let subject = match Subject::load(&host.app, deployment_id).await {
        // It is so old by now that it was forgotten.
        Err(SubjectError::Gone) => return end(held).await,
        subject => subject?,
    };
    let (log, writer) = open_log(host, &subject, LogStep::Drain);
    let recorded = sum_up(host, held, &subject, &log, drained).await;
    drop(log);
    writer.finish().await;
    recorded
}

async fn end(held: &Held) -> Result<()> {
    let mut work = held.begin().await?;
    held.done(&mut work).await?;
    work.commit().await?;
    Ok(())
}

async fn sum_up(host: &Host, held: &Held, subject: &Subject, log: &Log, drained: Drained) -> Result<()> {
    if drained.in_flight > 0 {
        let words = format!("{} finished, {} were cut off at the deadline", drained.finished, drained.cut);
        log.note(format!("Drained the container before: of {} requests under way {words}", drained.in_flight)).await;
    }
    if !subject.configuration.post_run_command.is_empty() && subject.site().is_none() {
        post_run_once(host, held, subject, log).await?;
    }
    remove_commands(host, held, subject).await?;
    kill_point::reached("finish-before-record");
    prune(host, held, subject).await?;
    kill_point::reached("finish-pruned");
    let mut tx = held.begin().await?;
    let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let (finished, cut) = (count(drained.finished), count(drained.cut));
    deployments::add_requests(&mut tx, subject.deployment.id, finished, cut, host.app.now()).await?;
    held.done(&mut tx).await?;
    tx.commit().await?;
    Ok(())
}

/// Whatever comes between: after a crash its end is waited for, and if its container is gone by then, it is not run again.
async fn post_run_once(host: &Host, held: &Held, subject: &Subject, log: &Log) -> Result<()> {
    let id = subject.deployment.id;
    match deployments::post_run(&mut host.app.db.read().await?, id).await? {
        PostRun::Ended => return Ok(()),
        PostRun::Begun if !command_is_there(host, subject).await? => {
            log.enter(LogStep::PostRun);
            log.note("The post-run command was interrupted, and is not run again.").await;
        }
        PostRun::NotBegun | PostRun::Begun => post_run(host, held, subject, log).await?,
    }
    let mut tx = held.begin().await?;
    deployments::set_post_run(&mut tx, id, PostRun::Ended).await?;
    tx.commit().await?;
    kill_point::reached("finish-post-run-ended");
    Ok(())
}

/// Whether the engine has the container of the post-run command.
async fn command_is_there(host: &Host, subject: &Subject) -> Result<bool> {
    let rows = containers::of_deployment(&mut host.app.db.read().await?, subject.deployment.id).await?;
    match rows.iter().find(|row| row.purpose == Purpose::PostRun) {
        Some(row) => Ok(host.container(&row.name).await?.is_some()),
        None => Ok(false),
    }
}

/// Visitors are served already, so that it failed is told and changes nothing.
async fn post_run(host: &Host, held: &Held, subject: &Subject, log: &Log) -> Result<()> {
    log.enter(LogStep::PostRun);
    let mounts = mounts_of(host, subject).await?;
    match command::run(host, held, subject, Purpose::PostRun, &mounts, log).await {
        Ok(0) => log.note("The post-run command ended well.").await,
        Ok(code) => log.note(format!("The post-run command ended with exit code {code}.")).await,
        Err(Interruption::Failed(_, words)) => log.note(format!("The post-run command failed: {words}.")).await,
        Err(other) => return Err(other),
    }
    Ok(())
}

/// What the command has of volumes: the same as the containers of its release.
async fn mounts_of(host: &Host, subject: &Subject) -> Result<Vec<Mounted>> {
    let mut conn = host.app.db.read().await?;
    let instances = containers::instances_of(&mut conn, &[subject.deployment.id]).await?;
    match instances.first() {
        Some(instance) => Ok(mounts::of_container(instance)?),
        None => Ok(volumes::of_application(&mut conn, subject.application.id).await?.iter().map(Mounted::of).collect()),
    }
}

/// The containers of commands stay until now, so that none of them ever runs twice.
async fn remove_commands(host: &Host, held: &Held, subject: &Subject) -> Result<()> {
    let rows = containers::of_deployment(&mut host.app.db.read().await?, subject.deployment.id).await?;
    for container in rows {
        if !matches!(container.purpose, Purpose::PreRun | Purpose::PostRun) {
            continue;
        }
        held.check().await?;
        host.remove_container(&container.name).await?;
        let mut tx = held.begin().await?;
        containers::delete(&mut tx, container.id, host.app.now()).await?;
        tx.commit().await?;
    }
    Ok(())
}

/// First the row says that the release cannot be gone back to, then its image goes. A site goes later, by `site_upkeep`: a visitor may be
/// reading it.
pub async fn prune(host: &Host, held: &Held, subject: &Subject) -> Result<()> {
    let mut tx = held.begin().await?;
    // As the application has it now; the release may be an old one.
    let configuration = read_configuration(&subject.application.configuration)?;
    let kept = i64::from(configuration.settings.kept_releases);
    let surplus = releases::surplus(&mut tx, subject.application.id, kept).await?;
    for release in &surplus {
        releases::set_removed(&mut tx, release.id, host.app.now()).await?;
    }
    releases::forget_services(&mut tx, subject.application.id).await?;
    tx.commit().await?;
    kill_point::reached("finish-releases-marked");
    for release in &surplus {
        held.check().await?;
        for name in release.images() {
            if let Err(error) = host.remove_image(name).await {
                tracing::warn!(%error, image = name, "an image of an old release could not be removed yet");
            }
        }
    }
    Ok(())
}
