//! Containers: made, started, watched, stopped and removed by their names.

mod archive;
mod description;
mod entries;
mod options;
mod spec;

use std::time::Duration;

use serde::Deserialize;

pub use archive::{Archive, NewFile, VolumeRoot};
pub use description::{Container, ContainerHealth, ContainerSummary, State};
pub use options::{Device, HealthTest, Options, Published, Ulimit};
pub use spec::{ContainerSpec, HelperSpec, LogLimits, Mount, MountSource};

use crate::call::{USUAL_LIMIT, encoded, within};
use crate::{Docker, Error, Label, Result};

/// Making, starting and removing one touches the disk, the network and the kernel.
const HEAVY_LIMIT: Duration = Duration::from_secs(60);
const REMOVAL_POLL: Duration = Duration::from_millis(50);
/// How often a pause is tried again.
const FREEZES: usize = 5;
const BETWEEN_FREEZES: Duration = Duration::from_millis(200);
const NAME_TAKEN: &str = "is already in use by container";

/// The result of asking for a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Creation {
    Created(String),
    /// The name was taken, by this one.
    Exists(Box<Container>),
}

impl Docker {
    pub async fn create(&self, spec: &ContainerSpec) -> Result<Creation> {
        // The container that has the name may be gone when it is looked at: then the name is free after all.
        within("create a container", HEAVY_LIMIT, async {
            loop {
                match self.create_new(spec).await {
                    Err(Error::Conflict { message }) if message.contains(NAME_TAKEN) => {
                        if let Some(container) = self.inspect(&spec.name).await? {
                            return Ok(Creation::Exists(Box::new(container)));
                        }
                        tokio::time::sleep(REMOVAL_POLL).await;
                    }
                    other => return other.map(Creation::Created),
                }
            }
        })
        .await
    }

