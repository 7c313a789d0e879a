//! Keys with which programs act for a member of an organization. A key is kept only as its hash.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::Timestamp;

use crate::db::sql;
use crate::{Conn, Result, Tx};

#[derive(Clone, Debug, FromRow)]
pub struct ApiKey {
    pub id: Uuid,
    pub organization_id: Uuid,
    pub user_id: Uuid,
    pub name: String,
    /// The beginning of the key, by which people recognise it.
    pub hint: String,
    /// Names, separated by spaces.
    pub permissions: String,
    pub last_used_at: Option<i64>,
    #[sqlx(try_from = "i64")]
    pub expires_at: Timestamp,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
}

macro_rules! columns {
    () => {
        "id, organization_id, user_id, name, hint, permissions, last_used_at, expires_at, created_at"
    };
}

pub async fn insert(tx: &mut Tx, key: &ApiKey, token_hash: &[u8]) -> Result<()> {
    let query =
        concat!("insert into api_keys (", columns!(), ", token_hash) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)");
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(key.id)
            .bind(key.organization_id)
            .bind(key.user_id)
            .bind(&key.name)
            .bind(&key.hint)
            .bind(&key.permissions)
            .bind(key.last_used_at)
            .bind(key.expires_at.micros())
            .bind(key.created_at.micros())
            .bind(token_hash)
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

/// A user's own keys in all organizations: first those that work, the newest first.
pub async fn of_user(conn: &mut Conn, user_id: Uuid, now: Timestamp, limit: i64) -> Result<Vec<ApiKey>> {
    let query = concat!(
        "select ",
        columns!(),
        " from api_keys where user_id = $1 order by expires_at > $2 desc, id desc limit $3"
    );
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(user_id).bind(now.micros()).bind(limit).fetch_all(c).await)?)
}

/// The keys of all members of an organization, in the same order.
pub async fn of_organization(
    conn: &mut Conn,
    organization_id: Uuid,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<ApiKey>> {
    let query = concat!(
        "select ",
        columns!(),
        " from api_keys where organization_id = $1 order by expires_at > $2 desc, id desc limit $3"
    );
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(organization_id).bind(now.micros()).bind(limit).fetch_all(c).await)?)
}

/// How many of them still work.
pub async fn count_of_member(conn: &mut Conn, organization_id: Uuid, user_id: Uuid, now: Timestamp) -> Result<i64> {
    let query = "select count(*) from api_keys where organization_id = $1 and user_id = $2 and expires_at > $3";
    Ok(sql!(conn, |c| {
        sqlx::query_scalar(query).bind(organization_id).bind(user_id).bind(now.micros()).fetch_one(c).await
    })?)
}

pub async fn exists(conn: &mut Conn, organization_id: Uuid, id: Uuid) -> Result<bool> {
    let query = "select exists (select 1 from api_keys where organization_id = $1 and id = $2)";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(organization_id).bind(id).fetch_one(c).await)?)
}

/// Whether the key is there, and has not expired.
pub async fn is_valid(conn: &mut Conn, id: Uuid, now: Timestamp) -> Result<bool> {
    let query = "select exists (select 1 from api_keys where id = $1 and expires_at > $2)";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(id).bind(now.micros()).fetch_one(c).await)?)
}

/// Notes a use, unless another request has meanwhile.
pub async fn touch(tx: &mut Tx, id: Uuid, last_used_at: Option<Timestamp>, now: Timestamp) -> Result<()> {
    let query = "update api_keys set last_used_at = $1 where id = $2 and (last_used_at is null or last_used_at = $3)";
    let before = last_used_at.map(Timestamp::micros);
    sql!(tx, |c| sqlx::query(query).bind(now.micros()).bind(id).bind(before).execute(c).await.map(drop))?;
    Ok(())
}

/// The deleted key; none when the user has no such key.
pub async fn delete_own(tx: &mut Tx, user_id: Uuid, id: Uuid) -> Result<Option<ApiKey>> {
    let query = concat!("delete from api_keys where user_id = $1 and id = $2 returning ", columns!());
    Ok(sql!(tx, |c| sqlx::query_as(query).bind(user_id).bind(id).fetch_optional(c).await)?)
}

/// The deleted key; none when the organization has no such key.
pub async fn delete(tx: &mut Tx, organization_id: Uuid, id: Uuid) -> Result<Option<ApiKey>> {
    let query = concat!("delete from api_keys where organization_id = $1 and id = $2 returning ", columns!());
    Ok(sql!(tx, |c| sqlx::query_as(query).bind(organization_id).bind(id).fetch_optional(c).await)?)
}

pub async fn delete_all_of_user(tx: &mut Tx, user_id: Uuid) -> Result<u64> {
    let query = "delete from api_keys where user_id = $1";
    Ok(sql!(tx, |c| sqlx::query(query).bind(user_id).execute(c).await.map(|done| done.rows_affected()))?)
}

pub async fn delete_expired(tx: &mut Tx, before: Timestamp) -> Result<u64> {
    let query = "delete from api_keys where expires_at <= $1";
    Ok(sql!(tx, |c| sqlx::query(query).bind(before.micros()).execute(c).await.map(|done| done.rows_affected()))?)
}
