//! What BuildKit reports about a build, as lines that people read and as the reason when it fails.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prost::Message;

use super::reason::{self, BASE, FailedStep, LastLines, SYNTAX, tells_of_full_disk};
use crate::lines::Joiner;
use crate::{Error, PrintedLine, Result, Stream};

/// BuildKit's `StatusResponse`, without the fields that are not used here.
#[derive(Message)]
struct Status {
    #[prost(message, repeated, tag = "1")]
    vertexes: Vec<Vertex>,
    #[prost(message, repeated, tag = "2")]
    tasks: Vec<Task>,
    #[prost(message, repeated, tag = "3")]
    logs: Vec<VertexLog>,
}

#[derive(Message)]
struct Vertex {
    #[prost(string, tag = "1")]
    digest: String,
    #[prost(string, tag = "3")]
    name: String,
    #[prost(bool, tag = "4")]
    cached: bool,
    #[prost(message, optional, tag = "5")]
    started: Option<Moment>,
    #[prost(message, optional, tag = "6")]
    completed: Option<Moment>,
    #[prost(string, tag = "7")]
    error: String,
}

/// A part of a vertex, as one layer that is downloaded.
#[derive(Message)]
struct Task {
    #[prost(string, tag = "1")]
    id: String,
    #[prost(string, tag = "2")]
    vertex: String,
    #[prost(message, optional, tag = "8")]
    completed: Option<Moment>,
}

#[derive(Message)]
struct VertexLog {
    #[prost(string, tag = "1")]
    vertex: String,
    #[prost(int64, tag = "3")]
    stream: i64,
    #[prost(bytes = "vec", tag = "4")]
    text: Vec<u8>,
}

/// Only whether there is one matters.
#[derive(Message)]
struct Moment {}

/// When more steps fail, the reasons of the others are left out.
const MOST_FAILED: usize = 16;

pub(super) struct BuildProgress {
    /// The name of the image, which is for Windlass alone: another organization could write it after `FROM`.
    image: String,
    steps: HashMap<String, Step>,
    /// The step whose name was shown last: what follows is read as its output.
    shown: String,
    failed: Vec<FailedStep>,
}

#[derive(Default)]
struct Step {
    name: String,
    announced: bool,
    cached: bool,
    stdout: Joiner,
    stderr: Joiner,
    last_lines: LastLines,
    disk_full: bool,
}

impl BuildProgress {
    pub(super) fn new(image: &str) -> Self {
        Self { image: image.to_owned(), steps: HashMap::new(), shown: String::new(), failed: Vec::new() }
    }

    pub(super) fn lines_of(&mut self, trace: &str) -> Result<Vec<PrintedLine>> {
        let bytes = STANDARD.decode(trace).map_err(Error::unreadable)?;
        let mut status = Status::decode(bytes.as_slice()).map_err(Error::unreadable)?;
        self.hide_image(&mut status);
        let mut lines = Vec::new();
        // A vertex is completed after its last output, even if both are told at once.
        for vertex in &status.vertexes {
            self.begin(vertex, &mut lines);
        }
        for log in &status.logs {
            self.output(log, &mut lines);
        }
        for task in status.tasks.iter().filter(|task| task.completed.is_some()) {
            self.task_done(task, &mut lines);
        }
        for vertex in status.vertexes.iter().filter(|vertex| vertex.completed.is_some()) {
            self.end(vertex, &mut lines);
        }
        Ok(lines)
    }

    /// Output without a line end of steps that will not be told of any more.
    pub(super) fn unfinished_lines(&mut self) -> Vec<PrintedLine> {
        let mut lines = Vec::new();
        for step in self.steps.values_mut() {
            step.flush(&mut lines);
        }
        lines
    }

    fn begin(&mut self, vertex: &Vertex, lines: &mut Vec<PrintedLine>) {
        let step = self.steps.entry(vertex.digest.clone()).or_default();
        step.name.clone_from(&vertex.name);
        let news = (vertex.started.is_some() && !step.announced) || (vertex.cached && !step.cached);
        if news {
            step.announced = true;
            step.cached = vertex.cached;
            if !is_internal(&step.name) {
                let cached = if step.cached { " CACHED" } else { "" };
                lines.extend(PrintedLine::notes(&format!("{}{cached}", readable(&step.name))));
                self.shown.clone_from(&vertex.digest);
            }
        }
    }

