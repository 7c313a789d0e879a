//! Work to be done, as rows: claimed for a time, and lost by a worker that does not renew its claim. What a job is
//! about is known to its handler; here it has a kind, a subject and a payload.
//!
//! A claim raises the job's fence. A worker that writes on behalf of a job calls [`hold`] in the same transaction, so
//! that one that has lost its job can change nothing.

use sqlx::{AssertSqlSafe, FromRow};
use uuid::Uuid;
use windlass_api::Timestamp;

use crate::db::{clock, parameters, sql};
use crate::servers::LONGEST_SILENCE_SECONDS;
use crate::{Conn, Error, Kind, Result, Tx};

/// What is asked for.
#[derive(Clone, Debug)]
pub struct NewJob {
    pub id: Uuid,
    pub kind: &'static str,
    /// None for a job of the server itself.
    pub organization_id: Option<Uuid>,
    pub application_id: Option<Uuid>,
    /// JSON.
    pub payload: String,
    /// What it needs for itself. Jobs with the same key are done one after another, in the order of their ids.
    pub exclusive_key: Option<String>,
}

/// One that a worker has claimed.
#[derive(Clone, Debug, FromRow)]
pub struct Job {
    pub id: Uuid,
    pub kind: String,
    pub organization_id: Option<Uuid>,
    pub application_id: Option<Uuid>,
    pub payload: String,
    /// How often it has failed.
    pub attempts: i64,
    pub fence: i64,
}

macro_rules! columns {
    () => {
        "id, kind, organization_id, application_id, payload, attempts, fence"
    };
}

pub async fn insert(tx: &mut Tx, job: &NewJob, now: Timestamp) -> Result<()> {
    let query = "insert into jobs (id, kind, organization_id, application_id, payload, exclusive_key, state, not_before, created_at) \
                 values ($1, $2, $3, $4, $5, $6, 'queued', 0, $7)";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(job.id)
            .bind(job.kind)
            .bind(job.organization_id)
            .bind(job.application_id)
            .bind(&job.payload)
            .bind(&job.exclusive_key)
            .bind(now.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

/// Whether a job with this key was not begun yet. Then none begins it before the transaction ends: it would see the rows as they were.
pub async fn hold_waiting(tx: &mut Tx, exclusive_key: &str) -> Result<bool> {
    let query = "update jobs set id = id where exclusive_key = $1 and state = 'queued'";
    let held = sql!(tx, |c| sqlx::query(query).bind(exclusive_key).execute(c).await.map(|done| done.rows_affected()))?;
    Ok(held > 0)
}

/// One with this key that waits for its time need not wait any longer; one that is worked on, and put back, neither. Whether there is
/// one that was not begun yet.
pub async fn hasten(tx: &mut Tx, exclusive_key: &str) -> Result<bool> {
    let query = "update jobs set not_before = 0, hastened = true where exclusive_key = $1 returning state";
    let states: Vec<String> = sql!(tx, |c| sqlx::query_scalar(query).bind(exclusive_key).fetch_all(c).await)?;
    Ok(states.iter().any(|state| state == "queued"))
}

/// The same of all jobs of an organization whose keys begin so. They are held in the order of their keys, as by others who hold several.
pub async fn hasten_all(tx: &mut Tx, organization_id: Uuid, beginning: &str) -> Result<()> {
    let in_order = match tx.kind() {
        Kind::Sqlite => "",
        Kind::Postgres => "order by exclusive_key collate \"C\" for update",
    };
    let query = format!(
        "update jobs set not_before = 0, hastened = true where id in (select id from jobs where organization_id = $1 \
         and exclusive_key is not null and substr(exclusive_key, 1, $3) = $2 {in_order})"
    );
    let length = i32::try_from(beginning.chars().count()).unwrap_or(i32::MAX);
    Ok(sql!(tx, |c| {
        let query = sqlx::query(AssertSqlSafe(query)).bind(organization_id).bind(beginning).bind(length);
        query.execute(c).await.map(drop)
    })?)
}

/// Which jobs a worker looks for.
#[derive(Clone, Debug)]
pub struct Search<'a> {
    pub kinds: &'a [&'static str],
    /// The kinds that take part in an organization's share: `kinds`, and those that use the same slots later on.
    pub sharing: &'a [&'static str],
    /// How many of `sharing` this owner works on at once for one organization.
    pub share: i64,
}

