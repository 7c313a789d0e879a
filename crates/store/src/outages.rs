//! Times in which applications were down, by their uptime checks. One of each application can last.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::Timestamp;

use crate::db::sql;
use crate::{Conn, Result, Tx};

#[derive(Clone, Debug, FromRow)]
pub struct Outage {
    pub id: Uuid,
    pub application_id: Uuid,
    #[sqlx(try_from = "i64")]
    pub started_at: Timestamp,
    /// None while it lasts.
    pub ended_at: Option<i64>,
    pub recovered: bool,
    pub reason: String,
}

macro_rules! columns {
    () => {
        "id, application_id, started_at, ended_at, recovered, reason"
    };
}

/// Begins one, and forgets the oldest beyond so many of the application.
pub async fn begin(tx: &mut Tx, outage: &Outage, kept: i64) -> Result<()> {
    let query = "insert into outages (id, application_id, started_at, reason) values ($1, $2, $3, $4)";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(outage.id)
            .bind(outage.application_id)
            .bind(outage.started_at.micros())
            .bind(&outage.reason)
            .execute(c)
            .await
            .map(drop)
    })?;
    let query = "delete from outages where id in \
                 (select id from outages where application_id = $1 order by id desc limit 1000 offset $2)";
    sql!(tx, |c| sqlx::query(query).bind(outage.application_id).bind(kept).execute(c).await.map(drop))?;
    Ok(())
}

/// Ends the one that lasts, if there is one.
pub async fn end(tx: &mut Tx, application_id: Uuid, recovered: bool, now: Timestamp) -> Result<Option<Outage>> {
    // The clock may have been set back meanwhile.
    let query = concat!(
        "update outages set ended_at = case when $2 > started_at then $2 else started_at end, recovered = $3 \
         where application_id = $1 and ended_at is null returning ",
        columns!()
    );
    Ok(sql!(tx, |c| {
        sqlx::query_as(query).bind(application_id).bind(now.micros()).bind(recovered).fetch_optional(c).await
    })?)
}

/// Whether one lasts.
pub async fn lasts(conn: &mut Conn, application_id: Uuid) -> Result<bool> {
    let query = "select exists (select 1 from outages where application_id = $1 and ended_at is null)";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(application_id).fetch_one(c).await)?)
}

/// Newest first; older than one of them, if it is given.
pub async fn page(conn: &mut Conn, application_id: Uuid, before: Option<Uuid>, limit: i64) -> Result<Vec<Outage>> {
    let query =
        concat!("select ", columns!(), " from outages where application_id = $1 and id < $2 order by id desc limit $3");
    let before = before.unwrap_or(Uuid::max());
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(application_id).bind(before).bind(limit).fetch_all(c).await)?)
}

/// Of the applications on the status page of an organization: those that last, and those that have ended after a moment. Newest first.
pub async fn of_page(conn: &mut Conn, organization_id: Uuid, after: Timestamp, limit: i64) -> Result<Vec<Outage>> {
    let query = "select o.id, o.application_id, o.started_at, o.ended_at, o.recovered, o.reason \
                 from outages o join status_page_applications s on s.application_id = o.application_id \
                 where s.organization_id = $1 and (o.ended_at is null or o.ended_at > $2) order by o.id desc limit $3";
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(organization_id).bind(after.micros()).bind(limit).fetch_all(c).await)?)
}

/// Those that have ended before a moment, some at a time.
pub async fn forget_before(tx: &mut Tx, moment: Timestamp, limit: i64) -> Result<u64> {
    let query = "delete from outages where id in (select id from outages where ended_at < $1 order by id limit $2)";
    Ok(sql!(tx, |c| {
        sqlx::query(query).bind(moment.micros()).bind(limit).execute(c).await.map(|done| done.rows_affected())
    })?)
}
