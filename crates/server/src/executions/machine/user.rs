//! Users of the machine.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use windlass_extension::UserAction;

use super::{Machine, is_installed};
use crate::executions::failure::{StepFailure, StepResult};

/// How the user was before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    exists: bool,
    home: String,
    shell: String,
    groups: Vec<String>,
}

pub async fn prepare(machine: &Machine, action: &UserAction) -> StepResult<Before> {
    let name = name(action);
    let groups = machine.ask("id", &["-nG", "--", name]).await?;
    let names = groups.iter().flat_map(|groups| groups.split_whitespace()).map(str::to_owned).collect();
    let (home, shell) = home_and_shell(name);
    Ok(Before { exists: groups.is_some(), home, shell, groups: names })
}

fn name(action: &UserAction) -> &str {
    match action {
        UserAction::Ensure { name, .. }
        | UserAction::Delete { name }
        | UserAction::AddGroups { name, .. }
        | UserAction::RemoveGroups { name, .. } => name,
    }
}

/// Empty when the machine's file does not have the user.
fn home_and_shell(name: &str) -> (String, String) {
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let mut entries = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
    match entries.find(|entry| entry.first() == Some(&name)).as_deref() {
        Some([_, _, _, _, _, home, shell]) => ((*home).to_owned(), (*shell).to_owned()),
        _ => (String::new(), String::new()),
    }
}

pub async fn act(machine: &Machine, action: &UserAction, before: &Before) -> StepResult<()> {
    let name = name(action);
    match action {
        UserAction::Ensure { shell, home, groups, .. } => {
            let text = |path: &Option<PathBuf>| path.as_ref().map(|path| path.to_string_lossy().into_owned());
            let (shell, home) = (text(shell), text(home));
            match before.exists {
                true => change(machine, name, shell.as_deref(), home.as_deref(), before).await?,
                false => create(machine, name, shell.as_deref(), home.as_deref()).await?,
            }
            add_groups(machine, name, &missing(groups, before)).await
        }
        UserAction::Delete { .. } if !before.exists => {
            machine.log.note(format!("There is no user {name}.")).await;
            Ok(())
        }
        UserAction::Delete { .. } => delete(machine, name).await,
        UserAction::AddGroups { groups, .. } => {
            require(name, before)?;
            add_groups(machine, name, &missing(groups, before)).await
        }
        UserAction::RemoveGroups { groups, .. } => {
            require(name, before)?;
            remove_groups(machine, name, &present(groups, before)).await
        }
    }
}

pub async fn undo(machine: &Machine, action: &UserAction, before: &Before) -> StepResult<()> {
    let name = name(action);
    // The step may have failed half-way.
    let now = prepare(machine, action).await?;
    if !now.exists {
        return Ok(());
    }
    match action {
        // Its folder stays: what the user has written there is not ours to remove.
        UserAction::Ensure { .. } if !before.exists => delete(machine, name).await,
        UserAction::Ensure { groups, shell, home, .. } => {
            let (home, shell) = (home.as_ref().map(|_| &*before.home), shell.as_ref().map(|_| &*before.shell));
            if home.is_some() || shell.is_some() {
                modify(machine, name, shell, home).await?;
            }
            remove_groups(machine, name, &present(&missing(groups, before), &now)).await
        }
        UserAction::AddGroups { groups, .. } => {
            remove_groups(machine, name, &present(&missing(groups, before), &now)).await
        }
        UserAction::RemoveGroups { groups, .. } => {
            add_groups(machine, name, &missing(&present(groups, before), &now)).await
        }
        UserAction::Delete { .. } => Ok(()),
    }
}

/// A user who is deleted cannot be brought back: their number may be another's by now.
pub fn can_be_undone(action: &UserAction, before: &Before) -> bool {
    !(matches!(action, UserAction::Delete { .. }) && before.exists)
}

/// What is not yet as it is wanted.
async fn change(
    machine: &Machine,
    name: &str,
    shell: Option<&str>,
    home: Option<&str>,
    before: &Before,
) -> StepResult<()> {
    let (shell, home) = (shell.filter(|shell| *shell != before.shell), home.filter(|home| *home != before.home));
    if shell.is_none() && home.is_none() {
        machine.log.note(format!("There is a user {name} already.")).await;
        return Ok(());
    }
    modify(machine, name, shell, home).await
}

async fn modify(machine: &Machine, name: &str, shell: Option<&str>, home: Option<&str>) -> StepResult<()> {
    let mut arguments = Vec::new();
    arguments.extend(shell.iter().flat_map(|shell| ["--shell", shell]));
    arguments.extend(home.iter().flat_map(|home| ["--home", home]));
    arguments.extend(["--", name]);
    machine.must_run("usermod", &arguments).await
}

fn require(name: &str, before: &Before) -> StepResult<()> {
    if before.exists { Ok(()) } else { Err(StepFailure::new(format!("there is no user {name} on this machine"))) }
}

fn missing(groups: &[String], before: &Before) -> Vec<String> {
    groups.iter().filter(|group| !before.groups.contains(group)).cloned().collect()
}

fn present(groups: &[String], before: &Before) -> Vec<String> {
    groups.iter().filter(|group| before.groups.contains(group)).cloned().collect()
}

async fn create(machine: &Machine, name: &str, shell: Option<&str>, home: Option<&str>) -> StepResult<()> {
    if is_installed("useradd") {
        let mut arguments = vec!["--create-home"];
        arguments.extend(shell.iter().flat_map(|shell| ["--shell", shell]));
        arguments.extend(home.iter().flat_map(|home| ["--home-dir", home]));
        arguments.extend(["--", name]);
        return machine.must_run("useradd", &arguments).await;
    }
    let mut arguments = vec!["-D"];
    arguments.extend(shell.iter().flat_map(|shell| ["-s", shell]));
    arguments.extend(home.iter().flat_map(|home| ["-h", home]));
    arguments.push(name);
    machine.must_run("adduser", &arguments).await
}

async fn delete(machine: &Machine, name: &str) -> StepResult<()> {
    let program = if is_installed("userdel") { "userdel" } else { "deluser" };
    machine.must_run(program, &[name]).await
}

async fn add_groups(machine: &Machine, name: &str, groups: &[String]) -> StepResult<()> {
    for group in groups {
        if is_installed("usermod") {
            machine.must_run("usermod", &["--append", "--groups", group, "--", name]).await?;
        } else {
            machine.must_run("addgroup", &[name, group]).await?;
        }
    }
    Ok(())
}

async fn remove_groups(machine: &Machine, name: &str, groups: &[String]) -> StepResult<()> {
    for group in groups {
        if is_installed("gpasswd") {
            machine.must_run("gpasswd", &["--delete", name, group]).await?;
        } else {
            machine.must_run("delgroup", &[name, group]).await?;
        }
    }
    Ok(())
}
