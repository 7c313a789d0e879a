//! Messages to one destination each: those that wait to be sent, and what became of the others.

use sqlx::{AssertSqlSafe, FromRow};
use uuid::Uuid;
use windlass_api::{Can, Channel, NoticeState, Timestamp};

use crate::db::{parameters, sql};
use crate::word::Word;
use crate::{Conn, Result, Tx};

/// Rows that are written at once.
const AT_ONCE: usize = 100;

#[derive(Clone, Debug, FromRow)]
pub struct Notice {
    pub id: Uuid,
    /// None for mail of the installation itself.
    pub organization_id: Option<Uuid>,
    #[sqlx(try_from = "Word<Channel>")]
    pub channel: Channel,
    /// Of a mail; empty for every other channel.
    pub recipient: String,
    /// Notices of the same destination are sent one after another.
    pub destination: String,
    /// The number of its event, of the first one if it carries others; 0 for mail of the installation.
    pub position: i64,
    /// Empty for one that carries others, and for mail of the installation.
    pub event: String,
    /// The permission that those have who may hear of it; empty for mail of the installation.
    pub needs: String,
    pub application_id: Option<Uuid>,
    pub title: String,
    /// JSON; empty where it is sealed.
    pub message: String,
    pub sealed_message: Option<Vec<u8>>,
    #[sqlx(try_from = "Word<NoticeState>")]
    pub state: NoticeState,
    pub reason: String,
    pub carried_by: Option<Uuid>,
    pub carries: i64,
    pub attempts: i64,
    /// In microseconds, as the next ones: since when it is tried.
    pub first_tried_at: Option<i64>,
    pub next_attempt_at: Option<i64>,
    pub expires_at: Option<i64>,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
    pub ended_at: Option<i64>,
}

macro_rules! columns {
    () => {
        "id, organization_id, channel, recipient, destination, position, event, needs, application_id, title, message, \
         sealed_message, state, reason, carried_by, carries, attempts, first_tried_at, next_attempt_at, expires_at, \
         created_at, ended_at"
    };
}

const COLUMNS: usize = 22;

const WAITING: &str = concat!(
    "select ",
    columns!(),
    " from notices where destination = $1 and state = 'waiting' order by position, id limit $2"
);
const COUNT_WAITING: &str = "select count(*) from notices where organization_id = $1 and state = 'waiting'";
const DROP_OLDEST: &str = "update notices set state = 'dropped', reason = $3, next_attempt_at = null, ended_at = $4 where id in \
    (select id from notices where organization_id = $1 and state = 'waiting' order by position, id limit $2)";
const DROP_OF_DESTINATION: &str = "update notices set state = 'dropped', reason = $2, next_attempt_at = null, sealed_message = null, \
    ended_at = $3 where destination = $1 and state = 'waiting'";
// With the channel as an expression, because an index of all of a channel would be found for the column.
const DROP_OF_CHANNEL: &str = "update notices set state = 'dropped', reason = $3, next_attempt_at = null, ended_at = $4 \
    where organization_id = $1 and coalesce(channel, '') = $2 and state = 'waiting'";
const FAIL_OLDER: &str = "update notices set state = 'failed', reason = $3, next_attempt_at = null, sealed_message = null, ended_at = $4 \
    where destination = $1 and state = 'waiting' and created_at < $2";

/// Those that look for what waits. However many are over, they read what waits and nothing else: a test asks the database how.
pub const OF_WAITING: [&str; 6] =
    [WAITING, COUNT_WAITING, DROP_OLDEST, DROP_OF_DESTINATION, DROP_OF_CHANNEL, FAIL_OLDER];

/// One try to deliver a notice.
#[derive(Clone, Debug, FromRow)]
pub struct Attempt {
    pub notice_id: Uuid,
    pub number: i64,
    #[sqlx(try_from = "i64")]
    pub started_at: Timestamp,
    pub milliseconds: i64,
    pub destination: String,
    pub status: Option<i64>,
    /// Empty when nothing went wrong.
    pub problem: String,
    pub answer: String,
}

