//! Rounds of load, every contender in turn.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde::Serialize;

use crate::edge::ask::{Question, Scheme};
use crate::edge::peers::{Core, File, SMALL, Server, on};
use crate::edge::{routes, tls};
use crate::load::{self, DONE, SECONDS};
use crate::process::{Process, sibling};

/// As many connections as there are in most comparisons.
pub const USUAL: usize = 64;

/// What is asked for, and how.
pub struct Target {
    question: Question,
    connections: usize,
    load: Load,
}

enum Load {
    /// Connections that are kept, by `wrk`.
    Kept { script: PathBuf, openssl_settings: PathBuf },
    /// A new connection for each request.
    Handshakes,
}

impl Target {
    pub fn file(folder: &Path, scheme: Scheme, file: &'static File, connections: usize) -> Self {
        let load = Load::kept(folder, "file.lua", DONE);
        Self { question: Question::new(scheme, file), connections, load }
    }

    /// Each request for the next of so many hosts. A script makes `wrk` slower, but by the same for any number of them.
    pub fn hosts(folder: &Path, hosts: usize) -> Self {
        let names = (0..hosts).map(|number| format!("'{}'", routes::host(number))).collect::<Vec<_>>().join(",");
        let text = format!(
            "local hosts = {{{names}}}\nlocal requests = {{}}\nlocal n = 0\ninit = function()\n  \
             for i = 1, #hosts do requests[i] = wrk.format('GET', '{}', {{['Host'] = hosts[i]}}) end\nend\n\
             request = function()\n  n = n % #requests + 1\n  return requests[n]\nend\n{DONE}",
            SMALL.path
        );
        let load = Load::kept(folder, &format!("hosts-{hosts}.lua"), &text);
        let question = Question { host: routes::host(hosts - 1), ..Question::new(Scheme::Http, &SMALL) };
        Self { question, connections: USUAL, load }
    }

    pub fn handshakes() -> Self {
        Self { question: Question::new(Scheme::Https, &SMALL), connections: USUAL, load: Load::Handshakes }
    }

    pub fn is_plain(&self) -> bool {
        self.question.scheme == Scheme::Http
    }

    /// `wrk` looks at the status only.
    fn check(&self, name: &str, port: u16) {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
        assert!(self.question.ask(&mut stream), "the answer of {name}");
    }

    fn command(&self, port: u16) -> Command {
        let Question { scheme, file, .. } = &self.question;
        match &self.load {
            Load::Kept { script, openssl_settings } => {
                let mut wrk = on(Core::Rest, Path::new("wrk"));
                let [connections, seconds] = [format!("-c{}", self.connections), format!("-d{SECONDS}s")];
                wrk.args(["-t1", &connections, &seconds, "--latency", "-s"]).arg(script);
                // By name: it is what certificates are for.
                wrk.arg(format!("{}://localhost:{port}{}", scheme.name(), file.path));
                wrk.env("OPENSSL_CONF", openssl_settings);
                wrk
            }
            Load::Handshakes => {
                let mut handshakes = on(Core::Rest, &sibling("windlass-bench"));
                let numbers = [u64::from(port), self.connections as u64, u64::from(SECONDS)];
                handshakes.arg("handshakes").args(numbers.map(|number| number.to_string()));
                handshakes
            }
        }
    }
}

impl Load {
    fn kept(folder: &Path, name: &str, script: &str) -> Self {
        let file = folder.join(name);
        std::fs::write(&file, script).expect("the load script");
        Self::Kept { script: file, openssl_settings: tls::write_openssl_settings(folder) }
    }
}

pub struct Contender<'a> {
    pub name: &'static str,
    pub process: &'a Process,
    pub port: u16,
    pub target: &'a Target,
}

impl<'a> Contender<'a> {
    pub fn new(server: &'a Server, target: &'a Target) -> Self {
        Self { name: server.name, process: &server.process, port: server.port(target.question.scheme), target }
    }

    pub fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct Round {
    #[serde(flatten)]
    pub load: load::Round,
    /// Of one core, by the contender's process.
    pub cpu_percent: f64,
}

/// The first contender is the one that the others are compared with.
pub struct Comparison {
    pub name: String,
    pub contenders: Vec<(&'static str, Vec<Round>)>,
}

/// Whatever else the machine does affects all of them, and each is first in some round.
pub fn interleave(name: impl Into<String>, rounds: usize, contenders: &[Contender]) -> Comparison {
    let name = name.into();
    for Contender { name, port, target, .. } in contenders {
        target.check(name, *port);
    }
    let mut measured: Vec<_> = contenders.iter().map(|contender| (contender.name, Vec::new())).collect();
    for round in 0..rounds {
        println!("edge: {name}, round {} of {rounds} …", round + 1);
        for turn in 0..contenders.len() {
            let index = (round + turn) % contenders.len();
            measured[index].1.push(run(&contenders[index]));
        }
    }
    Comparison { name, contenders: measured }
}

fn run(contender: &Contender) -> Round {
    let Contender { name, process, port, target } = contender;
    let mut command = target.command(*port);
    let (worked, started) = (process.cpu_seconds(), Instant::now());
    let output = command.output().expect("the load runs");
    let cpu_percent = (process.cpu_seconds() - worked) / started.elapsed().as_secs_f64() * 100.0;
    let output = String::from_utf8(output.stdout).expect("text");
    let load = load::read(&output);
    assert_eq!(load.failed, 0, "requests to {name} failed:\n{output}");
    Round { load, cpu_percent }
}
