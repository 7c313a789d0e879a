//! report: a code host is told what became of a commit.

use uuid::Uuid;
use windlass_api::{DeploymentState, LogStep};
use windlass_codehost::api::{State, Status};
use windlass_durable::kill_point;
use windlass_store::applications::{self, Application};
use windlass_store::connections::{self, Connection};
use windlass_store::deployments::{self, Deployment};
use windlass_store::logs::LogLine;
use windlass_store::{deliveries, releases};

use crate::app::App;
use crate::code_host::{Failed, PullFor, api, full_name, send};
use crate::error::Error;
use crate::jobs::Held;

/// Tells the state that the deployment has now, unless it was told already. Jobs that were queued for earlier states find nothing to
/// do. A state can be told again after a crash; the last one is tried for about a day.
pub async fn report(app: &App, held: &Held, deployment_id: Uuid) -> Result<(), Failed> {
    let told = match subject(app, deployment_id).await.map_err(Error::from)? {
        Some(subject) => tell(app, &subject).await?,
        None => None,
    };
    let mut work = held.begin().await.map_err(Error::from)?;
    if let Some(state) = told {
        deployments::set_reported(&mut work, deployment_id, word(state)).await.map_err(Error::from)?;
    }
    held.done(&mut work).await.map_err(Error::from)?;
    work.commit().await.map_err(Error::from)?;
    Ok(())
}

/// Everything that a status consists of.
struct Subject {
    application: Application,
    deployment: Deployment,
    connection: Connection,
    /// Of the release, and of the push that asked for it if the branch has moved on since.
    commits: Vec<String>,
    reported: String,
}

/// None when there is nothing to tell, or no code host to be told.
async fn subject(app: &App, deployment_id: Uuid) -> windlass_store::Result<Option<Subject>> {
    let mut conn = app.db.read().await?;
    let Some(deployment) = deployments::get(&mut conn, deployment_id).await? else { return Ok(None) };
    let Some(application) = applications::get(&mut conn, deployment.application_id).await? else { return Ok(None) };
    let connection = match application.connection_id {
        Some(id) => connections::get(&mut conn, id).await?,
        None => None,
    };
    let Some(connection) = connection else { return Ok(None) };
    let release = releases::get(&mut conn, deployment.release_id).await?;
    let pushed = deliveries::commit_of_deployment(&mut conn, deployment_id).await?;
    let mut commits: Vec<String> = release.map(|release| release.commit_hash).into_iter().chain(pushed).collect();
    commits.retain(|commit| !commit.is_empty());
    commits.dedup();
    let reported = deployments::reported(&mut conn, deployment_id).await?;
    Ok(Some(Subject { application, deployment, connection, commits, reported }))
}

/// What was told, if anything was.
async fn tell(app: &App, subject: &Subject) -> Result<Option<State>, Failed> {
    let Subject { application, deployment, connection, commits, reported } = subject;
    let state = state(deployment.state);
    let was_told_the_end = !reported.is_empty() && reported != word(State::Pending);
    // Of one that gave way to another before it began there is nothing to say.
    let was_never_told = reported.is_empty() && state == State::Cancelled;
    if reported == word(state) || was_told_the_end || was_never_told || commits.is_empty() {
        return Ok(None);
    }
    let Some(full_name) = full_name(connection, &application.repository) else { return Ok(None) };
    let api = api(app, connection, &full_name, PullFor::Job).await?;
    let status = status(app, application, deployment, state);
    kill_point::reached("report-before");
    for commit in commits {
        let ask = api.set_status(&full_name, commit, &status).map_err(Failed::Api)?;
        if let Err(failed) = send(app, ask).await {
            if !failed.is_temporary() {
                note(app, deployment, &failed).await;
            }
            return Err(failed);
        }
    }
    kill_point::reached("report-sent");
    Ok(Some(state))
}

/// So that a member who looks for the status sees why there is none.
async fn note(app: &App, deployment: &Deployment, failed: &Failed) {
    let text = format!("The commit's status could not be set: {}", failed.words());
    let line = LogLine::note(app.now(), LogStep::Report, text);
    app.logs.note(deployment.application_id, deployment.id, line).await;
}

const fn state(state: DeploymentState) -> State {
    match state {
        DeploymentState::Queued | DeploymentState::Cloning | DeploymentState::Building | DeploymentState::Deploying => {
            State::Pending
        }
        DeploymentState::Deployed => State::Success,
        DeploymentState::Failed => State::Failure,
        DeploymentState::Cancelled => State::Cancelled,
    }
}

/// As the row remembers it.
const fn word(state: State) -> &'static str {
    match state {
        State::Pending => "pending",
        State::Success => "success",
        State::Failure => "failure",
        State::Cancelled => "cancelled",
    }
}

fn status(app: &App, application: &Application, deployment: &Deployment, state: State) -> Status {
    let here = app.config.public_url();
    let (description, target_url) = match state {
        State::Pending => ("The deployment is under way.".to_owned(), here),
        State::Success => ("Visitors are served by it.".to_owned(), app.config.visitors_url(&application.domain)),
        State::Failure => (format!("{}: {}", deployment.failure, first_line(&deployment.reason)), here),
        State::Cancelled => (format!("Cancelled: {}", first_line(&deployment.reason)), here),
    };
    Status { state, context: format!("windlass/{}", application.name), description, target_url }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
