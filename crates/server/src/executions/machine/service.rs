//! Services of the machine: systemd, OpenRC, or the scripts of System V.

use std::path::Path;

use serde::{Deserialize, Serialize};
use windlass_extension::ServiceChange;

use super::{Machine, is_installed};
use crate::executions::failure::{StepFailure, StepResult};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manager {
    Systemd,
    OpenRc,
    SystemV,
}

/// How the service was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    runs: bool,
    is_enabled: bool,
}

fn manager() -> StepResult<Manager> {
    // Its program may be there while another process is in charge, as in containers.
    if Path::new("/run/systemd/system").is_dir() && is_installed("systemctl") {
        return Ok(Manager::Systemd);
    }
    if is_installed("rc-service") {
        return Ok(Manager::OpenRc);
    }
    if is_installed("service") {
        return Ok(Manager::SystemV);
    }
    Err(StepFailure::new("this machine has neither systemd, OpenRC nor the service program"))
}

pub async fn prepare(machine: &Machine, name: &str) -> StepResult<Before> {
    let manager = manager()?;
    Ok(Before { runs: runs(machine, manager, name).await?, is_enabled: is_enabled(machine, manager, name).await? })
}

async fn runs(machine: &Machine, manager: Manager, name: &str) -> StepResult<bool> {
    let answer = match manager {
        Manager::Systemd => machine.ask("systemctl", &["is-active", "--quiet", "--", name]).await?,
        Manager::OpenRc => machine.ask("rc-service", &[name, "status"]).await?,
        Manager::SystemV => machine.ask("service", &[name, "status"]).await?,
    };
    Ok(answer.is_some())
}

async fn is_enabled(machine: &Machine, manager: Manager, name: &str) -> StepResult<bool> {
    match manager {
        Manager::Systemd => Ok(machine.ask("systemctl", &["is-enabled", "--quiet", "--", name]).await?.is_some()),
        Manager::OpenRc => {
            let listed = machine.ask("rc-update", &["show", "default"]).await?.unwrap_or_default();
            Ok(listed.lines().any(|line| line.split('|').next().is_some_and(|found| found.trim() == name)))
        }
        Manager::SystemV => Ok(has_start_link(name)),
    }
}

/// Its links are called S and a number in the folders of the run levels.
fn has_start_link(name: &str) -> bool {
    let is_link = |entry: std::fs::DirEntry| {
        let found = entry.file_name().to_string_lossy().into_owned();
        found.strip_prefix('S').is_some_and(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()) == name)
    };
    let folder = std::fs::read_dir("/etc/rc2.d");
    folder.is_ok_and(|entries| entries.flatten().any(is_link))
}

pub async fn act(machine: &Machine, name: &str, change: ServiceChange) -> StepResult<()> {
    let manager = manager()?;
    let word = change.as_str();
    match (manager, change) {
        (Manager::Systemd, _) => machine.must_run("systemctl", &[word, "--", name]).await,
        (Manager::OpenRc, ServiceChange::Enable) => machine.must_run("rc-update", &["add", name, "default"]).await,
        (Manager::OpenRc, ServiceChange::Disable) => machine.must_run("rc-update", &["del", name, "default"]).await,
        (Manager::OpenRc, _) => machine.must_run("rc-service", &[name, word]).await,
        (Manager::SystemV, ServiceChange::Enable) => {
            // Without links there is nothing that could be enabled.
            machine.must_run("update-rc.d", &[name, "defaults"]).await?;
            machine.must_run("update-rc.d", &[name, word]).await
        }
        (Manager::SystemV, ServiceChange::Disable) => machine.must_run("update-rc.d", &[name, word]).await,
        (Manager::SystemV, _) => machine.must_run("service", &[name, word]).await,
    }
}

/// What brings the service back to how it was. None when it is.
pub fn inverse(change: ServiceChange, before: Before) -> Option<ServiceChange> {
    use ServiceChange::{Disable, Enable, Reload, Restart, Start, Stop};
    match change {
        Start | Restart if !before.runs => Some(Stop),
        Stop if before.runs => Some(Start),
        Enable if !before.is_enabled => Some(Disable),
        Disable if before.is_enabled => Some(Enable),
        Start | Restart | Stop | Enable | Disable | Reload => None,
    }
}
