//! Which containers of the release before are what this one wants, and stay as they are.

use serde::Serialize;
use sha2::{Digest, Sha256};
use windlass_api::Failure;
use windlass_runtime::{ContainerHealth, Image, State};
use windlass_store::containers::{self, Container, Purpose, Stage};

use super::Wanted;
use super::starting::main_service;
use crate::deploy::attempt::Attempt;
use crate::deploy::failure::{Interruption, Result};
use crate::mounts::{self, Mounted};
use crate::release_services::ReleaseService;

/// Of all that a container is made of, except the addresses of other services, which change with each release: see [`keep_unchanged`].
pub fn hash(definition: &ReleaseService, image: &Image, mounts: &[Mounted], more: impl Serialize) -> Result<String> {
    // Each build has an image of its own, which may have the same in it.
    let json = serde_json::to_vec(&(&definition.service, definition.port, &image.content, mounts, more))
        .map_err(|error| Interruption::Failed(Failure::Internal, error.to_string()))?;
    Ok(Sha256::digest(json).iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Only what has data of its own stays, and never what visitors of the main domain reach: everything else is made anew, so that the services of a release talk to each other and to none of
/// another release. A container finds the others where they were when it was made, so it stays only if all stay that it depends on.
pub async fn keep_unchanged(attempt: &Attempt<'_>, all: &mut [Wanted]) -> Result<()> {
    let rows = containers::of_application(&mut attempt.host.app.db.read().await?, attempt.application.id).await?;
    // What an attempt before this one has begun to replace is not kept.
    let is_begun =
        |name: &str| rows.iter().any(|row| row.deployment_id == attempt.deployment.id && row.service == name);
    let main = main_service(attempt);
    for wanted in
        all.iter_mut().filter(|wanted| wanted.has_own_data() && !wanted.definition.is_task && wanted.name() != main)
    {
        let is_same = |row: &&Container| {
            row.deployment_id != attempt.deployment.id
                && row.purpose == Purpose::App
                && row.stage == Stage::Live
                && row.service == wanted.definition.service.name
                && row.specification_hash == wanted.hash
        };
        if let Some(row) = rows.iter().find(is_same).filter(|_| !is_begun(&wanted.definition.service.name))
            && is_well(attempt, row).await?
        {
            wanted.kept = Some(row.clone());
        }
    }
    while let Some(index) = all.iter().position(|wanted| wanted.kept.is_some() && must_be_replaced(wanted, all)) {
        all[index].kept = None;
    }
    Ok(())
}

/// As far as the engine can tell.
async fn is_well(attempt: &Attempt<'_>, row: &Container) -> Result<bool> {
    let found = attempt.host.container(&row.name).await?;
    let is_well = |found: &windlass_runtime::Container| {
        found.state == State::Running && !matches!(found.health, Some(ContainerHealth::Unhealthy(_)))
    };
    Ok(row.crash_loop.is_empty() && found.as_ref().is_some_and(is_well))
}

/// Whether it depends on one that is replaced, or has data that one that is replaced writes too.
fn must_be_replaced(wanted: &Wanted, all: &[Wanted]) -> bool {
    let depends_on =
        |other: &Wanted| wanted.definition.service.depends_on.iter().any(|need| need.service == other.name());
    let replaced = |other: &&Wanted| other.kept.is_none();
    all.iter().filter(replaced).any(|other| depends_on(other) || mounts::exclude(&wanted.mounts, &other.mounts))
}
