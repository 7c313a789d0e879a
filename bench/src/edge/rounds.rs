//! Rounds of load by `wrk`, every contender in turn.

use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::Serialize;

use crate::edge::peers::{Core, File, SMALL, on};
use crate::edge::routes;
use crate::load::{self, DONE, SECONDS};
use crate::process::Process;
use crate::{ROUNDS, http};

/// What is asked for, and how `wrk` asks for it.
pub struct Target {
    file: &'static File,
    host: String,
    script: PathBuf,
}

impl Target {
    pub fn file(folder: &Path, file: &'static File) -> Self {
        let script = write_script(folder, "file.lua", DONE);
        Self { file, host: "localhost".into(), script }
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
        let script = write_script(folder, &format!("hosts-{hosts}.lua"), &text);
        Self { file: &SMALL, host: routes::host(hosts - 1), script }
    }

    /// `wrk` looks at the status only.
    fn check(&self, name: &str, port: u16) {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
        let request = format!("GET {} HTTP/1.1\r\nhost: {}\r\n\r\n", self.file.path, self.host);
        stream.write_all(request.as_bytes()).expect("a request");
        let (status, body) = http::read_answer(&mut BufReader::new(stream));
        assert_eq!((status, body.len()), (200, self.file.bytes), "the answer of {name}");
    }
}

fn write_script(folder: &Path, name: &str, text: &str) -> PathBuf {
    let script = folder.join(name);
    std::fs::write(&script, text).expect("the load script");
    script
}

pub struct Contender<'a> {
    pub name: &'static str,
    pub process: &'a Process,
    pub target: &'a Target,
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
    pub name: &'static str,
    pub contenders: Vec<(&'static str, Vec<Round>)>,
}

/// Whatever else the machine does affects all of them, and each is first in some round.
pub fn interleave(name: &'static str, contenders: &[Contender]) -> Comparison {
    for Contender { name, process, target } in contenders {
        target.check(name, process.port);
    }
    let mut measured: Vec<_> = contenders.iter().map(|contender| (contender.name, Vec::new())).collect();
    for round in 0..ROUNDS {
        println!("edge: {name}, round {} of {ROUNDS} …", round + 1);
        for turn in 0..contenders.len() {
            let index = (round + turn) % contenders.len();
            measured[index].1.push(run(&contenders[index]));
        }
    }
    Comparison { name, contenders: measured }
}

fn run(contender: &Contender) -> Round {
    let Contender { name, process, target } = contender;
    let mut wrk = on(Core::Rest, Path::new("wrk"));
    wrk.args(["-t1", "-c64", &format!("-d{SECONDS}s"), "--latency", "-s"]).arg(&target.script);
    wrk.arg(format!("http://127.0.0.1:{}{}", process.port, target.file.path));
    let (worked, started) = (process.cpu_seconds(), Instant::now());
    let output = wrk.output().expect("wrk runs");
    let cpu_percent = (process.cpu_seconds() - worked) / started.elapsed().as_secs_f64() * 100.0;
    let output = String::from_utf8(output.stdout).expect("text");
    let load = load::read(&output);
    assert_eq!(load.failed, 0, "requests to {name} failed:\n{output}");
    Round { load, cpu_percent }
}
