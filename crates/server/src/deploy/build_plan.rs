//! What a deploy would build, for a request that asks before it deploys. The repository is fetched and looked at, and forgotten.

use std::path::{Component, Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use windlass_api::{
    ArtifactKind, BuildChoice, BuildPlan, BuildReason, BuildService, Configuration, Failure, Language,
    RepositoryAddress, Variables,
};
use windlass_buildpack::{Candidate, Plan, Reason};
use windlass_compose::Service;
use windlass_runtime::Dockerfile;
use windlass_store::applications::Application;
use windlass_store::extension_sources;

use super::compose_file::Compose;
use super::ending::bounded_reason;
use super::extension;
use super::failure::{Interruption, Result, failed};
use super::git::{self, Source};
use super::pack::{self, Basis, Choice, Chosen, Pack, Recipe};
use super::repository;
use crate::app::App;
use crate::compose_volumes;
use crate::error::{self, Error};
use crate::logs::Secrets;
use crate::shared_variables;
use crate::turns::Turn;
use crate::wishes;

/// What is shown of a Dockerfile.
const MOST_DOCKERFILE_BYTES: u64 = 64 * 1024;
/// Of choices, and of warnings; a hostile repository has thousands.
const MOST_NAMED: usize = 50;
/// What remains of the time for a request once the repository had to be there.
const LAST_MOMENTS: Duration = Duration::from_secs(5);
const CLEANING: Duration = Duration::from_secs(2);

/// For an application as a deploy would make or change it; it need not be stored.
pub async fn make(app: &Arc<App>, application: Application, turn: Turn) -> error::Result<BuildPlan> {
    let (app, (answer, made)) = (app.clone(), oneshot::channel());
    // The folder is removed also when the client is gone, or something here panics.
    tokio::spawn(async move {
        let folder = app.config.data_dir.join("work").join(format!("plan-{}", app.new_id()));
        let (place, host) = (folder.clone(), app.clone());
        let planned = tokio::spawn(async move { plan(&host, &application, &place).await }).await;
        let mut cleaning = pin!(clean_up(&folder));
        // A large folder takes longer than the client should wait for.
        let is_clean = tokio::time::timeout(CLEANING, &mut cleaning).await.is_ok();
        let _ = answer.send(planned.unwrap_or_else(|error| Err(Error::internal(error))));
        if !is_clean {
            cleaning.await;
        }
        drop(turn);
    });
    made.await.map_err(Error::internal)?
}

async fn clean_up(folder: &Path) {
    if let Err(error) = git::end_left_over(folder).await {
        tracing::warn!(%error, "the folder of a build plan could not be removed");
    }
}

async fn plan(app: &App, application: &Application, folder: &Path) -> error::Result<BuildPlan> {
    let configuration = Configuration::from_json(&application.configuration).map_err(Error::internal)?;
    let mut conn = app.db.read().await?;
    let variables = shared_variables::of_application(&mut conn, &app.vault, application).await?;
    drop(conn);
    let mut plan = empty();
    let basis = Basis { configuration: &configuration, variables: &variables, base_images: &app.config.base_images };
    match fill(app, application, &basis, folder, &mut plan).await {
        Ok(()) => Ok(masked(&variables, plan)),
        // A deploy has more time.
        Err(Interruption::Failed(Failure::TimedOut, words)) if time_to_fetch(app) < app.config.fetch_limit => {
            let message = "The repository is too large, or its server too slow, to be looked at in the time of a request. A deploy has more.";
            Err(Error::unavailable(message, words))
        }
        Err(Interruption::Failed(class, words)) => {
            let words = words_for_caller(&variables, &words);
            Ok(BuildPlan { failure: class.as_str().to_owned(), reason: words, ..plan })
        }
        Err(Interruption::Later(words)) => {
            Err(Error::unavailable("This cannot be found out just now. Try again in a moment.", words))
        }
        Err(other) => Err(Error::internal(format!("{other:?}"))),
    }
}

/// What a compose file says is shown with the values of variables in it.
fn masked(variables: &Variables, mut plan: BuildPlan) -> BuildPlan {
    let secrets = Secrets::new(variables, []);
    let mask = |text: &mut String| *text = secrets.mask(text).into_owned();
    plan.warnings.iter_mut().for_each(mask);
    for service in &mut plan.services {
        let BuildService { name, image, context_path, volumes, depends_on, .. } = service;
        [name, image, context_path].into_iter().chain(volumes).chain(depends_on).for_each(mask);
    }
    plan
}

/// Without values that are secret, and no longer than a person reads.
pub fn words_for_caller(variables: &Variables, words: &str) -> String {
    bounded_reason(&Secrets::new(variables, []).mask(words))
}

async fn fill(
    app: &App,
    application: &Application,
    basis: &Basis<'_>,
    folder: &Path,
    plan: &mut BuildPlan,
) -> Result<()> {
    if application.repository == RepositoryAddress::EXTENSION {
        return fill_from_extension(app, application, basis, plan).await;
    }
    let url = repository::address(app, application).await?;
    let credentials = repository::credentials(app, application, &url).await?;
    let reference = repository::reference(&basis.configuration.branch, "");
    let mut limits = repository::limits(&app.config);
    limits.time = time_to_fetch(app);
    let parent = folder.parent().unwrap_or(folder);
    tokio::fs::create_dir_all(parent).await.or_else(|error| failed(Failure::DiskFull, error))?;
    let trust = repository::trust(app, application).await?;
    let source = Source { url: &url, reference, credentials: &credentials, trust };
    let commit = git::fetch_for_look(&source, folder, &limits).await?;
    (plan.commit_hash, plan.commit_message) = (commit.hash, commit.message);
    let tree = tokio::fs::canonicalize(folder).await.or_else(|error| failed(Failure::Internal, error))?;
    match pack::choose(basis, &tree).await? {
        Choice::Made(chosen) => describe(&tree, basis, *chosen, plan).await,
        Choice::Open(open) => {
            plan.choices = open.candidates.iter().take(MOST_NAMED).map(choice).collect();
            failed(Failure::NoBuildPack, open.words())
        }
    }
}

async fn fill_from_extension(
    app: &App,
    application: &Application,
    basis: &Basis<'_>,
    plan: &mut BuildPlan,
) -> Result<()> {
    let source = extension_sources::in_use(&mut app.db.read().await?, application.id).await?;
    let Some(source) = source else { return failed(Failure::NoBuildPack, "The extension's text is not known.") };
    (plan.commit_hash, plan.commit_message) = (source.content_hash.clone(), source.extension_key.clone());
    let compose = extension::compose_of(source, application, basis.variables).await?;
    plan.warnings.extend(compose.warnings());
    describe_services(Path::new(""), basis, &compose, plan);
    Ok(())
}

fn time_to_fetch(app: &App) -> Duration {
    let rest = app.config.request_limit.saturating_sub(LAST_MOMENTS).max(Duration::from_secs(1));
    app.config.fetch_limit.min(rest)
}

async fn describe(tree: &Path, basis: &Basis<'_>, chosen: Chosen, plan: &mut BuildPlan) -> Result<()> {
    if let Some(found) = &chosen.plan {
        describe_found(found, plan);
    }
    plan.warnings.extend(chosen.warnings);
    let path_in_tree = |path: &Path| format!("/{}", path.strip_prefix(tree).unwrap_or(path).display());
    match chosen.pack {
        Pack::Image(recipe) => {
            plan.artifact = ArtifactKind::Image;
            if basis.configuration.port != 0 {
                plan.port = basis.configuration.port;
            }
            describe_recipe(tree, recipe, plan).await
        }
        Pack::BuiltFiles(recipe, files) => {
            plan.artifact = ArtifactKind::Site;
            (plan.output_path, plan.single_page) = (files.path.display().to_string(), files.single_page);
            describe_recipe(tree, recipe, plan).await
        }
        Pack::Folder(files) => {
            plan.artifact = ArtifactKind::Site;
            (plan.output_path, plan.single_page) = (path_in_tree(&files.path), files.single_page);
            plan.context_path.clone_from(&plan.output_path);
            Ok(())
        }
        Pack::Services(compose) => {
            describe_services(tree, basis, &compose, plan);
            Ok(())
        }
    }
}

fn describe_services(tree: &Path, basis: &Basis<'_>, compose: &Compose, plan: &mut BuildPlan) {
    plan.artifact = ArtifactKind::Services;
    plan.compose_file.clone_from(&compose.file);
    let context = |build: &windlass_compose::Build| {
        let folder = compose.folder.strip_prefix(tree).unwrap_or(&compose.folder);
        // Without the `.` that it may begin with, or be.
        let path: PathBuf =
            folder.join(&build.context).components().filter(|part| *part != Component::CurDir).collect();
        format!("/{}", path.display())
    };
    let described = |service: &Service| BuildService {
        name: service.name.clone(),
        image: if service.build.is_none() { service.image.clone() } else { String::new() },
        context_path: service.build.as_ref().map(context).unwrap_or_default(),
        port: compose.port_of(service).unwrap_or_default(),
        is_main: service.name == compose.main,
        volumes: compose_volumes::of_file(service).into_iter().map(|(_, name)| name).collect(),
        depends_on: service.depends_on.iter().map(|need| need.service.clone()).collect(),
    };
    plan.services = compose.project.services.iter().map(described).collect();
    let main = plan.services.iter_mut().find(|service| service.is_main);
    if let (Some(main), 1..) = (main, basis.configuration.port) {
        main.port = basis.configuration.port;
    }
    plan.port = plan.services.iter().find(|service| service.is_main).map_or(0, |service| service.port);
    let dangers = compose.project.services.iter().flat_map(Service::dangers);
    plan.warnings.extend(dangers.map(|danger| format!("{} {}, which needs host access", danger.path, danger.what)));
}

fn describe_found(found: &Plan, plan: &mut BuildPlan) {
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    plan.language = wishes::language(found.kind);
    plan.language_version = text(found.version.as_ref().map(|version| version.text.as_str()));
    plan.framework = text(found.framework);
    plan.package_manager = text(found.package_manager);
    plan.install_command = text(found.install.as_deref());
    plan.build_command = text(found.build.as_deref());
    plan.start_command = text(found.start.as_deref());
    plan.port = found.port.unwrap_or_default();
    plan.reasons = found.reasons.iter().take(MOST_NAMED).map(reason).collect();
    plan.warnings = found.warnings.iter().take(MOST_NAMED).cloned().collect();
}

async fn describe_recipe(tree: &Path, recipe: Recipe, plan: &mut BuildPlan) -> Result<()> {
    let context = recipe.context.strip_prefix(tree).unwrap_or(&recipe.context);
    plan.context_path = format!("/{}", context.display());
    match recipe.dockerfile {
        Dockerfile::Given { mut text, .. } => {
            text.truncate(text.floor_char_boundary(MOST_DOCKERFILE_BYTES as usize));
            plan.dockerfile = text;
        }
        Dockerfile::InContext(path) => {
            plan.dockerfile =
                beginning(&recipe.context.join(&path)).await.or_else(|error| failed(Failure::Internal, error))?;
            plan.dockerfile_path = path;
        }
    }
    Ok(())
}

/// `pack::choose` has looked that the file is inside the tree; nothing changes the tree meanwhile.
async fn beginning(file: &Path) -> std::io::Result<String> {
    use tokio::io::AsyncReadExt;
    let mut bytes = Vec::new();
    tokio::fs::File::open(file).await?.take(MOST_DOCKERFILE_BYTES).read_to_end(&mut bytes).await?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn reason(Reason { found, file }: &Reason) -> BuildReason {
    BuildReason { found: found.clone(), file: file.clone().unwrap_or_default() }
}

fn choice(candidate: &Candidate) -> BuildChoice {
    BuildChoice {
        language: wishes::language(candidate.kind),
        base_path: format!("/{}", candidate.base_path),
        program: candidate.program.clone().unwrap_or_default(),
        reasons: candidate.reasons.iter().map(reason).collect(),
    }
}

const fn empty() -> BuildPlan {
    BuildPlan {
        commit_hash: String::new(),
        commit_message: String::new(),
        artifact: ArtifactKind::None,
        language: Language::Found,
        language_version: String::new(),
        framework: String::new(),
        package_manager: String::new(),
        install_command: String::new(),
        build_command: String::new(),
        start_command: String::new(),
        port: 0,
        output_path: String::new(),
        single_page: false,
        context_path: String::new(),
        dockerfile_path: String::new(),
        dockerfile: String::new(),
        compose_file: String::new(),
        services: Vec::new(),
        reasons: Vec::new(),
        warnings: Vec::new(),
        choices: Vec::new(),
        failure: String::new(),
        reason: String::new(),
    }
}
