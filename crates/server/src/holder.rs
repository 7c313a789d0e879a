//! Which data an installation's containers belong to. What it has on the engine carries its id as a label, and a copy
//! of the data folder, or of the database, has the same id: both would remove and make again each other's containers.
//! So the holder leaves a mark on the engine, an empty volume whose labels say where its data is, and a server that
//! finds another's mark changes nothing.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use uuid::Uuid;
use windlass_durable::lock;
use windlass_runtime::{Docker, Labels};
use windlass_store::{Conn, Kind, instance, servers};

use crate::app::App;
use crate::engine_health::{Another, EngineState};
use crate::labels::INSTANCE_LABEL;

/// Held by the server that runs on a data folder.
pub const SERVER_LOCK: &str = "windlass.lock";
/// How long the database may take to tell which server uses which engine.
const DATABASE_LIMIT: Duration = Duration::from_secs(5);
/// How long one look may take altogether: an engine that hangs must be told from one that works.
const LOOK_LIMIT: Duration = Duration::from_secs(15);
const DATA_LABEL: &str = "windlass.holder";
const FOLDER_LABEL: &str = "windlass.holder.folder";

/// Where the data of an installation is, so that a copy of it is not the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The database itself, or the folder that it is in.
    data: String,
    folder: PathBuf,
}

/// Which data the mark on the engine names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    Ourselves,
    Another(Holder),
}

impl Holder {
    pub async fn of(conn: &mut Conn, data_dir: &Path) -> Result<Self, String> {
        let unusable = |error: std::io::Error| format!("data-dir: {}: {error}", data_dir.display());
        let folder = tokio::fs::canonicalize(data_dir).await.map_err(unusable)?;
        let data = match instance::database_identity(conn).await.map_err(|error| error.to_string())? {
            Some(database) => format!("postgres {database}"),
            None => folder_identity(&folder).map_err(unusable)?,
        };
        Ok(Self { data, folder })
    }

    /// The holder that the mark names; none when there is no mark.
    pub async fn find(&self, docker: &Docker, installation: Uuid) -> windlass_runtime::Result<Option<Found>> {
        let labels = docker.volume_labels(&volume(installation)).await?;
        Ok(labels.map(|labels| self.compare(&labels)))
    }

    /// Makes sure that there is a mark, and returns the installation that it names. When two servers do this at once,
    /// the engine lets one be the first.
    pub async fn claim(&self, docker: &Docker, installation: Uuid) -> windlass_runtime::Result<Found> {
        if let Some(found) = self.find(docker, installation).await? {
            return Ok(found);
        }
        let labels = docker.ensure_volume(&volume(installation), &self.labels(installation)).await?;
        Ok(self.compare(&labels))
    }

    /// Puts this installation's mark in the place of another's. The other may put its own back in the same instant.
    pub async fn take(&self, docker: &Docker, installation: Uuid) -> windlass_runtime::Result<Found> {
        docker.remove_volume(&volume(installation)).await?;
        self.claim(docker, installation).await
    }

