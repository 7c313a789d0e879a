//! build: an image of the tree, under a name that never moves.

use std::path::Path;

use tokio::sync::mpsc;
use windlass_api::{DeploymentState, Failure, LogStep};
use windlass_durable::kill_point;
use windlass_runtime::{Build, Image};
use windlass_store::releases::{self, Artifact};
use windlass_store::{jobs, organizations};

use super::attempt::Attempt;
use super::failure::{Result, failed};
use super::{dockerfile, isolation, port, record};
use crate::config::{BuildNetwork, SecretText};
use crate::labels::DEPLOYMENT_LABEL;
use crate::service::queue;

/// The build arguments that Dockerfiles need not declare, and programs look at.
const PROXY_ARGUMENTS: [&str; 4] = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"];
/// Lines of the builder on their way into the log.
const LINES: usize = 100;
const MIB: i64 = 1024 * 1024;

pub async fn build(attempt: &mut Attempt<'_>, tree: &Path) -> Result<()> {
    attempt.log.enter(LogStep::Build);
    attempt.advance(DeploymentState::Building).await?;
    let tag = isolation::image_tag(&attempt.host.app, attempt.application.id, attempt.deployment.id);
    kill_point::reached("deploy-before-build");
    if built_before(attempt, &tag).await?.is_none() {
        refuse_beyond_ceiling(attempt, 0).await?;
        let built = run(attempt, tree, &tag).await;
        attempt.host.caches_grew.notify_one();
        built?;
    }
    kill_point::reached("deploy-built");
    let Some(image) = attempt.host.image(&tag).await? else {
        return failed(Failure::BuildFailed, "the build ended well, but the engine has no image of it");
    };
    check_architecture(attempt, &image).await?;
    let port = port::to_begin_with(attempt, &image);
    let bytes = i64::try_from(image.size).unwrap_or(i64::MAX);
    refuse_beyond_ceiling(attempt, bytes).await?;
    let mut tx = attempt.held.begin().await?;
    let artifact = Artifact::Image(releases::Image { name: tag, id: image.id, port, bytes });
    releases::set_artifact(&mut tx, attempt.release.id, Some(&artifact)).await?;
    // After a crash it waits for no build.
    jobs::set_kind(&mut tx, attempt.held.job.id, queue::ROLL_OUT).await?;
    tx.commit().await?;
    attempt.release.artifact = Some(artifact);
    kill_point::reached("deploy-image-stored");
    Ok(())
}

/// Fails if the organization's images, with `added` bytes that no row counts yet, reach `organization-images-mib`: a full disk stops all.
async fn refuse_beyond_ceiling(attempt: &Attempt<'_>, added: i64) -> Result<()> {
    let most = attempt.host.app.config.organization_image_bytes;
    let mut used = used_by_images(attempt).await?.saturating_add(added);
    if most == 0 || used < most {
        return Ok(());
    }
    // The application may be keeping fewer releases since it was deployed last.
    record::prune(attempt.host, attempt.held, attempt).await?;
    used = used_by_images(attempt).await?.saturating_add(added);
    if used < most {
        return Ok(());
    }
    failed(
        Failure::CeilingReached,
        format!(
            "the images of the organization's releases take {} MiB, and {} MiB is the most that the operator gives it \
             (organization-images-mib). Keep fewer releases, or delete an application.",
            used / MIB,
            most / MIB
        ),
    )
}

async fn used_by_images(attempt: &Attempt<'_>) -> Result<i64> {
    let mut conn = attempt.host.app.db.read().await?;
    Ok(releases::image_bytes_of_organization(&mut conn, attempt.application.organization_id).await?)
}

/// An attempt before this one may have ended just after its build did.
async fn built_before(attempt: &Attempt<'_>, tag: &str) -> Result<Option<Image>> {
    let image = attempt.host.image(tag).await?;
    let id = attempt.deployment.id.to_string();
    Ok(image.filter(|image| image.labels.get(DEPLOYMENT_LABEL) == Some(&id)))
}

async fn run(attempt: &Attempt<'_>, tree: &Path, tag: &str) -> Result<()> {
    let tree = tokio::fs::canonicalize(tree).await.or_else(|error| failed(Failure::Internal, error))?;
    let context = dockerfile::context(&attempt.configuration, &tree).await?;
    let dockerfile = dockerfile::find(&attempt.configuration, &tree, &context).await?;
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
    // The last one of a name counts.
    args.extend(reach.proxy);
    let build = Build {
        context,
        tree,
        dockerfile,
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

async fn check_architecture(attempt: &Attempt<'_>, image: &Image) -> Result<()> {
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
