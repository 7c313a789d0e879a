//! Uptime checks of applications: how each is asked, and what that has come to. The time of the next check is in the row, so that no two
//! servers make the same one.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::{ApplicationState, Timestamp, UptimeState, Wanted};

use crate::db::sql;
use crate::word::Word;
use crate::{Conn, Result, Tx};

#[derive(Clone, Debug, FromRow)]
pub struct Uptime {
    pub application_id: Uuid,
    pub organization_id: Uuid,
    pub path: String,
    pub interval_seconds: i64,
    /// 0 for any from 200 to 399.
    pub expected_status: i64,
    pub timeout_seconds: i64,
    pub failures: i64,
    /// None while it is not enabled.
    pub next_at: Option<i64>,
    #[sqlx(try_from = "Word<UptimeState>")]
    pub state: UptimeState,
    pub reason: String,
    #[sqlx(try_from = "i64")]
    pub since: Timestamp,
    pub checked_at: Option<i64>,
    /// In a row.
    pub failed_checks: i64,
    pub failing_since: Option<i64>,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
    #[sqlx(try_from = "i64")]
    pub updated_at: Timestamp,
}

macro_rules! columns {
    () => {
        "application_id, organization_id, path, interval_seconds, expected_status, timeout_seconds, failures, next_at, state, \
         reason, since, checked_at, failed_checks, failing_since, created_at, updated_at"
    };
}

/// In the place of what was there.
pub async fn put(tx: &mut Tx, uptime: &Uptime) -> Result<()> {
    let query = concat!(
        "insert into uptime (",
        columns!(),
        ") values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) \
         on conflict (application_id) do update set path = excluded.path, interval_seconds = excluded.interval_seconds, \
         expected_status = excluded.expected_status, timeout_seconds = excluded.timeout_seconds, failures = excluded.failures, \
         next_at = excluded.next_at, state = excluded.state, reason = excluded.reason, since = excluded.since, \
         checked_at = excluded.checked_at, failed_checks = excluded.failed_checks, failing_since = excluded.failing_since, \
         updated_at = excluded.updated_at"
    );
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(uptime.application_id)
            .bind(uptime.organization_id)
            .bind(&uptime.path)
            .bind(uptime.interval_seconds)
            .bind(uptime.expected_status)
            .bind(uptime.timeout_seconds)
            .bind(uptime.failures)
            .bind(uptime.next_at)
            .bind(uptime.state.as_str())
            .bind(&uptime.reason)
            .bind(uptime.since.micros())
            .bind(uptime.checked_at)
            .bind(uptime.failed_checks)
            .bind(uptime.failing_since)
            .bind(uptime.created_at.micros())
            .bind(uptime.updated_at.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

/// What a check has come to. What users set stays as it is, and so does the time of the next one.
pub async fn conclude(tx: &mut Tx, uptime: &Uptime) -> Result<()> {
    let query = "update uptime set state = $2, reason = $3, since = $4, checked_at = $5, failed_checks = $6, failing_since = $7 \
                 where application_id = $1";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(uptime.application_id)
            .bind(uptime.state.as_str())
            .bind(&uptime.reason)
            .bind(uptime.since.micros())
            .bind(uptime.checked_at)
            .bind(uptime.failed_checks)
            .bind(uptime.failing_since)
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

pub async fn get(conn: &mut Conn, application_id: Uuid) -> Result<Option<Uptime>> {
    let query = concat!("select ", columns!(), " from uptime where application_id = $1");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(application_id).fetch_optional(c).await)?)
}

/// Those that are enabled.
pub async fn count_of_organization(conn: &mut Conn, organization_id: Uuid) -> Result<i64> {
    let query = "select count(*) from uptime where organization_id = $1 and next_at is not null";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(organization_id).fetch_one(c).await)?)
}

/// A check whose time has come.
#[derive(Clone, Copy, Debug, FromRow)]
pub struct Due {
    pub application_id: Uuid,
    pub organization_id: Uuid,
    pub next_at: i64,
    /// Its place among those of its organization.
    pub turn: i64,
}

/// Those whose time has come. Organizations take turns: first of each the one that has waited the longest, then of each the next. One whose
/// time is later than the next one can be was put off by a clock that has been set back since.
pub async fn due(conn: &mut Conn, now: Timestamp, limit: i64) -> Result<Vec<Due>> {
    let query = "select application_id, organization_id, next_at, turn from ( \
                     select application_id, organization_id, next_at, \
                         row_number() over (partition by organization_id order by next_at, application_id) as turn \
                     from uptime where next_at is not null \
                     and (next_at <= $1 or next_at > $1 + interval_seconds * 1000000)) as due \
                 order by turn, next_at, application_id limit $2";
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(now.micros()).bind(limit).fetch_all(c).await)?)
}

/// Takes the time that has come, and sets the next. Nothing when another server has taken it, or it was changed.
pub async fn take_time(tx: &mut Tx, due: &Due, now: Timestamp) -> Result<Option<Uptime>> {
    let query = concat!(
        "update uptime set next_at = $3 + interval_seconds * 1000000 where application_id = $1 and next_at = $2 returning ",
        columns!()
    );
    Ok(sql!(tx, |c| {
        sqlx::query_as(query).bind(due.application_id).bind(due.next_at).bind(now.micros()).fetch_optional(c).await
    })?)
}

/// With all of its history.
pub async fn delete(tx: &mut Tx, application_id: Uuid) -> Result<bool> {
    let query = "delete from uptime where application_id = $1";
    let deleted =
        sql!(tx, |c| sqlx::query(query).bind(application_id).execute(c).await.map(|done| done.rows_affected()))?;
    Ok(deleted == 1)
}

/// What decides whether an application can be expected to answer, and whether a check saw the same one from its beginning to its end.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Situation {
    pub name: String,
    pub domain: String,
    #[sqlx(try_from = "Word<Wanted>")]
    pub wanted: Wanted,
    #[sqlx(try_from = "Word<ApplicationState>")]
    pub state: ApplicationState,
    pub live_deployment_id: Option<Uuid>,
    /// Visitors wait for the next containers.
    pub is_held: bool,
    /// A release of it has served visitors at some time.
    pub was_live: bool,
    /// A worker writes or restores a snapshot of one of its volumes.
    pub has_snapshot: bool,
}

pub async fn situation(conn: &mut Conn, application_id: Uuid) -> Result<Option<Situation>> {
    let query = "select a.name, a.domain, a.wanted, a.state, a.live_deployment_id, a.held_until is not null as is_held, \
                 exists (select 1 from releases r where r.application_id = a.id and r.live_at is not null) as was_live, \
                 exists (select 1 from snapshots s join jobs j on j.id = s.id or j.id = s.deployment_id \
                     where s.application_id = a.id and s.state = 'pending' and j.state = 'running') as has_snapshot \
                 from applications a where a.id = $1";
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(application_id).fetch_optional(c).await)?)
}
