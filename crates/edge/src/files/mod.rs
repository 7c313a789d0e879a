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
mod served_file;
mod stream;
#[cfg(test)]
mod tests;
mod types;

use std::sync::Arc;

use hyper::header;
use hyper::http::request::Parts;
use hyper::{Method, Response};

pub use self::cache::FileCache;
use self::load::{FoundFile, Scope, load};
use crate::body::Body;
use crate::routes::FilesSpec;

/// A folder that is served. The folder need not be there yet: until it is, it has no files.
pub struct Files {
    scope: Arc<Scope>,
    single_page: bool,
    not_found: String,
    cache: Arc<FileCache>,
}

/// The file of a single page, as seen from the folder.
const SINGLE_PAGE: &[u8] = b"index.html";

impl Files {
    pub fn new(spec: FilesSpec, cache: Arc<FileCache>) -> Self {
        let scope = cache.scope(spec.folder.into_os_string(), spec.clean_urls);
        Self { scope, single_page: spec.single_page, not_found: spec.not_found, cache }
    }

    /// The answer to a request. None when there is no such file and nothing that is to be shown in its place.
    pub async fn answer(&self, request: &Parts) -> Option<Response<Body>> {
        if !matches!(request.method, Method::GET | Method::HEAD) {
            return Some(respond::method_not_allowed());
        }
        let Some(path) = path::decode(request.uri.path()) else { return self.not_found(request).await };
        // Most requests end here, without a look at the disk.
        if let Some(file) = self.cache.fresh(&self.scope, &path) {
            return Some(respond::file(request, &file));
        }
        match self.find(&path).await {
            FoundFile::File(file) => Some(respond::file(request, &file)),
            FoundFile::Elsewhere(path) => Some(respond::elsewhere(request, &path)),
            FoundFile::Failure => Some(respond::unavailable()),
            FoundFile::Nothing if self.single_page && wants_page(request, &path) => self.single_page(request).await,
            FoundFile::Nothing => self.not_found(request).await,
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

/// Whether a path without a file may be one that a single page reads itself. A script or a picture that is no longer
/// there must not be answered with a page, so what looks like one is none, unless the request says that it wants a
/// page, as browsers do for what is in their address bar: `/people/jane.doe` is one then.
fn wants_page(request: &Parts, path: &[u8]) -> bool {
    let accepts_html = |value: &header::HeaderValue| value.to_str().is_ok_and(|accept| accept.contains("text/html"));
    !path::looks_like_asset(path) || request.headers.get_all(header::ACCEPT).iter().any(accepts_html)
}
