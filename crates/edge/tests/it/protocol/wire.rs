//! Both ends of the edge, byte by byte: targets that keep what they hear, and targets that do as they are told.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use windlass_edge::routes::{Limits, RouteSet, Serves, TargetsSpec};

use crate::support::{DEADLINE, TestEdge, everything, until};

/// An ordinary answer that keeps the connection.
pub const FINE: &str = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfine";

/// What one request was, as a target without any tolerance reads it.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    /// The lines of the head as they came, without line ends.
    pub head: Vec<String>,
    pub body: Vec<u8>,
    pub trailers: Vec<String>,
    /// What is wrong with it. Nothing that the edge sends may be framed in a way that can be read twice.
    pub fault: Option<String>,
}

impl Heard {
    /// The method and the path.
    pub fn what(&self) -> &str {
        self.head.first().map_or("", |line| line.trim_end_matches(" HTTP/1.1"))
    }

    /// Every value under this name.
    pub fn all(&self, name: &str) -> Vec<&str> {
        let lines = self.head.iter().skip(1).filter_map(|line| line.split_once(": "));
        lines.filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value).collect()
    }
}

/// A target that answers every request with its path, and keeps what it was sent.
pub struct Recorder {
    pub address: SocketAddr,
    heard: Arc<Mutex<Vec<Heard>>>,
    serving: JoinHandle<()>,
}

impl Recorder {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let kept = heard.clone();
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(record(stream, kept.clone()));
            }
        });
        Self { address, heard, serving }
    }

    /// An edge that sends everything here.
    pub async fn with_edge() -> (Self, TestEdge) {
        let (target, edge) = (Self::start().await, TestEdge::start().await);
        edge.send_to(&[target.address]).await;
        (target, edge)
    }

    pub fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }

    /// What came since the last time.
    pub fn take(&self) -> Vec<Heard> {
        std::mem::take(&mut self.heard.lock().unwrap())
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn record(stream: TcpStream, kept: Arc<Mutex<Vec<Heard>>>) {
    let mut stream = BufReader::new(stream);
    while !stream.fill_buf().await.unwrap_or_default().is_empty() {
        let mut heard = Heard::default();
        let read = read_request(&mut stream, &mut heard).await;
        heard.fault = read.err();
        let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{}", heard.what().len(), heard.what());
        let is_broken = heard.fault.is_some();
        kept.lock().unwrap().push(heard);
        if is_broken || stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Reads one request, or says what is wrong with it.
pub async fn read_request(stream: &mut BufReader<TcpStream>, heard: &mut Heard) -> Result<(), String> {
    loop {
        let line = read_line(stream).await?;
        if line.is_empty() {
            break;
        }
        heard.head.push(line);
    }
    for line in heard.head.iter().skip(1) {
        let (name, _) = line.split_once(": ").ok_or_else(|| format!("not a header: {line:?}"))?;
        if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')) {
            return Err(format!("not a header's name: {name:?}"));
        }
    }
    match (heard.all("content-length").as_slice(), heard.all("transfer-encoding").as_slice()) {
        ([], []) => Ok(()),
        ([length], []) => {
            let is_plain = length.bytes().all(|byte| byte.is_ascii_digit());
            let length = length.parse().ok().filter(|_| is_plain).ok_or_else(|| format!("length {length:?}"))?;
            heard.body = read_exactly(stream, length).await?;
            Ok(())
        }
        ([], ["chunked"]) => read_chunks(stream, heard).await,
        (lengths, codings) => Err(format!("framed twice: {lengths:?} and {codings:?}")),
    }
}

async fn read_chunks(stream: &mut BufReader<TcpStream>, heard: &mut Heard) -> Result<(), String> {
    loop {
        let line = read_line(stream).await?;
        let size = usize::from_str_radix(&line, 16).map_err(|_| format!("chunk size {line:?}"))?;
        if size == 0 {
            break;
        }
        heard.body.extend(read_exactly(stream, size).await?);
        if read_exactly(stream, 2).await? != b"\r\n" {
            return Err("a chunk that is longer than its size".into());
        }
    }
    loop {
        let line = read_line(stream).await?;
        if line.is_empty() {
            return Ok(());
        }
        heard.trailers.push(line);
    }
}

async fn read_exactly(stream: &mut BufReader<TcpStream>, length: usize) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).await.map_err(|_| "incomplete".to_owned())?;
    Ok(bytes)
}

