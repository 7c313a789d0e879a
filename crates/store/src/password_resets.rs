//! Links with which users set a new password. A password that is set ends all of them.

use uuid::Uuid;
use windlass_api::Timestamp;

use crate::db::sql;
use crate::{Conn, Result, Tx};

/// A link that an admin gives to the user: one per user. A newer one takes the place of the one before, which stops working.
pub async fn put_handed_over(tx: &mut Tx, user_id: Uuid, token_hash: &[u8], expires_at: Timestamp) -> Result<()> {
    let query = "delete from password_resets where user_id = $1 and is_handed_over";
    sql!(tx, |c| sqlx::query(query).bind(user_id).execute(c).await.map(drop))?;
    insert(tx, user_id, token_hash, true, expires_at).await
}

/// A link that was asked for. It takes no other link's place, because strangers can ask: when so many can be opened, there is none
/// more. Whether there is. The caller holds the user.
pub async fn insert_asked_for(
    tx: &mut Tx,
    user_id: Uuid,
    token_hash: &[u8],
    expires_at: Timestamp,
    now: Timestamp,
    most: u32,
) -> Result<bool> {
    let query = "select count(*) from password_resets where user_id = $1 and not is_handed_over and expires_at > $2";
    let open: i64 = sql!(tx, |c| sqlx::query_scalar(query).bind(user_id).bind(now.micros()).fetch_one(c).await)?;
    if open >= i64::from(most) {
        return Ok(false);
    }
    insert(tx, user_id, token_hash, false, expires_at).await?;
    Ok(true)
}

async fn insert(
    tx: &mut Tx,
    user_id: Uuid,
    token_hash: &[u8],
    is_handed_over: bool,
    expires_at: Timestamp,
) -> Result<()> {
    let query = "insert into password_resets (token_hash, user_id, is_handed_over, expires_at) values ($1, $2, $3, $4)";
    Ok(sql!(tx, |c| {
        let query = sqlx::query(query).bind(token_hash).bind(user_id).bind(is_handed_over);
        query.bind(expires_at.micros()).execute(c).await.map(drop)
    })?)
}

pub async fn exists(conn: &mut Conn, token_hash: &[u8], now: Timestamp) -> Result<bool> {
    let query = "select exists (select 1 from password_resets where token_hash = $1 and expires_at > $2)";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(token_hash).bind(now.micros()).fetch_one(c).await)?)
}

/// Uses the link up; nothing when it was used or replaced, or has expired.
pub async fn take(tx: &mut Tx, token_hash: &[u8], now: Timestamp) -> Result<Option<Uuid>> {
    let query = "delete from password_resets where token_hash = $1 and expires_at > $2 returning user_id";
    Ok(sql!(tx, |c| sqlx::query_scalar(query).bind(token_hash).bind(now.micros()).fetch_optional(c).await)?)
}

pub async fn delete_expired(tx: &mut Tx, now: Timestamp) -> Result<u64> {
    let query = "delete from password_resets where expires_at <= $1";
    Ok(sql!(tx, |c| sqlx::query(query).bind(now.micros()).execute(c).await.map(|done| done.rows_affected()))?)
}
