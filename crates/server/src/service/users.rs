//! What users change about themselves.

use windlass_store::user_settings::{self, UserSettings};
use windlass_store::users::{self, User};

use crate::auth::Ctx;
use crate::error::{Error, Result};
use crate::service::audit::{self, Action, Actor, Change, Resource};

pub async fn rename(ctx: &Ctx, name: &str) -> Result<User> {
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
    tx.commit().await?;
    Ok(User { username: name.to_owned(), updated_at: now, ..ctx.user.clone() })
}

pub async fn change_settings(ctx: &Ctx, change: &user_settings::Change) -> Result<UserSettings> {
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
    tx.commit().await?;
    Ok(settings)
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
