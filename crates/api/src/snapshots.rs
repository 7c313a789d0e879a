//! Snapshots of volumes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::Timestamp;
use crate::closed_set::closed_set;

closed_set! {
    pub enum SnapshotState {
        /// Waiting for its turn, or being written.
        Pending = "pending",
        /// It can be downloaded and restored.
        Ready = "ready",
        Failed = "failed",
        /// It is being removed.
        Deleted = "deleted",
    }
}

closed_set! {
    /// What a snapshot was taken for.
    pub enum SnapshotOrigin {
        /// A user asked for it. It stays until it is deleted.
        User = "user",
        /// The volume's `snapshot_hours`.
        Schedule = "schedule",
        /// A deployment was about to change the data.
        Deployment = "deployment",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Snapshot {
    pub id: Uuid,
    /// None once the application was deleted.
    pub application_id: Option<Uuid>,
    pub application_name: String,
    pub volume_id: Uuid,
    /// As it was called then.
    pub volume_name: String,
    pub origin: SnapshotOrigin,
    /// The deployment before which it was taken.
    pub deployment_id: Option<Uuid>,
    /// The release that had written the data until then: a rollback to it `with_data` brings this back.
    pub release_id: Option<Uuid>,
    pub state: SnapshotState,
    /// Why it failed; of one that is ready, what went wrong afterwards.
    pub reason: String,
    /// Of the tar.
    pub size_bytes: i64,
    /// Of the tar, in hexadecimal digits.
    pub sha256: String,
    pub created_at: Timestamp,
    pub completed_at: Option<Timestamp>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Snapshots {
    /// Newest first, the newest 1000.
    pub snapshots: Vec<Snapshot>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RestoreSnapshot {
    /// Of this volume or of any other of the organization.
    pub snapshot_id: Uuid,
}
