//! A user's settings of the dashboard. The row exists from registration on.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::Timestamp;

use crate::db::sql;
use crate::{Conn, Result, Tx};

#[derive(Clone, Debug, FromRow)]
pub struct UserSettings {
    pub id: Uuid,
    pub user_id: Uuid,
    pub auto_update: bool,
    pub theme: String,
    pub font_family: String,
    pub font_size: i64,
    pub language: String,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
    #[sqlx(try_from = "i64")]
    pub updated_at: Timestamp,
}

/// What is `None` stays as it is.
#[derive(Clone, Debug, Default)]
pub struct Change {
    pub auto_update: Option<bool>,
    pub theme: Option<String>,
    pub font_family: Option<String>,
    pub font_size: Option<i64>,
    pub language: Option<String>,
}

pub async fn insert(tx: &mut Tx, settings: &UserSettings) -> Result<()> {
    let query = "insert into user_settings \
                 (id, user_id, auto_update, theme, font_family, font_size, language, created_at, updated_at) \
                 values ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(settings.id)
            .bind(settings.user_id)
            .bind(settings.auto_update)
            .bind(&settings.theme)
            .bind(&settings.font_family)
            .bind(settings.font_size)
            .bind(&settings.language)
            .bind(settings.created_at.micros())
            .bind(settings.updated_at.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

pub async fn of_user(conn: &mut Conn, user_id: Uuid) -> Result<Option<UserSettings>> {
    let query = "select id, user_id, auto_update, theme, font_family, font_size, language, created_at, updated_at \
                 from user_settings where user_id = $1";
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(user_id).fetch_optional(c).await)?)
}

pub async fn update(tx: &mut Tx, user_id: Uuid, change: &Change, now: Timestamp) -> Result<Option<UserSettings>> {
    let query = "update user_settings set \
                 auto_update = coalesce($2, auto_update), theme = coalesce($3, theme), \
                 font_family = coalesce($4, font_family), font_size = coalesce($5, font_size), \
                 language = coalesce($6, language), updated_at = $7 where user_id = $1 \
                 returning id, user_id, auto_update, theme, font_family, font_size, language, created_at, updated_at";
    Ok(sql!(tx, |c| {
        sqlx::query_as(query)
            .bind(user_id)
            .bind(change.auto_update)
            .bind(change.theme.as_deref())
            .bind(change.font_family.as_deref())
            .bind(change.font_size)
            .bind(change.language.as_deref())
            .bind(now.micros())
            .fetch_optional(c)
            .await
    })?)
}
