//! The edge beside the server: a process of its own, started or found, looked after, and asked for its figures.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use windlass_edge::control::client::{CallError, Client};
use windlass_edge::control::{self, Hello};
use windlass_edge::stats::Stats;
use windlass_edge::{Listen, Options};

use crate::config::{Config, LogFormat, LogLevel};

/// How long a new edge may take until it answers.
const START_LIMIT: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(20);
/// How long to wait before an edge that did not start is started again; twice as long each time.
const FIRST_REST: Duration = Duration::from_millis(500);
const LONGEST_REST: Duration = Duration::from_secs(30);
/// How long an end may take beyond its own limit.
pub const GRACE: Duration = Duration::from_secs(10);
/// How long a request for the edge's figures may take.
const FIGURES_LIMIT: Duration = Duration::from_secs(2);

/// All that an edge needs to know, in one argument. It holds no secrets.
#[derive(Serialize, Deserialize)]
pub struct EdgeArguments {
    pub options: Options,
    pub log_format: LogFormat,
    pub log_level: LogLevel,
}

impl EdgeArguments {
    fn new(config: &Config, take_over: bool) -> io::Result<Self> {
        let data_dir = std::path::absolute(&config.data_dir)?;
        let options = Options { data_dir, listen: config.edge_listen(), settings: config.edge.clone(), take_over };
        Ok(Self { options, log_format: config.log_format, log_level: config.log_level })
    }

    /// Whether this is the edge that would be started now.
    fn describe(&self, running: &Hello) -> bool {
        running.binary == control::binary()
            && running.settings == self.options.settings
            && running.requested() == self.options.listen
    }
}

/// Looks after the edge for as long as it lives.
pub struct Keeper {
    data_dir: PathBuf,
    keeping: JoinHandle<()>,
    pub listening: Listen,
}

impl Keeper {
    /// Finds the edge of this data folder, or starts it, or lets a new one take over from one that is not what is
    /// wanted; then keeps looking after it.
    pub async fn start(config: Config) -> Result<Self, String> {
        let (client, hello) = ensure(&config).await?;
        let (data_dir, listening) = (config.data_dir.clone(), hello.listening());
        Ok(Self { data_dir, listening, keeping: tokio::spawn(keep(config, client)) })
    }

    /// Leaves the edge alone.
    pub fn leave(self) {
        self.keeping.abort();
    }

    /// Ends the edge too.
    pub async fn stop(self) -> Result<(), CallError> {
        self.keeping.abort();
        let _ = self.keeping.await;
        stop(&self.data_dir).await
    }
}

/// Stops the edge of a data folder and waits until it has ended, or should have.
pub async fn stop(data_dir: &Path) -> Result<(), CallError> {
    let mut client = Client::connect(data_dir).await?;
    let limit = client.hello().await?.settings.stop_limit + GRACE;
    client.stop().await?;
    tokio::time::timeout(limit, client.closed()).await.map_err(|error| io::Error::from(error).into())
}

async fn keep(config: Config, mut client: Client) {
    let mut rest = FIRST_REST;
    loop {
        client.closed().await;
        tracing::debug!("the edge ended the connection; looking for it");
        client = loop {
            match find_or_start(&config, false).await {
                Ok((client, _)) => break client,
                Err(problem) => {
                    tracing::error!("the edge is not running: {problem}");
                    tokio::time::sleep(rest).await;
                    rest = (rest * 2).min(LONGEST_REST);
                }
            }
        };
        rest = FIRST_REST;
    }
}

/// A connection to the edge that runs, as this server wants it if that can be had.
async fn ensure(config: &Config) -> Result<(Client, Hello), String> {
    let (client, hello) = find_or_start(config, true).await?;
    let arguments = EdgeArguments::new(config, true).map_err(|error| error.to_string())?;
    if arguments.describe(&hello) {
        return Ok((client, hello));
    }
    tracing::info!(pid = hello.pid, "the running edge is another version or has other settings: replacing it");
    match start(&arguments).await {
        Ok(replaced) => Ok(replaced),
        Err(problem) => {
            tracing::error!("the new edge did not take over: {problem}. The old one goes on.");
            Ok((client, hello))
        }
    }
}

