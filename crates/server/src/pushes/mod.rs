//! `git push` to Windlass itself: what is pushed becomes a deployment, and the push shows what happens to it.
//!
//! The program `git receive-pack` takes the objects. Its report is kept back until the deployment has ended: the client is told that
//! the branch was changed only if visitors are served by it, and if not, the branch is put back.

mod packets;
mod story;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use http_body_util::BodyExt;
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::{self, Receiver, Sender};
use uuid::Uuid;
use windlass_api::{Configuration, DeploymentState, ErrorCode, RepositoryAddress, Wanted};
use windlass_durable::kill_point;
use windlass_store::applications::Application;
use windlass_store::deployments::{self as rows, Deployment};

use crate::app::App;
use crate::auth::Granted;
use crate::error::{Error, Result};
use crate::programs::{Ended, Group};
use crate::pushed_repository::{self, Repository};
use crate::service::deployments;
use packets::{Beginning, Command, MOST_COMMANDS, Report};

/// Where a test can end the process.
pub const KILL_POINTS: [&str; 2] = ["push-taken", "push-queued"];

/// Branches and tags of one application.
const MOST_REFERENCES: usize = 5_000;
/// How much of the answer waits for a client that reads slowly.
const BEHIND: usize = 64;
/// How long a deployment is waited for; it goes on after that.
const LONGEST_STORY: Duration = Duration::from_secs(3_600);

/// The references of the application's repository, as git asks for them first.
pub async fn advertise(app: &App, application: &Application) -> Result<Vec<u8>> {
    check(application)?;
    let repository = Repository::open(&app.config, application.id).await.map_err(Error::internal)?;
    mend(app, application, &repository).await?;
    let references = repository.advertise().await.map_err(Error::internal)?;
    Ok([packets::announcement(), references].concat())
}

/// A branch that was pushed and never deployed, because the server was stopped or the deployment failed without this being known here,
/// is put back: else git would say that there is nothing to push.
async fn mend(app: &App, application: &Application, repository: &Repository) -> Result<()> {
    if app.pushed_to.lock().contains(&application.id) {
        return Ok(());
    }
    let branch = branch_of(application, repository).await.map_err(Error::internal)?;
    let Some(commit) = repository.commit(&branch).await else { return Ok(()) };
    let mut conn = app.db.read().await?;
    let states = rows::states_of_commit(&mut conn, application.id, &commit).await?;
    if states.iter().any(|state| *state == DeploymentState::Deployed || !state.is_over()) {
        return Ok(());
    }
    let served = rows::last_deployed_commit(&mut conn, application.id).await?;
    drop(conn);
    let before = match &served {
        Some(served) if came_before(repository, served, &commit).await => Some(served.as_str()),
        _ => None,
    };
    repository.put_back(&branch, &commit, before).await;
    Ok(())
}

/// Whether what is served was on the branch before. An upload has no parent that would say so: then it is enough that git still has it.
async fn came_before(repository: &Repository, served: &str, commit: &str) -> bool {
    match repository.commit(&format!("{commit}^")).await {
        Some(_) => repository.is_ancestor(served, commit).await,
        None => repository.commit(&format!("{served}^{{commit}}")).await.is_some(),
    }
}

/// The full name of the branch that is deployed.
pub async fn branch_of(application: &Application, repository: &Repository) -> io::Result<String> {
    let configuration = Configuration::from_json(&application.configuration).map_err(io::Error::other)?;
    match configuration.branch.as_str() {
        "" => repository.default_branch().await,
        name => Ok(format!("refs/heads/{name}")),
    }
}

/// Only applications that are deployed from what is pushed.
fn check(application: &Application) -> Result<()> {
    if application.wanted == Wanted::Deleted {
        return Err(Error::new(ErrorCode::Conflict, format!("{} is being deleted.", application.name)));
    }
    if application.repository == RepositoryAddress::PUSHED {
        return Ok(());
    }
    let message = format!("{} is deployed from {}. Push there.", application.name, application.repository);
    Err(Error::new(ErrorCode::Conflict, message))
}

/// Takes a push. What is answered comes while it happens; the push goes on when the client is gone.
pub fn receive(app: &Arc<App>, granted: Granted<Application>, body: Body) -> Result<Receiver<Vec<u8>>> {
    check(granted.row())?;
    let turn = app.pushes.clone().try_acquire_owned().map_err(|_| {
        Error::unavailable("Too many pushes are under way. Try again in a moment.", "all turns are taken")
    })?;
    let alone = Alone::with(app, granted.row().id)?;
    let (to, answer) = mpsc::channel(BEHIND);
    let app = app.clone();
    tokio::spawn(async move {
        let push = Push { app: &app, granted: &granted, to };
        if let Err(problem) = push.carry_out(body, turn, alone).await {
            let _ = push.to.send(packets::fatal(&problem.to_string())).await;
        }
    });
    Ok(answer)
}

