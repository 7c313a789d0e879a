//! A command beside what a container runs.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use crate::call::{encoded, within};
use crate::frames::Frames;
use crate::{Docker, Result};

/// The end of the output that is kept. The engine keeps as much of its own checks.
const KEPT_OUTPUT: usize = 4096;
/// Between two looks whether a command has ended.
const END_POLL: Duration = Duration::from_millis(500);

/// A command that was begun in a container. The engine has no way to end one, so the caller decides whether to begin
/// another while it runs.
pub struct Exec<'a> {
    docker: &'a Docker,
    id: String,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Executed {
    pub exit_code: i64,
    /// What it printed to both streams, or the end of that.
    pub output: String,
    /// Whether the beginning of the output is missing.
    pub is_cut: bool,
}

impl Docker {
    /// Prepares a command in a running container, as its user and with its environment.
    pub async fn exec(&self, container: &str, command: &[String]) -> Result<Exec<'_>> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Created {
            id: String,
        }
        let call = self.post("prepare a command", format!("/containers/{}/exec", encoded(container)));
        let body = json!({ "AttachStdout": true, "AttachStderr": true, "Cmd": command });
        let created: Created = call.json(&body)?.read().await?;
        Ok(Exec { docker: self, id: created.id })
    }
}

impl Exec<'_> {
    /// Begins the command and waits for its end. After the limit it is [`crate::Error::TimedOut`], and the command goes
    /// on.
    pub async fn run(&self, limit: Duration) -> Result<Executed> {
        within("run a command in a container", limit, async {
            let call = self.docker.post("run a command", format!("/exec/{}/start", encoded(&self.id)));
            let answer = call.json(&json!({ "Detach": false, "Tty": false }))?.unlimited().await?;
            let (output, is_cut) = end_of(Frames::new(answer)).await?;
            let exit_code = self.ended().await?;
            Ok(Executed { exit_code, output, is_cut })
        })
        .await
    }

    /// Waits until the command has ended, however long that takes, and gives its exit code.
    pub async fn ended(&self) -> Result<i64> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Inspected {
            running: bool,
            exit_code: Option<i64>,
        }
        let mut pause = Duration::from_millis(5);
        loop {
            let call = self.docker.get("describe a command", format!("/exec/{}/json", encoded(&self.id)));
            match call.read::<Inspected>().await? {
                Inspected { running: false, exit_code: Some(code) } => return Ok(code),
                _ => tokio::time::sleep(pause).await,
            }
            pause = (pause * 2).min(END_POLL);
        }
    }
}

/// The end of all that comes, and whether there was more.
async fn end_of(mut frames: Frames) -> Result<(String, bool)> {
    let (mut kept, mut is_cut) = (Vec::new(), false);
    while let Some(frame) = frames.next_of_command().await? {
        kept.extend_from_slice(frame.bytes());
        if kept.len() > KEPT_OUTPUT {
            kept.drain(..kept.len() - KEPT_OUTPUT);
            is_cut = true;
        }
    }
    Ok((String::from_utf8_lossy(&kept).into_owned(), is_cut))
}
