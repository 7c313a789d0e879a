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
    pub sealed_url: Vec<u8>,
    pub is_active: bool,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
    #[sqlx(try_from = "i64")]
    pub updated_at: Timestamp,
}

macro_rules! columns {
    () => {
        "id, organization_id, user_id, type, sealed_url, is_active, created_at, updated_at"
    };
}

pub async fn insert(tx: &mut Tx, config: &WebhookConfig) -> Result<()> {
    let query = concat!("insert into webhook_configs (", columns!(), ") values ($1, $2, $3, $4, $5, $6, $7, $8)");
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(config.id)
            .bind(config.organization_id)
            .bind(config.user_id)
            .bind(config.kind.as_str())
            .bind(&config.sealed_url)
            .bind(config.is_active)
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
                 updated_at = $4 where id = $5";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(config.user_id)
            .bind(sealed_url)
            .bind(config.is_active)
            .bind(config.updated_at.micros())
            .bind(config.id)
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
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
