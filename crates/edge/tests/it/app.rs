//! An application behind the edge: one instance of one release.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Collected, Full};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;

type Body = BoxBody<Bytes, Infallible>;

pub struct App {
    pub address: SocketAddr,
    pub seen: Arc<Seen>,
    serving: JoinHandle<()>,
}

/// What has come to the application.
#[derive(Default)]
pub struct Seen {
    pub requests: AtomicUsize,
    pub active: AtomicUsize,
    pub connections: AtomicUsize,
    pub health_checks: AtomicUsize,
    pub is_ill: AtomicBool,
    /// Requests to `/held` wait for one of these each.
    pub permits: Semaphored,
}

pub struct Semaphored(pub Semaphore);

impl Default for Semaphored {
    fn default() -> Self {
        Self(Semaphore::new(0))
    }
}

impl App {
    pub async fn start(name: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let seen = Arc::new(Seen::default());
        let (named, counted) = (name.to_owned(), seen.clone());
        let serving = tokio::spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else { return };
                counted.connections.fetch_add(1, Ordering::SeqCst);
                let (name, seen) = (named.clone(), counted.clone());
                let service = service_fn(move |request| answer(name.clone(), seen.clone(), request));
                tokio::spawn(
                    hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service)
                        .with_upgrades(),
                );
            }
        });
        Self { address, seen, serving }
    }

    pub fn requests(&self) -> usize {
        self.seen.requests.load(Ordering::SeqCst)
    }

    pub fn health_checks(&self) -> usize {
        self.seen.health_checks.load(Ordering::SeqCst)
    }

    pub fn is_ill(&self, ill: bool) {
        self.seen.is_ill.store(ill, Ordering::SeqCst);
    }

    /// Lets so many of the requests that are held go on.
    pub fn let_go(&self, requests: usize) {
        self.seen.permits.0.add_permits(requests);
    }
}

impl Drop for App {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

struct Active(Arc<Seen>);

impl Drop for Active {
    fn drop(&mut self) {
        self.0.active.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn answer(name: String, seen: Arc<Seen>, request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
    if request.uri().path() == "/health" {
        seen.health_checks.fetch_add(1, Ordering::SeqCst);
        let ill = seen.is_ill.load(Ordering::SeqCst);
        let status = if ill { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::NO_CONTENT };
        let mut answer = full(String::new());
        *answer.status_mut() = status;
        return Ok(answer);
    }
    seen.requests.fetch_add(1, Ordering::SeqCst);
    seen.active.fetch_add(1, Ordering::SeqCst);
    let active = Active(seen.clone());
    let mut answer = match request.uri().path() {
        "/slow" => {
            tokio::time::sleep(Duration::from_millis(40)).await;
            full(name.clone())
        }
        "/held" => {
            if let Ok(permit) = seen.permits.0.acquire().await {
                permit.forget();
            }
            full(name.clone())
        }
        "/stream" => stream(name.clone(), 10, Duration::from_millis(5), active),
        "/endless" => stream(name.clone(), usize::MAX, Duration::from_millis(5), active),
        "/echo" => {
            let body = request.into_body().collect().await.map(Collected::to_bytes).unwrap_or_default();
            Response::new(Full::new(body).boxed())
        }
        "/headers" => {
            let headers = request.headers().iter();
            let lines: Vec<String> =
                headers.map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value.as_bytes()))).collect();
            full(format!("{} {}\n{}", request.method(), request.uri(), lines.join("\n")))
        }
        "/socket" => upgrade(request, active),
        _ => full(name.clone()),
    };
    if let Ok(value) = name.parse() {
        answer.headers_mut().insert("x-app", value);
    }
    Ok(answer)
}

fn full(text: String) -> Response<Body> {
    Response::new(Full::from(text).boxed())
}

fn stream(name: String, chunks: usize, pause: Duration, active: Active) -> Response<Body> {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        let _active = active;
        for _ in 0..chunks {
            tokio::time::sleep(pause).await;
            if sender.send(Bytes::from(format!("{name}\n"))).await.is_err() {
                return;
            }
        }
    });
    Response::new(BodyExt::boxed(Frames(receiver)))
}

struct Frames(mpsc::Receiver<Bytes>);

impl hyper::body::Body for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// Says back all that it hears.
fn upgrade(mut request: Request<Incoming>, active: Active) -> Response<Body> {
    let upgrade = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        let Ok(upgraded) = upgrade.await else { return };
        let mut stream = TokioIo::new(upgraded);
        // Over before the connection is: a test that sees that end looks here next.
        let _active = active;
        let mut buffer = [0; 1024];
        while let Ok(read @ 1..) = stream.read(&mut buffer).await {
            if stream.write_all(&buffer[..read]).await.is_err() {
                return;
            }
        }
    });
    let mut answer = full(String::new());
    *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    answer.headers_mut().insert("connection", hyper::header::HeaderValue::from_static("upgrade"));
    answer.headers_mut().insert("upgrade", hyper::header::HeaderValue::from_static("echo"));
    answer
}
