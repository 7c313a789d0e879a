//! The deploy: from a repository to served traffic. Each step can run twice without harm and stores its result before the next
//! begins, so that the worker that goes on after a crash begins at the first step without one.

mod attempt;
mod build;
pub mod build_plan;
mod ceiling;
mod command;
mod compose_file;
mod container;
pub mod deploy_plan;
mod detected;
mod dockerfile;
mod drain;
mod ending;
mod extension;
mod failure;
mod fetch;
mod gap;
pub mod git;
mod handlers;
mod health;
mod health_check;
mod helper;
mod hold;
mod hold_limit;
mod image;
mod isolation;
mod kill_points;
mod network;
mod newest_commit;
mod pack;
mod paused;
mod port;
mod record;
mod remove;
mod repository;
mod restore;
mod resume;
mod services;
mod site;
mod snapshot;
mod start;
mod stop;
mod switch;
mod volumes;

use std::sync::Arc;

use uuid::Uuid;
use windlass_api::{BuildPack, RepositoryAddress};
use windlass_store::containers::Container;

use crate::host::Host;
use crate::jobs::{Held, Lease, Slot};
use attempt::Attempt;
pub(crate) use attempt::open_log;
pub(crate) use container::{refuse_beside_snapshot, specification};
pub(crate) use ending::bounded_reason;
pub(crate) use failure::outcome;
pub use failure::{Interruption, Result};
pub use fetch::end_left_overs;
pub(crate) use git::cache;
pub use handlers::registry;
pub(crate) use isolation::is_release_name;
pub use kill_points::KILL_POINTS;
pub(crate) use network::{
    ensure as ensure_network, of_application as network_of, remove_unused as remove_unused_networks, take_address,
};
pub(crate) use services::{refuse_host_access, write_files as write_service_files};
pub(crate) use volumes::{ensure_on_engine as ensure_volume_on_engine, refuse_vanished as refuse_vanished_volumes};

/// Brings a release to visitors. Until the switch everything can be called off, and the release before goes on serving.
/// A restart is this too: all instances are replaced at one switch. There is one at a time for each application,
/// because these jobs have the application as their exclusive key.
async fn deploy(host: &Arc<Host>, held: &Held, deployment_id: Uuid, lease: &mut Lease, slot: &mut Slot) -> Result<()> {
    let mut attempt = match Attempt::begin(host, held, deployment_id).await {
        Err(Interruption::Failed(class, words)) => {
            return ending::end_unread(host, held, deployment_id, Some(class), &words).await;
        }
        Err(Interruption::Later(words)) if held.is_cancel_requested().await? => {
            return ending::end_unread(host, held, deployment_id, None, &words).await;
        }
        begun => begun?,
    };
    let outcome = carry_out(&mut attempt, lease, slot).await;
    attempt.conclude(outcome).await
}

async fn carry_out(attempt: &mut Attempt<'_>, lease: &mut Lease, slot: &mut Slot) -> Result<()> {
    let instances = match (attempt.live_instances().await?, attempt.stored_outcome().await?) {
        (Some(instances), _) => instances,
        (None, Some(outcome)) => return Err(outcome),
        (None, None) => tokio::select! {
            prepared = prepare(attempt, slot) => prepared?,
            end = lease.ended() => return Err(end.into()),
        },
    };
    switch::switch(attempt, &instances).await
}

/// All instances of the release, well and beside those that visitors are sent to; or in their place, while visitors wait. None if it is a
/// site.
async fn prepare(attempt: &mut Attempt<'_>, slot: &mut Slot) -> Result<Vec<Container>> {
    if attempt.held.job.fence > 1 {
        paused::unpause_all(attempt).await?;
    }
    if !attempt.is_built() {
        make(attempt).await?;
    }
    if let Some(site) = attempt.site().cloned() {
        site::prepare(attempt, &site).await?;
        return Ok(Vec::new());
    }
    if let Some(services) = attempt.services.clone() {
        return services::prepare(attempt, services, slot).await;
    }
    if !attempt.configuration.pre_run_command.is_empty() {
        leave(slot, attempt);
    }
    let network = start::prepare(attempt).await?;
    attempt.hold = hold::begin(attempt).await?;
    snapshot::before_deploy(attempt).await?;
    start::pre_run(attempt).await?;
    let mut instances = Vec::new();
    for ordinals in start::groups(attempt.configuration.settings.replicas) {
        let group = start::start(attempt, &network, ordinals).await?;
        leave(slot, attempt);
        health::wait(attempt, &group).await?;
        instances.extend(group);
    }
    health::all_run(attempt, &instances).await?;
    Ok(instances)
}

/// The release's artifact.
async fn make(attempt: &mut Attempt<'_>) -> Result<()> {
    if attempt.configuration.build_pack == BuildPack::Image {
        return image::take(attempt).await;
    }
    if attempt.application.repository == RepositoryAddress::EXTENSION {
        return extension::take(attempt).await;
    }
    let tree = fetch::fetch(attempt).await?;
    build::build(attempt, &tree).await
}

/// What is built is built: from here on the deployment waits for its containers.
fn leave(slot: &mut Slot, attempt: &Attempt<'_>) {
    if slot.leave_to_wait() {
        attempt.host.app.jobs_waiting.notify_one();
    }
}

/// Ends what the deployment has replaced, and sums up. Others may be deploying meanwhile.
async fn finish(host: &Host, held: &Held, deployment_id: Uuid) -> Result<()> {
    let drained = drain::drain(host, held, deployment_id).await?;
    record::record(host, held, deployment_id, drained).await
}
