//! Lines of output, put together from the pieces in which they arrive.

use tokio::sync::mpsc;

/// A longer line is given out in parts.
pub(crate) const LONGEST_LINE: usize = 64 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrintedLine {
    pub stream: Stream,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    Stdout,
    Stderr,
    /// About the work, not from the program.
    Note,
}

impl PrintedLine {
    /// What is said in several lines becomes several.
    pub(crate) fn notes(text: &str) -> impl Iterator<Item = Self> {
        text.lines().map(|line| Self { stream: Stream::Note, text: cut(line, LONGEST_LINE) })
    }
}

/// The beginning of what is too long.
pub(crate) fn cut(text: &str, longest: usize) -> String {
    if text.len() <= longest {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(longest)])
}

/// Waits while the reader is busy. A reader that has gone away misses the line, and the work goes on.
pub(crate) async fn give(lines: &mpsc::Sender<PrintedLine>, line: PrintedLine) {
    let _ = lines.send(line).await;
}

/// The bytes of one stream, cut into lines. What a carriage return overwrites on a terminal is left out, so that of a
/// progress bar only its last state remains.
#[derive(Default)]
pub struct Joiner {
    partial: Vec<u8>,
    returned: bool,
}

impl Joiner {
    pub fn add(&mut self, bytes: &[u8], mut line: impl FnMut(String)) {
        for &byte in bytes {
            match byte {
                b'\n' => line(self.take()),
                b'\r' => self.returned = true,
                _ => {
                    if std::mem::take(&mut self.returned) {
                        self.partial.clear();
                    }
                    if self.partial.len() == LONGEST_LINE {
                        let begun = self.partial.split_off(end_of_whole_characters(&self.partial));
                        line(self.take());
                        self.partial = begun;
                    }
                    self.partial.push(byte);
                }
            }
        }
    }

    /// What is left without a line end.
    pub fn rest(&mut self) -> Option<String> {
        (!self.partial.is_empty()).then(|| self.take())
    }

    fn take(&mut self) -> String {
        self.returned = false;
        String::from_utf8_lossy(&std::mem::take(&mut self.partial)).into_owned()
    }
}

/// Before the last character if that has more than one byte: the rest of it may still be on its way.
fn end_of_whole_characters(bytes: &[u8]) -> usize {
    let continues = |byte: &u8| byte & 0b1100_0000 == 0b1000_0000;
    match bytes.iter().rposition(|byte| !continues(byte)) {
        Some(start) if bytes[start] >= 0b1100_0000 && bytes.len() - start < 4 => start,
        _ => bytes.len(),
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(pieces: &[&[u8]]) -> Vec<String> {
        let mut joiner = Joiner::default();
        let mut lines = Vec::new();
        for piece in pieces {
            joiner.add(piece, |line| lines.push(line));
        }
        lines.extend(joiner.rest());
        lines
    }

    #[test]
    fn pieces_become_lines() {
        assert_eq!(lines_of(&[b"one\ntw", b"o\n\nthr", b"ee"]), ["one", "two", "", "three"]);
    }

    #[test]
    fn of_a_progress_bar_the_last_state_remains() {
        assert_eq!(lines_of(&[b"10 %\r50", b" %\r100 %\nwindows\r\n"]), ["100 %", "windows"]);
        assert_eq!(lines_of(&[b"99 %\r"]), ["99 %"]);
    }

    #[test]
    fn a_long_line_is_given_in_parts_that_break_no_character() {
        let text = "é".repeat(LONGEST_LINE);
        let lines = lines_of(&[b"x", text.as_bytes()]);
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|line| line.len() <= LONGEST_LINE));
        assert_eq!(lines.concat(), format!("x{text}"));
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        assert_eq!(lines_of(&[b"a\xffb\n"]), ["a\u{fffd}b"]);
    }
}
