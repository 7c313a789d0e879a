//! Command runs: a command in a container of its own, made of the release that is live when it begins.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::closed_set::closed_set;
use crate::text::absent_when_empty;
use crate::{Command, LogStream, Pagination, ServiceName, Timestamp, Whole};

/// Seconds; the setting `run-seconds` can allow less.
pub type RunSeconds = Whole<1, 604_800>;

closed_set! {
    pub enum RunStatus {
        /// Waiting for its turn.
        Queued = "queued",
        Running = "running",
        /// It ended with exit code 0.
        Succeeded = "succeeded",
        /// It ended with another exit code, or could not be started; `reason` says which.
        Failed = "failed",
        /// It was asked for.
        Cancelled = "cancelled",
        /// It took longer than its `timeout_seconds`, and was ended.
        TimedOut = "timed_out",
        /// Something else ended it, such as a stop of the application, or its container vanished: how far it came is not known.
        Interrupted = "interrupted",
        /// Its schedule's time came, and it was not run; `reason` says why.
        Skipped = "skipped",
    }
}

impl RunStatus {
    /// Whether it stays as it is.
    pub const fn is_over(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunCommand {
    /// What `/bin/sh` of the image is given. It is stored and shown as it is: what is secret belongs into variables, which it can use.
    pub command: Command,
    /// Of a compose file: the service whose image and variables it has. Default: the one that visitors of the main domain reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<ServiceName>,
    /// Longest time. Default, and most: the setting `run-seconds`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<RunSeconds>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandRun {
    pub id: Uuid,
    pub application_id: Uuid,
    /// The schedule whose time had come; none for one that a user asked for, and once the schedule was deleted.
    pub schedule_id: Option<Uuid>,
    /// As it was called then; empty for one that a user asked for.
    pub schedule_name: String,
    /// The time of the schedule that it is for.
    pub scheduled_at: Option<Timestamp>,
    /// The user who asked for it, or whose API key did.
    pub user_id: Option<Uuid>,
    /// Who asked for it: the user's name, or `schedule`.
    pub actor: String,
    /// Masked for callers who may not read variables.
    pub command: String,
    /// Empty for a release without services.
    pub service: String,
    pub timeout_seconds: i64,
    pub status: RunStatus,
    /// None before it has ended, and where it never began.
    pub exit_code: Option<i64>,
    /// Why it has this status; empty for one that succeeded.
    pub reason: String,
    /// The number of its newest log line; 0 in lists and where it is not known.
    pub log_seq: i64,
    /// The deployment that was live when it began, and its release.
    pub deployment_id: Option<Uuid>,
    pub release_id: Option<Uuid>,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CommandRuns {
    /// Newest first.
    pub runs: Vec<CommandRun>,
    pub pagination: Pagination,
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RunsQuery {
    /// Default: 1. Behind the last page there is nothing.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub page: Option<Whole<1, 1_000_000_000>>,
    /// Default: 10. Also written `pageSize`.
    #[serde(alias = "pageSize", deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub page_size: Option<Whole<1, 100>>,
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub status: Option<RunStatus>,
    /// Only runs of this schedule.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub schedule_id: Option<ScheduleName>,
}

/// A schedule's id, as a parameter that may be empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(transparent, inline)]
pub struct ScheduleName(pub Uuid);

impl TryFrom<&str> for ScheduleName {
    type Error = String;

    fn try_from(text: &str) -> Result<Self, String> {
        Uuid::try_parse(text).map(Self).map_err(|_| "must be a UUID".to_owned())
    }
}

/// A line that a run printed, or that is about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandRunLog {
    pub id: Uuid,
    pub run_id: Uuid,
    pub message: String,
    pub stream: LogStream,
    /// From 1 on, without holes. Of a run that prints very much only the newest lines are kept.
    pub sequence: i64,
    pub created_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CommandRunLogs {
    /// Oldest first.
    pub logs: Vec<CommandRunLog>,
    /// For `after`, to go on.
    pub next_after: i64,
    pub run_status: RunStatus,
}