/// A line that ends with CR LF and has neither of them inside.
async fn read_line(stream: &mut BufReader<TcpStream>) -> Result<String, String> {
    let mut line = Vec::new();
    let read = stream.read_until(b'\n', &mut line).await;
    if read.is_err() || !line.ends_with(b"\n") {
        return Err("incomplete".into());
    }
    let line = line.strip_suffix(b"\r\n").ok_or("a line that ends with LF only")?;
    if line.iter().any(|byte| matches!(byte, b'\r' | b'\0')) {
        return Err(format!("CR or NUL in a line: {:?}", String::from_utf8_lossy(line)));
    }
    Ok(String::from_utf8_lossy(line).into_owned())
}

/// A target that a test plays itself, one connection at a time.
pub struct Stage {
    listener: TcpListener,
    pub address: SocketAddr,
}

impl Stage {
    pub async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        Self { listener, address }
    }

    pub async fn with_edge() -> (Self, TestEdge) {
        let (stage, edge) = (Self::open().await, TestEdge::start().await);
        edge.send_to(&[stage.address]).await;
        (stage, edge)
    }

    pub async fn accept(&self) -> TcpStream {
        let accepted = tokio::time::timeout(DEADLINE, self.listener.accept()).await;
        accepted.expect("the edge comes").unwrap().0
    }

    /// Whether a connection has come already.
    pub async fn connection_waits(&self) -> bool {
        tokio::time::timeout(Duration::ZERO, self.listener.accept()).await.is_ok()
    }
}

pub fn limited(address: SocketAddr, limits: Limits) -> RouteSet {
    everything(Serves::Targets(TargetsSpec { addresses: vec![address], health: None, limits }))
}

pub async fn connect(edge: &TestEdge) -> TcpStream {
    TcpStream::connect(edge.address).await.unwrap()
}

/// A connection on which these bytes were sent.
pub async fn say(edge: &TestEdge, bytes: impl AsRef<[u8]>) -> TcpStream {
    let mut stream = connect(edge).await;
    stream.write_all(bytes.as_ref()).await.unwrap();
    stream
}

/// The statuses of all answers in what came over one connection.
pub fn statuses(text: &str) -> Vec<u16> {
    let answers = text.match_indices("HTTP/1.").map(|(at, _)| &text[at..]);
    answers.filter_map(|answer| answer.get(9..12)?.parse().ok()).collect()
}

/// After all that was done to it, the edge has nothing left to do.
pub async fn is_quiet(edge: &TestEdge) {
    until("nothing is in flight", async || {
        let stats = edge.stats().await;
        let all = stats.services.iter().flat_map(|service| {
            let targets = service.targets.iter().map(|target| &target.figures);
            targets.chain([&service.figures]).collect::<Vec<_>>()
        });
        all.map(|figures| figures.in_flight + figures.upgrades).all(|count| count == 0).then_some(())
    })
    .await;
}

/// A new visitor is served as if nothing had happened.
pub async fn is_well(edge: &TestEdge) {
    let answer = tokio::time::timeout(DEADLINE, async { edge.visitor().await.get("/well").await });
    assert_eq!(answer.await.expect("an answer in time").unwrap(), (200, "GET /well".into()));
    is_quiet(edge).await;
}

/// Another target takes over, and all is well.
pub async fn recovers(edge: &TestEdge) {
    let target = Recorder::start().await;
    edge.send_to(&[target.address]).await;
    is_well(edge).await;
}

/// The other side ends the connection; what came before that.
pub async fn ends(stream: &mut TcpStream) -> Vec<u8> {
    let mut rest = Vec::new();
    let read = tokio::time::timeout(DEADLINE, stream.read_to_end(&mut rest)).await;
    let _ = read.unwrap_or_else(|_| panic!("it does not end, after {:?}", String::from_utf8_lossy(&rest)));
    rest
}

/// Waits until the edge has ended a connection, without taking a byte from it.
pub async fn until_closed(stream: &TcpStream) {
    let deadline = Instant::now() + DEADLINE;
    while is_open(stream) {
        assert!(Instant::now() < deadline, "the connection does not end");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Whether the edge still has this connection. Its own end is looked at: word of its closing waits behind what this end
/// does not take.
fn is_open(stream: &TcpStream) -> bool {
    const ESTABLISHED: &str = "01";
    let port = |address: SocketAddr| format!(":{:04X}", address.port());
    let (Ok(edge), Ok(target)) = (stream.peer_addr().map(port), stream.local_addr().map(port)) else { return false };
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let mut lines = table.lines().map(|line| line.split_whitespace().skip(1).take(3).collect::<Vec<_>>());
    lines.any(|line| line[0].ends_with(&edge) && line[1].ends_with(&target) && line[2] == ESTABLISHED)
}
