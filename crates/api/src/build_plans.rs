//! What a deploy would build, shown before it is asked for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ArtifactKind, Language};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BuildPlan {
    /// The commit that was looked at; empty if the repository could not be fetched.
    pub commit_hash: String,
    pub commit_message: String,
    /// What would be made. Empty if nothing can be, or if one of `choices` has to be made first.
    pub artifact: ArtifactKind,
    /// What it is written in. Empty where a Dockerfile of the repository says how it is built, or the settings say that files are served.
    pub language: Language,
    pub language_version: String,
    pub framework: String,
    pub package_manager: String,
    pub install_command: String,
    pub build_command: String,
    pub start_command: String,
    /// Where the application is to listen; it finds it in `PORT`. 0 if only its image will show it, or if there is no container.
    pub port: u16,
    /// The folder whose files are served: of the repository, or of the image that is built. Empty if none is.
    pub output_path: String,
    /// Whether a path without a file is answered with `index.html`.
    pub single_page: bool,
    /// The folder of the repository that is built in.
    pub context_path: String,
    /// The repository's own Dockerfile, below `context_path`. Empty if there is none.
    pub dockerfile_path: String,
    /// Its text, or that of the one that is made. Of a long one the beginning.
    pub dockerfile: String,
    /// With `docker-compose`: the compose file, from the repository's root.
    pub compose_file: String,
    /// What it describes, each after those that it depends on.
    pub services: Vec<BuildService>,
    /// What was found, and where.
    pub reasons: Vec<BuildReason>,
    pub warnings: Vec<String>,
    /// If several could be meant: set what one of them says.
    pub choices: Vec<BuildChoice>,
    /// The class of failure with which a deploy would end before it builds. Empty if it would build.
    pub failure: String,
    /// What to do about it.
    pub reason: String,
}

/// A service of a compose file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BuildService {
    pub name: String,
    /// The image that it is made of; empty if one is built.
    pub image: String,
    /// The folder of the repository that its image is built in; empty if none is.
    pub context_path: String,
    /// Where it listens, as far as the file says it; 0 if only its image will show it.
    pub port: u16,
    /// Whether visitors of the main domain reach it.
    pub is_main: bool,
    /// The volumes that the file names for it. A service with a volume keeps its container while nothing about it changes, unless visitors of
    /// the main domain reach it; else the container before ends first, and visitors wait meanwhile.
    pub volumes: Vec<String>,
    pub depends_on: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BuildReason {
    pub found: String,
    /// Empty if it was set, or follows from the others.
    pub file: String,
}

/// One that could be meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BuildChoice {
    pub language: Language,
    pub base_path: String,
    /// Empty if there is only one in this folder.
    pub program: String,
    pub reasons: Vec<BuildReason>,
}
