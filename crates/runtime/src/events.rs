//! Events of containers, as they happen.

use serde::Deserialize;

use crate::connection::EngineAnswer;
use crate::{Docker, Error, Label, Labels, Result, moment};

const TOLD: [&str; 5] = ["start", "die", "oom", "destroy", "health_status"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerEvent {
    pub id: String,
    pub name: String,
    pub kind: ContainerEventKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContainerEventKind {
    Started,
    Died { exit_code: i64 },
    OutOfMemory,
    Destroyed,
    Healthy,
    Unhealthy,
}

/// All events from the moment when they were asked for, until the connection ends.
pub struct Events {
    answer: EngineAnswer,
}

impl Docker {
    /// Events of the containers with the label. What happens after this returns is among them, and so may be what
    /// happened a moment before.
    pub async fn events(&self, label: &Label) -> Result<Events> {
        // The engine answers a moment before it subscribes; asked for events since a time, it also sends what it
        // remembers.
        let now = self.info().await?.system_time;
        let now = moment::parse(&now).ok_or_else(|| Error::unreadable(format!("\"{now}\" is no moment")))?;
        let call = self.get("tell events", "/events".to_owned()).query("since", &moment::since(now));
        let filters = call.filters(&[("type", &["container"]), ("label", &[&label.filter()]), ("event", &TOLD)])?;
        Ok(Events { answer: filters.stream().await? })
    }
}

impl Events {
    /// The next one; none when the connection has ended. A caller may stop waiting and come back.
    pub async fn next(&mut self) -> Option<Result<ContainerEvent>> {
        loop {
            match self.answer.next_json().await {
                Ok(Some(answer)) => match event(answer) {
                    Some(event) => return Some(Ok(event)),
                    None => continue,
                },
                Ok(None) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct EventAnswer {
    action: String,
    actor: ActorAnswer,
}

#[derive(Deserialize)]
struct ActorAnswer {
    #[serde(rename = "ID")]
    id: String,
    #[serde(rename = "Attributes")]
    attributes: Labels,
}

fn event(answer: EventAnswer) -> Option<ContainerEvent> {
    let attribute = |name: &str| answer.actor.attributes.get(name);
    let kind = match answer.action.as_str() {
        "start" => ContainerEventKind::Started,
        "die" => ContainerEventKind::Died { exit_code: attribute("exitCode")?.parse().ok()? },
        "oom" => ContainerEventKind::OutOfMemory,
        "destroy" => ContainerEventKind::Destroyed,
        "health_status: healthy" => ContainerEventKind::Healthy,
        "health_status: unhealthy" => ContainerEventKind::Unhealthy,
        _ => return None,
    };
    Some(ContainerEvent { name: attribute("name")?.clone(), id: answer.actor.id, kind })
}
