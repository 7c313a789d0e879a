//! What applications and their deployments print.

use std::borrow::Cow;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize, Serializer};
use uuid::Uuid;

use crate::closed_set::closed_set;
use crate::text::{absent_when_empty, check_length};
use crate::{Application, ApplicationDeployment, Link, Timestamp, Whole};

closed_set! {
    /// Where a line comes from.
    pub enum LogStream {
        Stdout = "stdout",
        Stderr = "stderr",
        /// Not from a program: about the work.
        Windlass = "windlass",
    }
}

closed_set! {
    /// What was being done when a line was printed.
    pub enum LogStep {
        /// Waiting for its turn, or for the container engine.
        Queue = "queue",
        Fetch = "fetch",
        Build = "build",
        /// The command before the start.
        PreRun = "pre_run",
        /// Visitors wait while the containers before end.
        Hold = "hold",
        /// Snapshots of volumes are taken or restored.
        Data = "data",
        Start = "start",
        Health = "health",
        Switch = "switch",
        /// The release before finishes its requests and goes.
        Drain = "drain",
        /// The command after the switch.
        PostRun = "post_run",
        /// The code host is told what became of the commit.
        Report = "report",
        /// The application itself.
        Run = "run",
        /// A command run.
        Command = "command",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApplicationLog {
    pub id: Uuid,
    pub application_id: Uuid,
    pub application: Link<Application>,
    pub application_deployment_id: Uuid,
    pub application_deployment: Link<ApplicationDeployment>,
    pub log: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub stream: LogStream,
    pub step: LogStep,
    /// The service of a compose file whose container has printed it; empty for others.
    pub service: String,
    /// Its place among the application's lines, for `before` and `after`.
    pub cursor: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ApplicationLogs {
    pub logs: Vec<ApplicationLog>,
    /// For `before`, and empty when there are no earlier lines; after a request with `after`, for `after`. Where fewer lines were given
    /// than were asked for, or none because a search took its time, it goes on from here.
    pub next_cursor: String,
}

/// Which lines, of whatever route. All that are given must hold.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LogFilter {
    /// A part of the line, in any case, with its spaces.
    #[serde(deserialize_with = "as_written", skip_serializing_if = "Option::is_none")]
    pub search_term: Option<Sought<200>>,
    /// A regular expression that the line must match, with its spaces. Case counts unless it begins with `(?i)`. Of a line that is longer
    /// than 16 KiB, the first 16 KiB are looked at.
    #[serde(deserialize_with = "as_written", skip_serializing_if = "Option::is_none")]
    pub regex: Option<Sought<500>>,
    /// Given several times, or separated by commas: any of them.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub stream: Option<Several<LogStream>>,
    /// Given several times, or separated by commas: any of them.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub step: Option<Several<LogStep>>,
    /// Only what the containers of this service of a compose file have printed.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub service: Option<Sought<200>>,
    /// `true` keeps colours, as sequences `ESC [ numbers m`. Lines are searched without them. Default: `false`.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub colors: Option<Switch>,
    /// At this time or later: RFC 3339, or a date, which begins at midnight UTC.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Timestamp>,
    /// Before this time.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub end_time: Option<Timestamp>,
}

/// One of an application's deployments, on the routes to an application's lines.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LogDeployment {
    /// Only lines of this deployment, which must be one of the application's. One that is not remembered any more cannot be
    /// named; its lines are among the application's.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub deployment_id: Option<DeploymentName>,
}

/// Newest first; with `after`, the oldest lines after it, oldest first.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LogsQuery {
    /// Default: 1. Behind the last page there is nothing. New lines move older ones to later pages: cursors do not have this. The lines
    /// that are missing from a page which is shorter than asked for are not on the next one: only its `next_cursor` leads to them.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub page: Option<Whole<1, 1_000_000_000>>,
    /// Default: 100. Also written `pageSize`. Lines that are very long, or whose application or deployments are, come in fewer at once;
    /// `next_cursor` goes on after them.
    #[serde(alias = "pageSize", deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub page_size: Option<Whole<1, 1_000>>,
    /// A cursor of an earlier answer. Not together with `page`.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub before: Option<LogCursor>,
    /// A cursor of an earlier answer, or 0 for the beginning. Neither together with `before` nor with `page`.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub after: Option<LogCursor>,
    /// `none` leaves out the application and the deployment of each line. Default: `all`.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub relations: Option<LogRelations>,
}

