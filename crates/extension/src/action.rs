//! What a step does, with every value in its place.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use windlass_compose::Project;

use crate::extension::{Phase, StepType};

/// A step with every value in its place.
#[derive(Clone, Debug)]
pub struct ResolvedStep {
    pub name: String,
    pub phase: Phase,
    pub kind: StepType,
    pub timeout: Duration,
    pub ignore_errors: bool,
    /// Why it is not done: the condition that does not hold, or the blank domain.
    pub skipped: Option<String>,
    pub action: Action,
}

#[derive(Clone, PartialEq)]
pub enum Action {
    /// For a step that is skipped and whose values, because they are not wanted, make no sense. It is never done.
    Skipped,
    /// `script` and `revert` are for `/bin/sh -c`. The values come through the environment.
    Command {
        script: String,
        revert: Option<String>,
        user: Option<String>,
        environment: Vec<(String, String)>,
    },
    File(FileAction),
    Service {
        name: String,
        change: ServiceChange,
    },
    User(UserAction),
    Package {
        names: Vec<String>,
        state: PackageState,
    },
    Pull {
        image: String,
    },
    /// `docker run` is a project of one service.
    Up {
        project: Project,
    },
    /// A Compose document on the host: [`crate::Extension::project_of_file`] reads it when the step runs.
    UpFile {
        path: PathBuf,
    },
    Start {
        service: String,
    },
    Stop {
        service: String,
    },
    Remove {
        service: String,
    },
    Down,
    /// `service` is none if the extension has only one.
    Route {
        domain: String,
        service: Option<String>,
        port: u16,
    },
    Unroute {
        domain: String,
    },
    WaitSeconds(u64),
    WaitFor {
        service: String,
        port: Option<u16>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// A name or a number.
    pub user: String,
    pub group: Option<String>,
}

/// Paths are absolute, without `.` and `..`.
#[derive(Clone, PartialEq, Eq)]
pub enum FileAction {
    MakeDirectory { path: PathBuf, mode: Option<u32>, owner: Option<Owner> },
    Write { path: PathBuf, content: String, mode: Option<u32>, owner: Option<Owner> },
    Copy { from: PathBuf, to: PathBuf, mode: Option<u32>, owner: Option<Owner> },
    Move { from: PathBuf, to: PathBuf },
    Delete { path: PathBuf },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceChange {
    Start,
    Stop,
    Restart,
    Reload,
    Enable,
    Disable,
}

impl ServiceChange {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Stop => "stop",
            Self::Restart => "restart",
            Self::Reload => "reload",
            Self::Enable => "enable",
            Self::Disable => "disable",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserAction {
    /// Makes the user, or gives an existing one the shell, the home and the groups that are named here.
    Ensure {
        name: String,
        shell: Option<PathBuf>,
        home: Option<PathBuf>,
        groups: Vec<String>,
    },
    Delete {
        name: String,
    },
    AddGroups {
        name: String,
        groups: Vec<String>,
    },
    RemoveGroups {
        name: String,
        groups: Vec<String>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackageState {
    Present,
    Absent,
    Latest,
}

/// Scripts, contents and environments hold secrets, so only what kind of action it is shows.
impl fmt::Debug for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Skipped => f.write_str("Skipped"),
            Self::Command { script, user, .. } => write!(f, "Command({script:?} as {user:?})"),
            Self::File(action) => write!(f, "File({action:?})"),
            Self::Service { name, change } => write!(f, "Service({name}, {change:?})"),
            Self::User(action) => write!(f, "User({action:?})"),
            Self::Package { names, state } => write!(f, "Package({names:?}, {state:?})"),
            Self::Pull { image } => write!(f, "Pull({image})"),
            Self::Up { project } => write!(f, "Up({:?})", project.services),
            Self::UpFile { path } => write!(f, "UpFile({})", path.display()),
            Self::Start { service } => write!(f, "Start({service})"),
            Self::Stop { service } => write!(f, "Stop({service})"),
            Self::Remove { service } => write!(f, "Remove({service})"),
            Self::Down => f.write_str("Down"),
            Self::Route { domain, service, port } => write!(f, "Route({domain}, {service:?}, {port})"),
            Self::Unroute { domain } => write!(f, "Unroute({domain})"),
            Self::WaitSeconds(seconds) => write!(f, "WaitSeconds({seconds})"),
            Self::WaitFor { service, port } => write!(f, "WaitFor({service}, {port:?})"),
        }
    }
}

impl fmt::Debug for FileAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MakeDirectory { path, .. } => write!(f, "MakeDirectory({})", path.display()),
            Self::Write { path, .. } => write!(f, "Write({})", path.display()),
            Self::Copy { from, to, .. } => write!(f, "Copy({}, {})", from.display(), to.display()),
            Self::Move { from, to } => write!(f, "Move({}, {})", from.display(), to.display()),
            Self::Delete { path } => write!(f, "Delete({})", path.display()),
        }
    }
}
