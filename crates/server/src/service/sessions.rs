//! Logging in and out.

use uuid::Uuid;
use windlass_api::{ChangePassword, ErrorCode, LoggedIn, Login, Timestamp};
use windlass_store::users::User;
use windlass_store::{Tx, sessions, users};

use crate::app::App;
use crate::auth::limiter::address_key;
use crate::auth::token::Token;
use crate::auth::{Ctx, Origin};
use crate::error::{Error, Result};
use crate::records;
use crate::service::audit::{self, Action, Actor, Change, Resource};

/// Logins that one user can have at the same time; the oldest ends when there are more.
pub const SESSIONS_PER_USER: i64 = 50;

/// Tries of one account from all addresses together, as a multiple of those from one address: enough of them to let
/// nobody lock somebody else out cheaply.
const ACCOUNT_FACTOR: u32 = 10;

pub async fn login(app: &App, origin: &Origin, login: &Login) -> Result<LoggedIn> {
    limit_guessing(app, origin, &login.email)?;
    let mut conn = app.db.read().await?;
    let found = users::by_email(&mut conn, &login.email).await?;
    drop(conn);
    let hash = found.as_ref().map(|found| found.password_hash.as_str());
    let matches = app.passwords.verify(login.password.reveal(), hash).await?;
    // Known account or not: the same words, after the same time.
    let wrong = || Error::new(ErrorCode::InvalidCredentials, "The e-mail address or the password is wrong.");
    let found = found.filter(|_| matches).ok_or_else(wrong)?;
    let mut tx = app.db.begin().await?;
    // The password may have been changed while it was verified; then this login comes too late.
    if !users::hold_password(&mut tx, found.user.id, &found.password_hash).await? {
        return Err(wrong());
    }
    let logged_in = open(&mut tx, app, origin, &found.user).await?;
    tx.commit().await?;
    Ok(logged_in)
}

/// Logins and registrations alike: both let strangers make the server work and guess.
pub fn limit_guessing(app: &App, origin: &Origin, email: &str) -> Result<()> {
    let limit = app.config.login_attempts;
    count_try(app, &format!("address {}", address_key(origin.address)), limit)?;
    count_try(app, &format!("account {email}"), limit.saturating_mul(ACCOUNT_FACTOR))
}

fn count_try(app: &App, key: &str, limit: u32) -> Result<()> {
    app.logins.try_once(key, limit, app.now()).map_err(|seconds| {
        Error::rate_limited(format!("Too many tries. Wait {seconds} seconds before the next one."), seconds)
    })
}

/// Starts a session for somebody whose identity is proven.
pub async fn open(tx: &mut Tx, app: &App, origin: &Origin, user: &User) -> Result<LoggedIn> {
    let (token, now) = (Token::random(), app.now());
    let session = sessions::Session {
        id: app.new_id(),
        user_id: user.id,
        ip_address: origin.address.to_string(),
        user_agent: origin.user_agent.clone(),
        last_used_at: now,
        expires_at: now.plus_seconds(app.config.session_seconds),
        created_at: now,
    };
    sessions::insert(tx, &session, &token.hash()).await?;
    sessions::keep_newest(tx, user.id, SESSIONS_PER_USER).await?;
    let change = instance_change(Action::Access, Resource::Session, session.id);
    audit::record(tx, app, &Actor::user(user, origin), change).await?;
    logged_in(tx, user, &token, session.expires_at).await
}

pub async fn refresh(ctx: &Ctx) -> Result<LoggedIn> {
    let app = &ctx.app;
    let (token, expires_at) = (Token::random(), app.now().plus_seconds(app.config.session_seconds));
    let mut tx = app.db.begin().await?;
    if !sessions::replace_token(&mut tx, ctx.session_id, &ctx.token_hash, &token.hash(), expires_at).await? {
        return Err(ended_meanwhile());
    }
    let change = instance_change(Action::Update, Resource::Session, ctx.session_id);
    audit::record(&mut tx, app, &Actor::caller(ctx), change).await?;
    let logged_in = logged_in(&mut tx, &ctx.user, &token, expires_at).await?;
    tx.commit().await?;
    Ok(logged_in)
}

async fn logged_in(tx: &mut Tx, user: &User, token: &Token, expires_at: Timestamp) -> Result<LoggedIn> {
    let user = records::full_user(tx, user, user.id).await?;
    Ok(LoggedIn { access_token: token.reveal().to_owned(), expires_at, user })
}

/// Ends one of the caller's sessions: the current one is a logout.
pub async fn end(ctx: &Ctx, session_id: Uuid) -> Result<()> {
    let mut tx = ctx.app.db.begin().await?;
    if !sessions::delete(&mut tx, ctx.user.id, session_id).await? {
        let is_logout = session_id == ctx.session_id;
        return Err(if is_logout { ended_meanwhile() } else { Error::not_found("session") });
    }
    let change = instance_change(Action::Delete, Resource::Session, session_id);
    audit::record(&mut tx, &ctx.app, &Actor::caller(ctx), change).await?;
    tx.commit().await?;
    Ok(())
}

/// All other sessions end: whoever knew the old password is out.
pub async fn change_password(ctx: &Ctx, input: &ChangePassword) -> Result<()> {
    let app = &ctx.app;
    count_try(app, &format!("password of {}", ctx.user.id), app.config.login_attempts)?;
    let mut conn = app.db.read().await?;
    let old_hash = users::password_hash(&mut conn, ctx.user.id).await?.unwrap_or_default();
    drop(conn);
    let wrong = || Error::field("current_password", "is not your password");
    if !app.passwords.verify(input.current_password.reveal(), Some(&old_hash)).await? {
        return Err(wrong());
    }
    let hash = app.passwords.hash(input.new_password.reveal()).await?;
    let mut tx = app.db.begin().await?;
    if !users::hold_password(&mut tx, ctx.user.id, &old_hash).await? {
        return Err(wrong());
    }
    users::set_password(&mut tx, ctx.user.id, &hash, app.now()).await?;
    sessions::delete_others(&mut tx, ctx.user.id, ctx.session_id).await?;
    let change = instance_change(Action::Update, Resource::User, ctx.user.id);
    let change = Change { details: &[("changed", "password")], ..change };
    audit::record(&mut tx, app, &Actor::caller(ctx), change).await?;
    tx.commit().await?;
    Ok(())
}

fn ended_meanwhile() -> Error {
    Error::new(ErrorCode::Unauthenticated, "This login has ended or was refreshed meanwhile.")
}

fn instance_change(action: Action, resource: Resource, resource_id: Uuid) -> Change<'static> {
    Change { organization_id: None, action, resource, resource_id, details: &[] }
}
