//! Programs of the machine, each a group of processes that ends as a whole: when it is done, when its caller stops
//! waiting, and after a crash.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

/// How often processes that were left are looked for again: one may start another while it is being ended.
const ROUNDS: usize = 100;
const BETWEEN_ROUNDS: Duration = Duration::from_millis(20);
/// How long output may come after the program has ended: from a process that has left the group and holds the pipe.
const LAST_OUTPUT: Duration = Duration::from_secs(2);

/// A program, and what it starts.
pub struct Group {
    id: Option<Pid>,
    child: Child,
}

/// How a program ended, and what its readers made of its output. None of them if output was still to come.
pub struct Ended<O, E> {
    pub status: ExitStatus,
    pub read: Option<(O, E)>,
}

impl Group {
    pub fn start(mut command: Command) -> io::Result<Self> {
        command.stdin(Stdio::null());
        Self::spawn(command)
    }

    /// One whose input the caller writes.
    pub fn start_with_input(mut command: Command) -> io::Result<Self> {
        command.stdin(Stdio::piped());
        Self::spawn(command)
    }

    fn spawn(mut command: Command) -> io::Result<Self> {
        command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn()?;
        let id = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Ok(Self { id, child })
    }

    /// It ends when this is dropped. Given once.
    pub fn input(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// Until the program has ended; what is left of its group ends with it. May be called once.
    pub async fn run<O: Future, E: Future>(
        &mut self,
        read_stdout: impl FnOnce(ChildStdout) -> O,
        read_stderr: impl FnOnce(ChildStderr) -> E,
    ) -> io::Result<Ended<O::Output, E::Output>> {
        let (stdout, stderr) = (self.child.stdout.take(), self.child.stderr.take());
        let (Some(stdout), Some(stderr)) = (stdout, stderr) else { return Err(io::Error::other("it has no output")) };
        let reading = async { tokio::join!(read_stdout(stdout), read_stderr(stderr)) };
        tokio::pin!(reading);
        let ended = async {
            let status = self.child.wait().await;
            // What is left of the group holds the other ends, and would never let them go.
            end(self.id.take());
            status
        };
        tokio::pin!(ended);
        tokio::select! {
            read = &mut reading => Ok(Ended { status: ended.await?, read: Some(read) }),
            status = &mut ended => {
                let read = tokio::time::timeout(LAST_OUTPUT, reading).await.ok();
                Ok(Ended { status: status?, read })
            }
        }
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

/// Ends every process that has this in its environment, and waits until there is none. So there is no number to
/// remember, which another process might have by now.
pub async fn end_marked(name: &str, value: &[u8]) -> io::Result<()> {
    let mark = [name.as_bytes(), b"=", value].concat();
    for _ in 0..ROUNDS {
        let mark = mark.clone();
        if tokio::task::spawn_blocking(move || kill_marked(&mark)).await?? == 0 {
            return Ok(());
        }
        tokio::time::sleep(BETWEEN_ROUNDS).await;
    }
    Err(io::Error::other(format!("processes with {} do not end", String::from_utf8_lossy(&mark))))
}

/// How many there were.
fn kill_marked(mark: &[u8]) -> io::Result<usize> {
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
