//! The text of one line as it grows.

use memchr::memrchr;

/// What a carriage return overwrites on a terminal is left out, so that of a progress bar only its last state remains;
/// of what is longer than the limit then, the beginning.
pub(super) struct Text {
    longest: usize,
    /// One byte more than the limit, which tells whether the limit is within a character.
    kept: Vec<u8>,
    cut: u64,
    returned: bool,
}

impl Text {
    pub(super) fn new(longest: usize) -> Self {
        Self { longest, kept: Vec::new(), cut: 0, returned: false }
    }

    /// A piece without its line end.
    pub(super) fn add(&mut self, piece: &[u8]) {
        let visible = without_returns(piece);
        if !visible.is_empty() {
            let state = memrchr(b'\r', visible).map_or(visible, |returned| &visible[returned + 1..]);
            if self.returned || state.len() < visible.len() {
                self.kept.clear();
                self.cut = 0;
            }
            self.returned = false;
            self.keep(state);
        }
        self.returned |= visible.len() < piece.len();
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = (self.longest + 1 - self.kept.len()).min(bytes.len());
        self.kept.extend_from_slice(&bytes[..room]);
        self.cut += (bytes.len() - room) as u64;
    }

    /// What remains, and how many bytes were left out. The next line begins.
    pub(super) fn take(&mut self) -> (Vec<u8>, u64) {
        let mut text = std::mem::take(&mut self.kept);
        let mut cut = std::mem::take(&mut self.cut);
        self.returned = false;
        if text.len() > self.longest {
            let end = end_of_characters(&text, self.longest);
            cut += (text.len() - end) as u64;
            text.truncate(end);
        }
        (text, cut)
    }
}

/// At most `longest`, and not within a character. `text` is longer.
fn end_of_characters(text: &[u8], longest: usize) -> usize {
    let continues = |byte: u8| byte & 0b1100_0000 == 0b1000_0000;
    if !continues(text[longest]) {
        return longest;
    }
    // A character has at most four bytes, of which the first says that there are more. Anything else is none.
    let begins = (longest.saturating_sub(3)..longest).rev().find(|&index| !continues(text[index]));
    begins.filter(|&index| text[index] >= 0b1100_0000).unwrap_or(longest)
}

fn without_returns(piece: &[u8]) -> &[u8] {
    let end = piece.iter().rposition(|byte| *byte != b'\r').map_or(0, |last| last + 1);
    &piece[..end]
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests {
    use super::*;

    fn line(longest: usize, pieces: &[&[u8]]) -> (Vec<u8>, u64) {
        let mut text = Text::new(longest);
        pieces.iter().for_each(|piece| text.add(piece));
        let line = text.take();
        assert_eq!(text.take(), (Vec::new(), 0));
        line
    }

    #[test]
    fn of_a_progress_bar_the_last_state_remains() {
        let cases: [(&[&[u8]], &[u8]); 7] = [
            (&[b"10 %\r50", b" %\r100 %"], b"100 %"),
            (&[b"windows\r"], b"windows"),
            (&[b"99 %\r", b"\r", b""], b"99 %"),
            (&[b"99 %\r", b"100 %\r"], b"100 %"),
            (&[b"99 %\r", b"\r\rdone"], b"done"),
            (&[b"\r\r"], b""),
            (&[], b""),
        ];
        for (pieces, expected) in cases {
            assert_eq!(line(100, pieces), (expected.to_owned(), 0), "{pieces:?}");
        }
    }

    #[test]
    fn what_is_overwritten_does_not_count() {
        let long = [b'x'; 50];
        assert_eq!(line(10, &[&long, b"\r", b"short"]), (b"short".to_vec(), 0));
        assert_eq!(line(10, &[b"a\r", &long, b"yz"]), (b"xxxxxxxxxx".to_vec(), 42));
    }

    #[test]
    fn a_cut_breaks_no_character() {
        assert_eq!(line(4, &["abéd".as_bytes()]), ("abé".into(), 1));
        assert_eq!(line(3, &["abéd".as_bytes()]), ("ab".into(), 3));
        assert_eq!(line(5, &["a🚢b".as_bytes()]), ("a🚢".into(), 1));
        assert_eq!(line(4, &["a🚢b".as_bytes()]), ("a".into(), 5));
        assert_eq!(line(2, &["🚢".as_bytes()]), (Vec::new(), 4));
        assert_eq!(line(4, &[b"ab", &[0x80; 6]]), (b"ab\x80\x80".to_vec(), 4));
        assert_eq!(line(0, &[b"abc"]), (Vec::new(), 3));
        assert_eq!(line(3, &[b"abc"]), (b"abc".to_vec(), 0));
    }
}
