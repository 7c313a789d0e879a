//! Compressed answers: which one a request allows, what is worth it, and how one is made.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::HeaderMap;
use hyper::header;
use zstd::stream::raw::CParameter;

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

    /// The one that a request prefers of those that can be made while an answer comes.
    pub fn streamed(&self) -> Encoding {
        let mut best = Encoding::Identity;
        for encoding in StreamEncoder::ENCODINGS {
            if self.quality(encoding) > 0 && self.quality(encoding) >= self.quality(best) {
                best = encoding;
            }
        }
        best
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

/// Whether content of this type becomes smaller as a rule. Text does, and what is not packed already.
pub fn becomes_smaller(content_type: &str) -> bool {
    const OTHERS: [&str; 14] = [
        "application/graphql",
        "application/javascript",
        "application/json",
        "application/rtf",
        "application/vnd.ms-fontobject",
        "application/wasm",
        "application/x-javascript",
        "application/x-ndjson",
        "application/xml",
        "application/yaml",
        "font/otf",
        "font/ttf",
        "image/bmp",
        "image/x-icon",
    ];
    let name = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_text = name.starts_with("text/") || name.ends_with("+json") || name.ends_with("+xml");
    is_text || OTHERS.contains(&name.as_str())
}

/// Compresses what comes in parts.
pub enum StreamEncoder {
    Gzip(GzEncoder<Vec<u8>>),
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
}

impl StreamEncoder {
    /// Those that it can make, the best last.
    const ENCODINGS: [Encoding; 2] = [Encoding::Gzip, Encoding::Zstd];
    /// Little is gained beyond these, and time is lost.
    const GZIP_LEVEL: u32 = 5;
    const ZSTD_LEVEL: i32 = 3;
    /// How far back it looks, and in how large tables, as powers of two: with these, an encoder takes less than a
    /// megabyte.
    const ZSTD_SIZES: [CParameter; 3] = [CParameter::WindowLog(18), CParameter::HashLog(16), CParameter::ChainLog(15)];

    /// None for those that it cannot make.
    pub fn new(encoding: Encoding) -> Option<Self> {
        match encoding {
            Encoding::Gzip => Some(Self::Gzip(GzEncoder::new(Vec::new(), Compression::new(Self::GZIP_LEVEL)))),
            Encoding::Zstd => {
                let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), Self::ZSTD_LEVEL).ok()?;
                Self::ZSTD_SIZES.into_iter().try_for_each(|size| encoder.set_parameter(size)).ok()?;
                Some(Self::Zstd(encoder))
            }
            Encoding::Identity | Encoding::Brotli => None,
        }
    }

    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Gzip(encoder) => encoder.write_all(bytes),
            Self::Zstd(encoder) => encoder.write_all(bytes),
        }
    }

    /// Afterwards all that was written can be read from what was taken.
    pub fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Gzip(encoder) => encoder.flush(),
            Self::Zstd(encoder) => encoder.flush(),
        }
    }

    /// What is compressed so far and was not taken yet.
    pub fn packed(&mut self) -> &mut Vec<u8> {
        match self {
            Self::Gzip(encoder) => encoder.get_mut(),
            Self::Zstd(encoder) => encoder.get_mut(),
        }
    }

    /// The rest, with what says that it is the end.
    pub fn finish(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Gzip(encoder) => encoder.finish(),
            Self::Zstd(encoder) => encoder.finish(),
        }
    }
}

/// None when it does not become smaller.
pub fn gzip(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 2), Compression::default());
    encoder.write_all(bytes).ok()?;
    let mut packed = encoder.finish().ok()?;
    packed.shrink_to_fit();
    (packed.len() < bytes.len()).then_some(packed)
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn text_becomes_smaller_and_pictures_do_not() {
        for text in
            ["text/html", "Text/Event-Stream; charset=utf-8", "application/json ;x", "image/svg+xml", "a/b+JSON"]
        {
            assert!(becomes_smaller(text), "{text}");
        }
        for packed in ["image/png", "application/octet-stream", "video/mp4", "", "application/zip", "xtext/html"] {
            assert!(!becomes_smaller(packed), "{packed}");
        }
    }

    #[test]
    fn the_request_chooses_how_a_stream_is_compressed() {
        for (accepted, chosen) in [
            ("gzip, deflate, br, zstd", Encoding::Zstd),
            ("gzip, deflate, br", Encoding::Gzip),
            ("gzip, zstd;q=0.5", Encoding::Gzip),
            ("br", Encoding::Identity),
            ("*", Encoding::Zstd),
            ("gzip;q=0, *", Encoding::Zstd),
            ("zstd;q=0, *", Encoding::Gzip),
            ("gzip;q=0.5, identity", Encoding::Identity),
            ("", Encoding::Identity),
            ("identity;q=0", Encoding::Identity),
        ] {
            let headers = HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static(accepted))]);
            assert_eq!(AcceptedEncodings::from(&headers).streamed(), chosen, "{accepted}");
        }
        assert_eq!(AcceptedEncodings::from(&HeaderMap::new()).streamed(), Encoding::Identity);
    }
}
