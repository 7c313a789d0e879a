//! Requests that must not be done twice, as their senders name them.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::Timestamp;

use crate::db::sql;
use crate::{Conn, Result, Tx};

#[derive(Clone, Debug, FromRow)]
pub struct IdempotencyKey {
    pub organization_id: Uuid,
    pub user_id: Uuid,
    pub name: String,
    pub body_hash: Vec<u8>,
    /// What the request made.
    pub application_id: Uuid,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
}

pub async fn insert(tx: &mut Tx, key: &IdempotencyKey) -> Result<()> {
    let query = "insert into idempotency_keys (organization_id, user_id, name, body_hash, application_id, created_at) \
                 values ($1, $2, $3, $4, $5, $6)";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(key.organization_id)
            .bind(key.user_id)
            .bind(&key.name)
            .bind(&key.body_hash)
            .bind(key.application_id)
            .bind(key.created_at.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

pub async fn get(conn: &mut Conn, organization_id: Uuid, user_id: Uuid, name: &str) -> Result<Option<IdempotencyKey>> {
    let query = "select organization_id, user_id, name, body_hash, application_id, created_at from idempotency_keys \
                 where organization_id = $1 and user_id = $2 and name = $3";
    Ok(sql!(conn, |c| {
        sqlx::query_as(query).bind(organization_id).bind(user_id).bind(name).fetch_optional(c).await
    })?)
}

pub async fn delete(tx: &mut Tx, organization_id: Uuid, user_id: Uuid, name: &str) -> Result<()> {
    let query = "delete from idempotency_keys where organization_id = $1 and user_id = $2 and name = $3";
    sql!(tx, |c| sqlx::query(query).bind(organization_id).bind(user_id).bind(name).execute(c).await.map(drop))?;
    Ok(())
}

pub async fn delete_older_than(tx: &mut Tx, time: Timestamp) -> Result<u64> {
    let query = "delete from idempotency_keys where created_at < $1";
    Ok(sql!(tx, |c| sqlx::query(query).bind(time.micros()).execute(c).await.map(|done| done.rows_affected()))?)
}
