//! What happens, as consumers hear of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::closed_set::closed_set;
use crate::text::absent_when_empty;
use crate::{ApplicationState, Can, DeploymentState, Timestamp};

closed_set! {
    /// What happened. A name never changes its meaning; there may be more of them later.
    pub enum EventName {
        ApplicationCreated = "application.created",
        /// Its configuration, its name, its domain or its labels changed.
        ApplicationUpdated = "application.updated",
        /// A deployment of it waits or is under way.
        ApplicationDeploying = "application.deploying",
        /// Visitors are served.
        ApplicationRunning = "application.running",
        ApplicationStopped = "application.stopped",
        /// Nothing is serving, though something should be.
        ApplicationFailed = "application.failed",
        /// Its container ended by itself; it is started again.
        ApplicationCrashed = "application.crashed",
        /// Too many of its visitors get errors: `error_rate_percent` says how many are too many.
        ApplicationUnhealthy = "application.unhealthy",
        /// Most of its visitors get answers again.
        ApplicationRecovered = "application.recovered",
        /// Its uptime check has failed so often in a row as the check says.
        ApplicationDown = "application.down",
        /// After that: its uptime check gets the answer that it should.
        ApplicationUp = "application.up",
        /// Everything of it is gone.
        ApplicationDeleted = "application.deleted",
        DeploymentQueued = "deployment.queued",
        DeploymentCloning = "deployment.cloning",
        DeploymentBuilding = "deployment.building",
        DeploymentDeploying = "deployment.deploying",
        /// Visitors are served by it.
        DeploymentSucceeded = "deployment.succeeded",
        DeploymentFailed = "deployment.failed",
        DeploymentCancelled = "deployment.cancelled",
        VolumeCreated = "volume.created",
        VolumeDeleted = "volume.deleted",
        SnapshotSucceeded = "snapshot.succeeded",
        SnapshotFailed = "snapshot.failed",
        /// A command is to be run.
        RunQueued = "run.queued",
        RunStarted = "run.started",
        RunSucceeded = "run.succeeded",
        /// It failed, took too long, or was interrupted.
        RunFailed = "run.failed",
        RunCancelled = "run.cancelled",
        /// The time of a schedule came, and nothing was run.
        RunSkipped = "run.skipped",
        /// An extension is to be carried out.
        ExecutionQueued = "execution.queued",
        ExecutionSucceeded = "execution.succeeded",
        ExecutionFailed = "execution.failed",
        ExecutionCancelled = "execution.cancelled",
        /// A certificate was not to be had in several tries, or in one and the one in use is near its end: it is tried again. Or one that a member
        /// has uploaded is near its end or past it, and no other is ordered. The reason says which.
        CertificateFailed = "certificate.failed",
        /// After that: there is one that is good for long.
        CertificateRecovered = "certificate.recovered",
        /// A disk of the machine has less room than the setting `disk-low-percent` says.
        DiskLow = "disk.low",
        DiskRecovered = "disk.recovered",
        /// The container engine has not answered for a minute.
        EngineLost = "engine.lost",
        EngineRecovered = "engine.recovered",
        /// Log lines could not be stored for a minute.
        LogsStopped = "logs.stopped",
        LogsRecovered = "logs.recovered",
        MemberAdded = "member.added",
        MemberRoleChanged = "member.role_changed",
        MemberRemoved = "member.removed",
        ApiKeyCreated = "api_key.created",
    }
}

impl EventName {
    /// Who may hear of it: members who may do this.
    pub const fn needs(self) -> Can {
        match self {
            Self::ApplicationCreated
            | Self::ApplicationUpdated
            | Self::ApplicationDeploying
            | Self::ApplicationRunning
            | Self::ApplicationStopped
            | Self::ApplicationFailed
            | Self::ApplicationCrashed
            | Self::ApplicationUnhealthy
            | Self::ApplicationRecovered
            | Self::ApplicationDown
            | Self::ApplicationUp
            | Self::ApplicationDeleted
            | Self::DeploymentQueued
            | Self::DeploymentCloning
            | Self::DeploymentBuilding
            | Self::DeploymentDeploying
            | Self::DeploymentSucceeded
            | Self::DeploymentFailed
            | Self::DeploymentCancelled
            | Self::VolumeCreated
            | Self::VolumeDeleted
            | Self::SnapshotSucceeded
            | Self::SnapshotFailed
            | Self::RunQueued
            | Self::RunStarted
            | Self::RunSucceeded
            | Self::RunFailed
            | Self::RunCancelled
            | Self::RunSkipped => Can::DeployRead,
            Self::ExecutionQueued | Self::ExecutionSucceeded | Self::ExecutionFailed | Self::ExecutionCancelled => {
                Can::ExtensionRead
            }
            Self::CertificateFailed | Self::CertificateRecovered => Can::DomainRead,
            // They tell of the machine.
            Self::DiskLow
            | Self::DiskRecovered
            | Self::EngineLost
            | Self::EngineRecovered
            | Self::LogsStopped
            | Self::LogsRecovered => Can::ExtensionHost,
            Self::MemberAdded | Self::MemberRoleChanged | Self::MemberRemoved => Can::MemberRead,
            Self::ApiKeyCreated => Can::ApiKeyRead,
        }
    }
}

impl From<ApplicationState> for EventName {
    fn from(state: ApplicationState) -> Self {
        match state {
            ApplicationState::Deploying => Self::ApplicationDeploying,
            ApplicationState::Running => Self::ApplicationRunning,
            ApplicationState::Stopped => Self::ApplicationStopped,
            ApplicationState::Failed => Self::ApplicationFailed,
        }
    }
}

impl From<DeploymentState> for EventName {
    fn from(state: DeploymentState) -> Self {
        match state {
            DeploymentState::Queued => Self::DeploymentQueued,
            DeploymentState::Cloning => Self::DeploymentCloning,
            DeploymentState::Building => Self::DeploymentBuilding,
            DeploymentState::Deploying => Self::DeploymentDeploying,
            DeploymentState::Deployed => Self::DeploymentSucceeded,
            DeploymentState::Failed => Self::DeploymentFailed,
            DeploymentState::Cancelled => Self::DeploymentCancelled,
        }
    }
}

/// Something that happened in an organization.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Rises by the order in which things happened. Numbers may be left out: those of other organizations.
    pub id: i64,
    pub name: EventName,
    pub organization_id: Uuid,
    /// None for what is not about an application.
    pub application_id: Option<Uuid>,
    /// None for what is not about a deployment.
    pub deployment_id: Option<Uuid>,
    /// What else there is to say: texts by name, such as `application` and `reason`.
    pub details: Map<String, Value>,
    pub created_at: Timestamp,
}

/// Where to begin.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EventsQuery {
    /// The id of an event, or 0 for the oldest that is kept. `Last-Event-ID` goes before it. Without either: what happens from now on.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub after: Option<EventCursor>,
}

/// The id of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(transparent, inline)]
pub struct EventCursor(#[schemars(with = "String")] pub i64);

impl Serialize for EventCursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl TryFrom<&str> for EventCursor {
    type Error = String;

    fn try_from(text: &str) -> Result<Self, String> {
        let seq = text.parse().ok().filter(|seq| *seq >= 0);
        seq.map(Self).ok_or_else(|| "must be the id of an event".to_owned())
    }
}
