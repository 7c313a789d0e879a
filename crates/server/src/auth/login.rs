//! A request with a login: what concerns the user's own account is not for keys.

use std::ops::Deref;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use uuid::Uuid;
use windlass_api::ErrorCode;

use crate::app::App;
use crate::auth::caller::Credential;
use crate::auth::ctx::Ctx;
use crate::error::{Error, Result};

pub struct Login {
    ctx: Ctx,
    pub session_id: Uuid,
    pub token_hash: [u8; 32],
}

impl FromRequestParts<Arc<App>> for Login {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self> {
        let ctx = Ctx::from_request_parts(parts, app).await?;
        match ctx.caller.credential {
            Credential::Session { id } => Ok(Self { session_id: id, token_hash: ctx.presented.hash, ctx }),
            Credential::Key { .. } => Err(Error::new(
                ErrorCode::LoginRequired,
                "This concerns your own account, so it needs a login; an API key acts for you in one organization \
                 only.",
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
