//! From the path of a request to a path below the folder, and back.

use std::borrow::Cow;

/// Longer than any path that the system opens.
const LONGEST: usize = 4096;

/// The path with its escapes undone, once, and still with its first slash. None for what never names a file here: broken
/// escapes, NUL, an escaped slash, an empty segment inside, and hidden names, which `.` and `..` are as well.
pub fn decode(raw: &str) -> Option<Cow<'_, [u8]>> {
    let raw = raw.as_bytes();
    let decoded = if raw.contains(&b'%') { Cow::Owned(undo_escapes(raw)?) } else { Cow::Borrowed(raw) };
    (decoded.len() <= LONGEST && is_servable(&decoded)).then_some(decoded)
}

fn undo_escapes(raw: &[u8]) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((&byte, after)) = rest.split_first() {
        if byte != b'%' {
            decoded.push(byte);
            rest = after;
            continue;
        }
        let (digits, after) = after.split_first_chunk::<2>()?;
        let byte = hex_digit(digits[0])? << 4 | hex_digit(digits[1])?;
        if matches!(byte, b'/' | 0) {
            return None;
        }
        decoded.push(byte);
        rest = after;
    }
    Some(decoded)
}

fn hex_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

fn is_servable(path: &[u8]) -> bool {
    let Some(relative) = path.strip_prefix(b"/") else { return false };
    // What follows the last slash may be empty: that is the folder itself.
    let inner = relative.strip_suffix(b"/").unwrap_or(relative);
    relative.is_empty() || inner.split(|&byte| byte == b'/').all(is_servable_name)
}

fn is_servable_name(name: &[u8]) -> bool {
    match name.first() {
        None => false,
        Some(b'.') => name == b".well-known",
        Some(_) => true,
    }
}

/// A path for `Location`. It begins with one slash and has no empty segment, because `decode` lets none through; and a
/// backslash, which browsers take for a slash, is escaped. So it never leads to another host.
pub fn encode(decoded: &[u8]) -> String {
    use std::fmt::Write;
    let mut encoded = String::with_capacity(decoded.len());
    for &byte in decoded {
        if byte.is_ascii_alphanumeric() || b"/-._~!$&'()*+,;=:@".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// What follows the last slash.
pub fn name(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
}

/// A name's part before its last dot and the one after it, neither of them empty.
pub fn split_extension(name: &[u8]) -> Option<(&[u8], &[u8])> {
    let dot = name.iter().rposition(|&byte| byte == b'.')?;
    let (stem, extension) = (&name[..dot], &name[dot + 1..]);
    (!stem.is_empty() && !extension.is_empty()).then_some((stem, extension))
}

/// Whether a path looks like a script, a picture and the like: its last part ends in a dot and one to eight letters and
/// digits, not digits alone (`/v1.2` is a page).
pub fn looks_like_asset(path: &[u8]) -> bool {
    split_extension(name(path)).is_some_and(|(_, extension)| {
        extension.len() <= 8
            && extension.iter().all(u8::is_ascii_alphanumeric)
            && extension.iter().any(u8::is_ascii_alphabetic)
    })
}
