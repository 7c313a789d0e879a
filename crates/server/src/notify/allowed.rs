//! Whether what waits may still be sent. Its channel may be off by now, and those who were to hear it may have lost the permission.

use windlass_api::{Can, Role};
use windlass_store::notices::Notice;
use windlass_store::smtp_configs::SmtpConfig;
use windlass_store::webhook_configs::{self, WebhookConfig};
use windlass_store::{Conn, Result, memberships, smtp_configs};

use crate::service::queue::Destination;

const CHANNEL_MAY_NOT: &str = "the member or the API key that saved the channel may not hear of it (any more)";
const MEMBER_MAY_NOT: &str = "the member may not hear of it any more";
const SERVER_MAY_NOT: &str = "the API key that saved the mail server may not hear of it";

/// Why nothing is sent to a destination of an organization; none if it is on.
pub async fn off(conn: &mut Conn, destination: &Destination) -> Result<Option<&'static str>> {
    let Some(organization_id) = destination.organization_id else { return Ok(None) };
    let Some(kind) = destination.channel.webhook() else {
        let config = smtp_configs::of_organization(conn, organization_id).await?;
        let is_member = memberships::has_email(conn, organization_id, &destination.recipient).await?;
        return Ok(match config {
            None => Some("the organization has no mail server any more"),
            Some(config) if !config.is_active => Some("the organization's mail is paused"),
            Some(_) if !is_member => Some("this is no address of a member any more"),
            Some(_) => None,
        });
    };
    Ok(match webhook_configs::get(conn, organization_id, kind).await? {
        None => Some("the channel was removed"),
        Some(config) if !config.is_active => Some("the channel is paused"),
        Some(_) => None,
    })
}

/// What an API key has saved tells at most of what the key may know: a narrow key is no way to hear more.
pub fn is_within_key(key_permissions: Option<&str>, needed: Can) -> bool {
    key_permissions.is_none_or(|names| names.split(' ').any(|name| name == needed.as_str()))
}

/// Why a notice is withheld from a channel. It hears what the member who saved it may hear; if that member has left, what every member
/// may.
pub async fn withheld_from_channel(
    conn: &mut Conn,
    config: &WebhookConfig,
    notice: &Notice,
) -> Result<Option<&'static str>> {
    let Ok(needed) = Can::try_from(notice.needs.as_str()) else { return Ok(Some(CHANNEL_MAY_NOT)) };
    let saver = memberships::joined(conn, config.user_id, config.organization_id).await?;
    let saver_may = saver.map_or_else(
        || Role::Viewer.can(needed, false),
        |saver| saver.membership.role.can(needed, saver.organization.host_access),
    );
    let may = saver_may && is_within_key(config.key_permissions.as_deref(), needed);
    Ok((!may).then_some(CHANNEL_MAY_NOT))
}

/// Why a notice is withheld from a member, by the mail server of the organization.
pub async fn withheld_from_member(
    conn: &mut Conn,
    config: &SmtpConfig,
    notice: &Notice,
) -> Result<Option<&'static str>> {
    let Ok(needed) = Can::try_from(notice.needs.as_str()) else { return Ok(Some(MEMBER_MAY_NOT)) };
    let member = memberships::joined_by_email(conn, &notice.recipient, config.organization_id).await?;
    let may = member.is_some_and(|member| member.membership.role.can(needed, member.organization.host_access));
    Ok(match () {
        () if !may => Some(MEMBER_MAY_NOT),
        () if !is_within_key(config.key_permissions.as_deref(), needed) => Some(SERVER_MAY_NOT),
        () => None,
    })
}
