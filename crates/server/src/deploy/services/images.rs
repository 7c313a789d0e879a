//! An image for each service: built of the repository, or brought from its registry.

use std::path::Path;

use windlass_api::{Failure, LogStep};
use windlass_compose::{Build, Danger, Service, Sharing};
use windlass_runtime::{Dockerfile, Image};
use windlass_store::applications::Application;
use windlass_store::releases::{ServiceImage, Services};
use windlass_store::{organizations, previews};

use crate::deploy::attempt::Attempt;
use crate::deploy::build::{check_architecture, ensure_image};
use crate::deploy::compose_file::{self, Compose};
use crate::deploy::failure::{Result, failed};
use crate::deploy::pack::Recipe;
use crate::deploy::{ceiling, dockerfile, isolation, port};
use crate::host::Host;
use crate::pulled_images::{self, PullFor};
use crate::release_services::{ReleaseService, ReleaseServices};
use crate::service::preparation;

/// Of what is stored of all services of a release.
const MOST_BYTES: usize = 2 * 1024 * 1024;

/// Makes the images, and says what the release's services are.
pub async fn build(attempt: &mut Attempt<'_>, tree: &Path, compose: Compose) -> Result<Services> {
    let rights = Rights::of(attempt.host, &attempt.application).await?;
    refuse(&compose, rights.host_access)?;
    // All of them together have the time of one build: others wait for the slot.
    let limit = attempt.host.app.config.build_limit;
    let Ok(made) = tokio::time::timeout(limit, make_all(attempt, tree, &compose, &rights)).await else {
        return failed(
            Failure::TimedOut,
            format!(
                "the images of all services took more than {} s, the limit that build-seconds sets",
                limit.as_secs()
            ),
        );
    };
    let (images, bytes) = made?;
    let services = compose.project.services.iter();
    let all: Vec<ReleaseService> = services
        .zip(&images)
        .map(|(service, (_, image))| release_service(attempt.configuration.port, &compose, service, image))
        .collect();
    refuse_beyond_size(&all)?;
    let port = all.iter().find(|one| one.service.name == compose.main).map_or(0, |one| one.port);
    let reaches = compose.project.services.iter().any(|service| !service.dangers().is_empty());
    let shares = if rights.is_preview { all.len() as u64 } else { 1 };
    attempt.services = Some(ReleaseServices { all, reaches_host: rights.host_access && reaches, shares });
    let named = compose.project.services.iter().zip(images);
    let all = named.map(|(service, (name, image))| ServiceImage { service: service.name.clone(), name, id: image.id });
    Ok(Services { all: all.collect(), main: compose.main, port, bytes })
}

/// What the services of an application may have. A person who opens a pull request decides what its preview runs, so a preview has less.
struct Rights {
    host_access: bool,
    is_preview: bool,
}

impl Rights {
    async fn of(host: &Host, application: &Application) -> Result<Self> {
        let mut conn = host.app.db.read().await?;
        let is_preview = previews::get(&mut conn, application.id).await?.is_some();
        let has_host_access = organizations::has_host_access(&mut conn, application.organization_id).await?;
        Ok(Self { host_access: has_host_access && !is_preview, is_preview })
    }
}

/// Whether what needs host access may be done.
pub async fn may_reach_host(host: &Host, application: &Application) -> Result<bool> {
    Ok(Rights::of(host, application).await?.host_access)
}

/// The image of each service, with its name if it was built, and the bytes of all.
async fn make_all(
    attempt: &Attempt<'_>,
    tree: &Path,
    compose: &Compose,
    rights: &Rights,
) -> Result<(Vec<(String, Image)>, i64)> {
    let (mut all, mut bytes): (Vec<(String, Image)>, i64) = (Vec::new(), 0);
    for (index, service) in compose.project.services.iter().enumerate() {
        // Several services of one build share its image.
        let before = &compose.project.services[..index];
        let same = before.iter().position(|other| service.build.is_some() && other.build == service.build);
        if let Some(same) = same {
            all.push(all[same].clone());
            continue;
        }
        let made = match &service.build {
            Some(build) => of_repository(attempt, tree, compose, index, build).await?,
            None => {
                ceiling::refuse_beyond(attempt, bytes).await?;
                (String::new(), of_registry(attempt, service, rights).await?)
            }
        };
        // One that was pulled may be many releases' and many applications', and is there once.
        if service.build.is_some() {
            bytes = bytes.saturating_add(i64::try_from(made.1.size).unwrap_or(i64::MAX));
        }
        ceiling::refuse_beyond(attempt, bytes).await?;
        all.push(made);
    }
    Ok((all, bytes))
}

