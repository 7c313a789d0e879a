//! One try to carry out a deployment: what it is about, and how it ends.

use std::ops::{Deref, DerefMut};
use std::path::PathBuf;

use serde::Deserialize;
use uuid::Uuid;
use windlass_api::{Configuration, DeploymentKind, DeploymentState, Failure, LogStep, Variables};
use windlass_durable::kill_point;
use windlass_store::Tx;
use windlass_store::applications::{self, Application};
use windlass_store::containers::{self, Container, Purpose, Stage};
use windlass_store::deployments::{self, Deployment};
use windlass_store::jobs::{self, Job};
use windlass_store::releases::{self, Release};

use super::failure::{Interruption, Result};
use super::git::Credentials;
use super::log::{self, Log, Writer};
use crate::app::App;
use crate::engine::Engine;
use crate::logs::Secrets;
use crate::service::audit::{Action, Actor, Change, Resource, Work};

/// All that a deployment is about.
pub struct Subject {
    pub application: Application,
    pub deployment: Deployment,
    pub release: Release,
    pub configuration: Configuration,
    pub variables: Variables,
    /// The application's variables, as they are now.
    secrets_now: Variables,
}

impl Subject {
    /// Its row goes with the application's: whoever deletes that has taken the job with it.
    pub async fn load(app: &App, deployment_id: Uuid) -> Result<Self> {
        let mut conn = app.db.read().await?;
        let deployment = deployments::get(&mut conn, deployment_id).await?.ok_or(Interruption::Lost)?;
        let application = applications::get(&mut conn, deployment.application_id).await?.ok_or(Interruption::Lost)?;
        let release = releases::get(&mut conn, deployment.release_id).await?.ok_or(Interruption::Lost)?;
        drop(conn);
        let configuration = read(&release.configuration)?;
        let variables = app.vault.release_variables(&release).await?;
        // Only for masking: a value that cannot be read must not keep a release from being looked after.
        let secrets_now = app.vault.application_variables(&application).await.unwrap_or_else(|error| {
            tracing::warn!(cause = error.cause, "the variables of an application cannot be read");
            Variables::default()
        });
        Ok(Self { application, deployment, release, configuration, variables, secrets_now })
    }

    /// Its log, and who writes it.
    pub fn open_log(&self, engine: &Engine, step: LogStep) -> (Log, Writer) {
        log::open(engine.app.clone(), self.application.id, self.deployment.id, self.secrets(), step)
    }

    /// What was not secret when the release was made may be by now.
    pub fn secrets(&self) -> Secrets {
        let mut marked = self.variables.clone();
        marked.secret_names.extend(self.secrets_now.secret_names.iter().cloned());
        Secrets::new(&marked, self.secrets_now.secrets())
    }
}

pub struct Attempt<'a> {
    pub engine: &'a Engine,
    pub job: Job,
    subject: Subject,
    pub log: Log,
    pub secrets: Secrets,
    pub(super) writer: Writer,
}

impl<'a> Attempt<'a> {
    pub async fn begin(engine: &'a Engine, job: &Job) -> Result<Self> {
        kill_point::reached("deploy-claimed");
        let mut subject = Subject::load(&engine.app, job.deployment_id.unwrap_or_default()).await?;
        if subject.deployment.kind == DeploymentKind::Restart && follow_live(engine, job, &subject).await? {
            subject = Subject::load(&engine.app, subject.deployment.id).await?;
        }
        let (secrets, (log, writer)) = (subject.secrets(), subject.open_log(engine, LogStep::Queue));
        Ok(Self { engine, job: job.clone(), subject, log, secrets, writer })
    }

    pub fn is_built(&self) -> bool {
        !self.release.image_id.is_empty()
    }

    pub async fn credentials(&self) -> Result<Credentials> {
        let stored = self.engine.app.vault.repository_credentials(&self.application).await?;
        let given = |text: String| Some(text).filter(|text| !text.is_empty());
        Ok(Credentials { token: given(stored.token), ssh_key: given(stored.ssh_key) })
    }

    /// Where this attempt's tree is, and nobody else's.
    pub fn folder(&self) -> PathBuf {
        self.engine.work_dir().join(format!("{}-{}", self.deployment.id, self.job.fence))
    }

    /// A transaction of whoever holds the job. It fails for everybody else.
    pub async fn begin_work(&self) -> Result<Tx> {
        begin_work(self.engine, &self.job).await
    }

