//! The end of what runs of an application: stopped, or removed with everything that it has.

use windlass_api::Wanted;
use windlass_store::applications::Application;
use windlass_store::jobs::NewJob;

use crate::error::Result;
use crate::service::audit::{Action, Actor, Change, Resource};
use crate::service::queue::{self, Registered};
use crate::service::work::Work;
use crate::service::{deployments, runs, snapshots, states};

/// Nothing goes on, and a job sees to the rest. The caller holds the application.
pub async fn end(
    work: &mut Work<'_>,
    application: &Application,
    wanted: Wanted,
    job: &NewJob,
    reason: &str,
) -> Result<()> {
    deployments::cancel_all(work, application, reason).await?;
    snapshots::withdraw_all(work, application, reason).await?;
    runs::interrupt_all(work, application, reason).await?;
    states::want(work, application.id, wanted).await?;
    work.enqueue(job).await?;
    states::settle(work, application.id).await?;
    Ok(())
}

/// It stays visible until everything of it is gone. The caller holds the application. `verb` is followed by the name.
pub async fn remove(
    work: &mut Work<'_>,
    actor: &Actor,
    application: &Application,
    verb: &str,
    reason: &str,
) -> Result<()> {
    unregister(work, application).await?;
    let job = queue::delete(application, work.app.new_id());
    end(work, application, Wanted::Deleted, &job, reason).await?;
    let change = Change {
        organization_id: Some(application.organization_id),
        action: Action::Delete,
        resource: Resource::Application,
        resource_id: application.id,
        summary: &format!("{verb} {}", application.name),
        details: &[("name", &application.name), ("domain", &application.domain)],
    };
    work.record(actor, &change);
    Ok(())
}

/// What the application has registered at a code host is of no more use.
pub async fn unregister(work: &mut Work<'_>, application: &Application) -> Result<()> {
    if let Some(registered) = Registered::of(application) {
        let job = queue::unregister(application.organization_id, work.app.new_id(), &registered);
        work.enqueue(&job).await?;
    }
    Ok(())
}
