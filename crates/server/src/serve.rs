//! A server from start to end: lock, migrate, listen, drain, stop.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use uuid::Uuid;
use windlass_durable::lock::{self, LockError};
use windlass_edge::Listen;
use windlass_store::logs::LogStore;
use windlass_store::{Db, Options, instance};

use crate::app::App;
use crate::clock::{Clock, Ids};
use crate::config::Config;
use crate::edge::Keeper;
use crate::engine_health::{Another, EngineState};
use crate::holder::{self, Holder, SERVER_LOCK, folder_identity};
use crate::host::{Host, container_engine};
use crate::host_route;
use crate::listen::Listeners;
use crate::logs::{Logs, retention};
use crate::service::adoption;
use crate::service::audit::denials;
use crate::service::extensions;
use crate::service::first_start::unlock;
use crate::service::housekeeping;
use crate::vault::ring;
use crate::vault::unlock::{UnlockError, check};
use crate::{
    alarms, caches, figures, image_checks, jobs, listen, reconcile, runs, site_upkeep, status_pages, traffic, uptime,
    volume_upkeep,
};
use crate::{deploy, executions, notify, orders, reports};

const DATABASE_WAIT: Duration = Duration::from_secs(5);
/// How long a start waits to learn whether this installation is the one that holds its containers.
const ENGINE_WAIT: Duration = Duration::from_secs(3);
/// How long a start waits for addresses that a server that is ending still has.
const SOCKET_WAIT: Duration = Duration::from_secs(1);
/// Connections of the log store, beside those of everything else.
const LOG_CONNECTIONS: u32 = 4;

/// Why a server did not start, in words for the operator.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("data-dir: {path} cannot be used: {source}")]
    DataDir { path: String, source: std::io::Error },
    #[error(
        "data-dir: {path} is in use by another Windlass server, process {holder}. Stop it, or choose another folder."
    )]
    Held { path: String, holder: String },
    #[error(
        "data-dir: {path} holds other things and can be read by other users of this machine. Choose a folder of its own, or type: \
         chmod 700 {path}"
    )]
    Shared { path: String },
    #[error("{place}: {source}")]
    Database { place: String, source: windlass_store::Error },
    #[error(transparent)]
    Key(#[from] UnlockError),
    #[error("listen: {address}: {source}")]
    Listen { address: SocketAddr, source: std::io::Error },
    #[error("the extensions that come with Windlass could not be stored: {0}")]
    Catalog(String),
    #[error("the edge: {0}")]
    Edge(String),
    #[error("{0}")]
    UnknownHolder(String),
    #[error("docker-socket: {words} The other is {other}.")]
    OtherEngine { other: String, words: String },
}

pub struct Server {
    pub app: Arc<App>,
    listeners: Listeners,
    /// None while another installation holds what this one would serve.
    edge: Option<Keeper>,
    /// Marks what belongs to this installation on the container engine.
    installation: Uuid,
    holder: Holder,
    /// This server among those that share a database.
    owner: Uuid,
    /// Held as long as the server lives.
    _lock: File,
}

impl Server {
    pub async fn prepare(mut config: Config) -> Result<Self, StartError> {
        let lock = lock_data_dir(&config.data_dir)?;
        let mut for_all = Vec::new();
        for address in &config.listen {
            for_all.push(bind(*address).await?);
        }
        // A port that was given as 0 is known now, and links need it.
        config.listen = for_all.iter().filter_map(|listener| listener.local_addr().ok()).collect();
        let for_edge = match config.host_at_edge() {
            Some(_) => Some(bind(([127, 0, 0, 1], 0).into()).await?),
            None => None,
        };
        let address_for_edge = for_edge.as_ref().and_then(|listener| listener.local_addr().ok());
        let listeners = Listeners { for_all, for_edge };
        let db = open_database(&config).await?;
        // Boxed, because it holds everything that a server is made of.
        match Box::pin(begin(db.clone(), config)).await {
            Ok(Begun { mut app, edge, installation, holder, owner }) => {
                app.address_for_edge = address_for_edge;
                Ok(Self { app: Arc::new(app), listeners, edge, installation, holder, owner, _lock: lock })
            }
            Err(error) => {
                db.close().await;
                Err(error)
            }
        }
    }

