//! Uploads: folders that are sent as a tar. The row comes before the file. A file whose row is gone or complete is removed by the hourly sweep, if not
//! before.

use std::collections::HashSet;

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::Timestamp;

use crate::db::sql;
use crate::{Conn, Result, Tx};

#[derive(Clone, Debug, FromRow)]
pub struct Upload {
    pub id: Uuid,
    pub organization_id: Uuid,
    pub user_id: Uuid,
    pub application_id: Uuid,
    /// 0 as long as it is not known.
    pub size_bytes: i64,
    /// In hexadecimal digits; empty when the client did not say.
    pub sha256: String,
    /// None until all of it was received and its deployment was queued.
    pub deployment_id: Option<Uuid>,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
    #[sqlx(try_from = "i64")]
    pub expires_at: Timestamp,
}

macro_rules! columns {
    () => {
        "id, organization_id, user_id, application_id, size_bytes, sha256, deployment_id, created_at, expires_at"
    };
}

pub async fn insert(tx: &mut Tx, upload: &Upload) -> Result<()> {
    let query = concat!("insert into uploads (", columns!(), ") values ($1, $2, $3, $4, $5, $6, $7, $8, $9)");
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(upload.id)
            .bind(upload.organization_id)
            .bind(upload.user_id)
            .bind(upload.application_id)
            .bind(upload.size_bytes)
            .bind(&upload.sha256)
            .bind(upload.deployment_id)
            .bind(upload.created_at.micros())
            .bind(upload.expires_at.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

/// Nothing when it belongs to another organization, or has expired.
pub async fn of_organization(
    conn: &mut Conn,
    organization_id: Uuid,
    id: Uuid,
    now: Timestamp,
) -> Result<Option<Upload>> {
    let query =
        concat!("select ", columns!(), " from uploads where id = $1 and organization_id = $2 and expires_at > $3");
    Ok(sql!(conn, |c| {
        sqlx::query_as(query).bind(id).bind(organization_id).bind(now.micros()).fetch_optional(c).await
    })?)
}

/// How many of an organization are not complete, how many of these are a user's, and how many bytes all of these may become. One of unknown
/// size counts as `unknown_bytes`.
pub async fn open(
    conn: &mut Conn,
    organization_id: Uuid,
    user_id: Uuid,
    now: Timestamp,
    unknown_bytes: i64,
) -> Result<(i64, i64, i64)> {
    let query = "select count(*), cast(coalesce(sum(case when user_id = $2 then 1 else 0 end), 0) as bigint), \
                 cast(coalesce(sum(case when size_bytes = 0 then $4 else size_bytes end), 0) as bigint) from uploads \
                 where organization_id = $1 and deployment_id is null and expires_at > $3";
    Ok(sql!(conn, |c| {
        let query = sqlx::query_as(query).bind(organization_id).bind(user_id).bind(now.micros());
        query.bind(unknown_bytes).fetch_one(c).await
    })?)
}

/// Those that are not complete and have not expired, of all organizations.
pub async fn all_open(conn: &mut Conn, now: Timestamp) -> Result<HashSet<Uuid>> {
    let query = "select id from uploads where deployment_id is null and expires_at > $1";
    let ids: Vec<Uuid> = sql!(conn, |c| sqlx::query_scalar(query).bind(now.micros()).fetch_all(c).await)?;
    Ok(ids.into_iter().collect())
}

/// What became of it. False when that was written down before, or it is gone.
pub async fn complete(tx: &mut Tx, id: Uuid, size_bytes: i64, deployment_id: Uuid) -> Result<bool> {
    let query = "update uploads set size_bytes = $2, deployment_id = $3 where id = $1 and deployment_id is null";
    let changed = sql!(tx, |c| {
        let query = sqlx::query(query).bind(id).bind(size_bytes).bind(deployment_id);
        query.execute(c).await.map(|done| done.rows_affected())
    })?;
    Ok(changed == 1)
}

pub async fn delete(tx: &mut Tx, id: Uuid) -> Result<()> {
    sql!(tx, |c| sqlx::query("delete from uploads where id = $1").bind(id).execute(c).await.map(drop))?;
    Ok(())
}

pub async fn delete_expired(tx: &mut Tx, now: Timestamp) -> Result<u64> {
    let query = "delete from uploads where expires_at <= $1";
    Ok(sql!(tx, |c| sqlx::query(query).bind(now.micros()).execute(c).await.map(|done| done.rows_affected()))?)
}
