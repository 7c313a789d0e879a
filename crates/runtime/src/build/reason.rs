//! Why a build failed, in words for the author of the Dockerfile.

use std::collections::VecDeque;

use crate::Error;
use crate::lines::{LONGEST_LINE, cut};

pub(super) const BASE: &str = "FROM ";
pub(super) const SYNTAX: &str = "# syntax=";

/// A step's name holds its whole command, which may be a script.
const LONGEST_NAME: usize = 400;
/// How much of a step's output is shown: the end of it.
const MOST_LINES: usize = 10;
const MOST_BYTES: usize = 1_200;
/// A longer line is only counted: what was cut could not be searched for secrets any more.
const LONGEST_SHOWN: usize = 400;

/// The last lines that a step has printed.
#[derive(Default)]
pub(super) struct LastLines {
    lines: VecDeque<String>,
    bytes: usize,
}

impl LastLines {
    pub(super) fn add(&mut self, text: &str) {
        let line = match text.trim_end() {
            "" => return,
            line if line.len() > LONGEST_SHOWN => format!("(a line of {} bytes)", line.len()),
            line => line.to_owned(),
        };
        self.bytes += line.len();
        self.lines.push_back(line);
        while self.lines.len() > MOST_LINES || self.bytes > MOST_BYTES {
            self.bytes -= self.lines.pop_front().map_or(0, |line| line.len());
        }
    }

