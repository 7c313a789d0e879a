//! The deploy: from a repository to served traffic. Each step can run twice without harm and stores its result before the next
//! begins, so that whoever goes on after a crash begins at the first step without one.

mod attempt;
mod build;
mod command;
mod dockerfile;
mod drain;
mod ending;
mod failure;
mod fetch;
pub mod git;
mod health;
mod health_check;
mod kill_points;
mod log;
mod network;
mod port;
mod record;
mod remove;
mod start;
mod stop;
mod switch;

use windlass_store::deployments;
use windlass_store::jobs::Job;

use crate::engine::Engine;
use crate::jobs::lease::Lease;
use crate::jobs::place::Place;
use attempt::Attempt;
pub(crate) use attempt::Subject;
pub use failure::{Interruption, Result};
pub use fetch::end_left_overs;
pub(crate) use git::cache;
pub use kill_points::KILL_POINTS;
pub(crate) use network::ensure as ensure_network;
pub use remove::remove;
pub(crate) use start::specification;
pub use stop::stop;

/// Brings a release to visitors. Until the switch everything can be called off, and the release before goes on serving.
pub async fn deploy(engine: &Engine, job: &Job, lease: &mut Lease, place: &mut Place) -> Result<()> {
    let mut attempt = match Attempt::begin(engine, job).await {
        Err(Interruption::Failed(class, words)) => return ending::end_unread(engine, job, Some(class), &words).await,
        Err(Interruption::Later(words)) if is_cancel_requested(engine, job).await? => {
            return ending::end_unread(engine, job, None, &words).await;
        }
        begun => begun?,
    };
    let outcome = carry_out(&mut attempt, lease, place).await;
    attempt.conclude(outcome).await
}

async fn is_cancel_requested(engine: &Engine, job: &Job) -> Result<bool> {
    let id = job.deployment_id.unwrap_or_default();
    Ok(deployments::is_cancel_requested(&mut engine.app.db.read().await?, id).await?)
}

async fn carry_out(attempt: &mut Attempt<'_>, lease: &mut Lease, place: &mut Place) -> Result<()> {
    let container = match (attempt.live_container().await?, attempt.foregone_outcome()) {
        (Some(container), _) => container,
        (None, Some(outcome)) => return Err(outcome),
        (None, None) => tokio::select! {
            prepared = prepare(attempt, place) => prepared?,
            end = lease.ended() => return Err(end),
        },
    };
    switch::switch(attempt, &container).await
}

async fn prepare(attempt: &mut Attempt<'_>, place: &mut Place) -> Result<windlass_store::containers::Container> {
    if !attempt.is_built() {
        let tree = fetch::fetch(attempt).await?;
        build::build(attempt, &tree).await?;
    }
    let container = start::start(attempt).await?;
    if place.leave_to_wait() {
        attempt.engine.app.jobs_waiting.notify_one();
    }
    health::wait(attempt, &container).await?;
    Ok(container)
}

/// Ends what the deployment has replaced, and sums up. Others may be deploying meanwhile.
pub async fn finish(engine: &Engine, job: &Job) -> Result<()> {
    let drained = drain::drain(engine, job).await?;
    record::record(engine, job, drained).await
}
