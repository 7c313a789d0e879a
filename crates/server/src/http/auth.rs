//! Registration, login and logout.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, header};
use windlass_api::{AdminRegistered, ChangePassword, ErrorCode, LoggedIn, Login as LoginInput, Register};
use windlass_store::instance;

use super::body::{Payload, StrangersPayload};
use super::respond::{Answer, success};
use super::table::{Table, anyone, user};
use crate::app::App;
use crate::auth::{Login, Origin, cookie};
use crate::service::{registration, sessions};

pub fn routes(table: Table) -> Table {
    use ErrorCode::*;
    table
        .get("/auth/is-admin-registered", is_admin_registered, anyone::<AdminRegistered>("Is admin registered"))
        .post(
            "/auth/register",
            register,
            anyone::<LoggedIn>("Register").body::<Register>().errors(&[
                SetupTokenRequired,
                RegistrationClosed,
                InvitationForAnotherAddress,
                NotFound,
                EmailTaken,
            ]),
        )
        .post(
            "/auth/login",
            login,
            anyone::<LoggedIn>("Log in").body::<LoginInput>().errors(&[InvalidCredentials, CodeRequired, InvalidCode]),
        )
        .post("/auth/logout", logout, user::<()>("Log out"))
        .post("/auth/refresh", refresh, user::<LoggedIn>("Refresh login"))
        .post("/auth/password", change_password, user::<()>("Change password").body::<ChangePassword>())
}

pub async fn is_admin_registered(State(app): State<Arc<App>>) -> Answer {
    let admin_registered = instance::admin_registered(&mut app.db.read().await?).await?;
    success("Admin registration status", AdminRegistered { admin_registered })
}

pub async fn register(
    State(app): State<Arc<App>>,
    origin: Origin,
    headers: HeaderMap,
    StrangersPayload(body): StrangersPayload,
) -> Answer {
    let input: Register = body.parse()?;
    let logged_in = registration::register(&app, &origin, &input).await?;
    answer(&app, &headers, "Registered and logged in", logged_in)
}

pub async fn login(
    State(app): State<Arc<App>>,
    origin: Origin,
    headers: HeaderMap,
    StrangersPayload(body): StrangersPayload,
) -> Answer {
    let input: LoginInput = body.parse()?;
    answer(&app, &headers, "Logged in", sessions::login(&app, &origin, &input).await?)
}

pub async fn logout(login: Login, headers: HeaderMap) -> Answer {
    sessions::end(&login, login.session_id).await?;
    let mut response = success("Logged out", ())?;
    if cookie::is_wanted(&headers) {
        response.headers_mut().append(header::SET_COOKIE, cookie::forget(&login.app.config)?);
    }
    Ok(response)
}

pub async fn refresh(login: Login, headers: HeaderMap) -> Answer {
    let logged_in = sessions::refresh(&login).await?;
    answer(&login.app, &headers, "Login refreshed; the token before it no longer works", logged_in)
}

/// A browser gets the token in a cookie, and no script there sees it.
fn answer(app: &App, headers: &HeaderMap, message: &str, mut logged_in: LoggedIn) -> Answer {
    if !cookie::is_wanted(headers) {
        return success(message, logged_in);
    }
    let token = std::mem::take(&mut logged_in.access_token);
    let cookie = cookie::keep(&app.config, &token, app.config.session_seconds)?;
    let mut response = success(message, logged_in)?;
    response.headers_mut().append(header::SET_COOKIE, cookie);
    Ok(response)
}

pub async fn change_password(login: Login, body: Payload) -> Answer {
    let input: ChangePassword = body.parse()?;
    sessions::change_password(&login, &input).await?;
    success("Password changed; all your other sessions have ended. API keys go on working until you revoke them", ())
}
