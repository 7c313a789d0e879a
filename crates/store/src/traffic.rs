//! Visitors' requests by application and minute, as the edges have counted them.

use sqlx::{AssertSqlSafe, FromRow};
use uuid::Uuid;

use crate::db::sql;
use crate::{Conn, Result, Tx};

/// What is added to one minute, or the sum of a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromRow)]
pub struct Requests {
    pub requests: i64,
    pub errors: i64,
    pub answers: i64,
    /// The time that all answers took together.
    pub answer_us: i64,
}

impl Requests {
    pub fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.errors += other.errors;
        self.answers += other.answers;
        self.answer_us += other.answer_us;
    }
}

/// So many applications are written by one statement.
const AT_ONCE: usize = 100;

/// Adds to a minute, counted from 1970. An application that is gone is left out.
pub async fn add(tx: &mut Tx, minute: i64, counted: &[(Uuid, Requests)]) -> Result<()> {
    for some in counted.chunks(AT_ONCE) {
        let rows: Vec<_> = (0..some.len()).map(|at| row(2 + at * 5)).collect();
        let query = format!(
            "insert into traffic (application_id, minute, requests, errors, answers, answer_us) \
             select n.id, $1, n.requests, n.errors, n.answers, n.answer_us from ({}) n \
             where exists (select 1 from applications a where a.id = n.id) \
             on conflict (application_id, minute) do update set requests = traffic.requests + excluded.requests, \
             errors = traffic.errors + excluded.errors, answers = traffic.answers + excluded.answers, \
             answer_us = traffic.answer_us + excluded.answer_us",
            rows.join(" union all ")
        );
        sql!(tx, |c| {
            let query = sqlx::query(AssertSqlSafe(query)).persistent(false).bind(minute);
            let bound = some.iter().fold(query, |query, (id, one)| {
                query.bind(*id).bind(one.requests).bind(one.errors).bind(one.answers).bind(one.answer_us)
            });
            bound.execute(c).await.map(drop)
        })?;
    }
    Ok(())
}

fn row(first: usize) -> String {
    format!(
        "select ${first} as id, ${} as requests, ${} as errors, ${} as answers, ${} as answer_us",
        first + 1,
        first + 2,
        first + 3,
        first + 4
    )
}

/// The sum of one application's requests in one slot.
#[derive(Clone, Debug, FromRow)]
pub struct Slot {
    pub application_id: Uuid,
    pub slot: i64,
    #[sqlx(flatten)]
    pub sum: Requests,
}

/// From a minute on, in slots of so many minutes, ordered by application; of one application, if one is given.
pub async fn slots(
    conn: &mut Conn,
    organization_id: Uuid,
    application_id: Option<Uuid>,
    from: i64,
    minutes: i64,
) -> Result<Vec<Slot>> {
    let which = if application_id.is_some() { "t.application_id = $4 and" } else { "" };
    let query = format!(
        "select t.application_id, (t.minute - $2) / $3 as slot, cast(sum(t.requests) as bigint) as requests, \
         cast(sum(t.errors) as bigint) as errors, cast(sum(t.answers) as bigint) as answers, \
         cast(sum(t.answer_us) as bigint) as answer_us \
         from traffic t join applications a on a.id = t.application_id and a.organization_id = $1 \
         where {which} t.minute >= $2 group by 1, 2 order by 1, 2"
    );
    Ok(sql!(conn, |c| {
        let query = sqlx::query_as(AssertSqlSafe(query)).bind(organization_id).bind(from).bind(minutes);
        match application_id {
            Some(id) => query.bind(id).fetch_all(c).await,
            None => query.fetch_all(c).await,
        }
    })?)
}

/// What was counted for an application from a minute on, by the minute.
pub async fn minutes(conn: &mut Conn, application_id: Uuid, from: i64) -> Result<Vec<Slot>> {
    let query = "select application_id, minute as slot, requests, errors, answers, answer_us from traffic \
                 where application_id = $1 and minute >= $2 order by minute";
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(application_id).bind(from).fetch_all(c).await)?)
}

pub async fn delete_before(tx: &mut Tx, minute: i64, limit: i64) -> Result<u64> {
    let query = "delete from traffic where (application_id, minute) in \
                 (select application_id, minute from traffic where minute < $1 limit $2)";
    Ok(sql!(tx, |c| sqlx::query(query).bind(minute).bind(limit).execute(c).await.map(|done| done.rows_affected()))?)
}
