//! Visitors who notice everything: a connection that is refused or reset, half an answer, a status that is not 200.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::CONNECTION;
use hyper::upgrade::Upgraded;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::support::{DEADLINE, until};

/// Leaves the processor to others now and then; load is not what is measured here.
const REQUEST_PAUSE: Duration = Duration::from_millis(3);

#[derive(Clone, Copy, Debug)]
enum Kind {
    Quick,
    Slow,
    Stream,
    Post,
    /// A quick request on a connection of its own.
    Fresh,
    Upgrade,
}

const KEPT: [Kind; 4] = [Kind::Quick, Kind::Slow, Kind::Stream, Kind::Post];
const KINDS: usize = 6;

#[derive(Default)]
struct Progress {
    stop: AtomicBool,
    done: [AtomicUsize; KINDS],
}

impl Progress {
    fn counts(&self) -> [usize; KINDS] {
        std::array::from_fn(|kind| self.done[kind].load(Ordering::SeqCst))
    }
}

pub struct Load {
    progress: Arc<Progress>,
    /// How many of the kinds come.
    kinds: usize,
    visitors: JoinSet<Vec<String>>,
}

impl Load {
    pub fn start(edge: SocketAddr) -> Self {
        let Self { progress, kinds, mut visitors } = Self::kept(edge);
        for kind in [Kind::Fresh, Kind::Fresh, Kind::Upgrade, Kind::Upgrade] {
            visitors.spawn(come_again(edge, progress.clone(), move |_| kind));
        }
        Self { progress, kinds: kinds + 2, visitors }
    }

    /// Only visitors who keep their connections.
    pub fn kept(edge: SocketAddr) -> Self {
        let (progress, mut visitors) = (Arc::new(Progress::default()), JoinSet::new());
        for number in 0..8 {
            visitors.spawn(come_again(edge, progress.clone(), move |turn| KEPT[(number + turn) % KEPT.len()]));
        }
        Self { progress, kinds: KEPT.len(), visitors }
    }

    /// Waits until every kind of request has come back that began after now.
    pub async fn goes_on(&self) {
        let before = self.progress.counts();
        until("requests of all kinds come back", async || {
            let now = self.progress.counts();
            // As many may have been under way as there are visitors.
            (0..self.kinds).all(|kind| now[kind] > before[kind] + 8).then_some(())
        })
        .await;
    }

    /// Every request that was ever sent has had its whole answer.
    pub async fn lost_nothing(self) {
        self.progress.stop.store(true, Ordering::SeqCst);
        let failures: Vec<String> = self.visitors.join_all().await.into_iter().flatten().collect();
        assert_eq!(failures, [""; 0], "of {:?} requests", self.progress.counts());
    }
}

async fn come_again(edge: SocketAddr, progress: Arc<Progress>, kind: impl Fn(usize) -> Kind) -> Vec<String> {
    let (mut failures, mut visitor, mut turn) = (Vec::new(), Visitor::new(edge), 0);
    while !progress.stop.load(Ordering::SeqCst) {
        turn += 1;
        let kind = kind(turn);
        let came_back = tokio::time::timeout(DEADLINE, visitor.come(kind)).await;
        if let Err(failure) = came_back.unwrap_or_else(|_| Err("no answer at all".into())) {
            failures.push(format!("{kind:?}, turn {turn}: {failure}"));
            visitor = Visitor::new(edge);
        }
        progress.done[kind as usize].fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(REQUEST_PAUSE).await;
    }
    failures
}

/// One visitor, on a connection that is kept for as long as the edge keeps it.
pub struct Visitor {
    edge: SocketAddr,
    connection: Option<http1::SendRequest<Full<Bytes>>>,
}

impl Visitor {
    pub fn new(edge: SocketAddr) -> Self {
        Self { edge, connection: None }
    }

    async fn come(&mut self, kind: Kind) -> Result<(), String> {
        match kind {
            Kind::Quick => self.read("/").await,
            Kind::Slow => self.read("/slow").await,
            Kind::Stream => self.read("/stream").await,
            Kind::Post => self.post().await,
            Kind::Fresh => {
                self.connection = None;
                self.read("/").await
            }
            Kind::Upgrade => self.converse().await,
        }
    }

