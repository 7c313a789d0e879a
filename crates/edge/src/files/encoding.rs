//! Compressed answers: which one a request allows, and how one is made.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::HeaderMap;
use hyper::header;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Identity,
    Brotli,
    Zstd,
    Gzip,
}

impl Encoding {
    /// The compressed ones, those that pack best first.
    pub const COMPRESSED: [Self; 3] = [Self::Brotli, Self::Zstd, Self::Gzip];

    /// Its name in `Content-Encoding`.
    pub fn token(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
        }
    }

    /// What a file's name has after it when the file is compressed.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Identity => "",
            Self::Brotli => ".br",
            Self::Zstd => ".zst",
            Self::Gzip => ".gz",
        }
    }

    /// By its length first: this is asked for each part of every request's `Accept-Encoding`.
    fn from_token(token: &[u8]) -> Option<Self> {
        let (name, encoding): (&[u8], _) = match token.len() {
            2 => (b"br", Self::Brotli),
            4 if matches!(token[0], b'z' | b'Z') => (b"zstd", Self::Zstd),
            4 => (b"gzip", Self::Gzip),
            6 => (b"x-gzip", Self::Gzip),
            8 => (b"identity", Self::Identity),
            _ => return None,
        };
        token.eq_ignore_ascii_case(name).then_some(encoding)
    }
}

/// How much a request prefers each encoding, from 0 (not at all) to 1000.
pub struct AcceptedEncodings([u16; 4]);

/// Identity is always allowed unless it is refused, but a request that names others prefers those.
const UNNAMED_IDENTITY: u16 = 1;

impl AcceptedEncodings {
    /// A request that says nothing gets the file as it is.
    pub fn from(headers: &HeaderMap) -> Self {
        let mut named = [None; 4];
        let mut rest = None;
        for value in headers.get_all(header::ACCEPT_ENCODING) {
            for item in value.as_bytes().split(|&byte| byte == b',') {
                let (token, quality) = quality(item);
                if token == b"*" {
                    rest = Some(quality);
                } else if let Some(encoding) = Encoding::from_token(token) {
                    named[encoding as usize] = Some(quality);
                }
            }
        }
        let mut accepted = named.map(|named| named.or(rest).unwrap_or(0));
        if named[Encoding::Identity as usize].is_none() && rest != Some(0) {
            accepted[Encoding::Identity as usize] = UNNAMED_IDENTITY;
        }
        Self(accepted)
    }

    pub fn quality(&self, encoding: Encoding) -> u16 {
        self.0[encoding as usize]
    }
}

/// `gzip;q=0.5` is (`gzip`, 500).
fn quality(item: &[u8]) -> (&[u8], u16) {
    let mut parts = item.split(|&byte| byte == b';').map(<[u8]>::trim_ascii);
    let token = parts.next().unwrap_or_default();
    let written = parts.find_map(|part| part.strip_prefix(b"q=").or_else(|| part.strip_prefix(b"Q=")));
    (token, written.map_or(1000, thousandths))
}

/// What is not a quality refuses the encoding.
fn thousandths(text: &[u8]) -> u16 {
    let number = std::str::from_utf8(text).ok().and_then(|text| text.parse::<f32>().ok());
    number.filter(|number| (0.0..=1.0).contains(number)).map_or(0, |number| (number * 1000.0).round() as u16)
}

/// None when it does not become smaller.
pub fn gzip(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 2), Compression::default());
    encoder.write_all(bytes).ok()?;
    let mut packed = encoder.finish().ok()?;
    packed.shrink_to_fit();
    (packed.len() < bytes.len()).then_some(packed)
}
