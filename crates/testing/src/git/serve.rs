//! HTTP in front of `git http-backend`, which is a CGI program: environment and body in, header lines and body out.

use std::convert::Infallible;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty};
use hyper::body::{Body, Frame, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, LOCATION, WWW_AUTHENTICATE};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::sync::oneshot;

use super::lfs::{self, LfsManner};
use super::repository::hermetic_git;

/// How the server treats its clients.
#[derive(Clone)]
pub struct Manner {
    pub token: Option<String>,
    pub hashes: bool,
    pub hangs: bool,
    pub redirect: Option<String>,
    pub status: Option<u16>,
    pub lfs: LfsManner,
    pub requests: usize,
    /// Bytes of repositories that were sent, and of a flood, by all requests together.
    pub sent: Arc<AtomicU64>,
}

impl Default for Manner {
    fn default() -> Self {
        Self {
            token: None,
            hashes: true,
            hangs: false,
            redirect: None,
            status: None,
            lfs: LfsManner::default(),
            requests: 0,
            sent: Arc::default(),
        }
    }
}

/// How often a request that hangs looks whether it may go on.
const HANG_LOOK: Duration = Duration::from_millis(20);

pub type Answer = Response<BoxBody<Bytes, io::Error>>;

/// Until `stopped`, whose other end is dropped.
pub fn run(listener: std::net::TcpListener, root: PathBuf, manner: Arc<Mutex<Manner>>, stopped: oneshot::Receiver<()>) {
    let root: Arc<Path> = root.into();
    answer_all(listener, stopped, move |request| {
        let (root, noted, manner) = (root.clone(), take_note(&manner), manner.clone());
        async move {
            while is_hanging(&manner) {
                tokio::time::sleep(HANG_LOOK).await;
            }
            answer(&root, noted, request).await
        }
    });
}

/// Answers every request by this function, until `stopped`.
pub fn answer_all<F, A>(listener: std::net::TcpListener, stopped: oneshot::Receiver<()>, answer: F)
where
    F: Fn(Request<Incoming>) -> A + Clone + Send + 'static,
    A: Future<Output = Answer> + Send + 'static,
{
    listener.set_nonblocking(true).expect("a socket that does not block");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener).expect("a listening socket");
        tokio::select! {
            _ = stopped => {}
            () = accept(listener, answer) => {}
        }
    });
}

async fn accept<F, A>(listener: tokio::net::TcpListener, answer: F)
where
    F: Fn(Request<Incoming>) -> A + Clone + Send + 'static,
    A: Future<Output = Answer> + Send + 'static,
{
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let answer = answer.clone();
        let service = hyper::service::service_fn(move |request| {
            let answered = answer(request);
            async move { Ok::<_, Infallible>(answered.await) }
        });
        let connection = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        tokio::spawn(async move { drop(connection.await) });
    }
}

fn take_note(manner: &Mutex<Manner>) -> Manner {
    let mut manner = manner.lock().unwrap_or_else(PoisonError::into_inner);
    manner.requests += 1;
    manner.clone()
}

fn is_hanging(manner: &Mutex<Manner>) -> bool {
    manner.lock().unwrap_or_else(PoisonError::into_inner).hangs
}

async fn answer(root: &Path, manner: Manner, request: Request<Incoming>) -> Answer {
    if let Some(base) = &manner.redirect {
        let to = format!("{base}{}", request.uri().path_and_query().map_or("/", |path| path.as_str()));
        return empty(StatusCode::FOUND, &[(LOCATION, &to)]);
    }
    if let Some(status) = manner.status {
        return empty(StatusCode::from_u16(status).expect("a status"), &[]);
    }
    if !lets_in(manner.token.as_deref(), &request) {
        return empty(StatusCode::UNAUTHORIZED, &[(WWW_AUTHENTICATE, "Basic realm=\"git\"")]);
    }
    if lfs::is_asked(&request) {
        return lfs::answer(root, &manner, request).await;
    }
    ask_git(root, &manner, None, request).await
}

/// The name before the token does not count.
fn lets_in(token: Option<&str>, request: &Request<Incoming>) -> bool {
    let Some(token) = token else { return true };
    let given = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    given.and_then(basic).is_some_and(|(_, password)| password == token)
}

/// Name and password of such an `Authorization`.
pub fn basic(given: &str) -> Option<(String, String)> {
    let bytes = BASE64_STANDARD.decode(given.strip_prefix("Basic ")?).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    text.split_once(':').map(|(name, password)| (name.to_owned(), password.to_owned()))
}

