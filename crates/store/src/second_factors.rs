//! What a user has in addition to the password: a secret shared with their phone, and recovery codes.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::Timestamp;

use crate::db::sql;
use crate::{Conn, Result, Tx};

#[derive(Clone, Debug, FromRow)]
pub struct SecondFactor {
    pub id: Uuid,
    pub user_id: Uuid,
    pub sealed_secret: Vec<u8>,
}

/// Begins to set one up; one that was begun before is replaced.
pub async fn put(tx: &mut Tx, factor: &SecondFactor, now: Timestamp) -> Result<()> {
    let query = "insert into second_factors (id, user_id, sealed_secret, created_at) values ($1, $2, $3, $4) \
                 on conflict (user_id) do update set id = $1, sealed_secret = $3, last_step = 0, created_at = $4";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(factor.id)
            .bind(factor.user_id)
            .bind(&factor.sealed_secret)
            .bind(now.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

pub async fn of_user(conn: &mut Conn, user_id: Uuid) -> Result<Option<SecondFactor>> {
    let query = "select id, user_id, sealed_secret from second_factors where user_id = $1";
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(user_id).fetch_optional(c).await)?)
}

/// Whether the user has one; the answer stays true until the transaction ends.
pub async fn hold_state(tx: &mut Tx, user_id: Uuid) -> Result<bool> {
    let query = "update users set id = id where id = $1 returning two_factor_enabled";
    let enabled: Option<bool> = sql!(tx, |c| sqlx::query_scalar(query).bind(user_id).fetch_optional(c).await)?;
    Ok(enabled.unwrap_or_default())
}

pub async fn set_enabled(tx: &mut Tx, user_id: Uuid, enabled: bool, now: Timestamp) -> Result<()> {
    let query = "update users set two_factor_enabled = $1, updated_at = $2 where id = $3";
    sql!(tx, |c| sqlx::query(query).bind(enabled).bind(now.micros()).bind(user_id).execute(c).await.map(drop))?;
    Ok(())
}

/// Uses up the code of a half minute, and with it all earlier ones. False when that has happened already.
pub async fn use_step(tx: &mut Tx, user_id: Uuid, step: i64) -> Result<bool> {
    let query = "update second_factors set last_step = $1 where user_id = $2 and last_step < $1";
    let used = sql!(tx, |c| {
        sqlx::query(query).bind(step).bind(user_id).execute(c).await.map(|done| done.rows_affected())
    })?;
    Ok(used == 1)
}

/// Removes the secret and the recovery codes.
pub async fn delete(tx: &mut Tx, user_id: Uuid) -> Result<()> {
    let query = "delete from second_factors where user_id = $1";
    sql!(tx, |c| sqlx::query(query).bind(user_id).execute(c).await.map(drop))?;
    delete_recovery_codes(tx, user_id).await
}

pub async fn delete_recovery_codes(tx: &mut Tx, user_id: Uuid) -> Result<()> {
    let query = "delete from recovery_codes where user_id = $1";
    sql!(tx, |c| sqlx::query(query).bind(user_id).execute(c).await.map(drop))?;
    Ok(())
}

pub async fn insert_recovery_code(tx: &mut Tx, user_id: Uuid, code_hash: &[u8]) -> Result<()> {
    let query = "insert into recovery_codes (user_id, code_hash) values ($1, $2)";
    sql!(tx, |c| sqlx::query(query).bind(user_id).bind(code_hash).execute(c).await.map(drop))?;
    Ok(())
}

/// Uses a recovery code up. False when there is no such code (any more).
pub async fn use_recovery_code(tx: &mut Tx, user_id: Uuid, code_hash: &[u8]) -> Result<bool> {
    let query = "delete from recovery_codes where user_id = $1 and code_hash = $2";
    let used = sql!(tx, |c| {
        sqlx::query(query).bind(user_id).bind(code_hash).execute(c).await.map(|done| done.rows_affected())
    })?;
    Ok(used == 1)
}

pub async fn count_recovery_codes(conn: &mut Conn, user_id: Uuid) -> Result<i64> {
    let query = "select count(*) from recovery_codes where user_id = $1";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(user_id).fetch_one(c).await)?)
}
