//! Applications.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use uuid::Uuid;

use crate::closed_set::closed_set;
use crate::given::Filled;
use crate::sent;
use crate::text::absent_when_empty;
use crate::{
    AccessToken, ApplicationDeployment, ApplicationLog, ApplicationName, Branch, BuildPack, BuildTarget, Command,
    CrashLoop, CurrentFigures, FilePath, FolderPath, Given, GivenId, HealthPath, HostName, ImageReference, Labels,
    Language, Link, NewVolumes, Organization, Pagination, RepositoryAddress, ServiceName, Settings, Slug, SshKey,
    TagPattern, Text, Timestamp, Triggers, User, VariableMap, VariableNames, Volume, VolumeNames, WatchPaths, Whole,
    ZeroOr,
};

closed_set! {
    /// What is, as far as it was observed.
    pub enum ApplicationState {
        /// A deployment is waiting or under way. An earlier release goes on serving meanwhile.
        Deploying = "deploying",
        Running = "running",
        Stopped = "stopped",
        /// Nothing is serving, though something should be; or what serves ends again and again, which `crash_loop` tells of.
        Failed = "failed",
    }
}

closed_set! {
    /// What its users want of an application.
    pub enum Wanted {
        Running = "running",
        Stopped = "stopped",
        Deleted = "deleted",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Application {
    pub id: Uuid,
    pub name: String,
    pub repository: String,
    /// Empty for the repository's default branch.
    pub branch: String,
    pub base_path: String,
    pub dockerfile_path: String,
    pub build_pack: BuildPack,
    /// A JSON object as text. Values are `********` for those who may not read variables, and those of `secret_names` for all. In a list that would be
    /// longer than some megabytes with all variables, those of some applications are left out: an empty text.
    pub build_variables: String,
    pub environment: String,
    /// The same for variables at run time.
    pub environment_variables: String,
    pub domain: String,
    /// Where visitors reach it.
    pub url: String,
    /// The one that was asked for, else the one that the live release listens on, else 0.
    pub port: u16,
    pub pre_run_command: String,
    pub post_run_command: String,
    pub proxy_server: String,
    pub labels: Vec<String>,
    pub organization_id: Uuid,
    /// Who created it.
    pub user_id: Uuid,
    pub organization: Link<Organization>,
    /// `{}` once they have left the organization.
    pub user: Link<User>,
    pub status: Link<ApplicationStatus>,
    /// The newest 20, newest first; in lists the newest one, and none where it is part of something else.
    pub deployments: Vec<ApplicationDeployment>,
    /// The newest 100 lines, newest first; none in lists.
    pub logs: Vec<ApplicationLog>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// The variables whose values are never shown.
    pub secret_names: Vec<String>,
    /// The same as `environment_variables`, for previews.
    pub preview_variables: String,
    /// Those of `secret_names` that previews get too.
    pub preview_secret_names: Vec<String>,
    /// The application that this one is a preview of; null if it is not one, and in lists.
    pub preview_of: Option<Uuid>,
    pub has_repository_credentials: bool,
    pub settings: Settings,
    pub triggers: Triggers,
    /// By what its repository is fetched, and where its deployments are reported; null for neither.
    pub connection_id: Option<Uuid>,
    /// Fields that differ from the live release, and so wait for the next deploy.
    pub pending_fields: Vec<String>,
    /// Without those that were deleted; none in lists.
    pub volumes: Vec<Volume>,
    /// Of the live instance that crashed last; null if none is crashing.
    pub crash_loop: Option<CrashLoop>,
    /// Null when nothing was measured in the last two minutes, and where the application is part of something else.
    pub figures: Option<CurrentFigures>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApplicationStatus {
    pub id: Uuid,
    pub application_id: Uuid,
    pub application: Link<Application>,
    pub status: ApplicationState,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Applications {
    pub applications: Vec<Application>,
    pub pagination: Pagination,
}

pub(crate) fn is_absent<T: Default + PartialEq>(field: &T) -> bool {
    *field == T::default()
}

/// The requests that say how an application is to be, from one list of the fields that they share.
macro_rules! requests {
    ($($(#[$meta:meta])* $field:ident: $type:ty,)+) => {
        /// What a request asks to be different: what is absent stays as it is, what is empty gets its default.
        #[derive(Debug, Default, PartialEq, Eq)]
        pub struct Changes {
            $(pub $field: $type,)+
        }

        impl Changes {
            /// The names of the fields that are given.
            pub fn names(&self) -> Vec<&'static str> {
                let all = [$((stringify!($field), self.$field != <$type>::default()),)+];
                all.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name).collect()
            }
        }

        /// A new application, or a new deployment of the one that has this name and repository already: then what is absent stays
        /// as it is. An empty text counts as absent.
        #[derive(Debug, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct CreateDeployment {
            pub name: ApplicationName,
            pub repository: RepositoryAddress,
            $($(#[$meta])* #[serde(default, skip_serializing_if = "is_absent")] pub $field: $type,)+
        }

        impl CreateDeployment {
            pub fn into_parts(self) -> (ApplicationName, RepositoryAddress, Changes) {
                (self.name, self.repository, Changes { $($field: self.$field.filled(),)+ })
            }
        }

        /// What is absent stays as it is; an empty text puts a field back to its default. Name and domain act at once, the rest at
        /// the next deploy, unless the field says otherwise.
        #[derive(Debug, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct UpdateApplication {
            pub id: Uuid,
            /// The `updated_at` that the change was made from. If the application was changed since, nothing is changed, and the
            /// answer is 409.
            pub unchanged_since: Option<Timestamp>,
            pub name: Option<ApplicationName>,
            /// Cannot change; accepted when it is the same.
            #[serde(default, skip_serializing_if = "is_absent")]
            pub repository: Given<RepositoryAddress>,
            $($(#[$meta])* #[serde(default, skip_serializing_if = "is_absent")] pub $field: $type,)+
        }

        impl UpdateApplication {
            pub fn into_parts(self) -> (Option<ApplicationName>, Option<RepositoryAddress>, Changes) {
                (self.name, self.repository.value().cloned(), Changes { $($field: self.$field,)+ })
            }
        }
    };
}

requests! {
    /// A branch, a tag, or all 40 digits of a commit's hash. Default: the repository's own default branch.
    branch: Given<Branch>,
    /// The folder that is built. Default: `/`, the repository's root.
    base_path: Given<FolderPath>,
    /// Below `base_path`. Default: `Dockerfile`.
    dockerfile_path: Given<FilePath>,
    /// `auto`: the Dockerfile, else what is found. `static` serves the files of `base_path`, or of `output_path` below it, as they are.
    /// `docker-compose` deploys the services of a compose file. `image` deploys the image of a registry that `image` names, and is the
    /// default where `repository` is `image`. Default: `auto`.
    build_pack: Given<BuildPack>,
    /// Default: the name below the server's base domain, with something added when that is taken.
    domain: Given<HostName>,
    /// Known ones: `development`, `staging`, `production`. Default: `production`.
    environment: Given<Slug<50>>,
    /// Where the application listens; given to it as `PORT`. 0, the default, is the only port that the image exposes,
    /// else 8080; or, when nothing listens there, the only one that is listened on.
    port: Option<Whole<0, 65_535>>,
    /// Runs in a container of the new image before it is started; if it fails, so does the deployment.
    pre_run_command: Given<Command>,
    /// Runs in a container of the new image once visitors are served by it.
    post_run_command: Given<Command>,
    #[serde(serialize_with = "sent::optional")]
    build_variables: Option<VariableMap>,
    #[serde(serialize_with = "sent::optional")]
    environment_variables: Option<VariableMap>,
    /// The names of variables whose values are never shown.
    secret_names: Option<VariableNames>,
    /// For a private repository over https or http.
    #[serde(serialize_with = "sent::given")]
    repository_token: Given<AccessToken>,
    /// For a private repository over ssh.
    #[serde(serialize_with = "sent::given")]
    repository_ssh_key: Given<SshKey>,
    /// Answers 200 to 399 when the application is well. Default: none; accepting a connection is enough.
    health_path: Given<HealthPath>,
    /// How long a new container may take until it is well. Default: 0, which is 60, or as long as the image's own health check
    /// allows if that is longer.
    health_seconds: Option<Whole<0, 3_600>>,
    /// How long requests under way may take to finish when their container is replaced. Default: 30.
    drain_seconds: Option<Whole<0, 3_600>>,
    /// How long a container may take to end after it was told to. Default: 10.
    stop_seconds: Option<Whole<0, 600>>,
    /// 0, the default, for as much as the operator gives to one container, else at least 16.
    memory_mb: Option<ZeroOr<16, 1_048_576>>,
    /// Thousandths of a processor: 0, the default, for as many as the operator gives to one container, else at least 10.
    cpu_millis: Option<ZeroOr<10, 1_000_000>>,
    /// Processes and threads. Default: 1024.
    pids: Option<Whole<16, 1_000_000>>,
    /// How many releases can be gone back to. Default: 10.
    kept_releases: Option<Whole<1, 100>>,
    /// How many containers serve visitors at the same time. `memory_mb`, `cpu_millis` and `pids` are for each of them. Default: 1.
    replicas: Option<Whole<1, 20>>,
    /// Volumes to be made or changed. One that is not named here stays as it is.
    volumes: Option<NewVolumes>,
    /// Whether the containers before are stopped, and visitors wait, while `pre_run_command` runs. Default: false; but always when a
    /// volume is not shared.
    pause: Option<bool>,
    /// Whether each volume gets a snapshot before a deployment changes what runs. Default: false.
    snapshot_before_deploy: Option<bool>,
    /// Whether a site answers a path without a file with its first page, `index.html`. Built sites that are known to need it get it
    /// anyway. Default: false.
    single_page: Option<bool>,
    /// The stage of the Dockerfile that is built. Default: the last one.
    build_target: Given<BuildTarget>,
    /// Whether the folder that is built has the repository itself as `.git`, for versions by `git describe` and the like: the whole history
    /// of the commit, and the tags on it. Default: false.
    git_in_context: Option<bool>,
    /// With `docker-compose`: the compose file, below `base_path`. Default: the first that is there of `compose.yaml`, `compose.yml`,
    /// `docker-compose.yaml` and `docker-compose.yml`.
    compose_file: Given<FilePath>,
    /// With `docker-compose`: the service that visitors of the main domain reach. Default: the only one with `ports`; of several, the only
    /// one of them that is built; without any, the only one with `expose`, the only one that is built, or the only one. Services that others
    /// wait for with `service_completed_successfully` do not count.
    service: Given<ServiceName>,
    /// What it is written in. This and the five fields that follow matter where there is no Dockerfile. Default: what is found.
    language: Given<Language>,
    /// A version of the language, such as `22` or `3.12`. Default: the one that the repository asks for.
    language_version: Given<Text<1, 50>>,
    /// Which of several programs: a package of Go, a binary of Cargo, a module of Java, a project of .NET. Default: the only one.
    program: Given<Text<1, 200>>,
    /// Installs what it depends on. Default: by the package manager.
    install_command: Given<Command>,
    /// Builds it. Default: by the language.
    build_command: Given<Command>,
    /// Starts it. Default: by the language, or by `Procfile`.
    start_command: Given<Command>,
    /// The folder whose files are served without a container. With `static`, below `base_path`; with a Dockerfile, a folder of the image; else
    /// the one that the build leaves, below `base_path`. Default: by the framework.
    output_path: Given<FolderPath>,
    /// With `image`: the image to be deployed. A deploy asks the registry which image the tag leads to now, and the release keeps that one.
    image: Given<ImageReference>,
    /// When so many of a hundred requests, and of at least 20, get an error at the edge, `application.unhealthy` tells it; 0 for never.
    /// An answer of 5xx is an error, and a request that no container answers. Acts at once. Default: 50.
    error_rate_percent: Option<Whole<0, 100>>,
    /// How far back requests are looked at for that, in whole minutes. Acts at once. Default: 60.
    error_rate_seconds: Option<Whole<60, 3_600>>,
    /// The connection by which the repository is fetched, and the commits' statuses are reported. Default: none.
    connection_id: Given<GivenId>,
    /// Whether a push to the repository deploys. Default: true.
    auto_deploy: Option<bool>,
    /// Only a push that changes one of these deploys: folders, files, or patterns with `*`, `**` and `?`; `!` in front makes an
    /// exception. Default: none, which is every push.
    watch_paths: Option<WatchPaths>,
    /// Tags that are deployed when they are pushed, such as `v*`. Default: none.
    tag_pattern: Given<TagPattern>,
    /// With `image`: whether the registry is asked from time to time if the tag leads to another image, and that one is deployed.
    /// Default: false.
    auto_update: Option<bool>,
    /// Whether pull requests get previews. Default: false.
    previews: Option<bool>,
    /// Whether pull requests of forks get previews too. Only admins can allow it: the code of a stranger runs then. Default: false.
    preview_forks: Option<bool>,
    /// Environment variables of previews, beside the application's or instead of them.
    #[serde(serialize_with = "sent::optional")]
    preview_variables: Option<VariableMap>,
    /// Those of `secret_names` that previews get too; previews of forks never do. Default: none.
    preview_secret_names: Option<VariableNames>,
}

/// The name again, so that no application is deleted by mistake.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteApplication {
    pub id: Uuid,
    pub name: Text<1, 100>,
    /// The volumes to be deleted with it. The others stay, and can be attached to another application.
    pub volumes: Option<VolumeNames>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateLabels {
    /// Replaces all of them.
    pub labels: Labels,
}

/// Which application.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApplicationId {
    pub id: Uuid,
}

/// The same as a query parameter.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ApplicationQuery {
    pub id: Uuid,
}

closed_set! {
    pub enum ApplicationOrder {
        Name = "name",
        CreatedAt = "created_at",
        UpdatedAt = "updated_at",
        State = "state",
    }
}

closed_set! {
    pub enum SortDirection {
        Ascending = "asc",
        Descending = "desc",
    }
}

/// All that are given must hold.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ApplicationsQuery {
    /// Default: 1. Behind the last page there is nothing.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub page: Option<Whole<1, 1_000_000_000>>,
    /// Default: 10. Also written `pageSize`.
    #[serde(alias = "pageSize", deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub page_size: Option<Whole<1, 100>>,
    /// A part of the name, the domain or the repository, in any case.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub search: Option<Text<1, 200>>,
    /// Given several times, or separated by commas: all of them must be there.
    #[serde(
        deserialize_with = "absent_when_empty",
        serialize_with = "with_commas",
        skip_serializing_if = "Option::is_none"
    )]
    pub label: Option<Labels>,
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub state: Option<ApplicationState>,
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub environment: Option<Slug<50>>,
    /// Default: `created_at`.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub sort_by: Option<ApplicationOrder>,
    /// Default: `desc`.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub sort_direction: Option<SortDirection>,
}

/// As a query parameter has it.
fn with_commas<S: Serializer>(labels: &Option<Labels>, serializer: S) -> Result<S::Ok, S::Error> {
    labels.as_ref().map(|labels| labels.join(",")).serialize(serializer)
}
