//! The caller, and how they like things.

use windlass_api::{
    FontSize, SwitchOrganization, UpdateAutoUpdate, UpdateFont, UpdateLanguage, UpdateTheme, UpdateUserName,
};
use windlass_store::user_settings::{self, Change};

use super::body::Payload;
use super::respond::{Answer, success};
use crate::auth::Ctx;
use crate::error::Error;
use crate::records;
use crate::service::{organizations, users};

pub async fn get(ctx: Ctx) -> Answer {
    let mut conn = ctx.app.db.read().await?;
    success("User", records::full_user(&mut conn, &ctx.user, ctx.user.id).await?)
}

pub async fn rename(ctx: Ctx, body: Payload) -> Answer {
    let input: UpdateUserName = body.parse()?;
    success("Name updated", users::rename(&ctx, &input.name).await?)
}

pub async fn organizations(ctx: Ctx) -> Answer {
    let mut conn = ctx.app.db.read().await?;
    success("Organizations", records::organizations_of(&mut conn, ctx.user.id).await?)
}

pub async fn switch(ctx: Ctx, body: Payload) -> Answer {
    let input: SwitchOrganization = body.parse()?;
    success("Default organization switched", organizations::switch_default(&ctx, input.organization_id).await?)
}

pub async fn settings(ctx: Ctx) -> Answer {
    let mut conn = ctx.app.db.read().await?;
    let settings = user_settings::of_user(&mut conn, ctx.user.id).await?;
    let settings = settings.ok_or_else(|| Error::internal("the user has no settings"))?;
    success("Settings", records::settings(&mut conn, settings, &ctx.user).await?)
}

pub async fn auto_update(ctx: Ctx, body: Payload) -> Answer {
    let input: UpdateAutoUpdate = body.parse()?;
    let change = Change { auto_update: Some(input.auto_update), ..Change::default() };
    change_settings(&ctx, "Auto update setting updated", change).await
}

pub async fn theme(ctx: Ctx, body: Payload) -> Answer {
    let input: UpdateTheme = body.parse()?;
    change_settings(&ctx, "Theme updated", Change { theme: Some(input.theme.to_string()), ..Change::default() }).await
}

pub async fn font(ctx: Ctx, body: Payload) -> Answer {
    let input: UpdateFont = body.parse()?;
    if input.font_family.is_none() && input.font_size.is_none() {
        return Err(Error::field("font_family", "give it or font_size, or both"));
    }
    let change = Change {
        font_family: input.font_family.map(|family| family.to_string()),
        font_size: input.font_size.map(FontSize::pixels),
        ..Change::default()
    };
    change_settings(&ctx, "Font updated", change).await
}

pub async fn language(ctx: Ctx, body: Payload) -> Answer {
    let input: UpdateLanguage = body.parse()?;
    let change = Change { language: Some(input.language.as_str().to_owned()), ..Change::default() };
    change_settings(&ctx, "Language updated", change).await
}

async fn change_settings(ctx: &Ctx, message: &str, change: Change) -> Answer {
    success(message, users::change_settings(ctx, &change).await?)
}
