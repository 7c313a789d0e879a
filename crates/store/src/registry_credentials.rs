//! What organizations show to registries of images: one for each host.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::Timestamp;

use crate::db::sql;
use crate::{Conn, Result, Tx};

#[derive(Clone, Debug, FromRow)]
pub struct RegistryCredential {
    pub id: Uuid,
    pub organization_id: Uuid,
    /// The user who made it.
    pub user_id: Uuid,
    pub host: String,
    pub username: String,
    pub sealed_password: Vec<u8>,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
    #[sqlx(try_from = "i64")]
    pub updated_at: Timestamp,
}

macro_rules! columns {
    () => {
        "id, organization_id, user_id, host, username, sealed_password, created_at, updated_at"
    };
}

pub async fn insert(tx: &mut Tx, row: &RegistryCredential) -> Result<()> {
    let query = concat!("insert into registry_credentials (", columns!(), ") values ($1, $2, $3, $4, $5, $6, $7, $8)");
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(row.id)
            .bind(row.organization_id)
            .bind(row.user_id)
            .bind(&row.host)
            .bind(&row.username)
            .bind(&row.sealed_password)
            .bind(row.created_at.micros())
            .bind(row.updated_at.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

/// The password only if there is a new one: writing the old ciphertext back would undo a rotation of its key.
pub async fn update(tx: &mut Tx, row: &RegistryCredential, sealed_password: Option<&[u8]>) -> Result<()> {
    let query = "update registry_credentials set username = $2, sealed_password = coalesce($3, sealed_password), \
                 updated_at = $4 where id = $1";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(row.id)
            .bind(&row.username)
            .bind(sealed_password)
            .bind(row.updated_at.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

pub async fn get(conn: &mut Conn, id: Uuid) -> Result<Option<RegistryCredential>> {
    let query = concat!("select ", columns!(), " from registry_credentials where id = $1");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(id).fetch_optional(c).await)?)
}

pub async fn by_host(conn: &mut Conn, organization_id: Uuid, host: &str) -> Result<Option<RegistryCredential>> {
    let query = concat!("select ", columns!(), " from registry_credentials where organization_id = $1 and host = $2");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(organization_id).bind(host).fetch_optional(c).await)?)
}

/// In the order of their hosts.
pub async fn of_organization(conn: &mut Conn, organization_id: Uuid, limit: i64) -> Result<Vec<RegistryCredential>> {
    let query = concat!(
        "select ",
        columns!(),
        " from registry_credentials where organization_id = $1 order by host, id limit $2"
    );
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(organization_id).bind(limit).fetch_all(c).await)?)
}

pub async fn count_of_organization(conn: &mut Conn, organization_id: Uuid) -> Result<i64> {
    let query = "select count(*) from registry_credentials where organization_id = $1";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(organization_id).fetch_one(c).await)?)
}

pub async fn delete(tx: &mut Tx, id: Uuid) -> Result<()> {
    sql!(tx, |c| sqlx::query("delete from registry_credentials where id = $1").bind(id).execute(c).await.map(drop))?;
    Ok(())
}
