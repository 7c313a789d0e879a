//! Work to be done, as rows: claimed for a time, and lost by whoever does not renew the claim.
//!
//! A claim raises the job's fence. Whoever writes on behalf of a job calls [`hold`] in the same transaction, so that a worker
//! that has lost its job can change nothing.

use sqlx::{AssertSqlSafe, FromRow};
use uuid::Uuid;
use windlass_api::Timestamp;

use crate::db::sql;
use crate::servers::LONGEST_SILENCE_SECONDS;
use crate::{Conn, Error, Kind, Result, Tx};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobKind {
    /// Brings a release to visitors.
    Deploy,
    /// Ends what a deployment has replaced, and sums up.
    Finish,
    Stop,
    Delete,
}

impl JobKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deploy => "deploy",
            Self::Finish => "finish",
            Self::Stop => "stop",
            Self::Delete => "delete",
        }
    }

    /// Whether it needs the application for itself.
    pub const fn is_exclusive(self) -> bool {
        !matches!(self, Self::Finish)
    }
}

impl TryFrom<String> for JobKind {
    type Error = String;

    fn try_from(text: String) -> std::result::Result<Self, String> {
        let all = [Self::Deploy, Self::Finish, Self::Stop, Self::Delete];
        all.into_iter().find(|kind| kind.as_str() == text).ok_or(text)
    }
}

#[derive(Clone, Debug, FromRow)]
pub struct Job {
    pub id: Uuid,
    #[sqlx(try_from = "String")]
    pub kind: JobKind,
    pub application_id: Uuid,
    pub deployment_id: Option<Uuid>,
    pub fence: i64,
    /// How often the container engine was lost while it was worked on.
    pub engine_losses: i64,
}

