//! A request of an admin of the installation, with a login: an API key acts in one organization only.

use std::ops::Deref;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use windlass_api::{ErrorCode, UserType};

use crate::app::App;
use crate::auth::login::Login;
use crate::error::{Error, Result};

pub struct Admin(Login);

impl FromRequestParts<Arc<App>> for Admin {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self> {
        let login = Login::from_request_parts(parts, app).await?;
        match login.caller.user.kind {
            UserType::Admin => Ok(Self(login)),
            UserType::User => Err(Error::new(ErrorCode::Forbidden, "This is for admins of the installation.")),
        }
    }
}

impl Deref for Admin {
    type Target = Login;

    fn deref(&self) -> &Login {
        &self.0
    }
}
