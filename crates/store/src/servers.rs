//! Servers that share a database, each with the time when it was last heard of.

use sqlx::AssertSqlSafe;
use uuid::Uuid;
use windlass_api::Timestamp;

use crate::db::sql;
use crate::jobs::clock;
use crate::{Result, Tx};

/// A server that was not heard of for so long is taken for dead: others take over what it was working on. It must itself stop
/// working somewhat earlier.
pub const LONGEST_SILENCE_SECONDS: i64 = 20;

/// This server lives.
pub async fn beat(tx: &mut Tx, id: Uuid, now: Timestamp) -> Result<()> {
    let clock = clock(tx.kind());
    // The second parameter is there for the clock, which counts on being the third.
    let query = format!(
        "insert into servers (id, engine_id, seen_at) values ($1, $2, {clock}) \
         on conflict (id) do update set seen_at = excluded.seen_at"
    );
    sql!(tx, |c| {
        sqlx::query(AssertSqlSafe(query)).bind(id).bind("").bind(now.micros()).execute(c).await.map(drop)
    })?;
    Ok(())
}

/// Notes which engine this server uses, unless a living one uses another: then it tells that one's. Containers are rows without
/// an engine, so all servers of an installation must mean the same one.
pub async fn use_engine(tx: &mut Tx, id: Uuid, engine_id: &str, now: Timestamp) -> Result<Option<String>> {
    // One after another: two that start at once must not both find that they are alone.
    sql!(tx, |c| sqlx::query("update instance set id = id").execute(c).await.map(drop))?;
    let query = format!(
        "select engine_id from servers where id <> $1 and engine_id <> $2 and engine_id <> '' \
         and seen_at > {} - $4 order by seen_at desc limit 1",
        clock(tx.kind())
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

/// A server that ends is not waited for.
pub async fn leave(tx: &mut Tx, id: Uuid) -> Result<()> {
    Ok(sql!(tx, |c| sqlx::query("delete from servers where id = $1").bind(id).execute(c).await.map(drop))?)
}