/// Whether a job is without a worker: not begun, or begun by one that has not renewed its claim, or whose server has
/// ended.
fn is_free(kind: Kind, job: &str) -> String {
    let clock = clock(kind, "$3");
    let begun_by_ended_servers = match kind {
        // There is one server, and it takes back what it held when it starts.
        Kind::Sqlite => String::new(),
        Kind::Postgres => format!(
            "or exists (select 1 from servers s where s.id = {job}.owner and s.seen_at <= {clock} - {})",
            LONGEST_SILENCE_SECONDS * 1_000_000
        ),
    };
    format!("({job}.state = 'queued' or {job}.lease_until < {clock} {begun_by_ended_servers})")
}

/// A job that can be worked on, now this owner's for `seconds`. One of an application whose visitors wait comes before all
/// others. Otherwise organizations take turns: the one that has the fewest
/// under way comes first, then the one whose last turn is the longest ago, and of its jobs the oldest.
pub async fn claim(tx: &mut Tx, search: &Search<'_>, owner: Uuid, now: Timestamp, seconds: i64) -> Result<Option<Job>> {
    let query = claim_query(tx.kind(), search);
    let claimed: std::result::Result<Option<Job>, _> = sql!(tx, |c| {
        let query = sqlx::query_as(AssertSqlSafe(query))
            .bind(owner)
            .bind(seconds.saturating_mul(1_000_000))
            .bind(now.micros())
            .bind(search.share);
        search.kinds.iter().chain(search.sharing).fold(query, |query, kind| query.bind(*kind)).fetch_optional(c).await
    });
    let claimed = match claimed.map_err(Error::from) {
        // Another server began one with the same key in the same instant.
        Err(Error::Duplicate) => return Ok(None),
        claimed => claimed?,
    };
    if let Some(organization_id) = claimed.as_ref().and_then(|job| job.organization_id) {
        take_turn(tx, organization_id, now).await?;
    }
    Ok(claimed)
}

fn claim_query(kind: Kind, search: &Search<'_>) -> String {
    let clock = clock(kind, "$3");
    let kinds = parameters(5, search.kinds.len());
    let sharing = parameters(5 + search.kinds.len(), search.sharing.len());
    let its_turn = "(j.exclusive_key is null or not exists (select 1 from jobs o where o.exclusive_key = j.exclusive_key \
                    and o.id <> j.id and (o.id < j.id or o.state = 'running')))";
    let under_way = |kinds: &str| {
        format!(
            "(select count(*) from jobs r where r.organization_id = j.organization_id and r.state = 'running' \
             and r.owner = $1 and r.kind in ({kinds}))"
        )
    };
    let (under_way, sharing) = (under_way(&kinds), under_way(&sharing));
    // A server that comes second finds the row taken: PostgreSQL must pass over it, because a plain update would wait
    // and then take it a second time.
    let skip = if kind == Kind::Postgres { "for update of j skip locked" } else { "" };
    let (is_free, is_still_free) = (is_free(kind, "j"), is_free(kind, "jobs"));
    format!(
        concat!(
            "update jobs set state = 'running', fence = fence + 1, owner = $1, lease_until = {clock} + $2, hastened = false where id = ( \
                 select j.id from jobs j left join job_turns t on t.organization_id = j.organization_id \
                 where j.kind in ({kinds}) and (j.not_before <= {clock} or j.put_back_at > {clock}) and {is_free} and {its_turn} and {sharing} < $4 \
                 order by {is_held} desc, {under_way}, coalesce(t.taken_at, 0), j.id limit 1 {skip}) \
             and {is_still_free} \
             returning ",
            columns!()
        ),
        clock = clock,
        kinds = kinds,
        is_free = is_free,
        its_turn = its_turn,
        sharing = sharing,
        is_held = "(exists (select 1 from applications a where a.id = j.application_id and a.held_until is not null))",
        under_way = under_way,
        skip = skip,
        is_still_free = is_still_free,
    )
}

