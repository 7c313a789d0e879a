//! What is said of each event: a line for each in [`of`]. Nothing here is secret: an event's details are shown to all who may hear of
//! it, and log lines are as they are stored, masked.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use uuid::Uuid;
use windlass_api::EventName;
use windlass_notify::{Link, Message, Mood};
use windlass_store::events::Event;
use windlass_store::logs::{Bounds, LogStore, Of, Query};

/// Log lines in a message.
const LINES: usize = 15;
const LINE_CHARACTERS: usize = 300;
/// They are in one or two chunks; this is for a store that does not answer.
const READ_LIMIT: Duration = Duration::from_secs(1);

/// Why an event is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Something has failed, and may succeed later. The texts name what it was: a word, and the detail that tells it from others.
    Failure(&'static str, &'static str),
    /// The same has succeeded. After a failure that is told too, with the title at the end.
    Success(&'static str, &'static str, &'static str),
    /// Worth knowing in any case.
    Notable,
    /// Told to those who ask for it.
    News,
}

/// One line of the table. `{name}` in a title is the detail of that name.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    pub mood: Mood,
    pub kind: Kind,
    pub title: &'static str,
    /// After a number: "7 deployments failed".
    pub many: &'static str,
}

const fn line(mood: Mood, kind: Kind, title: &'static str, many: &'static str) -> Line {
    Line { mood, kind, title, many }
}

/// The table.
pub const fn of(name: EventName) -> Line {
    use EventName as E;
    use Kind::{Failure, News, Notable, Success};
    use Mood::{Bad, Good, Plain, Warning};
    match name {
        E::ApplicationCreated => line(Plain, News, "{application} was created", "applications were created"),
        E::ApplicationUpdated => line(Plain, News, "{application} was changed", "changes of applications"),
        E::ApplicationDeploying => line(Plain, News, "{application} is being deployed", "deployments began"),
        E::ApplicationRunning => line(
            Good,
            Success("application", "", "{application} is running again"),
            "{application} is running",
            "applications are running",
        ),
        E::ApplicationStopped => line(Plain, News, "{application} was stopped", "applications were stopped"),
        E::ApplicationFailed => {
            line(Bad, Failure("application", ""), "{application} does not run", "applications stopped running")
        }
        E::ApplicationCrashed => line(Bad, Notable, "{application} crashed", "crashes of applications"),
        E::ApplicationUnhealthy => {
            line(Bad, Notable, "{application} answers many requests with errors", "applications have errors")
        }
        E::ApplicationRecovered => {
            line(Good, Notable, "{application} answers without errors again", "applications have recovered")
        }
        E::ApplicationDown => line(Bad, Notable, "{application} is down", "applications are down"),
        E::ApplicationUp => line(Good, Notable, "{application} is up again", "applications are up again"),
        E::ApplicationDeleted => line(Plain, News, "{application} was deleted", "applications were deleted"),
        E::DeploymentQueued => line(Plain, News, "{application}: a deployment waits", "deployments were queued"),
        E::DeploymentCloning => {
            line(Plain, News, "{application}: the repository is fetched", "repositories were fetched")
        }
        E::DeploymentBuilding => line(Plain, News, "{application}: the build began", "builds began"),
        E::DeploymentDeploying => line(Plain, News, "{application}: the release is started", "releases were started"),
        E::DeploymentSucceeded => line(
            Good,
            Success("deployment", "", "{application}: deployed again after a failure"),
            "{application}: deployed",
            "deployments succeeded",
        ),
        E::DeploymentFailed => {
            line(Bad, Failure("deployment", ""), "{application}: the deployment failed", "deployments failed")
        }
        E::DeploymentCancelled => {
            line(Plain, News, "{application}: the deployment was called off", "deployments were called off")
        }
        E::VolumeCreated => line(Plain, News, "{application}: the volume {volume} was made", "volumes were made"),
        E::VolumeDeleted => line(Plain, News, "The volume {volume} was deleted", "volumes were deleted"),
        E::SnapshotSucceeded => line(
            Good,
            Success("snapshot", "volume", "{application}: snapshots of {volume} succeed again"),
            "{application}: a snapshot of {volume} was written",
            "snapshots were written",
        ),
        E::SnapshotFailed => line(
            Bad,
            Failure("snapshot", "volume"),
            "{application}: the snapshot of {volume} failed",
            "snapshots failed",
        ),
        E::RunQueued => line(Plain, News, "{application}: the schedule {schedule} is due", "schedules were due"),
        E::RunStarted => line(Plain, News, "{application}: the schedule {schedule} began", "schedules began"),
        E::RunSucceeded => line(
            Good,
            Success("run", "schedule", "{application}: the schedule {schedule} succeeds again"),
            "{application}: the schedule {schedule} succeeded",
            "schedules succeeded",
        ),
        E::RunFailed => {
            line(Bad, Failure("run", "schedule"), "{application}: the schedule {schedule} failed", "schedules failed")
        }
        E::RunCancelled => {
            line(Plain, News, "{application}: the schedule {schedule} was called off", "schedules were called off")
        }
        E::RunSkipped => {
            line(Warning, News, "{application}: the schedule {schedule} was skipped", "schedules were skipped")
        }
        E::ExecutionQueued => line(Plain, News, "The extension {extension} is to be run", "extensions are to be run"),
        E::ExecutionSucceeded => line(
            Good,
            Success("execution", "extension", "The extension {extension} succeeds again"),
            "The extension {extension} succeeded",
            "extensions succeeded",
        ),
        E::ExecutionFailed => {
            line(Bad, Failure("execution", "extension"), "The extension {extension} failed", "extensions failed")
        }
        E::ExecutionCancelled => {
            line(Plain, News, "The extension {extension} was called off", "extensions were called off")
        }
        E::CertificateFailed => {
            line(Bad, Notable, "Trouble with the certificate for {domain}", "certificates have trouble")
        }
        E::CertificateRecovered => {
            line(Good, Notable, "The certificate for {domain} is in order again", "certificates are in order again")
        }
        E::DiskLow => line(Bad, Notable, "The disk of the {disk} is nearly full", "disks are nearly full"),
        E::DiskRecovered => line(Good, Notable, "The disk of the {disk} has room again", "disks have room again"),
        E::EngineLost => line(Bad, Notable, "The container engine does not answer", "engines do not answer"),
        E::EngineRecovered => line(Good, Notable, "The container engine answers again", "engines answer again"),
        E::LogsStopped => line(Bad, Notable, "Log lines cannot be stored", "times log lines could not be stored"),
        E::LogsRecovered => line(Good, Notable, "Log lines are stored again", "times log lines were stored again"),
        E::MemberAdded => line(Plain, News, "{member} has joined", "members have joined"),
        E::MemberRoleChanged => line(Warning, Notable, "{member} is {role} now", "roles were changed"),
        E::MemberRemoved => line(Plain, News, "{member} has left", "members have left"),
        E::ApiKeyCreated => line(Warning, Notable, "{member} made the API key {key}", "API keys were made"),
    }
}

