//! Command runs. The row comes before the run's container, which has the same id as a row, and stays as its history.

use sqlx::{AssertSqlSafe, FromRow};
use uuid::Uuid;
use windlass_api::{RunStatus, Timestamp};

use crate::db::sql;
use crate::word::Word;
use crate::{Conn, Result, Tx};

#[derive(Clone, Debug, FromRow)]
pub struct Run {
    pub id: Uuid,
    pub organization_id: Uuid,
    pub application_id: Uuid,
    /// None for one that a user asked for, and once the schedule was deleted.
    pub schedule_id: Option<Uuid>,
    pub schedule_name: String,
    /// The time of the schedule that it is for.
    pub scheduled_at: Option<i64>,
    pub user_id: Option<Uuid>,
    /// As the audit log names who asked for it.
    pub actor: String,
    pub command: String,
    /// Of a compose file; empty for the one that visitors of the main domain reach, until it has begun.
    pub service: String,
    pub timeout_seconds: i64,
    #[sqlx(try_from = "Word<RunStatus>")]
    pub status: RunStatus,
    /// As what it is to end once its container has ended: a decision that the worker after a crash keeps to. Mostly empty.
    pub ending: String,
    pub reason: String,
    pub exit_code: Option<i64>,
    /// What was live when it began.
    pub deployment_id: Option<Uuid>,
    pub release_id: Option<Uuid>,
    /// Whether its container may have been started. From then on it is never started by another worker unless it is seen that it was not.
    pub has_begun: bool,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
    pub started_at: Option<i64>,
    pub finished_at: Option<i64>,
}

impl Run {
    /// As what it is to end, if that was decided.
    pub fn decided(&self) -> Option<RunStatus> {
        RunStatus::try_from(self.ending.as_str()).ok()
    }
}

macro_rules! columns {
    () => {
        "id, organization_id, application_id, schedule_id, schedule_name, scheduled_at, user_id, actor, command, service, \
         timeout_seconds, status, ending, reason, exit_code, deployment_id, release_id, has_begun, created_at, started_at, finished_at"
    };
}

pub async fn insert(tx: &mut Tx, run: &Run) -> Result<()> {
    let query = concat!(
        "insert into runs (",
        columns!(),
        ") values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)"
    );
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(run.id)
            .bind(run.organization_id)
            .bind(run.application_id)
            .bind(run.schedule_id)
            .bind(&run.schedule_name)
            .bind(run.scheduled_at)
            .bind(run.user_id)
            .bind(&run.actor)
            .bind(&run.command)
            .bind(&run.service)
            .bind(run.timeout_seconds)
            .bind(run.status.as_str())
            .bind(&run.ending)
            .bind(&run.reason)
            .bind(run.exit_code)
            .bind(run.deployment_id)
            .bind(run.release_id)
            .bind(run.has_begun)
            .bind(run.created_at.micros())
            .bind(run.started_at)
            .bind(run.finished_at)
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

pub async fn get(conn: &mut Conn, id: Uuid) -> Result<Option<Run>> {
    let query = concat!("select ", columns!(), " from runs where id = $1");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(id).fetch_optional(c).await)?)
}

/// Nothing when it belongs to another organization.
pub async fn of_organization(conn: &mut Conn, organization_id: Uuid, id: Uuid) -> Result<Option<Run>> {
    let query = concat!("select ", columns!(), " from runs where id = $1 and organization_id = $2");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(id).bind(organization_id).fetch_optional(c).await)?)
}

/// Which ones are asked for; what is none does not matter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter {
    pub schedule_id: Option<Uuid>,
    pub status: Option<RunStatus>,
}

/// Newest first, and how many there are in all.
pub async fn page(
    conn: &mut Conn,
    application_id: Uuid,
    filter: Filter,
    (skip, limit): (i64, i64),
) -> Result<(Vec<Run>, i64)> {
    let mut conditions = "application_id = $1".to_owned();
    if filter.schedule_id.is_some() {
        conditions.push_str(" and schedule_id = $2");
    }
    if let Some(status) = filter.status {
        conditions.push_str(&format!(" and status = '{}'", status.as_str()));
    }
    let query = format!("select count(*) from runs where {conditions}");
    let count = sql!(conn, |c| {
        let query = sqlx::query_scalar(AssertSqlSafe(query)).persistent(false).bind(application_id);
        filter.schedule_id.into_iter().fold(query, sqlx::query::QueryScalar::bind).fetch_one(c).await
    })?;
    let query = format!(
        concat!("select ", columns!(), " from runs where {} order by id desc limit {} offset {}"),
        conditions, limit, skip
    );
    let page = sql!(conn, |c| {
        let query = sqlx::query_as(AssertSqlSafe(query)).persistent(false).bind(application_id);
        filter.schedule_id.into_iter().fold(query, sqlx::query::QueryAs::bind).fetch_all(c).await
    })?;
    Ok((page, count))
}

/// Those of an application that wait or run, the oldest first.
pub async fn under_way(conn: &mut Conn, application_id: Uuid) -> Result<Vec<Run>> {
    let query = concat!(
        "select ",
        columns!(),
        " from runs where application_id = $1 and status in ('queued', 'running') order by id"
    );
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(application_id).fetch_all(c).await)?)
}

