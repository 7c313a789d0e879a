//! Apps that members are about to make at GitHub. What GitHub tells of one that was made is a connection.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::Timestamp;

use crate::db::sql;
use crate::{Conn, Result, Tx};

#[derive(Clone, Debug, FromRow)]
pub struct Registration {
    pub id: Uuid,
    pub organization_id: Uuid,
    /// The login or the API key that asked for it.
    pub credential_id: Uuid,
    pub is_key: bool,
    /// Of the connection.
    pub name: String,
    pub base_url: String,
    /// GitHub's organization that will own the app; empty for the account of the person who makes it.
    pub github_organization: String,
    #[sqlx(try_from = "i64")]
    pub expires_at: Timestamp,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
}

macro_rules! columns {
    () => {
        "id, organization_id, credential_id, is_key, name, base_url, github_organization, expires_at, created_at"
    };
}

pub async fn insert(tx: &mut Tx, registration: &Registration, state_hash: &[u8]) -> Result<()> {
    let query = concat!(
        "insert into github_app_registrations (",
        columns!(),
        ", state_hash) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
    );
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(registration.id)
            .bind(registration.organization_id)
            .bind(registration.credential_id)
            .bind(registration.is_key)
            .bind(&registration.name)
            .bind(&registration.base_url)
            .bind(&registration.github_organization)
            .bind(registration.expires_at.micros())
            .bind(registration.created_at.micros())
            .bind(state_hash)
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

/// The oldest of an organization give way to the newest.
pub async fn keep_newest(tx: &mut Tx, organization_id: Uuid, kept: i64) -> Result<()> {
    let query = "delete from github_app_registrations where organization_id = $1 and id not in \
                 (select id from github_app_registrations where organization_id = $1 order by id desc limit $2)";
    sql!(tx, |c| sqlx::query(query).bind(organization_id).bind(kept).execute(c).await.map(drop))?;
    Ok(())
}

pub async fn by_state(conn: &mut Conn, state_hash: &[u8], now: Timestamp) -> Result<Option<Registration>> {
    let query =
        concat!("select ", columns!(), " from github_app_registrations where state_hash = $1 and expires_at > $2");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(state_hash).bind(now.micros()).fetch_optional(c).await)?)
}

/// False when it was used or removed meanwhile.
pub async fn delete(tx: &mut Tx, id: Uuid) -> Result<bool> {
    let query = "delete from github_app_registrations where id = $1";
    Ok(sql!(tx, |c| sqlx::query(query).bind(id).execute(c).await.map(|done| done.rows_affected()))? == 1)
}

pub async fn delete_expired(tx: &mut Tx, now: Timestamp) -> Result<u64> {
    let query = "delete from github_app_registrations where expires_at <= $1";
    Ok(sql!(tx, |c| sqlx::query(query).bind(now.micros()).execute(c).await.map(|done| done.rows_affected()))?)
}
