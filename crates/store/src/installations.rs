//! Installations: what extensions have installed, with their services and the domains that lead to them.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::{ContainerStatus, InstallationState, Timestamp};

use crate::containers::Stage;
use crate::db::{among, sql};
use crate::word::Word;
use crate::{Conn, Result, Tx, freed_domains};

#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Installation {
    pub id: Uuid,
    pub organization_id: Uuid,
    /// The user who asked for it.
    pub user_id: Uuid,
    pub extension_id: Uuid,
    /// Unique in the organization.
    pub name: String,
    #[sqlx(try_from = "Word<InstallationState>")]
    pub state: InstallationState,
    /// The execution whose containers and routes are in force.
    pub execution_id: Option<Uuid>,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
    #[sqlx(try_from = "i64")]
    pub updated_at: Timestamp,
}

macro_rules! columns {
    () => {
        "id, organization_id, user_id, extension_id, name, state, execution_id, created_at, updated_at"
    };
}

pub async fn insert(tx: &mut Tx, installation: &Installation) -> Result<()> {
    let query = concat!("insert into installations (", columns!(), ") values ($1, $2, $3, $4, $5, $6, $7, $8, $9)");
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(installation.id)
            .bind(installation.organization_id)
            .bind(installation.user_id)
            .bind(installation.extension_id)
            .bind(&installation.name)
            .bind(installation.state.as_str())
            .bind(installation.execution_id)
            .bind(installation.created_at.micros())
            .bind(installation.updated_at.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

pub async fn get(conn: &mut Conn, id: Uuid) -> Result<Option<Installation>> {
    let query = concat!("select ", columns!(), " from installations where id = $1");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(id).fetch_optional(c).await)?)
}

/// Nothing when it belongs to another organization.
pub async fn of_organization(conn: &mut Conn, organization_id: Uuid, id: Uuid) -> Result<Option<Installation>> {
    let query = concat!("select ", columns!(), " from installations where id = $1 and organization_id = $2");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(id).bind(organization_id).fetch_optional(c).await)?)
}

pub async fn by_name(conn: &mut Conn, organization_id: Uuid, name: &str) -> Result<Option<Installation>> {
    let query = concat!("select ", columns!(), " from installations where organization_id = $1 and name = $2");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(organization_id).bind(name).fetch_optional(c).await)?)
}

/// By name, and how many there are in all.
pub async fn page(
    conn: &mut Conn,
    organization_id: Uuid,
    (skip, limit): (i64, i64),
) -> Result<(Vec<Installation>, i64)> {
    let count = count_of_organization(conn, organization_id).await?;
    let query = concat!(
        "select ",
        columns!(),
        " from installations where organization_id = $1 order by name limit $2 offset $3"
    );
    let page = sql!(conn, |c| sqlx::query_as(query).bind(organization_id).bind(limit).bind(skip).fetch_all(c).await)?;
    Ok((page, count))
}

pub async fn count_of_organization(conn: &mut Conn, organization_id: Uuid) -> Result<i64> {
    let query = "select count(*) from installations where organization_id = $1";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(organization_id).fetch_one(c).await)?)
}

/// Each with its organization.
pub async fn organizations(conn: &mut Conn) -> Result<Vec<(Uuid, Uuid)>> {
    Ok(sql!(conn, |c| sqlx::query_as("select id, organization_id from installations").fetch_all(c).await)?)
}

/// Waits for, and then keeps others from, changes of this installation until the transaction ends.
pub async fn lock(tx: &mut Tx, id: Uuid) -> Result<Option<Installation>> {
    let query = concat!("update installations set id = id where id = $1 returning ", columns!());
    Ok(sql!(tx, |c| sqlx::query_as(query).bind(id).fetch_optional(c).await)?)
}

pub async fn set_state(tx: &mut Tx, id: Uuid, state: InstallationState, now: Timestamp) -> Result<()> {
    let query = "update installations set state = $2, updated_at = $3 where id = $1";
    sql!(tx, |c| sqlx::query(query).bind(id).bind(state.as_str()).bind(now.micros()).execute(c).await.map(drop))?;
    Ok(())
}

/// From now on this execution is in force.
pub async fn set_execution(tx: &mut Tx, id: Uuid, execution_id: Uuid, now: Timestamp) -> Result<()> {
    let query = "update installations set state = 'installed', execution_id = $2, updated_at = $3 where id = $1";
    sql!(tx, |c| sqlx::query(query).bind(id).bind(execution_id).bind(now.micros()).execute(c).await.map(drop))?;
    Ok(())
}