/// How many of an organization wait or run.
pub async fn count_under_way(conn: &mut Conn, organization_id: Uuid) -> Result<i64> {
    let query = "select count(*) from runs where organization_id = $1 and status in ('queued', 'running')";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(organization_id).fetch_one(c).await)?)
}

/// The newest of each schedule of an application.
pub async fn newest_of_schedules(conn: &mut Conn, application_id: Uuid) -> Result<Vec<Run>> {
    let query = concat!(
        "select ",
        columns!(),
        " from runs where application_id = $1 and schedule_id is not null and not exists \
         (select 1 from runs n where n.schedule_id = runs.schedule_id and n.id > runs.id)"
    );
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(application_id).fetch_all(c).await)?)
}

pub async fn newest_of_schedule(conn: &mut Conn, schedule_id: Uuid) -> Result<Option<Run>> {
    let query = concat!("select ", columns!(), " from runs where schedule_id = $1 order by id desc limit 1");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(schedule_id).fetch_optional(c).await)?)
}

/// It has a container from now on, of what is live. False when it is over.
pub async fn start(tx: &mut Tx, run: &Run, now: Timestamp) -> Result<bool> {
    let query = "update runs set status = 'running', service = $2, deployment_id = $3, release_id = $4, started_at = $5 \
                 where id = $1 and status = 'queued'";
    let changed = sql!(tx, |c| {
        sqlx::query(query)
            .bind(run.id)
            .bind(&run.service)
            .bind(run.deployment_id)
            .bind(run.release_id)
            .bind(now.micros())
            .execute(c)
            .await
            .map(|done| done.rows_affected())
    })?;
    Ok(changed == 1)
}

/// Its container is about to be started.
pub async fn set_begun(tx: &mut Tx, id: Uuid) -> Result<()> {
    sql!(tx, |c| sqlx::query("update runs set has_begun = true where id = $1").bind(id).execute(c).await.map(drop))?;
    Ok(())
}

/// Its container is to be ended, and then it ends like this. What was decided before stays.
pub async fn set_ending(tx: &mut Tx, id: Uuid, ending: RunStatus, reason: &str) -> Result<()> {
    let query = "update runs set ending = $2, reason = $3 where id = $1 and ending = ''";
    sql!(tx, |c| sqlx::query(query).bind(id).bind(ending.as_str()).bind(reason).execute(c).await.map(drop))?;
    Ok(())
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct End {
    pub status: RunStatus,
    pub exit_code: Option<i64>,
    pub reason: String,
}

/// False when it was over already.
pub async fn end(tx: &mut Tx, id: Uuid, end: &End, now: Timestamp) -> Result<bool> {
    let query = "update runs set status = $2, exit_code = $3, reason = $4, finished_at = $5 \
                 where id = $1 and status in ('queued', 'running')";
    let changed = sql!(tx, |c| {
        sqlx::query(query)
            .bind(id)
            .bind(end.status.as_str())
            .bind(end.exit_code)
            .bind(&end.reason)
            .bind(now.micros())
            .execute(c)
            .await
            .map(|done| done.rows_affected())
    })?;
    Ok(changed == 1)
}

/// The schedule was passed over once more: of those in a row the last is told.
pub async fn skip_again(tx: &mut Tx, id: Uuid, scheduled_at: i64, reason: &str, now: Timestamp) -> Result<()> {
    let query = "update runs set scheduled_at = $2, reason = $3, finished_at = $4 where id = $1 and status = 'skipped'";
    sql!(tx, |c| {
        sqlx::query(query).bind(id).bind(scheduled_at).bind(reason).bind(now.micros()).execute(c).await.map(drop)
    })?;
    Ok(())
}

/// Forgets some of those of a schedule that are over, beyond the newest `kept`.
pub async fn forget_old_of_schedule(tx: &mut Tx, schedule_id: Uuid, kept: i64) -> Result<()> {
    forget_old(tx, "schedule_id = $1", schedule_id, kept).await
}

/// The same of those that users asked for, and of deleted schedules.
pub async fn forget_old_of_application(tx: &mut Tx, application_id: Uuid, kept: i64) -> Result<()> {
    forget_old(tx, "application_id = $1 and schedule_id is null", application_id, kept).await
}

async fn forget_old(tx: &mut Tx, whose: &str, id: Uuid, kept: i64) -> Result<()> {
    // What still has a job has a container to be removed.
    let query = format!(
        "delete from runs where id in (select id from runs where {whose} and status not in ('queued', 'running') \
         and not exists (select 1 from jobs j where j.id = runs.id) order by id desc limit 1000 offset $2)"
    );
    sql!(tx, |c| sqlx::query(AssertSqlSafe(query)).bind(id).bind(kept).execute(c).await.map(drop))?;
    Ok(())
}

/// Each with its organization.
pub async fn organizations(conn: &mut Conn) -> Result<Vec<(Uuid, Uuid)>> {
    Ok(sql!(conn, |c| sqlx::query_as("select id, organization_id from runs").fetch_all(c).await)?)
}

/// What is under way is over.
pub async fn interrupt_all(tx: &mut Tx, reason: &str, now: Timestamp) -> Result<()> {
    let query =
        "update runs set status = 'interrupted', reason = $1, finished_at = $2 where status in ('queued', 'running')";
    sql!(tx, |c| sqlx::query(query).bind(reason).bind(now.micros()).execute(c).await.map(drop))?;
    Ok(())
}
