//! The token that a request presents, and whether it is still valid.

use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use uuid::Uuid;
use windlass_api::ErrorCode;
use windlass_store::bearer::{self, Bearer};
use windlass_store::{api_keys, sessions};

use crate::app::App;
use crate::auth::{cookie, token};
use crate::config::Config;
use crate::error::{Error, Result};

/// How old the `last_used_at` of a session or key may get before a request renews it; keeps reads from becoming writes.
const LAST_USED_PRECISION_SECONDS: i64 = 60;

/// A token, of which only the hash is kept.
#[derive(Clone, Copy)]
pub struct PresentedToken {
    pub hash: [u8; 32],
    is_key: bool,
}

impl PresentedToken {
    /// A browser's cookie counts only without the header, and holds no key.
    pub fn of_request(config: &Config, parts: &Parts) -> Result<Self> {
        if let Some(token) = bearer_token(&parts.headers) {
            return Ok(Self { hash: token::hash(token), is_key: token::is_api_key(token) });
        }
        let token = cookie::token(config, parts).ok_or_else(|| {
            unauthenticated("This needs a login. Send the header \"Authorization: Bearer <access_token>\".")
        })?;
        Ok(Self { hash: token::hash(token), is_key: false })
    }

    /// What is known by the token, if it is still valid. The use of it is noted.
    pub async fn bearer(&self, app: &App, organization_id: Option<Uuid>) -> Result<Bearer> {
        let mut conn = app.db.read().await?;
        let bearer = match self.is_key {
            true => bearer::by_api_key(&mut conn, &self.hash).await?,
            false => bearer::by_session(&mut conn, &self.hash, organization_id).await?,
        };
        drop(conn);
        let now = app.now();
        let bearer = bearer.filter(|bearer| bearer.expires_at > now).ok_or_else(|| not_valid(self.is_key))?;
        note_use(app, &bearer).await;
        Ok(bearer)
    }
}

/// The refusal of a token that is not known, or was once.
pub fn not_valid(is_key: bool) -> Error {
    unauthenticated(match is_key {
        true => "This API key is not valid (any more). Make another one.",
        false => "This login is not valid (any more). Log in again.",
    })
}

fn unauthenticated(message: &str) -> Error {
    Error::new(ErrorCode::Unauthenticated, message)
}

/// What the header of the name says.
pub fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
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
