//! From the path of a request to a path below the folder, and back.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

/// Longer than any path that the system opens.
const LONGEST: usize = 4096;

/// What is escaped in `Location`: all but letters, digits, and what RFC 3986 allows in a path.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b':')
    .remove(b'@');

/// The path with its escapes undone, once, and still with its first slash. None for what never names a file here:
/// broken escapes, NUL, an escaped slash, an empty segment inside, and hidden names, which `.` and `..` are as well.
pub fn decode(raw: &str) -> Option<Cow<'_, [u8]>> {
    let decoded: Cow<'_, [u8]> = percent_decode_str(raw).into();
    let mut escapes = raw.as_bytes().split(|&byte| byte == b'%').skip(1);
    (escapes.all(begins_with_escape) && decoded.len() <= LONGEST && is_servable(&decoded)).then_some(decoded)
}

/// What follows a `%`: two digits that mean neither a slash nor NUL.
fn begins_with_escape(text: &[u8]) -> bool {
    text.first_chunk::<2>().is_some_and(|digits| {
        digits.iter().all(u8::is_ascii_hexdigit) && !digits.eq_ignore_ascii_case(b"2f") && digits != b"00"
    })
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
    percent_encode(decoded, ESCAPED).to_string()
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
