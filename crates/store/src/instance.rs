//! The one row about the installation itself.

use uuid::Uuid;

use crate::db::sql;
use crate::{Conn, Kind, Result, Tx};

/// Whether there is anything in the database at all. Everything else fails when there is not.
pub async fn is_known(conn: &mut Conn) -> Result<bool> {
    conn.has_table("instance").await
}

pub async fn admin_registered(conn: &mut Conn) -> Result<bool> {
    let query = "select admin_registered from instance where id = 1";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).fetch_one(c).await)?)
}

/// How many users, organizations and applications there are.
pub async fn counts(conn: &mut Conn) -> Result<(i64, i64, i64)> {
    let query = "select (select count(*) from users), (select count(*) from organizations), \
                 (select count(*) from applications)";
    Ok(sql!(conn, |c| sqlx::query_as(query).fetch_one(c).await)?)
}

/// A change that changes nothing, to see whether one can be made.
pub async fn touch(tx: &mut Tx) -> Result<()> {
    Ok(sql!(tx, |c| sqlx::query("update instance set id = id where id = 1").execute(c).await.map(drop))?)
}

/// The newest of the ids by which rows are put in order; none in an empty database.
pub async fn newest_id(conn: &mut Conn) -> Result<Option<Uuid>> {
    let mut newest = None;
    for query in [
        "select id from deployments order by id desc limit 1",
        "select id from jobs order by id desc limit 1",
        "select id from snapshots order by id desc limit 1",
        "select id from sessions order by id desc limit 1",
        "select id from executions order by id desc limit 1",
        "select id from deliveries order by id desc limit 1",
        "select id from uptime_checks order by id desc limit 1",
    ] {
        let found: Option<Uuid> = sql!(conn, |c| sqlx::query_scalar(query).fetch_optional(c).await)?;
        newest = newest.max(found);
    }
    Ok(newest)
}

/// True for exactly one caller, ever: the one that registers the first admin.
pub async fn claim_first_admin(tx: &mut Tx) -> Result<bool> {
    let query = "update instance set admin_registered = true where id = 1 and admin_registered = false";
    let changed = sql!(tx, |c| sqlx::query(query).execute(c).await.map(|done| done.rows_affected()))?;
    Ok(changed == 1)
}

/// Marks what belongs to this installation on an engine that others use too. The first one that was offered stays.
pub async fn engine_label(tx: &mut Tx, offered: Uuid) -> Result<Uuid> {
    let query = "update instance set engine_label = coalesce(engine_label, $1) where id = 1 returning engine_label";
    Ok(sql!(tx, |c| sqlx::query_scalar(query).bind(offered).fetch_one(c).await)?)
}

/// The installation becomes another one on the engine, where nothing belongs to it.
pub async fn set_engine_label(tx: &mut Tx, label: Uuid) -> Result<()> {
    let query = "update instance set engine_label = $1 where id = 1";
    Ok(sql!(tx, |c| sqlx::query(query).bind(label).execute(c).await.map(drop))?)
}

/// What tells this database from a copy of it in another one. None for SQLite, whose file is in a folder that tells.
pub async fn database_identity(conn: &mut Conn) -> Result<Option<String>> {
    if conn.kind() == Kind::Sqlite {
        return Ok(None);
    }
    let query = "select (select system_identifier from pg_control_system())::text || '/' || oid::text \
                 || '/' || current_schema() from pg_database where datname = current_database()";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).fetch_optional(c).await)?)
}

/// Waits for, and then keeps others from, choosing domains until the transaction ends: they are in four tables, and no index
/// sees that a name is one organization's and each of its paths there once.
pub async fn lock_domains(tx: &mut Tx) -> Result<()> {
    sql!(tx, |c| sqlx::query("update domain_choice set id = id where id = 1").execute(c).await.map(drop))?;
    Ok(())
}