    /// The server that runs on its folder, if that can be seen from here and is not our own folder.
    pub fn running_elsewhere(&self, ourselves: &Self) -> Option<String> {
        if self.folder == ourselves.folder {
            return None;
        }
        lock::holder(&self.folder.join(SERVER_LOCK)).map(|pid| pid.to_string())
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn labels(&self, installation: Uuid) -> Labels {
        let folder = self.folder.to_string_lossy();
        let labels = [
            (INSTANCE_LABEL, installation.to_string()),
            (DATA_LABEL, self.data.clone()),
            (FOLDER_LABEL, folder.into_owned()),
        ];
        labels.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// A folder that was moved is still the same one, as long as there is none in its old place: file systems can be
    /// cloned.
    fn compare(&self, labels: &Labels) -> Found {
        let label = |name: &str| labels.get(name).cloned().unwrap_or_default();
        let found = Self { data: label(DATA_LABEL), folder: label(FOLDER_LABEL).into() };
        let is_same_place = found.folder == self.folder || !found.folder.exists() || self.is_database();
        if found.data == self.data && is_same_place { Found::Ourselves } else { Found::Another(found) }
    }

    /// Several servers, each with a folder of its own, share one database and hold the containers together.
    fn is_database(&self) -> bool {
        self.data.starts_with("postgres ")
    }
}

/// Asked before anything is changed, and again and again after that: another installation may have been put in this
/// one's place. A server that was once told that another holds them does not ask again: a person settles that, with the
/// server stopped, and it must not take a mark that vanishes meanwhile.
pub async fn look(app: &App, docker: &Docker, holder: &Holder, installation: Uuid, owner: Uuid) -> EngineState {
    if let held @ EngineState::HeldByAnother { .. } = app.engine_health.seen() {
        return held;
    }
    let looked = async {
        let engine = docker.ping().await.map_err(|error| EngineState::Unreachable(error.to_string()))?;
        if app.db.kind() == Kind::Postgres {
            let shared = tokio::time::timeout(DATABASE_LIMIT, share_engine(app, owner, &engine.id)).await;
            shared.unwrap_or_else(|_| Err(EngineState::Unreachable("the database does not answer".into())))?;
        }
        match holder.claim(docker, installation).await.map_err(|error| EngineState::Unreachable(error.to_string()))? {
            Found::Ourselves => Ok(EngineState::Well),
            Found::Another(other) => Err(held_by(&other)),
        }
    };
    match tokio::time::timeout(LOOK_LIMIT, looked).await {
        Ok(seen) => seen.unwrap_or_else(|seen| seen),
        Err(_) => EngineState::Unreachable(format!(
            "the container engine takes connections, but did not answer within {} s",
            LOOK_LIMIT.as_secs()
        )),
    }
}

/// Servers of one database must use one engine: each would make the containers of all again on its own.
async fn share_engine(app: &App, owner: Uuid, engine_id: &str) -> Result<(), EngineState> {
    let unknown = |error: windlass_store::Error| {
        EngineState::Unreachable(format!("the database did not say which server uses which engine: {error}"))
    };
    let mut tx = app.db.begin().await.map_err(unknown)?;
    servers::forget_dead(&mut tx, app.now()).await.map_err(unknown)?;
    servers::beat(&mut tx, owner, app.now()).await.map_err(unknown)?;
    let other = servers::use_engine(&mut tx, owner, engine_id, app.now()).await.map_err(unknown)?;
    tx.commit().await.map_err(unknown)?;
    match other {
        None => Ok(()),
        Some(other) => Err(EngineState::HeldByAnother {
            by: Another::Server,
            other: format!("a server with the engine {other}; this one's is {engine_id}"),
            words:
                "another server of this database uses another container engine. Nothing is changed from here. Let all \
                    servers of a database use one engine (docker-socket), or give this server a database of its own; then start \
                    it again."
                    .into(),
        }),
    }
}

fn held_by(other: &Holder) -> EngineState {
    EngineState::HeldByAnother {
        by: Another::Installation,
        other: format!("the installation in {}", other.folder().display()),
        words: "another installation holds the containers of this one: they have the same id, so one is a copy of the other. \
                Nothing is changed from here. Type `windlass adopt` to let this one take the other's place, or `windlass adopt \
                --new` to make it an installation of its own, after stopping this server; its log says which the other is."
            .into(),
    }
}

fn volume(installation: Uuid) -> String {
    format!("windlass-{installation}")
}

/// A copy has another number, or was created at another time. The device's number is not part of it: it changes when a
/// machine starts.
pub fn folder_identity(folder: &Path) -> std::io::Result<String> {
    let metadata = std::fs::metadata(folder)?;
    let born = metadata.created().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    Ok(format!("folder {}-{}", metadata.ino(), born.as_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(folder: &Path) -> Holder {
        Holder { data: folder_identity(folder).unwrap(), folder: folder.canonicalize().unwrap() }
    }

    #[test]
    fn a_copy_is_another_and_a_moved_folder_is_not() {
        let home = tempfile::tempdir().unwrap();
        let (original, copy, moved) =
            (home.path().join("original"), home.path().join("copy"), home.path().join("moved"));
        std::fs::create_dir(&original).unwrap();
        std::fs::create_dir(&copy).unwrap();
        let labels = holder(&original).labels(Uuid::nil());
        assert_eq!(holder(&original).compare(&labels), Found::Ourselves);
        let found = holder(&copy).compare(&labels);
        assert_eq!(found, Found::Another(holder(&original)));
        std::fs::rename(&original, &moved).unwrap();
        assert_eq!(holder(&moved).compare(&labels), Found::Ourselves);
        assert!(matches!(holder(&copy).compare(&labels), Found::Another(_)));
        // A clone of a file system has the same numbers and times, and the original is still there.
        std::fs::create_dir(&original).unwrap();
        assert!(matches!(holder(&moved).compare(&labels), Found::Another(_)));
    }

    #[test]
    fn servers_of_one_database_hold_it_together() {
        let of = |folder: &str| Holder { data: "postgres 1/2".into(), folder: folder.into() };
        let labels = of("/").labels(Uuid::nil());
        assert_eq!(of("/tmp").compare(&labels), Found::Ourselves);
        let other = Holder { data: "postgres 1/3".into(), folder: "/".into() };
        assert!(matches!(other.compare(&labels), Found::Another(_)));
    }
}
