//! Packages of the machine: apt, dnf or apk.

use serde::{Deserialize, Serialize};
use windlass_extension::PackageState;

use super::{Machine, is_installed};
use crate::executions::failure::{StepFailure, StepResult};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manager {
    Apt,
    Dnf,
    Apk,
}

/// Those of the step that were installed before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    installed: Vec<String>,
}

fn manager() -> StepResult<Manager> {
    let known = [("apt-get", Manager::Apt), ("dnf", Manager::Dnf), ("apk", Manager::Apk)];
    let found = known.into_iter().find(|(program, _)| is_installed(program));
    found.map(|(_, manager)| manager).ok_or_else(|| StepFailure::new("this machine has neither apt-get, dnf nor apk"))
}

pub async fn prepare(machine: &Machine, names: &[String]) -> StepResult<Before> {
    let manager = manager()?;
    let mut installed = Vec::new();
    for name in names {
        if is_present(machine, manager, name).await? {
            installed.push(name.clone());
        }
    }
    Ok(Before { installed })
}

async fn is_present(machine: &Machine, manager: Manager, name: &str) -> StepResult<bool> {
    match manager {
        Manager::Apt => {
            let status = machine.ask("dpkg-query", &["--show", "--showformat=${db:Status-Status}", "--", name]).await?;
            Ok(status.is_some_and(|status| status == "installed"))
        }
        Manager::Dnf => Ok(machine.ask("rpm", &["--query", "--", name]).await?.is_some()),
        Manager::Apk => Ok(machine.ask("apk", &["info", "--installed", name]).await?.is_some()),
    }
}

pub async fn act(machine: &Machine, names: &[String], state: PackageState, before: &Before) -> StepResult<()> {
    let missing: Vec<&str> = names.iter().filter(|name| !before.installed.contains(name)).map(String::as_str).collect();
    let installed: Vec<&str> = before.installed.iter().map(String::as_str).collect();
    match state {
        PackageState::Present => install(machine, &missing).await,
        PackageState::Absent => remove(machine, &installed).await,
        PackageState::Latest => {
            install(machine, &missing).await?;
            upgrade(machine, &installed).await
        }
    }
}

pub async fn undo(machine: &Machine, names: &[String], state: PackageState, before: &Before) -> StepResult<()> {
    let installed: Vec<&str> = before.installed.iter().map(String::as_str).collect();
    match state {
        PackageState::Present | PackageState::Latest => {
            // Those that are there now: the step may have failed half-way.
            let now = prepare(machine, names).await?;
            let added = now.installed.iter().filter(|name| !before.installed.contains(name));
            remove(machine, &added.map(String::as_str).collect::<Vec<_>>()).await
        }
        PackageState::Absent => {
            let now = prepare(machine, names).await?;
            let gone: Vec<&str> =
                installed.into_iter().filter(|name| !now.installed.iter().any(|other| other == name)).collect();
            install(machine, &gone).await
        }
    }
}

/// What was upgraded stays so: the older version may not be offered any more.
pub fn can_be_undone(state: PackageState, before: &Before) -> bool {
    state != PackageState::Latest || before.installed.is_empty()
}

async fn install(machine: &Machine, names: &[&str]) -> StepResult<()> {
    if names.is_empty() {
        machine.log.note("All of the packages are installed.").await;
        return Ok(());
    }
    match manager()? {
        Manager::Apt => {
            refresh(machine).await;
            machine.must_run("apt-get", &[&["install", "--yes", "--no-install-recommends", "--"], names].concat()).await
        }
        Manager::Dnf => machine.must_run("dnf", &[&["install", "--assumeyes", "--"], names].concat()).await,
        Manager::Apk => machine.must_run("apk", &[&["add"], names].concat()).await,
    }
}

async fn upgrade(machine: &Machine, names: &[&str]) -> StepResult<()> {
    if names.is_empty() {
        return Ok(());
    }
    match manager()? {
        Manager::Apt => {
            refresh(machine).await;
            machine.must_run("apt-get", &[&["install", "--yes", "--only-upgrade", "--"], names].concat()).await
        }
        Manager::Dnf => machine.must_run("dnf", &[&["upgrade", "--assumeyes", "--"], names].concat()).await,
        Manager::Apk => machine.must_run("apk", &[&["add", "--upgrade"], names].concat()).await,
    }
}

async fn remove(machine: &Machine, names: &[&str]) -> StepResult<()> {
    if names.is_empty() {
        machine.log.note("None of the packages is installed.").await;
        return Ok(());
    }
    match manager()? {
        Manager::Apt => machine.must_run("apt-get", &[&["remove", "--yes", "--"], names].concat()).await,
        Manager::Dnf => machine.must_run("dnf", &[&["remove", "--assumeyes", "--"], names].concat()).await,
        Manager::Apk => machine.must_run("apk", &[&["del"], names].concat()).await,
    }
}

/// What is offered. A machine whose lists cannot be renewed may still install what they name.
async fn refresh(machine: &Machine) {
    if let Err(failure) = machine.must_run("apt-get", &["update"]).await {
        machine.log.note(format!("The lists of packages could not be renewed: {}", failure.words)).await;
    }
}