    /// The same, for what belongs in the audit log.
    pub async fn begin_change(&self) -> Result<Work<'a>> {
        let mut work = self.engine.app.begin().await?;
        hold(&mut work, &self.job).await?;
        Ok(work)
    }

    /// How it ended is as important as who began it.
    pub fn record_outcome(&self, work: &mut Work<'_>, outcome: &str, failure: Option<Failure>) {
        let change = Change {
            organization_id: Some(self.application.organization_id),
            action: Action::Update,
            resource: Resource::Deployment,
            resource_id: self.deployment.id,
            summary: &format!("{outcome} {}", self.application.name),
            details: &[
                ("application", &self.application.name),
                ("application_id", &self.application.id.to_string()),
                ("kind", self.deployment.kind.as_str()),
                ("failure", failure.map_or("", Failure::as_str)),
                ("commit_hash", &self.release.commit_hash),
            ],
        };
        work.record(&Actor::server(), &change);
    }

    /// How an attempt before this one was about to end, if it came that far.
    pub fn foregone_outcome(&self) -> Option<Interruption> {
        let deployment = &self.deployment;
        if let Ok(class) = Failure::try_from(deployment.failure.as_str()) {
            return Some(Interruption::Failed(class, deployment.reason.clone()));
        }
        deployment.cancel_requested_at.map(|_| Interruption::Cancelled)
    }

    /// The container that visitors are sent to already, when an attempt before this one came as far as the switch.
    pub async fn live_container(&self) -> Result<Option<Container>> {
        if self.application.live_deployment_id != Some(self.deployment.id) {
            return Ok(None);
        }
        let rows = containers::of_deployment(&mut self.engine.app.db.read().await?, self.deployment.id).await?;
        Ok(rows.into_iter().find(|row| row.purpose == Purpose::App && row.stage == Stage::Live))
    }

    /// The deployment's next state, visible from now on.
    pub async fn advance(&mut self, to: DeploymentState) -> Result<()> {
        let mut tx = self.begin_work().await?;
        self.advance_in(&mut tx, to).await?;
        tx.commit().await?;
        Ok(())
    }

    pub async fn advance_in(&mut self, tx: &mut Tx, to: DeploymentState) -> Result<()> {
        if self.deployment.state != to {
            let now = self.engine.app.now();
            if !deployments::advance(tx, self.deployment.id, self.deployment.state, to, now).await? {
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

/// A restart is of what is live when its turn comes, not of what was when it was asked for. True when that is another release.
async fn follow_live(engine: &Engine, job: &Job, subject: &Subject) -> Result<bool> {
    let mut tx = begin_work(engine, job).await?;
    let application = applications::get(&mut tx, subject.application.id).await?.ok_or(Interruption::Lost)?;
    let live = match application.live_deployment_id {
        Some(live) => deployments::get(&mut tx, live).await?,
        None => None,
    };
    let Some(live) = live.filter(|live| live.release_id != subject.deployment.release_id) else { return Ok(false) };
    deployments::set_release(&mut tx, subject.deployment.id, live.release_id).await?;
    tx.commit().await?;
    Ok(true)
}

/// A transaction of whoever holds the job, in which nobody else changes the application.
pub async fn begin_work(engine: &Engine, job: &Job) -> Result<Tx> {
    let mut tx = engine.app.db.begin().await?;
    hold(&mut tx, job).await?;
    Ok(tx)
}

/// Always in this order, the application and then the job, and before anything else: so do callers of the API, and two that wait for
/// each other would wait in vain.
async fn hold(tx: &mut Tx, job: &Job) -> Result<()> {
    applications::lock(tx, job.application_id).await?.ok_or(Interruption::Lost)?;
    Ok(jobs::hold(tx, job).await?)
}

/// The engine knows no fences, so whoever is about to destroy something makes sure that it is still theirs to do.
pub async fn check_held(engine: &Engine, job: &Job) -> Result<()> {
    let mut tx = engine.app.db.begin().await?;
    Ok(jobs::hold(&mut tx, job).await?)
}

/// The engine's name of a release's image: never one that moves.
pub fn image_tag(application_id: Uuid, deployment_id: Uuid) -> String {
    format!("windlass/{}:{}", application_id.simple(), deployment_id.simple())
}

pub fn read<T: for<'de> Deserialize<'de>>(json: &str) -> Result<T> {
    serde_json::from_str(json)
        .map_err(|error| Interruption::Failed(Failure::Internal, format!("a stored record cannot be read: {error}")))
}