fn empty(status: StatusCode, headers: &[(hyper::header::HeaderName, &str)]) -> Answer {
    let mut answer = Response::builder().status(status);
    for (name, value) in headers {
        answer = answer.header(name, *value);
    }
    answer.body(Empty::new().map_err(|never| match never {}).boxed()).expect("an answer")
}

/// Only a client that has a name may push.
pub async fn ask_git(root: &Path, manner: &Manner, name: Option<&str>, request: Request<Incoming>) -> Answer {
    let mut command = http_backend(root, manner.hashes, &request);
    if let Some(name) = name {
        command.env("REMOTE_USER", name);
    }
    match pass_through(command, manner, request).await {
        Ok(answer) => answer,
        Err(error) => panic!("git http-backend: {error}"),
    }
}

async fn pass_through(
    mut command: tokio::process::Command,
    manner: &Manner,
    request: Request<Incoming>,
) -> io::Result<Answer> {
    let mut child = command.spawn()?;
    let (stdin, mut stdout) = (child.stdin.take().expect("its input"), child.stdout.take().expect("its output"));
    tokio::spawn(pass_on(request.into_body(), stdin));
    let (head, rest) = read_head(&mut stdout).await?;
    let mut answer = Response::builder();
    for (name, value) in head.lines().filter_map(|line| line.split_once(": ")) {
        answer = match name {
            "Status" => answer.status(value.split(' ').next().unwrap_or(value)),
            _ => answer.header(name, value),
        };
    }
    let body = Output { rest: Some(rest), stdout, sent: manner.sent.clone(), _child: child };
    Ok(answer.body(body.boxed()).expect("an answer"))
}

fn http_backend(root: &Path, hashes: bool, request: &Request<Incoming>) -> tokio::process::Command {
    let mut command = tokio::process::Command::from(hermetic_git(root));
    command.arg("-c").arg(format!("uploadpack.allowReachableSHA1InWant={hashes}")).arg("http-backend");
    command.env("GIT_PROJECT_ROOT", root).env("GIT_HTTP_EXPORT_ALL", "1").env("REMOTE_ADDR", "127.0.0.1");
    command.env("REQUEST_METHOD", request.method().as_str()).env("PATH_INFO", request.uri().path());
    command.env("QUERY_STRING", request.uri().query().unwrap_or_default());
    let passed = [(CONTENT_TYPE, "CONTENT_TYPE"), (CONTENT_LENGTH, "CONTENT_LENGTH")];
    for (header, variable) in passed.into_iter().chain([(CONTENT_ENCODING, "HTTP_CONTENT_ENCODING")]) {
        if let Some(value) = request.headers().get(header).and_then(|value| value.to_str().ok()) {
            command.env(variable, value);
        }
    }
    if let Some(protocol) = request.headers().get("git-protocol").and_then(|value| value.to_str().ok())
        && hashes
    {
        command.env("GIT_PROTOCOL", protocol);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    command
}

async fn pass_on(mut body: Incoming, mut stdin: ChildStdin) {
    while let Some(Ok(frame)) = body.frame().await {
        let Ok(data) = frame.into_data() else { continue };
        if stdin.write_all(&data).await.is_err() {
            return;
        }
    }
}

/// The lines before the empty one, and what was read beyond it.
async fn read_head(stdout: &mut ChildStdout) -> io::Result<(String, Bytes)> {
    let mut read = Vec::new();
    loop {
        if let Some(end) = read.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&read[..end]).into_owned();
            return Ok((head, Bytes::copy_from_slice(&read[end + 4..])));
        }
        if stdout.read_buf(&mut read).await? == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, String::from_utf8_lossy(&read)));
        }
    }
}

/// What git writes, as it writes it. A client that stops reading ends git.
struct Output {
    rest: Option<Bytes>,
    stdout: ChildStdout,
    sent: Arc<AtomicU64>,
    _child: Child,
}

impl Body for Output {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if let Some(rest) = self.rest.take().filter(|rest| !rest.is_empty()) {
            self.sent.fetch_add(rest.len() as u64, Ordering::Relaxed);
            return Poll::Ready(Some(Ok(Frame::data(rest))));
        }
        let mut space = [0; 16 * 1024];
        let mut buffer = ReadBuf::new(&mut space);
        match ready!(Pin::new(&mut self.stdout).poll_read(context, &mut buffer)) {
            Ok(()) if buffer.filled().is_empty() => Poll::Ready(None),
            Ok(()) => {
                let piece = Bytes::copy_from_slice(buffer.filled());
                self.sent.fetch_add(piece.len() as u64, Ordering::Relaxed);
                Poll::Ready(Some(Ok(Frame::data(piece))))
            }
            Err(error) => Poll::Ready(Some(Err(error))),
        }
    }
}
