//! The image's own health check, run by Windlass while a container starts: the engine's first look comes late, and says less.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use windlass_runtime::{Error, Exec, Executed, HealthCheck};

use crate::host::Host;
use crate::logs::{Secrets, text};

/// From the end of one try to the next.
const PAUSE: Duration = Duration::from_secs(1);
/// Lines of a try that failed, and bytes of them, that are shown.
const MOST_LINES: usize = 5;
const MOST_BYTES: usize = 500;

/// How the last try ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tried {
    NotYet,
    Well,
    /// In words that can be shown.
    Failed(String),
}

/// Tries until one succeeds, or until it is dropped. There is never more than one try at a time: the engine cannot end one.
pub struct Checking {
    tried: watch::Receiver<Tried>,
    trying: JoinHandle<()>,
}

impl Checking {
    pub fn begin(host: Arc<Host>, container: String, check: HealthCheck, secrets: Secrets) -> Self {
        let (sender, tried) = watch::channel(Tried::NotYet);
        let trying = tokio::spawn(keep_trying(host, container, check, secrets, sender));
        Self { tried, trying }
    }

    pub fn last(&self) -> Tried {
        self.tried.borrow().clone()
    }
}

impl Drop for Checking {
    fn drop(&mut self) {
        self.trying.abort();
    }
}

async fn keep_trying(
    host: Arc<Host>,
    container: String,
    check: HealthCheck,
    secrets: Secrets,
    tried: watch::Sender<Tried>,
) {
    while *tried.borrow() != Tried::Well {
        // `become_well` notices when the container or the engine has ended.
        if let Ok(exec) = host.exec(&container, &check.command).await {
            try_once(&exec, check.timeout, &secrets, &tried).await;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn try_once(exec: &Exec<'_>, limit: Duration, secrets: &Secrets, tried: &watch::Sender<Tried>) {
    match exec.run(limit).await {
        Ok(Executed { exit_code: 0, .. }) => drop(tried.send_replace(Tried::Well)),
        Ok(ran) => drop(tried.send_replace(Tried::Failed(failure(&ran, secrets)))),
        Err(Error::TimedOut { .. }) => {
            let words = format!("the image's health check took more than {} s", limit.as_secs_f64());
            tried.send_replace(Tried::Failed(words));
            // It still runs. Its exit code comes too late to count.
            let _ = exec.ended().await;
        }
        Err(_) => {}
    }
}

fn failure(ran: &Executed, secrets: &Secrets) -> String {
    let words = format!("the image's health check fails with exit code {}", ran.exit_code);
    match shown(&ran.output, ran.is_cut, secrets) {
        output if output.is_empty() => words,
        output => format!("{words}: {output}"),
    }
}

/// The last lines of a check's output as one, without secrets and without what steers a terminal.
pub fn shown(output: &str, is_cut: bool, secrets: &Secrets) -> String {
    let lines = output.lines().enumerate().map(|(number, line)| match number == 0 && is_cut {
        true => secrets.safe_part(line),
        false => secrets.safe_line(line),
    });
    let lines: Vec<String> = lines.map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(MOST_LINES)..];
    text::cut(last.join("; "), MOST_BYTES, 0)
}

#[cfg(test)]
mod tests {
    use windlass_api::Variables;

    use super::*;

    #[test]
    fn output_is_bounded_and_safe() {
        let variables = Variables {
            environment: [("PASSWORD".to_owned(), "correct horse".to_owned())].into(),
            secret_names: vec!["PASSWORD".to_owned()],
            ..Variables::default()
        };
        let secrets = Secrets::new(&variables, []);
        assert_eq!(shown("\u{1b}[31mno\u{1b}[0m\r\n\n correct horse\n", false, &secrets), "no; ********");
        assert_eq!(shown("rect horse\nend", true, &secrets), "********; end");
        assert_eq!(shown("1\n2\n3\n4\n5\n6\n7", false, &secrets), "3; 4; 5; 6; 7");
        assert!(shown(&"x".repeat(5_000), false, &secrets).len() < 2 * MOST_BYTES);
        let ran = Executed { exit_code: 7, output: " \n".to_owned(), is_cut: false };
        assert_eq!(failure(&ran, &secrets), "the image's health check fails with exit code 7");
    }
}
