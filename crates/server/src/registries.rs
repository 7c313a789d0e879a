//! Registries of images: what an organization shows to them, which image a tag leads to, and why one cannot be had.

use std::time::Duration;

use uuid::Uuid;
use windlass_api::{Configuration, ErrorCode, Failure, Host as HostAddress, ImageReference, is_digest, registry_of};
use windlass_runtime::{self as runtime, RegistryLogin, RegistryProblem};
use windlass_store::{organizations, registry_credentials};

use crate::app::App;
use crate::deploy::{Interruption, Result};
use crate::host::container_engine;
use crate::service::outgoing_addresses::check_host;

/// What the organization has for the registry of an image. No other organization's is ever looked at.
pub async fn login(app: &App, organization_id: Uuid, reference: &str) -> Result<Option<RegistryLogin>> {
    let host = registry_of(reference).to_ascii_lowercase();
    let row = registry_credentials::by_host(&mut app.db.read().await?, organization_id, &host).await?;
    let Some(row) = row else { return Ok(None) };
    let password = app.vault.registry_password(&row).await?;
    Ok(Some(RegistryLogin { host: row.host, username: row.username, password }))
}

/// The image of an application that is made from one.
pub fn image_of(configuration: &Configuration) -> Result<ImageReference> {
    ImageReference::try_from(configuration.settings.image.as_str())
        .map_err(|problem| Interruption::Failed(Failure::ImageNotFound, format!("image: {problem}")))
}

/// The digest that the image's tag leads to now. The registry is asked for one with a digest too: a member who knows a digest may not be
/// given the image. Requests ask this too, and have no [`Host`](crate::host::Host).
pub async fn newest_digest(
    app: &App,
    organization_id: Uuid,
    image: &ImageReference,
    limit: Duration,
) -> Result<String> {
    let has_host_access = organizations::has_host_access(&mut app.db.read().await?, organization_id).await?;
    if !has_host_access {
        refuse_private(app, image).await?;
    }
    let login = login(app, organization_id, image).await?;
    let reference = image.digest().map_or_else(|| image.with_tag(), |digest| image.at(digest));
    let asked = digest(app, &reference, login.as_ref(), limit).await;
    let digest = asked.map_err(|error| explained(&reference, login.is_some(), has_host_access, error))?;
    match is_digest(&digest) {
        true => Ok(digest),
        false => Err(Interruption::Failed(
            Failure::RegistryUnreachable,
            format!(
                "{} answered with no sha256 digest. Add @sha256: and the digest to the name of the image.",
                image.registry()
            ),
        )),
    }
}

/// The digest of an image, which the engine asks the registry even if it has the image.
pub async fn digest(
    app: &App,
    reference: &str,
    login: Option<&RegistryLogin>,
    limit: Duration,
) -> runtime::Result<String> {
    container_engine(&app.config).digest(reference, login, limit).await
}

/// For who has no host access: the engine calls the registry, from a network that is not theirs to look around in. A name that does not
/// resolve here may resolve for the engine.
pub async fn refuse_private(app: &App, reference: &str) -> Result<()> {
    // Resolvers disagree about what 127.1 is.
    let Some(host) = HostAddress::of_authority(registry_of(reference)) else {
        return Err(Interruption::Failed(
            Failure::RegistryUnreachable,
            format!("{reference}: does not begin with the host of a registry, such as registry.example.org"),
        ));
    };
    match check_host(app, reference, &host).await {
        Err(refusal) if refusal.code == ErrorCode::InvalidRequest => {
            Err(Interruption::Failed(Failure::RegistryUnreachable, refusal.message))
        }
        Err(error) => Err(error.into()),
        Ok(()) => Ok(()),
    }
}

/// What the engine's words about a pull mean for the person who wants the image. The words can be what something in the operator's network
/// has answered, so they are for who has host access.
pub fn explained(reference: &str, had_login: bool, has_host_access: bool, error: runtime::Error) -> Interruption {
    use runtime::Error::{Conflict, NotFound, Refused};
    let host = registry_of(reference);
    if !has_host_access {
        tracing::info!(reference, %error, "an image could not be had");
    }
    let Some(problem) = error.registry_problem() else {
        return match error {
            Refused { .. } | NotFound { .. } | Conflict { .. } if !has_host_access => Interruption::Failed(
                Failure::EngineRefused,
                format!("{reference} cannot be had from {host}. The log of the server says why."),
            ),
            error => error.into(),
        };
    };
    let (class, advice) = match problem {
        RegistryProblem::Unreachable => (
            Failure::RegistryUnreachable,
            format!(
                "{host} could not be reached. Try again when it answers. The engine calls a registry without https only if the operator \
                 has told it to, or on this machine."
            ),
        ),
        RegistryProblem::Refused if had_login => (
            Failure::RegistryRefused,
            format!("{host} refuses the organization's credentials, or does not give {reference} to them. Check both."),
        ),
        RegistryProblem::Refused => (
            Failure::RegistryRefused,
            format!(
                "{host} does not give {reference} without credentials. Add credentials for {host} to the organization."
            ),
        ),
        RegistryProblem::NotFound => {
            (Failure::ImageNotFound, format!("{host} does not have {reference}. Check its name and its tag."))
        }
        RegistryProblem::Architecture => (
            Failure::ImageArchitecture,
            format!("{host} has {reference}, but not for this machine's processor. Push it for this one too."),
        ),
    };
    match has_host_access {
        true => Interruption::Failed(class, format!("{advice} The engine says: {error}")),
        false => Interruption::Failed(class, advice),
    }
}