pub async fn insert_all(tx: &mut Tx, notices: &[Notice]) -> Result<()> {
    for some in notices.chunks(AT_ONCE) {
        let rows: Vec<_> = (0..some.len()).map(|row| format!("({})", parameters(row * COLUMNS + 1, COLUMNS))).collect();
        let query = format!(concat!("insert into notices (", columns!(), ") values {}"), rows.join(", "));
        sql!(tx, |c| {
            let query = sqlx::query(AssertSqlSafe(query)).persistent(some.len() == 1);
            let bound = some.iter().fold(query, |query, notice| {
                query
                    .bind(notice.id)
                    .bind(notice.organization_id)
                    .bind(notice.channel.as_str())
                    .bind(&notice.recipient)
                    .bind(&notice.destination)
                    .bind(notice.position)
                    .bind(&notice.event)
                    .bind(&notice.needs)
                    .bind(notice.application_id)
                    .bind(&notice.title)
                    .bind(&notice.message)
                    .bind(&notice.sealed_message)
                    .bind(notice.state.as_str())
                    .bind(&notice.reason)
                    .bind(notice.carried_by)
                    .bind(notice.carries)
                    .bind(notice.attempts)
                    .bind(notice.first_tried_at)
                    .bind(notice.next_attempt_at)
                    .bind(notice.expires_at)
                    .bind(notice.created_at.micros())
                    .bind(notice.ended_at)
            });
            bound.execute(c).await.map(drop)
        })?;
    }
    Ok(())
}

/// Those of a destination that wait, in the order in which they are sent.
pub async fn waiting(conn: &mut Conn, destination: &str, limit: i64) -> Result<Vec<Notice>> {
    Ok(sql!(conn, |c| sqlx::query_as(WAITING).bind(destination).bind(limit).fetch_all(c).await)?)
}

/// How many of an organization wait.
pub async fn count_waiting(conn: &mut Conn, organization_id: Uuid) -> Result<i64> {
    Ok(sql!(conn, |c| sqlx::query_scalar(COUNT_WAITING).bind(organization_id).fetch_one(c).await)?)
}

/// The oldest of an organization that wait are not sent any more.
pub async fn drop_oldest(tx: &mut Tx, organization_id: Uuid, count: i64, reason: &str, now: Timestamp) -> Result<()> {
    Ok(sql!(tx, |c| {
        let query = sqlx::query(DROP_OLDEST).bind(organization_id).bind(count).bind(reason).bind(now.micros());
        query.execute(c).await.map(drop)
    })?)
}

/// What waits for a destination is not sent any more.
pub async fn drop_of_destination(tx: &mut Tx, destination: &str, reason: &str, now: Timestamp) -> Result<()> {
    Ok(sql!(tx, |c| {
        sqlx::query(DROP_OF_DESTINATION).bind(destination).bind(reason).bind(now.micros()).execute(c).await.map(drop)
    })?)
}

/// The same for all destinations of a channel.
pub async fn drop_of_channel(
    tx: &mut Tx,
    organization_id: Uuid,
    channel: Channel,
    reason: &str,
    now: Timestamp,
) -> Result<()> {
    Ok(sql!(tx, |c| {
        let query = sqlx::query(DROP_OF_CHANNEL).bind(organization_id).bind(channel.as_str()).bind(reason);
        query.bind(now.micros()).execute(c).await.map(drop)
    })?)
}

/// What has waited for a destination since before this moment has failed with the one that was tried.
pub async fn fail_older(tx: &mut Tx, destination: &str, moment: Timestamp, reason: &str, now: Timestamp) -> Result<()> {
    Ok(sql!(tx, |c| {
        let query = sqlx::query(FAIL_OLDER).bind(destination).bind(moment.micros()).bind(reason);
        query.bind(now.micros()).execute(c).await.map(drop)
    })?)
}

/// What waits for any destination is not sent any more: an installation that is made from a copy sends nothing that the original sends.
pub async fn drop_all(tx: &mut Tx, reason: &str, now: Timestamp) -> Result<()> {
    let query = "update notices set state = 'dropped', reason = $1, next_attempt_at = null, sealed_message = null, ended_at = $2 \
                 where state = 'waiting'";
    Ok(sql!(tx, |c| sqlx::query(query).bind(reason).bind(now.micros()).execute(c).await.map(drop))?)
}

/// These are carried by another, which is to be sent in their place.
pub async fn fold(tx: &mut Tx, ids: &[Uuid], carried_by: Uuid, now: Timestamp) -> Result<()> {
    for some in ids.chunks(AT_ONCE) {
        let query = format!(
            "update notices set state = 'folded', carried_by = $1, next_attempt_at = null, ended_at = $2 where id in ({})",
            parameters(3, some.len())
        );
        sql!(tx, |c| {
            let query = sqlx::query(AssertSqlSafe(query)).persistent(false).bind(carried_by).bind(now.micros());
            some.iter().fold(query, |query, id| query.bind(*id)).execute(c).await.map(drop)
        })?;
    }
    Ok(())
}

