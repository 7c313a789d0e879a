//! The dashboard: the files of `web/dist`, built in. Nothing else here knows of them.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

use crate::app::App;

/// By their paths. `build.rs` writes the table.
const FILES: &[(&str, &[u8])] = &include!(concat!(env!("OUT_DIR"), "/dashboard_files.rs"));
/// The files in it have a hash of their content in their names.
const HASHED: &str = "assets/";

/// Only files of this server, and no text that becomes a script.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
                      connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

static BY_NAME: LazyLock<BTreeMap<&str, File>> =
    LazyLock::new(|| FILES.iter().map(|(name, bytes)| (*name, File::new(name, bytes))).collect());

struct File {
    media_type: &'static str,
    caching: &'static str,
    /// Of the content.
    tag: String,
    plain: &'static [u8],
    /// None if it would not be shorter.
    packed: Option<Bytes>,
}

pub fn routes() -> Router<Arc<App>> {
    let names = FILES.iter().map(|(name, _)| format!("/{name}"));
    let files = names.fold(Router::new(), |router, path| router.route(&path, get(file)));
    files.route("/", get(page))
}

async fn file(uri: Uri, headers: HeaderMap) -> Response {
    answer(uri.path().trim_start_matches('/'), &headers)
}

async fn page(headers: HeaderMap) -> Response {
    answer("index.html", &headers)
}

/// The views of the dashboard have addresses of their own, which only the dashboard knows. A person who follows one gets the dashboard; any
/// other client hears that nothing is there.
pub fn page_instead_of_nothing(request: &Request) -> Option<Response> {
    let accepted = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_view = matches!(*request.method(), Method::GET | Method::HEAD)
        && accepted.contains("text/html")
        && !request.uri().path().starts_with("/api/")
        && !request.uri().path().starts_with("/assets/");
    is_view.then(|| answer("index.html", request.headers()))
}

fn answer(name: &str, asked: &HeaderMap) -> Response {
    let Some(file) = BY_NAME.get(name) else { return StatusCode::NOT_FOUND.into_response() };
    let headers = [
        (header::CONTENT_TYPE, file.media_type),
        (header::CACHE_CONTROL, file.caching),
        (header::ETAG, &file.tag),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::VARY, "accept-encoding"),
    ];
    if asked.get(header::IF_NONE_MATCH).is_some_and(|tag| tag == file.tag.as_str()) {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    // `compress::negotiate` has left nothing else of what the client accepts.
    match &file.packed {
        Some(packed) if asked.contains_key(header::ACCEPT_ENCODING) => {
            let mut response = (headers, Body::from(packed.clone())).into_response();
            response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            response
        }
        _ => (headers, Body::from(file.plain)).into_response(),
    }
}

impl File {
    fn new(name: &str, plain: &'static [u8]) -> Self {
        let hash: String = Sha256::digest(plain).iter().take(12).map(|byte| format!("{byte:02x}")).collect();
        let is_hashed = name.starts_with(HASHED);
        Self {
            media_type: media_type(name),
            caching: if is_hashed { "public, max-age=31536000, immutable" } else { "no-cache" },
            tag: format!("\"{hash}\""),
            plain,
            packed: pack(plain).ok().filter(|packed| packed.len() < plain.len()).map(Bytes::from),
        }
    }
}

fn pack(plain: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(plain)?;
    encoder.finish()
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "json" | "webmanifest" => "application/json",
        _ => "application/octet-stream",
    }
}
