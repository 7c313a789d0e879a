//! What a caller may do, as values that prove it. Only this module makes them: a function that receives
//! one need not check again.

use std::sync::Arc;

use uuid::Uuid;
use windlass_api::{Can, ErrorCode, Role};
use windlass_store::memberships::{self, Joined};
use windlass_store::organizations::{self, Organization};
use windlass_store::{Tx, bearer};

use crate::app::App;
use crate::auth::actor::Actor;
use crate::auth::caller::Caller;
use crate::auth::denials::{Denial, Times};
use crate::auth::origin::Origin;
use crate::error::{Error, Result};
use crate::records::Viewer;
use crate::records::applications::ApplicationViewer;

/// A caller's place in an organization, and the permission that they have there: it was checked when this was made.
#[derive(Clone, Debug)]
pub struct Authority {
    caller: Arc<Caller>,
    joined: Joined,
    can: Can,
}

/// A row of an organization, and the authority with which the caller obtained it.
#[derive(Clone, Debug)]
pub struct Granted<T> {
    authority: Authority,
    row: T,
}

/// The login or the API key that has asked for something which another request finishes, as a row remembers it.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    pub credential_id: Uuid,
    pub is_key: bool,
    pub organization_id: Uuid,
}

const ENDED: &str = "The login or the API key that asked for this is not valid any more, or its user has left the organization. \
                     Start again.";

impl<T> Granted<T> {
    pub(super) const fn new(authority: Authority, row: T) -> Self {
        Self { authority, row }
    }

    pub const fn authority(&self) -> &Authority {
        &self.authority
    }

    /// As it was when it was obtained. A transaction reads it again.
    pub const fn row(&self) -> &T {
        &self.row
    }
}

impl Authority {
    /// Fails unless the caller may do `can` in the organization.
    pub(super) fn obtain(app: &App, caller: Arc<Caller>, joined: Joined, can: Can) -> Result<Self> {
        let authority = Self { caller, joined, can };
        authority.require(app, can)?;
        Ok(authority)
    }

    /// The authority of a caller who has asked before, as it is now. The request that finishes it needs no login.
    pub async fn again(app: &App, asked: Asked, can: Can, origin: Origin) -> Result<Self> {
        let ended = || Error::new(ErrorCode::Forbidden, ENDED);
        let Asked { credential_id, is_key, organization_id } = asked;
        let bearer = bearer::by_id(&mut app.db.read().await?, credential_id, is_key, organization_id).await?;
        let bearer = bearer.filter(|bearer| bearer.expires_at > app.now()).ok_or_else(ended)?;
        let joined = bearer.joined.clone().ok_or_else(ended)?;
        let counted = app.under_way.begin(bearer.user.id, app.config.account_requests_at_once)?;
        Self::obtain(app, Arc::new(Caller::new(&bearer, origin, Arc::new(counted))?), joined, can)
    }

    /// What a row remembers of it.
    pub fn asked(&self) -> Asked {
        let (credential_id, is_key) = self.caller.credential_id();
        Asked { credential_id, is_key, organization_id: self.organization_id() }
    }

    /// The same authority in a transaction: holds the organization still until the end of it, and checks the caller's
    /// login or key, role and permission as they are now, not as they were a moment ago.
    pub async fn hold(&self, app: &App, tx: &mut Tx) -> Result<Self> {
        let organization_id = self.organization_id();
        let found = organizations::lock(tx, organization_id).await?;
        let joined = if found { memberships::joined(tx, self.user_id(), organization_id).await? } else { None };
        let joined = joined.ok_or_else(|| Error::not_found("organization"))?;
        self.caller.hold(app, tx).await?;
        Self::obtain(app, self.caller.clone(), joined, self.can)
    }

    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    pub fn actor(&self) -> Actor {
        self.caller.actor()
    }

    /// The user who acts, or for whom the key acts.
    pub fn user_id(&self) -> Uuid {
        self.caller.user.id
    }

    pub const fn organization(&self) -> &Organization {
        &self.joined.organization
    }

    pub const fn organization_id(&self) -> Uuid {
        self.joined.organization.id
    }

    pub const fn role(&self) -> Role {
        self.joined.membership.role
    }

    pub fn viewer(&self) -> Viewer {
        self.caller.viewer()
    }

    /// What this caller sees of the organization's applications.
    pub fn application_viewer<'a>(&'a self, app: &'a App) -> ApplicationViewer<'a> {
        ApplicationViewer {
            vault: &app.vault,
            config: &app.config,
            now: app.now(),
            volume_grace_seconds: app.config.volume_grace_seconds,
            caller: self.viewer(),
            organization: self.organization(),
            sees_values: self.may(Can::VariableRead),
            sees_members: self.may(Can::MemberRead),
        }
    }

    /// Whether the caller may do something else too, where both answers are fine.
    pub fn may(&self, action: Can) -> bool {
        self.caller.check(&self.joined, action).is_ok()
    }

    /// Fails unless the caller may do `action` too. That they tried is noted for the audit log.
    pub fn require(&self, app: &App, action: Can) -> Result<()> {
        self.caller.check(&self.joined, action).inspect_err(|_| {
            let denial = Denial {
                organization_id: Some(self.organization_id()),
                user_id: Some(self.user_id()),
                user: self.caller.user.username.clone(),
                key: self.caller.key_name().unwrap_or_default().to_owned(),
                what: format!("what needs the permission {}", action.as_str()),
            };
            app.denials.note(denial, Times { count: 1, last_address: self.caller.origin.address });
        })
    }

    /// Fails unless the caller may do everything that the role may: a caller gives only what they have, and a key that
    /// may invite people is no way around its own limits.
    pub fn require_to_grant(&self, app: &App, role: Role) -> Result<()> {
        if role == Role::Owner {
            self.require(app, Can::OwnerUpdate)?;
        }
        let all = role.permissions(self.organization().host_access);
        all.into_iter().try_for_each(|action| self.require(app, action))
    }
}
