//! What a release is made with: how it is built, started and looked after. Variables are kept apart, because they are secret.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::VariableKind;
use crate::closed_set::closed_set;

closed_set! {
    /// How a repository becomes an artifact.
    pub enum BuildPack {
        /// By what is in the repository.
        Auto = "auto",
        Dockerfile = "dockerfile",
        Static = "static",
        DockerCompose = "docker-compose",
        /// There is no repository: an image of a registry is taken as it is.
        Image = "image",
    }
}

closed_set! {
    /// What an application is written in.
    pub enum Language {
        /// By what is in the repository.
        Found = "",
        Node = "node",
        Python = "python",
        Go = "go",
        Rust = "rust",
        Ruby = "ruby",
        Php = "php",
        Java = "java",
        Dotnet = "dotnet",
        Deno = "deno",
        Elixir = "elixir",
        /// None: files.
        Static = "static",
        /// Whatever `Procfile` starts.
        Procfile = "procfile",
    }
}

/// As it is stored, in an application for the next release and in each release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Configuration {
    /// Empty for the repository's default branch.
    pub branch: String,
    /// The folder that is built, beginning with `/` at the repository's root.
    pub base_path: String,
    /// Below `base_path`.
    pub dockerfile_path: String,
    pub build_pack: BuildPack,
    pub environment: String,
    /// 0 for the only port that the image exposes, else 8080; or, when nothing listens there, the only one that is listened on.
    pub port: u16,
    pub pre_run_command: String,
    pub post_run_command: String,
    #[serde(flatten)]
    pub settings: Settings,
}

impl Default for Configuration {
    fn default() -> Self {
        Self {
            branch: String::new(),
            base_path: "/".into(),
            dockerfile_path: "Dockerfile".into(),
            build_pack: BuildPack::Auto,
            environment: "production".into(),
            port: 0,
            pre_run_command: String::new(),
            post_run_command: String::new(),
            settings: Settings::default(),
        }
    }
}

impl Configuration {
    /// Fields that are read from the application, whatever its release says, so that they wait for no deploy.
    pub const ACT_AT_ONCE: [&str; 2] = ["error_rate_percent", "error_rate_seconds"];

    /// From a row.
    pub fn from_json(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| format!("a configuration in the database cannot be read: {error}"))
    }

    /// For a row.
    pub fn to_json(&self) -> Result<String, String> {
        serde_json::to_string(self).map_err(|error| error.to_string())
    }

    /// The names of the fields in which the two differ.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let fields = |configuration: &Self| match serde_json::to_value(configuration) {
            Ok(serde_json::Value::Object(fields)) => fields,
            _ => serde_json::Map::new(),
        };
        let (here, there) = (fields(self), fields(other));
        here.into_iter().filter(|(name, value)| there.get(name) != Some(value)).map(|(name, _)| name).collect()
    }
}

/// How a release is built where there is no Dockerfile, started, looked after and ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// Answers 200 to 399 when the application is well; empty when accepting a connection is enough.
    pub health_path: String,
    /// How long a new container may take until it is well; 0 for 60, or as long as the image's own health check allows if that is
    /// longer.
    pub health_seconds: u32,
    /// How long requests under way may take to finish when their container is replaced.
    pub drain_seconds: u32,
    /// How long a container may take to end after it was told to.
    pub stop_seconds: u32,
    /// 0 for as much as the operator gives to one container.
    pub memory_mb: u32,
    /// In thousandths of a processor; 0 for as many as the operator gives to one container.
    pub cpu_millis: u32,
    pub pids: u32,
    /// How many releases can be gone back to.
    pub kept_releases: u32,
    /// How many containers serve visitors at the same time, 1 to 20.
    pub replicas: u32,
    /// Whether the containers before are stopped, and visitors wait, while `pre_run_command` runs.
    pub pause: bool,
    /// Whether each volume gets a snapshot before a deployment changes what runs.
    pub snapshot_before_deploy: bool,
    /// Whether a site answers a path without a file with its first page, `index.html`. Built sites that are known to need it get it anyway.
    pub single_page: bool,
    /// With a Dockerfile: the stage of it that is built; empty for the last one.
    pub build_target: String,
    /// Whether a build gets the repository itself as `.git`: the history of the commit, and its tags.
    pub git_in_context: bool,
    /// With `docker-compose`: the compose file, below `base_path`; empty for the one with a usual name.
    pub compose_file: String,
    /// The same: the service that visitors of the main domain reach; empty for the only one that can be meant.
    pub service: String,
    /// Without a Dockerfile: what it is written in.
    pub language: Language,
    /// The same: a version of the language; empty for the one that the repository asks for.
    pub language_version: String,
    /// The same: which of several programs; empty for the only one.
    pub program: String,
    /// The same: installs what it depends on; empty for what is usual.
    pub install_command: String,
    /// The same: builds it; empty for what is usual.
    pub build_command: String,
    /// The same: starts it; empty for what is usual.
    pub start_command: String,
    /// The folder whose files are served without a container. With `static`, below `base_path`; with a Dockerfile, a folder of the image; else
    /// the one that the build leaves, below `base_path`.
    /// Empty for what is usual.
    pub output_path: String,
    /// With `image`: the image, by the name that its registry has for it.
    pub image: String,
    /// Of so many of a hundred requests that get an error is told; 0 for never. Acts at once.
    pub error_rate_percent: u32,
    /// How far back requests are looked at for that. Acts at once.
    pub error_rate_seconds: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            health_path: String::new(),
            health_seconds: 0,
            drain_seconds: 30,
            stop_seconds: 10,
            memory_mb: 0,
            cpu_millis: 0,
            pids: 1024,
            kept_releases: 10,
            replicas: 1,
            pause: false,
            snapshot_before_deploy: false,
            single_page: false,
            build_target: String::new(),
            git_in_context: false,
            compose_file: String::new(),
            service: String::new(),
            language: Language::Found,
            language_version: String::new(),
            program: String::new(),
            install_command: String::new(),
            build_command: String::new(),
            start_command: String::new(),
            output_path: String::new(),
            image: String::new(),
            error_rate_percent: 50,
            error_rate_seconds: 60,
        }
    }
}

