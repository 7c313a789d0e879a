//! The protocol of Git LFS: asking a server where the contents of many objects are, and fetching them from there.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;
use windlass_outgoing::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, LOCATION};
use windlass_outgoing::{Bytes, Call, CallError, HeaderMap, Limits, Method, StatusCode, Url};

use super::server::{Server, header_map};
use super::{Lfs, Object};
use crate::deploy::git::error::FetchError;

const MEDIA_TYPE: HeaderValue = HeaderValue::from_static("application/vnd.git-lfs+json");
/// For the answer about one batch, whose addresses can be long.
const LONGEST_ANSWER: usize = 4 << 20;
const MOST_REDIRECTS: usize = 3;
/// Pieces of an object on their way to the disk.
const PIECES: usize = 8;

#[derive(Serialize)]
struct Question<'a> {
    operation: &'a str,
    transfers: [&'a str; 1],
    hash_algo: &'a str,
    objects: Vec<Asked<'a>>,
}

#[derive(Serialize)]
struct Asked<'a> {
    oid: &'a str,
    size: u64,
}

#[derive(Deserialize)]
struct Reply {
    transfer: Option<String>,
    objects: Vec<Found>,
}

#[derive(Deserialize)]
struct Found {
    oid: String,
    authenticated: Option<bool>,
    actions: Option<Actions>,
    error: Option<Said>,
}

#[derive(Deserialize)]
struct Actions {
    download: Option<Action>,
}

#[derive(Deserialize)]
struct Action {
    href: String,
    header: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
struct Said {
    message: Option<String>,
}

/// Where the contents of one object are.
pub struct Download {
    url: Url,
    headers: HeaderMap,
}

/// For each of the objects, in their order.
pub async fn ask(lfs: &Lfs<'_>, server: &Server, objects: &[Object]) -> Result<Vec<Download>, FetchError> {
    let asked = objects.iter().map(|object| Asked { oid: &object.oid, size: object.size }).collect();
    let question = Question { operation: "download", transfers: ["basic"], hash_algo: "sha256", objects: asked };
    let mut headers = server.headers.clone();
    headers.insert(ACCEPT, MEDIA_TYPE);
    headers.insert(CONTENT_TYPE, MEDIA_TYPE);
    let url = Url::parse(&format!("{}/objects/batch", server.url.as_str().trim_end_matches('/')));
    let (Ok(url), Ok(body)) = (url, serde_json::to_vec(&question)) else {
        return Err(lfs.unreachable("it has no address that can be asked"));
    };
    let limits = Limits { time: lfs.time_left(), answer_bytes: LONGEST_ANSWER };
    let call = Call { method: Method::POST, url, headers, body: body.into(), limits };
    let answer = lfs.send(call, server.is_own).await.map_err(|error| lfs.call_failed(&error))?;
    if answer.status != StatusCode::OK {
        let said = serde_json::from_slice::<Said>(&answer.body).ok().and_then(|said| said.message).unwrap_or_default();
        return Err(lfs.unreachable(&format!("it answers with status {} {said}", answer.status.as_u16())));
    }
    let reply: Reply =
        serde_json::from_slice(&answer.body).map_err(|_| lfs.unreachable("its answer is not one of Git LFS"))?;
    if reply.transfer.is_some_and(|transfer| transfer != "basic") {
        return Err(lfs.unreachable("it only gives them in a way that is not supported"));
    }
    let mut found: HashMap<String, Found> = reply.objects.into_iter().map(|found| (found.oid.clone(), found)).collect();
    objects.iter().map(|object| download(lfs, server, object, found.remove(&object.oid))).collect()
}

fn download(lfs: &Lfs<'_>, server: &Server, object: &Object, found: Option<Found>) -> Result<Download, FetchError> {
    let said = found.as_ref().and_then(|found| found.error.as_ref()).and_then(|said| said.message.clone());
    let is_authenticated = found.as_ref().is_some_and(|found| found.authenticated == Some(true));
    let action = found.filter(|found| found.error.is_none()).and_then(|found| found.actions?.download);
    let Some(Action { href, header }) = action else {
        let said = said.map(|said| format!(": {said}")).unwrap_or_default();
        return Err(lfs.missing(&format!("the server does not have the object {}{said}", object.oid)));
    };
    let (Ok(url), Some(mut headers)) = (server.url.join(&href), header_map(header.unwrap_or_default())) else {
        return Err(lfs.unreachable("its answer has an address that cannot be called"));
    };
    if server.is_at(lfs, &url)? && !is_authenticated && !headers.contains_key(AUTHORIZATION) {
        headers.extend(server.headers.clone());
    }
    Ok(Download { url, headers })
}

/// The contents of an object, as a file of this path.
pub async fn fetch(
    lfs: &Lfs<'_>,
    server: &Server,
    object: &Object,
    mut from: Download,
    to: &Path,
) -> Result<(), FetchError> {
    for _ in 0..=MOST_REDIRECTS {
        let is_at_server = server.is_at(lfs, &from.url)?;
        let is_own = server.is_own && is_at_server;
        let answer_bytes = usize::try_from(object.size).unwrap_or(usize::MAX);
        let limits = Limits { time: lfs.time_left(), answer_bytes };
        let (url, headers) = (from.url.clone(), from.headers.clone());
        let call = Call { method: Method::GET, url, headers, body: Bytes::new(), limits };
        let (pieces, taken) = mpsc::channel(PIECES);
        let path = to.to_owned();
        let writing = tokio::task::spawn_blocking(move || write_pieces(&path, taken));
        let answer = lfs.download(call, is_own, &pieces).await;
        drop(pieces);
        let written = writing.await.map_err(io::Error::from)??;
        let answer = match answer {
            Err(CallError::TooLarge { .. }) => return Err(lfs.differs(object)),
            answer => answer.map_err(|error| lfs.call_failed(&error))?,
        };
        let to = answer.headers.get(LOCATION).filter(|_| answer.status.is_redirection());
        match to.and_then(|to| from.url.join(to.to_str().ok()?).ok()) {
            Some(to) => from = redirected(from, to),
            None if answer.status == StatusCode::OK => return lfs.check(object, &written),
            None if answer.status == StatusCode::NOT_FOUND || answer.status == StatusCode::GONE => {
                return Err(lfs.missing(&format!("the server does not have the object {}", object.oid)));
            }
            None => return Err(lfs.unreachable(&format!("it answers with status {}", answer.status.as_u16()))),
        }
    }
    Err(lfs.unreachable("it sends from one address to the next"))
}

/// What opens one host is not for another.
fn redirected(from: Download, to: Url) -> Download {
    let headers = if from.url.origin() == to.origin() { from.headers } else { HeaderMap::new() };
    Download { url: to, headers }
}

/// What was written.
pub struct Written {
    pub bytes: u64,
    /// SHA-256, in lower-case digits.
    pub hash: String,
}

/// A file that is written, and what it is made of.
pub struct Writer {
    file: File,
    hash: Sha256,
    bytes: u64,
}

impl Writer {
    pub fn create(path: &Path) -> io::Result<Self> {
        Ok(Self { file: File::create(path)?, hash: Sha256::new(), bytes: 0 })
    }

