//! Lines as people and programs can safely read them.

use std::borrow::Cow;
use std::fmt::Write as _;

use windlass_store::logs::colors;

const ESCAPE: char = '\u{1b}';

/// Without terminal control sequences, such as colours, and with every other control character as a picture of it:
/// nothing that a program prints can affect the terminal of its reader, and no text is lost.
pub fn clean(text: &str) -> Cow<'_, str> {
    clean_but(text, |_| 0)
}

/// The same, with colours.
pub fn clean_but_colors(text: &str) -> Cow<'_, str> {
    clean_but(text, colors::length)
}

/// What is kept at a place has this length; 0 for nothing.
fn clean_but(text: &str, kept: impl Fn(&str) -> usize) -> Cow<'_, str> {
    // Most lines are plain, and there are many of them.
    let is_plain = |byte: u8| byte == b'\t' || (b' '..0x7F).contains(&byte);
    if text.bytes().all(is_plain) || !text.contains(|c| picture(c) != c) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    // Once a title was found to have no end, those behind it have none either: a line is read once, not once for each of them.
    let mut have_ends = true;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            ESCAPE if is_title(rest) => {
                let length = if have_ends { title(rest) } else { 0 };
                have_ends = length > 0;
                length
            }
            ESCAPE => sequence(rest),
            _ => 0,
        };
        if length > 0 {
            out.push_str(&rest[..kept(rest)]);
            rest = &rest[length..];
            continue;
        }
        out.push(picture(c));
        rest = &rest[c.len_utf8()..];
    }
    Cow::Owned(out)
}

/// Titles and links: `ESC ] text BEL`, or `ESC \` instead of `BEL`; the same with other letters than `]`.
fn is_title(text: &str) -> bool {
    matches!(text.as_bytes().get(1), Some(b']' | b'P' | b'X' | b'^' | b'_'))
}

/// How long the title that begins here is; 0 if it does not end.
fn title(text: &str) -> usize {
    let mut places = text.char_indices().skip(1).peekable();
    while let Some((place, c)) = places.next() {
        match c {
            '\u{7}' | '\u{9c}' => return place + c.len_utf8(),
            ESCAPE if places.peek().is_some_and(|(_, next)| *next == '\\') => return place + 2,
            _ => {}
        }
    }
    0
}

/// How long another sequence that begins here is, such as colours and movements (`ESC [ parameters letter`); 0 if it is none.
fn sequence(text: &str) -> usize {
    let bytes = text.as_bytes();
    match bytes.get(1) {
        Some(b'[') => {
            let end = bytes.iter().skip(2).position(|byte| !(0x20..0x40).contains(byte));
            end.filter(|end| (0x40..0x7F).contains(&bytes[end + 2])).map_or(0, |end| end + 3)
        }
        Some(b'(' | b')') => bytes.get(2).filter(|byte| byte.is_ascii_alphanumeric()).map_or(0, |_| 3),
        Some(b'7' | b'8' | b'=' | b'>' | b'M' | b'c') => 2,
        _ => 0,
    }
}

/// The second set of control characters, and those that turn the direction of text around.
fn is_steering(c: char) -> bool {
    matches!(c, '\u{80}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn picture(c: char) -> char {
    match c {
        '\t' => c,
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)).unwrap_or(char::REPLACEMENT_CHARACTER),
        '\u{7f}' => '\u{2421}',
        c if is_steering(c) => char::REPLACEMENT_CHARACTER,
        c => c,
    }
}

/// The beginning of a line that is too long, and how much is missing.
pub fn cut(mut text: String, longest: usize, already_cut: u64) -> String {
    let end = text.floor_char_boundary(longest);
    let missing = already_cut + (text.len() - end) as u64;
    if missing > 0 {
        text.truncate(end);
        let _ = write!(text, " … [{missing} bytes cut]");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_and_titles_go_and_the_text_stays() {
        assert_eq!(clean("\u{1b}[1;31merror\u{1b}[0m: no"), "error: no");
        assert_eq!(clean("\u{1b}]0;title\u{7}text \u{1b}]8;;http://x\u{1b}\\link"), "text link");
        assert_eq!(clean("\u{1b}P1$tx\u{1b}\\rest"), "rest");
        assert_eq!(clean("\u{1b}(Bplain\u{1b}[2K"), "plain");
    }

    #[test]
    fn colours_can_be_kept_and_nothing_else() {
        let printed = "\u{1b}[2K\u{1b}[1;31merror\u{1b}[0m\u{1b}[8;1Hx\u{1b}]0;t\u{7}\u{1b}[?25m\u{8}";
        assert_eq!(clean_but_colors(printed), "\u{1b}[1;31merror\u{1b}[0mx␈");
        assert_eq!(colors::plain(&clean_but_colors(printed)), clean(printed));
    }

    /// Each of these would be looked through to its end: hours.
    #[test]
    fn titles_that_never_end_are_read_once() {
        const MANY: usize = 1_000_000;
        assert_eq!(clean(&"\u{1b}]".repeat(MANY)).chars().count(), 2 * MANY);
        assert_eq!(clean(&"\u{1b}]0;t\u{1b}\\".repeat(MANY)), "");
        assert_eq!(clean("\u{1b}]0;\u{1b}[1mend"), "␛]0;end");
    }

    #[test]
    fn other_control_characters_are_shown() {
        assert_eq!(clean("a\0b\u{8}c\u{7f}\td"), "a␀b␈c␡\td");
        assert_eq!(clean("\u{1b}oops \u{1b}[12"), "␛oops ␛[12");
        assert_eq!(clean("x\u{202e}y\u{85}"), "x\u{fffd}y\u{fffd}");
        assert_eq!(clean("ünï — 漢字 🙂"), "ünï — 漢字 🙂");
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        assert_eq!(cut("äöü".into(), 3, 0), "ä … [4 bytes cut]");
        assert_eq!(cut("short".into(), 5, 0), "short");
        assert_eq!(cut("short".into(), 5, 95), "short … [95 bytes cut]");
    }
}
