//! Where notifications go: webhooks and a mail server.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use uuid::Uuid;

use crate::closed_set::closed_set;
use crate::sent::{self, Sent};
use crate::text::{self, absent_when_empty, check_length, refuse_invisible};
use crate::{Email, EventName, Host, Password, Port, Text, Timestamp, Whole};

closed_set! {
    /// A kind of destination; an organization has one of each at most.
    pub enum WebhookType {
        Slack = "slack",
        Discord = "discord",
        /// Any other receiver: signed JSON.
        Webhook = "webhook",
        Teams = "teams",
        Telegram = "telegram",
        Ntfy = "ntfy",
    }
}

closed_set! {
    /// A way by which people hear of what happened.
    pub enum Channel {
        Slack = "slack",
        Discord = "discord",
        Webhook = "webhook",
        Teams = "teams",
        Telegram = "telegram",
        Ntfy = "ntfy",
        /// To members, through the organization's mail server.
        Email = "email",
    }
}

impl Channel {
    /// The kind of webhook that it is; none for mail.
    pub const fn webhook(self) -> Option<WebhookType> {
        match self {
            Self::Slack => Some(WebhookType::Slack),
            Self::Discord => Some(WebhookType::Discord),
            Self::Webhook => Some(WebhookType::Webhook),
            Self::Teams => Some(WebhookType::Teams),
            Self::Telegram => Some(WebhookType::Telegram),
            Self::Ntfy => Some(WebhookType::Ntfy),
            Self::Email => None,
        }
    }
}

impl From<WebhookType> for Channel {
    fn from(kind: WebhookType) -> Self {
        match kind {
            WebhookType::Slack => Self::Slack,
            WebhookType::Discord => Self::Discord,
            WebhookType::Webhook => Self::Webhook,
            WebhookType::Teams => Self::Teams,
            WebhookType::Telegram => Self::Telegram,
            WebhookType::Ntfy => Self::Ntfy,
        }
    }
}

closed_set! {
    /// What became of a notice.
    pub enum NoticeState {
        /// It is to be sent, for the first time or again.
        Waiting = "waiting",
        /// Its receiver has taken it.
        Sent = "sent",
        /// It was tried for a day, or its receiver will never take it.
        Failed = "failed",
        /// Another notice has carried it, with others of the same time.
        Folded = "folded",
        /// It is not sent any more: too many were waiting, it came too late, or its channel is gone.
        Dropped = "dropped",
    }
}

closed_set! {
    /// How a mail server is spoken to.
    pub enum SmtpSecurity {
        /// In the clear. Only for a server on a trusted network.
        None = "none",
        /// Begins in the clear and must switch to TLS.
        Starttls = "starttls",
        /// TLS from the first byte.
        Tls = "tls",
    }
}

impl SmtpSecurity {
    pub const fn default_port(self) -> u16 {
        match self {
            Self::None => 25,
            Self::Starttls => 587,
            Self::Tls => 465,
        }
    }
}

/// An address to send to. Often it is enough to know it to post there, so it is not shown in debug output. Only its length is
/// checked here; where it leads is the server's business.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookUrl(String);

impl WebhookUrl {
    const MAX: usize = 2_000;
}

impl Deref for WebhookUrl {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Sent for WebhookUrl {
    fn sent(&self) -> impl Serialize {
        &self.0
    }
}

impl fmt::Debug for WebhookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookUrl(..)")
    }
}

impl TryFrom<&str> for WebhookUrl {
    type Error = String;

    fn try_from(text: &str) -> Result<Self, String> {
        let text = text.trim();
        refuse_invisible(text)?;
        check_length(text, 1, Self::MAX)?;
        Ok(Self(text.to_owned()))
    }
}

impl<'de> Deserialize<'de> for WebhookUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text::read(deserializer)
    }
}

