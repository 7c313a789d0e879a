//! The networks on the engine, and the addresses in them.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::Timestamp;

use crate::db::sql;
use crate::{Conn, Result, Tx};

#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Network {
    /// An organization, or the preview of a fork.
    pub owner_id: Uuid,
    pub name: String,
    /// Such as `10.192.3.0/24`.
    pub subnet: String,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
}

pub async fn insert(tx: &mut Tx, network: &Network) -> Result<()> {
    let query = "insert into networks (owner_id, name, subnet, created_at) values ($1, $2, $3, $4)";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(network.owner_id)
            .bind(&network.name)
            .bind(&network.subnet)
            .bind(network.created_at.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

pub async fn get(conn: &mut Conn, owner_id: Uuid) -> Result<Option<Network>> {
    let query = "select owner_id, name, subnet, created_at from networks where owner_id = $1";
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(owner_id).fetch_optional(c).await)?)
}

pub async fn all(conn: &mut Conn) -> Result<Vec<Network>> {
    let query = "select owner_id, name, subnet, created_at from networks order by subnet";
    Ok(sql!(conn, |c| sqlx::query_as(query).fetch_all(c).await)?)
}

/// Those of organizations that have neither an application nor an installation left, and of previews that are gone.
pub async fn unused(conn: &mut Conn) -> Result<Vec<Network>> {
    let query = "select owner_id, name, subnet, created_at from networks n \
                 where not exists (select 1 from applications a where a.organization_id = n.owner_id) \
                 and not exists (select 1 from applications a where a.id = n.owner_id) \
                 and not exists (select 1 from installations i where i.organization_id = n.owner_id) \
                 and not exists (select 1 from addresses d where d.owner_id = n.owner_id \
                     and d.container_id is not null)";
    Ok(sql!(conn, |c| sqlx::query_as(query).fetch_all(c).await)?)
}

/// False when it has come into use again.
pub async fn delete_unused(tx: &mut Tx, owner_id: Uuid) -> Result<bool> {
    let query = "delete from networks where owner_id = $1 \
                 and not exists (select 1 from applications a where a.organization_id = $1) \
                 and not exists (select 1 from applications a where a.id = $1) \
                 and not exists (select 1 from installations i where i.organization_id = $1) \
                 and not exists (select 1 from addresses d where d.owner_id = $1 and d.container_id is not null)";
    let deleted = sql!(tx, |c| sqlx::query(query).bind(owner_id).execute(c).await.map(|done| done.rows_affected()))?;
    Ok(deleted == 1)
}

/// Whether any container has, or is going to have, an address in it.
pub async fn has_containers(conn: &mut Conn, owner_id: Uuid) -> Result<bool> {
    let query = "select exists (select 1 from addresses where owner_id = $1 and container_id is not null)";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(owner_id).fetch_one(c).await)?)
}

/// Another subnet for a network that was not made yet, because another network has the first one.
pub async fn set_subnet(tx: &mut Tx, owner_id: Uuid, subnet: &str) -> Result<()> {
    let query = "update networks set subnet = $2 where owner_id = $1";
    sql!(tx, |c| sqlx::query(query).bind(owner_id).bind(subnet).execute(c).await.map(drop))?;
    let query = "delete from addresses where owner_id = $1";
    sql!(tx, |c| sqlx::query(query).bind(owner_id).execute(c).await.map(drop))?;
    Ok(())
}

/// Addresses that were given out before, and which of these are in use.
#[derive(Clone, Debug, FromRow)]
pub struct Address {
    pub address: String,
    pub container_id: Option<Uuid>,
}

/// The organization that a network's containers count for.
pub async fn organization_of(conn: &mut Conn, owner_id: Uuid) -> Result<Uuid> {
    let query = "select organization_id from applications where id = $1";
    let of_preview: Option<Uuid> = sql!(conn, |c| sqlx::query_scalar(query).bind(owner_id).fetch_optional(c).await)?;
    Ok(of_preview.unwrap_or(owner_id))
}

/// How many containers an organization has, in its network and in those of its previews of forks.
pub async fn containers_of(conn: &mut Conn, organization_id: Uuid) -> Result<usize> {
    let query = "select count(*) from addresses where container_id is not null and (owner_id = $1 \
                 or owner_id in (select id from applications where organization_id = $1))";
    let count: i64 = sql!(conn, |c| sqlx::query_scalar(query).bind(organization_id).fetch_one(c).await)?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

/// Waits for, and then keeps others from, taking addresses of this network until the transaction ends.
pub async fn lock(tx: &mut Tx, owner_id: Uuid) -> Result<()> {
    let query = "update networks set subnet = subnet where owner_id = $1";
    sql!(tx, |c| sqlx::query(query).bind(owner_id).execute(c).await.map(drop))?;
    Ok(())
}

/// The longest free first, those in use last.
pub async fn addresses(conn: &mut Conn, owner_id: Uuid) -> Result<Vec<Address>> {
    let query = "select address, container_id from addresses where owner_id = $1 \
                 order by case when container_id is null then 0 else 1 end, freed_at, address";
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(owner_id).fetch_all(c).await)?)
}

pub async fn take_address(tx: &mut Tx, owner_id: Uuid, address: &str, container_id: Uuid) -> Result<()> {
    let query = "insert into addresses (owner_id, address, container_id, freed_at) values ($1, $2, $3, 0) \
                 on conflict (owner_id, address) do update set container_id = excluded.container_id";
    sql!(tx, |c| { sqlx::query(query).bind(owner_id).bind(address).bind(container_id).execute(c).await.map(drop) })?;
    Ok(())
}

/// Those of another installation, with the addresses in them.
pub async fn forget_all(tx: &mut Tx) -> Result<()> {
    Ok(sql!(tx, |c| sqlx::query("delete from networks").execute(c).await.map(drop))?)
}
