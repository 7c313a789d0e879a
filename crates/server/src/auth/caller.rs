//! The caller of a request: a user with a login, or an API key that acts for one.
//!
//! A login acts as its user. A key acts for its user in one organization, and may do what it was made for as far as the
//! user still may.

use std::sync::Arc;

use uuid::Uuid;
use windlass_api::{Can, ErrorCode};
use windlass_store::bearer::Bearer;
use windlass_store::memberships::Joined;
use windlass_store::users::User;
use windlass_store::{Tx, api_keys, sessions};

use crate::app::App;
use crate::auth::actor::Actor;
use crate::auth::bearer;
use crate::auth::origin::Origin;
use crate::auth::under_way::Counted;
use crate::error::{Error, Result};
use crate::records::Viewer;

#[derive(Clone, Debug)]
pub struct Caller {
    pub user: User,
    pub origin: Origin,
    pub(super) credential: Credential,
    /// The request counts until its caller is dropped.
    pub(super) counted: Arc<Counted>,
}

#[derive(Clone, Debug)]
pub(super) enum Credential {
    Session { id: Uuid },
    Key { id: Uuid, name: String, permissions: Vec<Can>, organization_id: Uuid },
}

impl Caller {
    pub(super) fn new(bearer: &Bearer, origin: Origin, counted: Arc<Counted>) -> Result<Self> {
        let id = bearer.credential_id;
        let credential = match (&bearer.key, &bearer.joined) {
            (None, _) => Credential::Session { id },
            (Some(key), Some(joined)) => Credential::Key {
                id,
                name: key.name.clone(),
                // A permission that there no longer is grants nothing.
                permissions: key.permissions.split(' ').filter_map(|name| Can::try_from(name).ok()).collect(),
                organization_id: joined.organization.id,
            },
            (Some(_), None) => return Err(Error::internal("an API key without an organization")),
        };
        Ok(Self { user: bearer.user.clone(), origin, credential, counted })
    }

    /// Fails when the login or the key has ended since the request came: its body may have taken a while.
    pub async fn hold(&self, app: &App, tx: &mut Tx) -> Result<()> {
        let is_valid = match &self.credential {
            Credential::Session { id } => sessions::is_valid(tx, *id, app.now()).await?,
            Credential::Key { id, .. } => api_keys::is_valid(tx, *id, app.now()).await?,
        };
        if is_valid { Ok(()) } else { Err(bearer::not_valid(self.is_key())) }
    }

    pub fn actor(&self) -> Actor {
        match &self.credential {
            Credential::Session { .. } => Actor::user(&self.user, &self.origin),
            Credential::Key { name, .. } => Actor::ApiKey {
                name: name.clone(),
                user_id: self.user.id,
                user: self.user.username.clone(),
                origin: self.origin.clone(),
            },
        }
    }

    pub const fn is_key(&self) -> bool {
        matches!(self.credential, Credential::Key { .. })
    }

    /// The name of the API key, if the caller uses one.
    pub fn key_name(&self) -> Option<&str> {
        match &self.credential {
            Credential::Session { .. } => None,
            Credential::Key { name, .. } => Some(name),
        }
    }

    /// The id of the login or of the key, and whether it is a key.
    pub(super) const fn credential_id(&self) -> (Uuid, bool) {
        match self.credential {
            Credential::Session { id } => (id, false),
            Credential::Key { id, .. } => (id, true),
        }
    }

    /// What an API key may do at most, as it is stored with what the key has saved; none for a login.
    pub fn key_permissions(&self) -> Option<String> {
        match &self.credential {
            Credential::Session { .. } => None,
            Credential::Key { permissions, .. } => {
                Some(permissions.iter().map(|can| can.as_str()).collect::<Vec<_>>().join(" "))
            }
        }
    }

    /// A key knows of no organization but its own.
    pub fn can_know(&self, organization_id: Uuid) -> bool {
        self.confined_to().is_none_or(|own| own == organization_id)
    }

    /// What this caller sees in records.
    pub fn viewer(&self) -> Viewer {
        Viewer { user_id: self.user.id, confined_to: self.confined_to() }
    }

    const fn confined_to(&self) -> Option<Uuid> {
        match self.credential {
            Credential::Session { .. } => None,
            Credential::Key { organization_id, .. } => Some(organization_id),
        }
    }

    /// By the member's role, and with a key by the key too.
    pub(super) fn check(&self, joined: &Joined, action: Can) -> Result<()> {
        check_role(joined, action)?;
        match &self.credential {
            Credential::Key { permissions, .. } if !permissions.contains(&action) => {
                let message = format!("This API key lacks the permission {}.", action.as_str());
                Err(Error::new(ErrorCode::Forbidden, message))
            }
            _ => Ok(()),
        }
    }
}

fn check_role(joined: &Joined, action: Can) -> Result<()> {
    let role = joined.membership.role;
    if role.can(action, joined.organization.host_access) {
        return Ok(());
    }
    if role.can(action, true) {
        let message = format!(
            "This needs the permission {} and host access, which an admin of the installation grants to an organization.",
            action.as_str()
        );
        return Err(Error::new(ErrorCode::Forbidden, message));
    }
    let message = format!(
        "Your role in this organization is {}; this needs the permission {}, which the role {} has.",
        role.as_str(),
        action.as_str(),
        action.least_role().as_str()
    );
    Err(Error::new(ErrorCode::Forbidden, message))
}
