//! Servers that share a database, each with the time of its last heartbeat.

use sqlx::AssertSqlSafe;
use uuid::Uuid;
use windlass_api::Timestamp;

use crate::db::{clock, sql};
use crate::{Conn, Result, Tx};

/// A server without a heartbeat for so long counts as ended: others take over what it was working on. It must itself
/// stop working somewhat earlier.
pub const LONGEST_SILENCE_SECONDS: i64 = 20;

/// Much longer than any claim lasts.
const FORGOTTEN_SECONDS: i64 = 86_400;

/// Writes this server's heartbeat.
pub async fn beat(tx: &mut Tx, id: Uuid, now: Timestamp) -> Result<()> {
    let query = format!(
        "insert into servers (id, seen_at) values ($1, {}) on conflict (id) do update set seen_at = excluded.seen_at",
        clock(tx.kind(), "$2")
    );
    Ok(sql!(tx, |c| sqlx::query(AssertSqlSafe(query)).bind(id).bind(now.micros()).execute(c).await.map(drop))?)
}

/// Notes which engine this server uses, unless a running one uses another: then it tells that one's. Containers are
/// rows without an engine, so all servers of an installation must mean the same one.
pub async fn use_engine(tx: &mut Tx, id: Uuid, engine_id: &str, now: Timestamp) -> Result<Option<String>> {
    // One after another: two that start at once must not both find that they are alone.
    sql!(tx, |c| sqlx::query("update instance set id = id").execute(c).await.map(drop))?;
    let query = format!(
        "select engine_id from servers where id <> $1 and engine_id <> $2 and engine_id <> '' \
         and seen_at > {} - $4 order by seen_at desc limit 1",
        clock(tx.kind(), "$3")
    );
    let other: Option<String> = sql!(tx, |c| {
        sqlx::query_scalar(AssertSqlSafe(query))
            .bind(id)
            .bind(engine_id)
            .bind(now.micros())
            .bind(LONGEST_SILENCE_SECONDS * 1_000_000)
            .fetch_optional(c)
            .await
    })?;
    let used = if other.is_some() { "" } else { engine_id };
    let query = "update servers set engine_id = $2 where id = $1 and engine_id <> $2";
    sql!(tx, |c| sqlx::query(query).bind(id).bind(used).execute(c).await.map(drop))?;
    Ok(other)
}

/// Whether a server's last heartbeat is recent.
pub async fn are_any_alive(conn: &mut Conn, now: Timestamp) -> Result<bool> {
    let query = format!("select exists (select 1 from servers where seen_at > {} - $2)", clock(conn.kind(), "$1"));
    Ok(sql!(conn, |c| {
        sqlx::query_scalar(AssertSqlSafe(query))
            .bind(now.micros())
            .bind(LONGEST_SILENCE_SECONDS * 1_000_000)
            .fetch_one(c)
            .await
    })?)
}

/// Whether another server than this one is among them.
pub async fn are_others_alive(conn: &mut Conn, id: Uuid, now: Timestamp) -> Result<bool> {
    let query =
        format!("select exists (select 1 from servers where id <> $3 and seen_at > {} - $2)", clock(conn.kind(), "$1"));
    Ok(sql!(conn, |c| {
        sqlx::query_scalar(AssertSqlSafe(query))
            .bind(now.micros())
            .bind(LONGEST_SILENCE_SECONDS * 1_000_000)
            .bind(id)
            .fetch_one(c)
            .await
    })?)
}

/// Rows of servers that never come back. Their jobs are others' by then.
pub async fn forget_dead(tx: &mut Tx, now: Timestamp) -> Result<()> {
    let query = format!("delete from servers where seen_at < {} - $2", clock(tx.kind(), "$1"));
    sql!(tx, |c| {
        sqlx::query(AssertSqlSafe(query))
            .bind(now.micros())
            .bind(FORGOTTEN_SECONDS * 1_000_000)
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

/// A server that ends is not waited for.
pub async fn leave(tx: &mut Tx, id: Uuid) -> Result<()> {
    Ok(sql!(tx, |c| sqlx::query("delete from servers where id = $1").bind(id).execute(c).await.map(drop))?)
}

/// Those of another installation.
pub async fn forget_all(tx: &mut Tx) -> Result<()> {
    Ok(sql!(tx, |c| sqlx::query("delete from servers").execute(c).await.map(drop))?)
}
