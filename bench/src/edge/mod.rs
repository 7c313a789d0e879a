//! The edge beside nginx and Caddy, in front of the same upstream, in the same run.

mod connections;
mod control;
mod peers;
mod report;
mod rounds;
mod routes;

use std::path::Path;

use crate::process::Process;
use control::Control;
use peers::{Core, LARGE, Peers, SMALL};
use report::{Memory, Report};
use rounds::{Comparison, Contender, Target, interleave};

/// A platform with many customers.
const HOSTS: usize = 10_000;
const CONNECTIONS: usize = 10_000;
const SWAPS: usize = 20;

/// One machine acts as many callers.
const MANY_FROM_ONE_ADDRESS: [&str; 2] = ["--edge-address-connections", "0"];
/// Room for the idle ones and a few more.
const ROOM: [&str; 2] = ["--edge-max-connections", "12000"];

pub fn measure() {
    let peers = Peers::find();
    connections::allow_open_files(CONNECTIONS);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut report = Report { versions: peers.versions(), ..Report::default() };

    let upstream = peers.nginx_files(folder.path(), Core::Rest);
    report.comparisons.extend(proxying(&peers, folder.path(), &upstream));
    report.comparisons.push(files(&peers, folder.path()));
    report.comparisons.push(many_hosts(folder.path(), &upstream, &mut report.swaps));
    report.memory = memory(&upstream);

    report.write(Path::new("bench/results/edge.json"));
    println!("{}", report.table());
}

fn proxying(peers: &Peers, folder: &Path, upstream: &Process) -> Vec<Comparison> {
    let nginx = peers.nginx_proxy(folder, upstream.port);
    let caddy = peers.caddy_proxy(folder, upstream.port);
    let edge = peers::edge(&routes::proxy(upstream.port), "localhost", &MANY_FROM_ONE_ADDRESS);
    let sizes = [("proxying 1 KB", &SMALL), ("proxying 64 KB", &LARGE)];
    let compare = |(name, file)| {
        let target = Target::file(folder, file);
        let contender = |name, process| Contender { name, process, target: &target };
        let contenders = [
            contender("nginx", &nginx),
            contender("Caddy", &caddy),
            contender("Windlass", &edge.process),
            contender("direct", upstream),
        ];
        interleave(name, &contenders)
    };
    sizes.into_iter().map(compare).collect()
}

fn files(peers: &Peers, folder: &Path) -> Comparison {
    let nginx = peers.nginx_files(folder, Core::Measured);
    let edge = peers::edge(&routes::files(&peers::files_folder(folder)), "localhost", &MANY_FROM_ONE_ADDRESS);
    let target = Target::file(folder, &SMALL);
    let contenders = [
        Contender { name: "nginx", process: &nginx, target: &target },
        Contender { name: "Windlass", process: &edge.process, target: &target },
    ];
    interleave("a file of 1 KB", &contenders)
}

/// The same load in front of a small table and of a large one, which is then replaced again and again.
fn many_hosts(folder: &Path, upstream: &Process, swaps: &mut Vec<control::Swap>) -> Comparison {
    let start = |hosts| {
        let host = routes::host(0);
        peers::edge(&routes::hosts(hosts, upstream.port, 0), &host, &MANY_FROM_ONE_ADDRESS)
    };
    let (one, many) = (start(1), start(HOSTS));
    let comparison = interleave(
        "proxying 1 KB by host",
        &[
            Contender { name: "1 host", process: &one.process, target: &Target::hosts(folder, 1) },
            Contender {
                name: "10,000 hosts, one asked for",
                process: &many.process,
                target: &Target::hosts(folder, 1),
            },
            Contender {
                name: "10,000 hosts, all asked for",
                process: &many.process,
                target: &Target::hosts(folder, HOSTS),
            },
        ],
    );
    println!("edge: {SWAPS} swaps of {HOSTS} hosts …");
    let mut control = Control::open(many.folder.path());
    swaps.extend((1..=SWAPS).map(|edition| control.apply(&routes::hosts(HOSTS, upstream.port, edition))));
    comparison
}

fn memory(upstream: &Process) -> Memory {
    println!("edge: {CONNECTIONS} idle connections …");
    let edge = peers::edge(&routes::proxy(upstream.port), "localhost", &ROOM);
    let idle_mb = edge.process.resident_mb();
    let open = connections::open(edge.process.port, CONNECTIONS);
    let connected_mb = edge.process.resident_mb();
    connections::check_open(&open);
    Memory { idle_mb, connected_mb, connections: CONNECTIONS }
}