/// One push at a time changes an application's repository.
pub struct Alone {
    app: Arc<App>,
    application_id: Uuid,
}

impl Alone {
    pub fn with(app: &Arc<App>, application_id: Uuid) -> Result<Self> {
        if !app.pushed_to.lock().insert(application_id) {
            let message = "Another push or upload to this application is under way. Try again in a moment.";
            return Err(Error::new(ErrorCode::Conflict, message));
        }
        Ok(Self { app: app.clone(), application_id })
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        self.app.pushed_to.lock().remove(&self.application_id);
    }
}

/// Why a push ends without a report.
#[derive(Debug, thiserror::Error)]
enum Problem {
    #[error("{0}")]
    Bad(&'static str),
    #[error("the push is larger than {0} MiB")]
    TooLarge(u64),
    #[error(
        "there is no room for more: with all branches the repository is larger than {0} MiB. Delete branches, or push to a new application"
    )]
    Full(u64),
    #[error("the push took longer than {0} seconds")]
    TooSlow(u64),
    #[error("the connection ended before the push was complete")]
    CutOff,
    #[error("{}", .0.message)]
    Refused(Error),
    #[error("git did not take the push: {0}")]
    Git(io::Error),
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        if let Some(cause) = &error.cause {
            tracing::warn!(cause, "a push was not taken");
        }
        Self::Refused(error)
    }
}

struct Push<'a> {
    app: &'a Arc<App>,
    granted: &'a Granted<Application>,
    to: Sender<Vec<u8>>,
}

impl Push<'_> {
    /// The turn is for what takes room: the objects. Others can push while this one's deployment is waited for.
    async fn carry_out(
        &self,
        body: Body,
        turn: OwnedSemaphorePermit,
        alone: Alone,
    ) -> std::result::Result<(), Problem> {
        let limit = self.app.config.push_limit;
        let repository = Repository::open(&self.app.config, self.granted.row().id).await.map_err(Problem::Git)?;
        let taking = self.take(&repository, body);
        let taken = tokio::time::timeout(limit, taking).await.map_err(|_| Problem::TooSlow(limit.as_secs()))??;
        // A client that only looks whether it may push.
        let Some((beginning, mut report)) = taken else { return Ok(()) };
        drop(turn);
        kill_point::reached("push-taken");
        let command = self.command_to_deploy(&repository, &beginning, &report).await.map_err(Problem::Git)?;
        if let Some(command) = command {
            let ended = self.deploy(command, alone).await;
            if !matches!(ended, Ok(Ok(()))) {
                let old = Some(command.old.as_str()).filter(|_| !command.is_creation());
                repository.put_back(&command.reference, &command.new, old).await;
            }
            if let Err(reason) = ended? {
                report.refuse(&command.reference, &reason);
            }
        }
        let _ = self.to.send(packets::result(&report)).await;
        if let Err(error) = repository.tidy().await {
            tracing::warn!(%error, "a repository that is pushed to could not be tidied up");
        }
        Ok(())
    }

    /// Gives all of it to the program. What it answers is not told yet.
    async fn take(
        &self,
        repository: &Repository,
        mut body: Body,
    ) -> std::result::Result<Option<(Beginning, Report)>, Problem> {
        let (beginning, rest) = read_beginning(&mut body).await?;
        if beginning.commands.is_empty() {
            return Ok(None);
        }
        repository.clean_up().await.map_err(Problem::Git)?;
        if beginning.commands.iter().any(Command::is_creation) && repository.references().await > MOST_REFERENCES {
            return Err(Problem::Bad("there are too many branches and tags; delete some first"));
        }
        let only_deletes = beginning.commands.iter().all(Command::is_deletion);
        if !only_deletes && repository.is_full().await {
            return Err(Problem::Full(self.app.config.push_bytes >> 19));
        }
        let mut group = Group::start_with_input(repository.receiver()).map_err(Problem::Git)?;
        let input = group.input().ok_or_else(|| Problem::Git(io::Error::other("it takes no input")))?;
        let most = self.app.config.push_bytes;
        let feeding = feed(input, &beginning.for_program, rest, body, most);
        let (fed, ended) = tokio::join!(feeding, group.run(pushed_repository::read, pushed_repository::read));
        fed?;
        let Ended { read, .. } = ended.map_err(Problem::Git)?;
        let (said, complaint) = read.ok_or_else(|| Problem::Git(io::Error::other("it left a process behind")))?;
        let report = Report::read(&said.map_err(Problem::Git)?).ok_or_else(|| {
            let complaint = complaint.unwrap_or_default();
            Problem::Git(io::Error::other(String::from_utf8_lossy(&complaint).trim().to_owned()))
        })?;
        Ok(Some((beginning, report)))
    }

    /// What was pushed to the branch that is deployed. Everything else is kept as it is.
    async fn command_to_deploy<'b>(
        &self,
        repository: &Repository,
        beginning: &'b Beginning,
        report: &Report,
    ) -> io::Result<Option<&'b Command>> {
        let mut branch = branch_of(self.granted.row(), repository).await?;
        // The first branch that is pushed to an empty repository becomes the default one.
        if repository.commit(&branch).await.is_none()
            && let Some(first) = first_branch(beginning, report)
            && branch == repository.default_branch().await?
        {
            repository.set_default_branch(first).await?;
            first.clone_into(&mut branch);
        }
        let is_it = |command: &&Command| command.reference == branch && report.is_done(&branch);
        let found = beginning.commands.iter().find(is_it);
        let shown = branch.strip_prefix("refs/heads/").unwrap_or(&branch);
        match found {
            Some(command) if !command.is_deletion() => return Ok(Some(command)),
            Some(_) => self.say("What runs goes on, though its branch was deleted.").await,
            None => self.say(&format!("Kept. Nothing is deployed: that would take a push to {shown}.")).await,
        }
        Ok(None)
    }

    /// Waits until visitors are served by it; or says why they are not.
    async fn deploy(
        &self,
        command: &Command,
        alone: Alone,
    ) -> std::result::Result<std::result::Result<(), String>, Problem> {
        let application = self.granted.row();
        let deployment = deployments::deploy_commit(self.app, self.granted, &command.new).await?;
        drop(alone);
        kill_point::reached("push-queued");
        self.say(&format!("Deploying {} as {}", &command.new[..12.min(command.new.len())], deployment.id)).await;
        let authority = self.granted.authority();
        // It is followed like the log of a deployment, and no more often.
        let Ok(_open) = self.app.log_streams.open(authority.organization_id(), authority.user_id()) else {
            return Ok(self.judge(application, None).await);
        };
        let ended = story::tell(self.app, application.id, deployment.id, &self.to, LONGEST_STORY).await?;
        Ok(self.judge(application, ended.as_ref()).await)
    }

    async fn judge(&self, application: &Application, ended: Option<&Deployment>) -> std::result::Result<(), String> {
        let Some(deployment) = ended else {
            self.say("It is still under way. It goes on; see the deployment.").await;
            return Ok(());
        };
        match deployment.state {
            DeploymentState::Deployed => {
                self.say(&format!("Deployed: {}", self.app.config.visitors_url(&application.domain))).await;
                Ok(())
            }
            DeploymentState::Failed => {
                self.say(&format!("Failed: {}: {}", deployment.failure, deployment.reason)).await;
                Err(format!("deployment failed: {}", deployment.failure))
            }
            _ => {
                self.say(&format!("Cancelled: {}", deployment.reason)).await;
                Err("deployment cancelled".to_owned())
            }
        }
    }

    async fn say(&self, text: &str) {
        for line in text.lines() {
            let _ = self.to.send(packets::progress(line)).await;
        }
    }
}

