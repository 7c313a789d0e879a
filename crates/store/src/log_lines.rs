//! What deployments printed while they were built and started.

use sqlx::{FromRow, QueryBuilder};
use uuid::Uuid;
use windlass_api::Timestamp;

use crate::db::sql;
use crate::{Conn, Result, Tx};

#[derive(Clone, Debug, FromRow)]
pub struct LogLine {
    /// In the order in which they were written.
    pub seq: i64,
    pub id: Uuid,
    pub application_id: Uuid,
    pub deployment_id: Uuid,
    pub log: String,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
}

macro_rules! columns {
    () => {
        "seq, id, application_id, deployment_id, log, created_at"
    };
}

/// Their numbers are the database's.
pub async fn insert(tx: &mut Tx, lines: &[LogLine]) -> Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    sql!(tx, |c| {
        let mut query =
            QueryBuilder::new("insert into log_lines (id, application_id, deployment_id, log, created_at) ");
        query.push_values(lines, |mut row, line| {
            row.push_bind(line.id)
                .push_bind(line.application_id)
                .push_bind(line.deployment_id)
                .push_bind(&line.log)
                .push_bind(line.created_at.micros());
        });
        query.build().persistent(false).execute(c).await.map(drop)
    })?;
    Ok(())
}

/// The newest of an application, newest first.
pub async fn newest_of_application(conn: &mut Conn, application_id: Uuid, limit: i64) -> Result<Vec<LogLine>> {
    let query = concat!("select ", columns!(), " from log_lines where application_id = $1 order by seq desc limit $2");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(application_id).bind(limit).fetch_all(c).await)?)
}

/// The newest of a deployment before one of its lines, newest first.
pub async fn before(conn: &mut Conn, deployment_id: Uuid, seq: i64, limit: i64) -> Result<Vec<LogLine>> {
    let query = concat!(
        "select ",
        columns!(),
        " from log_lines where deployment_id = $1 and seq < $2 order by seq desc limit $3"
    );
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(deployment_id).bind(seq).bind(limit).fetch_all(c).await)?)
}

/// The oldest of a deployment after one of its lines, oldest first.
pub async fn after(conn: &mut Conn, deployment_id: Uuid, seq: i64, limit: i64) -> Result<Vec<LogLine>> {
    let query =
        concat!("select ", columns!(), " from log_lines where deployment_id = $1 and seq > $2 order by seq limit $3");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(deployment_id).bind(seq).bind(limit).fetch_all(c).await)?)
}

pub async fn count(conn: &mut Conn, deployment_id: Uuid) -> Result<i64> {
    let query = "select count(*) from log_lines where deployment_id = $1";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(deployment_id).fetch_one(c).await)?)
}

/// Some lines of an application that is going; how many they were.
pub async fn delete_some(tx: &mut Tx, application_id: Uuid, limit: i64) -> Result<u64> {
    let query = "delete from log_lines where seq in (select seq from log_lines where application_id = $1 limit $2)";
    Ok(sql!(tx, |c| {
        sqlx::query(query).bind(application_id).bind(limit).execute(c).await.map(|done| done.rows_affected())
    })?)
}
