//! Links with which users who have forgotten their password set a new one.

use std::sync::Arc;

use axum::extract::State;
use windlass_api::{ErrorCode, PasswordReset, RequestPasswordReset, ResetPassword};

use super::body::StrangersPayload;
use super::instance::FOR_ADMINS;
use super::params::PathId;
use super::respond::{Answer, success};
use super::table::{Table, anyone, user};
use crate::app::App;
use crate::auth::{Admin, Origin};
use crate::service::password_resets;

pub fn routes(table: Table) -> Table {
    use ErrorCode::{Forbidden, NoMailServer, NotFound};
    table
        .post(
            "/instance/users/{user_id}/password-reset",
            make_password_reset,
            user::<PasswordReset>("Make password reset").note(FOR_ADMINS).errors(&[Forbidden, NotFound]),
        )
        .post(
            "/auth/request-password-reset",
            request_password_reset,
            anyone::<()>("Request password reset").body::<RequestPasswordReset>().errors(&[NoMailServer]),
        )
        .post(
            "/auth/reset-password",
            reset_password,
            anyone::<()>("Reset password").body::<ResetPassword>().errors(&[NotFound]),
        )
}

pub async fn make_password_reset(admin: Admin, PathId(user_id): PathId) -> Answer {
    let made = password_resets::make(&admin, user_id).await?;
    success("Link made; give it to the user", made)
}

pub async fn request_password_reset(
    State(app): State<Arc<App>>,
    origin: Origin,
    StrangersPayload(body): StrangersPayload,
) -> Answer {
    let input: RequestPasswordReset = body.parse()?;
    password_resets::request(&app, &origin, &input).await?;
    success("If an account has this address, a mail with a link is on its way there. The link works for 30 minutes", ())
}

pub async fn reset_password(
    State(app): State<Arc<App>>,
    origin: Origin,
    StrangersPayload(body): StrangersPayload,
) -> Answer {
    let input: ResetPassword = body.parse()?;
    password_resets::reset(&app, &origin, &input).await?;
    success("Password set; all your sessions have ended. Log in with it", ())
}
