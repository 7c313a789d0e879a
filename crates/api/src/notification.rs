//! Where notifications go: webhooks and a mail server.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use uuid::Uuid;

use crate::closed_set::closed_set;
use crate::sent::{self, Sent};
use crate::text::{self, check_length, refuse_invisible};
use crate::{Email, Host, Password, Port, Text, Timestamp};

closed_set! {
    /// A kind of destination; an organization has one of each at most.
    pub enum WebhookType {
        Slack = "slack",
        Discord = "discord",
        /// Any other receiver: signed JSON.
        Webhook = "webhook",
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
