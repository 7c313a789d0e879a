//! The life of a server: lock, migrate, listen, drain, leave.

use std::fs::{self, File, TryLockError};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tower::ServiceExt;
use windlass_store::{Db, Options};

use crate::app::App;
use crate::auth::caller::Peer;
use crate::clock::{Clock, Ids};
use crate::config::Config;
use crate::http;
use crate::service::housekeeping;

/// How long a client may take to send the head of a request, or to stay silent between two.
const HEAD_LIMIT: Duration = Duration::from_secs(30);
const DATABASE_WAIT: Duration = Duration::from_secs(5);

/// Why a server did not start, in words for the operator.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("data-dir: {path} cannot be used: {source}")]
    DataDir { path: String, source: std::io::Error },
    #[error(
        "data-dir: {path} is in use by another Windlass server, process {holder}. Stop it, or choose another folder."
    )]
    Held { path: String, holder: String },
    #[error("database-url: {0}")]
    Database(#[from] windlass_store::Error),
    #[error("listen: {address}: {source}")]
    Listen { address: SocketAddr, source: std::io::Error },
}

pub struct Server {
    pub app: Arc<App>,
    listeners: Vec<TcpListener>,
    /// Held as long as the server lives.
    _lock: File,
}

impl Server {
    pub async fn prepare(config: Config) -> Result<Self, StartError> {
        let lock = lock_data_dir(&config.data_dir)?;
        let db = open_database(&config).await?;
        db.migrate().await?;
        let mut listeners = Vec::new();
        for address in &config.listen {
            let listener = TcpListener::bind(address).await;
            listeners.push(listener.map_err(|source| StartError::Listen { address: *address, source })?);
        }
        let app = Arc::new(App::new(db, config, Clock::System, Ids::random()));
        Ok(Self { app, listeners, _lock: lock })
    }

    /// Where it listens; a port that was given as 0 is known now.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect()
    }

    /// Serves until `stop` changes; then lets requests under way finish, within the limit.
    pub async fn run(self, stop: watch::Receiver<bool>) {
        let housekeeping = tokio::spawn(housekeeping::run(self.app.clone()));
        serve(self.app.clone(), self.listeners, stop).await;
        housekeeping.abort();
        self.app.db.close().await;
    }
}

/// The database of the configuration, as it is: not migrated.
pub async fn open_database(config: &Config) -> Result<Db, windlass_store::Error> {
    let options = Options { connections: config.database_connections, wait: DATABASE_WAIT };
    match &config.database_url {
        Some(url) => Db::postgres(url, options).await,
        None => Db::sqlite(&sqlite_file(config), options).await,
    }
}

pub fn sqlite_file(config: &Config) -> std::path::PathBuf {
    config.data_dir.join("windlass.db")
}

/// One server per data folder. The lock is the system's, so it ends with the process, however that ends.
fn lock_data_dir(path: &Path) -> Result<File, StartError> {
    let unusable = |source| StartError::DataDir { path: path.display().to_string(), source };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(unusable)?;
    let mut options = fs::OpenOptions::new();
    options.create(true).read(true).write(true).truncate(false).mode(0o600);
    let mut file = options.open(path.join("windlass.lock")).map_err(unusable)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            let _ = file.read_to_string(&mut holder);
            return Err(StartError::Held { path: path.display().to_string(), holder: holder.trim().to_owned() });
        }
        Err(TryLockError::Error(source)) => return Err(unusable(source)),
    }
    file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id())).map_err(unusable)?;
    Ok(file)
}

/// Accepts and serves on all listeners. Also used by tests, on listeners of their own.
pub async fn serve(app: Arc<App>, listeners: Vec<TcpListener>, mut stop: watch::Receiver<bool>) {
    let limit = app.config.shutdown_limit;
    let room = Arc::new(Semaphore::new(app.config.max_connections));
    let router = http::router(app);
    let graceful = Arc::new(GracefulShutdown::new());
    let mut accepting = JoinSet::new();
    for listener in listeners {
        accepting.spawn(accept(listener, router.clone(), room.clone(), graceful.clone()));
    }
    // An error means that the sender is gone, which is a stop too.
    let _ = stop.wait_for(|stop| *stop).await;
    accepting.shutdown().await;
    let Ok(graceful) = Arc::try_unwrap(graceful) else {
        tracing::error!("a listener outlived its end; requests under way are cut");
        return;
    };
    if tokio::time::timeout(limit, graceful.shutdown()).await.is_err() {
        tracing::warn!(seconds = limit.as_secs(), "some requests did not finish in time and were cut");
    }
}

async fn accept(listener: TcpListener, router: Router, room: Arc<Semaphore>, graceful: Arc<GracefulShutdown>) {
    loop {
        let Ok(place) = room.clone().acquire_owned().await else { return };
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of descriptors, most likely: waiting gives connections time to end.
                tracing::warn!(%error, "could not accept a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let connection = connection(stream, peer, router.clone());
        let watched = graceful.watch(connection);
        tokio::spawn(async move {
            if let Err(error) = watched.await {
                tracing::debug!(%error, %peer, "connection ended");
            }
            drop(place);
        });
    }
}

fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
) -> auto::Connection<
    'static,
    TokioIo<TcpStream>,
    impl hyper::service::Service<
        hyper::Request<Incoming>,
        Response = axum::response::Response,
        Error = std::convert::Infallible,
        Future: Send + 'static,
    > + Send
    + 'static,
    TokioExecutor,
> {
    // Answers are small and complete: waiting to fill a packet only delays them.
    let _ = stream.set_nodelay(true);
    let service = hyper::service::service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(Peer(peer));
        router.clone().oneshot(request.map(Body::new))
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_LIMIT);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(HEAD_LIMIT);
    builder.serve_connection(TokioIo::new(stream), service).into_owned()
}