    fn output(&mut self, log: &VertexLog, lines: &mut Vec<PrintedLine>) {
        let Some(step) = self.steps.get_mut(&log.vertex) else { return };
        if self.shown != log.vertex {
            lines.extend(PrintedLine::notes(&step.name));
            self.shown.clone_from(&log.vertex);
        }
        let (joiner, stream) =
            if log.stream == 2 { (&mut step.stderr, Stream::Stderr) } else { (&mut step.stdout, Stream::Stdout) };
        joiner.add(&log.text, |text| {
            step.disk_full |= tells_of_full_disk(&text);
            step.last_lines.add(&text);
            lines.push(PrintedLine { stream, text });
        });
    }

    fn task_done(&mut self, task: &Task, lines: &mut Vec<PrintedLine>) {
        if self.steps.get(&task.vertex).is_some_and(|step| step.announced && !is_internal(&step.name)) {
            lines.extend(PrintedLine::notes(&format!("{} done", task.id)));
        }
    }

    fn end(&mut self, vertex: &Vertex, lines: &mut Vec<PrintedLine>) {
        let Some(step) = self.steps.get_mut(&vertex.digest) else { return };
        step.flush(lines);
        // Steps beside the one that failed are cancelled; that is no reason.
        if vertex.error.is_empty() || vertex.error.contains("context canceled") || self.failed.len() >= MOST_FAILED {
            return;
        }
        let name = readable(&step.name);
        lines.extend(PrintedLine::notes(&format!("{name} ERROR: {}", reason::words(&vertex.error))));
        self.failed.push(FailedStep::new(&name, &vertex.error, &step.last_lines, step.disk_full));
    }

    pub(super) fn failure(&self, last_word: &str) -> Error {
        reason::meaning(&self.failed, &self.without_image(last_word))
    }

    /// Which of these name it depends on the engine and how it stores images.
    fn hide_image(&self, status: &mut Status) {
        for vertex in &mut status.vertexes {
            vertex.name = self.without_image(&vertex.name);
            vertex.error = self.without_image(&vertex.error);
        }
        for task in &mut status.tasks {
            task.id = self.without_image(&task.id);
        }
    }

    fn without_image(&self, text: &str) -> String {
        text.replace(&self.image, "the image")
    }
}

impl Step {
    fn flush(&mut self, lines: &mut Vec<PrintedLine>) {
        for (joiner, stream) in [(&mut self.stdout, Stream::Stdout), (&mut self.stderr, Stream::Stderr)] {
            if let Some(text) = joiner.rest() {
                self.disk_full |= tells_of_full_disk(&text);
                self.last_lines.add(&text);
                lines.push(PrintedLine { stream, text });
            }
        }
    }
}

/// How the context gets to BuildKit is not what a Dockerfile's author wants to read about.
fn is_internal(name: &str) -> bool {
    name.starts_with("[internal]") || name.starts_with("copy /context")
}

/// Images are looked up before the steps of a build begin; what fails then is named by the line that wants the image.
fn readable(name: &str) -> String {
    if let Some(image) = name.strip_prefix("[internal] load metadata for ") {
        format!("{BASE}{image}")
    } else if let Some(image) = name.strip_prefix("resolve image config for ") {
        // Newer engines name where it comes from.
        format!("{SYNTAX}{}", image.strip_prefix("docker-image://").unwrap_or(image))
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_image_is_not_told() {
        let name = "windlass/0123:4567";
        let mut progress = BuildProgress::new(name);
        let task = |what: &str| Task {
            id: format!("{what} docker.io/{name}"),
            vertex: "v".to_owned(),
            completed: Some(Moment {}),
        };
        let vertex = Vertex {
            digest: "v".to_owned(),
            name: "exporting to image".to_owned(),
            cached: false,
            started: Some(Moment {}),
            completed: Some(Moment {}),
            error: format!("failed to push {name}"),
        };
        let status =
            Status { vertexes: vec![vertex], tasks: vec![task("naming to"), task("unpacking to")], logs: Vec::new() };
        let lines = progress.lines_of(&STANDARD.encode(status.encode_to_vec())).unwrap();
        let told: String = lines.into_iter().map(|line| line.text + "\n").collect();
        assert!(told.contains("unpacking to docker.io/the image done") && !told.contains(name), "{told}");
        assert!(!progress.failure(&format!("cannot export {name}")).to_string().contains(name));
    }
}
