//! Steps that change the host: command, file, service, user, package.

use std::path::PathBuf;

use crate::action::{Action, FileAction, Owner, PackageState, ServiceChange, UserAction};
use crate::check::Properties;
use crate::extension::{Extension, StepType};
use crate::field::{Field, INSTALLATION_NAME, Resolving};
use crate::rules;

type OwnerField = Field<(String, Option<String>)>;

#[derive(Clone, Debug)]
pub(crate) enum HostTask {
    Command { script: String, revert: Option<String>, user: Option<Field<String>> },
    File(FileTask),
    Service { name: Field<String>, change: ServiceChange },
    User(UserTask),
    Package { names: Vec<Field<String>>, state: PackageState },
}

#[derive(Clone, Debug)]
pub(crate) enum FileTask {
    MakeDirectory(Target),
    Write { target: Target, content: Field<String> },
    Copy { from: Field<PathBuf>, target: Target },
    Move { from: Field<PathBuf>, to: Field<PathBuf> },
    Delete(Field<PathBuf>),
}

/// What is made, and how it is to be.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    path: Field<PathBuf>,
    mode: Option<Field<u32>>,
    owner: Option<OwnerField>,
}

#[derive(Clone, Debug)]
pub(crate) struct UserTask {
    name: Field<String>,
    shell: Option<Field<PathBuf>>,
    home: Option<Field<PathBuf>>,
    groups: Vec<Field<String>>,
    change: UserChange,
}

#[derive(Clone, Copy, Debug)]
enum UserChange {
    Ensure,
    Delete,
    AddGroups,
    RemoveGroups,
}

impl HostTask {
    pub fn read(properties: &mut Properties<'_, '_>) -> Option<Self> {
        match properties.kind() {
            StepType::Command => command(properties),
            StepType::File => file(properties).map(Self::File),
            StepType::Service => service(properties),
            StepType::User => user(properties).map(Self::User),
            _ => package(properties),
        }
    }

    pub fn resolve(&self, extension: &Extension, resolving: &mut Resolving<'_>) -> Option<Action> {
        match self {
            Self::Command { script, revert, user } => Some(Action::Command {
                script: script.clone(),
                revert: revert.clone(),
                user: resolving.optional(user.as_ref())?,
                environment: environment(extension, resolving),
            }),
            Self::File(task) => task.resolve(resolving).map(Action::File),
            Self::Service { name, change } => Some(Action::Service { name: resolving.field(name)?, change: *change }),
            Self::User(task) => task.resolve(resolving).map(Action::User),
            Self::Package { names, state } => {
                Some(Action::Package { names: resolving.some_items(names)?, state: *state })
            }
        }
    }
}

/// Every variable, because a script may also use them by their name: `$name`.
fn environment(extension: &Extension, resolving: &Resolving<'_>) -> Vec<(String, String)> {
    let names = extension.variables.iter().map(|variable| variable.name.as_str());
    let pair = |name: &str| Some((name.to_owned(), resolving.value(name)?.into_owned()));
    names.chain([INSTALLATION_NAME]).filter_map(pair).collect()
}

fn command(properties: &mut Properties<'_, '_>) -> Option<HostTask> {
    let script = properties.script("cmd");
    let revert = properties.script("revert_cmd");
    let user = properties.field("user", rules::user_name);
    Some(HostTask::Command { script: script?, revert, user })
}

fn file(properties: &mut Properties<'_, '_>) -> Option<FileTask> {
    match properties.action()? {
        "mkdir" => Some(FileTask::MakeDirectory(target(properties)?)),
        "write" => {
            let content = properties.field("content", rules::any_text);
            Some(FileTask::Write { target: target(properties)?, content: content? })
        }
        "copy" => {
            let from = properties.field("src", rules::path);
            Some(FileTask::Copy { target: target(properties)?, from: from? })
        }
        "move" => {
            let (from, to) = (properties.field("src", rules::inner_path), properties.field("dest", rules::path));
            Some(FileTask::Move { from: from?, to: to? })
        }
        _ => properties.field("dest", rules::inner_path).map(FileTask::Delete),
    }
}

