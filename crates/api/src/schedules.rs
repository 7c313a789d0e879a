//! Schedules: when a command of an application is run, again and again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::closed_set::closed_set;
use crate::{Command, CommandRun, Cron, Given, RunSeconds, ServiceName, Text, Timestamp, Whole};

/// Unique among the schedules of an application.
pub type NewScheduleName = Text<1, 100>;
/// Runs of a schedule that are remembered.
pub type KeptRuns = Whole<1, 100>;

closed_set! {
    /// What happens when the time has come and a run of the schedule is not over.
    pub enum Overlap {
        /// Nothing is run this time.
        Skip = "skip",
        /// The next one waits for it. One waits at most: with one that waits already, nothing is run this time.
        Queue = "queue",
        /// It is cancelled, and the next one begins when it has ended.
        Replace = "replace",
    }
}

closed_set! {
    /// The time zone of the fields of `cron`.
    pub enum TimeZone {
        Utc = "UTC",
    }
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateSchedule {
    pub name: NewScheduleName,
    /// Minute, hour, day of the month, month and day of the week, such as `30 3 * * *`; or `@hourly`, `@daily`, `@midnight`, `@weekly`,
    /// `@monthly`, `@yearly` or `@annually`. A field is `*`, a value, `from-to`, several of these with commas between them, and after
    /// `*` or a range a step, such as `*/15`. Months and days of the week have names too: `jan`, `sun`. If both fields about days say
    /// something, a day needs to fit only one of them, unless one begins with `*`.
    pub cron: Cron,
    /// Default: UTC, and nothing else is possible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<TimeZone>,
    /// As of a run that is asked for at once.
    pub command: Command,
    /// Of a compose file: the service whose image and variables it has. Default: the one that visitors of the main domain reach.
    #[serde(default, skip_serializing_if = "is_absent")]
    pub service: Given<ServiceName>,
    /// Default: skip.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap: Option<Overlap>,
    /// Whether it runs anything. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Longest time of a run. Default, and most: the setting `run-seconds`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<RunSeconds>,
    /// How many runs that are over are remembered. Default: 20.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep: Option<KeptRuns>,
}

/// What is absent stays as it is.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateSchedule {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<NewScheduleName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cron: Option<Cron>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<TimeZone>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Command>,
    /// Empty for the one that visitors of the main domain reach.
    #[serde(default, skip_serializing_if = "is_absent")]
    pub service: Given<ServiceName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap: Option<Overlap>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<RunSeconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep: Option<KeptRuns>,
}

fn is_absent<T: PartialEq>(given: &Given<T>) -> bool {
    *given == Given::Absent
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Schedule {
    pub id: Uuid,
    pub application_id: Uuid,
    pub name: String,
    pub cron: String,
    pub time_zone: TimeZone,
    /// Masked for callers who may not read variables.
    pub command: String,
    /// Empty for the one that visitors of the main domain reach.
    pub service: String,
    pub overlap: Overlap,
    pub enabled: bool,
    pub timeout_seconds: i64,
    pub keep: i64,
    /// None while it is not enabled.
    pub next_run_at: Option<Timestamp>,
    /// The newest of its runs.
    pub last_run: Option<CommandRun>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Schedules {
    /// In the order of their names.
    pub schedules: Vec<Schedule>,
}
