//! What is written down about a change, in the transaction of the change itself.

pub mod chain;
pub mod compare;
pub mod denials;
pub mod export;
pub mod verify;

use serde_json::{Map, Value};
use uuid::Uuid;
pub use windlass_api::AuditAction as Action;
use windlass_api::Timestamp;
use windlass_store::audit::{Entry, INSTANCE_CHAIN};

pub use crate::auth::Actor;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    User,
    Session,
    Settings,
    Organization,
    Member,
    Invitation,
    ApiKey,
    Webhook,
    Smtp,
    Notice,
    Certificate,
    Domain,
    Connection,
    RegistryCredential,
    Application,
    Deployment,
    Delivery,
    Volume,
    Snapshot,
    Upload,
    Run,
    Schedule,
    Uptime,
    StatusPage,
    Extension,
    Execution,
    Installation,
    Denial,
    MasterKey,
    AuditChain,
    Instance,
}

impl Resource {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Session => "session",
            Self::Settings => "settings",
            Self::Organization => "organization",
            Self::Member => "member",
            Self::Invitation => "invitation",
            Self::ApiKey => "api_key",
            Self::Webhook => "webhook",
            Self::Smtp => "smtp",
            Self::Notice => "notice",
            Self::Certificate => "certificate",
            Self::Domain => "domain",
            Self::Connection => "connection",
            Self::RegistryCredential => "registry_credential",
            Self::Application => "application",
            Self::Deployment => "deployment",
            Self::Delivery => "delivery",
            Self::Volume => "volume",
            Self::Snapshot => "snapshot",
            Self::Upload => "upload",
            Self::Run => "run",
            Self::Schedule => "schedule",
            Self::Uptime => "uptime",
            Self::StatusPage => "status_page",
            Self::Extension => "extension",
            Self::Execution => "execution",
            Self::Installation => "installation",
            Self::Denial => "denial",
            Self::MasterKey => "master_key",
            Self::AuditChain => "audit_chain",
            Self::Instance => "instance",
        }
    }
}

/// What an entry says about who did it, and from where. Empty is what there is not.
#[derive(Clone, Debug, Default)]
pub struct Author {
    pub id: Option<Uuid>,
    pub name: String,
    pub address: String,
    pub request_id: String,
    /// The name of the API key that acted for them, if one did.
    pub key: String,
}

impl From<&Actor> for Author {
    fn from(actor: &Actor) -> Self {
        Self {
            id: actor.user_id(),
            name: actor.name().to_owned(),
            address: actor.origin().map(|origin| origin.address.to_string()).unwrap_or_default(),
            request_id: actor.origin().map(|origin| origin.request_id.clone()).unwrap_or_default(),
            key: actor.key().unwrap_or_default().to_owned(),
        }
    }
}

/// One change. Without an organization it belongs to the instance. `summary` goes on after the actor's name ("Ada" +
/// "left the organization"). Neither it nor the details ever hold a secret.
pub struct Change<'a> {
    pub organization_id: Option<Uuid>,
    pub action: Action,
    pub resource: Resource,
    pub resource_id: Uuid,
    pub summary: &'a str,
    pub details: &'a [(&'a str, &'a str)],
}

pub(super) fn entry(id: Uuid, now: Timestamp, author: &Author, change: &Change<'_>) -> Entry {
    let actor_id = author.id.map(|id| id.to_string()).unwrap_or_default();
    let way = [
        ("actor_id", actor_id.as_str()),
        ("api_key", &author.key),
        ("ip_address", &author.address),
        ("request_id", &author.request_id),
    ];
    let known = change.details.iter().copied().chain(way).filter(|(_, value)| !value.is_empty());
    let metadata: Map<_, _> = known.map(|(name, value)| (name.to_owned(), Value::from(value))).collect();
    let message = format!("{} {}", author.name, change.summary);
    Entry {
        chain_id: change.organization_id.unwrap_or(INSTANCE_CHAIN),
        seq: 0,
        id,
        actor_id: author.id,
        actor: author.name.clone(),
        action: change.action.as_str().to_owned(),
        resource: change.resource.as_str().to_owned(),
        resource_id: change.resource_id.to_string(),
        search_text: search_text(&message, &change.resource_id.to_string(), &metadata),
        message,
        metadata: Value::Object(metadata).to_string(),
        created_at: now,
        mac: Vec::new(),
    }
}

/// The message, the id and what the details add to them.
fn search_text(message: &str, resource_id: &str, metadata: &Map<String, Value>) -> String {
    let mut text = format!("{message}\n{resource_id}");
    // Not every reader may know of the key, so no search finds anything by it.
    let searchable = metadata.iter().filter(|(name, _)| *name != "api_key");
    for value in searchable.filter_map(|(_, value)| value.as_str()) {
        if !text.contains(value) {
            text.push('\n');
            text.push_str(value);
        }
    }
    text.to_lowercase()
}
