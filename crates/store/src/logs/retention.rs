//! Removing the oldest lines, a little at a time, so that writers do not wait for it.

use uuid::Uuid;
use windlass_api::Timestamp;

use super::LogStore;
use super::pack::loose_size;
use crate::db::sql;
use crate::{Kind, Result, Tx};

/// Chunks that go at once.
const STEP: i64 = 64;
/// Pages that SQLite gives back to the disk at once: 1 MiB.
const PAGES: &str = "pragma incremental_vacuum(256)";
/// And those that it keeps, because they are needed again soon: 16 MiB.
const SPARE_PAGES: i64 = 4096;

/// What an application has printed and is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Kept {
    pub application_id: Uuid,
    /// Before they are packed, with what each line takes beside its text.
    pub bytes: i64,
}

impl LogStore {
    pub async fn kept(&self) -> Result<Vec<Kept>> {
        let mut conn = self.db.read().await?;
        Ok(sql!(conn, |c| sqlx::query_as("select application_id, bytes from log_heads").fetch_all(c).await)?)
    }

    /// Applications that have something too old, or too much.
    pub async fn overfull(&self, keep_bytes: i64, keep_from: Timestamp) -> Result<Vec<Uuid>> {
        let query = "select h.application_id from log_heads h where h.bytes > $1 or (select c.min_at from log_chunks c \
                     where c.application_id = h.application_id order by c.first_seq limit 1) < $2";
        let mut conn = self.db.read().await?;
        let ids =
            sql!(conn, |c| sqlx::query_scalar(query).bind(keep_bytes).bind(keep_from.micros()).fetch_all(c).await);
        Ok(ids?)
    }

    /// One step: some of the oldest chunks of an application that are too old, or too many. How many went.
    pub async fn trim(
        &self,
        application_id: Uuid,
        keep_bytes: i64,
        keep_from: Timestamp,
        now: Timestamp,
    ) -> Result<usize> {
        let mut tx = self.writer.begin().await?;
        let Some(kept) = take_bytes(&mut tx, application_id).await? else { return Ok(0) };
        let query = "select first_seq, last_seq, min_at, max_at, bytes from log_chunks where application_id = $1 order by first_seq limit $2";
        let oldest: Vec<(i64, i64, i64, i64, i64)> =
            sql!(tx, |c| sqlx::query_as(query).bind(application_id).bind(STEP).fetch_all(c).await)?;
        let (mut going, mut left) = (Vec::new(), kept);
        for (first_seq, last_seq, min_at, max_at, bytes) in oldest {
            // A line from the future, by a clock that was wrong, must not keep all that follow it.
            let newest = if max_at > now.micros() { min_at } else { max_at };
            if left <= keep_bytes && newest >= keep_from.micros() {
                break;
            }
            going.push(first_seq);
            left -= loose_size(last_seq - first_seq + 1, bytes) as i64;
        }
        let Some(last) = going.last() else { return Ok(0) };
        delete_up_to(&mut tx, application_id, *last, left).await?;
        tx.commit().await?;
        Ok(going.len())
    }

    /// One step of removing all of an application's lines. True when nothing is left.
    pub async fn delete_some(&self, application_id: Uuid) -> Result<bool> {
        let never = Timestamp::from_micros(i64::MAX);
        if self.trim(application_id, -1, never, never).await? > 0 {
            return Ok(false);
        }
        let mut tx = self.writer.begin().await?;
        // Another server may have appended in between; and the head comes first, as for appending.
        take_bytes(&mut tx, application_id).await?;
        if has_chunks(&mut tx, application_id).await? {
            return Ok(false);
        }
        for query in
            ["delete from log_positions where application_id = $1", "delete from log_heads where application_id = $1"]
        {
            sql!(tx, |c| sqlx::query(query).bind(application_id).execute(c).await.map(drop))?;
        }
        tx.commit().await?;
        Ok(true)
    }

    /// One step of giving back to the disk what is no longer needed. True when there was something. PostgreSQL uses the
    /// room again by itself.
    pub async fn give_back(&self) -> Result<bool> {
        if self.db.kind() == Kind::Postgres || self.free_pages().await? <= SPARE_PAGES {
            return Ok(false);
        }
        let mut conn = self.writer.write_outside_of_transactions().await?;
        sql!(conn, |c| sqlx::query(PAGES).fetch_all(c).await.map(drop))?;
        if self.free_pages().await? <= SPARE_PAGES {
            // The file becomes shorter only then. It waits for no other connection.
            sql!(conn, |c| sqlx::query("pragma wal_checkpoint(passive)").fetch_all(c).await.map(drop))?;
        }
        Ok(true)
    }

    async fn free_pages(&self) -> Result<i64> {
        let mut conn = self.db.read().await?;
        Ok(sql!(conn, |c| sqlx::query_scalar("pragma freelist_count").fetch_one(c).await)?)
    }
}

/// How much is kept. Locks the row until the commit.
async fn take_bytes(tx: &mut Tx, application_id: Uuid) -> Result<Option<i64>> {
    let query = "update log_heads set bytes = bytes where application_id = $1 returning bytes";
    Ok(sql!(tx, |c| sqlx::query_scalar(query).bind(application_id).fetch_optional(c).await)?)
}

async fn has_chunks(tx: &mut Tx, application_id: Uuid) -> Result<bool> {
    let query = "select exists (select 1 from log_chunks where application_id = $1)";
    Ok(sql!(tx, |c| sqlx::query_scalar(query).bind(application_id).fetch_one(c).await)?)
}

async fn delete_up_to(tx: &mut Tx, application_id: Uuid, last: i64, left: i64) -> Result<()> {
    let query = "delete from log_chunks where application_id = $1 and first_seq <= $2";
    sql!(tx, |c| sqlx::query(query).bind(application_id).bind(last).execute(c).await.map(drop))?;
    let query = "update log_heads set bytes = $1 where application_id = $2";
    sql!(tx, |c| sqlx::query(query).bind(left).bind(application_id).execute(c).await.map(drop))?;
    Ok(())
}
