//! Git as a group of processes, which ends as a whole: when it is done, when its caller stops waiting, and after a
//! crash.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};
use tokio::process::{Child, Command};

use super::disk::remove;
use super::error::FetchError;
use super::output;
use super::paths::FetchPaths;

/// How often processes of a fetch that has ended are looked for again: one may start another while it is being
/// ended.
const ROUNDS: usize = 100;
const BETWEEN_ROUNDS: Duration = Duration::from_millis(20);

/// Git, and what it starts: `git-remote-https`, `ssh`.
pub struct Group {
    id: Option<Pid>,
    child: Child,
}

impl Group {
    pub fn start(mut command: Command) -> Result<Self, FetchError> {
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => FetchError::GitMissing,
            _ => error.into(),
        })?;
        let id = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Ok(Self { id, child })
    }

    /// Until all of the group are gone. Whether git succeeded, and the last of what it said.
    pub async fn run(&mut self, take: &mut (dyn FnMut(&[u8]) + Send)) -> io::Result<(bool, Vec<u8>)> {
        let (stdout, stderr) = (self.child.stdout.take(), self.child.stderr.take());
        let (Some(stdout), Some(stderr)) = (stdout, stderr) else { return Err(io::Error::other("git has no output")) };
        let ended = async {
            let status = self.child.wait().await;
            // What is left of the group holds the other ends, and would never let them go.
            end(self.id.take());
            status
        };
        let (status, (), said) = tokio::join!(ended, output::pass(stdout, take), output::tail(stderr));
        Ok((status?.success(), said))
    }

    pub async fn end(mut self) {
        end(self.id.take());
        let _ = self.child.wait().await;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        end(self.id.take());
    }
}

fn end(group: Option<Pid>) {
    if let Some(group) = group {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Ends what a fetch has left running, and removes its folder and all that lies beside it.
pub async fn end_left_over(folder: &Path) -> io::Result<()> {
    let paths = FetchPaths::of(folder)?;
    for _ in 0..ROUNDS {
        if end_marked(&paths)? == 0 {
            return tokio::task::spawn_blocking(move || {
                paths.clean()?;
                remove(&paths.folder)
            })
            .await?;
        }
        tokio::time::sleep(BETWEEN_ROUNDS).await;
    }
    Err(io::Error::other(format!("processes that fetch into {} do not end", folder.display())))
}

/// Every process that git has started for this folder carries its mark, so that there is no number to remember, which
/// another process might have by now. How many there were.
fn end_marked(paths: &FetchPaths) -> io::Result<usize> {
    let (name, value) = paths.mark();
    let mark = [name.as_bytes(), b"=", value.as_os_str().as_encoded_bytes()].concat();
    let mut found = 0;
    for entry in std::fs::read_dir("/proc")?.flatten() {
        let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
        let Some(id) = number.and_then(Pid::from_raw) else { continue };
        // Taken before it is looked at: it stays this process's, whatever becomes of the number.
        let Ok(process) = pidfd_open(id, PidfdFlags::empty()) else { continue };
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        if environment.split(|byte| *byte == 0).any(|variable| variable == mark) {
            found += 1;
            let _ = pidfd_send_signal(&process, Signal::KILL);
        }
    }
    Ok(found)
}