async fn take_turn(tx: &mut Tx, organization_id: Uuid, now: Timestamp) -> Result<()> {
    let query = format!(
        "insert into job_turns (organization_id, taken_at) values ($1, {}) \
         on conflict (organization_id) do update set taken_at = excluded.taken_at",
        clock(tx.kind(), "$2")
    );
    Ok(sql!(tx, |c| {
        sqlx::query(AssertSqlSafe(query)).bind(organization_id).bind(now.micros()).execute(c).await.map(drop)
    })?)
}

/// Keeps the job for another `seconds`. False when it is another worker's by now, or done.
pub async fn renew(tx: &mut Tx, job: &Job, now: Timestamp, seconds: i64) -> Result<bool> {
    let query = format!(
        "update jobs set lease_until = {} + $4 where id = $1 and fence = $2 and state = 'running'",
        clock(tx.kind(), "$3")
    );
    let renewed = sql!(tx, |c| {
        sqlx::query(AssertSqlSafe(query))
            .bind(job.id)
            .bind(job.fence)
            .bind(now.micros())
            .bind(seconds.saturating_mul(1_000_000))
            .execute(c)
            .await
            .map(|done| done.rows_affected())
    })?;
    Ok(renewed == 1)
}

/// Fails with [`Error::Lost`] unless the job is still this worker's, and keeps it so until the transaction ends.
pub async fn hold(tx: &mut Tx, job: &Job) -> Result<()> {
    let query = "update jobs set fence = fence where id = $1 and fence = $2 and state = 'running'";
    let held = sql!(tx, |c| {
        sqlx::query(query).bind(job.id).bind(job.fence).execute(c).await.map(|done| done.rows_affected())
    })?;
    if held == 1 { Ok(()) } else { Err(Error::Lost) }
}

/// It is done.
pub async fn delete(tx: &mut Tx, job: &Job) -> Result<()> {
    hold(tx, job).await?;
    sql!(tx, |c| sqlx::query("delete from jobs where id = $1").bind(job.id).execute(c).await.map(drop))?;
    Ok(())
}

/// What is left of it is for another kind of handler.
pub async fn set_kind(tx: &mut Tx, id: Uuid, kind: &str) -> Result<()> {
    let query = "update jobs set kind = $2 where id = $1";
    sql!(tx, |c| sqlx::query(query).bind(id).bind(kind).execute(c).await.map(drop))?;
    Ok(())
}