    fn joined(&self) -> String {
        self.lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

/// A step that failed, with what BuildKit and the step itself said.
pub(super) struct FailedStep {
    pub(super) name: String,
    pub(super) error: String,
    pub(super) last_lines: String,
    pub(super) disk_full: bool,
}

impl FailedStep {
    pub(super) fn new(name: &str, error: &str, output: &LastLines, disk_full: bool) -> Self {
        Self { name: cut(name, LONGEST_NAME), error: error.to_owned(), last_lines: output.joined(), disk_full }
    }
}

/// What the engine's final message means, together with what came before it. Several steps may have failed, and the
/// final message is about one of them.
pub(super) fn meaning(failed: &[FailedStep], last_word: &str) -> Error {
    let meant = failed.iter().find(|step| last_word.contains(&step.error));
    let (step, error) = match (meant, failed.first()) {
        (Some(step), _) => (Some(step), last_word),
        (None, Some(first)) => (Some(first), first.error.as_str()),
        (None, None) => (None, last_word),
    };
    let name = step.map_or("the build", |step| step.name.as_str()).to_owned();
    let (exit_code, message) = (exit_code(error), words(error));
    if step.is_some_and(|step| step.disk_full) || tells_of_full_disk(error) {
        return Error::DiskFull { message };
    }
    if exit_code == Some(137) || error.contains("cannot allocate memory") {
        return Error::OutOfMemory { step: name };
    }
    let message = match (name.strip_prefix(BASE), name.strip_prefix(SYNTAX)) {
        (Some(image), _) => format!("the base image {image} cannot be pulled: {message}"),
        (_, Some(image)) => format!("the image {image} of the syntax line cannot be pulled: {message}"),
        (None, None) => with_output(message, step),
    };
    Error::BuildFailed { step: name, exit_code, message }
}

fn with_output(message: String, step: Option<&FailedStep>) -> String {
    match step.filter(|step| !step.last_lines.is_empty()) {
        Some(step) => format!("{message}. Its last lines:\n{}", step.last_lines),
        None => message,
    }
}

/// An error of BuildKit's in terms that the Dockerfile's author knows: the step's command, which is shown beside it, is
/// left out, and so are the parts of the engine that the error came through, and the folders where the engine keeps the
/// image's files.
pub(super) fn words(error: &str) -> String {
    let error = without_wrappings(error);
    let is_of_command = error.starts_with("executor failed running [")
        || (error.starts_with("process \"") && error.contains("did not complete successfully"));
    match exit_code(error).filter(|_| is_of_command) {
        Some(code) => format!("exit code {code}"),
        None => without_engine_paths(&cut(error, LONGEST_LINE)),
    }
}

pub(super) fn tells_of_full_disk(text: &str) -> bool {
    text.to_lowercase().contains("no space left on device")
}

fn exit_code(message: &str) -> Option<i64> {
    let (_, after) = message.rsplit_once("exit code: ")?;
    after.split(|character: char| !character.is_ascii_digit()).next()?.parse().ok()
}

fn without_wrappings(message: &str) -> &str {
    const WRAPPINGS: [&str; 7] = [
        "failed to solve with frontend dockerfile.v0: ",
        "failed to solve with frontend gateway.v0: ",
        "failed to solve: ",
        "failed to create LLB definition: ",
        "failed to compute cache key: ",
        "rpc error: code = Unknown desc = ",
        "rpc error: code = NotFound desc = ",
    ];
    let mut message = message;
    while let Some(inner) = WRAPPINGS.iter().find_map(|wrapping| message.strip_prefix(wrapping)) {
        message = inner;
    }
    message
}

/// Paths as they are inside of the image, instead of where the engine keeps them.
fn without_engine_paths(text: &str) -> String {
    let ends_path = |c: char| c.is_whitespace() || "\"'`:;,()[]=".contains(c);
    let shortened = text.split_inclusive(ends_path).map(|piece| {
        let path = piece.trim_end_matches(ends_path);
        match inside_image(path) {
            Some(inside) => format!("{inside}{}", &piece[path.len()..]),
            None => piece.to_owned(),
        }
    });
    shortened.collect()
}

/// `/var/lib/docker/overlay2/<id>/merged/a/b` is `/a/b` inside the image.
fn inside_image(path: &str) -> Option<String> {
    let parts: Vec<_> = path.strip_prefix('/')?.split('/').collect();
    let follows = |index: usize, names: &[&str]| parts.get(index + 2).is_some_and(|part| names.contains(part));
    let root = parts.iter().enumerate().find_map(|(index, part)| match *part {
        part if part.starts_with("buildkit-mount") => Some(index),
        "overlay2" if follows(index, &["merged", "diff", "work"]) => Some(index + 2),
        "snapshots" if follows(index, &["fs", "work"]) => Some(index + 2),
        "executor" if follows(index, &["rootfs"]) => Some(index + 2),
        _ => None,
    })?;
    Some(format!("/{}", parts[root + 1..].join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(name: &str, error: &str) -> FailedStep {
        FailedStep::new(name, error, &LastLines::default(), false)
    }

    #[test]
    fn a_reason_is_of_the_step_that_is_named() {
        let steps = [failed("FROM one:1", "one:1: not found"), failed("FROM two:2", "two:2: refused")];
        let Error::BuildFailed { step, message, .. } = meaning(&steps, "failed to solve: two:2: refused") else {
            panic!("another class")
        };
        assert_eq!(
            (step.as_str(), message.as_str()),
            ("FROM two:2", "the base image two:2 cannot be pulled: two:2: refused")
        );
        let Error::BuildFailed { step, message, .. } = meaning(&steps, "something else") else {
            panic!("another class")
        };
        assert_eq!(
            (step.as_str(), message.as_str()),
            ("FROM one:1", "the base image one:1 cannot be pulled: one:1: not found")
        );
    }

    #[test]
    fn the_engines_paths_become_those_of_the_image() {
        for (said, expected) in [
            ("mkdir /var/lib/docker/overlay2/r0kl8/merged/a: not a directory", "mkdir /a: not a directory"),
            ("open /var/lib/docker/tmp/buildkit-mount123/Dockerfile: no such file", "open /Dockerfile: no such file"),
            ("lstat \"/x/tmp/buildkit-mount1\"", "lstat \"/\""),
            ("/x/snapshots/12/fs/etc and /srv/executor/ab/rootfs/bin/sh", "/etc and /bin/sh"),
            ("/usr/overlay2/file is /app/snapshots", "/usr/overlay2/file is /app/snapshots"),
        ] {
            assert_eq!(words(said), expected);
        }
    }

    #[test]
    fn a_command_is_not_repeated_by_its_error() {
        for said in [
            "executor failed running [/bin/sh -c npm ci]: exit code: 3",
            "failed to solve: process \"/bin/sh -c npm ci\" did not complete successfully: exit code: 3",
        ] {
            assert_eq!(words(said), "exit code 3");
        }
    }
}
