//! What a file is, by the end of its name.

use super::path::split_extension;
use crate::encoding::becomes_smaller;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileKind {
    pub content_type: &'static str,
    /// Whether it becomes smaller as a rule.
    pub compressible: bool,
}

pub fn kind(name: &[u8]) -> FileKind {
    let extension = split_extension(name).map(|(_, extension)| extension.to_ascii_lowercase()).unwrap_or_default();
    let content_type = text(&extension).or_else(|| binary(&extension)).unwrap_or("application/octet-stream");
    FileKind { content_type, compressible: becomes_smaller(content_type) }
}

/// What becomes smaller. Only types that have a charset parameter say one: JSON is always UTF-8, and XML says its own.
fn text(extension: &[u8]) -> Option<&'static str> {
    Some(match extension {
        b"html" | b"htm" => "text/html; charset=utf-8",
        b"css" => "text/css; charset=utf-8",
        b"js" | b"mjs" | b"cjs" => "text/javascript; charset=utf-8",
        b"txt" | b"text" | b"log" | b"conf" | b"ini" | b"toml" => "text/plain; charset=utf-8",
        b"md" | b"markdown" => "text/markdown; charset=utf-8",
        b"csv" => "text/csv; charset=utf-8",
        b"tsv" => "text/tab-separated-values; charset=utf-8",
        b"ics" => "text/calendar; charset=utf-8",
        b"vcf" => "text/vcard; charset=utf-8",
        b"vtt" => "text/vtt; charset=utf-8",
        b"yaml" | b"yml" => "application/yaml",
        b"json" | b"map" => "application/json",
        b"jsonld" => "application/ld+json",
        b"geojson" => "application/geo+json",
        b"webmanifest" => "application/manifest+json",
        b"xml" | b"xsl" | b"xslt" => "application/xml",
        b"xhtml" => "application/xhtml+xml",
        b"rss" => "application/rss+xml",
        b"atom" => "application/atom+xml",
        b"svg" => "image/svg+xml",
        b"wasm" => "application/wasm",
        b"rtf" => "application/rtf",
        b"ttf" => "font/ttf",
        b"otf" => "font/otf",
        b"eot" => "application/vnd.ms-fontobject",
        b"ico" => "image/x-icon",
        b"bmp" => "image/bmp",
        _ => return None,
    })
}

/// What is packed already.
fn binary(extension: &[u8]) -> Option<&'static str> {
    Some(match extension {
        b"png" => "image/png",
        b"apng" => "image/apng",
        b"jpg" | b"jpeg" => "image/jpeg",
        b"gif" => "image/gif",
        b"webp" => "image/webp",
        b"avif" => "image/avif",
        b"heic" => "image/heic",
        b"jxl" => "image/jxl",
        b"tif" | b"tiff" => "image/tiff",
        b"woff" => "font/woff",
        b"woff2" => "font/woff2",
        b"mp3" => "audio/mpeg",
        b"m4a" => "audio/mp4",
        b"aac" => "audio/aac",
        b"ogg" | b"oga" | b"opus" => "audio/ogg",
        b"flac" => "audio/flac",
        b"wav" => "audio/wav",
        b"weba" => "audio/webm",
        b"mp4" | b"m4v" => "video/mp4",
        b"webm" => "video/webm",
        b"ogv" => "video/ogg",
        b"mov" => "video/quicktime",
        b"m3u8" => "application/vnd.apple.mpegurl",
        b"ts" => "video/mp2t",
        b"pdf" => "application/pdf",
        b"epub" => "application/epub+zip",
        b"zip" => "application/zip",
        b"gz" | b"tgz" => "application/gzip",
        b"bz2" => "application/x-bzip2",
        b"xz" => "application/x-xz",
        b"zst" => "application/zstd",
        b"7z" => "application/x-7z-compressed",
        b"tar" => "application/x-tar",
        b"docx" => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        b"xlsx" => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        b"pptx" => "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        _ => return None,
    })
}
