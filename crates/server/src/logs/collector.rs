//! Reads what containers print: one task for each container, as long as the engine has it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;
use uuid::Uuid;
use windlass_api::LogStep;
use windlass_runtime::{ContainerSummary, Docker, Labels};
use windlass_store::containers::Purpose;
use windlass_store::logs::Claim;

use super::reader::{LogOrigin, Reader, Waiter};
use crate::app::App;
use crate::labels::{APPLICATION_LABEL, DEPLOYMENT_LABEL, PURPOSE_LABEL, RUN_LABEL, SERVICE_LABEL};

/// Readers that hold lines in memory at once; each holds a limited number. The others wait for their turn.
const READERS_AT_ONCE: usize = 8;
/// How long a container that is to go may wait until the last of its lines is stored. Then the caller tries again
/// later.
const LAST_LINES_LIMIT: Duration = Duration::from_secs(10);
/// In bytes. Each line carries the name.
const LONGEST_SERVICE_NAME: usize = 255;

pub struct Collector {
    app: Arc<App>,
    docker: Docker,
    owner: Uuid,
    reading: Arc<Semaphore>,
    /// By the engine's id.
    readings: Mutex<HashMap<String, ReaderTask>>,
}

struct ReaderTask {
    application_id: Uuid,
    waiters: mpsc::Sender<Waiter>,
    task: JoinHandle<()>,
}

impl Drop for ReaderTask {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The output of a container is not stored to its end yet.
#[derive(Debug, thiserror::Error)]
#[error("the last lines of the container are not stored yet")]
pub struct Unread;

impl Collector {
    pub fn new(app: Arc<App>, docker: Docker, owner: Uuid) -> Self {
        Self { app, docker, owner, reading: Arc::new(Semaphore::new(READERS_AT_ONCE)), readings: Mutex::default() }
    }

    /// Reads all of these that have no reader yet.
    pub fn look_after(&self, on_engine: &[ContainerSummary]) {
        for container in on_engine {
            self.read(&container.id, &container.name, &container.labels);
        }
        self.readings().retain(|_, reading| !reading.task.is_finished());
    }

    /// Reads a container that was made a moment ago.
    pub async fn begin(&self, name: &str) -> windlass_runtime::Result<()> {
        if let Some(container) = self.docker.inspect(name).await? {
            self.read(&container.id, &container.name, &container.labels);
        }
        Ok(())
    }

    /// Returns once everything that the container has printed until now is stored. Fails when that takes too long: as
    /// long as it is not stored, the engine must keep it.
    pub async fn read_to_end(&self, name: &str) -> windlass_runtime::Result<Result<(), Unread>> {
        let Some(container) = self.docker.inspect(name).await? else { return Ok(Ok(())) };
        if self.app.logs.problem().is_some() {
            // Nothing is stored as long as there is a problem, so waiting would not help.
            return Ok(Err(Unread));
        }
        self.read(&container.id, &container.name, &container.labels);
        let Some(waiters) = self.readings().get(&container.id).map(|reading| reading.waiters.clone()) else {
            return Ok(Ok(()));
        };
        let (done, granted) = oneshot::channel();
        let granted = async {
            waiters.send(done).await.map_err(|_| Unread)?;
            granted.await.map_err(|_| Unread)
        };
        Ok(tokio::time::timeout(LAST_LINES_LIMIT, granted).await.unwrap_or(Err(Unread)))
    }

    /// The containers of which it is known how far they were read.
    pub async fn known(&self) -> windlass_store::Result<Vec<String>> {
        self.app.logs.store.positions().await
    }

    /// Forgets those of `known` that were removed while they were not read. What is on the engine was listed after
    /// `known` was.
    pub async fn forget_vanished(
        &self,
        known: Vec<String>,
        on_engine: &[ContainerSummary],
    ) -> windlass_store::Result<()> {
        for id in known {
            let is_there = on_engine.iter().any(|container| container.id == id);
            if !is_there && !self.readings().contains_key(&id) {
                self.app.logs.store.forget(&id).await?;
            }
        }
        Ok(())
    }

    /// The application is deleted: what it prints is not read any more.
    pub fn leave(&self, application_id: Uuid) {
        self.readings().retain(|_, reading| reading.application_id != application_id);
    }

    /// All readers stop, wherever they are: how far they came is stored. Other servers may go on from there.
    pub async fn stop(&self) {
        self.readings().clear();
        if let Err(error) = self.app.logs.store.release_all(self.owner).await {
            tracing::warn!(%error, "other servers read on in a minute only");
        }
    }

    fn read(&self, id: &str, name: &str, labels: &Labels) {
        let mut readings = self.readings();
        if readings.get(id).is_some_and(|reading| !reading.task.is_finished()) {
            return;
        }
        let Some(origin) = origin(labels) else { return };
        let (waiters, arriving) = mpsc::channel(8);
        let (app, docker, reading) = (self.app.clone(), self.docker.clone(), self.reading.clone());
        let application_id = origin.application_id;
        let claim = Claim { container_id: id.to_owned(), application_id, owner: self.owner };
        let reader = Reader::new(app, docker, reading, claim, name.to_owned(), origin, arriving);
        readings.insert(id.to_owned(), ReaderTask { application_id, waiters, task: tokio::spawn(reader.run()) });
    }

    fn readings(&self) -> MutexGuard<'_, HashMap<String, ReaderTask>> {
        self.readings.lock()
    }
}

/// As its labels say.
fn origin(labels: &Labels) -> Option<LogOrigin> {
    let id = |label| labels.get(label).and_then(|id| id.parse().ok());
    let purpose = labels.get(PURPOSE_LABEL).cloned().and_then(|word| Purpose::try_from(word).ok());
    let step = match purpose {
        Some(Purpose::PreRun) => LogStep::PreRun,
        Some(Purpose::PostRun) => LogStep::PostRun,
        Some(Purpose::Run) => LogStep::Command,
        Some(Purpose::App | Purpose::Service) | None => LogStep::Run,
    };
    let made_for = id(DEPLOYMENT_LABEL)?;
    match purpose {
        // A run has lines of its own.
        Some(Purpose::Run) => {
            let (run_id, service) = (id(RUN_LABEL)?, Some(String::new()));
            Some(LogOrigin { application_id: run_id, deployment_id: run_id, made_for, step, service })
        }
        _ => {
            // Of a container that Windlass did not label, the image's own label would be here, however long.
            let service = labels.get(SERVICE_LABEL).filter(|name| name.len() <= LONGEST_SERVICE_NAME).cloned();
            Some(LogOrigin { application_id: id(APPLICATION_LABEL)?, deployment_id: made_for, made_for, step, service })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_says_of_which_service_lines_are() {
        let service = |purpose: &str, more: &[(&str, &str)]| {
            let id = "0190a0a0-0000-7000-8000-000000000001";
            let labels = [(APPLICATION_LABEL, id), (DEPLOYMENT_LABEL, id), (RUN_LABEL, id), (PURPOSE_LABEL, purpose)];
            let labels = labels.iter().chain(more).map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
            origin(&labels.collect()).unwrap().service
        };
        assert_eq!(service("app", &[(SERVICE_LABEL, "web")]).as_deref(), Some("web"));
        assert_eq!(service("app", &[(SERVICE_LABEL, "")]).as_deref(), Some(""));
        assert_eq!(service("app", &[]), None, "its row has to be looked at");
        assert_eq!(service("app", &[(SERVICE_LABEL, &"x".repeat(256))]), None);
        assert_eq!(service("run", &[(SERVICE_LABEL, "web")]).as_deref(), Some(""));
    }
}
