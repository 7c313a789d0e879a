//! Deployments of applications.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::closed_set::closed_set;
use crate::text::absent_when_empty;
use crate::{Application, ApplicationLog, DeployEffect, Link, Pagination, Timestamp, Whole};

closed_set! {
    pub enum DeploymentState {
        /// Waiting for its turn, or for the container engine.
        Queued = "queued",
        Cloning = "cloning",
        Building = "building",
        Deploying = "deploying",
        /// Visitors are being served by it, or were until a later one.
        Deployed = "deployed",
        Failed = "failed",
        Cancelled = "cancelled",
    }
}

impl DeploymentState {
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Deployed | Self::Failed | Self::Cancelled)
    }
}

closed_set! {
    /// What a deployment was asked to do.
    pub enum DeploymentKind {
        /// The newest commit with the configuration of that moment.
        Deploy = "deploy",
        /// The same, because a user asked for it again.
        Redeploy = "redeploy",
        /// An earlier release.
        Rollback = "rollback",
        /// The live release in new containers.
        Restart = "restart",
        /// The release that was live when the application was stopped.
        Start = "start",
        /// The release that is live, or was live last, with a volume from a snapshot.
        Restore = "restore",
    }
}

closed_set! {
    /// What set a deployment off.
    pub enum DeploymentTrigger {
        /// A user with a login.
        User = "user",
        /// A program with an API key of a user.
        ApiKey = "api_key",
        /// A push to the repository.
        Push = "push",
        Schedule = "schedule",
        Extension = "extension",
        /// The server itself.
        Server = "server",
    }
}

closed_set! {
    /// What was made of a repository.
    pub enum ArtifactKind {
        /// Nothing, or nothing yet: a build can fail.
        None = "",
        /// Containers run it.
        Image = "image",
        /// Files that are served without a container.
        Site = "site",
        /// Containers run the services of a compose file.
        Services = "services",
    }
}

closed_set! {
    /// A container, as it was last seen.
    pub enum ContainerStatus {
        /// There has not been one yet.
        None = "",
        Starting = "starting",
        Running = "running",
        Unhealthy = "unhealthy",
        /// It ends by itself, and is started again after a pause that grows; until it has stayed up for ten seconds.
        Crashing = "crashing",
        Exited = "exited",
        Removed = "removed",
    }
}

