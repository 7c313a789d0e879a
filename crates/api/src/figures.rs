//! What applications and the machine use, over time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::text::absent_when_empty;
use crate::{Decimal, DiskSpace, Timestamp, Whole};

/// Points in time, in lines: one number of each line for each point; null where nothing was measured.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Figures {
    /// The beginning of the first point.
    pub from: Timestamp,
    /// How long each point is.
    pub step_seconds: i64,
    pub points: i64,
    pub lines: FigureLines,
    /// The instances that were measured in this time, the newest first; at most 100.
    pub instances: Vec<FigureInstance>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FigureLines {
    /// Thousandths of a processor.
    pub cpu_millis: Vec<Option<Decimal>>,
    /// On average.
    pub memory_bytes: Vec<Option<i64>>,
    /// At the most.
    pub memory_peak_bytes: Vec<Option<i64>>,
    /// Bytes a second, as those that follow.
    pub network_received: Vec<Option<i64>>,
    pub network_sent: Vec<Option<i64>>,
    pub disk_read: Vec<Option<i64>>,
    pub disk_written: Vec<Option<i64>>,
    /// How often containers were started again.
    pub restarts: Vec<Option<i64>>,
    pub requests: Vec<Option<i64>>,
    pub requests_per_second: Vec<Option<Decimal>>,
    /// Requests that were answered with 5xx or failed on the way, visitors who left apart.
    pub errors: Vec<Option<i64>>,
    /// Within how many milliseconds the head of half of the answers came; null without answers, as those that follow.
    pub p50_ms: Vec<Option<Decimal>>,
    pub p95_ms: Vec<Option<Decimal>>,
    pub p99_ms: Vec<Option<Decimal>>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FigureInstance {
    /// For `instance_id`.
    pub id: Uuid,
    pub deployment_id: Uuid,
    /// Which of its deployment's instances it is, from 1 on.
    pub ordinal: i64,
    /// The service of a compose file that it is; empty for others.
    pub service: String,
    /// The beginning of its first point in this time, and of its last one.
    pub first_at: Timestamp,
    pub last_at: Timestamp,
}

/// How an application is, over the last minute that was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CurrentFigures {
    /// The end of that minute.
    pub at: Timestamp,
    /// Thousandths of a processor; null where nothing was measured, as all that follow.
    pub cpu_millis: Option<Decimal>,
    pub memory_bytes: Option<i64>,
    pub requests_per_second: Option<Decimal>,
    /// Of a hundred requests, those with errors; null without requests.
    pub error_percent: Option<Decimal>,
    /// Within how many milliseconds answers came; null without answers.
    pub p50_ms: Option<Decimal>,
    pub p95_ms: Option<Decimal>,
    pub p99_ms: Option<Decimal>,
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FiguresQuery {
    /// Default: an hour before `to`.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub from: Option<Timestamp>,
    /// Default: now.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub to: Option<Timestamp>,
    /// Seconds of each point. What is older than an hour is kept by the minute, and what is older than a day by ten minutes; the answer
    /// says which step it has. Default: one with at most 360 points. At most 1440 points are answered.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub step: Option<Whole<10, 86_400>>,
    /// Only this deployment's instances.
    pub deployment_id: Option<Uuid>,
    /// Only this instance.
    pub instance_id: Option<Uuid>,
}

/// The machine of the server that answers.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HostFigures {
    pub processors: i64,
    pub memory_total_bytes: i64,
    /// The disks of the data folder and of the container engine; null where a disk does not tell.
    pub data_folder: Option<DiskSpace>,
    pub engine: Option<DiskSpace>,
    /// The beginning of the first point, since the server was started at most.
    pub from: Timestamp,
    pub step_seconds: i64,
    pub points: i64,
    pub lines: HostLines,
    /// Why what containers use is not measured; empty while it is.
    pub problem: String,
}

/// One number for each point of the last hour; null where nothing was measured.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HostLines {
    /// Thousandths of a processor, of all together.
    pub cpu_millis: Vec<Option<Decimal>>,
    /// What is not available for programs.
    pub memory_bytes: Vec<Option<i64>>,
    /// Programs that run or wait for a processor or a disk, on average over a minute.
    pub load: Vec<Option<Decimal>>,
}
