//! Every test asks for files in a real folder.

mod memory;
mod negotiation;
mod parts;
mod paths;
mod properties;
mod rules;
mod wire;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http_body_util::BodyExt;
use hyper::{HeaderMap, Request, Response};
use tempfile::TempDir;

use super::{FileCache, Files};
use crate::body::Body;
use crate::routes::FilesSpec;

struct Site {
    folder: TempDir,
    cache: Arc<FileCache>,
    files: Arc<Files>,
}

struct FileAnswer {
    status: u16,
    head: HeaderMap,
    body: Vec<u8>,
}

impl Site {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut FilesSpec)) -> Self {
        Self::with_cache(FileCache::new(FileCache::DEFAULT_BYTES), change)
    }

    fn with_cache(cache: FileCache, change: impl FnOnce(&mut FilesSpec)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut spec = FilesSpec {
            folder: folder.path().to_owned(),
            clean_urls: true,
            single_page: false,
            not_found: "404.html".into(),
        };
        change(&mut spec);
        let cache = Arc::new(cache);
        Self { folder, files: Arc::new(Files::new(spec, cache.clone())), cache }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn set_modified(&self, name: &str, seconds: u64) {
        let file = fs::File::options().write(true).open(self.path(name)).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
    }

    async fn respond(&self, method: &str, uri: &str, headers: &[(&str, &str)]) -> Option<Response<Body>> {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let answer = self.files.answer(&parts);
        tokio::time::timeout(Duration::from_secs(20), answer).await.expect("an answer in time")
    }

    async fn try_ask(&self, method: &str, uri: &str, headers: &[(&str, &str)]) -> Option<FileAnswer> {
        let (parts, body) = self.respond(method, uri, headers).await?.into_parts();
        let body = body.collect().await.unwrap().to_bytes().to_vec();
        Some(FileAnswer { status: parts.status.as_u16(), head: parts.headers, body })
    }

    async fn ask(&self, method: &str, uri: &str, headers: &[(&str, &str)]) -> FileAnswer {
        self.try_ask(method, uri, headers).await.unwrap_or_else(|| panic!("nothing at {uri}"))
    }

    async fn get(&self, uri: &str) -> FileAnswer {
        self.ask("GET", uri, &[]).await
    }

    async fn get_with(&self, uri: &str, name: &str, value: &str) -> FileAnswer {
        self.ask("GET", uri, &[(name, value)]).await
    }

    async fn assert_nothing_at(&self, uri: &str) {
        let answer = self.try_ask("GET", uri, &[]).await;
        let status = answer.map(|answer| (answer.status, String::from_utf8_lossy(&answer.body).into_owned()));
        assert_eq!(status, None, "{uri}");
    }
}

impl FileAnswer {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.get(name).map(|value| value.to_str().unwrap())
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    #[track_caller]
    fn assert_leads_to(&self, location: &str) {
        assert_eq!((self.status, self.header("location")), (308, Some(location)));
        assert_eq!(self.header("cache-control"), Some("no-cache"));
    }
}

/// A text that gzip makes smaller.
fn text_of(length: usize) -> String {
    "the quick brown fox jumps over the lazy dog\n".chars().cycle().take(length).collect()
}

/// Bytes of which every part is different.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..length).map(|_| next()).collect()
}

#[expect(clippy::disallowed_methods, reason = "compared with the times of files")]
fn now() -> SystemTime {
    SystemTime::now()
}
