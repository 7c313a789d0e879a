//! What users change about themselves, and what the operator changes for them.

use windlass_api as api;
use windlass_api::ErrorCode;
use windlass_store::users::{self, User};
use windlass_store::{sessions, user_settings};

use crate::app::App;
use crate::auth::Ctx;
use crate::error::{Error, Result};
use crate::records;
use crate::service::audit::{self, Action, Actor, Change, Resource};

pub async fn rename(ctx: &Ctx, name: &str) -> Result<api::User> {
    let now = ctx.app.now();
    let mut tx = ctx.app.db.begin().await?;
    users::rename(&mut tx, ctx.user.id, name, now).await?;
    let change = Change {
        organization_id: None,
        action: Action::Update,
        resource: Resource::User,
        resource_id: ctx.user.id,
        details: &[("changed", "name"), ("to", name)],
    };
    audit::record(&mut tx, &ctx.app, &Actor::caller(ctx), change).await?;
    let renamed = User { username: name.to_owned(), updated_at: now, ..ctx.user.clone() };
    let record = records::full_user(&mut tx, &renamed, renamed.id).await?;
    tx.commit().await?;
    Ok(record)
}

pub async fn change_settings(ctx: &Ctx, change: &user_settings::Change) -> Result<api::UserSettings> {
    let mut tx = ctx.app.db.begin().await?;
    let settings = user_settings::update(&mut tx, ctx.user.id, change, ctx.app.now()).await?;
    let settings = settings.ok_or_else(|| Error::internal("the user has no settings"))?;
    let details = details(change);
    let details: Vec<_> = details.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let entry = Change {
        organization_id: None,
        action: Action::Update,
        resource: Resource::Settings,
        resource_id: settings.id,
        details: &details,
    };
    audit::record(&mut tx, &ctx.app, &Actor::caller(ctx), entry).await?;
    let record = records::settings(&mut tx, settings, &ctx.user).await?;
    tx.commit().await?;
    Ok(record)
}

/// The operator's way in when a password is lost: sets it and ends all of the user's sessions.
pub async fn reset_password(app: &App, email: &str, password_hash: &str) -> Result<()> {
    let mut tx = app.db.begin().await?;
    let found = users::by_email(&mut tx, email).await?;
    let unknown = || Error::new(ErrorCode::NotFound, format!("email: nobody is registered as {email}"));
    let user = found.ok_or_else(unknown)?.user;
    users::set_password(&mut tx, user.id, password_hash, app.now()).await?;
    sessions::delete_all(&mut tx, user.id).await?;
    let change = Change {
        organization_id: None,
        action: Action::Update,
        resource: Resource::User,
        resource_id: user.id,
        details: &[("changed", "password"), ("email", email)],
    };
    audit::record(&mut tx, app, &Actor::operator(), change).await?;
    tx.commit().await?;
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