    /// Where visitors reach the applications.
    pub fn edge_addresses(&self) -> Listen {
        self.edge.as_ref().map(|edge| edge.listening.clone()).unwrap_or_default()
    }

    pub fn addresses(&self) -> &[SocketAddr] {
        &self.app.config.listen
    }

    pub async fn admin_registered(&self) -> Result<bool, windlass_store::Error> {
        instance::admin_registered(&mut self.app.db.read().await?).await
    }

    /// Serves until `stop` says so; then lets requests under way finish, within the limit.
    pub async fn run(self, mut stopping: watch::Receiver<Option<Stop>>) {
        let (stopped, stop) = watch::channel(false);
        tokio::spawn({
            let (mut stopping, app) = (stopping.clone(), self.app.clone());
            async move {
                let _ = stopping.wait_for(Option::is_some).await;
                app.stopping.send_replace(true);
                stopped.send_replace(true);
            }
        });
        let housekeeping = tokio::spawn(housekeeping::run(self.app.clone()));
        let retention = tokio::spawn(retention::run(self.app.clone()));
        let host = Arc::new(Host::new(self.app.clone(), self.installation, self.owner, self.holder));
        let registry = executions::add_to(deploy::registry(&host), &host);
        let registry = reports::add_to(registry, &host.app);
        let registry = notify::add_to(registry, &host.app);
        let registry = orders::add_to(registry, &host);
        let registry = runs::add_to(registry, &host);
        let sweeping = tokio::spawn(executions::sweep(self.app.clone()));
        let worker = tokio::spawn(jobs::run(self.app.clone(), self.owner, registry, stop.clone()));
        let ordering = tokio::spawn(orders::keeper::run(self.app.clone()));
        let scheduling = tokio::spawn(runs::keeper::run(self.app.clone()));
        let asking = tokio::spawn(uptime::keeper::run(self.app.clone()));
        let showing = tokio::spawn(status_pages::run(self.app.clone()));
        let notifying = tokio::spawn(notify::consumer::run(self.app.clone()));
        let checking = tokio::spawn(image_checks::run(host.clone()));
        let caches = tokio::spawn(caches::run(host.clone()));
        let volumes = tokio::spawn(volume_upkeep::run(host.clone()));
        let sites = tokio::spawn(site_upkeep::run(host.clone()));
        let traffic = tokio::spawn(traffic::run(self.app.clone()));
        let figures = tokio::spawn(figures::run(host.clone()));
        let alarms = tokio::spawn(alarms::run(host.clone()));
        let reconciler = tokio::spawn(reconcile::run(host.clone(), stop.clone()));
        let denials = tokio::spawn(denials::run(self.app.clone(), stop.clone()));
        listen::serve(self.app.clone(), self.listeners, stop).await;
        housekeeping.abort();
        sweeping.abort();
        retention.abort();
        ordering.abort();
        scheduling.abort();
        asking.abort();
        showing.abort();
        notifying.abort();
        checking.abort();
        caches.abort();
        volumes.abort();
        sites.abort();
        traffic.abort();
        figures.abort();
        alarms.abort();
        reconciler.abort();
        if tokio::time::timeout(DATABASE_WAIT, worker).await.is_err() {
            tracing::warn!("jobs under way could not be put back; they come back when their time is up");
        }
        if tokio::time::timeout(DATABASE_WAIT, denials).await.is_err() {
            tracing::warn!("refusals of the last minute could not be written to the audit log");
        }
        let closing = async {
            host.collector.stop().await;
            self.app.logs.close().await;
        };
        if tokio::time::timeout(DATABASE_WAIT, closing).await.is_err() {
            tracing::warn!(
                "the last log lines could not be stored; those of containers are read again at the next start"
            );
        }
        if tokio::time::timeout(DATABASE_WAIT, self.app.db.close()).await.is_err() {
            tracing::warn!("the database did not close in time");
        }
        let stop = *stopping.borrow_and_update();
        match (self.edge, stop) {
            (Some(edge), Some(Stop::Everything)) => {
                if let Err(error) = edge.stop().await {
                    tracing::warn!(%error, "the edge could not be stopped");
                }
                host_route::remove(&self.app.config.data_dir).await;
            }
            (Some(edge), Some(Stop::Server) | None) => edge.leave(),
            (None, _) => {}
        }
    }
}

