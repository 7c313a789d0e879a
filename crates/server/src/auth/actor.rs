//! Who acts: the one who is named in the audit log, and who set a deployment off.

use uuid::Uuid;
use windlass_api::DeploymentTrigger;
use windlass_store::users::User;

use crate::auth::Origin;

#[derive(Clone, Debug)]
pub enum Actor {
    /// A user with a login, or one who is just getting it.
    User {
        id: Uuid,
        name: String,
        origin: Origin,
    },
    /// A program with an API key, for the user who made the key.
    ApiKey {
        name: String,
        user_id: Uuid,
        user: String,
        origin: Origin,
    },
    /// A push to a repository, whose sender proved that they know the application's secret.
    Push {
        origin: Origin,
    },
    /// A time that an organization has set.
    Schedule,
    Extension {
        name: String,
    },
    /// A person at the machine's own command line.
    Operator,
    /// The server itself, when it has finished what another actor asked for.
    Server,
}

impl Actor {
    pub fn user(user: &User, origin: &Origin) -> Self {
        Self::User { id: user.id, name: user.username.clone(), origin: origin.clone() }
    }

    /// As the audit log names the actor. A key is named by its user.
    pub fn name(&self) -> &str {
        match self {
            Self::User { name, .. } | Self::ApiKey { user: name, .. } | Self::Extension { name } => name,
            Self::Push { .. } => "push",
            Self::Schedule => "schedule",
            Self::Operator => "operator",
            Self::Server => "windlass",
        }
    }

    /// The user who acts, or for whom a key acts. The others act for an organization, and for no user of it.
    pub const fn user_id(&self) -> Option<Uuid> {
        match self {
            Self::User { id, .. } | Self::ApiKey { user_id: id, .. } => Some(*id),
            Self::Push { .. } | Self::Schedule | Self::Extension { .. } | Self::Operator | Self::Server => None,
        }
    }

    /// The name of the API key, if one acts.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::ApiKey { name, .. } => Some(name),
            _ => None,
        }
    }

    /// Where the request came from, if it was one.
    pub const fn origin(&self) -> Option<&Origin> {
        match self {
            Self::User { origin, .. } | Self::ApiKey { origin, .. } | Self::Push { origin } => Some(origin),
            _ => None,
        }
    }

    /// What a deployment that the actor asks for is triggered by.
    pub const fn trigger(&self) -> DeploymentTrigger {
        match self {
            Self::User { .. } => DeploymentTrigger::User,
            Self::ApiKey { .. } => DeploymentTrigger::ApiKey,
            Self::Push { .. } => DeploymentTrigger::Push,
            Self::Schedule => DeploymentTrigger::Schedule,
            Self::Extension { .. } => DeploymentTrigger::Extension,
            // The command line is a part of the server.
            Self::Operator | Self::Server => DeploymentTrigger::Server,
        }
    }
}
