//! Containers that are paused while their volume is read.

use windlass_runtime::State;
use windlass_store::containers::{self, Container, Purpose, Stage};

use super::attempt::Attempt;
use super::failure::{Interruption, Result};
use super::hold;
use crate::host::Host;

/// Containers whose processes get no time.
pub struct Paused<'a> {
    host: &'a Host,
    names: Vec<String>,
}

impl<'a> Paused<'a> {
    pub const fn none(host: &'a Host) -> Self {
        Self { host, names: Vec::new() }
    }

    pub async fn pause(&mut self, running: &[Container]) -> Result<()> {
        for container in running {
            match self.host.pause_container(&container.name).await {
                Ok(()) => self.names.push(container.name.clone()),
                Err(windlass_runtime::Error::NotFound { .. } | windlass_runtime::Error::Conflict { .. }) => {
                    self.pass_over(container).await?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// One that does not run just now writes nothing, unless it is about to.
    async fn pass_over(&mut self, container: &Container) -> Result<()> {
        let state = self.host.container(&container.name).await?.map(|found| found.state);
        if state == Some(State::Paused) {
            // By a worker before this one, which was killed.
            self.names.push(container.name.clone());
        } else if hold::is_command(container) && may_begin(state) {
            return Err(Interruption::Later(format!("the command in {} is about to begin", container.name)));
        }
        Ok(())
    }

    /// Fails unless they were paused all the time: another program may have unpaused one.
    pub async fn check(&self) -> Result<()> {
        for name in &self.names {
            let state = self.host.container(name).await?.map(|found| found.state);
            if state == Some(State::Running) {
                return Err(Interruption::Later(format!("{name} was unpaused while its volume was read")));
            }
        }
        Ok(())
    }

    pub async fn unpause(mut self) -> Result<()> {
        while let Some(name) = self.names.last() {
            self.host.unpause_container(name).await?;
            self.names.pop();
        }
        Ok(())
    }
}

/// Whether a container with a row that could not be paused may run soon. A command is started once.
fn may_begin(state: Option<State>) -> bool {
    !matches!(state, Some(State::Exited | State::Dead | State::Removing))
}

/// A worker that is stopped in the middle must not leave them paused.
impl Drop for Paused<'_> {
    fn drop(&mut self) {
        if !self.names.is_empty() {
            self.host.unpause_soon(std::mem::take(&mut self.names));
        }
    }
}

/// A worker that was killed may have left live containers paused, which serve no visitor meanwhile, or those of commands.
pub async fn unpause_all(attempt: &Attempt<'_>) -> Result<()> {
    let rows = containers::of_application(&mut attempt.host.app.db.read().await?, attempt.application.id).await?;
    for row in rows.iter().filter(|row| row.stage == Stage::Live || row.purpose == Purpose::Run) {
        attempt.host.unpause_container(&row.name).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_was_not_started_yet_may_begin() {
        for state in [None, Some(State::Created), Some(State::Running), Some(State::Restarting)] {
            assert!(may_begin(state), "{state:?}");
        }
        for state in [State::Exited, State::Dead, State::Removing] {
            assert!(!may_begin(Some(state)), "{state:?}");
        }
    }
}
