//! One call of the engine's API: how it is written down, how long it may take, what its failure means.

use std::time::Duration;

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Method, Request};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::connection::{self, EngineAnswer, RequestBody};
use crate::registries::RegistryLogin;
use crate::{Docker, Error, Result};

/// Most calls take milliseconds; under load an engine still answers within seconds.
pub(crate) const USUAL_LIMIT: Duration = Duration::from_secs(30);

pub(crate) struct Call<'a> {
    docker: &'a Docker,
    what: &'static str,
    method: Method,
    path: String,
    query: String,
    body: RequestBody,
    content_type: &'static str,
    registry_login: Option<String>,
    limit: Duration,
}

impl Docker {
    /// `what` completes the sentence "the engine took too long to ...".
    pub(crate) fn call(&self, what: &'static str, method: Method, path: String) -> Call<'_> {
        Call {
            docker: self,
            what,
            method,
            path,
            query: String::new(),
            body: RequestBody::Whole(None),
            content_type: "application/json",
            registry_login: None,
            limit: USUAL_LIMIT,
        }
    }

    pub(crate) fn get(&self, what: &'static str, path: String) -> Call<'_> {
        self.call(what, Method::GET, path)
    }

    pub(crate) fn post(&self, what: &'static str, path: String) -> Call<'_> {
        self.call(what, Method::POST, path)
    }

    pub(crate) fn put(&self, what: &'static str, path: String) -> Call<'_> {
        self.call(what, Method::PUT, path)
    }

    pub(crate) fn delete(&self, what: &'static str, path: String) -> Call<'_> {
        self.call(what, Method::DELETE, path)
    }
}

impl Call<'_> {
    pub(crate) fn query(mut self, name: &str, value: &str) -> Self {
        let separator = if self.query.is_empty() { '?' } else { '&' };
        self.query.push(separator);
        self.query.push_str(name);
        self.query.push('=');
        self.query.push_str(&encoded(value));
        self
    }

    /// The engine's filters are one JSON text: names, each with the values of which one must match.
    pub(crate) fn filters(self, filters: &[(&str, &[&str])]) -> Result<Self> {
        let filters: std::collections::BTreeMap<_, _> = filters.iter().copied().collect();
        Ok(self.query("filters", &to_json(&filters)?))
    }

    pub(crate) fn json(mut self, body: &impl Serialize) -> Result<Self> {
        self.body = RequestBody::Whole(Some(Bytes::from(to_json(body)?)));
        Ok(self)
    }

    pub(crate) fn upload(mut self, content_type: &'static str, body: RequestBody) -> Self {
        self.content_type = content_type;
        self.body = body;
        self
    }

    /// What the engine shows to the registry.
    pub(crate) fn registry_login(mut self, login: Option<&RegistryLogin>) -> Self {
        self.registry_login = login.map(RegistryLogin::encoded);
        self
    }

    pub(crate) fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// The answer, read to its end within the limit.
    pub(crate) async fn read<T: DeserializeOwned>(self) -> Result<T> {
        let bytes = self.whole().await?;
        serde_json::from_slice(&bytes).map_err(Error::unreadable)
    }

    pub(crate) async fn done(self) -> Result<()> {
        self.whole().await.map(drop)
    }

    async fn whole(self) -> Result<bytes::BytesMut> {
        let (what, limit) = (self.what, self.limit);
        within(what, limit, async { self.unlimited().await?.whole().await }).await
    }

    /// The answer once it has begun; the limit is for the beginning only.
    pub(crate) async fn stream(self) -> Result<EngineAnswer> {
        let (what, limit) = (self.what, self.limit);
        within(what, limit, self.unlimited()).await
    }

    /// Without a limit of its own: the caller may stop waiting at any time.
    pub(crate) async fn unlimited(self) -> Result<EngineAnswer> {
        let docker = self.docker;
        // On the heap, because every function of this crate holds one.
        Box::pin(self.send()).await.inspect_err(|error| docker.learn_from(error))
    }

    async fn send(self) -> Result<EngineAnswer> {
        let version = self.docker.version().await?;
        let uri = format!("/v{version}{}{}", self.path, self.query);
        let head = Head { method: self.method, uri: &uri, registry_login: self.registry_login.as_deref() };
        send(self.docker, head, self.content_type, self.body).await
    }
}

/// How a request begins.
pub(crate) struct Head<'a> {
    pub method: Method,
    pub uri: &'a str,
    pub registry_login: Option<&'a str>,
}

/// A request as it is, for the one call that must be made before the version is known.
pub(crate) async fn send(
    docker: &Docker,
    head: Head<'_>,
    content_type: &str,
    body: RequestBody,
) -> Result<EngineAnswer> {
    let mut request =
        Request::builder().method(head.method).uri(head.uri).header(HOST, "docker").header(CONTENT_TYPE, content_type);
    if let Some(login) = head.registry_login {
        request = request.header("x-registry-auth", login);
    }
    let request = request
        .body(body)
        .map_err(|error| Error::Refused { status: 414, message: format!("the request cannot be written: {error}") })?;
    let (response, connection) = connection::send(docker.socket(), request).await?;
    let status = response.status();
    let answer = EngineAnswer::new(response.into_body(), connection);
    // 304 says that there was nothing left to do.
    if status.is_success() || status.as_u16() == 304 {
        return Ok(answer);
    }
    let body = answer.whole().await?;
    Err(Error::answered(status.as_u16(), message_in(&body)))
}

pub(crate) async fn within<T>(what: &'static str, limit: Duration, work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::time::timeout(limit, work).await.unwrap_or(Err(Error::TimedOut { what, limit }))
}

fn message_in(body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Said {
        message: String,
    }
    serde_json::from_slice::<Said>(body)
        .map_or_else(|_| String::from_utf8_lossy(body).trim().to_owned(), |said| said.message)
}

pub(crate) fn to_json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(Error::unreadable)
}

/// Percent-encoded, so that it can stand anywhere in a path or a query.
pub(crate) fn encoded(text: &str) -> String {
    encoded_except(text, b"")
}

/// An image's reference keeps its slashes: they are part of the path.
pub(crate) fn encoded_reference(text: &str) -> String {
    encoded_except(text, b"/:@")
}

fn encoded_except(text: &str, kept: &[u8]) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || kept.contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}
