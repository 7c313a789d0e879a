//! Holding an application still until a transaction ends.

use uuid::Uuid;
use windlass_api::{ErrorCode, EventName, Wanted};
use windlass_store::applications::{self, Application};
use windlass_store::{Conn, previews};

use crate::auth::Authority;
use crate::error::{Error, Result};
use crate::service::audit::{Action, Change, Resource};
use crate::service::states;
use crate::service::work::Work;

/// Holds the application still until the transaction ends, and checks the caller's authority as it is now. One that is
/// being deleted takes no change.
pub async fn hold_to_change(work: &mut Work<'_>, authority: &Authority, id: Uuid) -> Result<(Authority, Application)> {
    let authority = work.hold(authority).await?;
    let application = lock_to_change(work, &authority, id).await?;
    Ok((authority, application))
}

/// Holds an application that is in the caller's organization.
pub async fn lock(work: &mut Work<'_>, authority: &Authority, id: Uuid) -> Result<Application> {
    let application = applications::lock(work, id).await?;
    let application = application.filter(|application| application.organization_id == authority.organization_id());
    application.ok_or_else(|| Error::not_found("application"))
}

/// Stores a change of an application that the caller holds: with its audit entry, and told. `verb` is followed by the name.
pub async fn write_change(
    work: &mut Work<'_>,
    authority: &Authority,
    application: &mut Application,
    verb: &str,
    details: &[(&str, &str)],
) -> Result<()> {
    application.updated_at = work.app.now();
    applications::update(work, application).await?;
    let change = Change {
        organization_id: Some(application.organization_id),
        action: Action::Update,
        resource: Resource::Application,
        resource_id: application.id,
        summary: &format!("{verb} {}", application.name),
        details,
    };
    work.record(&authority.actor(), &change);
    let about = states::subject(application, None);
    work.tell(EventName::ApplicationUpdated, about, &[("application", &application.name)]);
    Ok(())
}

/// What the next push would undo, or what would be removed when the pull request is closed, is not for previews.
pub async fn refuse_preview(conn: &mut Conn, application: &Application) -> Result<()> {
    let Some(preview) = previews::get(conn, application.id).await? else { return Ok(()) };
    let parent = applications::get(conn, preview.application_id).await?;
    let parent = parent.map_or_else(|| "its application".to_owned(), |parent| parent.name);
    let message = format!(
        "{} is a preview, which is configured as {parent} is. Change that, and deploy the preview again.",
        application.name
    );
    Err(Error::new(ErrorCode::Conflict, message))
}

/// Holds one for a change, which one that is being deleted does not take.
pub async fn lock_to_change(work: &mut Work<'_>, authority: &Authority, id: Uuid) -> Result<Application> {
    let application = lock(work, authority, id).await?;
    if application.wanted == Wanted::Deleted {
        return Err(Error::new(ErrorCode::Conflict, format!("{} is being deleted.", application.name)));
    }
    Ok(application)
}
