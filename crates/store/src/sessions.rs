//! Where a user is logged in. A token is kept only as its hash.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::Timestamp;

use crate::db::sql;
use crate::{Conn, Result, Tx};

#[derive(Clone, Debug, FromRow)]
pub struct Session {
    pub id: Uuid,
    pub user_id: Uuid,
    pub ip_address: String,
    pub user_agent: String,
    #[sqlx(try_from = "i64")]
    pub last_used_at: Timestamp,
    #[sqlx(try_from = "i64")]
    pub expires_at: Timestamp,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
}

pub async fn insert(tx: &mut Tx, session: &Session, token_hash: &[u8]) -> Result<()> {
    let query = "insert into sessions \
                 (id, user_id, token_hash, ip_address, user_agent, last_used_at, expires_at, created_at) \
                 values ($1, $2, $3, $4, $5, $6, $7, $8)";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(session.id)
            .bind(session.user_id)
            .bind(token_hash)
            .bind(&session.ip_address)
            .bind(&session.user_agent)
            .bind(session.last_used_at.micros())
            .bind(session.expires_at.micros())
            .bind(session.created_at.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

pub async fn of_user(conn: &mut Conn, user_id: Uuid, now: Timestamp) -> Result<Vec<Session>> {
    let query = "select id, user_id, ip_address, user_agent, last_used_at, expires_at, created_at from sessions \
                 where user_id = $1 and expires_at > $2 order by id desc";
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(user_id).bind(now.micros()).fetch_all(c).await)?)
}

/// Whether the session is there, and has not expired.
pub async fn is_valid(conn: &mut Conn, id: Uuid, now: Timestamp) -> Result<bool> {
    let query = "select exists (select 1 from sessions where id = $1 and expires_at > $2)";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(id).bind(now.micros()).fetch_one(c).await)?)
}

/// Notes a use, unless another request has meanwhile.
pub async fn touch(tx: &mut Tx, id: Uuid, last_used_at: Timestamp, now: Timestamp) -> Result<()> {
    let query = "update sessions set last_used_at = $1 where id = $2 and last_used_at = $3";
    sql!(tx, |c| {
        sqlx::query(query).bind(now.micros()).bind(id).bind(last_used_at.micros()).execute(c).await.map(drop)
    })?;
    Ok(())
}

/// Exchanges the token; the old one stops working. False when it has been exchanged or revoked meanwhile.
pub async fn replace_token(
    tx: &mut Tx,
    id: Uuid,
    old_hash: &[u8],
    new_hash: &[u8],
    expires_at: Timestamp,
) -> Result<bool> {
    let query = "update sessions set token_hash = $1, expires_at = $2 where id = $3 and token_hash = $4";
    let changed = sql!(tx, |c| {
        sqlx::query(query)
            .bind(new_hash)
            .bind(expires_at.micros())
            .bind(id)
            .bind(old_hash)
            .execute(c)
            .await
            .map(|done| done.rows_affected())
    })?;
    Ok(changed == 1)
}

/// False when the user has no such session.
pub async fn delete(tx: &mut Tx, user_id: Uuid, id: Uuid) -> Result<bool> {
    let query = "delete from sessions where id = $1 and user_id = $2";
    let gone =
        sql!(tx, |c| sqlx::query(query).bind(id).bind(user_id).execute(c).await.map(|done| done.rows_affected()))?;
    Ok(gone == 1)
}

/// Ends all of a user's sessions but one.
pub async fn delete_others(tx: &mut Tx, user_id: Uuid, keep: Uuid) -> Result<u64> {
    let query = "delete from sessions where user_id = $1 and id <> $2";
    Ok(sql!(tx, |c| sqlx::query(query).bind(user_id).bind(keep).execute(c).await.map(|done| done.rows_affected()))?)
}

pub async fn delete_all(tx: &mut Tx, user_id: Uuid) -> Result<u64> {
    let query = "delete from sessions where user_id = $1";
    Ok(sql!(tx, |c| sqlx::query(query).bind(user_id).execute(c).await.map(|done| done.rows_affected()))?)
}

/// Ends a user's oldest sessions, so that at most `kept` remain.
pub async fn keep_newest(tx: &mut Tx, user_id: Uuid, kept: i64) -> Result<()> {
    let query = "delete from sessions where user_id = $1 and id not in \
                 (select id from sessions where user_id = $1 order by id desc limit $2)";
    sql!(tx, |c| sqlx::query(query).bind(user_id).bind(kept).execute(c).await.map(drop))?;
    Ok(())
}

pub async fn delete_expired(tx: &mut Tx, now: Timestamp) -> Result<u64> {
    let query = "delete from sessions where expires_at <= $1";
    Ok(sql!(tx, |c| sqlx::query(query).bind(now.micros()).execute(c).await.map(|done| done.rows_affected()))?)
}