    /// Status and body of a GET.
    pub async fn get(&mut self, path: &str) -> Result<(u16, String), String> {
        let (status, _, body) = self.exchange(request("GET", path).body(Full::default()).unwrap()).await?;
        Ok((status, String::from_utf8_lossy(&body).into_owned()))
    }

    async fn read(&mut self, path: &str) -> Result<(), String> {
        let (status, app, body) = self.exchange(request("GET", path).body(Full::default()).unwrap()).await?;
        let lines = if path == "/stream" { 10 } else { 1 };
        match (status, String::from_utf8_lossy(&body)) {
            (200, body) if body.lines().count() == lines && body.lines().all(|line| line == app) => Ok(()),
            (status, body) => Err(format!("status {status}, {body:?} from {app:?}")),
        }
    }

    async fn post(&mut self) -> Result<(), String> {
        let sent = Bytes::from(vec![b'x'; 100_000]);
        let (status, _, body) = self.exchange(request("POST", "/echo").body(Full::new(sent.clone())).unwrap()).await?;
        if status == 200 && body == sent { Ok(()) } else { Err(format!("status {status}, {} bytes", body.len())) }
    }

    async fn converse(&mut self) -> Result<(), String> {
        let mut socket = Socket::open(self.edge).await?;
        for _ in 0..5 {
            socket.echoes().await?;
            tokio::time::sleep(REQUEST_PAUSE).await;
        }
        Ok(())
    }

    async fn exchange(&mut self, request: Request<Full<Bytes>>) -> Result<(u16, String, Bytes), String> {
        let answer = self.send(request).await?;
        let (head, body) = answer.into_parts();
        let body = body.collect().await.map_err(|error| format!("half an answer: {error:?}"))?.to_bytes();
        if head.headers.get(CONNECTION).is_some_and(|value| value == "close") {
            self.connection = None;
        }
        let app = head.headers.get("x-app").and_then(|app| app.to_str().ok()).unwrap_or_default();
        Ok((head.status.as_u16(), app.to_owned(), body))
    }

    async fn send(&mut self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, String> {
        let sender = match &mut self.connection {
            Some(sender) => sender,
            none => none.insert(connect(self.edge).await?),
        };
        sender.ready().await.map_err(|error| format!("the connection is gone: {error:?}"))?;
        sender.send_request(request).await.map_err(|error| format!("no answer: {error:?}"))
    }
}

async fn connect(edge: SocketAddr) -> Result<http1::SendRequest<Full<Bytes>>, String> {
    let stream = TcpStream::connect(edge).await.map_err(|error| format!("no connection: {error}"))?;
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
    tokio::spawn(connection.with_upgrades());
    Ok(sender)
}

fn request(method: &str, path: &str) -> hyper::http::request::Builder {
    let request = Request::builder().method(method).uri(path);
    request.header("host", "app.example.org").header("accept", "application/json")
}

/// An upgraded connection to the application, which says back what it hears.
pub struct Socket(TokioIo<Upgraded>);

impl Socket {
    pub async fn open(edge: SocketAddr) -> Result<Self, String> {
        let mut sender = connect(edge).await?;
        let request = request("GET", "/socket").header("connection", "upgrade").header("upgrade", "echo");
        let asked = sender.send_request(request.body(Full::default()).unwrap()).await;
        let mut answer = asked.map_err(|error| format!("no answer: {error:?}"))?;
        if answer.status() != 101 {
            return Err(format!("status {}", answer.status()));
        }
        let upgraded = hyper::upgrade::on(&mut answer).await.map_err(|error| error.to_string())?;
        Ok(Self(TokioIo::new(upgraded)))
    }

    pub async fn echoes(&mut self) -> Result<(), String> {
        let mut heard = [0; 5];
        self.0.write_all(b"hello").await.map_err(|error| format!("not heard: {error}"))?;
        self.0.read_exact(&mut heard).await.map_err(|error| format!("no echo: {error}"))?;
        if &heard == b"hello" { Ok(()) } else { Err(format!("another echo: {heard:?}")) }
    }

    /// Returns when the other side has ended it.
    pub async fn ended(&mut self) {
        let mut rest = [0; 64];
        let ending = async { while self.0.read(&mut rest).await.is_ok_and(|read| read > 0) {} };
        tokio::time::timeout(DEADLINE, ending).await.expect("the connection ends");
    }
}
