//! Executions: runs of extensions, step by step.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::closed_set::closed_set;
use crate::text::absent_when_empty;
use crate::{Extension, Link, LogCursor, LogStream, Pagination, Timestamp, Whole};

closed_set! {
    pub enum ExecutionStatus {
        /// Waiting for its turn.
        Pending = "pending",
        Running = "running",
        Completed = "completed",
        /// `error_message` says why, and the steps say what was undone.
        Failed = "failed",
        /// It was asked for. What was done before is undone.
        Cancelled = "cancelled",
    }
}

impl ExecutionStatus {
    /// Whether it stays as it is.
    pub const fn is_over(self) -> bool {
        !matches!(self, Self::Pending | Self::Running)
    }
}

closed_set! {
    /// What an execution is for.
    pub enum ExecutionKind {
        /// Of an extension that leaves no installation behind.
        Run = "run",
        Install = "install",
        /// Brings an installation to another version or to other values.
        Update = "update",
        /// Brings an installation back to what it was before its last update.
        Rollback = "rollback",
        Uninstall = "uninstall",
    }
}

closed_set! {
    pub enum ExecutionPhase {
        Run = "run",
        /// Looks whether what was done works.
        Validate = "validate",
        /// Undoes what an earlier execution has done.
        Undo = "undo",
    }
}

closed_set! {
    pub enum StepStatus {
        Pending = "pending",
        Running = "running",
        Completed = "completed",
        Failed = "failed",
        /// Its condition does not hold.
        Skipped = "skipped",
        /// It was under way when the execution was cancelled.
        Cancelled = "cancelled",
    }
}

closed_set! {
    /// What became of a step that was completed before the execution failed, or before its installation was removed.
    pub enum UndoStatus {
        /// Its effect is there, or it never had one.
        None = "none",
        /// It is being undone.
        Undoing = "undoing",
        Undone = "undone",
        /// `undo_message` says why; its effect may be there.
        Failed = "failed",
        /// It cannot be undone; its effect is there.
        Impossible = "impossible",
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExtensionExecution {
    pub id: Uuid,
    pub extension_id: Uuid,
    pub extension: Link<Extension>,
    /// What it makes, changes or removes; none for one that leaves nothing.
    pub installation_id: Option<Uuid>,
    pub kind: ExecutionKind,
    pub organization_id: Uuid,
    /// Who asked for it.
    pub user_id: Uuid,
    /// The version of the extension, and the hash of its text, when it was asked for.
    pub version: String,
    pub content_hash: String,
    /// The machine that it ran on; empty before it began.
    pub server_hostname: String,
    pub status: ExecutionStatus,
    /// Of the step that it failed with, 0 when it was completed; none before it is over, and for a step without a program.
    pub exit_code: Option<i64>,
    pub error_message: String,
    /// The end of what it printed: its newest 500 lines at most. Empty in lists.
    pub execution_log: String,
    /// The number of its newest log line.
    pub log_seq: i64,
    /// JSON: by name, secrets masked. Empty for callers who may not read variables, and in a list that would be longer than some megabytes with it.
    pub variable_values: String,
    pub steps: Vec<ExecutionStep>,
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    pub created_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionStep {
    pub id: Uuid,
    pub execution_id: Uuid,
    pub execution: Link<ExtensionExecution>,
    pub step_name: String,
    pub step_type: String,
    /// From 1 on, through all phases.
    pub step_order: i64,
    pub phase: ExecutionPhase,
    pub status: StepStatus,
    pub exit_code: Option<i64>,
    /// The end of what it printed, and why it failed; the whole is in the log.
    pub output: String,
    pub undo_status: UndoStatus,
    pub undo_message: String,
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    pub created_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ExtensionExecutions {
    /// Newest first, without their steps.
    pub executions: Vec<ExtensionExecution>,
    pub pagination: Pagination,
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ExecutionsQuery {
    /// Default: 1. Behind the last page there is nothing.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub page: Option<Whole<1, 1_000_000_000>>,
    /// Default: 10. Also written `pageSize`.
    #[serde(alias = "pageSize", deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub page_size: Option<Whole<1, 100>>,
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub status: Option<ExecutionStatus>,
}

/// A line of an execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionLog {
    pub id: Uuid,
    pub execution_id: Uuid,
    /// The step that printed it, or the execution for what is about the whole.
    pub step_id: Uuid,
    pub message: String,
    pub stream: LogStream,
    /// From 1 on, without holes.
    pub sequence: i64,
    pub created_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionLogs {
    /// Oldest first.
    pub logs: Vec<ExecutionLog>,
    /// For `after`, to go on.
    pub next_after: i64,
    pub execution_status: ExecutionStatus,
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ExecutionLogsQuery {
    /// Only lines after this number. Default: 0. Also written `afterSeq`.
    #[serde(alias = "afterSeq", deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub after: Option<LogCursor>,
    /// Default: 200. Very long lines come in fewer at once; `next_after` goes on after them.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub limit: Option<Whole<1, 1_000>>,
}
