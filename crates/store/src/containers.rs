//! Containers: every one that there is or may be on the engine. The row comes before the container and goes after it.

use std::net::SocketAddr;

use sqlx::{AssertSqlSafe, FromRow};
use uuid::Uuid;
use windlass_api::{ContainerStatus, Timestamp, words};

use crate::db::{parameters, sql};
use crate::word::{Word, words_of_columns};
use crate::{Conn, Result, Tx};

words! {
    /// What a container is for.
    pub enum Purpose {
        App = "app",
        PreRun = "pre_run",
        PostRun = "post_run",
        /// A command run, whose id it has.
        Run = "run",
        /// A service of an extension.
        Service = "service",
    }
}

words! {
    /// Where a container is in its life.
    pub enum Stage {
        /// A deployment is making it.
        Starting = "starting",
        /// Visitors reach it, and it is made again if it vanishes.
        Live = "live",
        /// It was stopped so that the containers of a deployment can write its volumes, and is live again if that deployment fails.
        Held = "held",
        /// A step of an extension has stopped it, and it stays so.
        Stopped = "stopped",
        /// It is to be ended and removed.
        Leaving = "leaving",
    }
}

words_of_columns! { Purpose, Stage }

#[derive(Clone, Debug, FromRow)]
pub struct Container {
    pub id: Uuid,
    pub application_id: Uuid,
    pub deployment_id: Uuid,
    #[sqlx(try_from = "Word<Purpose>")]
    pub purpose: Purpose,
    /// Which of its deployment's instances it is, from 1 on; 1 for a command. A service that others wait for has its place in their order.
    pub ordinal: i64,
    /// The service of a compose file that it is; empty for others.
    pub service: String,
    /// Of such a service: where it listens; 0 if that is not known, and then no domain can lead to it. Others listen at the port of their release.
    pub port: i64,
    /// Of such a service: a hash of all that it was made of.
    pub specification_hash: String,
    /// Of such a service: JSON of the names of others, and where they are.
    pub hosts: String,
    #[sqlx(try_from = "Word<Stage>")]
    pub stage: Stage,
    pub name: String,
    /// Empty until the engine has made it.
    pub engine_id: String,
    /// As it was last seen.
    #[sqlx(try_from = "Word<ContainerStatus>")]
    pub status: ContainerStatus,
    pub address: String,
    /// JSON: its volumes, and where they are in it.
    pub mounts: String,
    /// How many times the engine had started it again when it last stayed up.
    pub steady_restarts: i64,
    /// JSON of [`windlass_api::CrashLoop`]; empty while it does not crash.
    pub crash_loop: String,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
}

impl Container {
    /// Where it listens. None without an address.
    pub fn socket_address(&self, port: u16) -> Option<SocketAddr> {
        socket_address(&self.address, port)
    }
}

/// A container's address, as its row has it, with a port. None if it is no address.
pub fn socket_address(address: &str, port: u16) -> Option<SocketAddr> {
    Some(SocketAddr::new(address.parse().ok()?, port))
}

macro_rules! columns {
    () => {
        "id, application_id, deployment_id, purpose, ordinal, service, port, specification_hash, hosts, stage, name, engine_id, \
         status, address, mounts, steady_restarts, crash_loop, created_at"
    };
}

pub async fn insert(tx: &mut Tx, container: &Container) -> Result<()> {
    let query = concat!(
        "insert into containers (",
        columns!(),
        ", made_by) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $3)"
    );
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(container.id)
            .bind(container.application_id)
            .bind(container.deployment_id)
            .bind(container.purpose.as_str())
            .bind(container.ordinal)
            .bind(&container.service)
            .bind(container.port)
            .bind(&container.specification_hash)
            .bind(&container.hosts)
            .bind(container.stage.as_str())
            .bind(&container.name)
            .bind(&container.engine_id)
            .bind(container.status.as_str())
            .bind(&container.address)
            .bind(&container.mounts)
            .bind(container.steady_restarts)
            .bind(&container.crash_loop)
            .bind(container.created_at.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

pub async fn get(conn: &mut Conn, id: Uuid) -> Result<Option<Container>> {
    let query = concat!("select ", columns!(), " from containers where id = $1");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(id).fetch_optional(c).await)?)
}

pub async fn by_name(conn: &mut Conn, name: &str) -> Result<Option<Container>> {
    let query = concat!("select ", columns!(), " from containers where name = $1");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(name).fetch_optional(c).await)?)
}

pub async fn all(conn: &mut Conn) -> Result<Vec<Container>> {
    let query = concat!("select ", columns!(), " from containers order by id");
    Ok(sql!(conn, |c| sqlx::query_as(query).fetch_all(c).await)?)
}

pub async fn of_deployment(conn: &mut Conn, deployment_id: Uuid) -> Result<Vec<Container>> {
    let query = concat!("select ", columns!(), " from containers where deployment_id = $1 order by id");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(deployment_id).fetch_all(c).await)?)
}

/// The instances of some deployments, those of one in the order of their ordinals.
pub async fn instances_of(conn: &mut Conn, deployment_ids: &[Uuid]) -> Result<Vec<Container>> {
    if deployment_ids.is_empty() {
        return Ok(Vec::new());
    }
    let query = format!(
        concat!(
            "select ",
            columns!(),
            " from containers where purpose = 'app' and deployment_id in ({}) order by deployment_id, ordinal"
        ),
        parameters(1, deployment_ids.len())
    );
    Ok(sql!(conn, |c| {
        let query = sqlx::query_as(AssertSqlSafe(query)).persistent(false);
        deployment_ids.iter().fold(query, |query, id| query.bind(*id)).fetch_all(c).await
    })?)
}