pub async fn insert(
    tx: &mut Tx,
    id: Uuid,
    kind: JobKind,
    application_id: Uuid,
    deployment_id: Option<Uuid>,
    now: Timestamp,
) -> Result<()> {
    let query = "insert into jobs (id, kind, application_id, deployment_id, exclusive, state, not_before, created_at) \
                 values ($1, $2, $3, $4, $5, 'queued', 0, $6)";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(id)
            .bind(kind.as_str())
            .bind(application_id)
            .bind(deployment_id)
            .bind(kind.is_exclusive())
            .bind(now.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

/// Which jobs a worker looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// Deployments that make a release. Together with the next two, one at a time for each application, in order.
    Deploy,
    /// Deployments of a release that is there: a rollback must not wait for somebody's build.
    Ready,
    /// Stops and deletions, which mostly wait for visitors to finish.
    End,
    /// Beside everything else.
    Beside,
}

/// What the time is. Several servers on one PostgreSQL need one clock, which is its own; SQLite has one server.
pub(crate) fn clock(kind: Kind, parameter: &str) -> String {
    match kind {
        Kind::Sqlite => parameter.to_owned(),
        // Mentions the parameter, so that both texts have the same ones.
        Kind::Postgres => format!(
            "(case when {parameter}::bigint is null then 0 else (extract(epoch from clock_timestamp()) * 1000000)::bigint end)"
        ),
    }
}

/// Whether a job is without a worker: not begun, or begun by one that has not renewed its claim, or whose server is dead.
fn is_free(kind: Kind, job: &str) -> String {
    let clock = clock(kind, "$3");
    let begun_by_the_dead = match kind {
        // There is one server, and it takes back what it held when it starts.
        Kind::Sqlite => String::new(),
        Kind::Postgres => format!(
            "or exists (select 1 from servers s where s.id = {job}.owner and s.seen_at <= {clock} - {})",
            LONGEST_SILENCE_SECONDS * 1_000_000
        ),
    };
    format!("({job}.state = 'queued' or {job}.lease_until < {clock} {begun_by_the_dead})")
}

/// The oldest job that can be worked on, now this owner's for `seconds`.
pub async fn claim(tx: &mut Tx, queue: Queue, owner: Uuid, now: Timestamp, seconds: i64) -> Result<Option<Job>> {
    let kind = tx.kind();
    let clock = clock(kind, "$3");
    let its_turn = "and not exists (select 1 from jobs o where o.application_id = j.application_id and o.exclusive \
                    and o.id <> j.id and (o.id < j.id or o.state = 'running'))";
    let is_ready = "exists (select 1 from deployments d where d.id = j.deployment_id \
                    and d.kind in ('rollback', 'restart', 'start'))";
    let asked_for = match queue {
        Queue::Deploy => format!("j.kind = 'deploy' and not {is_ready} {its_turn}"),
        Queue::Ready => format!("j.kind = 'deploy' and {is_ready} {its_turn}"),
        Queue::End => format!("j.kind in ('stop', 'delete') {its_turn}"),
        Queue::Beside => "not j.exclusive".to_owned(),
    };
    // Whoever comes second finds the row taken: PostgreSQL must pass over it, because a plain update would wait and then
    // take it a second time.
    let skip = if kind == Kind::Postgres { "for update skip locked" } else { "" };
    let (is_free, is_still_free) = (is_free(kind, "j"), is_free(kind, "jobs"));
    let query = format!(
        "update jobs set state = 'running', fence = fence + 1, owner = $1, lease_until = {clock} + $2 where id = ( \
             select j.id from jobs j where {asked_for} and j.not_before <= {clock} and {is_free} \
             order by j.id limit 1 {skip}) \
         and {is_still_free} \
         returning id, kind, application_id, deployment_id, fence, engine_losses"
    );
    let claimed: std::result::Result<Option<Job>, _> = sql!(tx, |c| {
        sqlx::query_as(AssertSqlSafe(query))
            .bind(owner)
            .bind(seconds.saturating_mul(1_000_000))
            .bind(now.micros())
            .fetch_optional(c)
            .await
    });
    match claimed.map_err(Error::from) {
        // Somebody began another one of the application in the same instant.
        Err(Error::Duplicate) => Ok(None),
        claimed => claimed,
    }
}

/// Keeps the job for another `seconds`. False when it is somebody else's by now, or done.
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

/// Somebody may try again, after some time.
pub async fn put_back(tx: &mut Tx, job: &Job, now: Timestamp, seconds: i64) -> Result<()> {
    let query = format!(
        "update jobs set state = 'queued', owner = null, lease_until = 0, not_before = {} + $4 \
         where id = $1 and fence = $2 and state = 'running'",
        clock(tx.kind(), "$3")
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

/// The engine was lost while this job was worked on, once more.
pub async fn count_engine_loss(tx: &mut Tx, job: &Job) -> Result<()> {
    let query = "update jobs set engine_losses = engine_losses + 1 where id = $1 and fence = $2";
    Ok(sql!(tx, |c| sqlx::query(query).bind(job.id).bind(job.fence).execute(c).await.map(drop))?)
}

/// What this owner was working on when it ended. Only one process at a time is this owner. SQLite has one server, whose name changes
/// when its folder is restored from a copy.
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

/// The job of a deployment that nobody has begun is withdrawn. False when there is none.
pub async fn withdraw(tx: &mut Tx, deployment_id: Uuid) -> Result<bool> {
    let query = "delete from jobs where deployment_id = $1 and kind = 'deploy' and state = 'queued'";
    let withdrawn =
        sql!(tx, |c| sqlx::query(query).bind(deployment_id).execute(c).await.map(|done| done.rows_affected()))?;
    Ok(withdrawn > 0)
}

pub async fn of_application(conn: &mut Conn, application_id: Uuid) -> Result<Vec<Job>> {
    let query = "select id, kind, application_id, deployment_id, fence, engine_losses from jobs where application_id = $1 order by id";
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(application_id).fetch_all(c).await)?)
}

/// Jobs that wait, and jobs that somebody works on.
pub async fn counts(conn: &mut Conn) -> Result<(i64, i64)> {
    let query = "select coalesce(sum(case when state = 'queued' then 1 else 0 end), 0), \
                 coalesce(sum(case when state = 'running' then 1 else 0 end), 0) from jobs";
    Ok(sql!(conn, |c| sqlx::query_as(query).fetch_one(c).await)?)
}

/// Applications on which somebody works, or is about to.
pub async fn busy_applications(conn: &mut Conn) -> Result<Vec<Uuid>> {
    Ok(sql!(conn, |c| sqlx::query_scalar("select distinct application_id from jobs").fetch_all(c).await)?)
}

/// An installation that is made from a copy begins nothing that the original works on. Deletions go on: they have only rows left to
/// remove.
pub async fn keep_deletions(tx: &mut Tx) -> Result<()> {
    sql!(tx, |c| sqlx::query("delete from jobs where kind <> 'delete'").execute(c).await.map(drop))?;
    let query = "update jobs set state = 'queued', owner = null, lease_until = 0";
    Ok(sql!(tx, |c| sqlx::query(query).execute(c).await.map(drop))?)
}
