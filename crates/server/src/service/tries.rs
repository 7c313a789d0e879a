//! Limits on guessing passwords and codes.

use uuid::Uuid;
use windlass_store::users;

use crate::app::App;
use crate::auth::limiter::Limit;
use crate::auth::{Login, Origin};
use crate::error::{Error, Result};

/// Tries of one account from all addresses together, as a multiple of those from one address: enough of them to let
/// no client lock a user out cheaply.
const ACCOUNT_FACTOR: u32 = 10;

/// Logins and registrations alike: both let strangers make the server work and guess.
pub fn limit_guessing(app: &App, origin: &Origin, email: &str) -> Result<()> {
    limit_address(app, origin)?;
    let tries = app.config.login_attempts.saturating_mul(ACCOUNT_FACTOR);
    count_try(app, &format!("account {email}"), Limit::a_minute(tries))
}

/// Where no account is named before it is proven.
pub fn limit_address(app: &App, origin: &Origin) -> Result<()> {
    let limit = Limit::a_minute(app.config.login_attempts);
    app.logins.try_address("login", origin.address, limit, app.now()).map_err(too_many)
}

pub fn count_try(app: &App, name: &str, limit: Limit) -> Result<()> {
    app.logins.try_once(name, limit, app.now()).map_err(too_many)
}

/// Mails with links that users can have sent to an address.
pub fn count_mail(app: &App, to: &str) -> Result<()> {
    let limit = Limit::an_hour(app.config.account_mails);
    app.mails.try_once(&format!("to {to}"), limit, app.now()).map_err(too_many)
}

/// Those of one user, to all addresses together.
pub fn count_mail_of(app: &App, user_id: Uuid) -> Result<()> {
    let limit = Limit::an_hour(app.config.account_mails.saturating_mul(ACCOUNT_FACTOR));
    app.mails.try_once(&format!("of {user_id}"), limit, app.now()).map_err(too_many)
}

/// Whether a user may be sent another mail of a kind now: what strangers ask for, or what others do with the account, must not fill
/// the mailbox. Counted by the user's id, so that no made-up address takes room.
pub fn may_mail(app: &App, user_id: Uuid, kind: &str) -> bool {
    let limit = Limit::an_hour(app.config.account_mails);
    app.mails.try_once(&format!("{kind} {user_id}"), limit, app.now()).is_ok()
}

fn too_many(seconds: u64) -> Error {
    Error::rate_limited(format!("Too many tries. Wait {seconds} seconds before the next one."), seconds)
}

/// The hash of the caller's password, if `presented` is it. Guessing is limited: an open session is not a password.
pub async fn prove_password(login: &Login, field: &str, presented: &str) -> Result<String> {
    let app = &login.app;
    count_try(app, &format!("password of {}", login.caller.user.id), Limit::a_minute(app.config.login_attempts))?;
    let mut conn = app.db.read().await?;
    let hash = users::password_hash(&mut conn, login.caller.user.id).await?.unwrap_or_default();
    drop(conn);
    match app.passwords.verify(presented, Some(&hash)).await? {
        true => Ok(hash),
        false => Err(Error::field(field, "is not your password")),
    }
}
