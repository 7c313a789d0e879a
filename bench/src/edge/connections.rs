//! Many kept-alive connections that have each had one answer and are idle now.

use std::io::{BufReader, ErrorKind, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::time::Duration;

use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::edge::peers::SMALL;
use crate::http;

/// As many clients, each with a share of the connections: the edge limits those of one address.
const ADDRESSES: usize = 250;

/// Also for the servers, which inherit it.
pub fn allow_open_files(connections: usize) {
    let limit = getrlimit(Resource::Nofile);
    let enough = limit.maximum.is_none_or(|most| most > connections as u64 + 500);
    assert!(enough, "this needs {connections} open files and more: raise the hard limit (`ulimit -Hn`)");
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    setrlimit(Resource::Nofile, raised).expect("a higher limit of open files");
}

pub fn open(port: u16, connections: usize) -> Vec<TcpStream> {
    (0..connections).map(|number| ask_once(port, number)).collect()
}

fn ask_once(port: u16, number: usize) -> TcpStream {
    let mut stream = connect_from(Ipv4Addr::new(127, 0, 0, (2 + number % ADDRESSES) as u8), port);
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("an option");
    let request = format!("GET {} HTTP/1.1\r\nhost: localhost\r\n\r\n", SMALL.path);
    stream.write_all(request.as_bytes()).expect("a request");
    let (status, body) = http::read_answer(&mut BufReader::new(&stream));
    assert_eq!((status, body.len()), (200, SMALL.bytes), "the answer on connection {number}");
    stream
}

fn connect_from(address: Ipv4Addr, port: u16) -> TcpStream {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    bind(&socket, &SocketAddrV4::new(address, 0)).expect("a loopback address");
    connect(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)).expect("a connection");
    TcpStream::from(socket)
}

/// A connection that the server has closed does not count.
pub fn check_open(connections: &[TcpStream]) {
    for (number, stream) in connections.iter().enumerate() {
        stream.set_nonblocking(true).expect("an option");
        let silent = stream.peek(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        assert!(silent, "connection {number} was not kept alive");
    }
}