closed_set! {
    /// Why a deployment failed.
    pub enum Failure {
        RepositoryUnreachable = "repository_unreachable",
        ReferenceNotFound = "reference_not_found",
        /// The repository has something in it that is not supported, such as a submodule at an address that is not called.
        RepositoryUnsupported = "repository_unsupported",
        /// Its server cannot read all of it, or does not have all files that are in Git LFS.
        RepositoryDamaged = "repository_damaged",
        /// The registry of an image could not be reached.
        RegistryUnreachable = "registry_unreachable",
        /// The registry does not give the image to the organization: no credentials, wrong ones, or none for this image.
        RegistryRefused = "registry_refused",
        /// The registry has no such image, or no such tag of it.
        ImageNotFound = "image_not_found",
        NoBuildPack = "no_build_pack",
        BuildFailed = "build_failed",
        OutOfMemory = "out_of_memory",
        PreRunFailed = "pre_run_failed",
        NotListening = "not_listening",
        ListeningOnLoopback = "listening_on_loopback",
        UnhealthyAnswer = "unhealthy_answer",
        CrashedAtStart = "crashed_at_start",
        ImageArchitecture = "image_architecture",
        /// The image, or the site, of an earlier release is no longer there; or an image of a compose file could not be pulled.
        ImageMissing = "image_missing",
        /// The engine no longer has a volume, or it cannot be used like this.
        VolumeUnusable = "volume_unusable",
        /// A snapshot could not be taken or restored.
        SnapshotFailed = "snapshot_failed",
        /// The organization has as much as the operator gives it, or a site is larger than one may be.
        CeilingReached = "ceiling_reached",
        EngineUnreachable = "engine_unreachable",
        EngineRefused = "engine_refused",
        DiskFull = "disk_full",
        TimedOut = "timed_out",
        Internal = "internal",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApplicationDeployment {
    pub id: Uuid,
    pub application_id: Uuid,
    pub application: Link<Application>,
    /// Of an application made from an image: the image's digest; from an extension: the SHA-256 of its text.
    pub commit_hash: String,
    /// What its release was made into. A site has no instances.
    pub artifact: ArtifactKind,
    /// The engine's id of the first instance; of services, of the one of the main domain.
    pub container_id: String,
    /// The engine's id of the image; empty for services. It cannot be used in a Dockerfile.
    pub container_image: String,
    /// The name of that instance.
    pub container_name: String,
    /// Of all instances together: `running` when all of them run, `unhealthy` when only some do. Of a site: empty, or `removed` when its files
    /// are gone.
    pub container_status: ContainerStatus,
    /// Its containers that are there now, in the order of their numbers.
    pub instances: Vec<DeploymentInstance>,
    pub status: Link<DeploymentStatus>,
    /// The newest 100 lines, newest first; none in lists.
    pub logs: Vec<ApplicationLog>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub kind: DeploymentKind,
    pub triggered_by: DeploymentTrigger,
    /// The user who set it off, or whose API key did; null if no user did.
    pub user_id: Option<Uuid>,
    /// Their name; empty once they have left the organization, and for those who may not see its members.
    pub user_name: String,
    /// The id of the deployment that made the release which this one brings.
    pub release_id: Uuid,
    pub commit_author: String,
    pub commit_message: String,
    /// Why it failed, as a class such as `build_failed`; empty if it did not.
    pub failure: String,
    /// The same in words; also why it was cancelled.
    pub reason: String,
    /// Whether its release can be gone back to.
    pub can_roll_back: bool,
    /// Whether there are snapshots of the volumes as they were when its release was last replaced, for a rollback `with_data`.
    pub can_restore_data: bool,
    /// Visitors' requests that were under way in the containers before: how many finished, and how many were cut off.
    pub requests_served: i64,
    pub requests_failed: i64,
    /// For how long visitors waited because the containers before had to end first, in milliseconds; 0 if they did not.
    pub held_ms: i64,
    /// How many of their requests waited.
    pub held_requests: i64,
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
}

/// One running copy of a release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeploymentInstance {
    /// From 1 to the application's `replicas`, or to the number of its services.
    pub ordinal: i64,
    /// The service of a compose file that it is; empty for others.
    pub service: String,
    pub name: String,
    /// The engine's id of it; empty until it is made.
    pub container_id: String,
    pub status: ContainerStatus,
    /// Null unless it is `crashing`.
    pub crash_loop: Option<CrashLoop>,
}

/// A container that ends by itself and is started again, each time after a longer pause, until it has stayed up for ten seconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CrashLoop {
    /// How many times it has ended since it last stayed up.
    pub crashes: i64,
    /// Of the last end that the server saw; null if it saw none.
    pub exit_code: Option<i64>,
    /// Whether it was ended because it used more memory than it may.
    pub out_of_memory: bool,
    /// Why it ended, or why it cannot be started, in words.
    pub reason: String,
    /// What it printed last before it ended, oldest first.
    pub last_lines: Vec<String>,
    pub crashed_at: Option<Timestamp>,
    /// When the engine starts it again; null while it runs.
    pub next_start_at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeploymentStatus {
    pub id: Uuid,
    pub application_deployment_id: Uuid,
    pub application_deployment: Link<ApplicationDeployment>,
    pub status: DeploymentState,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Deployments {
    /// Newest first.
    pub deployments: Vec<ApplicationDeployment>,
    pub pagination: Pagination,
}

/// What a deployment's release has that another's has not.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ReleaseComparison {
    pub changes: Vec<ReleaseChange>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReleaseChange {
    /// As requests have it, or `commit_hash`, `commit_author`, `commit_message`, `artifact`.
    pub field: String,
    /// The name of the variable or the volume, if the field holds several; else empty.
    pub variable: String,
    /// Null if there was none. `********` for what may not be seen.
    pub before: Option<String>,
    pub after: Option<String>,
    /// Whether the values are hidden: they are secret, or the caller may not read variables.
    pub is_masked: bool,
    /// Whether a value is longer than what is shown of it, its first 2000 characters.
    pub is_cut: bool,
    /// What the difference is about: `nothing`, `containers` or `build`. Of a plan also `unknown`.
    pub effect: DeployEffect,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonQuery {
    /// The deployment to begin with.
    pub from: Uuid,
    /// The deployment whose release is compared with that one's.
    pub to: Uuid,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Redeploy {
    /// The application.
    pub id: Uuid,
    /// Builds everything anew. Default: false.
    pub force_without_cache: Option<bool>,
    /// Accepted and not needed: a redeploy always deploys.
    pub force: Option<bool>,
}

/// An application, or its live deployment.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Restart {
    pub id: Uuid,
}

/// Which deployment.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeploymentId {
    pub id: Uuid,
}

/// To the release of which deployment.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rollback {
    pub id: Uuid,
    /// Whether the volumes go back too: to the snapshots that were taken when the release was last
    /// replaced. Volumes that were made since keep what they hold. Default: false.
    pub with_data: Option<bool>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct DeploymentsQuery {
    /// The application.
    pub id: Uuid,
    /// Default: 1. Behind the last page there is nothing.
    #[serde(default, deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub page: Option<Whole<1, 1_000_000_000>>,
    /// Default: 10. Also written `page_size`.
    #[serde(
        default,
        alias = "page_size",
        alias = "pageSize",
        deserialize_with = "absent_when_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub limit: Option<Whole<1, 100>>,
}