/// What an attempt has made of a notice. What was sealed is gone when it is over.
#[derive(Clone, Debug)]
pub struct Outcome<'a> {
    pub state: NoticeState,
    pub reason: &'a str,
    pub next_attempt_at: Option<Timestamp>,
    pub now: Timestamp,
}

/// It was tried since, once more. The number of the attempt.
pub async fn count_attempt(tx: &mut Tx, id: Uuid, started_at: Timestamp) -> Result<i64> {
    let query = "update notices set attempts = attempts + 1, first_tried_at = coalesce(first_tried_at, $2) where id = $1 \
                 returning attempts";
    Ok(sql!(tx, |c| sqlx::query_scalar(query).bind(id).bind(started_at.micros()).fetch_one(c).await)?)
}

/// What was dropped while it was tried stays so, unless it has arrived.
pub async fn settle(tx: &mut Tx, id: Uuid, outcome: &Outcome<'_>) -> Result<()> {
    let query = "update notices set state = $2, reason = $3, next_attempt_at = $4, ended_at = $5, \
                 sealed_message = case when $2 = 'waiting' then sealed_message end \
                 where id = $1 and (state = 'waiting' or $2 = 'sent')";
    let ended_at = (outcome.state != NoticeState::Waiting).then(|| outcome.now.micros());
    Ok(sql!(tx, |c| {
        sqlx::query(query)
            .bind(id)
            .bind(outcome.state.as_str())
            .bind(outcome.reason)
            .bind(outcome.next_attempt_at.map(Timestamp::micros))
            .bind(ended_at)
            .execute(c)
            .await
            .map(drop)
    })?)
}

/// It is to be sent again, as if it had not been tried. False when it waits.
pub async fn send_again(tx: &mut Tx, id: Uuid) -> Result<bool> {
    let query = "update notices set state = 'waiting', reason = '', carried_by = null, first_tried_at = null, \
                 next_attempt_at = null, ended_at = null where id = $1 and state <> 'waiting'";
    let changed = sql!(tx, |c| sqlx::query(query).bind(id).execute(c).await.map(|done| done.rows_affected()))?;
    Ok(changed > 0)
}

pub async fn insert_attempt(tx: &mut Tx, attempt: &Attempt) -> Result<()> {
    let query = "insert into notice_attempts (notice_id, number, started_at, milliseconds, destination, status, problem, answer) \
                 values ($1, $2, $3, $4, $5, $6, $7, $8)";
    Ok(sql!(tx, |c| {
        sqlx::query(query)
            .bind(attempt.notice_id)
            .bind(attempt.number)
            .bind(attempt.started_at.micros())
            .bind(attempt.milliseconds)
            .bind(&attempt.destination)
            .bind(attempt.status)
            .bind(&attempt.problem)
            .bind(&attempt.answer)
            .execute(c)
            .await
            .map(drop)
    })?)
}

/// Keeps so many of the newest attempts.
pub async fn forget_attempts(tx: &mut Tx, notice_id: Uuid, number: i64, keep: i64) -> Result<()> {
    let query = "delete from notice_attempts where notice_id = $1 and number <= $2";
    Ok(sql!(tx, |c| sqlx::query(query).bind(notice_id).bind(number - keep).execute(c).await.map(drop))?)
}

pub async fn attempts(conn: &mut Conn, notice_id: Uuid) -> Result<Vec<Attempt>> {
    let query = "select notice_id, number, started_at, milliseconds, destination, status, problem, answer from notice_attempts \
                 where notice_id = $1 order by number";
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(notice_id).fetch_all(c).await)?)
}

pub async fn of_organization(conn: &mut Conn, organization_id: Uuid, id: Uuid) -> Result<Option<Notice>> {
    let query = concat!("select ", columns!(), " from notices where id = $1 and organization_id = $2");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(id).bind(organization_id).fetch_optional(c).await)?)
}

/// Which notices of an organization are asked for.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub channel: Option<Channel>,
    pub state: Option<NoticeState>,
    pub application_id: Option<Uuid>,
    /// What the caller may not hear of.
    pub hidden: Vec<Can>,
}