    pub fn add(&mut self, piece: &[u8]) -> io::Result<()> {
        self.hash.update(piece);
        self.bytes += piece.len() as u64;
        self.file.write_all(piece)
    }

    pub fn finish(self) -> Written {
        let hash = self.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Written { bytes: self.bytes, hash }
    }
}

fn write_pieces(path: &Path, mut taken: mpsc::Receiver<Bytes>) -> io::Result<Written> {
    let mut writer = Writer::create(path)?;
    while let Some(piece) = taken.blocking_recv() {
        writer.add(&piece)?;
    }
    Ok(writer.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deploy::git::lfs::tests::with_lfs;

    fn with_token(url: &str) -> Download {
        let headers = HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_static("sesame"))]);
        Download { url: url.parse().unwrap(), headers }
    }

    #[test]
    fn a_redirect_to_another_origin_loses_what_opens_the_first() {
        for (to, keeps) in [
            ("https://a.example/2", true),
            ("https://b.example/2", false),
            ("https://a.example:8443/2", false),
            ("http://a.example/2", false),
        ] {
            let to = redirected(with_token("https://a.example/1"), to.parse().unwrap());
            assert_eq!(to.headers.contains_key(AUTHORIZATION), keeps, "{}", to.url);
        }
    }

    #[tokio::test]
    async fn an_object_elsewhere_is_fetched_without_the_credentials_of_the_server() {
        with_lfs("http://127.0.0.1:1/app.git", true, async |lfs| {
            let Download { url, headers } = with_token("http://127.0.0.1:1/app.git/info/lfs");
            let server = Server { url, headers, is_own: true };
            let object = Object { oid: "a".repeat(64), size: 1, places: Vec::new() };
            let told = |href: &str, authenticated| {
                let action = Action { href: href.to_owned(), header: None };
                let actions = Some(Actions { download: Some(action) });
                download(
                    lfs,
                    &server,
                    &object,
                    Some(Found { oid: object.oid.clone(), authenticated, actions, error: None }),
                )
            };
            for (href, authenticated, has_token) in [
                ("http://127.0.0.1:1/objects/a", None, true),
                ("/objects/a", Some(false), true),
                ("/objects/a", Some(true), false),
                ("https://127.0.0.1:1/objects/a", None, false),
                ("https://store.example.org/a", None, false),
            ] {
                let found = told(href, authenticated).unwrap();
                assert_eq!(found.headers.contains_key(AUTHORIZATION), has_token, "{href}");
            }
            assert!(told("http://127.0.0.1:2/a", None).is_err() && told("file:///etc/passwd", None).is_err());
        })
        .await;
    }
}