impl JsonSchema for WebhookUrl {
    fn schema_name() -> Cow<'static, str> {
        "WebhookUrl".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "format": "uri",
            "minLength": 1,
            "maxLength": Self::MAX,
            "pattern": "^[Hh][Tt][Tt][Pp][Ss]?:",
            "description": "http or https, without credentials; not a private address unless the operator allows it.",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebhookConfig {
    pub id: Uuid,
    /// Who saved it last.
    pub user_id: Uuid,
    pub organization_id: Uuid,
    /// In full for those who may change it; for others only where it leads.
    pub webhook_url: String,
    pub r#type: WebhookType,
    pub is_active: bool,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Creates or replaces the configuration of its `type`; what is absent stays as it is.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateWebhookConfig {
    /// Default: the query parameter `id`, else the organization of the header, else the caller's default one.
    pub organization_id: Option<Uuid>,
    pub r#type: WebhookType,
    /// Required when there is none of this type yet.
    #[serde(serialize_with = "sent::optional")]
    pub webhook_url: Option<WebhookUrl>,
    /// A new one is active unless this says otherwise.
    pub is_active: Option<bool>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct CreateWebhookConfig {
    /// Default: the query parameter `id`, else the organization of the header, else the caller's default one.
    pub organization_id: Option<Uuid>,
    pub r#type: WebhookType,
    #[serde(serialize_with = "sent::whole")]
    pub webhook_url: WebhookUrl,
    /// Default: true.
    pub is_active: Option<bool>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteWebhookConfig {
    /// Default: the query parameter `id`, else the organization of the header, else the caller's default one.
    pub organization_id: Option<Uuid>,
    pub r#type: WebhookType,
}

/// The password is never shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SmtpConfig {
    pub id: Uuid,
    /// Who saved it last.
    pub user_id: Uuid,
    pub organization_id: Uuid,
    pub host: String,
    pub port: u16,
    pub username: String,
    pub has_password: bool,
    pub from_email: String,
    pub from_name: String,
    pub security: SmtpSecurity,
    pub is_active: bool,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateSmtpConfig {
    /// Default: the query parameter `id`, else the organization of the header, else the caller's default one.
    pub organization_id: Option<Uuid>,
    pub host: Host,
    /// Default: 587, with `tls` 465, with `none` 25.
    pub port: Option<Port>,
    /// Default: empty.
    pub username: Option<Text<0, 200>>,
    /// Absent or empty: the server asks for none.
    #[serde(serialize_with = "sent::optional")]
    pub password: Option<Password>,
    pub from_email: Email,
    /// Default: empty.
    pub from_name: Option<Text<0, 100>>,
    /// Default: `starttls`.
    pub security: Option<SmtpSecurity>,
    /// Default: true.
    pub is_active: Option<bool>,
}

/// What is absent stays as it is.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("minProperties" = 1))]
pub struct UpdateSmtpConfig {
    /// Default: the query parameter `id`, else the organization of the header, else the caller's default one.
    pub organization_id: Option<Uuid>,
    /// The configuration's id; an organization has one at most, so it may be left out.
    pub id: Option<Uuid>,
    pub host: Option<Host>,
    pub port: Option<Port>,
    pub username: Option<Text<0, 200>>,
    /// Empty: the server asks for none.
    #[serde(serialize_with = "sent::optional")]
    pub password: Option<Password>,
    pub from_email: Option<Email>,
    pub from_name: Option<Text<0, 100>>,
    pub security: Option<SmtpSecurity>,
    pub is_active: Option<bool>,
}

impl UpdateSmtpConfig {
    /// Whether it asks for no change at all.
    pub fn is_empty(&self) -> bool {
        let Self {
            organization_id: _,
            id: _,
            host,
            port,
            username,
            password,
            from_email,
            from_name,
            security,
            is_active,
        } = self;
        let texts = host.is_none() && username.is_none() && from_email.is_none() && from_name.is_none();
        texts && port.is_none() && password.is_none() && security.is_none() && is_active.is_none()
    }
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct DeleteSmtpConfig {
    /// Default: the query parameter `id`, else the organization of the header, else the caller's default one.
    pub organization_id: Option<Uuid>,
    /// The configuration's id; an organization has one at most, so it may be left out.
    pub id: Option<Uuid>,
}

/// What deliveries to the `webhook` are signed with, as the specification of Standard Webhooks says.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct SigningSecret {
    /// Begins with `whsec_`.
    pub secret: String,
    /// Until when the secret before this one signs too; null if it does not.
    pub previous_secret_until: Option<Timestamp>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RotateSigningSecret {
    /// Default: the query parameter `id`, else the organization of the header, else the caller's default one.
    pub organization_id: Option<Uuid>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TestWebhook {
    /// Default: the query parameter `id`, else the organization of the header, else the caller's default one.
    pub organization_id: Option<Uuid>,
    pub r#type: WebhookType,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TestSmtp {
    /// Default: the query parameter `id`, else the organization of the header, else the caller's default one.
    pub organization_id: Option<Uuid>,
    /// Default: the caller's own address.
    pub to: Option<Email>,
}

/// What came of sending something now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChannelTest {
    pub is_delivered: bool,
    /// What went wrong, and what to do about it; empty when nothing did.
    pub problem: String,
    /// Of the answer; null without one, and for mail.
    pub status: Option<u16>,
    /// How the answer begins, without what is secret.
    pub answer: String,
}

/// Which events a channel tells of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotificationPreference {
    pub channel: Channel,
    pub events: Vec<EventName>,
    /// Whether the first success after a failure among `events` is told too.
    pub recoveries: bool,
    /// Only events about these applications; empty for all events.
    pub application_ids: Vec<Uuid>,
    /// Whether this is how it is without anything having been chosen.
    pub is_default: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotificationPreferences {
    pub organization_id: Uuid,
    /// What the organization sends to its channels.
    pub channels: Vec<NotificationPreference>,
    /// What the caller gets by mail.
    pub email: NotificationPreference,
}

/// For `email`: what the caller gets by mail; it takes a login. For any other channel: what the organization sends to it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateNotificationPreference {
    /// Default: the query parameter `id`, else the organization of the header, else the caller's default one.
    pub organization_id: Option<Uuid>,
    pub channel: Channel,
    /// None: nothing is sent.
    pub events: Vec<EventName>,
    /// Default: true.
    pub recoveries: Option<bool>,
    /// Default: all.
    pub application_ids: Option<Vec<Uuid>>,
}

/// One message to one destination.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Notice {
    /// A receiver that gets it again gets this id again: it is its `webhook-id`.
    pub id: Uuid,
    pub organization_id: Uuid,
    pub channel: Channel,
    /// Of a mail; empty for every other channel.
    pub recipient: String,
    /// None for one that carries others.
    pub event: Option<EventName>,
    pub application_id: Option<Uuid>,
    pub title: String,
    pub state: NoticeState,
    /// Why it failed, was dropped, or waits; empty otherwise.
    pub reason: String,
    /// The notice that has carried this one.
    pub carried_by: Option<Uuid>,
    /// How many others it carries.
    pub carries: i64,
    pub attempts: i64,
    /// When it is tried again; null if that is not known, or it is over.
    pub next_attempt_at: Option<Timestamp>,
    pub created_at: Timestamp,
    /// Null as long as it waits.
    pub ended_at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Notices {
    /// Newest first.
    pub notices: Vec<Notice>,
    /// What to send as `before` for the next page; null when there is none.
    pub next_cursor: Option<Uuid>,
}

/// One try to deliver a notice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoticeAttempt {
    pub number: i64,
    pub started_at: Timestamp,
    pub milliseconds: i64,
    /// Where it went, without what is secret.
    pub destination: String,
    /// Of the answer; null without one, and for mail.
    pub status: Option<i64>,
    /// What went wrong; empty when nothing did.
    pub problem: String,
    /// How the answer begins, without what is secret.
    pub answer: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoticeDetails {
    pub notice: Notice,
    /// Oldest first; of very many only the newest.
    pub attempts: Vec<NoticeAttempt>,
}

/// All that are given must hold.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NoticesQuery {
    /// The organization. Default: the one of the header, else the caller's default one.
    pub id: Option<Uuid>,
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub channel: Option<Channel>,
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub state: Option<NoticeState>,
    pub application_id: Option<Uuid>,
    /// The `next_cursor` of an earlier answer.
    pub before: Option<Uuid>,
    /// Default: 20.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub limit: Option<Whole<1, 100>>,
}