pub async fn of_application(conn: &mut Conn, application_id: Uuid) -> Result<Vec<Container>> {
    let query = concat!("select ", columns!(), " from containers where application_id = $1 order by id");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(application_id).fetch_all(c).await)?)
}

/// What was seen of it on the engine. What was known of its crashes is over with it.
pub async fn observe(tx: &mut Tx, id: Uuid, engine_id: &str, status: ContainerStatus) -> Result<()> {
    let query = "update containers set engine_id = $2, status = $3, crash_loop = '' where id = $1";
    sql!(tx, |c| sqlx::query(query).bind(id).bind(engine_id).bind(status.as_str()).execute(c).await.map(drop))?;
    Ok(())
}

/// What is known of its crashes, as JSON or empty, and how many times it had been started again when it last stayed up.
pub async fn set_crash_loop(tx: &mut Tx, id: Uuid, steady_restarts: i64, crash_loop: &str) -> Result<()> {
    let query = "update containers set steady_restarts = $2, crash_loop = $3 where id = $1";
    sql!(tx, |c| sqlx::query(query).bind(id).bind(steady_restarts).bind(crash_loop).execute(c).await.map(drop))?;
    Ok(())
}

/// What is known of the crashes of live instances, with the application that each is of.
pub async fn crash_loops_of(conn: &mut Conn, application_ids: &[Uuid]) -> Result<Vec<(Uuid, String)>> {
    if application_ids.is_empty() {
        return Ok(Vec::new());
    }
    let query = format!(
        "select application_id, crash_loop from containers where purpose = 'app' and stage = 'live' \
         and crash_loop <> '' and application_id in ({})",
        parameters(1, application_ids.len())
    );
    Ok(sql!(conn, |c| {
        let query = sqlx::query_as(AssertSqlSafe(query)).persistent(false);
        application_ids.iter().fold(query, |query, id| query.bind(*id)).fetch_all(c).await
    })?)
}

/// False when there is no such row any more.
pub async fn set_stage(tx: &mut Tx, id: Uuid, stage: Stage) -> Result<bool> {
    let query = "update containers set stage = $2 where id = $1";
    let changed = sql!(tx, |c| {
        sqlx::query(query).bind(id).bind(stage.as_str()).execute(c).await.map(|done| done.rows_affected())
    })?;
    Ok(changed == 1)
}

/// Where the others of its release are, which is known only when all of them have an address.
pub async fn set_hosts(tx: &mut Tx, id: Uuid, hosts: &str) -> Result<()> {
    let query = "update containers set hosts = $2 where id = $1";
    sql!(tx, |c| sqlx::query(query).bind(id).bind(hosts).execute(c).await.map(drop))?;
    Ok(())
}

/// It was kept by a deployment, and is of that one from now on.
pub async fn set_deployment(tx: &mut Tx, id: Uuid, deployment_id: Uuid, ordinal: i64) -> Result<()> {
    let query = "update containers set deployment_id = $2, ordinal = $3 where id = $1";
    sql!(tx, |c| sqlx::query(query).bind(id).bind(deployment_id).bind(ordinal).execute(c).await.map(drop))?;
    Ok(())
}

/// All of a deployment are to go.
pub async fn leave(tx: &mut Tx, deployment_id: Uuid) -> Result<()> {
    let query = "update containers set stage = 'leaving' where deployment_id = $1";
    sql!(tx, |c| sqlx::query(query).bind(deployment_id).execute(c).await.map(drop))?;
    Ok(())
}

/// The engine has it no more: its address is free from now on.
pub async fn delete(tx: &mut Tx, id: Uuid, now: Timestamp) -> Result<()> {
    let query = "update addresses set container_id = null, freed_at = $2 where container_id = $1";
    sql!(tx, |c| sqlx::query(query).bind(id).bind(now.micros()).execute(c).await.map(drop))?;
    sql!(tx, |c| sqlx::query("delete from containers where id = $1").bind(id).execute(c).await.map(drop))?;
    Ok(())
}

pub async fn set_address(tx: &mut Tx, id: Uuid, address: &str) -> Result<()> {
    let query = "update containers set address = $2 where id = $1";
    sql!(tx, |c| sqlx::query(query).bind(id).bind(address).execute(c).await.map(drop))?;
    Ok(())
}

/// The same, unless a deployment has made use of it again.
pub async fn delete_leaving(tx: &mut Tx, id: Uuid, now: Timestamp) -> Result<bool> {
    let query = "select exists (select 1 from containers where id = $1 and stage = 'leaving')";
    let is_leaving = sql!(tx, |c| sqlx::query_scalar(query).bind(id).fetch_one(c).await)?;
    if is_leaving {
        delete(tx, id, now).await?;
    }
    Ok(is_leaving)
}

/// Those of another installation, as far as this one is concerned.
pub async fn forget_all(tx: &mut Tx) -> Result<()> {
    Ok(sql!(tx, |c| sqlx::query("delete from containers").execute(c).await.map(drop))?)
}
