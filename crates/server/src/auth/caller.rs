//! The caller of a request. Obtaining a resource through [`Ctx`] *is* the permission check.
//!
//! A caller presents a login session or an API key. A session acts as its user; a key acts for its user in one organization,
//! and may do what it was made for as far as the user still may.

use std::ops::Deref;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use uuid::Uuid;
use windlass_api::{Can, ErrorCode, Role};
use windlass_store::applications::{self, Application};
use windlass_store::bearer::{self, Bearer};
use windlass_store::deployments::{self, Deployment};
use windlass_store::memberships::{self, Joined};
use windlass_store::users::User;
use windlass_store::{api_keys, invitations, sessions, smtp_configs};

use crate::app::App;
use crate::auth::denials::{Denial, Times};
use crate::auth::limiter::Limit;
use crate::auth::origin::{Origin, header_text};
use crate::auth::token;
use crate::error::{Error, Result};
use crate::records::Viewer;
use crate::records::applications::Onlooker;

pub const ORGANIZATION_HEADER: &str = "x-organization-id";

/// How old the `last_used_at` of a session or key may get before a request renews it; keeps reads from becoming writes.
const LAST_USED_PRECISION_SECONDS: i64 = 60;

/// An authenticated request.
pub struct Ctx {
    pub app: Arc<App>,
    pub origin: Origin,
    pub user: User,
    token_hash: [u8; 32],
    credential: Credential,
    /// The organization that the request names, else the user's default one, if they belong to it. A key has its own.
    joined: Option<Joined>,
}

enum Credential {
    Session { id: Uuid },
    Key { id: Uuid, name: String, permissions: Vec<Can>, organization_id: Uuid },
}

impl FromRequestParts<Arc<App>> for Ctx {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self> {
        let origin = Origin::from_request_parts(parts, app).await?;
        let token = bearer_token(&parts.headers).ok_or_else(|| {
            unauthenticated("This needs a login. Send the header \"Authorization: Bearer <access_token>\".")
        })?;
        let token_hash = token::hash(token);
        // Who it is comes before what they ask for: a malformed organization id is only told to somebody known.
        let organization = organization_header(&parts.headers);
        let organization_id = organization.as_ref().ok().copied().flatten();

        let bearer = valid_bearer(app, token::is_api_key(token), &token_hash, organization_id).await?;
        let ctx = Self::new(app.clone(), origin, bearer, token_hash)?;
        ctx.limit_requests()?;
        let named = organization?;
        if named.is_some() && ctx.current_organization_id() != named {
            let message = match ctx.credential {
                Credential::Session { .. } => "you do not belong to this organization.",
                Credential::Key { .. } => "this API key belongs to another organization.",
            };
            return Err(Error::new(ErrorCode::Forbidden, format!("{ORGANIZATION_HEADER}: {message}")));
        }
        Ok(ctx)
    }
}

/// A request with a login session: what concerns the user's own account is not for keys.
pub struct Login {
    ctx: Ctx,
    pub session_id: Uuid,
    pub token_hash: [u8; 32],
}

impl FromRequestParts<Arc<App>> for Login {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self> {
        let ctx = Ctx::from_request_parts(parts, app).await?;
        match ctx.credential {
            Credential::Session { id } => Ok(Self { session_id: id, token_hash: ctx.token_hash, ctx }),
            Credential::Key { .. } => Err(Error::new(
                ErrorCode::LoginRequired,
                "This concerns your own account, so it needs a login; an API key acts for you in one organization only.",
            )),
        }
    }
}

impl Deref for Login {
    type Target = Ctx;

    fn deref(&self) -> &Ctx {
        &self.ctx
    }
}

impl Ctx {
    fn new(app: Arc<App>, origin: Origin, bearer: Bearer, token_hash: [u8; 32]) -> Result<Self> {
        let Bearer { credential_id: id, key, user, joined, .. } = bearer;
        let credential = match (key, &joined) {
            (None, _) => Credential::Session { id },
            (Some(key), Some(joined)) => Credential::Key {
                id,
                // A permission that there no longer is grants nothing.
                permissions: key.permissions.split(' ').filter_map(|name| Can::try_from(name).ok()).collect(),
                name: key.name,
                organization_id: joined.organization.id,
            },
            (Some(_), None) => return Err(Error::internal("an API key without an organization")),
        };
        Ok(Self { app, origin, user, token_hash, credential, joined })
    }

    /// The same caller in the same organization, as they are by now: for answers that go on after the request was allowed.
    pub async fn again(&self) -> Result<Self> {
        let is_key = matches!(self.credential, Credential::Key { .. });
        let organization_id = self.current_organization_id();
        let bearer = valid_bearer(&self.app, is_key, &self.token_hash, organization_id).await?;
        let again = Self::new(self.app.clone(), self.origin.clone(), bearer, self.token_hash)?;
        match again.current_organization_id() == organization_id {
            true => Ok(again),
            false => Err(Error::not_found("organization")),
        }
    }