/// The newest that match, from before this one on.
pub async fn page(
    conn: &mut Conn,
    organization_id: Uuid,
    filter: &Filter,
    before: Option<Uuid>,
    limit: i64,
) -> Result<Vec<Notice>> {
    // Only what is asked for is in the text, so that an index is found for it.
    let texts = [
        filter.channel.map(|channel| ("channel", channel.as_str())),
        filter.state.map(|state| ("state", state.as_str())),
    ];
    let ids = [filter.application_id.map(|id| ("application_id =", id)), before.map(|id| ("id <", id))];
    let (texts, ids): (Vec<_>, Vec<_>) = (texts.iter().flatten().collect(), ids.iter().flatten().collect());
    let mut query = String::from(concat!("select ", columns!(), " from notices where organization_id = $1"));
    let mut number = 2;
    for (column, _) in &texts {
        number += 1;
        query.push_str(&format!(" and {column} = ${number}"));
    }
    for (condition, _) in &ids {
        number += 1;
        query.push_str(&format!(" and {condition} ${number}"));
    }
    if !filter.hidden.is_empty() {
        query.push_str(&format!(" and needs not in ({})", parameters(number + 1, filter.hidden.len())));
    }
    query.push_str(" order by id desc limit $2");
    Ok(sql!(conn, |c| {
        let query = sqlx::query_as(AssertSqlSafe(query)).bind(organization_id).bind(limit);
        let query = texts.iter().fold(query, |query, (_, text)| query.bind(*text));
        let query = ids.iter().fold(query, |query, (_, id)| query.bind(*id));
        filter.hidden.iter().fold(query, |query, needed| query.bind(needed.as_str())).fetch_all(c).await
    })?)
}

/// Some that have ended before.
pub async fn forget_before(tx: &mut Tx, moment: Timestamp, limit: i64) -> Result<u64> {
    let query =
        "delete from notices where id in (select id from notices where ended_at < $1 order by ended_at limit $2)";
    Ok(sql!(tx, |c| {
        sqlx::query(query).bind(moment.micros()).bind(limit).execute(c).await.map(|done| done.rows_affected())
    })?)
}

/// Organizations with more notices than this.
pub async fn organizations_with_more_than(conn: &mut Conn, most: i64) -> Result<Vec<Uuid>> {
    let query = "select organization_id from notices where organization_id is not null group by organization_id \
                 having count(*) > $1";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(most).fetch_all(c).await)?)
}

/// Some of an organization that are over and older than its newest ones.
pub async fn forget_beyond(tx: &mut Tx, organization_id: Uuid, keep: i64, limit: i64) -> Result<u64> {
    let query = "delete from notices where id in (select id from notices where organization_id = $1 and state <> 'waiting' \
                 and id < (select id from notices where organization_id = $1 order by id desc limit 1 offset $2) \
                 order by id limit $3)";
    Ok(sql!(tx, |c| {
        let query = sqlx::query(query).bind(organization_id).bind(keep - 1).bind(limit);
        query.execute(c).await.map(|done| done.rows_affected())
    })?)
}

/// Something has failed. It is remembered until it succeeds.
pub async fn begin_trouble(tx: &mut Tx, organization_id: Uuid, subject: &str, now: Timestamp) -> Result<()> {
    let query = "insert into notice_troubles (organization_id, subject, created_at) values ($1, $2, $3) \
                 on conflict (organization_id, subject) do nothing";
    Ok(sql!(tx, |c| {
        sqlx::query(query).bind(organization_id).bind(subject).bind(now.micros()).execute(c).await.map(drop)
    })?)
}

/// It has succeeded. Whether it had failed before.
pub async fn end_trouble(tx: &mut Tx, organization_id: Uuid, subject: &str) -> Result<bool> {
    let query = "delete from notice_troubles where organization_id = $1 and subject = $2";
    let ended = sql!(tx, |c| {
        sqlx::query(query).bind(organization_id).bind(subject).execute(c).await.map(|done| done.rows_affected())
    })?;
    Ok(ended > 0)
}

/// Some troubles that began before, of what may not exist any more.
pub async fn forget_troubles_before(tx: &mut Tx, moment: Timestamp) -> Result<u64> {
    let query = "delete from notice_troubles where created_at < $1";
    Ok(sql!(tx, |c| sqlx::query(query).bind(moment.micros()).execute(c).await.map(|done| done.rows_affected()))?)
}
