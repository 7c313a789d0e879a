//! The caller's account and settings.

use windlass_api::{
    ErrorCode, OrganizationUser, SwitchOrganization, UpdateAutoUpdate, UpdateFont, UpdateLanguage, UpdateTheme,
    UpdateUserName, User, UserSettings,
};
use windlass_store::user_settings::{self, Change};

use super::body::Payload;
use super::respond::{Answer, success};
use super::table::{Table, user};
use crate::auth::Login;
use crate::error::Error;
use crate::records;
use crate::service::{organizations, users};

pub fn routes(table: Table) -> Table {
    table
        .get("/user", get, user::<User>("Get user"))
        .patch("/user/name", rename, user::<User>("Update user name").body::<UpdateUserName>())
        .get("/user/settings", settings, user::<UserSettings>("Get settings"))
        .patch(
            "/user/settings/auto-update",
            auto_update,
            user::<UserSettings>("Update auto update").body::<UpdateAutoUpdate>(),
        )
        .patch("/user/settings/theme", theme, user::<UserSettings>("Update theme").body::<UpdateTheme>())
        .patch("/user/settings/font", font, user::<UserSettings>("Update font").body::<UpdateFont>())
        .patch("/user/settings/language", language, user::<UserSettings>("Update language").body::<UpdateLanguage>())
        .get("/user/organizations", organizations, user::<Vec<OrganizationUser>>("List my organizations"))
        .patch(
            "/user/organization",
            switch,
            user::<User>("Switch default organization").body::<SwitchOrganization>().errors(&[ErrorCode::NotFound]),
        )
}

pub async fn get(login: Login) -> Answer {
    let mut conn = login.app.db.read().await?;
    success("User", records::full_user(&mut conn, &login.caller.user, login.caller.viewer()).await?)
}

pub async fn rename(login: Login, body: Payload) -> Answer {
    let input: UpdateUserName = body.parse()?;
    success("Name updated", users::rename(&login, &input.name).await?)
}

pub async fn organizations(login: Login) -> Answer {
    let mut conn = login.app.db.read().await?;
    success("Organizations", records::organizations_of(&mut conn, login.caller.user.id).await?)
}

pub async fn switch(login: Login, body: Payload) -> Answer {
    let input: SwitchOrganization = body.parse()?;
    let authority = login.own_membership(Some(input.organization_id)).await?;
    success("Default organization switched", organizations::switch_default(&login.app, &authority).await?)
}

pub async fn settings(login: Login) -> Answer {
    let mut conn = login.app.db.read().await?;
    let settings = user_settings::of_user(&mut conn, login.caller.user.id).await?;
    let settings = settings.ok_or_else(|| Error::internal("the user has no settings"))?;
    success("Settings", records::settings(&mut conn, settings, &login.caller.user).await?)
}

pub async fn auto_update(login: Login, body: Payload) -> Answer {
    let input: UpdateAutoUpdate = body.parse()?;
    let change = Change { auto_update: Some(input.auto_update), ..Change::default() };
    change_settings(&login, "Auto update setting updated", change).await
}

pub async fn theme(login: Login, body: Payload) -> Answer {
    let input: UpdateTheme = body.parse()?;
    change_settings(&login, "Theme updated", Change { theme: Some(input.theme.to_string()), ..Change::default() }).await
}

pub async fn font(login: Login, body: Payload) -> Answer {
    let input: UpdateFont = body.parse()?;
    if input.font_family.is_none() && input.font_size.is_none() {
        return Err(Error::field("font_family", "give it or font_size, or both"));
    }
    let change = Change {
        font_family: input.font_family.map(|family| family.to_string()),
        font_size: input.font_size.map(windlass_api::Whole::get),
        ..Change::default()
    };
    change_settings(&login, "Font updated", change).await
}

pub async fn language(login: Login, body: Payload) -> Answer {
    let input: UpdateLanguage = body.parse()?;
    let change = Change { language: Some(input.language.as_str().to_owned()), ..Change::default() };
    change_settings(&login, "Language updated", change).await
}

async fn change_settings(login: &Login, message: &str, change: Change) -> Answer {
    success(message, users::change_settings(login, &change).await?)
}