/// Lines as they come.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FollowLogsQuery {
    /// How many lines to begin with, when neither `Last-Event-ID` nor `after` says where. Fewer when they are very long, or are not found
    /// in time. Default: 100.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub tail: Option<Whole<0, 1_000>>,
    /// A cursor of an earlier answer, or 0 for the beginning. `Last-Event-ID` goes before it.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub after: Option<LogCursor>,
}

/// Words of a closed set, separated by commas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Several<T>(pub Vec<T>);

impl<T: for<'a> TryFrom<&'a str, Error = String>> TryFrom<&str> for Several<T> {
    type Error = String;

    fn try_from(text: &str) -> Result<Self, String> {
        text.split(',').map(T::try_from).collect::<Result<_, _>>().map(Self)
    }
}

impl<T: Serialize> Serialize for Several<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let words = self.0.iter().map(serde_json::to_value).collect::<Result<Vec<_>, _>>();
        let words = words.map_err(serde::ser::Error::custom)?;
        let words: Vec<&str> = words.iter().filter_map(serde_json::Value::as_str).collect();
        serializer.serialize_str(&words.join(","))
    }
}

impl<T: JsonSchema> JsonSchema for Several<T> {
    fn schema_name() -> Cow<'static, str> {
        "Several".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "array", "items": T::json_schema(generator) })
    }
}

/// A text to look for, as it was written: spaces at its ends are part of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sought<const MAX: usize>(String);

impl<const MAX: usize> Deref for Sought<MAX> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<const MAX: usize> TryFrom<&str> for Sought<MAX> {
    type Error = String;

    fn try_from(text: &str) -> Result<Self, String> {
        check_length(text, 1, MAX)?;
        match text.chars().any(|c| c.is_control() && c != '\t') {
            // No line has any, so nothing would ever be found.
            true => Err("must not contain control characters".to_owned()),
            false => Ok(Self(text.to_owned())),
        }
    }
}

impl<const MAX: usize> JsonSchema for Sought<MAX> {
    fn schema_name() -> Cow<'static, str> {
        format!("Sought{MAX}").into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "minLength": 1, "maxLength": MAX })
    }
}

/// Absent only when there is nothing at all.
fn as_written<'de, const MAX: usize, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Sought<MAX>>, D::Error> {
    match Cow::<'de, str>::deserialize(deserializer)? {
        text if text.is_empty() => Ok(None),
        text => Sought::try_from(&*text).map(Some).map_err(de::Error::custom),
    }
}

closed_set! {
    pub enum Switch {
        On = "true",
        Off = "false",
    }
}

closed_set! {
    /// What each line carries with it.
    pub enum LogRelations {
        All = "all",
        None = "none",
    }
}

/// A deployment's id, as a parameter that may be empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(transparent, inline)]
pub struct DeploymentName(pub Uuid);

impl TryFrom<&str> for DeploymentName {
    type Error = String;

    fn try_from(text: &str) -> Result<Self, String> {
        Uuid::try_parse(text).map(Self).map_err(|_| "must be a UUID".to_owned())
    }
}

/// A place among log lines. Only the server reads what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(transparent, inline)]
pub struct LogCursor(#[schemars(with = "String")] pub i64);

impl Serialize for LogCursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl TryFrom<&str> for LogCursor {
    type Error = String;

    fn try_from(text: &str) -> Result<Self, String> {
        let seq = text.parse().ok().filter(|seq| *seq >= 0);
        seq.map(Self).ok_or_else(|| "must be the cursor of an earlier answer".to_owned())
    }
}