/// Everything of it goes with it.
pub async fn delete(tx: &mut Tx, id: Uuid) -> Result<()> {
    sql!(tx, |c| sqlx::query("delete from installations where id = $1").bind(id).execute(c).await.map(drop))?;
    Ok(())
}

/// A service beside its container's row.
#[derive(Clone, Debug, FromRow)]
pub struct Service {
    /// The container's.
    pub id: Uuid,
    pub installation_id: Uuid,
    pub execution_id: Uuid,
    pub name: String,
    pub image: String,
    pub image_id: String,
    /// Whether it is started again when it ends.
    pub is_kept: bool,
    /// A later execution that wants it as it is.
    pub kept_by: Option<Uuid>,
}

/// With what is seen of its container.
#[derive(Clone, Debug, FromRow)]
pub struct Seen {
    #[sqlx(flatten)]
    pub service: Service,
    pub container_name: String,
    #[sqlx(try_from = "Word<Stage>")]
    pub stage: Stage,
    #[sqlx(try_from = "Word<ContainerStatus>")]
    pub status: ContainerStatus,
    pub address: String,
}

pub async fn insert_service(tx: &mut Tx, service: &Service, sealed_specification: &[u8]) -> Result<()> {
    let query = "insert into installed_services (id, installation_id, execution_id, name, image, image_id, is_kept, \
                 sealed_specification) values ($1, $2, $3, $4, $5, $6, $7, $8)";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(service.id)
            .bind(service.installation_id)
            .bind(service.execution_id)
            .bind(&service.name)
            .bind(&service.image)
            .bind(&service.image_id)
            .bind(service.is_kept)
            .bind(sealed_specification)
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

/// The services of an installation, by name and age, those that are going included.
pub async fn services(conn: &mut Conn, installation_id: Uuid) -> Result<Vec<Seen>> {
    services_of(conn, &[installation_id]).await
}

/// The same for several.
pub async fn services_of(conn: &mut Conn, installation_ids: &[Uuid]) -> Result<Vec<Seen>> {
    let query = "select s.id, s.installation_id, s.execution_id, s.name, s.image, s.image_id, s.is_kept, s.kept_by, \
                 c.name as container_name, c.stage, c.status, c.address from installed_services s \
                 join containers c on c.id = s.id where s.installation_id in ({}) order by s.name, s.id";
    among(conn, query, installation_ids).await
}

pub async fn service(conn: &mut Conn, id: Uuid) -> Result<Option<Service>> {
    let query = "select id, installation_id, execution_id, name, image, image_id, is_kept, kept_by \
                 from installed_services where id = $1";
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(id).fetch_optional(c).await)?)
}

pub async fn sealed_specification(conn: &mut Conn, id: Uuid) -> Result<Option<Vec<u8>>> {
    let query = "select sealed_specification from installed_services where id = $1";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(id).fetch_optional(c).await)?)
}

pub async fn set_specification(tx: &mut Tx, id: Uuid, sealed: &[u8]) -> Result<()> {
    let query = "update installed_services set sealed_specification = $2 where id = $1";
    sql!(tx, |c| sqlx::query(query).bind(id).bind(sealed).execute(c).await.map(drop))?;
    Ok(())
}

/// A later execution wants it as it is.
pub async fn keep_service(tx: &mut Tx, id: Uuid, execution_id: Uuid) -> Result<()> {
    let query = "update installed_services set kept_by = $2 where id = $1";
    sql!(tx, |c| sqlx::query(query).bind(id).bind(execution_id).execute(c).await.map(drop))?;
    Ok(())
}

/// No execution wants it as it is any more.
pub async fn stop_keeping_service(tx: &mut Tx, id: Uuid) -> Result<()> {
    let query = "update installed_services set kept_by = null where id = $1";
    sql!(tx, |c| sqlx::query(query).bind(id).execute(c).await.map(drop))?;
    Ok(())
}

/// From now on it belongs to a later execution.
pub async fn set_execution_of_service(tx: &mut Tx, id: Uuid, execution_id: Uuid) -> Result<()> {
    let query = "update installed_services set execution_id = $2 where id = $1";
    sql!(tx, |c| sqlx::query(query).bind(id).bind(execution_id).execute(c).await.map(drop))?;
    Ok(())
}

/// A domain that leads to a service.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Route {
    pub id: Uuid,
    pub installation_id: Uuid,
    pub execution_id: Uuid,
    pub domain: String,
    pub service: String,
    pub port: i64,
    /// Whether visitors are sent there.
    pub is_live: bool,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
}

