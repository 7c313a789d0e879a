//! `windlass edge`: the edge as a process of its own; and `windlass stop`, which ends it.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use clap::ArgMatches;
use rustix::process::{Signal, kill_process};
use tokio::sync::watch;
use windlass_durable::lock::holder;
use windlass_edge::{Listen, Options};
use windlass_server::config::{Config, GivenSettings};
use windlass_server::edge::{self, EdgeArguments, GRACE};
use windlass_server::holder::SERVER_LOCK;
use windlass_server::host_route;

use crate::{configure, log, print, stop_signal};

const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// From the server that starts it, or from the settings.
pub fn arguments(matches: &ArgMatches) -> Result<EdgeArguments, String> {
    if let Some(text) = matches.get_one::<String>("orders") {
        // In a session of its own, so that Ctrl-C in the server's terminal does not reach it. A process that leads its
        // group, as one that a person starts does, stays where it is.
        let _ = rustix::process::setsid();
        return serde_json::from_str(text).map_err(|error| format!("orders: {error}"));
    }
    let config = configure(matches)?;
    let data_dir = std::path::absolute(&config.data_dir).map_err(|error| format!("data-dir: {error}"))?;
    let take_over = matches.get_flag("take-over");
    let are_given = ["edge-http", "edge-https"].iter().all(|flag| matches.contains_id(flag));
    let listen = match take_over && !are_given {
        true => inherited(&data_dir, matches, &config)?,
        false => config.edge_listen(),
    };
    let options = Options { data_dir, listen, settings: config.edge, take_over };
    Ok(EdgeArguments { options, log_format: config.log_format, log_level: config.log_level })
}

/// A successor listens where the running edge does. Visitors know those addresses: only a flag moves them.
#[tokio::main(flavor = "current_thread")]
async fn inherited(data_dir: &Path, matches: &ArgMatches, config: &Config) -> Result<Listen, String> {
    let running =
        edge::hello(data_dir).await.map_err(|error| format!("no edge is running to take over from: {error}"))?;
    let default = Config::from_given(GivenSettings::default()).map(|default| default.edge_listen()).unwrap_or_default();
    let (running, configured) = (running.requested(), config.edge_listen());
    let addresses = |flag: &str, running: Vec<SocketAddr>, configured: Vec<SocketAddr>, default: &[SocketAddr]| {
        // One that listens nowhere is of a version before this setting.
        if matches.contains_id(flag) || running.is_empty() {
            return Ok(configured);
        }
        if configured != default && configured != running {
            return Err(would_move(flag, &running, &configured));
        }
        Ok(running)
    };
    Ok(Listen {
        http: addresses("edge-http", running.http, configured.http, &default.http)?,
        https: addresses("edge-https", running.https, configured.https, &default.https)?,
    })
}

fn would_move(flag: &str, running: &[SocketAddr], configured: &[SocketAddr]) -> String {
    let list = |addresses: &[SocketAddr]| addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    format!(
        "{flag}: the running edge listens on {}, the settings say {}. Visitors would be moved: give --{flag} {} if \
         that is meant, or leave {flag} out of the settings to keep the addresses.",
        list(running),
        list(configured),
        list(configured).replace(", ", &format!(" --{flag} ")),
    )
}

/// One thread for the control socket, accepting and health checks; visitors are served by threads of their own.
#[tokio::main(flavor = "current_thread")]
pub async fn run(arguments: EdgeArguments) -> Result<(), String> {
    // The server starts it by a path that tells a person who lists processes nothing.
    let _ = rustix::thread::set_name(c"windlass-edge");
    let _log = log::start(arguments.log_format, arguments.log_level);
    let mut signal = stop_signal()?;
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(async move {
        let _ = signal.wait_for(Option::is_some).await;
        stop.send_replace(true);
    });
    windlass_edge::run(arguments.options, stopped).await.map_err(|error| error.to_string())?;
    tracing::info!("the edge has stopped");
    Ok(())
}

/// The server first: it would start the edge again.
#[tokio::main(flavor = "current_thread")]
pub async fn stop(config: &Config) -> Result<(), String> {
    let mut is_anything = false;
    if let Some(pid) = holder(&config.data_dir.join(SERVER_LOCK)) {
        is_anything = true;
        kill_process(pid, Signal::TERM).map_err(|error| format!("process {pid} cannot be stopped: {error}"))?;
        wait_for(&config.data_dir.join(SERVER_LOCK), config.shutdown_limit + GRACE).await?;
        print("The server has stopped.\n")?;
    }
    if let Some(pid) = holder(&config.data_dir.join("edge.lock")) {
        is_anything = true;
        if edge::stop(&config.data_dir).await.is_err() {
            // Its socket is gone, or it is of another version. If it has ended meanwhile, all the better.
            let _ = kill_process(pid, Signal::TERM);
        }
        wait_for(&config.data_dir.join("edge.lock"), config.edge.stop_limit + GRACE).await?;
        print("The edge has stopped.\n")?;
    }
    host_route::remove(&config.data_dir).await;
    match is_anything {
        true => Ok(()),
        false => print(&format!("Nothing is running on {}.\n", config.data_dir.display())),
    }
}

async fn wait_for(path: &Path, limit: Duration) -> Result<(), String> {
    let deadline = Instant::now() + limit;
    while let Some(pid) = holder(path) {
        if Instant::now() > deadline {
            return Err(format!("process {pid} did not end within {} seconds", limit.as_secs()));
        }
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
    Ok(())
}
