//! Request bodies: bounded, packed or not, JSON whatever the Content-Type says, and errors that name the field.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use flate2::bufread::MultiGzDecoder;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::sync::OwnedSemaphorePermit;
use uuid::Uuid;
use windlass_api::{ErrorCode, Named};

use crate::app::App;
use crate::auth::Ctx;
use crate::error::{Error, Result};

/// The bytes of a body. They are parsed when the handler asks, because who may call comes before what they say.
pub struct Payload(Bytes);

/// The same, from a client who is not known yet.
pub struct StrangersPayload(pub Payload);

impl FromRequest<Arc<App>> for Payload {
    type Rejection = Error;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self> {
        read(request, app.config.body_limit).await
    }
}

impl FromRequest<Arc<App>> for StrangersPayload {
    type Rejection = Error;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self> {
        read(request, app.config.body_limit.min(app.config.strangers_body_limit)).await.map(Self)
    }
}

/// A delivery of a code host, which says itself who it is from. The bytes as they were sent, because they are what is signed.
pub struct DeliveryPayload {
    pub bytes: Bytes,
    /// Of a long one: its place among those that are in memory.
    _place: Option<OwnedSemaphorePermit>,
}

/// A client without a secret can send as many as it likes, so only short ones are read at once.
const SHORT_DELIVERY: u64 = 64 * 1024;

impl FromRequest<Arc<App>> for DeliveryPayload {
    type Rejection = Error;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self> {
        if is_packed(request.headers())? {
            return Err(Error::new(ErrorCode::UnsupportedEncoding, "content-encoding: a delivery is taken as it is."));
        }
        let is_short = request.body().size_hint().upper().is_some_and(|bytes| bytes <= SHORT_DELIVERY);
        let place = match is_short {
            true => None,
            false => Some(app.deliveries_held.clone().acquire_owned().await.map_err(Error::internal)?),
        };
        let Payload(bytes) = read(request, app.config.webhook_body_limit).await?;
        Ok(Self { bytes, _place: place })
    }
}

/// Whether the server is waiting for a request's body: the layer that ends slow requests tells slow clients from slow
/// work by it.
#[derive(Clone, Default)]
pub struct Arrival(Arc<AtomicBool>);

impl Arrival {
    pub fn is_waited_for(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn wait(&self, is_waited_for: bool) {
        self.0.store(is_waited_for, Ordering::Relaxed);
    }
}

async fn read(request: Request, limit: usize) -> Result<Payload> {
    let is_packed = is_packed(request.headers())?;
    let arrival = request.extensions().get::<Arrival>().cloned().unwrap_or_default();
    arrival.wait(true);
    let received = receive(request.into_body(), limit).await;
    arrival.wait(false);
    let bytes = received?;
    match is_packed && !bytes.is_empty() {
        true => unpack(bytes, limit).await.map(Payload),
        false => Ok(Payload(bytes)),
    }
}

fn is_packed(headers: &HeaderMap) -> Result<bool> {
    let mut encodings = headers.get_all(header::CONTENT_ENCODING).iter();
    let Some(encoding) = encodings.next() else { return Ok(false) };
    let encoding = String::from_utf8_lossy(encoding.as_bytes()).trim().to_ascii_lowercase();
    match encoding.as_str() {
        _ if encodings.next().is_some() => {
            Err(Error::field("content-encoding", "is given more than once. Send it once."))
        }
        "gzip" | "x-gzip" => Ok(true),
        "" | "identity" => Ok(false),
        other => {
            let other: String = other.chars().take(50).collect();
            let message = format!("content-encoding: {other} is not understood. Send gzip, or the body as it is.");
            Err(Error::new(ErrorCode::UnsupportedEncoding, message))
        }
    }
}

/// On a thread for it, and never more than fits: a few bytes can stand for as many as there are.
async fn unpack(packed: Bytes, limit: usize) -> Result<Bytes> {
    let unpacking = tokio::task::spawn_blocking(move || {
        let mut bytes = Vec::new();
        MultiGzDecoder::new(&packed[..]).take(limit as u64 + 1).read_to_end(&mut bytes).map(|_| bytes)
    });
    match unpacking.await.map_err(Error::internal)? {
        Ok(bytes) if bytes.len() > limit => Err(too_large(limit)),
        Ok(bytes) => Ok(bytes.into()),
        Err(_) => Err(Error::new(ErrorCode::InvalidRequest, "The body is not valid gzip.")),
    }
}

async fn receive(body: Body, limit: usize) -> Result<Bytes> {
    if body.size_hint().lower() > limit as u64 {
        return Err(too_large(limit));
    }
    match Limited::new(body, limit).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large(limit)),
        Err(_) => Err(Error::new(ErrorCode::InvalidRequest, "The body ended before it was complete.")),
    }
}

