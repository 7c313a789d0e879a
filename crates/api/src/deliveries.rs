//! What code hosts send: how an application hears of a push, and what became of each delivery.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::closed_set::closed_set;
use crate::sent;
use crate::text::{absent_when_empty, checked_text, refuse_invisible};
use crate::variables::TextSet;
use crate::{Pagination, Timestamp, Whole};

closed_set! {
    /// A kind of server that keeps repositories.
    pub enum CodeHost {
        GitHub = "github",
        GitLab = "gitlab",
        Gitea = "gitea",
        Forgejo = "forgejo",
        /// Bitbucket Cloud.
        Bitbucket = "bitbucket",
        /// Bitbucket Server and Data Center.
        BitbucketServer = "bitbucket-server",
    }
}

closed_set! {
    /// What became of a delivery.
    pub enum DeliveryVerdict {
        /// It has queued a deployment, or ended a preview.
        Accepted = "accepted",
        /// It was signed with the application's secret, and there was nothing to deploy.
        Ignored = "ignored",
        /// It was not signed with the application's secret.
        Refused = "refused",
    }
}

/// A folder or a file of the repository, or a pattern of such.
pub type WatchPaths = TextSet<100, 300>;

checked_text! {
    /// The name of a tag, with `*` for anything but `/`, `**` for anything and `?` for one character.
    TagPattern, 1..=200, r"^[^\s~^:\[\\]+$", tag_pattern;
}

fn tag_pattern(text: &str) -> Result<String, String> {
    refuse_invisible(text)?;
    if text.contains(|c: char| c.is_whitespace() || "~^:[\\".contains(c)) {
        return Err("must be the name of a tag or a pattern, such as v*".into());
    }
    Ok(text.to_owned())
}

/// When an application is deployed without being asked to. Stored as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Triggers {
    /// Whether a push deploys.
    pub auto_deploy: bool,
    /// Only a push that changes one of these deploys; empty for every push.
    pub watch_paths: Vec<String>,
    /// Tags that are deployed as well; empty for none.
    pub tag_pattern: String,
    /// Of an application made from an image: whether another image that its tag leads to is deployed.
    pub auto_update: bool,
    /// Whether pull requests get previews.
    pub previews: bool,
    /// Whether those of forks do too.
    pub preview_forks: bool,
}

impl Default for Triggers {
    fn default() -> Self {
        Self {
            auto_deploy: true,
            watch_paths: Vec::new(),
            tag_pattern: String::new(),
            auto_update: false,
            previews: false,
            preview_forks: false,
        }
    }
}

impl Triggers {
    /// From a row.
    pub fn from_json(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| format!("the triggers in the database cannot be read: {error}"))
    }

    /// For a row.
    pub fn to_json(&self) -> Result<String, String> {
        serde_json::to_string(self).map_err(|error| error.to_string())
    }

    /// The names of the fields in which the two differ.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let all = [
            ("auto_deploy", self.auto_deploy != other.auto_deploy),
            ("watch_paths", self.watch_paths != other.watch_paths),
            ("tag_pattern", self.tag_pattern != other.tag_pattern),
            ("auto_update", self.auto_update != other.auto_update),
            ("previews", self.previews != other.previews),
            ("preview_forks", self.preview_forks != other.preview_forks),
        ];
        all.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name.to_owned()).collect()
    }
}

/// What code hosts are told of an application, and what they sent last.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ApplicationWebhook {
    /// Where deliveries go, with `application/json` as their content type.
    pub url: String,
    /// What they are signed with; for GitLab, the token.
    pub secret: String,
    /// Until when the secret before this one is taken too; null if it is not.
    pub previous_secret_until: Option<Timestamp>,
    /// Whether the application's connection has registered it at the code host.
    pub is_registered: bool,
    pub auto_deploy: bool,
    pub watch_paths: Vec<String>,
    pub tag_pattern: String,
    /// Empty for the repository's default branch.
    pub branch: String,
    /// Null if there was none in the time for which they are kept.
    pub last_delivery: Option<Delivery>,
}

/// A secret that the caller brings along.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSecret(String);

impl WebhookSecret {
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl sent::Sent for WebhookSecret {
    fn sent(&self) -> impl Serialize {
        self.reveal()
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret(..)")
    }
}

impl TryFrom<&str> for WebhookSecret {
    type Error = String;

    fn try_from(text: &str) -> Result<Self, String> {
        let text = text.trim();
        crate::text::check_length(text, Self::MIN, Self::MAX)?;
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("must be visible ASCII characters".into());
        }
        Ok(Self(text.to_owned()))
    }
}

impl WebhookSecret {
    const MIN: usize = 16;
    const MAX: usize = 200;
}

impl<'de> Deserialize<'de> for WebhookSecret {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::text::read(deserializer)
    }
}

impl JsonSchema for WebhookSecret {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "WebhookSecret".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string", "format": "password", "minLength": Self::MIN, "maxLength": Self::MAX, "pattern": "^[!-~]+$",
        })
    }
}

/// A new secret for an application's deliveries.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RotateWebhook {
    /// Default: a new random one. Applications of the same repository can have the same, so that one webhook is enough for all.
    #[serde(serialize_with = "sent::optional")]
    pub secret: Option<WebhookSecret>,
    /// How long the secret before is taken too. Default: 86400, a day.
    pub grace_seconds: Option<Whole<0, 604_800>>,
}

/// Something that a code host has sent for an application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Delivery {
    pub id: Uuid,
    pub application_id: Uuid,
    pub host: CodeHost,
    /// What happened, in the host's own word.
    pub event: String,
    /// The host's own id of it; empty if it gave none.
    pub delivery_id: String,
    pub verdict: DeliveryVerdict,
    /// Why it was accepted, ignored or refused.
    pub reason: String,
    /// The full name of the branch or tag, such as `refs/heads/main`; empty for what is not a push.
    pub reference: String,
    /// The commit that the branch or tag led to then; empty if it was deleted.
    pub commit_hash: String,
    /// The user of the code host who did it; empty if it did not say.
    pub sender: String,
    /// What it has queued.
    pub deployment_id: Option<Uuid>,
    /// The delivery that this one repeats because a member asked for it.
    pub replay_of: Option<Uuid>,
    /// Where it came from.
    pub ip_address: String,
    /// Without those that prove who sent it. None in lists.
    pub headers: BTreeMap<String, String>,
    /// As it was sent, secrets masked. Empty in lists, and if it was too long to be kept.
    pub body: String,
    pub body_bytes: i64,
    pub created_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Deliveries {
    pub deliveries: Vec<Delivery>,
    pub pagination: Pagination,
}

/// All that are given must hold.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DeliveriesQuery {
    /// Default: 1. Behind the last page there is nothing.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub page: Option<Whole<1, 1_000_000_000>>,
    /// Default: 10. Also written `pageSize`.
    #[serde(alias = "pageSize", deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub page_size: Option<Whole<1, 100>>,
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub verdict: Option<DeliveryVerdict>,
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub host: Option<CodeHost>,
}
