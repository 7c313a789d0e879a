//! The caller of a request. Obtaining a resource through [`Ctx`] *is* the permission check.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use uuid::Uuid;
use windlass_api::{Can, ErrorCode};
use windlass_store::memberships::{self, Joined};
use windlass_store::sessions::{self, Place};
use windlass_store::users::User;

use crate::app::App;
use crate::auth::token;
use crate::error::{Error, Result};

pub const ORGANIZATION_HEADER: &str = "x-organization-id";

/// How old a session's `last_used_at` may get before a request renews it; keeps reads from becoming writes.
const LAST_USED_PRECISION_SECONDS: i64 = 60;

/// Where a request comes from, known or not.
#[derive(Clone, Debug)]
pub struct Origin {
    pub address: IpAddr,
    pub user_agent: String,
    pub request_id: String,
}

/// The peer of the connection, put into each request by the listener.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

/// The id of the request, put into it by the outermost layer.
#[derive(Clone, Debug)]
pub struct RequestId(pub String);

impl<S: Sync> FromRequestParts<S> for Origin {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        let missing = || Error::internal("the request carries no peer address or id");
        let Peer(peer) = parts.extensions.get().copied().ok_or_else(missing)?;
        let RequestId(request_id) = parts.extensions.get().cloned().ok_or_else(missing)?;
        let user_agent = header_text(&parts.headers, header::USER_AGENT.as_str()).unwrap_or_default();
        let user_agent = user_agent.chars().filter(|c| !c.is_control()).take(200).collect();
        Ok(Self { address: peer.ip().to_canonical(), user_agent, request_id })
    }
}

/// An authenticated request.
pub struct Ctx {
    pub app: Arc<App>,
    pub origin: Origin,
    pub user: User,
    pub session_id: Uuid,
    pub token_hash: [u8; 32],
    /// The organization that the request names, else the user's default one.
    place: Option<Place>,
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

        let mut conn = app.db.read().await?;
        let bearer = sessions::bearer(&mut conn, &token_hash, organization_id).await?;
        drop(conn);

        let now = app.now();
        let bearer = bearer
            .filter(|bearer| bearer.expires_at > now)
            .ok_or_else(|| unauthenticated("This login is not valid (any more). Log in again."))?;
        if organization?.is_some() && bearer.place.is_none() {
            let message = format!("{ORGANIZATION_HEADER}: you do not belong to this organization.");
            return Err(Error::new(ErrorCode::Forbidden, message));
        }
        if bearer.last_used_at.plus_seconds(LAST_USED_PRECISION_SECONDS) <= now {
            let mut tx = app.db.begin().await?;
            sessions::touch(&mut tx, bearer.session_id, now).await?;
            tx.commit().await?;
        }
        Ok(Self {
            app: app.clone(),
            origin,
            user: bearer.user,
            session_id: bearer.session_id,
            token_hash,
            place: bearer.place,
        })
    }
}

impl Ctx {
    /// The organization with this id, else the current one, if the caller may do `action` in it. What the caller does
    /// not belong to does not exist for them.
    pub async fn organization(&self, id: Option<Uuid>, action: Can) -> Result<Joined> {
        let id = id.or(self.current_organization_id()).ok_or_else(|| {
            Error::new(
                ErrorCode::NotFound,
                "You do not belong to an organization. Create one, or accept an invitation.",
            )
        })?;
        let mut conn = self.app.db.read().await?;
        let joined = memberships::joined(&mut conn, self.user.id, id).await?;
        let joined = joined.ok_or_else(|| Error::not_found("organization"))?;
        require(&joined, action)?;
        Ok(joined)
    }

    pub fn current_organization_id(&self) -> Option<Uuid> {
        self.place.map(|place| place.organization_id)
    }
}

/// Fails unless the member may do `action` in their organization.
pub fn require(joined: &Joined, action: Can) -> Result<()> {
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

fn header_text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}
