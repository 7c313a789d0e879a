//! stop: visitors get a page that says so, requests under way finish, and its containers go. The release stays, to be
//! started again.

use uuid::Uuid;
use windlass_api::{LogStep, Wanted};
use windlass_durable::kill_point;
use windlass_store::applications::{self, Application};
use windlass_store::containers::{self, Stage};
use windlass_store::logs::LogLine;
use windlass_store::releases::{self, Release};

use super::drain::retire;
use super::failure::Result;
use crate::host::Host;
use crate::jobs::Held;
use crate::service::states;
use crate::service::work::Work;

pub async fn stop(host: &Host, held: &Held) -> Result<()> {
    let application = applications::get(&mut host.app.db.read().await?, held.application_id()).await?;
    // It may have been started again since.
    let stopped = application.filter(|application| application.wanted == Wanted::Stopped);
    let is_wanted = stopped.is_some();
    if let Some(application) = stopped {
        end_all(host, held).await?;
        kill_point::reached("stop-retired");
        leave_line(host, &application).await;
    }
    let mut work = held.begin().await?;
    if is_wanted || !serves(&mut work, held.application_id()).await? {
        states::set_live(&mut work, held.application_id(), None).await?;
    }
    held.done(&mut work).await?;
    states::settle(&mut work, held.application_id()).await?;
    work.commit().await?;
    Ok(())
}

/// Whether visitors are served: by containers, or by a site. Of an application where nothing is live the last release is looked at, which changes
/// nothing.
async fn serves(work: &mut Work<'_>, application_id: Uuid) -> Result<bool> {
    let rows = containers::of_application(work, application_id).await?;
    let has_site = releases::current_of(work, &[application_id]).await?.iter().any(Release::is_site);
    Ok(has_site || rows.iter().any(|row| row.stage == Stage::Live))
}

/// Into the log of what was live: a person who reads it must see why nothing is printed any more.
async fn leave_line(host: &Host, application: &Application) {
    let Some(live) = application.live_deployment_id else { return };
    let text = "Stopped on request. Visitors get a page that says so, until it is started again.".to_owned();
    let line = LogLine::note(host.app.now(), LogStep::Drain, text);
    host.app.logs.note(application.id, live, line).await;
}

/// Ends every container that the application has, and tells the edge that it serves no more.
pub async fn end_all(host: &Host, held: &Held) -> Result<()> {
    let mut tx = held.begin().await?;
    let rows = containers::of_application(&mut tx, held.application_id()).await?;
    for container in &rows {
        containers::set_stage(&mut tx, container.id, Stage::Leaving).await?;
    }
    tx.commit().await?;
    retire(host, held, &rows).await?;
    // `retire` tells the edge only if there are containers, and a site has none.
    Ok(host.routes.publish(&host.app).await?)
}