/// Values never leave the server but masked, as far as they are secret. Sealed as JSON.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variables {
    pub build: BTreeMap<String, String>,
    pub environment: BTreeMap<String, String>,
    pub secret_names: Vec<String>,
    /// At run time, in previews only. None in a release.
    pub preview: BTreeMap<String, String>,
    /// Those of `secret_names` that previews get too. None in a release.
    pub preview_secret_names: Vec<String>,
    /// Secret shared variables that were filled into the values: each by itself must not be seen either.
    pub shared_secrets: Vec<String>,
}

impl std::fmt::Debug for Variables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Variables({} and {})", self.build.len(), self.environment.len())
    }
}

impl Variables {
    pub fn is_secret(&self, name: &str) -> bool {
        self.secret_names.iter().any(|secret| secret == name)
    }

    pub const fn of_kind(&self, kind: VariableKind) -> &BTreeMap<String, String> {
        match kind {
            VariableKind::Environment => &self.environment,
            VariableKind::Build => &self.build,
            VariableKind::Preview => &self.preview,
        }
    }

    pub const fn of_kind_mut(&mut self, kind: VariableKind) -> &mut BTreeMap<String, String> {
        match kind {
            VariableKind::Environment => &mut self.environment,
            VariableKind::Build => &mut self.build,
            VariableKind::Preview => &mut self.preview,
        }
    }

    /// The names of the fields, as requests have them, in which the two differ.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let all = [
            ("build_variables", self.build != other.build),
            ("environment_variables", self.environment != other.environment),
            ("secret_names", self.secret_names != other.secret_names),
            ("preview_variables", self.preview != other.preview),
            ("preview_secret_names", self.preview_secret_names != other.preview_secret_names),
        ];
        all.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name.to_owned()).collect()
    }

    /// The values that must not be seen anywhere.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        let all = self.build.iter().chain(&self.environment).chain(&self.preview);
        let marked = all.filter(|(name, _)| self.is_secret(name)).map(|(_, value)| value.as_str());
        marked.chain(self.shared_secrets.iter().map(String::as_str))
    }

    /// Without what is for previews.
    pub fn of_release(&self) -> Self {
        Self { preview: BTreeMap::new(), preview_secret_names: Vec::new(), ..self.clone() }
    }

    /// What a preview gets of an application's: of secrets those that are marked for previews.
    pub fn of_preview(&self) -> Self {
        let is_given =
            |name: &str| !self.is_secret(name) || self.preview_secret_names.iter().any(|marked| marked == name);
        let given = |all: &BTreeMap<String, String>| -> BTreeMap<String, String> {
            all.iter().filter(|(name, _)| is_given(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
        };
        let (build, mut environment) = (given(&self.build), given(&self.environment));
        environment.extend(self.preview.clone());
        let is_there = |name: &&String| build.contains_key(*name) || environment.contains_key(*name);
        let secret_names = self.secret_names.iter().filter(is_there).cloned().collect();
        Self { build, environment, secret_names, ..Self::default() }
    }

    /// The same for a preview of a fork, whose code may be a stranger's: only what was set for previews, and nothing secret.
    pub fn of_fork(&self) -> Self {
        let open = self.preview.iter().filter(|(name, _)| !self.is_secret(name));
        Self { environment: open.map(|(name, value)| (name.clone(), value.clone())).collect(), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn previews_get_what_is_marked_for_them_and_forks_nothing_secret() {
        let map = |all: &[(&str, &str)]| all.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let variables = Variables {
            build: map(&[("MODE", "fast"), ("BUILD_KEY", "b")]),
            environment: map(&[("GREETING", "hello"), ("KEY", "k"), ("MARKED", "m")]),
            secret_names: ["BUILD_KEY", "KEY", "MARKED", "TEST_KEY"].map(String::from).into(),
            preview: map(&[("GREETING", "preview"), ("TEST_KEY", "t")]),
            preview_secret_names: vec!["MARKED".into()],
            shared_secrets: Vec::new(),
        };
        let preview = variables.of_preview();
        assert_eq!(preview.build, map(&[("MODE", "fast")]));
        assert_eq!(preview.environment, map(&[("GREETING", "preview"), ("MARKED", "m"), ("TEST_KEY", "t")]));
        assert_eq!(preview.secret_names, ["MARKED", "TEST_KEY"], "they stay masked");
        let fork = variables.of_fork();
        assert_eq!((fork.build.len(), &fork.environment), (0, &map(&[("GREETING", "preview")])));
        assert_eq!(fork.secrets().count(), 0);
        assert_eq!(variables.of_release().differences(&variables), ["preview_variables", "preview_secret_names"]);
        assert_eq!(variables.secrets().count(), 4);
    }

    #[test]
    fn a_configuration_survives_a_row_and_tells_what_differs() {
        let mut configuration = Configuration::default();
        let text = configuration.to_json().unwrap();
        assert_eq!(Configuration::from_json(&text).unwrap(), configuration);
        let before = configuration.clone();
        configuration.port = 3000;
        configuration.settings.memory_mb = 64;
        assert_eq!(configuration.differences(&before), ["port", "memory_mb"]);
        assert!(Configuration::from_json("{}").is_err());
    }
}
