//! Logging in and out.

use uuid::Uuid;
use windlass_api::{ChangePassword, ErrorCode, Login, Timestamp};
use windlass_store::users::User;
use windlass_store::{Tx, sessions, users};

use crate::app::App;
use crate::auth::limiter::address_key;
use crate::auth::token::Token;
use crate::auth::{Ctx, Origin};
use crate::error::{Error, Result};
use crate::service::audit::{self, Action, Actor, Change, Resource};

/// Logins that one user can have at the same time; the oldest ends when there are more.
pub const SESSIONS_PER_USER: i64 = 50;

pub struct Issued {
    pub token: Token,
    pub expires_at: Timestamp,
}

pub async fn login(app: &App, origin: &Origin, login: &Login) -> Result<(User, Issued)> {
    limit_guessing(app, origin, &login.email)?;
    let mut conn = app.db.read().await?;
    let found = users::by_email(&mut conn, &login.email).await?;
    drop(conn);
    let hash = found.as_ref().map(|found| found.password_hash.as_str());
    let matches = app.passwords.verify(login.password.reveal(), hash).await?;
    let Some(found) = found.filter(|_| matches) else {
        // Known account or not: the same words, after the same time.
        return Err(Error::new(ErrorCode::InvalidCredentials, "The e-mail address or the password is wrong."));
    };
    let mut tx = app.db.begin().await?;
    let issued = open(&mut tx, app, origin, &found.user).await?;
    tx.commit().await?;
    Ok((found.user, issued))
}

/// Logins and registrations alike: both let strangers make the server work and guess.
pub fn limit_guessing(app: &App, origin: &Origin, email: &str) -> Result<()> {
    let now = app.now();
    let address = format!("address {}", address_key(origin.address));
    let account = format!("account {email}");
    app.logins.try_once(&address, now).and_then(|()| app.logins.try_once(&account, now)).map_err(|seconds| {
        Error::rate_limited(format!("Too many tries. Wait {seconds} seconds before the next one."), seconds)
    })
}

/// Starts a session for somebody whose identity is proven.
pub async fn open(tx: &mut Tx, app: &App, origin: &Origin, user: &User) -> Result<Issued> {
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
    Ok(Issued { token, expires_at: session.expires_at })
}

pub async fn refresh(ctx: &Ctx) -> Result<Issued> {
    let app = &ctx.app;
    let (token, expires_at) = (Token::random(), app.now().plus_seconds(app.config.session_seconds));
    let mut tx = app.db.begin().await?;
    if !sessions::replace_token(&mut tx, ctx.session_id, &ctx.token_hash, &token.hash(), expires_at).await? {
        return Err(Error::new(ErrorCode::Unauthenticated, "This login has ended or was refreshed meanwhile."));
    }
    let change = instance_change(Action::Update, Resource::Session, ctx.session_id);
    audit::record(&mut tx, app, &Actor::caller(ctx), change).await?;
    tx.commit().await?;
    Ok(Issued { token, expires_at })
}

/// Ends one of the caller's sessions: the current one is a logout.
pub async fn end(ctx: &Ctx, session_id: Uuid) -> Result<()> {
    let mut tx = ctx.app.db.begin().await?;
    if !sessions::delete(&mut tx, ctx.user.id, session_id).await? {
        return Err(Error::not_found("session"));
    }
    let change = instance_change(Action::Delete, Resource::Session, session_id);
    audit::record(&mut tx, &ctx.app, &Actor::caller(ctx), change).await?;
    tx.commit().await?;
    Ok(())
}

/// All other sessions end: whoever knew the old password is out.
pub async fn change_password(ctx: &Ctx, input: &ChangePassword) -> Result<()> {
    let app = &ctx.app;
    limit_guessing(app, &ctx.origin, &ctx.user.email)?;
    let mut conn = app.db.read().await?;
    let hash = users::password_hash(&mut conn, ctx.user.id).await?;
    drop(conn);
    if !app.passwords.verify(input.current_password.reveal(), hash.as_deref()).await? {
        return Err(Error::field("current_password", "is not your password"));
    }
    let hash = app.passwords.hash(input.new_password.reveal()).await?;
    let mut tx = app.db.begin().await?;
    users::set_password(&mut tx, ctx.user.id, &hash, app.now()).await?;
    sessions::delete_others(&mut tx, ctx.user.id, Some(ctx.session_id)).await?;
    let change =
        Change { details: &[("changed", "password")], ..instance_change(Action::Update, Resource::User, ctx.user.id) };
    audit::record(&mut tx, app, &Actor::caller(ctx), change).await?;
    tx.commit().await?;
    Ok(())
}

fn instance_change(action: Action, resource: Resource, resource_id: Uuid) -> Change<'static> {
    Change { organization_id: None, action, resource, resource_id, details: &[] }
}
