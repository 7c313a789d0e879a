//! What became of uptime checks: one by one for a day, and counted by hours for longer.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::{CheckResult, Timestamp};

use crate::db::sql;
use crate::word::Word;
use crate::{Conn, Result, Tx};

pub const HOUR_MICROS: i64 = 3_600 * 1_000_000;

#[derive(Clone, Debug, FromRow)]
pub struct UptimeCheck {
    pub id: Uuid,
    pub application_id: Uuid,
    #[sqlx(try_from = "Word<CheckResult>")]
    pub result: CheckResult,
    pub status: Option<i64>,
    pub answer_ms: Option<i64>,
    pub reason: String,
    #[sqlx(try_from = "i64")]
    pub checked_at: Timestamp,
}

/// One more, in its hour too.
pub async fn insert(tx: &mut Tx, check: &UptimeCheck) -> Result<()> {
    let query = "insert into uptime_checks (id, application_id, result, status, answer_ms, reason, checked_at) \
                 values ($1, $2, $3, $4, $5, $6, $7)";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(check.id)
            .bind(check.application_id)
            .bind(check.result.as_str())
            .bind(check.status)
            .bind(check.answer_ms)
            .bind(&check.reason)
            .bind(check.checked_at.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    let (up, failed) = (check.result == CheckResult::Up, check.result == CheckResult::Failed);
    let counts = [up, failed, !up && !failed].map(i64::from);
    let query = "insert into uptime_hours (application_id, hour, up, failed, unjudged) values ($1, $2, $3, $4, $5) \
                 on conflict (application_id, hour) do update set up = uptime_hours.up + excluded.up, \
                 failed = uptime_hours.failed + excluded.failed, unjudged = uptime_hours.unjudged + excluded.unjudged";
    sql!(tx, |c| {
        let query = sqlx::query(query).bind(check.application_id).bind(check.checked_at.micros() / HOUR_MICROS);
        counts.iter().fold(query, |query, count| query.bind(*count)).execute(c).await.map(drop)
    })?;
    Ok(())
}

/// Newest first; older than one of them, if it is given.
pub async fn page(conn: &mut Conn, application_id: Uuid, before: Option<Uuid>, limit: i64) -> Result<Vec<UptimeCheck>> {
    let query = "select id, application_id, result, status, answer_ms, reason, checked_at from uptime_checks \
                 where application_id = $1 and id < $2 order by id desc limit $3";
    let before = before.unwrap_or(Uuid::max());
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(application_id).bind(before).bind(limit).fetch_all(c).await)?)
}

/// How many checks of an application were good, and how many were not, in the last 24 hours, 7 days and 30 days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromRow)]
pub struct Counts {
    pub up_24_hours: i64,
    pub failed_24_hours: i64,
    pub up_7_days: i64,
    pub failed_7_days: i64,
    pub up_30_days: i64,
    pub failed_30_days: i64,
}

macro_rules! counts {
    () => {
        "cast(coalesce(sum(case when h.hour > $1 - 24 then h.up else 0 end), 0) as bigint) as up_24_hours, \
         cast(coalesce(sum(case when h.hour > $1 - 24 then h.failed else 0 end), 0) as bigint) as failed_24_hours, \
         cast(coalesce(sum(case when h.hour > $1 - 168 then h.up else 0 end), 0) as bigint) as up_7_days, \
         cast(coalesce(sum(case when h.hour > $1 - 168 then h.failed else 0 end), 0) as bigint) as failed_7_days, \
         cast(coalesce(sum(h.up), 0) as bigint) as up_30_days, \
         cast(coalesce(sum(h.failed), 0) as bigint) as failed_30_days"
    };
}

/// Whole hours up to the present one.
pub async fn counts(conn: &mut Conn, application_id: Uuid, now: Timestamp) -> Result<Counts> {
    let query = concat!(
        "select ",
        counts!(),
        " from uptime_hours h where h.application_id = $2 and h.hour > $1 - 720 and h.hour <= $1"
    );
    let hour = now.micros() / HOUR_MICROS;
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(hour).bind(application_id).fetch_one(c).await)?)
}

#[derive(Clone, Copy, Debug, FromRow)]
pub struct CountsOf {
    pub application_id: Uuid,
    #[sqlx(flatten)]
    pub counts: Counts,
}

/// The same of every application on the status page of an organization that is on.
pub async fn counts_of_page(conn: &mut Conn, organization_id: Uuid, now: Timestamp) -> Result<Vec<CountsOf>> {
    let query = concat!(
        "select h.application_id, ",
        counts!(),
        " from status_page_applications s join uptime_hours h on h.application_id = s.application_id \
         where s.organization_id = $2 and h.hour > $1 - 720 and h.hour <= $1 group by h.application_id"
    );
    let hour = now.micros() / HOUR_MICROS;
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(hour).bind(organization_id).fetch_all(c).await)?)
}

/// Some of the oldest.
pub async fn forget_before(tx: &mut Tx, moment: Timestamp, limit: i64) -> Result<u64> {
    let query = "delete from uptime_checks where id in \
                 (select id from uptime_checks where checked_at < $1 order by checked_at limit $2)";
    Ok(sql!(tx, |c| {
        sqlx::query(query).bind(moment.micros()).bind(limit).execute(c).await.map(|done| done.rows_affected())
    })?)
}

/// Hours of one application that is the first to have some before a moment.
pub async fn forget_hours_before(tx: &mut Tx, moment: Timestamp) -> Result<u64> {
    let query = "delete from uptime_hours where hour < $1 and application_id = \
                 (select application_id from uptime_hours where hour < $1 order by hour limit 1)";
    let hour = moment.micros() / HOUR_MICROS;
    Ok(sql!(tx, |c| sqlx::query(query).bind(hour).execute(c).await.map(|done| done.rows_affected()))?)
}
