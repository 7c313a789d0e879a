//! An edge in this process, and visitors who know what they are doing.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::watch;
use windlass_edge::Drained;
use windlass_edge::Settings;
use windlass_edge::control::Drain;
use windlass_edge::control::client::Client;
use windlass_edge::routes::{Limits, Route, RouteSet, Serves, ServiceSpec, TargetsSpec};
use windlass_edge::stats::Stats;
use windlass_edge::{Listen, Options, run};

/// Nothing in these tests takes longer unless something is wrong.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// An address at which no process listens. The port stays taken, so that no other test's server gets it meanwhile.
pub struct ClosedPort {
    pub address: SocketAddr,
    _socket: TcpSocket,
}

impl ClosedPort {
    pub fn new() -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a port");
        Self { address: socket.local_addr().expect("an address"), _socket: socket }
    }
}

pub fn settings() -> Settings {
    Settings {
        threads: 2,
        trusted_proxies: Vec::new(),
        max_connections: 4096,
        address_connections: 0,
        address_handshakes: 0,
        service_requests: 0,
        containers: "10.192.0.0/12".parse().expect("a range"),
        head_limit: Duration::from_secs(10),
        idle_limit: Duration::from_secs(60),
        head_bytes: 64 * 1024,
        stop_limit: Duration::from_secs(5),
        hand_over_limit: Duration::from_secs(20),
    }
}

/// A running edge with a data folder of its own. It is stopped when it is dropped.
pub struct TestEdge {
    pub address: SocketAddr,
    /// Where visitors come encrypted.
    pub https: SocketAddr,
    pub folder: TempDir,
    stop: watch::Sender<bool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl TestEdge {
    pub async fn start() -> Self {
        Self::with(settings()).await
    }

    pub async fn with(settings: Settings) -> Self {
        Self::on(tempfile::tempdir().expect("a folder"), settings).await
    }

    /// On a folder in which something may lie already.
    pub async fn on(folder: TempDir, settings: Settings) -> Self {
        let (stop, stopped) = watch::channel(false);
        let anywhere = || vec!["127.0.0.1:0".parse().expect("an address")];
        let listen = Listen { http: anywhere(), https: anywhere() };
        let options = Options { data_dir: folder.path().to_owned(), listen, settings, take_over: false };
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(run(options, stopped)).expect("the edge runs");
        });
        let mut client = connect(folder.path()).await;
        let listening = client.hello().await.expect("an answer").listening();
        let (address, https) = (listening.http[0], listening.https[0]);
        Self { address, https, folder, stop, thread: Some(thread) }
    }

    pub async fn control(&self) -> Client {
        connect(self.folder.path()).await
    }

    pub async fn apply(&self, routes: RouteSet) {
        self.control().await.apply(routes).await.expect("routes that can be applied");
    }

    /// Everything goes to these targets.
    pub async fn send_to(&self, addresses: &[SocketAddr]) {
        self.apply(everything_to(addresses)).await;
    }

    pub async fn drain(&self, address: SocketAddr, limit: Duration) -> Drained {
        let deadline_ms = limit.as_millis() as u64;
        let drain = Drain { service: "app".into(), address, deadline_ms };
        self.control().await.drain(drain).await.expect("a drain")
    }

    pub async fn stats(&self) -> Stats {
        self.control().await.stats().await.expect("stats")
    }

    pub async fn visitor(&self) -> Visitor {
        Visitor::connect(self.address).await
    }

    /// Sends bytes as they are; all that comes back until the edge ends the connection.
    pub async fn raw(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut stream = TcpStream::connect(self.address).await.expect("a connection");
        stream.write_all(bytes.as_ref()).await.expect("bytes are taken");
        read_all(&mut stream).await
    }
}

impl Drop for TestEdge {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
            && !std::thread::panicking()
        {
            panic!("the edge did not end well");
        }
    }
}

async fn connect(folder: &Path) -> Client {
    until("the control socket answers", async || Client::connect(folder).await.ok()).await
}

/// Everything that can still be read, as text.
pub async fn read_all(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let read = tokio::time::timeout(DEADLINE, stream.read_to_end(&mut answer)).await;
    let _ = read.unwrap_or_else(|_| panic!("the edge hangs after {:?}", String::from_utf8_lossy(&answer)));
    String::from_utf8_lossy(&answer).into_owned()
}

/// Everything up to the first empty line.
pub async fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte).await.expect("bytes") == 0 {
            break;
        }
        head.push(byte[0]);
    }
    String::from_utf8_lossy(&head).into_owned()
}

/// Waits for a condition, not for a time.
pub async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + DEADLINE;
    while Instant::now() < deadline {
        if let Some(found) = look().await {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    panic!("in vain: {what}");
}

pub fn everything_to(addresses: &[SocketAddr]) -> RouteSet {
    let targets = TargetsSpec { addresses: addresses.to_vec(), health: None, limits: Limits::default() };
    everything(Serves::Targets(targets))
}

/// One service for all hosts.
pub fn everything(serves: Serves) -> RouteSet {
    let mut routes = RouteSet::default();
    routes.routes.push(Route::new("*", "app"));
    routes.services.push(ServiceSpec { name: "app".into(), serves, access_log: false, access: None });
    routes
}

/// One kept connection.
pub struct Visitor {
    sender: http1::SendRequest<Full<Bytes>>,
}

impl Visitor {
    pub async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("a connection");
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.expect("a handshake");
        tokio::spawn(connection.with_upgrades());
        Self { sender }
    }

    pub async fn send(&mut self, request: Request<Full<Bytes>>) -> hyper::Result<Response<Incoming>> {
        self.sender.ready().await?;
        self.sender.send_request(request).await
    }

    /// Status and body of a GET.
    pub async fn get(&mut self, path: &str) -> hyper::Result<(u16, String)> {
        let answer = self.send(get(path)).await?;
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await?.to_bytes();
        Ok((status, String::from_utf8_lossy(&body).into_owned()))
    }
}

pub fn get(path: &str) -> Request<Full<Bytes>> {
    Request::get(path).header("host", "app.example.org").body(Full::default()).expect("a request")
}

pub fn post(path: &str, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    Request::post(path).header("host", "app.example.org").body(Full::new(body.into())).expect("a request")
}
