//! Lines as the bytes of a chunk, and back. Before it is packed, a chunk is its lines one after another: eight bytes of
//! time, one of stream and step, four of length, the text. Where a service has printed the line, a bit of the ninth byte says so,
//! and its name, after a byte with the length of the name, stands before the text. Two such texts can be joined as they are.

use windlass_api::{LogStep, LogStream, Timestamp};

use super::LogLine;
use crate::Result;

const HEADER: usize = 13;
/// Beside stream and step: the name of a service stands before the text.
const OF_SERVICE: u8 = 0b1000;
/// Names of services are shorter; a longer one is cut.
const LONGEST_SERVICE: usize = u8::MAX as usize;
/// Before packing. A chunk with less may be joined with the next, so this is how much is read for one line at most
/// (unless the line itself is longer).
pub const CHUNK: usize = 64 * 1024;
/// A length beyond this can only come from a damaged row.
const LONGEST: usize = 64 * 1024 * 1024;

/// Lines that stand one after another.
#[derive(Default)]
pub struct Loose {
    pub bytes: Vec<u8>,
    pub lines: i64,
    pub text_bytes: i64,
    pub min_at: i64,
    pub max_at: i64,
}

impl Loose {
    pub fn push(&mut self, line: &LogLine) {
        let (at, service, size) = (line.at.micros(), stored_service(line), text_size(line));
        self.note_times(at, at);
        self.lines += 1;
        self.text_bytes += size as i64;
        self.bytes.extend_from_slice(&at.to_le_bytes());
        let of_service = if service.is_empty() { 0 } else { OF_SERVICE };
        self.bytes.push(stream_code(line.stream) | of_service | step_code(line.step) << 4);
        self.bytes.extend_from_slice(&(size as u32).to_le_bytes());
        if !service.is_empty() {
            self.bytes.push(service.len() as u8);
            self.bytes.extend_from_slice(service.as_bytes());
        }
        self.bytes.extend_from_slice(line.text.as_bytes());
    }

    fn note_times(&mut self, min_at: i64, max_at: i64) {
        let is_first = self.lines == 0;
        self.min_at = if is_first { min_at } else { self.min_at.min(min_at) };
        self.max_at = if is_first { max_at } else { self.max_at.max(max_at) };
    }

    /// The earlier lines, followed by these.
    pub fn after(self, mut earlier: Self) -> Self {
        earlier.note_times(self.min_at, self.max_at);
        earlier.bytes.extend_from_slice(&self.bytes);
        earlier.lines += self.lines;
        earlier.text_bytes += self.text_bytes;
        earlier
    }

    pub fn pack(&self) -> Vec<u8> {
        lz4_flex::block::compress_prepend_size(&self.bytes)
    }
}

fn stored_service(line: &LogLine) -> &str {
    &line.service[..line.service.floor_char_boundary(LONGEST_SERVICE)]
}

/// Of a line's text, and of its service before it.
pub fn text_size(line: &LogLine) -> usize {
    let service = stored_service(line);
    line.text.len() + if service.is_empty() { 0 } else { 1 + service.len() }
}

/// How long so many lines with so much text are before they are packed.
pub fn loose_size(lines: i64, text_bytes: i64) -> usize {
    lines as usize * HEADER + text_bytes as usize
}

/// As few chunks as their size allows.
pub fn arrange(lines: &[LogLine]) -> Vec<Loose> {
    let mut chunks: Vec<Loose> = Vec::new();
    for line in lines {
        match chunks.last_mut() {
            Some(chunk) if chunk.bytes.len() + HEADER + text_size(line) <= CHUNK => chunk.push(line),
            _ => {
                let mut chunk = Loose::default();
                chunk.push(line);
                chunks.push(chunk);
            }
        }
    }
    chunks
}

pub fn unpack(body: &[u8]) -> Result<Vec<u8>> {
    let size = body.first_chunk::<4>().map_or(usize::MAX, |size| u32::from_le_bytes(*size) as usize);
    if size > LONGEST {
        return Err(damaged("its length is impossible"));
    }
    let bytes = lz4_flex::block::decompress_size_prepended(body).map_err(damaged)?;
    // What was cut off may still make sense.
    if bytes.len() == size { Ok(bytes) } else { Err(damaged("it is shorter than it was")) }
}

/// A line where it stands.
#[derive(Clone, Copy)]
pub struct PackedLine<'a> {
    pub at: Timestamp,
    pub stream: LogStream,
    pub step: LogStep,
    pub service: &'a str,
    pub text: &'a str,
}

impl PackedLine<'_> {
    pub fn to_line(self) -> LogLine {
        let Self { at, stream, step, service, text } = self;
        LogLine { at, stream, step, service: service.to_owned(), text: text.to_owned() }
    }
}

/// The lines of an unpacked chunk.
pub fn lines(mut bytes: &[u8]) -> impl Iterator<Item = Result<PackedLine<'_>>> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let taken = take(bytes);
        bytes = taken.as_ref().map_or(&[], |(_, rest)| rest);
        Some(taken.map(|(line, _)| line))
    })
}

