//! One call: what is sent, and how to read what comes back.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value;
use windlass_api::CodeHost;

use super::base::Base;
use super::error::{ApiError, failure};
use super::paging::Part;

/// A request that the caller sends, and the way to read the answer that it gets.
#[derive(Debug)]
pub struct Ask<T> {
    pub request: ApiRequest,
    asked: Asked,
    read: Reader<T>,
}

/// Its `Debug` shows neither headers nor body: there are secrets in both.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiRequest {
    pub method: &'static str,
    pub url: String,
    /// Names are in lower case.
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

/// What the host answered. How long the body may be is up to the caller: 4 MB are enough for every answer that is asked for here.
/// Its `Debug` shows only the status: some answers are secrets.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ApiAnswer {
    pub status: u16,
    /// Names are in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

pub(super) type Reader<T> = fn(&Asked, &ApiAnswer) -> Result<T, ApiError>;

/// What a reader has to know of the request.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub base: Base,
    pub part: Part,
    /// In lower case; empty for everything.
    pub search: String,
}

impl<T> Ask<T> {
    pub fn read(&self, answer: &ApiAnswer) -> Result<T, ApiError> {
        (self.read)(&self.asked, answer)
    }

    /// For hosts that cannot search: what does not fit is left out when the answer is read.
    pub(super) fn matching(mut self, search: &str) -> Self {
        self.asked.search = search.to_lowercase();
        self
    }
}

impl fmt::Debug for ApiRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiRequest").field("method", &self.method).field("url", &self.url).finish_non_exhaustive()
    }
}

impl fmt::Debug for ApiAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiAnswer").field("status", &self.status).finish_non_exhaustive()
    }
}

impl ApiAnswer {
    /// `name` is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// What is sent, before it is known where and by whom.
pub(super) struct Sent<'a> {
    pub method: &'static str,
    /// Under the host's API, with its query.
    pub path: &'a str,
    pub body: Option<&'a Value>,
    pub part: Part,
}

impl Sent<'_> {
    pub(super) fn by<T>(&self, base: &Base, authorization: Option<String>, read: Reader<T>) -> Ask<T> {
        let mut headers = vec![("accept", accepted(base.host()).to_owned()), ("user-agent", "Windlass".to_owned())];
        if base.host() == CodeHost::GitHub {
            headers.push(("x-github-api-version", "2022-11-28".to_owned()));
        }
        headers.extend(authorization.map(|value| ("authorization", value)));
        headers.extend(self.body.map(|_| ("content-type", "application/json".to_owned())));
        let url = format!("{}{}", base.api(), self.path);
        let body = self.body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        Ask {
            request: ApiRequest { method: self.method, url, headers, body },
            asked: Asked { base: base.clone(), part: self.part, search: String::new() },
            read,
        }
    }
}

fn accepted(host: CodeHost) -> &'static str {
    match host {
        CodeHost::GitHub => "application/vnd.github+json",
        _ => "application/json",
    }
}

impl Asked {
    pub(super) fn success<'a>(&self, answer: &'a ApiAnswer) -> Result<&'a ApiAnswer, ApiError> {
        if answer.is_success() { Ok(answer) } else { Err(failure(self.base.host(), answer)) }
    }

    pub(super) fn json<T: DeserializeOwned>(&self, answer: &ApiAnswer) -> Result<T, ApiError> {
        serde_json::from_slice(&self.success(answer)?.body).map_err(|_| ApiError::Unreadable)
    }

    /// Gitea says `null` for an empty list.
    pub(super) fn list<T: DeserializeOwned>(&self, answer: &ApiAnswer) -> Result<Vec<T>, ApiError> {
        Ok(self.json::<Option<Vec<T>>>(answer)?.unwrap_or_default())
    }
}

/// Only whether it succeeded.
pub(super) fn done(asked: &Asked, answer: &ApiAnswer) -> Result<(), ApiError> {
    asked.success(answer).map(|_| ())
}

/// What is not there any more is deleted.
pub(super) fn gone(asked: &Asked, answer: &ApiAnswer) -> Result<(), ApiError> {
    match done(asked, answer) {
        Err(ApiError::NotFound) => Ok(()),
        other => other,
    }
}