fn too_large(limit: usize) -> Error {
    Error::new(ErrorCode::TooLarge, format!("The body is larger than the limit of {limit} bytes."))
}

impl Payload {
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// An absent body is an empty object, so it suits every type whose fields are all optional.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T> {
        let text: &[u8] = if self.0.trim_ascii().is_empty() { b"{}" } else { &self.0 };
        // serde would also take an array with the fields in their order.
        if text.trim_ascii_start().starts_with(b"[") {
            return Err(Error::new(
                ErrorCode::InvalidRequest,
                "The body must be an object, not an array (line 1, column 1).",
            ));
        }
        let mut deserializer = serde_json::Deserializer::from_slice(text);
        let value = serde_path_to_error::deserialize(&mut deserializer)
            .map_err(|error| explain(&error.path().to_string(), error.inner(), self.0.is_empty()))?;
        deserializer.end().map_err(|error| explain(".", &error, false))?;
        Ok(value)
    }
}

/// The id that a body speaks of. Who may act comes before what they say, also where they do not say it.
pub async fn named_id(ctx: &Ctx, body: &Payload) -> Result<Uuid> {
    #[derive(Deserialize)]
    struct Id {
        id: Uuid,
    }
    match body.parse::<Named>()?.id {
        Some(id) => Ok(id),
        None => {
            ctx.organization(None).await?;
            body.parse::<Id>().map(|body| body.id)
        }
    }
}

fn explain(path: &str, error: &serde_json::Error, is_absent: bool) -> Error {
    // What serde calls a field before it has read the name of one.
    let path = if path == "?" { "." } else { path };
    let text = error.to_string();
    let problem = text.rsplit_once(" at line ").map_or(text.as_str(), |(problem, _)| problem);
    let place = format!("line {}, column {}", error.line(), error.column());
    let message = match error.classify() {
        serde_json::error::Category::Data => match field_problem(path, problem) {
            Some((field, problem)) if is_absent => format!("{field}: {problem}; there is no body"),
            Some((field, problem)) => format!("{field}: {problem} ({place})"),
            None => format!("The body {} ({place}).", plain(problem)),
        },
        _ if path == "." => format!("The body is not valid JSON: {problem} ({place})."),
        _ => format!("{path}: is not valid JSON: {problem} ({place})"),
    };
    Error::new(ErrorCode::InvalidRequest, message)
}

/// The field and what is wrong with it. serde names a field that is missing, unknown or doubled in its own text.
fn field_problem(path: &str, problem: &str) -> Option<(String, String)> {
    for (beginning, verdict) in [
        ("missing field `", "is required"),
        ("unknown field `", "is not known here"),
        ("duplicate field `", "is given twice"),
    ] {
        if let Some(rest) = problem.strip_prefix(beginning) {
            let field = rest.split('`').next().unwrap_or_default();
            // The name is the client's own and can be as long as a body.
            return Some((field.chars().take(100).collect(), verdict.to_owned()));
        }
    }
    // The same holds for the names of variables, which are part of a path.
    (path != ".").then(|| (path.chars().take(200).collect(), plain(problem)))
}

/// serde's names of types, as JSON calls them.
fn in_json(found: &str) -> &str {
    match found {
        "map" => "an object",
        "sequence" => "an array",
        "integer" | "floating point" => "a number",
        "boolean" => "a boolean",
        "string" => "a string",
        found => found,
    }
}

/// serde's words without the value that was sent, which may be a secret.
fn plain(problem: &str) -> String {
    if let Some((found, expected)) =
        problem.strip_prefix("invalid type: ").and_then(|rest| rest.rsplit_once(", expected "))
    {
        let found = found.split(['`', '"']).next().unwrap_or_default().trim();
        let expected = match expected {
            "a formatted UUID string" => "a UUID",
            "a sequence" => "an array",
            "a map" => "an object",
            expected if expected.starts_with("struct ") => "an object",
            expected => expected,
        };
        return format!("must be {expected}, not {}", in_json(found));
    }
    if problem.starts_with("UUID parsing failed") {
        return "must be a UUID".into();
    }
    problem.to_owned()
}