/// A connection to an edge that runs, whatever edge that is. One that another process has put in place of ours while
/// this server was running is kept.
async fn find_or_start(config: &Config, may_replace: bool) -> Result<(Client, Hello), String> {
    let take_over = match greet(&config.data_dir).await {
        Greeting::Answered(client, hello) => {
            tracing::info!(pid = hello.pid, "found the edge running");
            return Ok((client, *hello));
        }
        Greeting::NotUnderstood(problem) if !may_replace => {
            return Err(format!("one of another version is running, and cannot be looked after: {problem}"));
        }
        Greeting::NotUnderstood(problem) => {
            tracing::info!("an edge of another version is running ({problem}): replacing it");
            true
        }
        Greeting::NotRunning => {
            tracing::info!("no edge is running: starting one");
            false
        }
    };
    let arguments = EdgeArguments::new(config, take_over).map_err(|error| error.to_string())?;
    start(&arguments).await
}

/// The result of asking which edge runs.
enum Greeting {
    Answered(Client, Box<Hello>),
    /// An edge answers, but in the protocol of another version.
    NotUnderstood(CallError),
    NotRunning,
}

async fn greet(data_dir: &Path) -> Greeting {
    let Ok(mut client) = Client::connect(data_dir).await else { return Greeting::NotRunning };
    match client.hello().await {
        Ok(hello) => Greeting::Answered(client, Box::new(hello)),
        Err(CallError::Unreachable(_)) => Greeting::NotRunning,
        Err(problem) => Greeting::NotUnderstood(problem),
    }
}

/// Starts an edge and waits until it is the one that answers.
async fn start(arguments: &EdgeArguments) -> Result<(Client, Hello), String> {
    let mut child = spawn(arguments).map_err(|error| format!("it could not be started: {error}"))?;
    let pid = child.id();
    let answers = async {
        loop {
            match greet(&arguments.options.data_dir).await {
                Greeting::Answered(client, hello) if Some(hello.pid) == pid => return (client, *hello),
                _ => tokio::time::sleep(LOOK).await,
            }
        }
    };
    let found = tokio::select! {
        answered = tokio::time::timeout(START_LIMIT, answers) => answered.map_err(|_| "it did not answer in time".to_owned()),
        ended = child.wait() => Err(match ended {
            Ok(status) => format!("it ended at once ({status}); the lines above say why"),
            Err(error) => error.to_string(),
        }),
    };
    if found.is_err() {
        // An edge that hangs must not go on later.
        let _ = child.start_kill();
    }
    // An edge that outlives this server is reaped by init; until then this server does it.
    tokio::spawn(async move { child.wait().await });
    found
}

/// The same binary, even if its file was replaced since, and nothing of our environment: it may hold secrets.
fn spawn(arguments: &EdgeArguments) -> io::Result<Child> {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("windlass").args(["edge", "--orders"]).arg(serde_json::to_string(arguments)?);
    command.env_clear().stdin(Stdio::null()).stdout(Stdio::null()).kill_on_drop(false).spawn()
}

/// What the edge of a data folder has counted.
pub async fn stats(data_dir: &Path) -> Result<Stats, CallError> {
    in_time(async { Client::connect(data_dir).await?.stats().await }).await
}

/// What the edge of a data folder says of itself.
pub async fn hello(data_dir: &Path) -> Result<Hello, CallError> {
    in_time(async { Client::connect(data_dir).await?.hello().await }).await
}

async fn in_time<T>(asking: impl Future<Output = Result<T, CallError>>) -> Result<T, CallError> {
    tokio::time::timeout(FIGURES_LIMIT, asking).await.map_err(io::Error::from)?
}
