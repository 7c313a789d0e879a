//! What is going to be done, and why.

use serde::Serialize;

use crate::dockerfile::{self, From, Stage};
use crate::images::BaseImages;
use crate::kind::Kind;
use crate::variables::BuildVariables;
use crate::version::Version;

#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    pub kind: Kind,
    /// The folder of the repository that is deployed; empty for its root.
    pub base_path: String,
    /// The folder of the repository that is the build's context: `base_path`, or the root of the workspace that it is a part of.
    pub context: String,
    pub version: Option<Version>,
    pub framework: Option<&'static str>,
    pub package_manager: Option<&'static str>,
    pub install: Option<String>,
    pub build: Option<String>,
    /// Without the `exec` that `command::with_exec` adds.
    pub start: Option<String>,
    /// Where the application listens; it finds it in `PORT`. Nothing for files.
    pub port: Option<u16>,
    /// The folder that the build leaves, from the context, if its files are served.
    pub output: Option<String>,
    pub serves: Serves,
    pub reasons: Vec<Reason>,
    pub warnings: Vec<String>,
    pub bases: Vec<StageBase>,
    #[serde(skip)]
    pub(crate) stages: Vec<Stage>,
    #[serde(skip)]
    pub(crate) ignored: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "what")]
pub enum Serves {
    /// A container that answers requests.
    Container,
    /// Files, and the image has nothing else.
    Files {
        /// In the image.
        folder: String,
        /// A path without a file is answered with `index.html`, because the page itself looks at the path.
        single_page: bool,
    },
}

/// What was found, and in which file; without one it was set by the user or follows from other reasons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    pub found: String,
    pub file: Option<String>,
}

/// What a stage begins with, by the name under which operators can replace it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StageBase {
    pub stage: &'static str,
    pub base: &'static str,
    pub version: String,
}

impl Plan {
    pub fn dockerfile(&self, images: &BaseImages, variables: BuildVariables<'_>) -> String {
        dockerfile::write(&self.stages, images, variables)
    }

    /// Patterns of what is not sent to the engine: the repository's own rules, then ours.
    pub fn dockerignore(&self) -> String {
        let own = self.ignored.as_deref().map(|own| format!("{}\n", own.trim_end())).unwrap_or_default();
        own + IGNORED + ignored(self.kind)
    }

    /// The images that the build pulls, each once.
    pub fn images(&self, images: &BaseImages) -> Vec<String> {
        let mut all: Vec<String> = self.stages.iter().flat_map(|stage| stage.images(images)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    pub(crate) fn note_bases(&mut self) {
        let base = |stage: &Stage| match &stage.from {
            From::Base(base, version) => StageBase { stage: stage.name, base: base.name(), version: version.clone() },
            From::Scratch => StageBase { stage: stage.name, base: "scratch", version: String::new() },
        };
        self.bases = self.stages.iter().map(base).collect();
    }
}

/// What tools leave behind and the build makes again.
const IGNORED: &str = "\
**/.DS_Store
**/node_modules
";

fn ignored(kind: Kind) -> &'static str {
    match kind {
        // What is hidden is no part of a site, with one exception that a standard makes.
        Kind::Static => "**/.*\n!**/.well-known\n",
        Kind::Node => "**/.next\n**/.nuxt\n**/.output\n**/.svelte-kit\n**/.turbo\n",
        Kind::Python => "**/.venv\n**/venv\n**/__pycache__\n**/*.pyc\n**/.pytest_cache\n",
        Kind::Rust => "/target\n",
        Kind::Ruby => "/log\n/tmp\n",
        Kind::Php => "/vendor\n",
        Kind::Java => "/target\n/build\n/.gradle\n",
        Kind::Dotnet => "**/bin\n**/obj\n",
        Kind::Elixir => "/_build\n/deps\n",
        Kind::Go | Kind::Deno | Kind::Procfile => "",
    }
}