pub async fn insert_route(tx: &mut Tx, route: &Route) -> Result<()> {
    let query = "insert into installed_routes (id, installation_id, execution_id, domain, service, port, is_live, created_at) \
                 values ($1, $2, $3, $4, $5, $6, $7, $8)";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(route.id)
            .bind(route.installation_id)
            .bind(route.execution_id)
            .bind(&route.domain)
            .bind(&route.service)
            .bind(route.port)
            .bind(route.is_live)
            .bind(route.created_at.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

pub async fn routes(conn: &mut Conn, installation_id: Uuid) -> Result<Vec<Route>> {
    routes_of(conn, &[installation_id]).await
}

/// Those of several.
pub async fn routes_of(conn: &mut Conn, installation_ids: &[Uuid]) -> Result<Vec<Route>> {
    let query = "select id, installation_id, execution_id, domain, service, port, is_live, created_at \
                 from installed_routes where installation_id in ({}) order by id";
    among(conn, query, installation_ids).await
}

/// Those that a step has added and that were never live.
pub async fn delete_waiting_routes(tx: &mut Tx, execution_id: Uuid) -> Result<()> {
    let query = "delete from installed_routes where execution_id = $1 and is_live = $2";
    sql!(tx, |c| sqlx::query(query).bind(execution_id).bind(false).execute(c).await.map(drop))?;
    Ok(())
}

/// The same for one domain.
pub async fn delete_waiting_route(tx: &mut Tx, execution_id: Uuid, domain: &str) -> Result<()> {
    let query = "delete from installed_routes where execution_id = $1 and domain = $2 and is_live = $3";
    sql!(tx, |c| sqlx::query(query).bind(execution_id).bind(domain).bind(false).execute(c).await.map(drop))?;
    Ok(())
}

pub async fn delete_routes(tx: &mut Tx, installation_id: Uuid, now: Timestamp) -> Result<()> {
    free_domains(tx, installation_id, None, now).await?;
    let query = "delete from installed_routes where installation_id = $1";
    sql!(tx, |c| sqlx::query(query).bind(installation_id).execute(c).await.map(drop))?;
    Ok(())
}

/// Those that visitors were sent to, but for what another execution keeps.
async fn free_domains(tx: &mut Tx, installation_id: Uuid, kept_by: Option<Uuid>, now: Timestamp) -> Result<()> {
    let query = "select r.domain, i.organization_id from installed_routes r join installations i on i.id = r.installation_id \
                 where r.installation_id = $1 and r.is_live = $2 and not exists (select 1 from installed_routes k \
                 where k.installation_id = $1 and k.execution_id = $3 and k.domain = r.domain)";
    let freed: Vec<(String, Uuid)> =
        sql!(tx, |c| sqlx::query_as(query).bind(installation_id).bind(true).bind(kept_by).fetch_all(c).await)?;
    for (domain, organization_id) in freed {
        freed_domains::free(tx, &domain, organization_id, now).await?;
    }
    Ok(())
}

/// Visitors are sent where this execution says, and nowhere else.
pub async fn make_routes_live(tx: &mut Tx, installation_id: Uuid, execution_id: Uuid, now: Timestamp) -> Result<()> {
    free_domains(tx, installation_id, Some(execution_id), now).await?;
    let query = "delete from installed_routes where installation_id = $1 and execution_id <> $2";
    sql!(tx, |c| sqlx::query(query).bind(installation_id).bind(execution_id).execute(c).await.map(drop))?;
    let query = "update installed_routes set is_live = $3 where installation_id = $1 and execution_id = $2";
    sql!(tx, |c| sqlx::query(query).bind(installation_id).bind(execution_id).bind(true).execute(c).await.map(drop))?;
    Ok(())
}

/// What an edge must know of a domain.
#[derive(Clone, Debug, FromRow)]
pub struct Routed {
    pub id: Uuid,
    pub organization_id: Uuid,
    pub domain: String,
    pub port: i64,
    /// Of the service's live container; none while it is being replaced.
    pub address: Option<String>,
}

pub async fn routed(conn: &mut Conn) -> Result<Vec<Routed>> {
    let query = "select r.id, i.organization_id, r.domain, r.port, (select max(c.address) from containers c \
                 join installed_services s on s.id = c.id where s.installation_id = r.installation_id \
                 and s.name = r.service and c.stage = 'live') as address \
                 from installed_routes r join installations i on i.id = r.installation_id \
                 where r.is_live = $1 order by r.id";
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(true).fetch_all(c).await)?)
}

/// None of them is there any more. They can be updated, which makes them anew.
pub async fn fail_all(tx: &mut Tx, now: Timestamp) -> Result<()> {
    let query = "update installations set state = 'failed', updated_at = $1";
    sql!(tx, |c| sqlx::query(query).bind(now.micros()).execute(c).await.map(drop))?;
    Ok(())
}
