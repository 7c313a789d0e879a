//! Answers in fewer bytes, for clients that can read them.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, header};
use tower_http::compression::predicate::{And, NotForContentType, SizeAbove};
use tower_http::compression::{CompressionLayer, CompressionLevel, Predicate as _};

/// What is shorter fits into one packet anyway.
const LEAST_BYTES: u64 = 1025;

type Worth = And<And<And<SizeAbove, NotForContentType>, NotForContentType>, NotForContentType>;

/// Packs what comes, piece by piece. Event streams and what git is told stay as they are, because each line is to arrive at once.
/// Snapshots too: they are long, and their length is told.
pub fn layer() -> CompressionLayer<Worth> {
    let worth_it = SizeAbove::new(LEAST_BYTES)
        .and(NotForContentType::SSE)
        .and(NotForContentType::const_new("application/x-git"))
        .and(NotForContentType::const_new("application/octet-stream"));
    CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(worth_it)
}

/// Leaves only `gzip` of what the client accepts, or nothing. The layer would answer 406 to a client that refuses everything the layer
/// knows, after the request was carried out; such a client gets the answer as it is.
pub async fn negotiate(mut request: Request) -> Request {
    let takes_gzip = takes_gzip(request.headers());
    let headers = request.headers_mut();
    headers.remove(header::ACCEPT_ENCODING);
    if takes_gzip {
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
    }
    request
}

fn takes_gzip(headers: &HeaderMap) -> bool {
    let (mut gzip, mut rest) = (None, None);
    let values = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    for item in values.flat_map(|value| value.split(',')) {
        let mut parts = item.split(';').map(str::trim);
        let encoding = parts.next().unwrap_or_default().to_ascii_lowercase();
        let is_wanted = parts.all(|parameter| !is_refusal(parameter));
        match encoding.as_str() {
            "gzip" | "x-gzip" => gzip = Some(is_wanted),
            "*" => rest = Some(is_wanted),
            _ => {}
        }
    }
    gzip.or(rest).unwrap_or(false)
}

/// `q=0`, also as `q=0.000`.
fn is_refusal(parameter: &str) -> bool {
    let quality = parameter.split_once('=').filter(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
    quality.is_some_and(|(_, quality)| quality.trim().parse::<f32>().is_ok_and(|quality| quality <= 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clients_accept() {
        let takes = |values: &[&'static str]| {
            let pairs = values.iter().map(|value| (header::ACCEPT_ENCODING, HeaderValue::from_static(value)));
            takes_gzip(&pairs.collect())
        };
        for values in
            [&["gzip"][..], &["br, GZip;q=0.1"], &["br", "x-gzip"], &["*"], &["gzip, *;q=0"], &["gzip;q=oops"]]
        {
            assert!(takes(values), "{values:?}");
        }
        for values in [&[][..], &[""], &["br"], &["gzip;q=0"], &["gzip; Q=0.000"], &["gzip;q=0, *"], &["*;q=0"]] {
            assert!(!takes(values), "{values:?}");
        }
    }
}
