//! One request on a connection, plain or encrypted.

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use tokio_rustls::rustls::Stream;

use crate::edge::peers::File;
use crate::edge::tls;
use crate::http;

const ANSWER_LIMIT: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    Http,
    Https,
}

impl Scheme {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

/// What is asked for. A right answer has as many bytes as the file.
#[derive(Clone)]
pub struct Question {
    pub scheme: Scheme,
    pub host: String,
    pub file: &'static File,
}

impl Question {
    pub fn new(scheme: Scheme, file: &'static File) -> Self {
        Self { scheme, host: "localhost".into(), file }
    }

    /// Whether the answer on this connection is right. The connection stays open.
    pub fn ask(&self, stream: &mut TcpStream) -> bool {
        stream.set_read_timeout(Some(ANSWER_LIMIT)).expect("an option");
        match self.scheme {
            Scheme::Http => self.ask_on(stream),
            Scheme::Https => self.ask_on(&mut Stream::new(&mut tls::connection(&self.host), stream)),
        }
    }

    fn ask_on(&self, stream: &mut (impl Read + Write)) -> bool {
        stream.write_all(self.request().as_bytes()).expect("a request");
        let (status, body) = http::read_answer(&mut BufReader::new(stream));
        (status, body.len()) == (200, self.file.bytes)
    }

    pub fn request(&self) -> String {
        format!("GET {} HTTP/1.1\r\nhost: {}\r\n\r\n", self.file.path, self.host)
    }
}
