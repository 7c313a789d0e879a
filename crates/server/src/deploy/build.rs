//! build: an image of the tree, under a name that never moves; or its files, as a site.

use std::path::{Path, PathBuf};

use tokio::sync::mpsc;
use windlass_api::{BuildPack, DeploymentState, Failure, LogStep};
use windlass_durable::kill_point;
use windlass_runtime::{Build, Image};
use windlass_store::releases::{self, Artifact};
use windlass_store::{jobs, organizations};

use super::attempt::Attempt;
use super::failure::{Result, failed};
use super::pack::{self, Basis, Choice, Pack, Recipe};
use super::{ceiling, git, isolation, port, services, site};
use crate::config::{BuildNetwork, SecretText};
use crate::labels::DEPLOYMENT_LABEL;
use crate::service::queue;

/// The build arguments that Dockerfiles need not declare, and programs look at.
const PROXY_ARGUMENTS: [&str; 4] = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"];
/// Lines of the builder on their way into the log.
const LINES: usize = 100;

pub async fn build(attempt: &mut Attempt<'_>, tree: &Path) -> Result<()> {
    attempt.log.enter(LogStep::Build);
    attempt.advance(DeploymentState::Building).await?;
    kill_point::reached("deploy-before-build");
    let tree = tokio::fs::canonicalize(tree).await.or_else(|error| failed(Failure::Internal, error))?;
    let tag = isolation::image_tag(&attempt.host.app, attempt.application.id, attempt.deployment.id);
    let artifact = match choose(attempt, &tree).await? {
        Pack::Image(recipe) => {
            let (name, image) = ensure_image(attempt, &tree, recipe, tag).await?;
            let port = port::to_begin_with(attempt, &image);
            let bytes = i64::try_from(image.size).unwrap_or(i64::MAX);
            ceiling::refuse_beyond(attempt, bytes).await?;
            Artifact::Image(releases::Image { name, id: image.id, port, bytes })
        }
        Pack::BuiltFiles(recipe, files) => {
            let (name, _) = ensure_image(attempt, &tree, recipe, tag).await?;
            let site = site::of_image(attempt, &name, &files).await?;
            attempt.held.check().await?;
            // What the site is made of is not needed any more; if it stays now, the reconciler removes it.
            if let Err(error) = attempt.host.remove_image(&name).await {
                tracing::warn!(%error, image = name, "the image of a site could not be removed yet");
            }
            Artifact::Site(site)
        }
        Pack::Folder(files) => Artifact::Site(site::of_folder(attempt, &tree, &files).await?),
        Pack::Services(compose) => Artifact::Services(services::build(attempt, &tree, *compose).await?),
    };
    store(attempt, artifact).await
}

/// What was made is the release's. From here on its job needs no build.
pub async fn store(attempt: &mut Attempt<'_>, artifact: Artifact) -> Result<()> {
    let mut tx = attempt.held.begin().await?;
    if let Some(services) = &attempt.services {
        let sealed = attempt.host.app.vault.seal_release_services(&mut tx, attempt.release.id, services).await?;
        releases::set_sealed_services(&mut tx, attempt.release.id, &sealed).await?;
    }
    releases::set_artifact(&mut tx, attempt.release.id, Some(&artifact)).await?;
    // After a crash it waits for no build.
    jobs::set_kind(&mut tx, attempt.held.job.id, queue::ROLL_OUT).await?;
    tx.commit().await?;
    attempt.release.artifact = Some(artifact);
    kill_point::reached("deploy-image-stored");
    Ok(())
}

async fn choose(attempt: &Attempt<'_>, tree: &Path) -> Result<Pack> {
    let base_images = &attempt.host.app.config.base_images;
    let basis = Basis { configuration: &attempt.configuration, variables: &attempt.variables, base_images };
    match pack::choose(&basis, tree).await? {
        Choice::Made(chosen) => {
            for line in chosen.notes {
                attempt.log.note(line).await;
            }
            Ok(chosen.pack)
        }
        Choice::Open(open) => failed(Failure::NoBuildPack, open.words()),
    }
}

/// Builds the image, unless an attempt before this one has. Its name, and what the engine says of it.
pub async fn ensure_image(attempt: &Attempt<'_>, tree: &Path, recipe: Recipe, tag: String) -> Result<(String, Image)> {
    if built_before(attempt, &tag).await?.is_none() {
        ceiling::refuse_beyond(attempt, 0).await?;
        let built = run(attempt, tree, recipe, &tag).await;
        attempt.host.caches_grew.notify_one();
        built?;
    }
    kill_point::reached("deploy-built");
    let Some(image) = attempt.host.image(&tag).await? else {
        return failed(Failure::BuildFailed, "the build ended well, but the engine has no image of it");
    };
    check_architecture(attempt, &image).await?;
    Ok((tag, image))
}