    async fn create_new(&self, spec: &ContainerSpec) -> Result<String> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Created {
            id: String,
        }
        let call = self.post("create a container", "/containers/create".to_owned()).query("name", &spec.name);
        let created: Created = call.json(&spec::body(spec))?.limit(HEAVY_LIMIT).read().await?;
        Ok(created.id)
    }

    /// One of this name that exists already is fine, whatever it mounts.
    pub async fn create_helper(&self, helper: &HelperSpec) -> Result<()> {
        let call = self.post("create a container", "/containers/create".to_owned()).query("name", &helper.name);
        match call.json(&spec::helper_body(helper))?.limit(HEAVY_LIMIT).done().await {
            Err(Error::Conflict { message }) if message.contains(NAME_TAKEN) => Ok(()),
            other => other,
        }
    }

    /// One that is running already is left as it is.
    pub async fn start(&self, name: &str) -> Result<()> {
        let call = self.post("start a container", format!("/containers/{}/start", encoded(name)));
        call.limit(HEAVY_LIMIT).done().await.map_err(start_failure)
    }

    pub async fn inspect(&self, name: &str) -> Result<Option<Container>> {
        let Some(mut container) = self.description(name).await? else { return Ok(None) };
        if container.may_have_failed_to_execute() {
            // What cannot be read is not told.
            container.error = self.words_of_init(name).await.ok().flatten().unwrap_or_default();
        }
        Ok(Some(container))
    }

    /// In the engine's own words.
    pub(crate) async fn description(&self, name: &str) -> Result<Option<Container>> {
        let call = self.get("describe a container", format!("/containers/{}/json", encoded(name)));
        none_if_absent(call.read().await)?.map(description::container).transpose()
    }

    /// The engine's init is what executes the command, so the engine does not know why that failed; init says it on
    /// stderr.
    async fn words_of_init(&self, name: &str) -> Result<Option<String>> {
        let lines = none_if_absent(self.tail(name, 1).await)?.unwrap_or_default();
        let words = lines.last().and_then(|line| line.strip_prefix("[FATAL tini (")?.split_once(")] "));
        Ok(words.map(|(_, words)| words.to_owned()))
    }

    /// SIGTERM, and SIGKILL after the grace. One that is stopped or gone is left as it is.
    pub async fn stop(&self, name: &str, grace: Duration) -> Result<()> {
        let seconds = grace.as_secs() + u64::from(grace.subsec_nanos() > 0);
        let call = self
            .post("stop a container", format!("/containers/{}/stop", encoded(name)))
            .query("t", &seconds.to_string())
            .limit(grace.saturating_add(USUAL_LIMIT));
        none_if_absent(call.done().await).map(drop)
    }

    /// Its processes get no time until it is unpaused. One that is paused already is fine, one that does not run is a
    /// conflict.
    pub async fn pause(&self, name: &str) -> Result<()> {
        for _ in 0..FREEZES {
            match self.pause_once(name).await {
                // The kernel gives up on a container whose processes are too busy for it.
                Err(error) if error.to_string().contains("unable to freeze") => {
                    tokio::time::sleep(BETWEEN_FREEZES).await;
                }
                other => return other,
            }
        }
        self.pause_once(name).await
    }

    async fn pause_once(&self, name: &str) -> Result<()> {
        let call = self.post("pause a container", format!("/containers/{}/pause", encoded(name)));
        match call.done().await {
            Err(Error::Conflict { message }) if message.contains("is already paused") => Ok(()),
            other => other,
        }
    }

    /// One that is not paused, stopped or gone is left as it is.
    pub async fn unpause(&self, name: &str) -> Result<()> {
        let call = self.post("unpause a container", format!("/containers/{}/unpause", encoded(name)));
        match none_if_absent(call.done().await) {
            // The engine answers 500.
            Err(Error::Refused { message, .. } | Error::Conflict { message }) if message.contains("is not paused") => {
                Ok(())
            }
            other => other.map(drop),
        }
    }

    /// Ends and removes it with its anonymous volumes, and waits until it is gone. One that is gone already is fine.
    pub async fn remove(&self, name: &str) -> Result<()> {
        within("remove a container", HEAVY_LIMIT, async {
            loop {
                let call = self
                    .delete("remove a container", format!("/containers/{}", encoded(name)))
                    .query("force", "true")
                    .query("v", "true")
                    .limit(HEAVY_LIMIT);
                match none_if_absent(call.done().await) {
                    Err(Error::Conflict { message }) if message.contains("already in progress") => {
                        tokio::time::sleep(REMOVAL_POLL).await;
                    }
                    other => return other.map(drop),
                }
            }
        })
        .await
    }

    /// From now on the engine starts it again when it ends by itself, and with the machine.
    pub async fn restart_always(&self, name: &str) -> Result<()> {
        self.set_restart(name, "unless-stopped").await
    }

    /// The same, but for one that has ended well.
    pub async fn restart_on_failure(&self, name: &str) -> Result<()> {
        self.set_restart(name, "on-failure").await
    }

    async fn set_restart(&self, name: &str, policy: &str) -> Result<()> {
        let policy = serde_json::json!({ "RestartPolicy": { "Name": policy } });
        let call = self.post("change a container", format!("/containers/{}/update", encoded(name)));
        call.json(&policy)?.done().await
    }

    /// All with the label, in whatever state.
    pub async fn containers(&self, label: &Label) -> Result<Vec<ContainerSummary>> {
        let call = self.get("list containers", "/containers/json".to_owned()).query("all", "true");
        let answers: Vec<description::ListAnswer> = call.filters(&[("label", &[&label.filter()])])?.read().await?;
        answers.into_iter().map(description::summary).collect()
    }

    /// Waits until it has ended, however long that takes, and gives its exit code. It must have been started.
    pub async fn wait(&self, name: &str) -> Result<i64> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Ended {
            status_code: i64,
        }
        let call = self
            .post("wait for a container", format!("/containers/{}/wait", encoded(name)))
            .query("condition", "not-running");
        let ended: Ended =
            call.stream().await?.next_json().await?.ok_or_else(|| Error::Unreachable {
                message: "the connection ended before the container".to_owned(),
            })?;
        match self.inspect(name).await? {
            Some(container) if container.state == State::Created => {
                Err(Error::Conflict { message: format!("{name} was never started, so it cannot be waited for") })
            }
            _ => Ok(ended.status_code),
        }
    }
}

pub(crate) fn none_if_absent<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The engine answers a bad entrypoint with 400 or 500, and a network that is gone with 404.
fn start_failure(error: Error) -> Error {
    match error {
        Error::NotFound { message } if !message.starts_with("No such container") => Error::StartFailed { message },
        Error::Refused { message, .. } => Error::StartFailed { message },
        other => other,
    }
}
