//! Which way a tree becomes an artifact. Nothing is built here, so a request can ask for it too.

use std::path::{Path, PathBuf};

use windlass_api::{BuildPack, Configuration, Failure, Variables};
use windlass_buildpack::{BaseImages, Candidate, Plan};
use windlass_runtime::Dockerfile;

use super::compose_file::{self, Compose};
use super::detected;
use super::dockerfile::{self, Found};
use super::failure::{Result, failed};
use crate::wishes;

pub enum Pack {
    /// Containers are made of an image.
    Image(Recipe),
    /// A build makes files: they are in its image.
    BuiltFiles(Recipe, ServedFolder),
    /// Files of the tree, as they are.
    Folder(ServedFolder),
    /// The services of a compose file, each with an image of its own.
    Services(Box<Compose>),
}

/// How an image is built.
pub struct Recipe {
    pub context: PathBuf,
    pub dockerfile: Dockerfile,
    /// The stage that is built; empty for the last one.
    pub target: String,
    /// Arguments of this build alone.
    pub args: Vec<(String, String)>,
}

/// What is to become a site.
pub struct ServedFolder {
    /// In the tree, or in an image.
    pub path: PathBuf,
    pub single_page: bool,
}

/// What decides, besides the tree.
pub struct Basis<'a> {
    pub configuration: &'a Configuration,
    pub variables: &'a Variables,
    pub base_images: &'a BaseImages,
}

pub enum Choice {
    Made(Box<Chosen>),
    Open(OpenChoice),
}

/// A pack, and why it is the one.
pub struct Chosen {
    pub pack: Pack,
    /// None if the settings or a Dockerfile of the repository say all.
    pub plan: Option<Plan>,
    /// What the user may want to know, beside what the plan says.
    pub warnings: Vec<String>,
    /// For the log.
    pub notes: Vec<String>,
}

/// Each of several could be meant, and the user has to say which.
pub struct OpenChoice {
    pub candidates: Vec<Candidate>,
    /// The sentence that names the Dockerfiles elsewhere in the tree.
    pub others: String,
}

/// For a repository with a compose file and another build pack.
const COMPOSE_FILE_UNUSED: &str = "There is a compose file: set build_pack to docker-compose to deploy its services.";

pub async fn choose(basis: &Basis<'_>, tree: &Path) -> Result<Choice> {
    let configuration = basis.configuration;
    let context = dockerfile::context(configuration, tree).await?;
    let (single_page, output) = (configuration.settings.single_page, &configuration.settings.output_path);
    if configuration.build_pack == BuildPack::Static {
        let unused = "The language and the commands are not used: the files are served as they are.";
        let warnings = wishes::of(configuration).are_about_a_build().then(|| unused.to_owned());
        let path = served_folder(tree, &context, output).await?;
        return Ok(as_set(Pack::Folder(ServedFolder { path, single_page }), warnings.into_iter().collect()));
    }
    if configuration.build_pack == BuildPack::DockerCompose {
        let compose = compose_file::read(basis, tree, &context).await?;
        let warnings = compose.warnings();
        return Ok(as_set(Pack::Services(Box::new(compose)), warnings));
    }
    if configuration.build_pack == BuildPack::Image {
        return failed(Failure::NoBuildPack, "build_pack: an image of a registry is not built of a repository.");
    }
    let hint = compose_file::is_there(tree, &context).await.then_some(COMPOSE_FILE_UNUSED);
    match dockerfile::find(configuration, tree, &context).await? {
        Found::Path(path) => {
            let target = configuration.settings.build_target.clone();
            let recipe = Recipe { context, dockerfile: Dockerfile::InContext(path), target, args: Vec::new() };
            let pack = match output.as_str() {
                "" => Pack::Image(recipe),
                path => Pack::BuiltFiles(recipe, ServedFolder { path: path.into(), single_page }),
            };
            Ok(as_set(pack, hint.map(str::to_owned).into_iter().collect()))
        }
        Found::None { others } => {
            let others = format!("{others}{}", hint.map(|words| format!(" {words}")).unwrap_or_default());
            detected::choose(basis, tree, &context, others).await
        }
    }
}

/// Nothing had to be found.
fn as_set(pack: Pack, warnings: Vec<String>) -> Choice {
    let notes = warnings.clone();
    Choice::Made(Box::new(Chosen { pack, plan: None, warnings, notes }))
}

/// A folder of the repository that is to be served.
pub async fn served_folder(tree: &Path, context: &Path, output: &str) -> Result<PathBuf> {
    let output = output.trim_matches('/');
    match dockerfile::inside(tree, &context.join(output)).await {
        Some(folder) if tokio::fs::metadata(&folder).await.is_ok_and(|found| found.is_dir()) => Ok(folder),
        _ => failed(Failure::NoBuildPack, {
            let context = context.strip_prefix(tree).unwrap_or(context).display();
            format!("output_path: the repository has no folder {output} below /{context}. Give one that it has.")
        }),
    }
}
