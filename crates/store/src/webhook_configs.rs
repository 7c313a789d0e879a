//! Where an organization's notifications go, one address per kind.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::{Timestamp, WebhookType};

use crate::db::sql;
use crate::word::Word;
use crate::{Conn, Result, Tx};

#[derive(Clone, Debug, FromRow)]
pub struct WebhookConfig {
    pub id: Uuid,
    pub organization_id: Uuid,
    /// The user who saved it last.
    pub user_id: Uuid,
    #[sqlx(rename = "type", try_from = "Word<WebhookType>")]
    pub kind: WebhookType,
    /// What the API key that saved it last may do, with spaces between the names; none for a login.
    pub key_permissions: Option<String>,
    pub sealed_url: Vec<u8>,
    pub is_active: bool,
    /// What deliveries are signed with; only the type `webhook` has one.
    pub sealed_secret: Option<Vec<u8>>,
    /// The one before, which signs too until then, in microseconds.
    pub sealed_previous_secret: Option<Vec<u8>>,
    pub previous_secret_until: Option<i64>,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
    #[sqlx(try_from = "i64")]
    pub updated_at: Timestamp,
}

macro_rules! columns {
    () => {
        "id, organization_id, user_id, type, key_permissions, sealed_url, is_active, sealed_secret, sealed_previous_secret, \
         previous_secret_until, created_at, updated_at"
    };
}

pub async fn insert(tx: &mut Tx, config: &WebhookConfig) -> Result<()> {
    let query = concat!(
        "insert into webhook_configs (",
        columns!(),
        ") values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
    );
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(config.id)
            .bind(config.organization_id)
            .bind(config.user_id)
            .bind(config.kind.as_str())
            .bind(&config.key_permissions)
            .bind(&config.sealed_url)
            .bind(config.is_active)
            .bind(&config.sealed_secret)
            .bind(&config.sealed_previous_secret)
            .bind(config.previous_secret_until)
            .bind(config.created_at.micros())
            .bind(config.updated_at.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

/// The address only if there is a new one: writing the old ciphertext back would undo a rotation of its key.
pub async fn update(tx: &mut Tx, config: &WebhookConfig, sealed_url: Option<&[u8]>) -> Result<()> {
    let query = "update webhook_configs set user_id = $1, sealed_url = coalesce($2, sealed_url), is_active = $3, \
                 updated_at = $4, key_permissions = $6 where id = $5";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(config.user_id)
            .bind(sealed_url)
            .bind(config.is_active)
            .bind(config.updated_at.micros())
            .bind(config.id)
            .bind(&config.key_permissions)
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

/// A new secret; the one before signs too for a while.
pub async fn set_secret(tx: &mut Tx, id: Uuid, secret: &[u8], previous: Option<(&[u8], Timestamp)>) -> Result<()> {
    let query = "update webhook_configs set sealed_secret = $2, sealed_previous_secret = $3, previous_secret_until = $4 \
                 where id = $1";
    let (before, until) = (previous.map(|(before, _)| before), previous.map(|(_, until)| until.micros()));
    Ok(sql!(tx, |c| { sqlx::query(query).bind(id).bind(secret).bind(before).bind(until).execute(c).await.map(drop) })?)
}

/// Switches it off, if it still is what it was when it was last saved. False when it is not.
pub async fn switch_off(tx: &mut Tx, id: Uuid, saved_at: Timestamp) -> Result<bool> {
    let query = "update webhook_configs set is_active = $3 where id = $1 and updated_at = $2 and is_active <> $3";
    let changed = sql!(tx, |c| {
        let query = sqlx::query(query).bind(id).bind(saved_at.micros()).bind(false);
        query.execute(c).await.map(|done| done.rows_affected())
    })?;
    Ok(changed > 0)
}

/// All that an organization has.
pub async fn of_organization(conn: &mut Conn, organization_id: Uuid) -> Result<Vec<WebhookConfig>> {
    let query = concat!("select ", columns!(), " from webhook_configs where organization_id = $1 order by type");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(organization_id).fetch_all(c).await)?)
}

pub async fn get(conn: &mut Conn, organization_id: Uuid, kind: WebhookType) -> Result<Option<WebhookConfig>> {
    let query = concat!("select ", columns!(), " from webhook_configs where organization_id = $1 and type = $2");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(organization_id).bind(kind.as_str()).fetch_optional(c).await)?)
}

/// The id of the deleted one.
pub async fn delete(tx: &mut Tx, organization_id: Uuid, kind: WebhookType) -> Result<Option<Uuid>> {
    let query = "delete from webhook_configs where organization_id = $1 and type = $2 returning id";
    Ok(sql!(tx, |c| sqlx::query_scalar(query).bind(organization_id).bind(kind.as_str()).fetch_optional(c).await)?)
}
