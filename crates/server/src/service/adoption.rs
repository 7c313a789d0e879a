//! Settling which of two copies of an installation holds its containers: this one takes the other's place, or becomes an
//! installation of its own.

use uuid::Uuid;
use windlass_runtime::Docker;
use windlass_store::instance;

use crate::app::App;
use crate::error::Error;
use crate::holder::{Found, Holder};
use crate::service::audit::{Action, Actor, Change, Resource};

/// What came of it, for the operator.
#[derive(Debug, PartialEq, Eq)]
pub enum Adopted {
    /// It held them already.
    Nothing,
    /// Until now the installation in this folder did.
    From(String),
}

/// This installation holds the containers from now on.
pub async fn take_place(app: &App, docker: &Docker, holder: &Holder) -> Result<Adopted, String> {
    let instance = engine_label(app).await?;
    let found = holder.claim(docker, instance).await.map_err(|error| error.to_string())?;
    let Found::Another(other) = found else { return Ok(Adopted::Nothing) };
    let folder = other.folder().display().to_string();
    if let Some(pid) = other.running() {
        return Err(format!(
            "the installation in {folder} is running (process {pid}), and both would change the same containers. Stop it first: \
             windlass stop --data-dir {folder}. Or make this one an installation of its own: windlass adopt --new"
        ));
    }
    record(app, instance, &format!("took the place of the installation in {folder}")).await?;
    holder.take(docker, instance).await.map_err(|error| error.to_string())?;
    Ok(Adopted::From(folder))
}

/// A new id on the engine, and nothing there that has it.
pub async fn start_anew(app: &App) -> Result<(), String> {
    let instance = app.new_id();
    let mut work = app.begin().await.map_err(|error| error.to_string())?;
    instance::start_anew(&mut work, instance, app.now()).await.map_err(|error| error.to_string())?;
    work.record(
        &Actor::operator(),
        &change(instance, "made this an installation of its own; its applications are stopped"),
    );
    work.commit().await.map_err(|error| error.to_string())
}

async fn engine_label(app: &App) -> Result<Uuid, String> {
    let labelled = async {
        let mut tx = app.db.begin().await?;
        let label = instance::engine_label(&mut tx, app.new_id()).await?;
        tx.commit().await?;
        Ok::<_, windlass_store::Error>(label)
    };
    labelled.await.map_err(|error| error.to_string())
}

async fn record(app: &App, instance: Uuid, summary: &str) -> Result<(), String> {
    let recorded = async {
        let mut work = app.begin().await?;
        work.record(&Actor::operator(), &change(instance, summary));
        Ok::<_, Error>(work.commit().await?)
    };
    recorded.await.map_err(|error| error.cause.unwrap_or(error.message))
}

fn change<'a>(instance: Uuid, summary: &'a str) -> Change<'a> {
    Change {
        organization_id: None,
        action: Action::Update,
        resource: Resource::Instance,
        resource_id: instance,
        summary,
        details: &[],
    }
}
