//! Schedules of applications. The next time of each is in its row, so that no server asks for it twice.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::{Overlap, Timestamp};

use crate::db::sql;
use crate::word::Word;
use crate::{Conn, Result, Tx};

#[derive(Clone, Debug, FromRow)]
pub struct Schedule {
    pub id: Uuid,
    pub organization_id: Uuid,
    pub application_id: Uuid,
    pub name: String,
    pub cron: String,
    pub command: String,
    pub service: String,
    #[sqlx(try_from = "Word<Overlap>")]
    pub overlap: Overlap,
    pub timeout_seconds: i64,
    pub kept_runs: i64,
    /// None while it is not enabled.
    pub next_at: Option<i64>,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
    #[sqlx(try_from = "i64")]
    pub updated_at: Timestamp,
}

macro_rules! columns {
    () => {
        "id, organization_id, application_id, name, cron, command, service, overlap, timeout_seconds, kept_runs, next_at, \
         created_at, updated_at"
    };
}

pub async fn insert(tx: &mut Tx, schedule: &Schedule) -> Result<()> {
    let query = concat!(
        "insert into schedules (",
        columns!(),
        ") values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
    );
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(schedule.id)
            .bind(schedule.organization_id)
            .bind(schedule.application_id)
            .bind(&schedule.name)
            .bind(&schedule.cron)
            .bind(&schedule.command)
            .bind(&schedule.service)
            .bind(schedule.overlap.as_str())
            .bind(schedule.timeout_seconds)
            .bind(schedule.kept_runs)
            .bind(schedule.next_at)
            .bind(schedule.created_at.micros())
            .bind(schedule.updated_at.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

pub async fn update(tx: &mut Tx, schedule: &Schedule) -> Result<()> {
    let query = "update schedules set name = $2, cron = $3, command = $4, service = $5, overlap = $6, timeout_seconds = $7, \
                 kept_runs = $8, next_at = $9, updated_at = $10 where id = $1";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(schedule.id)
            .bind(&schedule.name)
            .bind(&schedule.cron)
            .bind(&schedule.command)
            .bind(&schedule.service)
            .bind(schedule.overlap.as_str())
            .bind(schedule.timeout_seconds)
            .bind(schedule.kept_runs)
            .bind(schedule.next_at)
            .bind(schedule.updated_at.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

pub async fn get(conn: &mut Conn, id: Uuid) -> Result<Option<Schedule>> {
    let query = concat!("select ", columns!(), " from schedules where id = $1");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(id).fetch_optional(c).await)?)
}

/// Nothing when it belongs to another organization.
pub async fn of_organization(conn: &mut Conn, organization_id: Uuid, id: Uuid) -> Result<Option<Schedule>> {
    let query = concat!("select ", columns!(), " from schedules where id = $1 and organization_id = $2");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(id).bind(organization_id).fetch_optional(c).await)?)
}

/// In the order of their names.
pub async fn of_application(conn: &mut Conn, application_id: Uuid) -> Result<Vec<Schedule>> {
    let query = concat!("select ", columns!(), " from schedules where application_id = $1 order by name, id");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(application_id).fetch_all(c).await)?)
}

/// A schedule whose time has come.
#[derive(Clone, Copy, Debug, FromRow)]
pub struct Due {
    pub id: Uuid,
    pub organization_id: Uuid,
    pub application_id: Uuid,
}

/// Those whose time has come. Organizations take turns: first of each the one that has waited the longest, then of each the next.
pub async fn due(conn: &mut Conn, now: Timestamp, limit: i64) -> Result<Vec<Due>> {
    let query = "select id, organization_id, application_id from ( \
                     select id, organization_id, application_id, next_at, \
                         row_number() over (partition by organization_id order by next_at, id) as turn \
                     from schedules where next_at <= $1) as due \
                 order by turn, next_at, id limit $2";
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(now.micros()).bind(limit).fetch_all(c).await)?)
}

/// Takes the time that has come, and sets the next. False when another server has taken it, or it was changed.
pub async fn take_time(tx: &mut Tx, id: Uuid, due: i64, next: Option<Timestamp>) -> Result<bool> {
    let query = "update schedules set next_at = $3 where id = $1 and next_at = $2";
    let taken = sql!(tx, |c| {
        sqlx::query(query)
            .bind(id)
            .bind(due)
            .bind(next.map(Timestamp::micros))
            .execute(c)
            .await
            .map(|done| done.rows_affected())
    })?;
    Ok(taken == 1)
}

pub async fn delete(tx: &mut Tx, id: Uuid) -> Result<()> {
    sql!(tx, |c| sqlx::query("delete from schedules where id = $1").bind(id).execute(c).await.map(drop))?;
    Ok(())
}
