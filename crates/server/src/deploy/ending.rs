//! How an attempt ends: nothing of one that did not succeed remains, and its deployment says why. The reason is stored before
//! anything is removed, so that the worker that goes on after a crash cannot come to another.

use std::path::Path;
use std::time::Duration;

use uuid::Uuid;
use windlass_api::{ContainerStatus, DeploymentState, Failure};
use windlass_durable::kill_point;
use windlass_store::{applications, containers, deployments, releases};

use super::attempt::{Attempt, record_outcome};
use super::failure::{Interruption, Result};
use super::git;
use super::{build, hold, resume, site};
use crate::host::Host;
use crate::jobs::Held;
use crate::logs::text;
use crate::service::{queue, snapshots, states};

/// More is not read by people.
const LONGEST_REASON: usize = 2_000;
/// How often the engine may be lost during one deployment: its build may be what ends the engine.
const MOST_TRIES: i64 = 5;

impl Attempt<'_> {
    pub async fn conclude(mut self, outcome: Result<()>) -> Result<()> {
        if let Err(Interruption::EngineLost(words)) = &outcome {
            self.host.note_lost(words);
        }
        let ended = match self.bounded(outcome) {
            Ok(()) => Ok(()),
            Err(Interruption::Failed(class, words)) => {
                let words = bounded_reason(&self.secrets.mask(&words));
                for line in format!("Failed: {words}").lines() {
                    self.log.note(line).await;
                }
                self.end(DeploymentState::Failed, Some(class), &words).await
            }
            Err(Interruption::Cancelled) => {
                self.log.note("Cancelled.").await;
                self.end(DeploymentState::Cancelled, None, "cancelled on request").await
            }
            Err(Interruption::EngineLost(words)) => {
                self.log.note(format!("Interrupted: {words}. It goes on when the engine answers.")).await;
                Err(Interruption::EngineLost(words))
            }
            Err(Interruption::Later(words)) => {
                self.log.note(format!("Interrupted, and tried again in a moment: {words}")).await;
                Err(Interruption::Later(words))
            }
            Err(Interruption::Lost) => Err(Interruption::Lost),
        };
        remove_folder(&self.folder()).await;
        let Self { log, writer, .. } = self;
        drop(log);
        writer.finish().await;
        ended
    }

    /// What is not tried again any more has failed.
    fn bounded(&self, outcome: Result<()>) -> Result<()> {
        match outcome {
            Err(Interruption::EngineLost(words)) if self.held.job.attempts + 1 >= MOST_TRIES => {
                let words = format!(
                    "{words}. It was lost {} times during this deployment. The engine's own log (journalctl -u docker) says why it stopped; \
                     the build may have used up the memory.",
                    self.held.job.attempts + 1
                );
                Err(Interruption::Failed(Failure::EngineUnreachable, words))
            }
            outcome => outcome,
        }
    }

    async fn end(&mut self, state: DeploymentState, class: Option<Failure>, words: &str) -> Result<()> {
        let mut tx = self.held.begin().await?;
        deployments::explain(&mut tx, self.deployment.id, class, words).await?;
        containers::leave(&mut tx, self.deployment.id).await?;
        tx.commit().await?;
        kill_point::reached("end-explained");
        self.let_through().await;
        let is_clean = self.clean_up().await;
        let mut work = self.held.begin().await?;
        // Not as this attempt remembers it: it may have been called off while it stored the next state.
        let stored = deployments::get(&mut work, self.deployment.id).await?.ok_or(Interruption::Lost)?;
        (self.deployment.state, self.deployment.container_status) = (stored.state, stored.container_status);
        self.record_outcome(&mut work, outcome_words(class), class);
        let now = self.host.app.now();
        if is_clean {
            for container in containers::of_deployment(&mut work, self.deployment.id).await? {
                containers::delete(&mut work, container.id, now).await?;
            }
            if self.deployment.container_status != ContainerStatus::None {
                deployments::observe_container(&mut work, self.deployment.id, ContainerStatus::Removed, now).await?;
            }
        }
        if self.owns_release() {
            releases::set_removed(&mut work, self.release.id, now).await?;
        }
        snapshots::end_of_deployment(&mut work, &self.application, self.deployment.id).await?;
        if !states::end(&mut work, &self.application, &self.deployment, state, class, words).await? {
            return Err(Interruption::Lost);
        }
        if hold::are_waiting(&mut work, self.application.id).await? {
            work.enqueue(&queue::resume(&self.application, self.host.app.new_id())).await?;
        }
        self.held.done(&mut work).await?;
        if state == DeploymentState::Cancelled {
            states::fall_back_to_stopped(&mut work, self.application.id).await?;
        }
        states::settle(&mut work, self.application.id).await?;
        work.commit().await?;
        Ok(())
    }

    fn owns_release(&self) -> bool {
        self.release.id == self.deployment.id
    }

    /// What this deployment has made ends, and the containers before serve again if they were stopped for it.
    async fn let_through(&mut self) {
        let resumed = async {
            let rows = containers::of_deployment(&mut self.host.app.db.read().await?, self.deployment.id).await?;
            for container in rows {
                self.held.check().await?;
                self.host.stop_container(&container.name, Duration::ZERO).await?;
            }
            resume::resume(self.host, self.held).await
        };
        if let Err(problem) = resumed.await {
            tracing::warn!(?problem, "what was stopped for a deployment could not be started again yet");
        } else if let Err(problem) = hold::note_wait(self).await {
            tracing::warn!(?problem, "how long visitors waited could not be stored");
        }
    }

    /// What cannot be removed now is removed when the engine answers again.
    async fn clean_up(&self) -> bool {
        let cleaned = self.remove_traces().await;
        if let Err(problem) = &cleaned {
            tracing::warn!(?problem, "a deployment left something behind, which is removed later");
        }
        cleaned.is_ok()
    }

    async fn remove_traces(&self) -> Result<()> {
        let rows = containers::of_deployment(&mut self.host.app.db.read().await?, self.deployment.id).await?;
        for container in rows {
            self.held.check().await?;
            self.host.remove_container(&container.name).await?;
        }
        kill_point::reached("end-containers-gone");
        if self.owns_release() {
            build::remove_built_images(self).await?;
            if let Some(made) = self.site() {
                site::remove_unused(self, &made.name).await?;
            }
        }
        kill_point::reached("end-image-gone");
        Ok(())
    }
}

