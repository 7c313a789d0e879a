//! How an attempt ends: nothing of one that did not succeed remains, and its deployment says why. The reason is stored before
//! anything is removed, so that whoever goes on after a crash cannot come to another.

use std::path::Path;

use windlass_api::{ContainerStatus, DeploymentState, Failure};
use windlass_durable::kill_point;
use windlass_store::jobs::{self, Job};
use windlass_store::{applications, containers, deployments, releases};

use super::attempt::{Attempt, begin_work, check_held, image_tag};
use super::failure::{Interruption, Result};
use super::git;
use crate::engine::Engine;
use crate::logs::text;

/// More is not read by anybody.
const LONGEST_REASON: usize = 2_000;
/// How often the engine may be lost during one deployment: its build may be what ends the engine.
const MOST_TRIES: i64 = 5;

impl Attempt<'_> {
    pub async fn conclude(mut self, outcome: Result<()>) -> Result<()> {
        if let Err(Interruption::EngineLost(words)) = &outcome {
            self.engine.note_lost(words);
        }
        let ended = match self.bounded(outcome) {
            Ok(()) => Ok(()),
            Err(Interruption::Failed(class, words)) => {
                let words = for_people(&self.secrets.mask(&words));
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
            Err(Interruption::EngineLost(words)) if self.job.engine_losses + 1 >= MOST_TRIES => {
                let words = format!(
                    "{words}. It was lost {} times during this deployment. The engine's own log (journalctl -u docker) says why it stopped; \
                     the build may have used up the memory.",
                    self.job.engine_losses + 1
                );
                Err(Interruption::Failed(Failure::EngineUnreachable, words))
            }
            outcome => outcome,
        }
    }

    async fn end(&mut self, state: DeploymentState, class: Option<Failure>, words: &str) -> Result<()> {
        let mut tx = self.begin_work().await?;
        deployments::explain(&mut tx, self.deployment.id, class, words).await?;
        containers::leave(&mut tx, self.deployment.id).await?;
        tx.commit().await?;
        kill_point::reached("end-explained");
        let is_clean = self.clean_up().await;
        let mut tx = self.begin_change().await?;
        let outcome = if class.is_some() { "could not deploy" } else { "cancelled a deployment of" };
        self.record_outcome(&mut tx, outcome, class);
        let now = self.engine.app.now();
        if is_clean {
            for container in containers::of_deployment(&mut tx, self.deployment.id).await? {
                containers::delete(&mut tx, container.id, now).await?;
            }
            if self.deployment.container_status != ContainerStatus::None {
                deployments::observe_container(&mut tx, self.deployment.id, ContainerStatus::Removed, now).await?;
            }
        }
        if self.owns_release() {
            releases::set_removed(&mut tx, self.release.id, now).await?;
        }
        self.advance_in(&mut tx, state).await?;
        jobs::delete(&mut tx, &self.job).await?;
        if state == DeploymentState::Cancelled {
            applications::fall_back_to_stopped(&mut tx, self.application.id).await?;
        }
        applications::settle(&mut tx, self.application.id, now).await?;
        tx.commit().await?;
        Ok(())
    }

    fn owns_release(&self) -> bool {
        self.release.id == self.deployment.id
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
        let rows = containers::of_deployment(&mut self.engine.app.db.read().await?, self.deployment.id).await?;
        for container in rows {
            check_held(self.engine, &self.job).await?;
            self.engine.remove_container(&container.name).await?;
        }
        kill_point::reached("end-containers-gone");
        if self.owns_release() {
            check_held(self.engine, &self.job).await?;
            self.engine.docker.remove_image(&image_tag(self.application.id, self.deployment.id)).await?;
        }
        kill_point::reached("end-image-gone");
        Ok(())
    }
}

/// For an attempt that cannot even begin, because what is stored of it cannot be read. Without a class it is cancelled.
pub async fn end_unread(engine: &Engine, job: &Job, class: Option<Failure>, words: &str) -> Result<()> {
    let (mut tx, now) = (begin_work(engine, job).await?, engine.app.now());
    let id = job.deployment_id.unwrap_or_default();
    let deployment = deployments::get(&mut tx, id).await?.ok_or(Interruption::Lost)?;
    let application = applications::get(&mut tx, job.application_id).await?.ok_or(Interruption::Lost)?;
    if application.live_deployment_id == Some(id) {
        // Visitors are served by it; there is no way back.
        return Err(Interruption::Later(words.to_owned()));
    }
    let state = if class.is_some() { DeploymentState::Failed } else { DeploymentState::Cancelled };
    containers::leave(&mut tx, id).await?;
    // Does nothing where the release is another deployment's.
    releases::set_removed(&mut tx, id, now).await?;
    deployments::explain(&mut tx, id, class, &for_people(words)).await?;
    deployments::advance(&mut tx, id, deployment.state, state, now).await?;
    jobs::delete(&mut tx, job).await?;
    applications::settle(&mut tx, job.application_id, now).await?;
    tx.commit().await?;
    Ok(())
}

/// Some of the words are a program's own: they have no bound, they may steer a terminal, and not every database takes every
/// character.
fn for_people(words: &str) -> String {
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
        assert_eq!(for_people("boom\0"), "boom\u{2400}");
        assert_eq!(for_people("\u{1b}[31mred\u{1b}[0m\nsecond\r\n"), "red\nsecond");
        let long = for_people(&"ä".repeat(3_000));
        assert_eq!(long.chars().count(), LONGEST_REASON + 4);
        assert!(long.ends_with(" ..."));
    }
}
