//! Addresses that users want to have, until a link that was sent there is opened: one per user.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::Timestamp;

use crate::db::sql;
use crate::{Conn, Result, Tx};

#[derive(Debug, PartialEq, Eq, FromRow)]
pub struct EmailChange {
    pub user_id: Uuid,
    pub email: String,
}

/// A newer link takes the place of the one before, which stops working.
pub async fn put(tx: &mut Tx, change: &EmailChange, token_hash: &[u8], expires_at: Timestamp) -> Result<()> {
    let query = "insert into email_changes (user_id, email, token_hash, expires_at) values ($1, $2, $3, $4) \
                 on conflict (user_id) do update set email = excluded.email, token_hash = excluded.token_hash, \
                 expires_at = excluded.expires_at";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(change.user_id)
            .bind(&change.email)
            .bind(token_hash)
            .bind(expires_at.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

pub async fn exists(conn: &mut Conn, token_hash: &[u8], now: Timestamp) -> Result<bool> {
    let query = "select exists (select 1 from email_changes where token_hash = $1 and expires_at > $2)";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(token_hash).bind(now.micros()).fetch_one(c).await)?)
}

/// Uses the link up; nothing when it was used or replaced, or has expired.
pub async fn take(tx: &mut Tx, token_hash: &[u8], now: Timestamp) -> Result<Option<EmailChange>> {
    let query = "delete from email_changes where token_hash = $1 and expires_at > $2 returning user_id, email";
    Ok(sql!(tx, |c| sqlx::query_as(query).bind(token_hash).bind(now.micros()).fetch_optional(c).await)?)
}

pub async fn delete_expired(tx: &mut Tx, now: Timestamp) -> Result<u64> {
    let query = "delete from email_changes where expires_at <= $1";
    Ok(sql!(tx, |c| sqlx::query(query).bind(now.micros()).execute(c).await.map(|done| done.rows_affected()))?)
}
