//! Coming in and going out.

use std::sync::Arc;

use axum::extract::State;
use windlass_api::{AdminRegistered, ChangePassword, LoggedIn, Login, Register};
use windlass_store::instance;
use windlass_store::users::User;

use super::body::Payload;
use super::respond::{Answer, success};
use crate::app::App;
use crate::auth::{Ctx, Origin};
use crate::error::Result;
use crate::records;
use crate::service::registration;
use crate::service::sessions::{self, Issued};

pub async fn is_admin_registered(State(app): State<Arc<App>>) -> Answer {
    let admin_registered = instance::admin_registered(&mut app.db.read().await?).await?;
    success("Admin registration status", AdminRegistered { admin_registered })
}

pub async fn register(State(app): State<Arc<App>>, origin: Origin, body: Payload) -> Answer {
    let (user, issued) = registration::register(&app, &origin, &body.parse::<Register>()?).await?;
    success("Registered and logged in", logged_in(&app, &user, issued).await?)
}

pub async fn login(State(app): State<Arc<App>>, origin: Origin, body: Payload) -> Answer {
    let (user, issued) = sessions::login(&app, &origin, &body.parse::<Login>()?).await?;
    success("Logged in", logged_in(&app, &user, issued).await?)
}

pub async fn logout(ctx: Ctx) -> Answer {
    sessions::end(&ctx, ctx.session_id).await?;
    success("Logged out", ())
}

pub async fn refresh(ctx: Ctx) -> Answer {
    let issued = sessions::refresh(&ctx).await?;
    success("Login refreshed; the token before it no longer works", logged_in(&ctx.app, &ctx.user, issued).await?)
}

pub async fn change_password(ctx: Ctx, body: Payload) -> Answer {
    sessions::change_password(&ctx, &body.parse::<ChangePassword>()?).await?;
    success("Password changed; all your other sessions have ended", ())
}

async fn logged_in(app: &App, user: &User, issued: Issued) -> Result<LoggedIn> {
    let mut conn = app.db.read().await?;
    Ok(LoggedIn {
        access_token: issued.token.reveal().to_owned(),
        expires_at: issued.expires_at,
        user: records::full_user(&mut conn, user, user.id).await?,
    })
}
