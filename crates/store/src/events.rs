//! The outbox: what happened, written in the transaction of the change itself and read by consumers that each know how
//! far they are.

use sqlx::{AssertSqlSafe, FromRow};
use uuid::Uuid;
use windlass_api::{EventName, Timestamp};

use crate::db::{parameters, sql};
use crate::word::Word;
use crate::{Conn, Result, Tx};

/// One that is not written yet.
#[derive(Clone, Debug)]
pub struct NewEvent {
    pub name: EventName,
    pub organization_id: Uuid,
    pub application_id: Option<Uuid>,
    pub deployment_id: Option<Uuid>,
    /// JSON: what else there is to say.
    pub details: String,
    pub created_at: Timestamp,
}

#[derive(Clone, Debug, FromRow)]
pub struct Event {
    pub seq: i64,
    #[sqlx(try_from = "Word<EventName>")]
    pub name: EventName,
    pub organization_id: Uuid,
    pub application_id: Option<Uuid>,
    pub deployment_id: Option<Uuid>,
    pub details: String,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
}

macro_rules! columns {
    () => {
        "seq, name, organization_id, application_id, deployment_id, details, created_at"
    };
}

const COLUMNS: usize = 7;

/// Gives the events the next numbers. Called last in a transaction: other writers of events wait from here to its
/// commit, so that no reader ever sees a number before a smaller one.
pub async fn append(tx: &mut Tx, events: &[NewEvent]) -> Result<()> {
    let count = i64::try_from(events.len()).unwrap_or(i64::MAX);
    let query = "update event_head set last_seq = last_seq + $1 returning last_seq";
    let last: i64 = sql!(tx, |c| sqlx::query_scalar(query).bind(count).fetch_one(c).await)?;
    let rows: Vec<_> = (0..events.len()).map(|row| format!("({})", parameters(row * COLUMNS + 1, COLUMNS))).collect();
    let query = format!(concat!("insert into events (", columns!(), ") values {}"), rows.join(", "));
    sql!(tx, |c| {
        let query = sqlx::query(AssertSqlSafe(query));
        let bound = events.iter().zip(last - count + 1..).fold(query, |query, (event, seq)| {
            query
                .bind(seq)
                .bind(event.name.as_str())
                .bind(event.organization_id)
                .bind(event.application_id)
                .bind(event.deployment_id)
                .bind(&event.details)
                .bind(event.created_at.micros())
        });
        bound.execute(c).await.map(drop)
    })?;
    Ok(())
}

/// The next events after a number.
pub async fn after(conn: &mut Conn, seq: i64, limit: i64) -> Result<Vec<Event>> {
    let query = concat!("select ", columns!(), " from events where seq > $1 order by seq limit $2");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(seq).bind(limit).fetch_all(c).await)?)
}

/// The same, of one organization and of some names.
pub async fn of_organization_after(
    conn: &mut Conn,
    organization_id: Uuid,
    names: &[EventName],
    seq: i64,
    limit: i64,
) -> Result<Vec<Event>> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let query = format!(
        concat!(
            "select ",
            columns!(),
            " from events where organization_id = $1 and seq > $2 and name in ({}) order by seq limit $3"
        ),
        parameters(4, names.len())
    );
    Ok(sql!(conn, |c| {
        let query = sqlx::query_as(AssertSqlSafe(query)).bind(organization_id).bind(seq).bind(limit);
        names.iter().fold(query, |query, name| query.bind(name.as_str())).fetch_all(c).await
    })?)
}

/// The number of the newest event that there ever was.
pub async fn last_seq(conn: &mut Conn) -> Result<i64> {
    Ok(sql!(conn, |c| sqlx::query_scalar("select last_seq from event_head").fetch_one(c).await)?)
}

/// The number of the oldest event that is kept; one more than the newest when none is.
pub async fn first_seq(conn: &mut Conn) -> Result<i64> {
    let query = "select coalesce((select min(seq) from events), (select last_seq + 1 from event_head))";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).fetch_one(c).await)?)
}

/// How far a consumer has come; one that is new begins with what happens from now on.
pub async fn cursor(tx: &mut Tx, consumer: &str) -> Result<i64> {
    let query = "insert into event_cursors (consumer, seq) select $1, last_seq from event_head where true \
                 on conflict (consumer) do update set seq = event_cursors.seq returning seq";
    Ok(sql!(tx, |c| sqlx::query_scalar(query).bind(consumer).fetch_one(c).await)?)
}

/// In the transaction of what the consumer has made of the events, so that none is handled twice or lost.
pub async fn move_cursor(tx: &mut Tx, consumer: &str, seq: i64) -> Result<()> {
    let query = "update event_cursors set seq = $2 where consumer = $1 and seq < $2";
    Ok(sql!(tx, |c| sqlx::query(query).bind(consumer).bind(seq).execute(c).await.map(drop))?)
}

/// Forgets some of those that are older and that every consumer has read. How many.
pub async fn forget_before(tx: &mut Tx, moment: Timestamp, limit: i64) -> Result<u64> {
    let query = "delete from events where seq in (select seq from events where created_at < $1 \
                 and seq <= coalesce((select min(c.seq) from event_cursors c), seq) order by seq limit $2)";
    Ok(sql!(tx, |c| {
        sqlx::query(query).bind(moment.micros()).bind(limit).execute(c).await.map(|done| done.rows_affected())
    })?)
}