/// What is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The server; visitors notice nothing.
    Server,
    /// The edge too.
    Everything,
}

struct Begun {
    app: App,
    edge: Option<Keeper>,
    installation: Uuid,
    holder: Holder,
    owner: Uuid,
}

/// A server that was killed a moment ago gives up its lock before its sockets.
async fn bind(address: SocketAddr) -> Result<TcpListener, StartError> {
    let deadline = tokio::time::Instant::now() + SOCKET_WAIT;
    loop {
        match TcpListener::bind(address).await {
            Err(error) if error.kind() == ErrorKind::AddrInUse && tokio::time::Instant::now() < deadline => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            bound => return bound.map_err(|source| StartError::Listen { address, source }),
        }
    }
}

/// The edge comes last: what fails before it leaves nothing running.
async fn begin(db: Db, config: Config) -> Result<Begun, StartError> {
    let mut app = unlocked(db, config).await?;
    let installation = adoption::engine_label(&app).await.map_err(|source| database_error(&app.config, source))?;
    extensions::bring_catalog(&app).await.map_err(|error| StartError::Catalog(error.cause.unwrap_or(error.message)))?;
    let unusable = |source| StartError::DataDir { path: app.config.data_dir.display().to_string(), source };
    let owner = own_id(&app).map_err(unusable)?;
    deploy::end_left_overs(&app.config.data_dir).await.map_err(unusable)?;
    let holder = this_holder(&app).await?;
    let seen = first_look(&app, &holder, installation, owner).await;
    let edge = match &seen {
        EngineState::HeldByAnother { by: Another::Server, other, words } => {
            return Err(StartError::OtherEngine { other: other.clone(), words: words.clone() });
        }
        // A copy of the routes leads to another installation's containers.
        EngineState::HeldByAnother { .. } => None,
        EngineState::NotAsked | EngineState::Well | EngineState::Unreachable(_) => {
            Some(Keeper::start(app.config.clone()).await.map_err(StartError::Edge)?)
        }
    };
    if let EngineState::HeldByAnother { other, words, .. } = &seen {
        tracing::error!(other, "{words}");
        app.engine_health.set(seen);
    }
    app.has_engine = true;
    Ok(Begun { app, edge, installation, holder, owner })
}

async fn this_holder(app: &App) -> Result<Holder, StartError> {
    let mut conn = app.db.read().await.map_err(|source| database_error(&app.config, source))?;
    Holder::of(&mut conn, &app.config.data_dir).await.map_err(StartError::UnknownHolder)
}

/// An engine that does not answer does not say which installation holds what; the edge serves what it has served
/// before.
async fn first_look(app: &App, holder: &Holder, installation: Uuid, owner: Uuid) -> EngineState {
    let docker = container_engine(&app.config);
    let looking = holder::look(app, &docker, holder, installation, owner);
    tokio::time::timeout(ENGINE_WAIT, looking).await.unwrap_or(EngineState::NotAsked)
}

/// Kept in the data folder, which is this server's alone: what it was working on when it ended is its own. A copy of
/// the folder is another server.
fn own_id(app: &App) -> std::io::Result<Uuid> {
    let path = app.config.data_dir.join("server-id");
    let folder = folder_identity(&app.config.data_dir)?;
    let stored = fs::read_to_string(&path).unwrap_or_default();
    let stored = stored.split_once(' ').filter(|(_, known)| known.trim() == folder);
    if let Some(id) = stored.and_then(|(id, _)| id.parse().ok()) {
        return Ok(id);
    }
    let id = app.new_id();
    windlass_durable::file::replace(&path, format!("{id} {folder}").as_bytes())?;
    Ok(id)
}

/// The key is checked before anything is written, migrations included.
async fn unlocked(db: Db, config: Config) -> Result<App, StartError> {
    check(&db, &config.master_key_source()).await?;
    db.migrate().await.map_err(|source| database_error(&config, source))?;
    let (clock, ids) = (Clock::System, Ids::random());
    go_on_after_newest(&db, &ids).await.map_err(|source| database_error(&config, source))?;
    let keys = unlock(&db, config.master_key_source(), &ids, clock.now()).await?;
    let logs = open_logs(&config).await?;
    logs.migrate().await.map_err(|source| logs_error(&config, source))?;
    Ok(App::new(db, Logs::open(logs, logs_folder(&config)), keys, config, clock, ids))
}

