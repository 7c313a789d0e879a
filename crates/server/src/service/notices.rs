//! What was told to people, and what became of it.

use windlass_api::{ErrorCode, NoticeState};
use windlass_store::notices::{self, Notice};

use crate::app::App;
use crate::auth::Granted;
use crate::error::{Error, Result};
use crate::notify::hasten;
use crate::records;
use crate::service::audit::{Action, Change, Resource};
use crate::service::channel_tests;
use crate::service::queue::Destination;

/// Sends a notice again, with the same id. What waits is tried now. It counts as a test of its channel: others' servers are called.
pub async fn send_again(app: &App, granted: &Granted<Notice>) -> Result<windlass_api::Notice> {
    channel_tests::count(app, granted.authority())?;
    let mut work = app.begin().await?;
    let authority = work.hold(granted.authority()).await?;
    let (organization_id, id) = (authority.organization_id(), granted.row().id);
    let gone = || Error::not_found("notice");
    let notice = notices::of_organization(&mut work, organization_id, id).await?.ok_or_else(gone)?;
    if notice.state != NoticeState::Waiting
        && notices::count_waiting(&mut work, organization_id).await? >= app.config.organization_notices
    {
        let message = "Too many notices of the organization wait already. Try again when some are sent.";
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    let destination = Destination {
        organization_id: Some(organization_id),
        channel: notice.channel,
        recipient: notice.recipient.clone(),
    };
    // Jobs come before notices, as for those who send.
    hasten(&mut work, &destination).await?;
    notices::send_again(&mut work, id).await?;
    let change = Change {
        organization_id: Some(organization_id),
        action: Action::Update,
        resource: Resource::Notice,
        resource_id: id,
        summary: &format!("had a notice sent again by {}", notice.channel.as_str()),
        details: &[("channel", notice.channel.as_str())],
    };
    work.record(&authority.actor(), &change);
    let notice = notices::of_organization(&mut work, organization_id, id).await?.ok_or_else(gone)?;
    work.commit().await?;
    Ok(records::notices::notice(notice, &authority))
}
