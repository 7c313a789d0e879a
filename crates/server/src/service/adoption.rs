//! Settling which of two copies of an installation holds its containers: this one takes the other's place, or becomes
//! an installation of its own.

use uuid::Uuid;
use windlass_runtime::Docker;
use windlass_store::{
    applications, containers, deployments, executions, installations, instance, jobs, networks, notices, releases,
    runs, servers, snapshots, volumes,
};

use crate::app::App;
use crate::holder::{Found, Holder};
use crate::labels::short;
use crate::service::audit::{Action, Actor, Change, Resource};
use crate::service::queue;

/// What came of it, for the operator.
#[derive(Debug, PartialEq, Eq)]
pub enum Adopted {
    /// It held them already.
    Nothing,
    /// Until now the installation in this folder did.
    From(String),
    /// It is an installation of its own now.
    Anew,
}

const CALLED_OFF: &str = "this copy became an installation of its own (windlass adopt --new), and the original went on with this \
                          deployment. Deploy the application again if you want it here.";

/// This installation holds the containers from now on.
pub async fn take_place(app: &App, docker: &Docker, holder: &Holder) -> Result<Adopted, String> {
    let installation = engine_label(app).await.map_err(|error| error.to_string())?;
    let found = holder.claim(docker, installation).await.map_err(|error| error.to_string())?;
    let Found::Another(other) = found else { return Ok(Adopted::Nothing) };
    let folder = other.folder().display().to_string();
    refuse_if_running(&other, holder)?;
    record(app, installation, &format!("took the place of the installation in {folder}")).await?;
    match holder.take(docker, installation).await.map_err(|error| error.to_string())? {
        Found::Ourselves => Ok(Adopted::From(folder)),
        Found::Another(_) => {
            Err(format!("the installation in {folder} is running, and took its place back. Stop it first."))
        }
    }
}

fn refuse_if_running(other: &Holder, ourselves: &Holder) -> Result<(), String> {
    let Some(pid) = other.running_elsewhere(ourselves) else { return Ok(()) };
    let folder = other.folder().display();
    Err(format!(
        "the installation in {folder} is running (process {pid}), and both would change the same containers. Stop it first: \
         windlass stop --data-dir {folder}. Or make this one an installation of its own: windlass adopt --new"
    ))
}

/// An installation that holds its containers, or has other servers, would leave them behind.
pub async fn check_that_it_is_a_copy(app: &App, docker: &Docker, holder: &Holder) -> Result<(), String> {
    let installation = engine_label(app).await.map_err(|error| error.to_string())?;
    let found = holder.find(docker, installation).await.map_err(|error| error.to_string())?;
    if found == Some(Found::Ourselves) {
        return Err(
            "this installation holds its containers, and would leave them behind. --new is for a copy of it.".into()
        );
    }
    let others = async { servers::are_any_alive(&mut app.db.read().await?, app.now()).await };
    match others.await.map_err(|error: windlass_store::Error| error.to_string())? {
        true => Err("other servers use this database, and would lose their containers. Stop them first.".into()),
        false => Ok(()),
    }
}

/// A new id on the engine, and nothing there that has it: the applications are stopped, and have no release to go back
/// to.
pub async fn start_anew(app: &App) -> Result<Adopted, String> {
    let (installation, now) = (app.new_id(), app.now());
    let renewed = async {
        let mut work = app.begin().await?;
        jobs::keep_only(&mut work, queue::DELETE).await?;
        containers::forget_all(&mut work).await?;
        networks::forget_all(&mut work).await?;
        servers::forget_all(&mut work).await?;
        deployments::cancel_all(&mut work, CALLED_OFF, now).await?;
        releases::remove_all(&mut work, now).await?;
        applications::stop_all(&mut work, now).await?;
        // What the original has written stays the original's.
        volumes::rename_all(&mut work, &short(installation)).await?;
        snapshots::end_all_pending(&mut work, CALLED_OFF, now).await?;
        executions::cancel_all(&mut work, CALLED_OFF, now).await?;
        runs::interrupt_all(&mut work, CALLED_OFF, now).await?;
        // The original sends them.
        notices::drop_all(&mut work, CALLED_OFF, now).await?;
        installations::fail_all(&mut work, now).await?;
        instance::set_engine_label(&mut work, installation).await?;
        let summary = "made this an installation of its own; its applications are stopped";
        work.record(&Actor::Operator, &change(installation, summary));
        work.commit().await
    };
    renewed.await.map_err(|error: windlass_store::Error| error.to_string())?;
    Ok(Adopted::Anew)
}

/// What marks this installation on the engine; made at the first start.
pub async fn engine_label(app: &App) -> windlass_store::Result<Uuid> {
    let mut tx = app.db.begin().await?;
    let label = instance::engine_label(&mut tx, app.new_id()).await?;
    tx.commit().await?;
    Ok(label)
}

async fn record(app: &App, installation: Uuid, summary: &str) -> Result<(), String> {
    let recorded = async {
        let mut work = app.begin().await?;
        work.record(&Actor::Operator, &change(installation, summary));
        work.commit().await
    };
    recorded.await.map_err(|error: windlass_store::Error| error.to_string())
}

fn change<'a>(installation: Uuid, summary: &'a str) -> Change<'a> {
    Change {
        organization_id: None,
        action: Action::Update,
        resource: Resource::Instance,
        resource_id: installation,
        summary,
        details: &[],
    }
}
