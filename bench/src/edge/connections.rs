//! Memory with many kept-alive connections that have each had one answer and are idle now.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::time::Duration;

use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::Serialize;

use crate::edge::ask::{Question, Scheme};
use crate::edge::peers::{SMALL, Server};

pub const CONNECTIONS: usize = 10_000;

/// As many clients, each with a share of the connections: the edge limits those of one address, unless it is told not to.
const ADDRESSES: usize = 250;
/// As many are opened at once: one after another they would take longer than a server waits for an idle one.
const AT_ONCE: usize = 16;
/// A server may give up what an idle connection does not need; within this it has.
const REST: Duration = Duration::from_secs(3);

#[derive(Debug, Serialize)]
pub struct Memory {
    pub scheme: &'static str,
    pub name: &'static str,
    pub idle_mb: f64,
    pub connected_mb: f64,
}

impl Memory {
    pub fn of_each_kb(&self) -> f64 {
        (self.connected_mb - self.idle_mb) * 1_024.0 / CONNECTIONS as f64
    }
}

/// Also for the servers, which inherit it.
pub fn allow_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let enough = limit.maximum.is_none_or(|most| most > CONNECTIONS as u64 + 500);
    assert!(enough, "this needs {CONNECTIONS} open files and more: raise the hard limit (`ulimit -Hn`)");
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    setrlimit(Resource::Nofile, raised).expect("a higher limit of open files");
}

/// Of a server that has just been started.
pub fn measure(server: &Server, scheme: Scheme) -> Memory {
    println!("edge: {CONNECTIONS} idle connections over {} to {} …", scheme.name(), server.name);
    let idle_mb = server.process.resident_with_workers_mb();
    let question = Question::new(scheme, &SMALL);
    let open = open(&question, server);
    std::thread::sleep(REST);
    let connected_mb = server.process.resident_with_workers_mb();
    check_open(&open);
    Memory { scheme: scheme.name(), name: server.name, idle_mb, connected_mb }
}

fn open(question: &Question, server: &Server) -> Vec<TcpStream> {
    let some = |first| {
        move || {
            (first..CONNECTIONS).step_by(AT_ONCE).map(|number| ask_once(question, server, number)).collect::<Vec<_>>()
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..AT_ONCE).map(|first| scope.spawn(some(first))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("connections")).collect()
    })
}

fn ask_once(question: &Question, server: &Server, number: usize) -> TcpStream {
    let address = Ipv4Addr::new(127, 0, 0, (2 + number % ADDRESSES) as u8);
    let mut stream = connect_from(address, server.port(question.scheme));
    assert!(question.ask(&mut stream), "the answer of {} on connection {number}", server.name);
    stream
}

fn connect_from(address: Ipv4Addr, port: u16) -> TcpStream {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    bind(&socket, &SocketAddrV4::new(address, 0)).expect("a loopback address");
    connect(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)).expect("a connection");
    TcpStream::from(socket)
}

/// A connection that the server has closed does not count.
fn check_open(connections: &[TcpStream]) {
    for (number, stream) in connections.iter().enumerate() {
        stream.set_nonblocking(true).expect("an option");
        let silent = stream.peek(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        assert!(silent, "connection {number} was not kept alive");
    }
}
