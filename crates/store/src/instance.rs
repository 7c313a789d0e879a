//! The one row about the installation itself.

use uuid::Uuid;
use windlass_api::Timestamp;

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

/// True for exactly one caller, ever: the one who registers the first admin.
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

/// The installation becomes another one on the engine, where nothing belongs to it: its applications are stopped and have nothing
/// to go back to, and what was under way is called off. Deletions go on: they have only rows left to remove.
pub async fn start_anew(tx: &mut Tx, label: Uuid, now: Timestamp) -> Result<()> {
    let forgotten = [
        "delete from jobs where kind <> 'delete'",
        "update jobs set state = 'queued', owner = null, lease_until = 0",
        "delete from containers",
        "delete from networks",
        "delete from servers",
    ];
    for query in forgotten {
        sql!(tx, |c| sqlx::query(query).execute(c).await.map(drop))?;
    }
    let changed = [
        "update applications set wanted = 'stopped', live_deployment_id = null, state = 'stopped', state_changed_at = $1 \
         where wanted <> 'deleted'",
        "update deployments set state = 'cancelled', state_changed_at = $1, finished_at = $1, updated_at = $1, \
         reason = 'this installation became one of its own, and the one it was copied from goes on with this' \
         where state in ('queued', 'cloning', 'building', 'deploying')",
        "update deployments set container_status = 'removed', updated_at = $1 where container_status not in ('', 'removed')",
        "update releases set removed_at = $1 where removed_at is null",
    ];
    for query in changed {
        sql!(tx, |c| sqlx::query(query).bind(now.micros()).execute(c).await.map(drop))?;
    }
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
