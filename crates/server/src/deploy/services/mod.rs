//! The services of a compose file, as one release: all their containers are made beside those that serve, each after those that it
//! depends on, and the switch is one for all of them.
//!
//! What has a volume to itself is not run twice. If it is what the release before has, and visitors of the main domain do not reach it, its
//! container stays, and serves both releases during the switch; else visitors wait while the one ends and the other begins.

mod health;
mod images;
mod keeping;
mod specification;
mod starting;
mod volumes;

use windlass_api::{DeploymentKind, DeploymentState, Failure, LogStep};
use windlass_durable::kill_point;
use windlass_runtime::Image;
use windlass_store::application_domains::{self, ApplicationDomain};
use windlass_store::applications::Application;
use windlass_store::containers::Container;

use super::attempt::Attempt;
use super::failure::{Result, failed};
use super::{hold, network, restore, snapshot, start};
use crate::host::Host;
use crate::jobs::Slot;
use crate::mounts::Mounted;
use crate::release_services::{ReleaseService, ReleaseServices};

pub use images::{build, may_reach_host};
pub use specification::{grace, specification, write_files};

/// A service that is to run, with what it needs on the engine.
struct Wanted {
    /// From 1 on, in the order in which they are started.
    ordinal: u32,
    definition: ReleaseService,
    image: Image,
    mounts: Vec<Mounted>,
    /// Of all that its container is made of, except where the others are.
    hash: String,
    /// The container of the release before, if that is what is wanted.
    kept: Option<Container>,
}

impl Wanted {
    fn name(&self) -> &str {
        &self.definition.service.name
    }

    /// Whether it has data that no other release may write at the same time.
    fn has_own_data(&self) -> bool {
        self.mounts.iter().any(|mounted| !mounted.shared)
    }
}

/// The containers of all services, well; those that stay included.
pub async fn prepare(attempt: &mut Attempt<'_>, services: ReleaseServices, slot: &mut Slot) -> Result<Vec<Container>> {
    attempt.log.enter(LogStep::Start);
    attempt.advance(DeploymentState::Deploying).await?;
    kill_point::reached("deploy-before-container");
    refuse_host_access(attempt.host, &attempt.application, &services).await?;
    let mut all = wanted(attempt, services).await?;
    if attempt.deployment.kind != DeploymentKind::Restart {
        keeping::keep_unchanged(attempt, &mut all).await?;
    }
    warn_of_domains(attempt, &all).await?;
    let replaced = all.iter().filter(|wanted| wanted.kept.is_none());
    attempt.mounts = replaced.flat_map(|wanted| wanted.mounts.clone()).collect();
    let network = network::of_application(attempt.host, &attempt.application).await?;
    attempt.hold = hold::begin(attempt).await?;
    snapshot::before_deploy(attempt).await?;
    let rows = starting::rows(attempt, &network, &all).await?;
    super::leave(slot, attempt);
    starting::start_all(attempt, &network, &all, &rows).await
}

/// Every service with its image and its volumes, which are on the engine from now on.
async fn wanted(attempt: &Attempt<'_>, services: ReleaseServices) -> Result<Vec<Wanted>> {
    let mut images = Vec::new();
    for definition in &services.all {
        match attempt.host.image(&definition.image_id).await? {
            Some(image) => images.push(image),
            None => return Err(start::image_missing(attempt).await?),
        }
    }
    let mut mounts = volumes::ensure(attempt, &services, &images).await?;
    restore::prepare(attempt, &mut mounts.iter_mut().flatten().collect::<Vec<_>>()).await?;
    let mut all = Vec::new();
    for (((definition, image), mounts), ordinal) in services.all.into_iter().zip(images).zip(mounts).zip(1..) {
        let limits =
            specification::limits(attempt.host, &definition.service, &attempt.configuration.settings, services.shares);
        // The one that visitors of the main domain reach finds all others.
        let is_main = starting::main_service(attempt) == definition.service.name;
        let hash = keeping::hash(&definition, &image, &mounts, (services.reaches_host, limits, is_main))?;
        all.push(Wanted { ordinal, definition, image, mounts, hash, kept: None });
    }
    Ok(all)
}

/// Visitors of a domain whose service is not there get a page; the log says why.
async fn warn_of_domains(attempt: &Attempt<'_>, all: &[Wanted]) -> Result<()> {
    let domains =
        application_domains::of_application(&mut attempt.host.app.db.read().await?, attempt.application.id).await?;
    for domain in domains.iter().filter(|domain| !domain.service.is_empty()) {
        let ApplicationDomain { domain, service, .. } = domain;
        let found = all.iter().find(|wanted| wanted.name() == service && !wanted.definition.is_task);
        let words = match found {
            None => format!(
                "Visitors of {domain} are not served: it leads to the service {service}, which the compose file does not have."
            ),
            Some(wanted) if wanted.definition.port == 0 && service != starting::main_service(attempt) => format!(
                "Visitors of {domain} are not served: it is not known where the service {service} listens. Name that in its ports or expose."
            ),
            Some(_) => continue,
        };
        attempt.log.note(words).await;
    }
    Ok(())
}

/// Host access may have been taken away since the release was built.
pub async fn refuse_host_access(host: &Host, application: &Application, services: &ReleaseServices) -> Result<()> {
    if !services.reaches_host || may_reach_host(host, application).await? {
        return Ok(());
    }
    failed(Failure::NoBuildPack, "a service of this release needs host access, which the organization no longer has")
}