/// It is stored with each release, and read each time that one of its containers is looked after.
fn refuse_beyond_size(all: &[ReleaseService]) -> Result<()> {
    let bytes = serde_json::to_vec(all).map_or(usize::MAX, |json| json.len());
    match bytes > MOST_BYTES {
        false => Ok(()),
        true => failed(
            Failure::NoBuildPack,
            format!(
                "with their variables and files, the services take {} KiB, and {} KiB are possible. Copy files into images instead.",
                bytes / 1024,
                MOST_BYTES / 1024
            ),
        ),
    }
}

/// What reaches beyond the organization's containers, and what the platform cannot give.
fn refuse(compose: &Compose, host_access: bool) -> Result<()> {
    let services = &compose.project.services;
    let mut problems: Vec<String> = services.iter().flat_map(preparation::unsupported).collect();
    problems.extend(services.iter().flat_map(impossible));
    if !host_access {
        let dangers = services.iter().flat_map(Service::dangers);
        let needs = |danger: Danger| {
            format!(
                "{} {}, which needs host access. Remove it, or ask the operator; previews never have it",
                danger.path, danger.what
            )
        };
        problems.extend(dangers.map(needs));
    }
    match problems.is_empty() {
        true => Ok(()),
        false => failed(Failure::NoBuildPack, format!("{}: {}", compose.file, problems.join("\n"))),
    }
}

/// What only works for what is not behind the edge.
fn impossible(service: &Service) -> Vec<String> {
    let asked = [
        ("network_mode", service.network_mode == Some(Sharing::Host), "the service would have no address of its own"),
        ("read_only", service.read_only && !service.files.is_empty(), "its files are written into its container"),
    ];
    let asked = asked.into_iter().filter(|(_, is_asked, _)| *is_asked);
    asked.map(|(key, _, why)| format!("services.{}.{key} is not possible: {why}", service.name)).collect()
}

async fn of_repository(
    attempt: &Attempt<'_>,
    tree: &Path,
    compose: &Compose,
    index: usize,
    build: &Build,
) -> Result<(String, Image)> {
    let service = &compose.project.services[index];
    let recipe = recipe(tree, compose, service, build).await?;
    let (app, application) = (&attempt.host.app, &attempt.application);
    let tag = isolation::numbered_image_tag(app, application.id, attempt.deployment.id, index + 1);
    attempt.log.note(format!("Building {}", service.name)).await;
    ensure_image(attempt, tree, recipe, tag).await
}

async fn recipe(tree: &Path, compose: &Compose, service: &Service, build: &Build) -> Result<Recipe> {
    let wrong = |words: String| {
        failed(Failure::NoBuildPack, format!("{}: services.{}.build: {words}", compose.file, service.name))
    };
    let Some(context) = dockerfile::inside(tree, &compose.folder.join(&build.context)).await else {
        return wrong(format!("the repository has no folder {}", build.context));
    };
    if !tokio::fs::metadata(&context).await.is_ok_and(|found| found.is_dir()) {
        return wrong(format!("{} is no folder", build.context));
    }
    let dockerfile = match (&build.dockerfile_inline, &build.dockerfile) {
        (Some(text), _) => Dockerfile::Given { text: text.clone(), ignored: None },
        (None, given) => {
            let path = given.as_deref().unwrap_or("Dockerfile");
            if !dockerfile::is_file_inside(tree, &context.join(path)).await {
                return wrong(format!("there is no {path} in {}", build.context));
            }
            Dockerfile::InContext(path.to_owned())
        }
    };
    let target = build.target.clone().unwrap_or_default();
    Ok(Recipe { context, dockerfile, target, args: build.args.clone() })
}

async fn of_registry(attempt: &Attempt<'_>, service: &Service, rights: &Rights) -> Result<Image> {
    let pull_for = PullFor {
        organization_id: attempt.application.organization_id,
        has_host_access: rights.host_access,
        may_use_built: !rights.is_preview,
        shows_credentials: !rights.is_preview,
        explains: false,
        is_temporary: true,
        log: &attempt.log,
        step: LogStep::Build,
    };
    let image = pulled_images::ensure(attempt.host, &pull_for, &service.image, service.pull_policy).await?;
    check_architecture(attempt, &image).await?;
    Ok(image)
}

fn release_service(set_port: u16, compose: &Compose, service: &Service, image: &Image) -> ReleaseService {
    let is_main = service.name == compose.main;
    let exposed = port::exposed(image);
    let set = Some(set_port).filter(|port| is_main && *port > 0);
    let found = set.or_else(|| compose.port_of(service)).or(exposed);
    let port = found.unwrap_or(if is_main { port::USUAL_PORT } else { 0 });
    let is_built = service.build.is_some();
    let mut service = service.clone();
    service.build = None;
    // As every other application that is built here.
    if is_main && is_built && !service.environment.iter().any(|(name, _)| name == "PORT") {
        service.environment.push(("PORT".to_owned(), port.to_string()));
    }
    let is_task = compose_file::is_task(&compose.project, &service.name);
    ReleaseService { service, image_id: image.id.clone(), port, is_task }
}
