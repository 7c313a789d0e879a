//! Colours in lines: sequences `ESC [ numbers m`. Lines hold no other sequences of terminals.

use std::borrow::Cow;

const ESCAPE: u8 = 0x1b;

/// How long the colour is with which the text begins; 0 if it begins with none.
pub fn length(text: &str) -> usize {
    let bytes = text.as_bytes();
    if !bytes.starts_with(&[ESCAPE, b'[']) {
        return 0;
    }
    let end = bytes.iter().skip(2).position(|byte| !matches!(byte, b'0'..=b'9' | b';' | b':'));
    end.filter(|end| bytes[end + 2] == b'm').map_or(0, |end| end + 3)
}

/// Without colours.
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.as_bytes().contains(&ESCAPE) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(char::from(ESCAPE)) {
        out.push_str(&rest[..at]);
        let end = at + length(&rest[at..]).max(1);
        rest = &rest[end..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_taken_out() {
        assert_eq!(plain("\u{1b}[1;38:5:9merror\u{1b}[0m: no\u{1b}[m"), "error: no");
        assert!(matches!(plain("no colours [31m"), Cow::Borrowed("no colours [31m")));
        // What should not be there does no harm.
        assert_eq!(plain("a\u{1b}[2Kb\u{1b}"), "a[2Kb");
        assert_eq!(plain("\u{1b}[31"), "[31");
    }
}
