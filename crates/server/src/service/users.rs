//! What users change about themselves, and what the operator changes for them.

use windlass_api as api;
use windlass_api::ErrorCode;
use windlass_store::users::{self, User};
use windlass_store::{api_keys, sessions, user_settings};

use crate::app::App;
use crate::auth::Login;
use crate::error::{Error, Result};
use crate::records;
use crate::service::audit::{Action, Actor, Change, Resource};
use crate::service::mails::{self, News};

pub async fn rename(ctx: &Login, name: &str) -> Result<api::User> {
    let now = ctx.app.now();
    let mut work = ctx.app.begin_own(&ctx.caller).await?;
    users::rename(&mut work, ctx.caller.user.id, name, now).await?;
    let change = Change {
        organization_id: None,
        action: Action::Update,
        resource: Resource::User,
        resource_id: ctx.caller.user.id,
        summary: &format!("changed their name to {name}"),
        details: &[("changed", "name"), ("to", name)],
    };
    work.record(&ctx.caller.actor(), &change);
    let renamed = User { username: name.to_owned(), updated_at: now, ..ctx.caller.user.clone() };
    let record = records::full_user(&mut work, &renamed, ctx.caller.viewer()).await?;
    work.commit().await?;
    Ok(record)
}

pub async fn change_settings(ctx: &Login, change: &user_settings::Change) -> Result<api::UserSettings> {
    let mut work = ctx.app.begin_own(&ctx.caller).await?;
    let settings = user_settings::update(&mut work, ctx.caller.user.id, change, ctx.app.now()).await?;
    let settings = settings.ok_or_else(|| Error::internal("the user has no settings"))?;
    let details = details(change);
    let changes: Vec<_> = details.iter().map(|(name, value)| format!("{name} to {value}")).collect();
    let details: Vec<_> = details.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let entry = Change {
        organization_id: None,
        action: Action::Update,
        resource: Resource::Settings,
        resource_id: settings.id,
        summary: &format!("changed their settings: {}", changes.join(", ")),
        details: &details,
    };
    work.record(&ctx.caller.actor(), &entry);
    let record = records::settings(&mut work, settings, &ctx.caller.user).await?;
    work.commit().await?;
    Ok(record)
}

/// The operator's way in when a password is lost: sets it and ends all of the user's sessions. When it was stolen, the
/// keys that were made with it go too.
pub async fn reset_password(app: &App, email: &str, password_hash: &str, revoke_keys: bool) -> Result<()> {
    let mut work = app.begin().await?;
    let found = users::by_email(&mut work, email).await?;
    let unknown = || Error::new(ErrorCode::NotFound, format!("email: no user is registered as {email}"));
    let user = found.ok_or_else(unknown)?.user;
    users::set_password(&mut work, user.id, password_hash, app.now()).await?;
    sessions::delete_all(&mut work, user.id).await?;
    if revoke_keys {
        api_keys::delete_all_of_user(&mut work, user.id).await?;
    }
    let change = Change {
        organization_id: None,
        action: Action::Update,
        resource: Resource::User,
        resource_id: user.id,
        summary: &format!(
            "reset the password of {email}{}",
            if revoke_keys { " and revoked their API keys" } else { "" }
        ),
        details: &[("changed", "password"), ("email", email)],
    };
    mails::tell(&mut work, &user, News::PasswordChanged, &Actor::Operator).await?;
    work.record(&Actor::Operator, &change);
    work.commit().await?;
    Ok(())
}

fn details(change: &user_settings::Change) -> Vec<(&'static str, String)> {
    [
        ("auto_update", change.auto_update.map(|on| on.to_string())),
        ("theme", change.theme.clone()),
        ("font_family", change.font_family.clone()),
        ("font_size", change.font_size.map(|size| size.to_string())),
        ("language", change.language.clone()),
    ]
    .into_iter()
    .filter_map(|(name, value)| value.map(|value| (name, value)))
    .collect()
}
