//! Folders whose files are the answers.

mod cache;
mod conditional;
mod fingerprint;
mod folder;
mod load;
mod lru;
mod path;
mod range;
mod respond;
pub mod rules;
mod served_file;
mod stream;
#[cfg(test)]
mod tests;
mod types;

use std::sync::Arc;

use hyper::header;
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use tokio::sync::OnceCell;

pub use self::cache::FileCache;
use self::load::{FoundFile, NoRules, Scope, load, load_rules};
use self::rules::{Redirect, Redirected, Rules};
use crate::body::Body;
use crate::routes::FilesSpec;

/// A folder that is served. The folder need not be there yet: until it is, it has no files.
pub struct Files {
    scope: Arc<Scope>,
    single_page: bool,
    not_found: String,
    cache: Arc<FileCache>,
    /// Read with the first request: the rules of a folder do not change while it is served.
    rules: OnceCell<Rules>,
}

/// The file of a single page, as seen from the folder.
const SINGLE_PAGE: &[u8] = b"index.html";

impl Files {
    pub fn new(spec: FilesSpec, cache: Arc<FileCache>) -> Self {
        let scope = cache.scope(spec.folder.into_os_string(), spec.clean_urls);
        Self { scope, single_page: spec.single_page, not_found: spec.not_found, cache, rules: OnceCell::new() }
    }

    /// The answer to a request. None when there is no such file and nothing that is to be shown in its place.
    pub async fn answer(&self, request: &Parts) -> Option<Response<Body>> {
        // Without its rules a site may show what they hide, or lack what protects its visitors.
        let Some(rules) = self.rules().await else { return Some(respond::unavailable()) };
        let raw = request.uri.path();
        let path = path::decode(raw);
        let redirected = rules.zip(path.as_deref()).map(|(rules, path)| rules.redirect(path)).unwrap_or_default();
        let mut answer = match path.as_deref() {
            Some(path) => self.answer_path(request, path, redirected).await?,
            None if !is_read(request) => respond::method_not_allowed(),
            None => self.not_found(request).await?,
        };
        let status = answer.status();
        if let Some(rules) = rules.filter(|_| !status.is_redirection() || status == StatusCode::NOT_MODIFIED) {
            rules.set_headers(path.as_deref().unwrap_or(raw.as_bytes()), status, answer.headers_mut());
        }
        Some(answer)
    }

    async fn answer_path(&self, request: &Parts, path: &[u8], redirected: Redirected) -> Option<Response<Body>> {
        let Redirected { at_once, with_file, without_file } = redirected;
        if let Some(redirect) = at_once {
            return self.redirected(request, redirect).await;
        }
        if !is_read(request) {
            return match without_file {
                Some(redirect) => self.redirected(request, redirect).await,
                None => Some(respond::method_not_allowed()),
            };
        }
        match (self.file_of(path).await, with_file, without_file) {
            (FoundFile::File(_) | FoundFile::Elsewhere(_), Some(redirect), _)
            | (FoundFile::Nothing, _, Some(redirect)) => self.redirected(request, redirect).await,
            (FoundFile::File(file), None, _) => Some(respond::file(request, &file)),
            (FoundFile::Elsewhere(path), None, _) => Some(respond::elsewhere(request, &path)),
            (FoundFile::Failure, _, _) => Some(respond::unavailable()),
            (FoundFile::Nothing, _, None) if self.is_for_page(request, path) => self.single_page(request).await,
            (FoundFile::Nothing, _, None) => self.not_found(request).await,
        }
    }

    async fn file_of(&self, path: &[u8]) -> FoundFile {
        if rules::is_rule_file(path) {
            return FoundFile::Nothing;
        }
        // Most requests end here, without a look at the disk.
        match self.cache.fresh(&self.scope, path) {
            Some(file) => FoundFile::File(file),
            None => self.find(path).await,
        }
    }

    fn is_for_page(&self, request: &Parts, path: &[u8]) -> bool {
        self.single_page && !rules::is_rule_file(path) && wants_page(request, path)
    }

    /// What a rule makes of a request.
    async fn redirected(&self, request: &Parts, redirect: Redirect) -> Option<Response<Body>> {
        let (path, is_found) = match redirect {
            Redirect::Elsewhere { status, location } => return Some(respond::sent(request, status, &location)),
            _ if !is_read(request) => return Some(respond::method_not_allowed()),
            Redirect::Nowhere => return self.not_found(request).await,
            Redirect::File { path, is_found } => (path, is_found),
        };
        for name in rules::file_names(&path) {
            match self.find(&name).await {
                FoundFile::File(file) if is_found => return Some(respond::file(request, &file)),
                FoundFile::File(file) => return Some(respond::not_found(request, &file)),
                FoundFile::Failure => return Some(respond::unavailable()),
                FoundFile::Elsewhere(_) | FoundFile::Nothing => {}
            }
        }
        self.not_found(request).await
    }

    /// None if they could not be read; of no folder, or one without rules, there are none.
    async fn rules(&self) -> Option<Option<&Rules>> {
        let read = async || {
            let scope = self.scope.clone();
            self.cache.look(move || load_rules(&scope)).await.unwrap_or(Err(NoRules::Failure))
        };
        match self.rules.get_or_try_init(read).await {
            Ok(rules) => Some(Some(rules).filter(|rules| !rules.is_empty())),
            Err(NoRules::NoFolder) => Some(None),
            Err(NoRules::Failure) => None,
        }
    }

    async fn single_page(&self, request: &Parts) -> Option<Response<Body>> {
        match self.find(SINGLE_PAGE).await {
            FoundFile::File(file) => Some(respond::file(request, &file)),
            FoundFile::Failure => Some(respond::unavailable()),
            FoundFile::Elsewhere(_) | FoundFile::Nothing => self.not_found(request).await,
        }
    }

    async fn not_found(&self, request: &Parts) -> Option<Response<Body>> {
        match self.find(self.not_found.as_bytes()).await {
            FoundFile::File(file) => Some(respond::not_found(request, &file)),
            FoundFile::Failure | FoundFile::Elsewhere(_) | FoundFile::Nothing => None,
        }
    }

    async fn find(&self, path: &[u8]) -> FoundFile {
        let (scope, wanted) = (self.scope.clone(), path.to_vec());
        self.cache.find(&self.scope, path, move |old| load(&scope, &wanted, old)).await
    }
}

fn is_read(request: &Parts) -> bool {
    matches!(request.method, Method::GET | Method::HEAD)
}

/// Whether a path without a file may be one that a single page reads itself. A script or a picture that is no longer
/// there must not be answered with a page, so what looks like one is none, unless the request says that it wants a
/// page, as browsers do for what is in their address bar: `/people/jane.doe` is one then.
fn wants_page(request: &Parts, path: &[u8]) -> bool {
    let accepts_html = |value: &header::HeaderValue| value.to_str().is_ok_and(|accept| accept.contains("text/html"));
    !path::looks_like_asset(path) || request.headers.get_all(header::ACCEPT).iter().any(accepts_html)
}
