//! Git LFS beside the repositories: where their objects are, and the objects themselves.

use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Frame, Incoming};
use hyper::header::{CONTENT_TYPE, HOST, HeaderValue, LOCATION};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};

use super::serve::{Answer, Manner};

const ASKED: &str = "/info/lfs/objects/batch";
/// Between a repository's address and the name of one of its objects.
const OBJECTS: &str = "/info/lfs/objects/";
/// Much more than the system holds of a connection.
pub const FLOOD: u64 = 256 << 20;
const PIECE: usize = 64 << 10;

/// What the server makes of objects that are asked for.
#[derive(Debug, Clone, Default)]
pub enum LfsManner {
    #[default]
    Honest,
    /// Says that objects are at this address, followed by their names.
    Sends(String),
    /// Sends to this address, followed by their names, when they are fetched.
    Redirects(String),
    /// Other bytes, as many.
    Corrupt,
    /// One byte less, or more.
    Shorter,
    Longer,
    /// [`FLOOD`] bytes, whose number is not told before.
    Flood,
    /// Takes the request for an object, and never answers.
    Hangs,
}

pub fn is_asked(request: &Request<Incoming>) -> bool {
    request.uri().path().contains(OBJECTS)
}

pub async fn answer(root: &Path, manner: &Manner, request: Request<Incoming>) -> Answer {
    let path = request.uri().path().to_owned();
    let (repository, name) = path.rsplit_once(OBJECTS).expect("an object");
    let folder = root.join(repository.trim_start_matches('/'));
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default().to_owned();
    let method = request.method().clone();
    let body = request.into_body().collect().await.expect("a body").to_bytes();
    if path.ends_with(ASKED) {
        return json_answer(&told(&folder, &format!("http://{host}{repository}{OBJECTS}"), &manner.lfs, &body));
    }
    match method {
        Method::PUT => {
            store(&folder, name, &body).expect("an object is stored");
            with_status(StatusCode::OK, Bytes::new())
        }
        _ => object(&folder, name, manner).await,
    }
}

/// Where an object is in a repository's folder.
pub fn place(folder: &Path, oid: &str) -> PathBuf {
    folder.join("lfs/objects").join(&oid[..2]).join(&oid[2..4]).join(oid)
}

pub fn store(folder: &Path, oid: &str, bytes: &[u8]) -> io::Result<()> {
    let place = place(folder, oid);
    std::fs::create_dir_all(place.parent().unwrap_or(folder))?;
    std::fs::write(place, bytes)
}

/// The answer about many objects.
fn told(folder: &Path, objects: &str, manner: &LfsManner, question: &[u8]) -> Value {
    let question: Value = serde_json::from_slice(question).expect("a question");
    let operation = question["operation"].as_str().expect("an operation");
    let base = if let LfsManner::Sends(base) = manner { base } else { objects };
    let one = |asked: &Value| {
        let (oid, size) = (asked["oid"].as_str().expect("an object"), &asked["size"]);
        let action = json!({ "href": format!("{base}{oid}"), "header": { "X-Given": "by the server" } });
        match (operation, place(folder, oid).exists()) {
            ("download", false) => {
                json!({ "oid": oid, "size": size, "error": { "code": 404, "message": "Object does not exist" } })
            }
            ("upload", true) => json!({ "oid": oid, "size": size }),
            _ => json!({ "oid": oid, "size": size, "actions": { operation: action } }),
        }
    };
    let objects: Vec<Value> = question["objects"].as_array().into_iter().flatten().map(one).collect();
    json!({ "transfer": "basic", "objects": objects })
}

async fn object(folder: &Path, oid: &str, manner: &Manner) -> Answer {
    let Ok(mut bytes) = std::fs::read(place(folder, oid)) else {
        return with_status(StatusCode::NOT_FOUND, Bytes::new());
    };
    match &manner.lfs {
        LfsManner::Honest | LfsManner::Sends(_) => {}
        LfsManner::Redirects(base) => {
            let mut answer = with_status(StatusCode::FOUND, Bytes::new());
            let to = HeaderValue::try_from(format!("{base}{oid}")).expect("an address");
            answer.headers_mut().insert(LOCATION, to);
            return answer;
        }
        LfsManner::Corrupt => bytes.iter_mut().for_each(|byte| *byte ^= 1),
        LfsManner::Shorter => drop(bytes.pop()),
        LfsManner::Longer => bytes.push(b'!'),
        LfsManner::Flood => {
            let flood = Flood { left: FLOOD, sent: manner.sent.clone() };
            return Response::new(flood.boxed());
        }
        LfsManner::Hangs => std::future::pending().await,
    }
    with_status(StatusCode::OK, bytes.into())
}

fn json_answer(value: &Value) -> Answer {
    let mut answer = with_status(StatusCode::OK, value.to_string().into());
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/vnd.git-lfs+json"));
    answer
}

fn with_status(status: StatusCode, body: Bytes) -> Answer {
    let body = Full::new(body).map_err(|never| match never {}).boxed();
    Response::builder().status(status).body(body).expect("an answer")
}

struct Flood {
    left: u64,
    /// What was taken of it counts.
    sent: Arc<AtomicU64>,
}

impl Body for Flood {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        self.left = self.left.saturating_sub(PIECE as u64);
        self.sent.fetch_add(PIECE as u64, Ordering::Relaxed);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[0; PIECE])))))
    }
}
