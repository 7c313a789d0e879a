//! What applications use and what visitors ask of them, packed: a row for each application, server and time. What is in the bytes is
//! `windlass_figures`' to know.

use std::ops::Range;

use sqlx::{AssertSqlSafe, FromRow};
use uuid::Uuid;

use crate::db::{parameters, sql};
use crate::{Conn, Result, Tx};

/// Of one application, as one server has measured it.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Row {
    pub application_id: Uuid,
    pub server_id: Uuid,
    /// When it begins, in seconds since 1970.
    pub start: i64,
    pub points: Vec<u8>,
}

/// So many applications are written by one statement.
const AT_ONCE: usize = 100;

/// Rows of one server that begin at the same time, each in the place of the one before it. An application that is gone is left out.
pub async fn put(tx: &mut Tx, server_id: Uuid, step: i64, start: i64, rows: &[(Uuid, Vec<u8>)]) -> Result<()> {
    for some in rows.chunks(AT_ONCE) {
        let values: Vec<_> =
            (0..some.len()).map(|at| format!("select ${} as id, ${} as points", 4 + at * 2, 5 + at * 2)).collect();
        let query = format!(
            "insert into figures (application_id, server_id, step, start, points) select n.id, $1, $2, $3, n.points \
             from ({}) n where exists (select 1 from applications a where a.id = n.id) \
             on conflict (application_id, step, start, server_id) do update set points = excluded.points",
            values.join(" union all ")
        );
        sql!(tx, |c| {
            let query = sqlx::query(AssertSqlSafe(query)).persistent(false).bind(server_id).bind(step).bind(start);
            let bound = some.iter().fold(query, |query, (id, points)| query.bind(*id).bind(points.as_slice()));
            bound.execute(c).await.map(drop)
        })?;
    }
    Ok(())
}

/// Of one application, those that begin in a time, by whichever server.
pub async fn of_application(conn: &mut Conn, application_id: Uuid, step: i64, starts: Range<i64>) -> Result<Vec<Row>> {
    let query = "select application_id, server_id, start, points from figures \
                 where application_id = $1 and step = $2 and start >= $3 and start < $4 order by start, server_id";
    Ok(sql!(conn, |c| {
        let query = sqlx::query_as(query).bind(application_id).bind(step);
        query.bind(starts.start).bind(starts.end).fetch_all(c).await
    })?)
}

/// The same of several applications.
pub async fn of_applications(conn: &mut Conn, ids: &[Uuid], step: i64, starts: Range<i64>) -> Result<Vec<Row>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let query = format!(
        "select application_id, server_id, start, points from figures \
         where step = $1 and start >= $2 and start < $3 and application_id in ({}) order by start, server_id",
        parameters(4, ids.len())
    );
    Ok(sql!(conn, |c| {
        let query = sqlx::query_as(AssertSqlSafe(query)).persistent(false);
        let query = query.bind(step).bind(starts.start).bind(starts.end);
        ids.iter().fold(query, |query, id| query.bind(*id)).fetch_all(c).await
    })?)
}

/// One server's, those that begin in a time, ordered by application and start, from behind an application on.
pub async fn of_server(
    conn: &mut Conn,
    server_id: Uuid,
    step: i64,
    starts: Range<i64>,
    after: Uuid,
    limit: i64,
) -> Result<Vec<Row>> {
    let query = "select application_id, server_id, start, points from figures \
                 where step = $1 and start >= $2 and start < $3 and server_id = $4 and application_id > $5 \
                 order by application_id, start limit $6";
    Ok(sql!(conn, |c| {
        let query = sqlx::query_as(query).bind(step).bind(starts.start).bind(starts.end);
        query.bind(server_id).bind(after).bind(limit).fetch_all(c).await
    })?)
}

/// When the first row of one server begins, among those that begin in a time.
pub async fn first(conn: &mut Conn, server_id: Uuid, step: i64, starts: Range<i64>) -> Result<Option<i64>> {
    let query = "select start from figures where step = $1 and start >= $2 and start < $3 and server_id = $4 \
                 order by start limit 1";
    Ok(sql!(conn, |c| {
        let query = sqlx::query_scalar(query).bind(step).bind(starts.start).bind(starts.end);
        query.bind(server_id).fetch_optional(c).await
    })?)
}

pub async fn delete_before(tx: &mut Tx, step: i64, start: i64, limit: i64) -> Result<u64> {
    let query = "delete from figures where (application_id, step, start, server_id) in \
                 (select application_id, step, start, server_id from figures where step = $1 and start < $2 limit $3)";
    Ok(sql!(tx, |c| {
        let query = sqlx::query(query).bind(step).bind(start).bind(limit);
        query.execute(c).await.map(|done| done.rows_affected())
    })?)
}
