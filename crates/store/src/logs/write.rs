//! Appending lines.

use uuid::Uuid;

use super::pack::{CHUNK, Loose, arrange, loose_size, text_size, unpack};
use super::{Claim, LogLine, LogStore, positions};
use crate::db::sql;
use crate::{Result, Tx};

/// Microseconds between the first and the last line of a chunk that is put together from several: an hour.
const LONGEST_TIME: i64 = 3_600_000_000;

/// Lines of one deployment, to be stored all or none.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    pub application_id: Uuid,
    pub deployment_id: Uuid,
    pub lines: Vec<LogLine>,
    /// Where the output of a container was read to when these lines were. Without it a batch could be stored twice:
    /// when the connection breaks during a commit, the caller does not know whether that happened.
    pub progress: Option<ReadProgress>,
}

#[derive(Clone, Debug)]
pub struct ReadProgress {
    pub claim: Claim,
    /// Where reading began, and where it ended.
    pub from: String,
    pub position: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The first line got this number, the others those after it.
    Stored { first_seq: i64 },
    /// Another server reads this container by now, or these lines were stored already.
    Lost,
}

/// The newest chunk of an application, without its lines.
#[derive(sqlx::FromRow)]
struct Tail {
    first_seq: i64,
    last_seq: i64,
    deployment_id: Uuid,
    min_at: i64,
    max_at: i64,
    bytes: i64,
}

impl LogStore {
    /// All of them in one transaction. The order of one application's batches is kept.
    pub async fn append(&self, batches: &[Batch]) -> Result<Vec<Outcome>> {
        let mut outcomes = vec![Outcome::Lost; batches.len()];
        // Always in this order, so that two servers never wait for each other.
        let mut order: Vec<usize> = (0..batches.len()).collect();
        order.sort_by_key(|&index| batches[index].application_id);
        let mut tx = self.writer.begin().await?;
        for index in order {
            outcomes[index] = append(&mut tx, &batches[index]).await?;
        }
        tx.commit().await?;
        Ok(outcomes)
    }
}

async fn append(tx: &mut Tx, batch: &Batch) -> Result<Outcome> {
    let first_seq = take_head(tx, batch.application_id).await?;
    if let Some(progress) = &batch.progress
        && !positions::advance(tx, progress).await?
    {
        return Ok(Outcome::Lost);
    }
    let mut next_seq = first_seq;
    for chunk in arrange(&batch.lines) {
        let end = next_seq + chunk.lines;
        let (begin, chunk) = join_tail(tx, batch, next_seq, chunk).await?;
        insert(tx, batch, begin, &chunk).await?;
        next_seq = end;
    }
    let text: usize = batch.lines.iter().map(text_size).sum();
    let bytes = loose_size(next_seq - first_seq, text as i64);
    let query = "update log_heads set next_seq = $1, bytes = bytes + $2 where application_id = $3";
    let (bytes, id) = (bytes as i64, batch.application_id);
    sql!(tx, |c| sqlx::query(query).bind(next_seq).bind(bytes).bind(id).execute(c).await.map(drop))?;
    Ok(Outcome::Stored { first_seq })
}

/// The application's next number. From here to the commit no other transaction appends to it.
async fn take_head(tx: &mut Tx, application_id: Uuid) -> Result<i64> {
    // The update changes nothing, but takes the row.
    let query = "insert into log_heads (application_id, next_seq, bytes) values ($1, 1, 0) \
                 on conflict (application_id) do update set next_seq = log_heads.next_seq returning next_seq";
    Ok(sql!(tx, |c| sqlx::query_scalar(query).bind(application_id).fetch_one(c).await)?)
}

/// Puts the lines behind those before them unless these are many more: so an application that prints a line now and
/// then has few chunks too, and each line is rewritten only a few times. Where the chunk begins now.
async fn join_tail(tx: &mut Tx, batch: &Batch, seq: i64, mut chunk: Loose) -> Result<(i64, Loose)> {
    let mut begin = seq;
    while let Some(tail) = tail(tx, batch.application_id, begin).await? {
        let lines = tail.last_seq - tail.first_seq + 1;
        let size = loose_size(lines, tail.bytes);
        let is_near = tail.deployment_id == batch.deployment_id && tail.last_seq + 1 == begin;
        // Lines go by their age, but only with their whole chunk.
        let is_recent = chunk.max_at.saturating_sub(tail.min_at) < LONGEST_TIME;
        if !is_near || !is_recent || size > chunk.bytes.len().saturating_mul(2) || size + chunk.bytes.len() > CHUNK {
            break;
        }
        // What is damaged is left as it is: new lines are still stored.
        let Some(bytes) = body(tx, batch.application_id, tail.first_seq).await?.and_then(|body| unpack(&body).ok())
        else {
            break;
        };
        delete(tx, batch.application_id, tail.first_seq).await?;
        let (min_at, max_at, text_bytes) = (tail.min_at, tail.max_at, tail.bytes);
        chunk = chunk.after(Loose { bytes, lines, text_bytes, min_at, max_at });
        begin = tail.first_seq;
    }
    Ok((begin, chunk))
}

async fn tail(tx: &mut Tx, application_id: Uuid, before: i64) -> Result<Option<Tail>> {
    let query = "select first_seq, last_seq, deployment_id, min_at, max_at, bytes from log_chunks \
                 where application_id = $1 and first_seq < $2 order by first_seq desc limit 1";
    Ok(sql!(tx, |c| sqlx::query_as(query).bind(application_id).bind(before).fetch_optional(c).await)?)
}

async fn body(tx: &mut Tx, application_id: Uuid, first_seq: i64) -> Result<Option<Vec<u8>>> {
    let query = "select body from log_chunks where application_id = $1 and first_seq = $2";
    Ok(sql!(tx, |c| sqlx::query_scalar(query).bind(application_id).bind(first_seq).fetch_optional(c).await)?)
}

async fn delete(tx: &mut Tx, application_id: Uuid, first_seq: i64) -> Result<()> {
    let query = "delete from log_chunks where application_id = $1 and first_seq = $2";
    sql!(tx, |c| sqlx::query(query).bind(application_id).bind(first_seq).execute(c).await.map(drop))?;
    Ok(())
}

async fn insert(tx: &mut Tx, batch: &Batch, first_seq: i64, chunk: &Loose) -> Result<()> {
    let query = "insert into log_chunks (application_id, first_seq, last_seq, deployment_id, min_at, max_at, bytes, body) \
                 values ($1, $2, $3, $4, $5, $6, $7, $8)";
    let body = chunk.pack();
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(batch.application_id)
            .bind(first_seq)
            .bind(first_seq + chunk.lines - 1)
            .bind(batch.deployment_id)
            .bind(chunk.min_at)
            .bind(chunk.max_at)
            .bind(chunk.text_bytes)
            .bind(body)
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}
