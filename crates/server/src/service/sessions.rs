//! Logging in and out.

use uuid::Uuid;
use windlass_api::ErrorCode::{InvalidCode, InvalidCredentials};
use windlass_api::{ChangePassword, ErrorCode, LoggedIn, Login as LoginInput, Timestamp};
use windlass_store::users::User;
use windlass_store::{Tx, sessions, users};

use crate::app::App;
use crate::auth::denials::{Denial, Times};
use crate::auth::token::Token;
use crate::auth::{Login, Origin};
use crate::error::{Error, Result};
use crate::records::{self, Viewer};
use crate::service::audit::{Action, Actor, Change, Resource};
use crate::service::mails::{self, News};
use crate::service::tries::{limit_guessing, prove_password};
use crate::service::work::Work;
use crate::service::{login_places, second_factor};

pub async fn login(app: &App, origin: &Origin, login: &LoginInput) -> Result<LoggedIn> {
    limit_guessing(app, origin, &login.email)?;
    let mut conn = app.db.read().await?;
    let found = users::by_email(&mut conn, &login.email).await?;
    drop(conn);
    let user = found.as_ref().map(|found| found.user.clone());
    let logged_in = prove_and_open(app, origin, login, found).await;
    if logged_in.as_ref().is_err_and(|error| matches!(error.code, InvalidCredentials | InvalidCode)) {
        note_failure(app, origin, user);
    }
    logged_in
}

async fn prove_and_open(
    app: &App,
    origin: &Origin,
    login: &LoginInput,
    found: Option<users::Credentials>,
) -> Result<LoggedIn> {
    let hash = found.as_ref().map(|found| found.password_hash.as_str());
    let matches = app.passwords.verify(login.password.reveal(), hash).await?;
    // Known account or not: the same words, after the same time.
    let wrong = || Error::new(InvalidCredentials, "The e-mail address or the password is wrong.");
    let found = found.filter(|_| matches).ok_or_else(wrong)?;
    let mut work = app.begin().await?;
    // The password may have been changed while it was verified; then this login comes too late.
    if !users::hold_password(&mut work, found.user.id, &found.password_hash).await? {
        return Err(wrong());
    }
    let how =
        second_factor::require(&mut work, &Actor::user(&found.user, origin), &found.user, login.code.as_ref()).await?;
    let logged_in = open(&mut work, origin, &found.user, &format!("logged in{how}")).await?;
    work.commit().await?;
    Ok(logged_in)
}

/// Names that no user has are the guesser's own words; they are counted without being repeated.
fn note_failure(app: &App, origin: &Origin, user: Option<User>) {
    let denial = Denial {
        organization_id: None,
        user_id: user.as_ref().map(|user| user.id),
        user: user.map_or_else(|| "an unknown user".into(), |user| user.username),
        key: String::new(),
        what: "a login".into(),
    };
    app.denials.note(denial, Times { count: 1, last_address: origin.address });
}

/// Starts a session for a user whose identity is proven.
pub async fn open(work: &mut Work<'_>, origin: &Origin, user: &User, summary: &str) -> Result<LoggedIn> {
    let (app, token) = (work.app, Token::random());
    let now = app.now();
    let session = sessions::Session {
        id: app.new_id(),
        user_id: user.id,
        ip_address: origin.address.to_string(),
        user_agent: origin.user_agent.clone(),
        last_used_at: now,
        expires_at: now.plus_seconds(app.config.session_seconds),
        created_at: now,
    };
    sessions::insert(work, &session, &token.hash()).await?;
    sessions::keep_newest(work, user.id, app.config.user_sessions).await?;
    login_places::note(work, user, origin).await?;
    record(work, &Actor::user(user, origin), Action::Access, session.id, summary);
    logged_in(work, user, &token, session.expires_at).await
}

pub async fn refresh(login: &Login) -> Result<LoggedIn> {
    let app = &login.app;
    let (token, expires_at) = (Token::random(), app.now().plus_seconds(app.config.session_seconds));
    let mut work = app.begin().await?;
    if !sessions::replace_token(&mut work, login.session_id, &login.token_hash, &token.hash(), expires_at).await? {
        return Err(ended_meanwhile());
    }
    record(&mut work, &login.caller.actor(), Action::Update, login.session_id, "refreshed their login");
    let logged_in = logged_in(&mut work, &login.caller.user, &token, expires_at).await?;
    work.commit().await?;
    Ok(logged_in)
}

async fn logged_in(tx: &mut Tx, user: &User, token: &Token, expires_at: Timestamp) -> Result<LoggedIn> {
    let user = records::full_user(tx, user, Viewer::user(user.id)).await?;
    Ok(LoggedIn { access_token: token.reveal().to_owned(), expires_at, user })
}

/// Ends one of the caller's sessions: the current one is a logout.
pub async fn end(login: &Login, session_id: Uuid) -> Result<()> {
    let mut work = login.app.begin_own(&login.caller).await?;
    let is_logout = session_id == login.session_id;
    if !sessions::delete(&mut work, login.caller.user.id, session_id).await? {
        return Err(if is_logout { ended_meanwhile() } else { Error::not_found("session") });
    }
    let summary = if is_logout { "logged out" } else { "ended another of their sessions" };
    record(&mut work, &login.caller.actor(), Action::Delete, session_id, summary);
    work.commit().await?;
    Ok(())
}

/// All other sessions end. API keys do not: they were never made of the password, and programs depend on them.
pub async fn change_password(login: &Login, input: &ChangePassword) -> Result<()> {
    let app = &login.app;
    let old_hash = prove_password(login, "current_password", input.current_password.reveal()).await?;
    let hash = app.passwords.hash(input.new_password.reveal()).await?;
    let mut work = app.begin_own(&login.caller).await?;
    if !users::hold_password(&mut work, login.caller.user.id, &old_hash).await? {
        return Err(Error::field("current_password", "is not your password"));
    }
    users::set_password(&mut work, login.caller.user.id, &hash, app.now()).await?;
    sessions::delete_others(&mut work, login.caller.user.id, login.session_id).await?;
    let change = Change {
        organization_id: None,
        action: Action::Update,
        resource: Resource::User,
        resource_id: login.caller.user.id,
        summary: "changed their password",
        details: &[("changed", "password")],
    };
    mails::tell(&mut work, &login.caller.user, News::PasswordChanged, &login.caller.actor()).await?;
    work.record(&login.caller.actor(), &change);
    work.commit().await?;
    Ok(())
}

fn ended_meanwhile() -> Error {
    Error::new(ErrorCode::Unauthenticated, "This login has ended or was refreshed meanwhile.")
}

fn record(work: &mut Work<'_>, actor: &Actor, action: Action, session_id: Uuid, summary: &str) {
    let change = Change {
        organization_id: None,
        action,
        resource: Resource::Session,
        resource_id: session_id,
        summary,
        details: &[],
    };
    work.record(actor, &change);
}
