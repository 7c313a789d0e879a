//! One try to carry out a deployment: what it is about, and how it ends.

use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::sync::Arc;

use uuid::Uuid;
use windlass_api::{DeploymentKind, DeploymentState, Failure, LogStep};
use windlass_durable::kill_point;
use windlass_store::applications::{self, Application};
use windlass_store::containers::{self, Container, Stage};
use windlass_store::deployments::{self, Deployment};

use super::failure::{Interruption, Result};
use super::hold_limit::Hold;
use crate::host::Host;
use crate::jobs::Held;
use crate::logs::Secrets;
use crate::logs::work_log::{self, Log, OF_DEPLOYMENT, Writer};
use crate::mounts::Mounted;
use crate::service::audit::{Action, Actor, Change, Resource};
use crate::service::states;
use crate::service::work::Work;
use crate::subject::Subject;

/// The log of what a deployment is about.
pub fn open_log(host: &Host, subject: &Subject, step: LogStep) -> (Log, Writer) {
    let ids = (subject.application.id, subject.deployment.id);
    work_log::open(host.app.clone(), ids, Secrets::of(subject), step, OF_DEPLOYMENT)
}

pub struct Attempt<'a> {
    pub host: &'a Arc<Host>,
    pub held: &'a Held,
    subject: Subject,
    pub log: Log,
    pub secrets: Secrets,
    /// What its containers have of volumes. Empty until they are about to be made.
    pub mounts: Vec<Mounted>,
    /// As which user the image runs; empty for root.
    pub image_user: String,
    /// While visitors wait for it.
    pub hold: Option<Hold>,
    pub(super) writer: Writer,
}

impl<'a> Attempt<'a> {
    pub async fn begin(host: &'a Arc<Host>, held: &'a Held, deployment_id: Uuid) -> Result<Self> {
        kill_point::reached("deploy-claimed");
        let mut subject = Subject::load(&host.app, deployment_id).await?;
        let is_of_live = matches!(subject.deployment.kind, DeploymentKind::Restart | DeploymentKind::Restore);
        if is_of_live && follow_live(held, &subject).await? {
            subject = Subject::load(&host.app, subject.deployment.id).await?;
        }
        let (secrets, (log, writer)) = (Secrets::of(&subject), open_log(host, &subject, LogStep::Queue));
        let (mounts, image_user) = (Vec::new(), String::new());
        Ok(Self { host, held, subject, log, secrets, mounts, image_user, hold: None, writer })
    }

    pub fn is_built(&self) -> bool {
        self.release.artifact.is_some()
    }

    /// Where the tree of this attempt is, and of no other.
    pub fn folder(&self) -> PathBuf {
        self.host.work_dir().join(format!("{}-{}", self.deployment.id, self.held.job.fence))
    }

    /// How it ended is as important as who began it.
    pub fn record_outcome(&self, work: &mut Work<'_>, outcome: &str, failure: Option<Failure>) {
        let Subject { application, deployment, release, .. } = &self.subject;
        record_outcome(work, application, deployment, outcome, failure, &release.commit_hash);
    }

    /// How an attempt before this one was about to end, if it came that far.
    pub async fn stored_outcome(&self) -> Result<Option<Interruption>> {
        if let Ok(class) = Failure::try_from(self.deployment.failure.as_str()) {
            return Ok(Some(Interruption::Failed(class, self.deployment.reason.clone())));
        }
        Ok(self.held.is_cancel_requested().await?.then_some(Interruption::Cancelled))
    }

    /// The instances that visitors are sent to already, when an attempt before this one came as far as the switch.
    pub async fn live_instances(&self) -> Result<Option<Vec<Container>>> {
        if self.application.live_deployment_id != Some(self.deployment.id) {
            return Ok(None);
        }
        let rows = containers::instances_of(&mut self.host.app.db.read().await?, &[self.deployment.id]).await?;
        Ok(Some(rows.into_iter().filter(|row| row.stage == Stage::Live).collect()))
    }

    /// Carries out a step, and ends it in time if visitors wait for it.
    pub async fn in_time<T>(&self, what: &str, step: impl Future<Output = Result<T>>) -> Result<T> {
        match &self.hold {
            Some(hold) => hold.during(what, step).await,
            None => step.await,
        }
    }

    /// The deployment's next state, visible from now on.
    pub async fn advance(&mut self, to: DeploymentState) -> Result<()> {
        let mut work = self.held.begin().await?;
        self.advance_in(&mut work, to).await?;
        work.commit().await?;
        Ok(())
    }

    pub async fn advance_in(&mut self, work: &mut Work<'_>, to: DeploymentState) -> Result<()> {
        if self.deployment.state != to {
            if !states::advance(work, &self.application, &self.deployment, to).await? {
                return Err(Interruption::Lost);
            }
            self.deployment.state = to;
        }
        Ok(())
    }
}

impl Deref for Attempt<'_> {
    type Target = Subject;

    fn deref(&self) -> &Subject {
        &self.subject
    }
}

impl DerefMut for Attempt<'_> {
    fn deref_mut(&mut self) -> &mut Subject {
        &mut self.subject
    }
}

/// A restart or a restore is of what is live when its turn comes, not of what was when it was asked for. True when that is another release.
async fn follow_live(held: &Held, subject: &Subject) -> Result<bool> {
    let mut work = held.begin().await?;
    let application = applications::get(&mut work, subject.application.id).await?.ok_or(Interruption::Lost)?;
    let live = match application.live_deployment_id {
        Some(live) => deployments::get(&mut work, live).await?,
        None => None,
    };
    let Some(live) = live.filter(|live| live.release_id != subject.deployment.release_id) else { return Ok(false) };
    deployments::set_release(&mut work, subject.deployment.id, live.release_id).await?;
    work.commit().await?;
    Ok(true)
}

/// The audit entry of a deployment that is over.
pub fn record_outcome(
    work: &mut Work<'_>,
    application: &Application,
    deployment: &Deployment,
    outcome: &str,
    failure: Option<Failure>,
    commit_hash: &str,
) {
    let change = Change {
        organization_id: Some(application.organization_id),
        action: Action::Update,
        resource: Resource::Deployment,
        resource_id: deployment.id,
        summary: &format!("{outcome} {}", application.name),
        details: &[
            ("application", &application.name),
            ("application_id", &application.id.to_string()),
            ("kind", deployment.kind.as_str()),
            ("failure", failure.map_or("", Failure::as_str)),
            ("commit_hash", commit_hash),
        ],
    };
    work.record(&Actor::Server, &change);
}
