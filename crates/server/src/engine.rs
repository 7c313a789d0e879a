//! All that deploying needs, in one value: the rows, the container engine, the edge, and this process' name among others.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;
use windlass_runtime::{Docker, Label, Labels};
use windlass_store::{Kind, servers};

use crate::app::App;
use crate::deploy::Interruption;
use crate::engine_health::Seen;
use crate::holder::{Found, Holder};
use crate::jobs::heartbeat::Heartbeat;
use crate::logs::collector::Collector;
use crate::routes::Routes;

/// The labels of everything that Windlass makes on an engine.
pub const INSTANCE_LABEL: &str = "windlass.instance";
pub const APPLICATION_LABEL: &str = "windlass.app";
pub const DEPLOYMENT_LABEL: &str = "windlass.deployment";
pub const PURPOSE_LABEL: &str = "windlass.purpose";

pub struct Engine {
    pub app: Arc<App>,
    pub docker: Docker,
    pub routes: Routes,
    /// Reads what containers print.
    pub collector: Collector,
    /// Marks what belongs to this installation.
    pub instance: Uuid,
    /// Proves that it is this installation's to change.
    holder: Holder,
    /// Whose jobs are this process'. The same after a restart.
    pub owner: Uuid,
    /// Whether the other servers of the database know that this one lives.
    pub heartbeat: Heartbeat,
    /// Networks are made one at a time: the engine would make two of one name.
    pub networks: tokio::sync::Mutex<()>,
    /// Told after a build, which leaves something in the engine's build cache.
    pub caches_grew: tokio::sync::Notify,
}

impl Engine {
    pub fn new(app: Arc<App>, instance: Uuid, owner: Uuid, holder: Holder) -> Self {
        let (docker, routes) = (Docker::new(&app.config.docker_socket), Routes::new(app.config.data_dir.clone()));
        let collector = Collector::new(app.clone(), docker.clone(), owner);
        let heartbeat = Heartbeat::new(&app.db);
        let (networks, caches_grew) = (tokio::sync::Mutex::default(), tokio::sync::Notify::new());
        Self { app, docker, routes, collector, instance, holder, owner, heartbeat, networks, caches_grew }
    }

    /// Whether the engine answers, and whether this server is the one to change what the installation has on it.
    pub async fn look(&self) -> Seen {
        look(&self.app, &self.docker, &self.holder, self.instance, self.owner).await
    }

    /// Waits until everything that a container has printed is stored, as before it is removed.
    pub async fn read_to_end(&self, container: &str) -> Result<(), Interruption> {
        let read = self.collector.read_to_end(container).await?;
        read.map_err(|unread| Interruption::Later(unread.to_string()))
    }

    /// Ends a container now, and removes it once its last lines are stored.
    pub async fn remove_container(&self, name: &str) -> Result<(), Interruption> {
        self.docker.stop(name, Duration::ZERO).await?;
        self.read_to_end(name).await?;
        Ok(self.docker.remove(name).await?)
    }

    /// No job is begun until the reconciler has found that the container engine answers again, which it is asked to see to.
    pub fn note_lost(&self, problem: &str) {
        self.app.engine_health.set(Seen::Unreachable(problem.to_owned()));
        self.app.rows_changed.notify_one();
    }

    /// Nothing without this label is ever touched.
    pub fn label(&self) -> Label {
        Label::new(INSTANCE_LABEL, self.instance.to_string())
    }

    pub fn labels(&self, application_id: Uuid, deployment_id: Uuid) -> Labels {
        let labels =
            [(INSTANCE_LABEL, self.instance), (APPLICATION_LABEL, application_id), (DEPLOYMENT_LABEL, deployment_id)];
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

/// Asked before anything is changed, and again and again after that: another installation may have been put in this one's place.
pub async fn look(app: &App, docker: &Docker, holder: &Holder, instance: Uuid, owner: Uuid) -> Seen {
    let looked = async {
        let engine = docker.ping().await.map_err(|error| Seen::Unreachable(error.to_string()))?;
        if app.db.kind() == Kind::Postgres {
            share_engine(app, owner, &engine.id).await?;
        }
        match holder.claim(docker, instance).await.map_err(|error| Seen::Unreachable(error.to_string()))? {
            Found::Ourselves => Ok(Seen::Well),
            Found::Another(other) => Err(held_by(&other)),
        }
    };
    looked.await.unwrap_or_else(|seen| seen)
}

/// Servers of one database must use one engine: each would make the containers of all again on its own.
async fn share_engine(app: &App, owner: Uuid, engine_id: &str) -> Result<(), Seen> {
    let unknown = |error: windlass_store::Error| Seen::Unreachable(format!("the database does not answer: {error}"));
    let mut tx = app.db.begin().await.map_err(unknown)?;
    servers::beat(&mut tx, owner, app.now()).await.map_err(unknown)?;
    let other = servers::use_engine(&mut tx, owner, engine_id, app.now()).await.map_err(unknown)?;
    tx.commit().await.map_err(unknown)?;
    match other {
        None => Ok(()),
        Some(other) => Err(Seen::HeldByAnother {
            other: format!("a server with the engine {other}; this one's is {engine_id}"),
            words:
                "another server of this database uses another container engine. Nothing is changed from here. Let all \
                    servers of a database use one engine (docker-socket), or give this server a database of its own."
                    .into(),
        }),
    }
}

fn held_by(other: &Holder) -> Seen {
    Seen::HeldByAnother {
        other: format!("the installation in {}", other.folder().display()),
        words: "another installation holds the containers of this one: they have the same id, so one is a copy of the other. \
                Nothing is changed from here. Type `windlass adopt` to let this one take the other's place, or `windlass adopt \
                --new` to make it an installation of its own; the server's log says which the other is."
            .into(),
    }
}

/// A short name for people and for the engine: the end of an id is its random part.
pub fn short(id: Uuid) -> String {
    let text = id.simple().to_string();
    text[text.len() - 12..].to_owned()
}
