//! The host that deployments run on: the container engine, what its containers print, and the edge in front of them.

mod engine;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;
use uuid::Uuid;
use windlass_runtime::{Docker, Label, Labels};
use windlass_store::servers;

use crate::app::App;
use crate::config::Config;
use crate::crash_loops::LastEnds;
use crate::engine_health::EngineState;
use crate::holder::{self, Holder};
use crate::labels::{APPLICATION_LABEL, DEPLOYMENT_LABEL, INSTANCE_LABEL};
use crate::logs::collector::{Collector, Unread};
use crate::route_publisher::Routes;
use crate::sites::Sites;

/// Why something could not be done with a container.
#[derive(Debug)]
pub enum HostError {
    Engine(windlass_runtime::Error),
    /// What it has printed is not stored yet.
    Unread(Unread),
}

impl From<windlass_runtime::Error> for HostError {
    fn from(error: windlass_runtime::Error) -> Self {
        Self::Engine(error)
    }
}

/// The container engine of the configuration. No other function makes a client of it.
pub fn container_engine(config: &Config) -> Docker {
    Docker::new(&config.docker_socket)
}

pub struct Host {
    pub app: Arc<App>,
    docker: Docker,
    pub routes: Routes,
    pub sites: Sites,
    /// Reads what containers print.
    pub collector: Collector,
    /// Marks what belongs to this installation.
    pub installation: Uuid,
    /// Proves that it is this installation's to change.
    holder: Holder,
    /// This server among those that share a database. The same after a restart.
    owner: Uuid,
    /// Networks are made one at a time: the engine would make two of one name.
    pub networks: tokio::sync::Mutex<()>,
    /// Held by the one task that starts or stops containers of an application because of their stages.
    container_locks: parking_lot::Mutex<HashMap<Uuid, Weak<tokio::sync::Mutex<()>>>>,
    /// Told after a fetch or a build: both leave something that is kept for the next one.
    pub caches_grew: tokio::sync::Notify,
    /// How containers ended.
    pub last_ends: LastEnds,
}

impl Host {
    pub fn new(app: Arc<App>, installation: Uuid, owner: Uuid, holder: Holder) -> Self {
        let (docker, sites) = (container_engine(&app.config), Sites::new(&app.config, installation));
        let routes = Routes::new(app.config.data_dir.clone(), app.config.hold_requests, sites.clone());
        let collector = Collector::new(app.clone(), docker.clone(), owner);
        let (networks, caches_grew) = (tokio::sync::Mutex::default(), tokio::sync::Notify::new());
        let (container_locks, last_ends) = (parking_lot::Mutex::default(), LastEnds::default());
        Self {
            app,
            docker,
            routes,
            sites,
            collector,
            installation,
            holder,
            owner,
            networks,
            container_locks,
            caches_grew,
            last_ends,
        }
    }

    /// Until it is dropped, no other task of this server starts or stops containers of the application because of their stages.
    pub async fn lock_containers(&self, application_id: Uuid) -> OwnedMutexGuard<()> {
        self.container_lock(application_id).lock_owned().await
    }

    /// None when another task has it.
    pub fn try_to_lock_containers(&self, application_id: Uuid) -> Option<OwnedMutexGuard<()>> {
        self.container_lock(application_id).try_lock_owned().ok()
    }

    fn container_lock(&self, application_id: Uuid) -> Arc<tokio::sync::Mutex<()>> {
        let mut locks = self.container_locks.lock();
        locks.retain(|_, lock| lock.strong_count() > 0);
        if let Some(lock) = locks.get(&application_id).and_then(Weak::upgrade) {
            return lock;
        }
        let lock = Arc::default();
        locks.insert(application_id, Arc::downgrade(&lock));
        lock
    }

    /// Waits as long as the edges of other servers usually need to be told what this one's was told. Nothing confirms it.
    pub async fn wait_for_other_edges(&self) -> windlass_store::Result<()> {
        let mut conn = self.app.db.read().await?;
        if servers::are_others_alive(&mut conn, self.owner, self.app.now()).await? {
            drop(conn);
            tokio::time::sleep(2 * crate::reconcile::INTERVAL).await;
        }
        Ok(())
    }

    /// Whether the engine answers, and whether this server is the one to change what the installation has on it.
    pub async fn look(&self) -> EngineState {
        holder::look(&self.app, &self.docker, &self.holder, self.installation, self.owner).await
    }

    /// This server among those that share a database. The same after a restart.
    pub fn server_id(&self) -> Uuid {
        self.owner
    }

    /// Waits until everything that a container has printed is stored, as before it is removed.
    pub async fn read_to_end(&self, container: &str) -> Result<(), HostError> {
        let read = self.collector.read_to_end(container).await?;
        read.map_err(HostError::Unread)
    }

    /// Ends a container now, and removes it once its last lines are stored.
    pub async fn remove_container(&self, name: &str) -> Result<(), HostError> {
        self.docker.stop(name, Duration::ZERO).await?;
        self.read_to_end(name).await?;
        Ok(self.docker.remove(name).await?)
    }

    /// No job is begun until the reconciler has found that the container engine answers again, which it is asked to see to.
    pub fn note_lost(&self, problem: &str) {
        self.app.engine_health.set(EngineState::Unreachable(problem.to_owned()));
        self.app.rows_changed.notify_one();
    }

    /// Nothing without this label is ever touched.
    pub fn label(&self) -> Label {
        Label::new(INSTANCE_LABEL, self.installation.to_string())
    }

    pub fn labels(&self, application_id: Uuid, deployment_id: Uuid) -> Labels {
        let labels = [
            (INSTANCE_LABEL, self.installation),
            (APPLICATION_LABEL, application_id),
            (DEPLOYMENT_LABEL, deployment_id),
        ];
        labels.into_iter().map(|(name, id)| (name.to_owned(), id.to_string())).collect()
    }

    /// Where trees are fetched to; a folder for each attempt.
    pub fn work_dir(&self) -> PathBuf {
        self.app.config.data_dir.join("work")
    }

    /// What was fetched of repositories before; a folder for each application.
    pub fn repositories_dir(&self) -> PathBuf {
        self.app.config.data_dir.join("repositories")
    }
}
