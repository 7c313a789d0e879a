//! Names that change with their content, such as `app.3f9a1c2b.js`. A browser may keep those for good.

use super::path::split_extension;

const SHORTEST: usize = 8;

/// Whether the part between the last `.` or `-` and the extension is a fingerprint. A wrong yes would leave visitors
/// with an old file for a year, and a wrong no only costs a request, so what could be a word, a version or a date is
/// none. Pages are never asked for by a name of this kind.
pub fn is_fingerprinted(name: &[u8]) -> bool {
    let Some((stem, extension)) = split_extension(name) else { return false };
    if extension.eq_ignore_ascii_case(b"html") || extension.eq_ignore_ascii_case(b"htm") {
        return false;
    }
    let Some(mark) = stem.iter().rposition(|byte| matches!(byte, b'.' | b'-')) else { return false };
    let part = &stem[mark + 1..];
    let allowed = part.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    mark > 0 && part.len() >= SHORTEST && allowed && (is_hex(part) || is_mixed(part))
}

/// Digits and letters from a to f. Eight digits at its beginning are a date.
fn is_hex(part: &[u8]) -> bool {
    let hex = part.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    hex && part.iter().any(u8::is_ascii_digit) && part[..SHORTEST].iter().any(u8::is_ascii_alphabetic)
}

/// Base64 and base32: capitals, and a digit that is not just the number at the end of a word (`December2024`). More
/// digits than letters are a date and a time (`20240115T120000Z`).
fn is_mixed(part: &[u8]) -> bool {
    let digits = part.iter().filter(|byte| byte.is_ascii_digit()).count();
    let letters = part.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    let number_at_end = part.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    part.iter().any(u8::is_ascii_uppercase) && digits > number_at_end && letters >= digits
}
