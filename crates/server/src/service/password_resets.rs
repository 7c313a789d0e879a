//! Links with which users who have forgotten their password set a new one. An admin hands one over, or the user asks for one by mail.
//! Strangers can ask too, so a link that is asked for ends no other one; a password that is set ends all.

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;
use windlass_api::{ErrorCode, PasswordReset, RequestPasswordReset, ResetPassword};
use windlass_store::{password_resets, second_factors, sessions, users};

use crate::app::App;
use crate::auth::denials::{Denial, Times};
use crate::auth::token::{self, Token};
use crate::auth::{Admin, Origin};
use crate::error::{Error, Result};
use crate::service::account_links::AccountLink;
use crate::service::audit::{Action, Actor, Author, Change, Resource};
use crate::service::mails::{self, LinkMail, News};
use crate::service::tries::{limit_address, may_mail};

const SECONDS: i64 = 30 * 60;

/// The answer to a request for a link comes then, whatever was done by then, so that its time does not tell whether an address has an account.
const ANSWERED_AFTER: Duration = Duration::from_millis(250);
/// So long a request is worked on, answered or not.
const WORKED_ON: Duration = Duration::from_secs(60);
const BUSY_SECONDS: u64 = 5;

/// Makes a link that an admin of the installation hands to the user.
pub async fn make(admin: &Admin, user_id: Uuid) -> Result<PasswordReset> {
    let app = &admin.app;
    let (token, expires_at) = (Token::random(), app.now().plus_seconds(SECONDS));
    let mut work = app.begin_own(&admin.caller).await?;
    let user = users::by_id(&mut work, user_id).await?.ok_or_else(|| Error::not_found("user"))?;
    password_resets::put_handed_over(&mut work, user_id, &token.hash(), expires_at).await?;
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
        link: AccountLink::PasswordReset.url(app, &token),
        token: token.reveal().to_owned(),
        expires_at,
    })
}

/// Mails a link to a user who has forgotten their password. Known address or not, sent or not: the same answer, after the same time.
pub async fn request(app: &Arc<App>, origin: &Origin, input: &RequestPasswordReset) -> Result<()> {
    mails::require_server(app)?;
    limit_address(app, origin)?;
    let busy = |_| Error::rate_limited("Many ask for a link at the moment. Try again in some seconds.", BUSY_SECONDS);
    let turn = app.reset_requests.clone().try_acquire_owned().map_err(busy)?;
    let (worker, origin, email) = (app.clone(), origin.clone(), input.email.to_string());
    tokio::spawn(async move {
        let mailing = tokio::time::timeout(WORKED_ON, Box::pin(mail_link(&worker, &origin, &email))).await;
        let problem = match mailing {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.cause.unwrap_or(error.message)),
            Err(_) => Some(format!("it took longer than {} seconds", WORKED_ON.as_secs())),
        };
        if let Some(problem) = problem {
            tracing::error!(problem, request = origin.request_id, "a link for a new password could not be mailed");
        }
        drop(turn);
    });
    tokio::time::sleep(ANSWERED_AFTER).await;
    Ok(())
}

async fn mail_link(app: &App, origin: &Origin, email: &str) -> Result<()> {
    let (token, expires_at) = (Token::random(), app.now().plus_seconds(SECONDS));
    // Begun for unknown addresses too, because it may have to wait for others.
    let mut work = app.begin().await?;
    let Some(found) = users::by_email(&mut work, email).await? else {
        note_unknown(app, origin);
        return Ok(());
    };
    // Two requests at once must not both take the last place.
    let user = found.user;
    second_factors::hold_state(&mut work, user.id).await?;
    let most = app.config.account_mails;
    let is_allowed = may_mail(app, user.id, "reset")
        && password_resets::insert_asked_for(&mut work, user.id, &token.hash(), expires_at, app.now(), most).await?;
    if !is_allowed {
        return Ok(());
    }
    let lines: [&str; 4] = [
        &format!("A new password was asked for, for the account {email} at {}.", app.config.public_url()),
        &format!("The request came from the address {}.", origin.address),
        "The link works once, for 30 minutes, and ends all of your sessions. A password that is set ends all other links.",
        "If you did not ask for it, you need not do anything: your password stays as it is.",
    ];
    let mail = LinkMail {
        to: &user.email,
        title: "Set a new password",
        lines: &lines,
        label: "Set a new password",
        url: &AccountLink::PasswordReset.url(app, &token),
        expires_at,
    };
    mails::send_link(&mut work, &mail).await?;
    let change = Change {
        organization_id: None,
        action: Action::Create,
        resource: Resource::User,
        resource_id: user.id,
        summary: &format!("asked for a mail with a link with which {email} can set a new password"),
        details: &[("email", email)],
    };
    work.record(unknown_author(origin), &change);
    work.commit().await?;
    Ok(())
}

/// The request proves nothing about who sent it.
fn unknown_author(origin: &Origin) -> Author {
    Author {
        name: "an unknown user".into(),
        address: origin.address.to_string(),
        request_id: origin.request_id.clone(),
        ..Author::default()
    }
}

fn note_unknown(app: &App, origin: &Origin) {
    let denial = Denial {
        organization_id: None,
        user_id: None,
        user: "an unknown user".into(),
        key: String::new(),
        what: "a link for a new password".into(),
    };
    app.denials.note(denial, Times { count: 1, last_address: origin.address });
}

/// Sets the password and ends all of the user's sessions. A second factor stays: the link proves no more than a password.
pub async fn reset(app: &App, origin: &Origin, input: &ResetPassword) -> Result<()> {
    limit_address(app, origin)?;
    let token_hash = token::hash(input.token.reveal());
    let unknown = || {
        Error::new(
            ErrorCode::NotFound,
            "token: this link was used, was replaced or has expired, or a password was set since. Ask for a new one.",
        )
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
    let actor = Actor::user(&user, origin);
    mails::tell(&mut work, &user, News::PasswordReset, &actor).await?;
    work.record(&actor, &change);
    work.commit().await?;
    Ok(())
}