/// What is told unless something else was chosen: failures and what is worth knowing in any case.
pub fn told_by_default() -> Vec<EventName> {
    let is_told = |name: &EventName| matches!(of(*name).kind, Kind::Failure(..) | Kind::Notable);
    EventName::ALL.iter().copied().filter(is_told).collect()
}

/// The name of a failure that this success may end.
pub fn failure_before(name: EventName) -> Option<EventName> {
    let Kind::Success(word, ..) = of(name).kind else { return None };
    EventName::ALL
        .iter()
        .copied()
        .find(|failure| matches!(of(*failure).kind, Kind::Failure(failed, _) if failed == word))
}

/// An event, and its details as they are read.
pub struct Happened<'a> {
    pub event: &'a Event,
    details: Map<String, Value>,
}

impl<'a> Happened<'a> {
    pub fn new(event: &'a Event) -> Self {
        Self { event, details: serde_json::from_str(&event.details).unwrap_or_default() }
    }

    pub fn detail(&self, name: &str) -> &str {
        self.details.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether any person is told: who runs a command by hand waits for its end.
    pub fn is_for_people(&self) -> bool {
        use EventName::{RunCancelled, RunFailed, RunQueued, RunSkipped, RunStarted, RunSucceeded};
        let is_run =
            matches!(self.event.name, RunCancelled | RunFailed | RunQueued | RunSkipped | RunStarted | RunSucceeded);
        !is_run || !self.detail("schedule").is_empty()
    }

    /// What has failed or succeeded, the same for both.
    pub fn trouble(&self) -> Option<String> {
        let (Kind::Failure(word, detail) | Kind::Success(word, detail, _)) = of(self.event.name).kind else {
            return None;
        };
        let application = self.event.application_id.unwrap_or_default();
        Some(format!("{word} {application} {}", self.detail(detail)))
    }

    /// An application that does not run, or runs again, because of a deployment: that tells of it.
    pub fn is_told_by_deployment(&self) -> bool {
        let is_state = matches!(self.event.name, EventName::ApplicationFailed | EventName::ApplicationRunning);
        is_state && self.detail("before") == "deploying"
    }

    /// Whose last lines say more.
    pub fn logs(&self) -> Option<Of> {
        match self.event.name {
            EventName::DeploymentFailed | EventName::ApplicationCrashed => self.event.deployment_id.map(Of::Deployment),
            _ => None,
        }
    }

    /// `{name}` is the detail of that name, or what stands for it.
    fn filled(&self, title: &str) -> String {
        let mut text = String::new();
        let mut rest = title;
        while let Some((before, (name, after))) =
            rest.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
        {
            text.push_str(before);
            text.push_str(match self.detail(name) {
                "" => "(unknown)",
                value => value,
            });
            rest = after;
        }
        text + rest
    }
}

/// Details that stand in a message as names and values.
const FACTS: [(&str, &str); 20] = [
    ("kind", "Kind"),
    ("failure", "Failure"),
    ("volume", "Volume"),
    ("schedule", "Schedule"),
    ("extension", "Extension"),
    ("domain", "Domain"),
    ("ends", "The present certificate is good until"),
    ("disk", "Disk"),
    ("free", "Free"),
    ("size", "Size"),
    ("server", "Server"),
    ("errors", "Errors"),
    ("requests", "Requests"),
    ("percent", "Percent"),
    ("seconds", "In seconds"),
    ("lasted", "Was down for"),
    ("before", "Before"),
    ("role", "Role"),
    ("by", "By"),
    ("until", "Until"),
];

/// What is around an event.
pub struct Around<'a> {
    pub organization: &'a str,
    /// How people reach the server.
    pub public_url: &'a str,
    /// The end of a log; empty for none.
    pub last_lines: &'a str,
    /// Whether it is the first success after a failure.
    pub is_recovery: bool,
}

