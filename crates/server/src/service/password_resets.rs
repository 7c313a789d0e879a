//! Links with which users who have forgotten their password set a new one.

use uuid::Uuid;
use windlass_api::{ErrorCode, PasswordReset, ResetPassword};
use windlass_store::{password_resets, sessions, users};

use crate::app::App;
use crate::auth::token::{self, Token};
use crate::auth::{Admin, Origin};
use crate::error::{Error, Result};
use crate::service::audit::{Action, Actor, Change, Resource};
use crate::service::tries::limit_address;

const SECONDS: i64 = 30 * 60;

/// Makes a link that an admin of the installation hands to the user.
pub async fn make(admin: &Admin, user_id: Uuid) -> Result<PasswordReset> {
    let app = &admin.app;
    let (token, expires_at) = (Token::random(), app.now().plus_seconds(SECONDS));
    let mut work = app.begin_own(&admin.caller).await?;
    let user = users::by_id(&mut work, user_id).await?.ok_or_else(|| Error::not_found("user"))?;
    password_resets::put(&mut work, user_id, &token.hash(), expires_at).await?;
    let change = Change {
        organization_id: None,
        action: Action::Create,
        resource: Resource::User,
        resource_id: user_id,
        summary: &format!("made a link with which {} can set a new password", user.email),
        details: &[("email", &user.email)],
    };
    work.record(&admin.caller.actor(), &change);
    work.commit().await?;
    Ok(PasswordReset {
        // Behind the #, so that the token stays in the browser and reaches no server's log.
        link: format!("{}/#reset={}", app.config.public_url(), token.reveal()),
        token: token.reveal().to_owned(),
        expires_at,
    })
}

/// Sets the password and ends all of the user's sessions. A second factor stays: the link proves no more than a password.
pub async fn reset(app: &App, origin: &Origin, input: &ResetPassword) -> Result<()> {
    limit_address(app, origin)?;
    let token_hash = token::hash(input.token.reveal());
    let unknown = || {
        Error::new(ErrorCode::NotFound, "token: this link was used, was replaced or has expired. Ask for a new one.")
    };
    // Hashing takes long; it must not hold a transaction open, nor be done for strangers.
    if !password_resets::exists(&mut app.db.read().await?, &token_hash, app.now()).await? {
        return Err(unknown());
    }
    let password_hash = app.passwords.hash(input.password.reveal()).await?;
    let mut work = app.begin().await?;
    let user_id = password_resets::take(&mut work, &token_hash, app.now()).await?.ok_or_else(unknown)?;
    let user = users::by_id(&mut work, user_id).await?.ok_or_else(unknown)?;
    users::set_password(&mut work, user_id, &password_hash, app.now()).await?;
    sessions::delete_all(&mut work, user_id).await?;
    let change = Change {
        organization_id: None,
        action: Action::Update,
        resource: Resource::User,
        resource_id: user_id,
        summary: "set a new password by a link",
        details: &[("changed", "password")],
    };
    work.record(&Actor::user(&user, origin), &change);
    work.commit().await?;
    Ok(())
}
