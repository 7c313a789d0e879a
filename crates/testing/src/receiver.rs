//! A receiver of webhooks: takes requests over real sockets and keeps them, and misbehaves where a test tells it to.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde_json::Value;

const DEADLINE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(5);

/// What a request is met with.
#[derive(Clone, Debug)]
pub enum Manner {
    Answer {
        status: u16,
        headers: Vec<(&'static str, String)>,
        body: Vec<u8>,
    },
    /// Reads the request, and never answers.
    Hang,
    /// Reads the request, and closes.
    Close,
}

impl Manner {
    pub const fn status(status: u16) -> Self {
        Self::Answer { status, headers: Vec::new(), body: Vec::new() }
    }

    pub fn with_header(status: u16, name: &'static str, value: &str) -> Self {
        Self::Answer { status, headers: vec![(name, value.to_owned())], body: Vec::new() }
    }
}

/// A request that came in whole.
#[derive(Clone, Debug)]
pub struct Received {
    /// Path and query.
    pub target: String,
    /// By names in lower case.
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Received {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }
}

#[derive(Default)]
struct State {
    received: Vec<Received>,
    next: VecDeque<Manner>,
    usual: Option<Manner>,
    is_held: bool,
}

/// Serves as long as the process lives: one thread for it, and one for each connection.
pub struct Receiver {
    state: Arc<Mutex<State>>,
    address: SocketAddr,
}

impl Receiver {
    /// Takes everything, with 200.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let (state, address) = (Arc::<Mutex<State>>::default(), listener.local_addr().expect("an address"));
        let shared = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = shared.clone();
                // One that went away in the middle of it is no concern of the others.
                std::thread::spawn(move || drop(serve(&state, stream)));
            }
        });
        Self { state, address }
    }

    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// What the next request is met with that nothing was said about yet.
    pub fn then(&self, manner: Manner) {
        self.state().next.push_back(manner);
    }

    /// What all others are met with.
    pub fn always(&self, manner: Manner) {
        self.state().usual = Some(manner);
    }

    /// Reads requests, and answers none before it goes on.
    pub fn hold(&self) {
        self.state().is_held = true;
    }

    pub fn go_on(&self) {
        self.state().is_held = false;
    }

    pub fn received(&self) -> Vec<Received> {
        self.state().received.clone()
    }

    pub fn count(&self) -> usize {
        self.state().received.len()
    }

    /// All, as soon as there are so many.
    pub async fn wait_for(&self, count: usize) -> Vec<Received> {
        let until = Instant::now() + DEADLINE;
        while self.count() < count {
            assert!(Instant::now() < until, "{} of {count} requests have come: {:?}", self.count(), self.received());
            tokio::time::sleep(LOOK).await;
        }
        self.received()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("the state of the receiver")
    }
}

fn serve(state: &Mutex<State>, stream: TcpStream) -> std::io::Result<()> {
    stream.set_read_timeout(Some(DEADLINE))?;
    let mut reader = BufReader::new(stream);
    let received = read(&mut reader)?;
    let manner = {
        let mut state = state.lock().expect("the state of the receiver");
        state.received.push(received);
        state.next.pop_front().or_else(|| state.usual.clone()).unwrap_or(Manner::status(200))
    };
    while state.lock().expect("the state of the receiver").is_held {
        std::thread::sleep(LOOK);
    }
    let mut stream = reader.into_inner();
    match manner {
        Manner::Answer { status, headers, body } => {
            let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
            let length = body.len();
            let head =
                format!("HTTP/1.1 {status} Said\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n");
            stream.write_all(head.as_bytes())?;
            stream.write_all(&body)
        }
        // Until the caller goes away.
        Manner::Hang => stream.read(&mut [0]).map(drop),
        Manner::Close => stream.shutdown(Shutdown::Both),
    }
}

fn read(reader: &mut impl BufRead) -> std::io::Result<Received> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let target = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut headers = BTreeMap::new();
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Received { target, headers, body })
}
