//! The machine that the server runs on, as steps of extensions change it: programs, files, services, users, packages.
//!
//! Each kind of step has three functions: `prepare` looks at the machine and says how the step can be undone, which is
//! stored before `act` changes anything, and `undo` makes it as it was.

pub mod command;
pub mod file;
pub mod package;
pub mod service;
pub mod user;

use std::io;
use std::path::PathBuf;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use uuid::Uuid;
use windlass_api::LogStep;
use windlass_runtime::{Joiner, PrintedLine, Stream};

use super::failure::{StepFailure, StepResult};
use crate::logs::work_log::Log;
use crate::programs::{Ended, Group};

/// By which processes of a step can be found again.
pub const MARK: &str = "WINDLASS_STEP";
/// How much of an answer of a program is read.
const MAX_ANSWER: u64 = 64 * 1024;
/// How much of a program's output is read at once.
const PIECE: usize = 32 * 1024;
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What a step has to work with.
pub struct Machine {
    pub log: Log,
    pub step_id: Uuid,
    /// Where what the step replaces or removes is kept, so that it can be brought back.
    pub saved: PathBuf,
}

impl Machine {
    /// A program in an environment of its own: what the server's holds may be secret.
    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        command.env_clear().env("PATH", PATH).env("HOME", "/root").env("LANG", "C.UTF-8").current_dir("/");
        command.env("DEBIAN_FRONTEND", "noninteractive").env(MARK, self.step_id.to_string());
        command
    }

    /// Runs a program to its end and logs what it prints. Its exit code; none when a signal has ended it.
    async fn run(&self, command: Command) -> StepResult<Option<i64>> {
        let name = command.as_std().get_program().to_string_lossy().into_owned();
        let mut group = Group::start(command).map_err(|error| not_started(&name, &error))?;
        let (out, err) = (self.log.clone(), self.log.clone());
        let ended = group
            .run(|stdout| pass_on(stdout, Stream::Stdout, out), |stderr| pass_on(stderr, Stream::Stderr, err))
            .await;
        let Ended { status, read } = ended.map_err(|error| StepFailure::new(format!("{name}: {error}")))?;
        if read.is_none() {
            let words = "A process that this step has left keeps its output open. What it prints is not read any more.";
            self.log.note(words).await;
        }
        Ok(status.code().map(i64::from))
    }

    /// The same, and what is not a success is a failure.
    async fn must_run(&self, name: &str, arguments: &[&str]) -> StepResult<()> {
        let mut command = self.program(name);
        command.args(arguments);
        self.log.note(format!("{name} {}", arguments.join(" "))).await;
        match self.run(command).await? {
            Some(0) => Ok(()),
            code => Err(StepFailure::exit(name, code)),
        }
    }

    /// What a program answers. None when it says no.
    async fn ask(&self, name: &str, arguments: &[&str]) -> StepResult<Option<String>> {
        let mut command = self.program(name);
        command.args(arguments);
        let mut group = Group::start(command).map_err(|error| not_started(name, &error))?;
        let ended = group.run(answer, answer).await.map_err(|error| StepFailure::new(format!("{name}: {error}")))?;
        Ok(ended.read.filter(|_| ended.status.success()).map(|(answer, _)| answer))
    }
}

fn not_started(name: &str, error: &io::Error) -> StepFailure {
    match error.kind() {
        io::ErrorKind::NotFound => StepFailure::new(format!("{name} is not installed on this machine")),
        _ => StepFailure::new(format!("{name} could not be started: {error}")),
    }
}

/// Every line into the log. A program that prints faster than the log is written waits.
async fn pass_on(mut from: impl AsyncRead + Unpin, stream: Stream, log: Log) {
    let (mut joiner, mut piece, mut lines) = (Joiner::default(), vec![0; PIECE], Vec::new());
    while let Ok(length @ 1..) = from.read(&mut piece).await {
        joiner.add(&piece[..length], |line| lines.push(line));
        for text in lines.drain(..) {
            log.take(LogStep::Run, PrintedLine { stream, text }).await;
        }
    }
    if let Some(text) = joiner.rest() {
        log.take(LogStep::Run, PrintedLine { stream, text }).await;
    }
}

async fn answer(mut from: impl AsyncRead + Unpin) -> String {
    let mut bytes = Vec::new();
    let _ = (&mut from).take(MAX_ANSWER).read_to_end(&mut bytes).await;
    // A program whose output is not read to its end would wait for ever.
    let _ = tokio::io::copy(&mut from, &mut tokio::io::sink()).await;
    String::from_utf8_lossy(&bytes).trim().to_owned()
}

/// Whether there is such a program.
fn is_installed(name: &str) -> bool {
    PATH.split(':').any(|folder| std::path::Path::new(folder).join(name).is_file())
}
