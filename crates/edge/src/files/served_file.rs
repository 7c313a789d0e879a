//! A file as it is answered: each of its encodings with the head that goes with it, made once and copied for each
//! request.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use hyper::HeaderMap;
use hyper::header::{self, HeaderValue};

use super::fingerprint::is_fingerprinted;
use super::folder::{Opened, Stamp};
use super::types::FileKind;
use crate::encoding::{AcceptedEncodings, Encoding};

/// What a variant takes in memory beside its bytes: the head, mostly.
const OVERHEAD: usize = 2048;

pub struct ServedFile {
    pub identity: Variant,
    /// The best first.
    pub compressed: Vec<Variant>,
    /// In seconds since 1970, as in `Last-Modified`.
    pub modified: u64,
    pub stamps: FileStamps,
    /// When the disk was last looked at, as the cache counts time.
    pub checked: AtomicU64,
}

/// What a file was made from: it is the same as long as this is the same.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FileStamps {
    pub original: Stamp,
    pub siblings: [Option<Stamp>; Encoding::COMPRESSED.len()],
    /// False right after a change: one more could follow within the same tick of the file system's clock, and not show.
    pub settled: bool,
}

pub struct Variant {
    pub encoding: Encoding,
    pub etag: HeaderValue,
    /// The head of a complete answer.
    pub head: HeaderMap,
    pub content: Content,
    pub length: u64,
}

pub enum Content {
    Held(Bytes),
    OnDisk(Arc<OwnedFd>),
}

impl ServedFile {
    /// The variant that a request prefers; the file as it is when it accepts none, which is of more use than no answer.
    pub fn choose(&self, headers: &HeaderMap) -> &Variant {
        if self.compressed.is_empty() {
            return &self.identity;
        }
        let accepted = AcceptedEncodings::from(headers);
        let mut best = (&self.identity, accepted.quality(Encoding::Identity));
        for variant in self.compressed.iter().rev() {
            let quality = accepted.quality(variant.encoding);
            if quality > 0 && quality >= best.1 {
                best = (variant, quality);
            }
        }
        best.0
    }

    /// The bytes it takes in memory. None for a file that is read from disk for each answer.
    pub fn weight(&self) -> Option<usize> {
        let variants = self.compressed.iter().chain([&self.identity]);
        variants.map(Variant::weight).sum()
    }
}

impl Variant {
    fn weight(&self) -> Option<usize> {
        match &self.content {
            Content::Held(bytes) => Some(bytes.len() + OVERHEAD),
            Content::OnDisk(_) => None,
        }
    }
}

/// The body of a variant before its head is made.
pub struct VariantBody {
    pub encoding: Encoding,
    pub content: Content,
    length: u64,
    hash: u64,
}

impl VariantBody {
    /// Its tag is made from the content: a deployment that changes nothing lets visitors keep what they have.
    pub fn held(encoding: Encoding, bytes: Vec<u8>) -> Self {
        Self { encoding, length: bytes.len() as u64, hash: hash(&bytes), content: Content::Held(bytes.into()) }
    }

    pub fn on_disk(encoding: Encoding, file: Opened) -> Self {
        let (length, hash) = (file.stamp.size, hash(&file.stamp));
        Self { encoding, length, hash, content: Content::OnDisk(Arc::new(file.fd)) }
    }
}

/// The same for the same content as long as the program is the same, which is all that a tag promises.
fn hash(what: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

/// What all variants of a file have in common.
pub struct Common<'a> {
    pub name: &'a [u8],
    pub kind: FileKind,
    /// In seconds since 1970, and not in the future.
    pub modified: u64,
    pub varies: bool,
}

impl Common<'_> {
    pub fn variant(&self, part: VariantBody) -> Variant {
        let VariantBody { encoding, content, length, hash } = part;
        let etag = match encoding {
            Encoding::Identity => value(format!("\"{length:x}-{hash:016x}\"")),
            _ => value(format!("\"{length:x}-{hash:016x}-{}\"", encoding.token())),
        };
        let mut head = self.head();
        head.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        head.insert(header::ETAG, etag.clone());
        if encoding == Encoding::Identity {
            head.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        } else {
            head.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding.token()));
        }
        Variant { encoding, etag, head, content, length }
    }

    fn head(&self) -> HeaderMap {
        let last_modified = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(self.modified));
        let keep = if is_fingerprinted(self.name) { "public, max-age=31536000, immutable" } else { "no-cache" };
        let mut head = HeaderMap::with_capacity(10);
        head.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.kind.content_type));
        head.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        head.insert(header::CACHE_CONTROL, HeaderValue::from_static(keep));
        head.insert(header::LAST_MODIFIED, value(last_modified));
        if self.varies {
            head.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
        }
        head
    }
}

/// For texts that are made of visible ASCII characters, which every header can have.
fn value(text: String) -> HeaderValue {
    HeaderValue::try_from(text).unwrap_or_else(|_| HeaderValue::from_static(""))
}