/// It is to be tried again, after some time; at once if it was hastened meanwhile.
pub async fn put_back(tx: &mut Tx, job: &Job, now: Timestamp, seconds: i64) -> Result<()> {
    let query = format!(
        "update jobs set state = 'queued', owner = null, lease_until = 0, hastened = false, \
         not_before = case when hastened then 0 else {clock} + $4 end, put_back_at = {clock} where id = $1 and fence = $2 and state = 'running'",
        clock = clock(tx.kind(), "$3")
    );
    sql!(tx, |c| {
        sqlx::query(AssertSqlSafe(query))
            .bind(job.id)
            .bind(job.fence)
            .bind(now.micros())
            .bind(seconds.saturating_mul(1_000_000))
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

/// It has failed once more.
pub async fn count_attempt(tx: &mut Tx, job: &Job) -> Result<()> {
    let query = "update jobs set attempts = attempts + 1 where id = $1 and fence = $2";
    Ok(sql!(tx, |c| sqlx::query(query).bind(job.id).bind(job.fence).execute(c).await.map(drop))?)
}

/// What this owner was working on when it ended. Only one process at a time is this owner. SQLite has one server, whose
/// name changes when its folder is restored from a copy.
pub async fn release_all(tx: &mut Tx, owner: Uuid) -> Result<u64> {
    let whose = match tx.kind() {
        Kind::Sqlite => "$1 is not null",
        Kind::Postgres => "owner = $1",
    };
    let query = AssertSqlSafe(format!(
        "update jobs set state = 'queued', owner = null, lease_until = 0 where {whose} and state = 'running'"
    ));
    Ok(sql!(tx, |c| sqlx::query(query).bind(owner).execute(c).await.map(|done| done.rows_affected()))?)
}

/// Takes back a job that no worker has begun. False when there is none.
pub async fn withdraw(tx: &mut Tx, id: Uuid) -> Result<bool> {
    let query = "delete from jobs where id = $1 and state = 'queued'";
    let withdrawn = sql!(tx, |c| sqlx::query(query).bind(id).execute(c).await.map(|done| done.rows_affected()))?;
    Ok(withdrawn > 0)
}

/// Asks the worker of a job to call it off. False when it was asked before, or there is no such job.
pub async fn request_cancel(tx: &mut Tx, id: Uuid, now: Timestamp) -> Result<bool> {
    let query = "update jobs set cancel_requested_at = $2 where id = $1 and cancel_requested_at is null";
    let asked =
        sql!(tx, |c| sqlx::query(query).bind(id).bind(now.micros()).execute(c).await.map(|done| done.rows_affected()))?;
    Ok(asked > 0)
}

pub async fn is_cancel_requested(conn: &mut Conn, id: Uuid) -> Result<bool> {
    let query = "select exists (select 1 from jobs where id = $1 and cancel_requested_at is not null)";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(id).fetch_one(c).await)?)
}

/// Whether a worker has a job of the application.
pub async fn is_worked_on(conn: &mut Conn, application_id: Uuid) -> Result<bool> {
    let query = "select exists (select 1 from jobs where application_id = $1 and state = 'running')";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(application_id).fetch_one(c).await)?)
}

pub async fn of_application(conn: &mut Conn, application_id: Uuid) -> Result<Vec<Job>> {
    let query = concat!("select ", columns!(), " from jobs where application_id = $1 order by id");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(application_id).fetch_all(c).await)?)
}

/// Those that wait, the oldest first.
pub async fn waiting(conn: &mut Conn, kinds: &[&'static str], limit: i64) -> Result<Vec<Job>> {
    let query = format!(
        concat!("select ", columns!(), " from jobs where state = 'queued' and kind in ({}) order by id limit $1"),
        parameters(2, kinds.len())
    );
    Ok(sql!(conn, |c| {
        let query = sqlx::query_as(AssertSqlSafe(query)).bind(limit);
        kinds.iter().fold(query, |query, kind| query.bind(*kind)).fetch_all(c).await
    })?)
}

/// Jobs that wait, and jobs that are worked on.
pub async fn counts(conn: &mut Conn) -> Result<(i64, i64)> {
    let query = "select coalesce(sum(case when state = 'queued' then 1 else 0 end), 0), \
                 coalesce(sum(case when state = 'running' then 1 else 0 end), 0) from jobs";
    Ok(sql!(conn, |c| sqlx::query_as(query).fetch_one(c).await)?)
}

/// Applications that have a job, waiting or under way.
pub async fn busy_applications(conn: &mut Conn) -> Result<Vec<Uuid>> {
    let query = "select distinct application_id from jobs where application_id is not null";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).fetch_all(c).await)?)
}

/// An installation that is made from a copy begins nothing that the original works on, but for jobs of this kind.
pub async fn keep_only(tx: &mut Tx, kind: &'static str) -> Result<()> {
    sql!(tx, |c| sqlx::query("delete from jobs where kind <> $1").bind(kind).execute(c).await.map(drop))?;
    let query = "update jobs set state = 'queued', owner = null, lease_until = 0";
    Ok(sql!(tx, |c| sqlx::query(query).execute(c).await.map(drop))?)
}

/// Whether a job with this key waits or is worked on.
pub async fn has_key(conn: &mut Conn, key: &str) -> Result<bool> {
    let query = "select exists (select 1 from jobs where exclusive_key = $1)";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(key).fetch_one(c).await)?)
}

/// Whether it waits or is worked on.
pub async fn exists(conn: &mut Conn, id: Uuid) -> Result<bool> {
    let query = "select exists (select 1 from jobs where id = $1)";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(id).fetch_one(c).await)?)
}
