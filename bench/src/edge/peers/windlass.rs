use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Core, Place, Server, on};
use crate::edge::tls;
use crate::process::{Process, sibling};

/// One machine acts as many callers.
const MANY_FROM_ONE_ADDRESS: [&str; 4] = ["--edge-address-connections", "0", "--edge-address-handshakes", "0"];

/// Started with these routes; ready once it answers this host.
pub fn edge(folder: &Path, routes: &Value, host: &str) -> Server {
    let place = Place::new(folder, "windlass");
    let command = command(&place, routes);
    place.start("Windlass", command, host)
}

/// The same, and how long it took from its start to the first handshake for this host.
pub fn edge_until_handshake(folder: &Path, routes: &Value, host: &str) -> (Server, Duration) {
    let place = Place::new(folder, "windlass");
    let command = command(&place, routes);
    let Place { http, https, folder } = place;
    let started = Instant::now();
    let process = Process::start_until(command, http, || tls::handshake(https, host));
    (Server { name: "Windlass", process, https, folder }, started.elapsed())
}

fn command(place: &Place, routes: &Value) -> Command {
    place.write("routes.json", &routes.to_string());
    let [http, https] = [place.http, place.https].map(|port| format!("127.0.0.1:{port}"));
    let mut command = on(Core::Measured, &sibling("windlass"));
    command.arg("edge").arg("--data-dir").arg(&place.folder).args(["--edge-http", &http, "--edge-https", &https]);
    command.args(["--edge-threads", "1"]).args(MANY_FROM_ONE_ADDRESS);
    command
}