/// The clock may have been set back while the server was stopped, and rows are put in order by their ids.
async fn go_on_after_newest(db: &Db, ids: &Ids) -> windlass_store::Result<()> {
    if let Some(newest) = instance::newest_id(&mut db.read().await?).await? {
        ids.go_on_after(newest);
    }
    Ok(())
}

/// The database of the configuration, as it is: not migrated.
pub async fn open_database(config: &Config) -> Result<Db, StartError> {
    let options = Options { connections: config.database_connections, wait: DATABASE_WAIT };
    let opened = match &config.database_url {
        Some(url) => Db::postgres(url.reveal(), options).await,
        None => Db::sqlite(&private_file(sqlite_file(config))?, options).await,
    };
    opened.map_err(|source| database_error(config, source))
}

/// The log store of the configuration, as it is: not migrated.
pub async fn open_logs(config: &Config) -> Result<LogStore, StartError> {
    let options = Options { connections: LOG_CONNECTIONS, wait: DATABASE_WAIT };
    let opened = match &config.database_url {
        Some(url) => LogStore::postgres(url.reveal(), options).await,
        None => LogStore::sqlite(&private_file(logs_file(config))?, options).await,
    };
    opened.map_err(|source| logs_error(config, source))
}

/// SQLite would let others read it.
fn private_file(file: PathBuf) -> Result<PathBuf, StartError> {
    let created = fs::OpenOptions::new().create(true).append(true).mode(0o600).open(&file);
    created.map_err(|source| StartError::DataDir { path: file.display().to_string(), source })?;
    Ok(file)
}

fn database_error(config: &Config, source: windlass_store::Error) -> StartError {
    StartError::Database { place: setting_to_check(config, &sqlite_file(config)), source }
}

fn logs_error(config: &Config, source: windlass_store::Error) -> StartError {
    StartError::Database { place: setting_to_check(config, &logs_file(config)), source }
}

/// Where the operator has to look.
fn setting_to_check(config: &Config, file: &Path) -> String {
    match config.database_url {
        Some(_) => "database-url".to_owned(),
        None => format!("data-dir: {}", file.display()),
    }
}

/// None where the lines are not in a file.
pub fn logs_folder(config: &Config) -> Option<PathBuf> {
    config.database_url.is_none().then(|| config.data_dir.clone())
}

fn logs_file(config: &Config) -> PathBuf {
    config.data_dir.join("logs.db")
}

pub fn sqlite_file(config: &Config) -> PathBuf {
    config.data_dir.join("windlass.db")
}

/// What other users of the machine can read there is made private: a folder that is empty, or Windlass' own. Any other
/// folder may be readable for a reason.
fn private_folder(path: &Path) -> Result<(), StartError> {
    let unusable = |source| StartError::DataDir { path: path.display().to_string(), source };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(unusable)?;
    let mode = fs::metadata(path).map_err(unusable)?.permissions().mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    // The key alone is there when it was brought from another server of the same database.
    let is_ours = [SERVER_LOCK, "edge.lock", "edge.sock", "windlass.db", ring::FILE_NAME]
        .iter()
        .any(|name| path.join(name).exists());
    let is_empty = fs::read_dir(path).map_err(unusable)?.next().is_none();
    if !is_ours && !is_empty {
        return Err(StartError::Shared { path: path.display().to_string() });
    }
    fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(unusable)?;
    tracing::warn!("data-dir: {} could be read by other users of this machine; it is private now", path.display());
    Ok(())
}

/// One server per data folder.
pub fn lock_data_dir(path: &Path) -> Result<File, StartError> {
    let unusable = |source| StartError::DataDir { path: path.display().to_string(), source };
    private_folder(path)?;
    lock::take(&path.join(SERVER_LOCK)).map_err(|error| match error {
        LockError::Held(holder) => StartError::Held { path: path.display().to_string(), holder },
        LockError::Io(source) => unusable(source),
    })
}
