//! Who hears of an event: which channels of its organization, and which members by mail.

use uuid::Uuid;
use windlass_api::{Channel, EventName, Role};
use windlass_store::memberships::{self, Member};
use windlass_store::notification_preferences::{self, NotificationPreference};
use windlass_store::organizations::{self, Organization};
use windlass_store::smtp_configs::{self, SmtpConfig};
use windlass_store::webhook_configs::{self, WebhookConfig};
use windlass_store::{Conn, Result};

use super::allowed::is_within_key;
use super::messages::{self, Happened};
use crate::service::queue::Destination;

/// What a destination wants to hear.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    pub events: Vec<EventName>,
    /// Whether the first success after a failure is told too.
    pub recoveries: bool,
    /// Empty for all.
    pub application_ids: Vec<Uuid>,
}

impl Selection {
    const fn nothing() -> Self {
        Self { events: Vec::new(), recoveries: true, application_ids: Vec::new() }
    }

    fn hears(&self, happened: &Happened<'_>, is_recovery: bool) -> bool {
        let (name, application_id) = (happened.event.name, happened.event.application_id);
        let is_about =
            self.application_ids.is_empty() || application_id.is_some_and(|id| self.application_ids.contains(&id));
        if happened.is_told_by_deployment() && self.events.contains(&EventName::DeploymentFailed) {
            return is_about && name == EventName::ApplicationRunning && self.events.contains(&name);
        }
        let ends_failure =
            is_recovery && messages::failure_before(name).is_some_and(|failure| self.events.contains(&failure));
        is_about && (self.events.contains(&name) || (self.recoveries && ends_failure))
    }
}

impl From<&NotificationPreference> for Selection {
    fn from(chosen: &NotificationPreference) -> Self {
        Self {
            events: chosen.events.clone(),
            recoveries: chosen.recoveries,
            application_ids: chosen.application_ids.clone(),
        }
    }
}

/// Of a channel whose preference was never set.
pub fn default_of_channel() -> Selection {
    Selection { events: messages::told_by_default(), ..Selection::nothing() }
}

/// The same for a member: those who are responsible for all hear of failures.
pub fn default_of_member(role: Role) -> Selection {
    if role >= Role::Admin { default_of_channel() } else { Selection::nothing() }
}

/// Everything that decides who hears of an organization's events.
pub struct Audience {
    pub organization: Organization,
    channels: Vec<WebhookConfig>,
    /// If it is on.
    mail: Option<SmtpConfig>,
    members: Vec<Member>,
    preferences: Vec<NotificationPreference>,
}

impl Audience {
    /// None for an organization that is gone.
    pub async fn of(conn: &mut Conn, organization_id: Uuid) -> Result<Option<Self>> {
        let Some(organization) = organizations::get(conn, organization_id).await? else { return Ok(None) };
        let mut channels = webhook_configs::of_organization(conn, organization_id).await?;
        channels.retain(|config| config.is_active);
        let mail = smtp_configs::of_organization(conn, organization_id).await?;
        let mut audience = Self {
            organization,
            channels,
            mail: mail.filter(|config| config.is_active),
            members: Vec::new(),
            preferences: Vec::new(),
        };
        if !audience.is_empty() {
            audience.members = memberships::members(conn, organization_id).await?;
            audience.preferences = notification_preferences::of_organization(conn, organization_id).await?;
        }
        Ok(Some(audience))
    }

    /// Whether nothing is ever told.
    pub fn is_empty(&self) -> bool {
        self.channels.is_empty() && self.mail.is_none()
    }

    /// Where an event is told.
    pub fn hearing(&self, happened: &Happened<'_>, is_recovery: bool) -> Vec<Destination> {
        if !happened.is_for_people() {
            return Vec::new();
        }
        let channels = self.channels.iter().filter(|config| self.channel_hears(config, happened, is_recovery));
        let channels = channels.map(|config| self.destination(config.kind.into(), String::new()));
        let members = self.members.iter().filter(|member| self.member_hears(member, happened, is_recovery));
        let members = members.map(|member| self.destination(Channel::Email, member.user.email.clone()));
        channels.chain(members).collect()
    }

    fn destination(&self, channel: Channel, recipient: String) -> Destination {
        Destination { organization_id: Some(self.organization.id), channel, recipient }
    }

    /// A channel hears what the member who saved it may hear, now: who may configure channels must not hear by them what they may not
    /// hear themselves. If that member has left, it hears what every member may; one that an API key has saved, at most what the key may.
    fn channel_hears(&self, config: &WebhookConfig, happened: &Happened<'_>, is_recovery: bool) -> bool {
        let saver = self.members.iter().find(|member| member.user.id == config.user_id);
        let role = saver.map_or(Role::Viewer, |member| member.membership.role);
        let channel = Channel::from(config.kind);
        let chosen = self.preferences.iter().find(|chosen| chosen.user_id.is_none() && chosen.channel == channel);
        let is_allowed = self.may_hear(role, happened) && is_within(config.key_permissions.as_deref(), happened);
        is_allowed && chosen.map_or_else(default_of_channel, Into::into).hears(happened, is_recovery)
    }

    fn member_hears(&self, member: &Member, happened: &Happened<'_>, is_recovery: bool) -> bool {
        let role = member.membership.role;
        let chosen = self.preferences.iter().find(|chosen| chosen.user_id == Some(member.user.id));
        let selection = || chosen.map_or_else(|| default_of_member(role), Into::into);
        let is_carried = |mail: &SmtpConfig| is_within(mail.key_permissions.as_deref(), happened);
        self.mail.as_ref().is_some_and(is_carried)
            && self.may_hear(role, happened)
            && selection().hears(happened, is_recovery)
    }

    fn may_hear(&self, role: Role, happened: &Happened<'_>) -> bool {
        role.can(happened.event.name.needs(), self.organization.host_access)
    }
}

fn is_within(key_permissions: Option<&str>, happened: &Happened<'_>) -> bool {
    is_within_key(key_permissions, happened.event.name.needs())
}
