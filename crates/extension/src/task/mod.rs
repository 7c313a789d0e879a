//! What a step is to do: read from its properties, and later made into an action with the values.

mod arguments;
mod host;
mod network;
pub(crate) mod shape;
mod up;

use crate::action::Action;
use crate::check::Properties;
use crate::extension::{Extension, StepType};
use crate::field::Resolving;

pub(crate) use host::HostTask;
pub(crate) use network::NetworkTask;
pub(crate) use up::{Document, UpTask};

#[derive(Clone, Debug)]
pub(crate) enum Task {
    Host(HostTask),
    Network(NetworkTask),
    Up(UpTask),
}

/// What is to be done, or why nothing is.
pub(crate) enum Outcome {
    Do(Action),
    Skip(&'static str),
}

impl Task {
    /// None if there is a problem.
    pub fn read(properties: &mut Properties<'_, '_>) -> Option<Self> {
        match properties.kind() {
            StepType::Command | StepType::File | StepType::Service | StepType::User | StepType::Package => {
                HostTask::read(properties).map(Self::Host)
            }
            StepType::Docker if properties.action() == Some("run") => UpTask::read_run(properties).map(Self::Up),
            StepType::DockerCompose if properties.action() == Some("up") => {
                UpTask::read_compose(properties).map(Self::Up)
            }
            StepType::Docker | StepType::DockerCompose | StepType::Proxy | StepType::Wait => {
                NetworkTask::read(properties).map(Self::Network)
            }
        }
    }

    /// Whether something stays that belongs to the installation.
    pub fn lasts(&self) -> bool {
        matches!(self, Self::Up(_) | Self::Network(NetworkTask::Route { .. }))
    }

    /// None if there is a problem.
    pub fn resolve(&self, extension: &Extension, resolving: &mut Resolving<'_>) -> Option<Outcome> {
        match self {
            Self::Host(task) => task.resolve(extension, resolving).map(Outcome::Do),
            Self::Network(task) => task.resolve(resolving),
            Self::Up(task) => task.resolve(resolving).map(Outcome::Do),
        }
    }
}