    fn limit_requests(&self) -> Result<()> {
        if let Credential::Key { id, .. } = &self.credential {
            limit_requests(&self.app, &format!("key {id}"), self.app.config.key_requests)?;
        }
        limit_requests(&self.app, &format!("account {}", self.user.id), self.app.config.account_requests)
    }

    /// Fails unless the caller may do `action` in the organization. That they tried is noted for the audit log.
    pub fn require(&self, joined: &Joined, action: Can) -> Result<()> {
        self.check(joined, action).inspect_err(|_| {
            let denial = Denial {
                organization_id: Some(joined.organization.id),
                user_id: Some(self.user.id),
                user: self.user.username.clone(),
                key: self.key_name().unwrap_or_default().to_owned(),
                what: format!("what needs the permission {}", action.as_str()),
            };
            self.app.denials.note(denial, Times { count: 1, last_address: self.origin.address });
        })
    }

    /// By the member's role, and with a key by the key too.
    fn check(&self, joined: &Joined, action: Can) -> Result<()> {
        require_role(joined, action)?;
        match &self.credential {
            Credential::Key { permissions, .. } if !permissions.contains(&action) => {
                let message = format!("This API key lacks the permission {}.", action.as_str());
                Err(Error::new(ErrorCode::Forbidden, message))
            }
            _ => Ok(()),
        }
    }

    /// Fails unless the caller may do everything that the role may: nobody gives what they do not have, and a key that may
    /// invite people is no way around its own limits.
    pub fn require_to_grant(&self, joined: &Joined, role: Role) -> Result<()> {
        if role == Role::Owner {
            self.require(joined, Can::OwnerUpdate)?;
        }
        let all = role.permissions(joined.organization.host_access);
        all.into_iter().try_for_each(|action| self.require(joined, action))
    }

    /// Whether the caller may, where both answers are fine.
    pub fn may(&self, joined: &Joined, action: Can) -> bool {
        self.check(joined, action).is_ok()
    }

    /// A key knows of no organization but its own.
    pub fn can_know(&self, organization_id: Uuid) -> bool {
        match self.credential {
            Credential::Session { .. } => true,
            Credential::Key { organization_id: own, .. } => own == organization_id,
        }
    }

    /// Through whose eyes records are shown.
    pub fn viewer(&self) -> Viewer {
        let confined_to = match self.credential {
            Credential::Session { .. } => None,
            Credential::Key { organization_id, .. } => Some(organization_id),
        };
        Viewer { user_id: self.user.id, confined_to }
    }

    /// The name of the API key, if the caller uses one.
    pub fn key_name(&self) -> Option<&str> {
        match &self.credential {
            Credential::Session { .. } => None,
            Credential::Key { name, .. } => Some(name),
        }
    }
}

impl Ctx {
    /// The organization with this id, else the current one, if the caller may do `action` in it. What the caller does
    /// not belong to does not exist for them.
    pub async fn organization(&self, id: Option<Uuid>, action: Can) -> Result<Joined> {
        let joined = self.place(id).await?;
        self.require(&joined, action)?;
        Ok(joined)
    }

    /// The organization, if the caller may do `action` to one of its members. Not to know whom (`None`) is left for the
    /// body's own check to tell.
    pub async fn member(&self, id: Option<Uuid>, user_id: Option<Uuid>, action: Can) -> Result<Joined> {
        let joined = self.place(id).await?;
        if let Some(user_id) = user_id {
            let mut conn = self.app.db.read().await?;
            if !memberships::exists(&mut conn, joined.organization.id, user_id).await? {
                return Err(Error::not_found("member"));
            }
        }
        self.require(&joined, action)?;
        Ok(joined)
    }

    /// The organization, if the caller may do `action` to this invitation to it.
    pub async fn invitation(&self, id: Option<Uuid>, invitation_id: Uuid, action: Can) -> Result<Joined> {
        let joined = self.place(id).await?;
        let mut conn = self.app.db.read().await?;
        if !invitations::exists(&mut conn, joined.organization.id, invitation_id).await? {
            return Err(Error::not_found("invitation"));
        }
        self.require(&joined, action)?;
        Ok(joined)
    }

    /// The organization, if the caller may do `action` to this API key in it.
    pub async fn api_key(&self, id: Option<Uuid>, key_id: Uuid, action: Can) -> Result<Joined> {
        let joined = self.place(id).await?;
        let mut conn = self.app.db.read().await?;
        if !api_keys::exists(&mut conn, joined.organization.id, key_id).await? {
            return Err(Error::not_found("API key"));
        }
        self.require(&joined, action)?;
        Ok(joined)
    }

    /// The organization, if the caller may do `action` to its SMTP configuration. Where there is one, `config_id` must be its.
    pub async fn smtp_config(&self, id: Option<Uuid>, config_id: Option<Uuid>, action: Can) -> Result<Joined> {
        let joined = self.place(id).await?;
        if config_id.is_some() {
            let mut conn = self.app.db.read().await?;
            let stored = smtp_configs::of_organization(&mut conn, joined.organization.id).await?;
            if stored.is_some_and(|stored| config_id != Some(stored.id)) {
                return Err(Error::not_found("SMTP configuration"));
            }
        }
        self.require(&joined, action)?;
        Ok(joined)
    }

