//! What a step needs beyond the containers of its organization, in plain words.

use windlass_compose::{Danger, Service};

use crate::action::{Action, FileAction, PackageState, ResolvedStep, ServiceChange, UserAction};

impl ResolvedStep {
    /// Why the step needs access to the host. Empty if it does not.
    pub fn needs_host_access(&self) -> Vec<String> {
        if self.skipped.is_some() {
            return Vec::new();
        }
        match &self.action {
            Action::Command { user: Some(user), .. } => vec![format!("runs a command on the host as the user {user}")],
            Action::Command { user: None, .. } => vec!["runs a command on the host".into()],
            Action::File(action) => vec![file(action)],
            Action::Service { name, change } => vec![format!("{} the service {name} on the host", change.verb())],
            Action::User(action) => vec![user(action)],
            Action::Package { names, state } => {
                let verb = match state {
                    PackageState::Present => "installs",
                    PackageState::Absent => "removes",
                    PackageState::Latest => "installs or upgrades",
                };
                vec![format!("{verb} on the host: {}", names.join(", "))]
            }
            Action::Up { project } => project.services.iter().flat_map(dangers).collect(),
            Action::UpFile { path } => {
                vec![format!("reads {} of the host and starts what is written there", path.display())]
            }
            Action::Skipped
            | Action::Pull { .. }
            | Action::Start { .. }
            | Action::Stop { .. }
            | Action::Remove { .. }
            | Action::Down
            | Action::Route { .. }
            | Action::Unroute { .. }
            | Action::WaitSeconds(_)
            | Action::WaitFor { .. } => Vec::new(),
        }
    }
}

impl ServiceChange {
    fn verb(self) -> &'static str {
        match self {
            Self::Start => "starts",
            Self::Stop => "stops",
            Self::Restart => "restarts",
            Self::Reload => "reloads",
            Self::Enable => "enables",
            Self::Disable => "disables",
        }
    }
}

/// Each as a sentence about the service.
fn dangers(service: &Service) -> Vec<String> {
    let sentence = |danger: Danger| format!("the container {} {}", service.name, danger.what);
    service.dangers().into_iter().map(sentence).collect()
}

fn file(action: &FileAction) -> String {
    match action {
        FileAction::MakeDirectory { path, .. } => format!("makes the directory {} on the host", path.display()),
        FileAction::Write { path, .. } => format!("writes the file {} on the host", path.display()),
        FileAction::Copy { from, to, .. } => format!("copies {} to {} on the host", from.display(), to.display()),
        FileAction::Move { from, to } => format!("moves {} to {} on the host", from.display(), to.display()),
        FileAction::Delete { path } => format!("deletes {} on the host", path.display()),
    }
}

fn user(action: &UserAction) -> String {
    match action {
        UserAction::Ensure { name, .. } => format!("makes or changes the user {name} on the host"),
        UserAction::Delete { name } => format!("deletes the user {name} on the host"),
        UserAction::AddGroups { name, groups } => format!("puts the user {name} into groups: {}", groups.join(", ")),
        UserAction::RemoveGroups { name, groups } => {
            format!("takes the user {name} out of groups: {}", groups.join(", "))
        }
    }
}