/// For an attempt that cannot even begin, because what is stored of it cannot be read. Without a class it is cancelled.
pub async fn end_unread(host: &Host, held: &Held, id: Uuid, class: Option<Failure>, words: &str) -> Result<()> {
    let (mut work, now) = (held.begin().await?, host.app.now());
    let deployment = deployments::get(&mut work, id).await?.ok_or(Interruption::Lost)?;
    let application = applications::get(&mut work, held.application_id()).await?.ok_or(Interruption::Lost)?;
    if application.live_deployment_id == Some(id) {
        // Visitors are served by it; there is no way back.
        return Err(Interruption::Later(words.to_owned()));
    }
    let state = if class.is_some() { DeploymentState::Failed } else { DeploymentState::Cancelled };
    containers::leave(&mut work, id).await?;
    // Does nothing where the release is another deployment's.
    releases::set_removed(&mut work, id, now).await?;
    states::end(&mut work, &application, &deployment, state, class, &bounded_reason(words)).await?;
    record_outcome(&mut work, &application, &deployment, outcome_words(class), class, "");
    snapshots::end_of_deployment(&mut work, &application, id).await?;
    if hold::are_waiting(&mut work, application.id).await? {
        work.enqueue(&queue::resume(&application, host.app.new_id())).await?;
    }
    held.done(&mut work).await?;
    states::settle(&mut work, application.id).await?;
    work.commit().await?;
    Ok(())
}

fn outcome_words(class: Option<Failure>) -> &'static str {
    if class.is_some() { "could not deploy" } else { "cancelled a deployment of" }
}

/// Some of the words are a program's own: they have no bound, they may steer a terminal, and not every database takes every
/// character.
pub fn bounded_reason(words: &str) -> String {
    let lines: Vec<_> = words.lines().map(text::clean).collect();
    let plain = lines.join("\n");
    let mut characters = plain.chars();
    let mut text: String = characters.by_ref().take(LONGEST_REASON).collect();
    if characters.next().is_some() {
        text.push_str(" ...");
    }
    text
}

/// The tree, and what may still be writing to it.
async fn remove_folder(folder: &Path) {
    if let Err(error) = git::end_left_over(folder).await {
        tracing::warn!(%error, "a folder of a deployment could not be removed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_bounded_and_fit_for_every_database() {
        assert_eq!(bounded_reason("boom\0"), "boom\u{2400}");
        assert_eq!(bounded_reason("\u{1b}[31mred\u{1b}[0m\nsecond\r\n"), "red\nsecond");
        let long = bounded_reason(&"ä".repeat(3_000));
        assert_eq!(long.chars().count(), LONGEST_REASON + 4);
        assert!(long.ends_with(" ..."));
    }
}
