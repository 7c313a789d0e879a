//! Uptime: whether visitors of an application get an answer, asked again and again by the way that they take.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::closed_set::closed_set;
use crate::text::absent_when_empty;
use crate::{Decimal, HealthPath, Timestamp, Whole, ZeroOr};

closed_set! {
    /// What is known of an application from its checks.
    pub enum UptimeState {
        /// Nothing is checked.
        Off = "off",
        /// It answered as it should when it was last asked, or has not failed often enough in a row to be down.
        Up = "up",
        /// So many checks in a row have failed.
        Down = "down",
        /// It is not meant to answer just now: it was stopped, is being started or changed, a snapshot is taken, or it is in maintenance.
        Paused = "paused",
        /// It never served a visitor, so it cannot be down either.
        NotLive = "not_live",
        /// The edge kept the check out, by the application's own access settings.
        Blocked = "blocked",
        /// It could not be told, as when the container engine does not answer.
        Unknown = "unknown",
        /// The last check was too long ago to say anything.
        NoRecentCheck = "no_recent_check",
    }
}

closed_set! {
    /// What became of one check.
    pub enum CheckResult {
        Up = "up",
        Failed = "failed",
        Paused = "paused",
        NotLive = "not_live",
        Blocked = "blocked",
        Unknown = "unknown",
    }
}

/// What is absent stays as it is.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateUptime {
    /// Whether the application is checked. Default, with the first call: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// What is asked for, at the main domain. Default: `/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<HealthPath>,
    /// From one check to the next. Default: 60.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_seconds: Option<Whole<30, 3_600>>,
    /// The status of a good answer. Default: 0, for any from 200 to 399. Redirects are not followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_status: Option<ZeroOr<200, 599>>,
    /// Longest time for an answer. Default: 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<Whole<1, 30>>,
    /// So many checks must fail in a row until the application is down. Default: 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failures: Option<Whole<1, 10>>,
}

/// The uptime check of an application, and what it has come to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Uptime {
    pub application_id: Uuid,
    pub enabled: bool,
    pub path: String,
    pub interval_seconds: i64,
    /// 0 for any from 200 to 399.
    pub expected_status: i64,
    pub timeout_seconds: i64,
    pub failures: i64,
    pub state: UptimeState,
    /// Why it is not up; empty if it is.
    pub reason: String,
    /// Since when the state is what it is.
    pub since: Option<Timestamp>,
    pub last_check_at: Option<Timestamp>,
    pub next_check_at: Option<Timestamp>,
    pub availability: Availability,
}

/// How many of a hundred checks that could be judged were good; null where there were none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Availability {
    /// Whole hours, and the present one.
    pub last_24_hours: Option<Decimal>,
    pub last_7_days: Option<Decimal>,
    pub last_30_days: Option<Decimal>,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UptimeCheck {
    pub id: Uuid,
    pub result: CheckResult,
    /// Of the answer; null if there was none.
    pub status: Option<i64>,
    /// From the beginning of the connection to the head of the answer; null if there was none.
    pub answer_ms: Option<i64>,
    /// Why it is not up; empty if it is.
    pub reason: String,
    pub checked_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct UptimeChecks {
    /// Newest first. Those of a day are kept.
    pub checks: Vec<UptimeCheck>,
    /// For `before`, to go on; null on the last page.
    pub next_cursor: Option<Uuid>,
}

/// A time in which an application was down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outage {
    pub id: Uuid,
    /// Of the first check in a row that failed.
    pub started_at: Timestamp,
    /// Null while it lasts.
    pub ended_at: Option<Timestamp>,
    /// Whether it ended because the application answered again, and not because it was stopped or is not checked any more.
    pub recovered: bool,
    /// What the check said with which it began to count.
    pub reason: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Outages {
    /// Newest first. Those of 90 days are kept, a thousand at most.
    pub outages: Vec<Outage>,
    /// For `before`, to go on; null on the last page.
    pub next_cursor: Option<Uuid>,
}

/// A page of what is listed newest first.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UptimeQuery {
    /// The `next_cursor` of an earlier answer.
    pub before: Option<Uuid>,
    /// Default: 50.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub limit: Option<Whole<1, 500>>,
}
