//! The reader with a simulated engine: its files, its rotations and its API, each controlled by a test.

mod engine;
mod files;
mod gather;
mod random;
mod speed;
mod watch;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::gather::moment;
use super::{Gap, OutputLine, Portion};
use crate::Stream;

/// Writes a container's output as the engine does.
struct Driver {
    path: PathBuf,
    file: Option<File>,
    size: usize,
    most_bytes: usize,
    most_files: usize,
    buffer: Vec<u8>,
}

impl Driver {
    fn new(folder: &Path, most_bytes: usize, most_files: usize) -> Self {
        let path = folder.join("x-json.log");
        let file = Some(File::create(&path).unwrap());
        Self { path, file, size: 0, most_bytes, most_files, buffer: Vec::new() }
    }

    fn log(&mut self, stream: Stream, at: i64, text: &str) {
        if self.size >= self.most_bytes {
            self.rotate();
        }
        self.buffer.clear();
        let name = if stream == Stream::Stderr { "stderr" } else { "stdout" };
        let time = moment(at).format(&time::format_description::well_known::Rfc3339).unwrap();
        let text = serde_json::to_string(text).unwrap();
        writeln!(self.buffer, "{{\"log\":{text},\"stream\":\"{name}\",\"time\":\"{time}\"}}").unwrap();
        let entry = std::mem::take(&mut self.buffer);
        self.write(&entry);
        self.buffer = entry;
    }

    /// Lines of stdout, each a microsecond after the one before; the first number is its moment too.
    fn number(&mut self, numbers: std::ops::Range<i64>) {
        for number in numbers {
            self.log(Stream::Stdout, number * 1000, &format!("line {number}\n"));
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        self.file.as_mut().unwrap().write_all(bytes).unwrap();
        self.size += bytes.len();
    }

    fn rotate(&mut self) {
        self.file = None;
        let name = |number: usize| PathBuf::from(format!("{}.{number}", self.path.display()));
        if self.most_files > 1 {
            let _ = std::fs::remove_file(name(self.most_files - 1));
            for number in (1..self.most_files - 1).rev() {
                let _ = std::fs::rename(name(number), name(number + 1));
            }
            std::fs::rename(&self.path, name(1)).unwrap();
        }
        self.file = Some(File::create(&self.path).unwrap());
        self.size = 0;
    }

    /// All that there is, the oldest first.
    fn contents(path: &Path) -> Vec<u8> {
        let mut files = vec![std::fs::read(path).unwrap_or_default()];
        while let Ok(file) = std::fs::read(format!("{}.{}", path.display(), files.len())) {
            files.push(file);
        }
        files.reverse();
        files.concat()
    }
}

fn texts(portion: &Portion) -> Vec<String> {
    portion.lines.iter().map(text).collect()
}

fn text(line: &OutputLine) -> String {
    String::from_utf8(line.text.clone()).unwrap()
}

fn numbered(numbers: std::ops::Range<i64>) -> Vec<String> {
    numbers.map(|number| format!("line {number}")).collect()
}

fn missing(after: i64, until: i64) -> Option<Gap> {
    Some(Gap { after: Some(moment(after * 1000)), until: Some(moment(until * 1000)), bytes: None })
}