fn take(bytes: &[u8]) -> Result<(PackedLine<'_>, &[u8])> {
    let short = || damaged("it ends too early");
    let (at, rest) = bytes.split_first_chunk::<8>().ok_or_else(short)?;
    let (&kind, rest) = rest.split_first().ok_or_else(short)?;
    let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(short)?;
    let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(short)?;
    let (service, text) = match kind & OF_SERVICE {
        0 => (&[][..], text),
        _ => take_service(text).ok_or_else(short)?,
    };
    let line = PackedLine {
        at: Timestamp::from_micros(i64::from_le_bytes(*at)),
        stream: stream_of(kind & 0xF & !OF_SERVICE).ok_or_else(|| damaged("a stream is unknown"))?,
        step: step_of(kind >> 4).ok_or_else(|| damaged("a step is unknown"))?,
        service: str::from_utf8(service).map_err(damaged)?,
        text: str::from_utf8(text).map_err(damaged)?,
    };
    Ok((line, rest))
}

fn take_service(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&length, rest) = text.split_first()?;
    rest.split_at_checked(length as usize)
}

fn damaged(problem: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> crate::Error {
    crate::Error::Unexpected(sqlx::Error::Decode(problem.into()))
}

// What is stored is never given another meaning, so these are written out.

const fn stream_code(stream: LogStream) -> u8 {
    match stream {
        LogStream::Stdout => 1,
        LogStream::Stderr => 2,
        LogStream::Windlass => 3,
    }
}

fn stream_of(code: u8) -> Option<LogStream> {
    LogStream::ALL.iter().copied().find(|stream| stream_code(*stream) == code)
}

const fn step_code(step: LogStep) -> u8 {
    match step {
        LogStep::Queue => 1,
        LogStep::Fetch => 2,
        LogStep::Build => 3,
        LogStep::PreRun => 4,
        LogStep::Start => 5,
        LogStep::Health => 6,
        LogStep::Switch => 7,
        LogStep::Drain => 8,
        LogStep::PostRun => 9,
        LogStep::Run => 10,
        LogStep::Hold => 11,
        LogStep::Data => 12,
        LogStep::Report => 13,
        LogStep::Command => 14,
    }
}

fn step_of(code: u8) -> Option<LogStep> {
    LogStep::ALL.iter().copied().find(|step| step_code(*step) == code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: i64, text: &str) -> LogLine {
        let (stream, step) = (LogStream::Stderr, LogStep::Run);
        LogLine { at: Timestamp::from_micros(number), stream, step, service: String::new(), text: text.to_owned() }
    }

    fn of_service(service: &str) -> LogLine {
        LogLine { service: service.to_owned(), ..line(3, "listening") }
    }

    #[test]
    fn lines_come_back_as_they_were() {
        let mut expected = vec![line(-1, ""), line(i64::MAX, "ä\u{0}\n")];
        for stream in LogStream::ALL {
            for step in LogStep::ALL {
                expected.push(LogLine { stream: *stream, step: *step, ..line(0, "x") });
                expected.push(LogLine { stream: *stream, step: *step, ..of_service("web") });
            }
        }
        let chunks = arrange(&expected);
        assert_eq!(chunks.len(), 1);
        let unpacked = unpack(&chunks[0].pack()).unwrap();
        let found: Vec<_> = lines(&unpacked).map(|line| line.unwrap().to_line()).collect();
        assert_eq!(found, expected);
        assert_eq!((chunks[0].min_at, chunks[0].max_at), (-1, i64::MAX));
        assert_eq!(chunks[0].bytes.len(), loose_size(chunks[0].lines, chunks[0].text_bytes));
    }

    #[test]
    fn a_name_that_is_too_long_is_cut_between_characters() {
        let chunk = &arrange(&[of_service(&"ä".repeat(200)), line(4, "next")])[0];
        let found: Vec<_> = lines(&chunk.bytes).map(|line| line.unwrap().to_line()).collect();
        assert_eq!(found, [of_service(&"ä".repeat(127)), line(4, "next")]);
        assert_eq!(chunk.bytes.len(), loose_size(chunk.lines, chunk.text_bytes));
    }

    #[test]
    fn chunks_are_bounded_and_can_be_joined() {
        let many: Vec<_> = (0..3_000).map(|number| line(number, "0123456789012345678901234567890123456789")).collect();
        let chunks = arrange(&many);
        assert!(chunks.len() > 2 && chunks.iter().all(|chunk| chunk.bytes.len() <= CHUNK));
        let all = chunks.into_iter().reduce(|earlier, later| later.after(earlier)).unwrap();
        assert_eq!((all.lines, all.text_bytes, all.min_at, all.max_at), (3_000, 120_000, 0, 2_999));
        assert_eq!(lines(&all.bytes).count(), 3_000);
    }

    #[test]
    fn what_is_damaged_is_an_error_and_nothing_worse() {
        let body = arrange(&[line(1, "hello hello hello")])[0].pack();
        for cut in 0..body.len() {
            assert!(unpack(&body[..cut]).is_err(), "{cut}");
        }
        assert!(unpack(&[0xFF; 8]).is_err());
        assert!(lines(&[0; 5]).next().unwrap().is_err());
        assert!(lines(&[0; 13]).next().unwrap().is_err());
        let mut short = arrange(&[of_service("web")])[0].bytes.clone();
        short[HEADER] = 200;
        assert!(lines(&short).next().unwrap().is_err(), "its service is longer than service and text");
    }
}