fn target(properties: &mut Properties<'_, '_>) -> Option<Target> {
    let path = properties.field("dest", rules::path);
    properties.wants_text("mode");
    let (mode, owner) = (properties.field("mode", rules::mode), properties.field("owner", rules::owner));
    Some(Target { path: path?, mode, owner })
}

fn service(properties: &mut Properties<'_, '_>) -> Option<HostTask> {
    let name = properties.field("name", rules::service_name);
    let change = match properties.action()? {
        "start" => ServiceChange::Start,
        "stop" => ServiceChange::Stop,
        "restart" => ServiceChange::Restart,
        "reload" => ServiceChange::Reload,
        "enable" => ServiceChange::Enable,
        _ => ServiceChange::Disable,
    };
    Some(HostTask::Service { name: name?, change })
}

fn user(properties: &mut Properties<'_, '_>) -> Option<UserTask> {
    let name = properties.field("username", rules::ordinary_user);
    let shell = properties.field("shell", rules::path);
    let home = properties.field("home", rules::path);
    let groups = properties.items("groups", rules::user_name);
    let change = match properties.action()? {
        "ensure" => UserChange::Ensure,
        "delete" => UserChange::Delete,
        "add_groups" => UserChange::AddGroups,
        _ => UserChange::RemoveGroups,
    };
    Some(UserTask { name: name?, shell, home, groups, change })
}

fn package(properties: &mut Properties<'_, '_>) -> Option<HostTask> {
    let names = properties.items("name", rules::package_name);
    let state = match properties.word("state", &["present", "absent", "latest"])? {
        "present" => PackageState::Present,
        "absent" => PackageState::Absent,
        _ => PackageState::Latest,
    };
    Some(HostTask::Package { names, state })
}

impl FileTask {
    fn resolve(&self, resolving: &mut Resolving<'_>) -> Option<FileAction> {
        match self {
            Self::MakeDirectory(target) => {
                let (path, mode, owner) = target.resolve(resolving)?;
                Some(FileAction::MakeDirectory { path, mode, owner })
            }
            Self::Write { target, content } => {
                let (target, content) = (target.resolve(resolving), resolving.field(content));
                let (path, mode, owner) = target?;
                Some(FileAction::Write { path, content: content?, mode, owner })
            }
            Self::Copy { from, target } => {
                let (from, target) = (resolving.field(from), target.resolve(resolving));
                let (to, mode, owner) = target?;
                Some(FileAction::Copy { from: from?, to, mode, owner })
            }
            Self::Move { from, to } => {
                let (from, to) = (resolving.field(from), resolving.field(to));
                Some(FileAction::Move { from: from?, to: to? })
            }
            Self::Delete(path) => Some(FileAction::Delete { path: resolving.field(path)? }),
        }
    }
}

impl Target {
    fn resolve(&self, resolving: &mut Resolving<'_>) -> Option<(PathBuf, Option<u32>, Option<Owner>)> {
        let path = resolving.field(&self.path);
        let mode = resolving.optional(self.mode.as_ref());
        let owner = resolving.optional(self.owner.as_ref());
        Some((path?, mode?, owner?.map(|(user, group)| Owner { user, group })))
    }
}

impl UserTask {
    fn resolve(&self, resolving: &mut Resolving<'_>) -> Option<UserAction> {
        let name = resolving.field(&self.name);
        let groups = match self.change {
            UserChange::Ensure | UserChange::Delete => resolving.items(&self.groups),
            UserChange::AddGroups | UserChange::RemoveGroups => resolving.some_items(&self.groups),
        };
        let shell = resolving.optional(self.shell.as_ref());
        let home = resolving.optional(self.home.as_ref());
        let (name, groups, shell, home) = (name?, groups?, shell?, home?);
        Some(match self.change {
            UserChange::Ensure => UserAction::Ensure { name, shell, home, groups },
            UserChange::Delete => UserAction::Delete { name },
            UserChange::AddGroups => UserAction::AddGroups { name, groups },
            UserChange::RemoveGroups => UserAction::RemoveGroups { name, groups },
        })
    }
}
