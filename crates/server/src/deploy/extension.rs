//! The template of an extension, for a release that no repository is fetched for: the text that the release keeps, with the application's values.

use std::path::Path;

use windlass_api::{DeploymentState, Failure, LogStep, Variables};
use windlass_durable::kill_point;
use windlass_store::applications::Application;
use windlass_store::extension_sources::{self, ExtensionSource};
use windlass_store::releases::Artifact;

use super::attempt::Attempt;
use super::build::store;
use super::compose_file::Compose;
use super::failure::{Result, failed};
use super::services;
use crate::templates::{self, Place};

/// Takes the text, and makes an artifact of its services.
pub async fn take(attempt: &mut Attempt<'_>) -> Result<()> {
    attempt.advance(DeploymentState::Cloning).await?;
    attempt.log.enter(LogStep::Fetch);
    let source = extension_sources::of_release(&mut attempt.host.app.db.read().await?, attempt.release.id).await?;
    let Some(source) = source else {
        return failed(Failure::Internal, "the release does not say which text of the extension it is made of");
    };
    attempt.log.note(format!("Taking the text of {} {}", source.extension_key, source.version)).await;
    let compose = compose_of(source, &attempt.application, &attempt.variables).await?;
    attempt.log.enter(LogStep::Build);
    attempt.advance(DeploymentState::Building).await?;
    kill_point::reached("deploy-before-build");
    for line in compose.warnings() {
        attempt.log.note(line).await;
    }
    // Nothing is built, so there is no tree.
    let services = services::build(attempt, Path::new(""), compose).await?;
    store(attempt, Artifact::Services(services)).await
}

/// What the services of a text are for an application with these variables.
pub async fn compose_of(source: ExtensionSource, application: &Application, variables: &Variables) -> Result<Compose> {
    let file = format!("{} {}", source.extension_key, source.version);
    let Some(extension) = templates::read(source.yaml_content).await? else {
        return failed(Failure::NoBuildPack, format!("{file}: the text of the extension is not valid any more"));
    };
    let stack = match templates::stack_of(&extension, &Place::of(application, variables)) {
        Ok(stack) => stack,
        Err(unfit) => return failed(Failure::NoBuildPack, format!("{file}: {}", unfit.words())),
    };
    Compose::of_template(file.clone(), stack)
        .or_else(|problem| failed(Failure::NoBuildPack, format!("{file}: {problem}")))
}
