//! Organizations: what everything else belongs to.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::Timestamp;

use crate::db::sql;
use crate::{Conn, Result, Tx};

#[derive(Clone, Debug, FromRow)]
pub struct Organization {
    pub id: Uuid,
    pub name: String,
    pub description: String,
    pub host_access: bool,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
    #[sqlx(try_from = "i64")]
    pub updated_at: Timestamp,
}

pub async fn insert(tx: &mut Tx, organization: &Organization) -> Result<()> {
    let query = "insert into organizations (id, name, description, host_access, created_at, updated_at) \
                 values ($1, $2, $3, $4, $5, $6)";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(organization.id)
            .bind(&organization.name)
            .bind(&organization.description)
            .bind(organization.host_access)
            .bind(organization.created_at.micros())
            .bind(organization.updated_at.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

/// What is `None` stays as it is.
pub async fn update(
    tx: &mut Tx,
    id: Uuid,
    name: Option<&str>,
    description: Option<&str>,
    now: Timestamp,
) -> Result<Option<Organization>> {
    let query = "update organizations set name = coalesce($2, name), description = coalesce($3, description), \
                 updated_at = $4 where id = $1 \
                 returning id, name, description, host_access, created_at, updated_at";
    Ok(sql!(tx, |c| {
        sqlx::query_as(query).bind(id).bind(name).bind(description).bind(now.micros()).fetch_optional(c).await
    })?)
}

pub async fn get(conn: &mut Conn, id: Uuid) -> Result<Option<Organization>> {
    let query = "select id, name, description, host_access, created_at, updated_at from organizations where id = $1";
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(id).fetch_optional(c).await)?)
}

/// Waits for, and then keeps others from, changes that depend on the organization's members. SQLite's transactions run
/// one after another anyway; PostgreSQL needs the row locked.
pub async fn lock(tx: &mut Tx, id: Uuid) -> Result<bool> {
    let query = "update organizations set id = id where id = $1";
    let found = sql!(tx, |c| sqlx::query(query).bind(id).execute(c).await.map(|done| done.rows_affected()))?;
    Ok(found == 1)
}

/// Memberships and invitations go with it.
pub async fn delete(tx: &mut Tx, id: Uuid) -> Result<()> {
    sql!(tx, |c| sqlx::query("delete from organizations where id = $1").bind(id).execute(c).await.map(drop))?;
    Ok(())
}

/// Whether an admin of the installation trusts it with the machine. False when there is no such organization.
pub async fn has_host_access(conn: &mut Conn, id: Uuid) -> Result<bool> {
    let query = "select exists (select 1 from organizations where id = $1 and host_access)";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(id).fetch_one(c).await)?)
}

/// Those that an admin of the installation trusts with the machine, the oldest first.
pub async fn with_host_access(conn: &mut Conn, limit: i64) -> Result<Vec<Uuid>> {
    let query = "select id from organizations where host_access order by id limit $1";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(limit).fetch_all(c).await)?)
}
