//! The edge beside nginx, Caddy and HAProxy, in front of the same upstream, in the same run.

mod ask;
mod certificates;
mod connections;
mod control;
pub mod handshakes;
mod peers;
mod report;
mod rounds;
mod routes;
mod tls;

use std::path::Path;

use tempfile::TempDir;

use crate::ROUNDS;
use ask::Scheme;
use connections::Memory;
use control::{Control, Swap};
use peers::{Core, LARGE, Peers, SMALL, Server, windlass};
use report::Report;
use rounds::{Comparison, Contender, Target, USUAL, interleave};

/// A platform with many customers.
const HOSTS: usize = 10_000;
const SWAPS: usize = 20;
/// From few visitors to many. Fewer rounds, because there are as many comparisons.
const SWEEP: [usize; 4] = [8, 64, 256, 1_024];
const SWEEP_ROUNDS: usize = 3;

/// Measures something and puts it into the report.
type Part = fn(&Bench, &mut Report);

/// What can be measured alone.
const PARTS: [(&str, Part); 8] = [
    ("plain", |bench, report| report.comparisons.extend(bench.plain())),
    ("sweep", |bench, report| report.comparisons.extend(bench.sweep())),
    ("tls", |bench, report| report.comparisons.push(bench.encrypted())),
    ("handshakes", |bench, report| report.comparisons.push(bench.handshakes())),
    ("files", |bench, report| report.comparisons.push(bench.files())),
    ("hosts", |bench, report| report.comparisons.push(bench.many_hosts(&mut report.swaps))),
    ("idle", |bench, report| report.memory.extend(bench.idle_connections())),
    ("certificates", |bench, report| {
        report.certificates = certificates::measure(bench.folder.path(), bench.upstream.process.port);
    }),
];

struct Bench {
    peers: Peers,
    /// Where most are a proxy, the only one of them that is measured.
    only: Option<String>,
    upstream: Server,
    folder: TempDir,
}

/// Everything, or the part that is named, or one contender in that part.
pub fn measure(arguments: &[String]) {
    connections::allow_open_files();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let peers = Peers::find(folder.path());
    let mut report = Report { versions: peers.versions(), ..Report::default() };
    let upstream = peers.nginx_files(Core::Rest);
    let bench = Bench { peers, only: arguments.get(1).cloned(), upstream, folder };

    let wanted = arguments.first();
    let parts: Vec<_> = PARTS.iter().filter(|(name, _)| wanted.is_none_or(|wanted| wanted == name)).collect();
    assert!(!parts.is_empty(), "the parts are: {}", PARTS.map(|(name, _)| name).join(", "));
    for (_, measure) in parts {
        measure(&bench, &mut report);
    }

    let file = wanted.map_or("bench/results/edge.json".into(), |part| format!("bench/results/edge-{part}.json"));
    report.write(Path::new(&file));
    println!("{}", report.table());
}

impl Bench {
    fn proxies(&self, connections: usize) -> Vec<Server> {
        let proxies = self.peers.proxies(self.upstream.process.port, connections, self.only.as_deref());
        assert!(!proxies.is_empty(), "the contenders are nginx, Caddy, HAProxy and Windlass");
        proxies
    }

    /// The proxies, and the upstream itself if it is as plain as the question.
    fn compare(&self, name: impl Into<String>, rounds: usize, proxies: &[Server], target: &Target) -> Comparison {
        let mut contenders: Vec<_> = proxies.iter().map(|server| Contender::new(server, target)).collect();
        if target.is_plain() && self.only.is_none() {
            contenders.push(Contender::new(&self.upstream, target).named("direct"));
        }
        interleave(name, rounds, &contenders)
    }

    fn plain(&self) -> Vec<Comparison> {
        let proxies = self.proxies(USUAL);
        let compare = |(name, file)| {
            let target = Target::file(self.folder.path(), Scheme::Http, file, USUAL);
            self.compare(name, ROUNDS, &proxies, &target)
        };
        [("proxying 1 KB", &SMALL), ("proxying 64 KB", &LARGE)].into_iter().map(compare).collect()
    }

    fn sweep(&self) -> Vec<Comparison> {
        let compare = |connections| {
            let target = Target::file(self.folder.path(), Scheme::Http, &SMALL, connections);
            let name = format!("proxying 1 KB, {connections} connections");
            self.compare(name, SWEEP_ROUNDS, &self.proxies(connections), &target)
        };
        SWEEP.into_iter().map(compare).collect()
    }

    fn encrypted(&self) -> Comparison {
        let target = Target::file(self.folder.path(), Scheme::Https, &SMALL, USUAL);
        self.compare("proxying 1 KB over TLS", ROUNDS, &self.proxies(USUAL), &target)
    }

    fn handshakes(&self) -> Comparison {
        self.compare("a full handshake and 1 KB", ROUNDS, &self.proxies(USUAL), &Target::handshakes())
    }

    fn files(&self) -> Comparison {
        let nginx = self.peers.nginx_files(Core::Measured);
        let edge = windlass::edge(self.folder.path(), &routes::files(&self.peers.files_folder()), "localhost");
        let target = Target::file(self.folder.path(), Scheme::Http, &SMALL, USUAL);
        interleave("a file of 1 KB", ROUNDS, &[&nginx, &edge].map(|server| Contender::new(server, &target)))
    }

    /// The same load in front of a small table and of a large one, which is then replaced again and again.
    fn many_hosts(&self, swaps: &mut Vec<Swap>) -> Comparison {
        let (folder, upstream) = (self.folder.path(), self.upstream.process.port);
        let start = |hosts| windlass::edge(folder, &routes::hosts(hosts, upstream, 0), &routes::host(0));
        let (one, many) = (start(1), start(HOSTS));
        let (ask_one, ask_all) = (Target::hosts(folder, 1), Target::hosts(folder, HOSTS));
        let contenders = [
            Contender::new(&one, &ask_one).named("1 host"),
            Contender::new(&many, &ask_one).named("10,000 hosts, one asked for"),
            Contender::new(&many, &ask_all).named("10,000 hosts, all asked for"),
        ];
        let comparison = interleave("proxying 1 KB by host", ROUNDS, &contenders);
        println!("edge: {SWAPS} swaps of {HOSTS} hosts …");
        let mut control = Control::open(&many.folder);
        swaps.extend((1..=SWAPS).map(|edition| control.apply(&routes::hosts(HOSTS, upstream, edition))));
        comparison
    }

    /// Each server is new: memory that it needed before would hide what the connections need.
    fn idle_connections(&self) -> Vec<Memory> {
        let measure = |scheme| self.proxies(USUAL).into_iter().map(move |server| connections::measure(&server, scheme));
        [Scheme::Http, Scheme::Https].into_iter().flat_map(measure).collect()
    }
}