fn first_branch<'a>(beginning: &'a Beginning, report: &Report) -> Option<&'a str> {
    let is_new = |command: &&Command| {
        command.reference.starts_with("refs/heads/") && command.is_creation() && report.is_done(&command.reference)
    };
    beginning.commands.iter().find(is_new).map(|command| command.reference.as_str())
}

/// What is asked for, and what was read of the objects already.
async fn read_beginning(body: &mut Body) -> std::result::Result<(Beginning, Vec<u8>), Problem> {
    let mut bytes = Vec::new();
    loop {
        if let Some(beginning) = packets::read_beginning(&bytes).map_err(Problem::Bad)? {
            let rest = bytes.split_off(beginning.length);
            return Ok((beginning, rest));
        }
        if bytes.len() > MOST_COMMANDS {
            return Err(Problem::Bad("too many references are pushed at once"));
        }
        match next(body).await? {
            Some(piece) => bytes.extend_from_slice(&piece),
            None => return Err(Problem::CutOff),
        }
    }
}

async fn next(body: &mut Body) -> std::result::Result<Option<Bytes>, Problem> {
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(|_| Problem::CutOff)?.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

/// Ends the program's input also when something goes wrong, so that it ends too.
async fn feed(
    mut input: ChildStdin,
    commands: &[u8],
    rest: Vec<u8>,
    mut body: Body,
    most: u64,
) -> std::result::Result<(), Problem> {
    let mut bytes = rest.len() as u64;
    // A program that has ended has said why; that is read elsewhere.
    let mut is_listening = input.write_all(&[commands, &rest].concat()).await.is_ok();
    while let Some(piece) = next(&mut body).await? {
        bytes += piece.len() as u64;
        if bytes > most {
            return Err(Problem::TooLarge(most >> 20));
        }
        is_listening = is_listening && input.write_all(&piece).await.is_ok();
    }
    Ok(())
}
