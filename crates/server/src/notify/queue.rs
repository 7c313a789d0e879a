//! How notices come to wait, with the job that sends them.

use uuid::Uuid;
use windlass_api::{Channel, NoticeState, Timestamp};
use windlass_notify::Message;
use windlass_store::jobs;
use windlass_store::notices::{self, Notice};
use windlass_store::sealed::NOTICE_MESSAGE;

use crate::app::App;
use crate::error::{Error, Result};
use crate::service::queue::{self, Destination};
use crate::service::work::Work;
use crate::vault::SealedCell;

/// A mail of the installation itself.
pub struct ProductMail<'a> {
    pub to: &'a str,
    pub message: &'a Message,
    /// After that it is of no use any more, and is not sent.
    pub expires_at: Option<Timestamp>,
}

/// Leaves a mail to be sent through the mail server of the installation. It may hold a token, so it is sealed.
pub async fn queue_mail(work: &mut Work<'_>, mail: &ProductMail<'_>) -> Result<Uuid> {
    // Each is a destination of its own, so that no mail waits for another.
    let id = work.app.new_id();
    let destination = Destination { organization_id: None, channel: Channel::Email, recipient: id.to_string() };
    let mut notice = Notice { id, recipient: mail.to.to_owned(), ..waiting(work.app, &destination, mail.message)? };
    let sealed = work.app.vault.seal(work, message_cell(notice.id), notice.message.as_bytes()).await?;
    notice.sealed_message = Some(sealed);
    notice.message = String::new();
    // What its receiver reads may be the token's.
    notice.title = "mail of the installation".to_owned();
    notice.expires_at = mail.expires_at.map(Timestamp::micros);
    notices::insert_all(work, std::slice::from_ref(&notice)).await?;
    let job = queue::notices(work.app.new_id(), &destination);
    work.enqueue(&job).await?;
    Ok(notice.id)
}

pub(super) fn message_cell(id: Uuid) -> SealedCell {
    SealedCell { column: NOTICE_MESSAGE, row: id }
}

/// A notice that is not written yet.
pub(super) fn waiting(app: &App, destination: &Destination, message: &Message) -> Result<Notice> {
    Ok(Notice {
        id: app.new_id(),
        organization_id: destination.organization_id,
        channel: destination.channel,
        recipient: destination.recipient.clone(),
        destination: destination.name(),
        position: 0,
        event: String::new(),
        needs: String::new(),
        application_id: None,
        title: message.title.clone(),
        message: serde_json::to_string(message).map_err(Error::internal)?,
        sealed_message: None,
        state: NoticeState::Waiting,
        reason: String::new(),
        carried_by: None,
        carries: 0,
        attempts: 0,
        first_tried_at: None,
        next_attempt_at: None,
        expires_at: None,
        created_at: app.now(),
        ended_at: None,
    })
}

/// Sees to it that a job sends what waits for the destination. One that waits because a try has failed goes on waiting: its place is
/// before what is new.
pub async fn wake(work: &mut Work<'_>, destination: &Destination) -> windlass_store::Result<()> {
    if jobs::hold_waiting(work, &destination.key()).await? {
        return Ok(());
    }
    let job = queue::notices(work.app.new_id(), destination);
    work.enqueue(&job).await
}

/// The same, at once: a person has asked for it, or has changed what was wrong. A job that is sending tries again at once when it puts
/// itself back; it may miss what comes now, so there is another one after it.
pub async fn hasten(work: &mut Work<'_>, destination: &Destination) -> windlass_store::Result<()> {
    if jobs::hasten(work, &destination.key()).await? {
        work.wake_worker();
        return Ok(());
    }
    let job = queue::notices(work.app.new_id(), destination);
    work.enqueue(&job).await
}
