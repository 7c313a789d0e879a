//! What is written down about a change, in the transaction of the change itself.

use serde_json::{Map, Value};
use uuid::Uuid;
use windlass_store::users::User;
use windlass_store::{Result, Tx, audit};

use crate::app::App;
use crate::auth::{Ctx, Origin};

#[derive(Clone, Copy, Debug)]
pub enum Action {
    Create,
    Update,
    Delete,
    Access,
}

impl Action {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Access => "access",
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub enum Resource {
    User,
    Session,
    Settings,
    Organization,
    Member,
    Invitation,
}

impl Resource {
    const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Session => "session",
            Self::Settings => "settings",
            Self::Organization => "organization",
            Self::Member => "member",
            Self::Invitation => "invitation",
        }
    }
}

/// Who did it, and from where.
pub struct Actor {
    pub id: Option<Uuid>,
    pub name: String,
    pub address: String,
    pub request_id: String,
}

impl Actor {
    pub fn user(user: &User, origin: &Origin) -> Self {
        Self {
            id: Some(user.id),
            name: user.username.clone(),
            address: origin.address.to_string(),
            request_id: origin.request_id.clone(),
        }
    }

    pub fn caller(ctx: &Ctx) -> Self {
        Self::user(&ctx.user, &ctx.origin)
    }

    /// Somebody at the machine's own command line.
    pub fn operator() -> Self {
        Self { id: None, name: "operator".into(), address: String::new(), request_id: String::new() }
    }
}

/// One change. Without an organization it belongs to the instance. Details are plain texts and never secrets.
pub struct Change<'a> {
    pub organization_id: Option<Uuid>,
    pub action: Action,
    pub resource: Resource,
    pub resource_id: Uuid,
    pub details: &'a [(&'a str, &'a str)],
}

pub async fn record(tx: &mut Tx, app: &App, actor: &Actor, change: Change<'_>) -> Result<()> {
    let metadata: Map<_, _> =
        change.details.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))).collect();
    let entry = audit::Entry {
        id: app.new_id(),
        organization_id: change.organization_id,
        actor_id: actor.id,
        actor: actor.name.clone(),
        action: change.action.as_str().to_owned(),
        resource: change.resource.as_str().to_owned(),
        resource_id: change.resource_id.to_string(),
        metadata: Value::Object(metadata).to_string(),
        ip_address: actor.address.clone(),
        request_id: actor.request_id.clone(),
        created_at: app.now(),
    };
    audit::insert(tx, &entry).await
}
