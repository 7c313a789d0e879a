//! Holding an application still until a transaction ends.

use uuid::Uuid;
use windlass_api::{ErrorCode, Wanted};
use windlass_store::applications::{self, Application};

use crate::auth::Authority;
use crate::error::{Error, Result};
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

/// The same for a change, which one that is being deleted does not take.
pub async fn lock_to_change(work: &mut Work<'_>, authority: &Authority, id: Uuid) -> Result<Application> {
    let application = lock(work, authority, id).await?;
    if application.wanted == Wanted::Deleted {
        return Err(Error::new(ErrorCode::Conflict, format!("{} is being deleted.", application.name)));
    }
    Ok(application)
}
