//! Another e-mail address, which takes effect when the link that was sent to it is opened.

use windlass_api as api;
use windlass_api::{ChangeEmail, ErrorCode, VerifyEmail};
use windlass_store::email_changes::{self, EmailChange};
use windlass_store::users;

use crate::app::App;
use crate::auth::token::{self, Token};
use crate::auth::{Login, Origin};
use crate::error::{Error, Result};
use crate::service::account_links::AccountLink;
use crate::service::audit::{Action, Actor, Change, Resource};
use crate::service::mails::{self, LinkMail, News};
use crate::service::second_factor;
use crate::service::tries::{count_mail, count_mail_of, limit_address, prove_password};
use crate::service::work::Work;

const SECONDS: i64 = 24 * 3_600;

/// Sends the link, and tells the present address, while the user can still do something about it. Whether another account has the address is told to those who open it, and to no other.
pub async fn ask(login: &Login, input: &ChangeEmail) -> Result<api::EmailChange> {
    let (app, user) = (&login.app, &login.caller.user);
    mails::require_server(app)?;
    prove_password(login, "password", input.password.reveal()).await?;
    if *input.email == user.email && user.is_verified {
        return Err(Error::field("email", "is your address already"));
    }
    count_mail_of(app, user.id)?;
    count_mail(app, &input.email)?;
    let (token, expires_at) = (Token::random(), app.now().plus_seconds(SECONDS));
    let change = EmailChange { user_id: user.id, email: input.email.to_string() };
    let (actor, mut work) = (login.caller.actor(), app.begin_own(&login.caller).await?);
    let how = second_factor::require(&mut work, &actor, user, input.code.as_ref()).await?;
    email_changes::put(&mut work, &change, &token.hash(), expires_at).await?;
    let lines: [&str; 3] = [
        &format!("A user of {} says that this is their e-mail address.", app.config.public_url()),
        "The link works once, for 24 hours. A newer one takes its place.",
        "If it was not you, do not open it: then nothing changes.",
    ];
    let mail = LinkMail {
        to: &change.email,
        title: "Is this your e-mail address?",
        lines: &lines,
        label: "Yes, it is mine",
        url: &AccountLink::EmailChange.url(app, &token),
        expires_at,
    };
    mails::send_link(&mut work, &mail).await?;
    if change.email != user.email {
        mails::tell(&mut work, user, News::EmailAskedFor { email: &change.email }, &actor).await?;
    }
    record(&mut work, &actor, &format!("asked to have the e-mail address {}{how}", change.email), &change);
    work.commit().await?;
    Ok(api::EmailChange { email: change.email, expires_at })
}

/// Gives the account the address. The one before is told.
pub async fn verify(app: &App, origin: &Origin, input: &VerifyEmail) -> Result<()> {
    limit_address(app, origin)?;
    let unknown = || {
        Error::new(ErrorCode::NotFound, "token: this link was used, was replaced or has expired. Ask for a new one.")
    };
    let mut work = app.begin().await?;
    let change = email_changes::take(&mut work, &token::hash(input.token.reveal()), app.now()).await?;
    let change = change.ok_or_else(unknown)?;
    let user = users::by_id(&mut work, change.user_id).await?.ok_or_else(unknown)?;
    users::set_email(&mut work, user.id, &change.email, app.now()).await.map_err(|error| match error {
        windlass_store::Error::Duplicate => {
            Error::new(ErrorCode::EmailTaken, "email: another account has this address meanwhile.")
        }
        other => other.into(),
    })?;
    let actor = Actor::user(&user, origin);
    if change.email != user.email {
        mails::tell(&mut work, &user, News::EmailChanged, &actor).await?;
    }
    record(&mut work, &actor, &format!("proved to have the e-mail address {}", change.email), &change);
    work.commit().await?;
    Ok(())
}

fn record(work: &mut Work<'_>, actor: &Actor, summary: &str, change: &EmailChange) {
    let change = Change {
        organization_id: None,
        action: Action::Update,
        resource: Resource::User,
        resource_id: change.user_id,
        summary,
        details: &[("changed", "email"), ("email", &change.email)],
    };
    work.record(actor, &change);
}