/// An attempt before this one may have ended just after its build did.
async fn built_before(attempt: &Attempt<'_>, tag: &str) -> Result<Option<Image>> {
    let image = attempt.host.image(tag).await?;
    let id = attempt.deployment.id.to_string();
    Ok(image.filter(|image| image.labels.get(DEPLOYMENT_LABEL) == Some(&id)))
}

async fn run(attempt: &Attempt<'_>, tree: &Path, recipe: Recipe, tag: &str) -> Result<()> {
    let (secrets, mut args) = attempt
        .variables
        .build
        .clone()
        .into_iter()
        .partition::<Vec<_>, _>(|(name, _)| attempt.variables.is_secret(name));
    let (app, owner_id) = (&attempt.host.app, isolation::owner_of(&attempt.host.app, &attempt.application).await?);
    let reach = reach(attempt).await?;
    if !reach.has_network {
        attempt.log.note("RUN has no network in this build: the operator has set build-network.".to_owned()).await;
    }
    // Of several arguments of one name the last one counts, so build variables win over `args` of the compose file.
    args.splice(0..0, recipe.args);
    args.extend(reach.proxy);
    let build = Build {
        context: recipe.context,
        git: repository_for(attempt, tree)?,
        tree: tree.to_owned(),
        target: recipe.target,
        dockerfile: recipe.dockerfile,
        tag: tag.to_owned(),
        labels: attempt.host.labels(attempt.application.id, attempt.deployment.id),
        args,
        secrets: secrets.into_iter().map(|(name, value)| (name, value.into_bytes())).collect(),
        no_cache: attempt.deployment.without_cache,
        cache_namespace: isolation::cache_namespace(app, owner_id),
        host_name: isolation::host_name(app, owner_id),
        has_network: reach.has_network,
    };
    app.build_limits.apply(attempt.host).await?;
    let limit = app.config.build_limit;
    let (lines, printed) = mpsc::channel(LINES);
    let building = tokio::time::timeout(limit, attempt.host.build(build, lines));
    let (built, ()) = tokio::join!(building, attempt.log.take_all(LogStep::Build, printed));
    match built {
        Ok(Ok(_)) => Ok(()),
        // An engine that is being stopped ends its builds, and some of them say something else than that.
        Ok(Err(error)) => match attempt.host.engine().await {
            Err(lost @ windlass_runtime::Error::Unreachable { .. }) => Err(lost.into()),
            _ => Err(error.into()),
        },
        Err(_) => failed(
            Failure::TimedOut,
            format!("the build took more than {} s, the limit that build-seconds sets", limit.as_secs()),
        ),
    }
}

/// The repository itself, if the build is to have it.
fn repository_for(attempt: &Attempt<'_>, tree: &Path) -> Result<Option<PathBuf>> {
    if !attempt.configuration.settings.git_in_context {
        return Ok(None);
    }
    git::kept_repository(tree).map(Some).or_else(|error| failed(Failure::Internal, error))
}

/// What `RUN` can reach.
struct Reach {
    has_network: bool,
    proxy: Vec<(String, String)>,
}

/// Organizations with host access can reach everything anyway.
async fn reach(attempt: &Attempt<'_>) -> Result<Reach> {
    let (app, id) = (&attempt.host.app, attempt.application.organization_id);
    if organizations::has_host_access(&mut app.db.read().await?, id).await? {
        return Ok(Reach { has_network: true, proxy: Vec::new() });
    }
    let proxy = app.config.build_proxy.as_ref().map(SecretText::reveal);
    let arguments = |proxy: &str| PROXY_ARGUMENTS.map(|name| (name.to_owned(), proxy.to_owned())).to_vec();
    let has_network = app.config.build_network == BuildNetwork::Open;
    Ok(Reach { has_network, proxy: proxy.map(arguments).unwrap_or_default() })
}

pub async fn check_architecture(attempt: &Attempt<'_>, image: &Image) -> Result<()> {
    let host = attempt.host.engine().await?;
    if image.architecture.is_empty() || image.architecture == host.architecture {
        return Ok(());
    }
    failed(
        Failure::ImageArchitecture,
        format!(
            "the image is for {}, this machine is {}. Use a base image for {}.",
            image.architecture, host.architecture, host.architecture
        ),
    )
}

/// Those that were made for a deployment that did not succeed.
pub async fn remove_built_images(attempt: &Attempt<'_>) -> Result<()> {
    let id = attempt.deployment.id.to_string();
    for image in attempt.host.images().await? {
        if image.labels.get(DEPLOYMENT_LABEL) == Some(&id) {
            for tag in &image.tags {
                attempt.held.check().await?;
                attempt.host.remove_image(tag).await?;
            }
        }
    }
    // One of a registry has no label of Windlass's, and a name by which it is known.
    if attempt.configuration.build_pack == BuildPack::Image {
        attempt.held.check().await?;
        let app = &attempt.host.app;
        attempt.host.remove_image(&isolation::image_tag(app, attempt.application.id, attempt.deployment.id)).await?;
    }
    Ok(())
}