pub fn message(happened: &Happened<'_>, around: &Around<'_>) -> Message {
    let (event, told) = (happened.event, of(happened.event.name));
    let title = match told.kind {
        Kind::Success(_, _, again) if around.is_recovery => again,
        _ => told.title,
    };
    let fact = |(name, label): &(&str, &str)| {
        let value = happened.detail(name);
        (!value.is_empty()).then(|| ((*label).to_owned(), value.to_owned()))
    };
    let (title, url) = (happened.filled(title), link(event, around.public_url));
    let reason = Some(happened.detail("reason")).filter(|reason| !reason.is_empty());
    Message {
        mood: told.mood,
        lines: reason.map(str::to_owned).into_iter().collect(),
        facts: FACTS.iter().filter_map(fact).collect(),
        quoted: Some(around.last_lines.to_owned()).filter(|lines| !lines.is_empty()),
        link: Some(Link { label: "Open in Windlass".to_owned(), url: url.clone() }),
        organization: around.organization.to_owned(),
        at: event.created_at.to_string(),
        event: Some(event.name.as_str().to_owned()),
        data: data(happened, &title, &url),
        title,
    }
}

/// For receivers that are programs: the details, and what they are about.
fn data(happened: &Happened<'_>, title: &str, url: &str) -> Map<String, Value> {
    let event = happened.event;
    let mut data = happened.details.clone();
    let id = |id: Option<Uuid>| id.map_or(Value::Null, |id| Value::from(id.to_string()));
    data.insert("event_id".to_owned(), event.seq.into());
    data.insert("organization_id".to_owned(), id(Some(event.organization_id)));
    data.insert("application_id".to_owned(), id(event.application_id));
    data.insert("deployment_id".to_owned(), id(event.deployment_id));
    data.insert("title".to_owned(), title.into());
    data.insert("url".to_owned(), url.into());
    data
}