    /// The application, if it is the current organization's and the caller may do `action` to it.
    pub async fn application(&self, id: Uuid, action: Can) -> Result<(Joined, Application)> {
        let joined = self.place(None).await?;
        let mut conn = self.app.db.read().await?;
        let found = applications::of_organization(&mut conn, joined.organization.id, id).await?;
        let found = found.ok_or_else(|| Error::not_found("application"))?;
        self.require(&joined, action)?;
        Ok((joined, found))
    }

    /// The deployment, if it is the current organization's and the caller may do `action` to it.
    pub async fn deployment(&self, id: Uuid, action: Can) -> Result<(Joined, Deployment)> {
        let joined = self.place(None).await?;
        let mut conn = self.app.db.read().await?;
        let found = deployments::of_organization(&mut conn, joined.organization.id, id).await?;
        let found = found.ok_or_else(|| Error::not_found("deployment"))?;
        self.require(&joined, action)?;
        Ok((joined, found))
    }

    /// Through whose eyes the organization's applications are shown.
    pub fn onlooker<'a>(&'a self, joined: &'a Joined) -> Onlooker<'a> {
        Onlooker {
            vault: &self.app.vault,
            viewer: self.viewer(),
            organization: &joined.organization,
            sees_values: self.may(joined, Can::VariableRead),
            sees_members: self.may(joined, Can::MemberRead),
        }
    }

    /// The caller's place in an organization, whatever they may do there.
    async fn place(&self, id: Option<Uuid>) -> Result<Joined> {
        let id = id.or(self.current_organization_id()).ok_or_else(|| {
            Error::new(
                ErrorCode::NotFound,
                "You do not belong to an organization. Create one, or accept an invitation.",
            )
        })?;
        let joined = match &self.joined {
            _ if !self.can_know(id) => None,
            Some(current) if current.organization.id == id => Some(current.clone()),
            _ => memberships::joined(&mut self.app.db.read().await?, self.user.id, id).await?,
        };
        joined.ok_or_else(|| Error::not_found("organization"))
    }

    pub fn current_organization_id(&self) -> Option<Uuid> {
        self.joined.as_ref().map(|joined| joined.organization.id)
    }
}

/// Whoever presents the token, if it is still valid.
async fn valid_bearer(app: &App, is_key: bool, token_hash: &[u8; 32], organization_id: Option<Uuid>) -> Result<Bearer> {
    let mut conn = app.db.read().await?;
    let bearer = match is_key {
        true => bearer::by_api_key(&mut conn, token_hash).await?,
        false => bearer::by_session(&mut conn, token_hash, organization_id).await?,
    };
    drop(conn);
    let now = app.now();
    let bearer = bearer.filter(|bearer| bearer.expires_at > now).ok_or_else(|| {
        unauthenticated(match is_key {
            true => "This API key is not valid (any more). Make another one.",
            false => "This login is not valid (any more). Log in again.",
        })
    })?;
    note_use(app, &bearer).await;
    Ok(bearer)
}

/// Counts a request; 0 means that nobody counts.
pub fn limit_requests(app: &App, key: &str, tries: u32) -> Result<()> {
    if tries == 0 {
        return Ok(());
    }
    app.requests.try_once(key, Limit::a_minute(tries), app.now()).map_err(|seconds| {
        Error::rate_limited(format!("More than {tries} requests in a minute. Wait {seconds} seconds."), seconds)
    })
}

fn require_role(joined: &Joined, action: Can) -> Result<()> {
    let role = joined.membership.role;
    if role.can(action, joined.organization.host_access) {
        return Ok(());
    }
    let message = format!(
        "Your role in this organization is {}; this needs the permission {}, which the role {} has.",
        role.as_str(),
        action.as_str(),
        action.least_role().as_str()
    );
    Err(Error::new(ErrorCode::Forbidden, message))
}

/// Renews `last_used_at`. Reading must go on when nothing can be written, so a failure is only logged.
async fn note_use(app: &App, bearer: &Bearer) {
    let (id, before, now) = (bearer.credential_id, bearer.last_used_at, app.now());
    if before.is_some_and(|before| before.plus_seconds(LAST_USED_PRECISION_SECONDS) > now) {
        return;
    }
    let noted = async {
        let mut tx = app.db.begin().await?;
        match bearer.key {
            Some(_) => api_keys::touch(&mut tx, id, before, now).await?,
            None => sessions::touch(&mut tx, id, before.unwrap_or_default(), now).await?,
        }
        tx.commit().await
    };
    if let Err(error) = noted.await {
        tracing::warn!(%error, "could not note the use of a credential");
    }
}

fn unauthenticated(message: &str) -> Error {
    Error::new(ErrorCode::Unauthenticated, message)
}

fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn organization_header(headers: &HeaderMap) -> Result<Option<Uuid>> {
    match header_text(headers, ORGANIZATION_HEADER) {
        None => Ok(None),
        Some(text) => match Uuid::try_parse(&text) {
            Ok(id) => Ok(Some(id)),
            Err(_) => Err(Error::field(ORGANIZATION_HEADER, "must be a UUID")),
        },
    }
}