/// Where the dashboard shows it.
fn link(event: &Event, public_url: &str) -> String {
    let base = public_url.trim_end_matches('/');
    match (event.application_id, event.deployment_id) {
        _ if event.name == EventName::ApplicationDeleted => format!("{base}/applications"),
        (Some(application), Some(deployment)) => format!("{base}/applications/{application}/deployments/{deployment}"),
        (Some(application), None) => format!("{base}/applications/{application}"),
        (None, _) => match event.name.as_str().split('.').next() {
            Some("member" | "api_key") => format!("{base}/organization"),
            Some("execution") => format!("{base}/extensions"),
            _ => format!("{base}/"),
        },
    }
}

/// The newest lines as one text, oldest first. Without them a message is sent all the same.
pub async fn last_lines(store: &LogStore, of: Of) -> String {
    let query = Query { of, filter: Arc::default() };
    let bounds = Bounds { lines: LINES, until: Instant::now() + READ_LIMIT, turn: None };
    let reading = tokio::time::timeout(READ_LIMIT, store.before(&query, i64::MAX, 0, bounds));
    let Ok(Ok(page)) = reading.await else { return String::new() };
    let cut = |text: &str| text.chars().take(LINE_CHARACTERS).collect::<String>();
    let mut lines: Vec<_> = page.lines.iter().map(|stored| cut(&stored.line.text)).collect();
    lines.reverse();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use windlass_api::Timestamp;

    use super::*;

    fn event(name: EventName, details: &str) -> Event {
        Event {
            seq: 7,
            name,
            organization_id: Uuid::from_u128(1),
            application_id: Some(Uuid::from_u128(2)),
            deployment_id: None,
            details: details.to_owned(),
            created_at: Timestamp::from_micros(0),
        }
    }

    const AROUND: Around<'_> =
        Around { organization: "Engines", public_url: "https://windlass.example/", last_lines: "", is_recovery: false };

    #[test]
    fn a_failure_is_said_with_what_is_known_of_it() {
        let failed = event(
            EventName::DeploymentFailed,
            r#"{"application":"shop","failure":"build_failed","reason":"no such file"}"#,
        );
        let said = message(&Happened::new(&failed), &Around { last_lines: "one\ntwo", ..AROUND });
        assert_eq!((said.title.as_str(), said.mood), ("shop: the deployment failed", Mood::Bad));
        assert_eq!(
            (said.lines, said.facts),
            (vec!["no such file".to_owned()], vec![("Failure".to_owned(), "build_failed".to_owned())])
        );
        assert_eq!(said.quoted.as_deref(), Some("one\ntwo"));
        let url = "https://windlass.example/applications/00000000-0000-0000-0000-000000000002";
        assert_eq!(said.link.unwrap().url, url);
        assert_eq!((&said.data["reason"], &said.data["event_id"]), (&Value::from("no such file"), &Value::from(7)));
    }

    #[test]
    fn the_first_success_says_that_it_is_one() {
        let succeeded = event(EventName::DeploymentSucceeded, r#"{"application":"shop"}"#);
        let said = message(&Happened::new(&succeeded), &Around { is_recovery: true, ..AROUND });
        assert_eq!(said.title, "shop: deployed again after a failure");
        assert_eq!(failure_before(EventName::DeploymentSucceeded), Some(EventName::DeploymentFailed));
    }

    #[test]
    fn failures_and_successes_are_about_the_same() {
        for name in EventName::ALL.iter().copied() {
            let details = r#"{"volume":"data","schedule":"nightly","extension":"x"}"#;
            if let Kind::Success(..) = of(name).kind {
                let failure = failure_before(name).unwrap();
                let (succeeded, failed) = (event(name, details), event(failure, details));
                assert_eq!(Happened::new(&succeeded).trouble(), Happened::new(&failed).trouble(), "{name:?}");
            }
        }
    }

    #[test]
    fn a_detail_is_text_and_no_template() {
        let named = event(EventName::ApplicationCreated, r#"{"application":"{reason}{","reason":"secret"}"#);
        assert_eq!(message(&Happened::new(&named), &AROUND).title, "{reason}{ was created");
        let unnamed = event(EventName::ApplicationCreated, "not json");
        assert_eq!(message(&Happened::new(&unnamed), &AROUND).title, "(unknown) was created");
    }

    #[test]
    fn quiet_by_default() {
        let told = told_by_default();
        assert!(told.contains(&EventName::DeploymentFailed) && told.contains(&EventName::DiskLow));
        assert!(!told.contains(&EventName::DeploymentSucceeded) && !told.contains(&EventName::DeploymentQueued));
    }
}
