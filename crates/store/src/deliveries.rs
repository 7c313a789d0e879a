//! Deliveries of code hosts, each with what became of it.

use sqlx::{AssertSqlSafe, FromRow};
use uuid::Uuid;
use windlass_api::{CodeHost, DeliveryVerdict, Timestamp};

use crate::db::sql;
use crate::word::Word;
use crate::{Conn, Result, Tx};

/// Without what is long.
#[derive(Clone, Debug, FromRow)]
pub struct Delivery {
    pub id: Uuid,
    pub application_id: Uuid,
    #[sqlx(try_from = "Word<CodeHost>")]
    pub host: CodeHost,
    pub event: String,
    /// The host's own id of it; empty if it gave none.
    pub delivery_id: String,
    #[sqlx(try_from = "Word<DeliveryVerdict>")]
    pub verdict: DeliveryVerdict,
    pub reason: String,
    /// The full name of the branch or tag; empty for what is not a push.
    pub reference: String,
    /// Empty if there was none.
    pub before_hash: String,
    /// Empty if there is none any more.
    pub commit_hash: String,
    /// When the host was pushed to, in seconds since 1970, if it said so.
    pub pushed_at: Option<i64>,
    pub sender: String,
    pub deployment_id: Option<Uuid>,
    pub replay_of: Option<Uuid>,
    pub ip_address: String,
    /// How long the body was; it may have been too long to be kept.
    pub body_bytes: i64,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
}

/// What was sent, without what proves who sent it.
#[derive(Clone, Debug, FromRow)]
pub struct Content {
    /// JSON: texts by name.
    pub headers: String,
    /// Empty if it was too long.
    pub body: Vec<u8>,
}

macro_rules! columns {
    () => {
        "id, application_id, host, event, delivery_id, verdict, reason, reference, before_hash, commit_hash, pushed_at, sender, \
         deployment_id, replay_of, ip_address, body_bytes, created_at"
    };
}

pub async fn insert(tx: &mut Tx, delivery: &Delivery, content: &Content) -> Result<()> {
    let query = concat!(
        "insert into deliveries (",
        columns!(),
        ", headers, body) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)"
    );
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(delivery.id)
            .bind(delivery.application_id)
            .bind(delivery.host.as_str())
            .bind(&delivery.event)
            .bind(&delivery.delivery_id)
            .bind(delivery.verdict.as_str())
            .bind(&delivery.reason)
            .bind(&delivery.reference)
            .bind(&delivery.before_hash)
            .bind(&delivery.commit_hash)
            .bind(delivery.pushed_at)
            .bind(&delivery.sender)
            .bind(delivery.deployment_id)
            .bind(delivery.replay_of)
            .bind(&delivery.ip_address)
            .bind(delivery.body_bytes)
            .bind(delivery.created_at.micros())
            .bind(&content.headers)
            .bind(&content.body)
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

/// Whether a verified delivery with the host's id, which is not empty, was stored for the application.
pub async fn is_known(conn: &mut Conn, application_id: Uuid, host: CodeHost, delivery_id: &str) -> Result<bool> {
    let query = "select exists (select 1 from deliveries where application_id = $1 and host = $2 and delivery_id = $3 \
                 and delivery_id <> '' and verdict <> 'refused' and replay_of is null)";
    let host = host.as_str();
    Ok(sql!(conn, |c| {
        sqlx::query_scalar(query).bind(application_id).bind(host).bind(delivery_id).fetch_one(c).await
    })?)
}

/// The newest pushes to a branch or tag, newest first, whatever became of them.
pub async fn pushes(conn: &mut Conn, application_id: Uuid, reference: &str, limit: i64) -> Result<Vec<Delivery>> {
    let query = concat!(
        "select ",
        columns!(),
        " from deliveries where application_id = $1 and reference = $2 and verdict <> 'refused' and replay_of is null \
         order by id desc limit $3"
    );
    Ok(sql!(conn, |c| { sqlx::query_as(query).bind(application_id).bind(reference).bind(limit).fetch_all(c).await })?)
}

/// The commit of the delivery that has queued a deployment, if one did.
pub async fn commit_of_deployment(conn: &mut Conn, deployment_id: Uuid) -> Result<Option<String>> {
    let query = "select commit_hash from deliveries where deployment_id = $1 limit 1";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(deployment_id).fetch_optional(c).await)?)
}

pub async fn last(conn: &mut Conn, application_id: Uuid) -> Result<Option<Delivery>> {
    let query = concat!("select ", columns!(), " from deliveries where application_id = $1 order by id desc limit 1");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(application_id).fetch_optional(c).await)?)
}

/// Nothing when its application belongs to another organization.
pub async fn of_organization(conn: &mut Conn, organization_id: Uuid, id: Uuid) -> Result<Option<Delivery>> {
    let query = concat!(
        "select ",
        columns!(),
        " from deliveries where id = $1 and exists (select 1 from applications a where a.id = application_id \
         and a.organization_id = $2)"
    );
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(id).bind(organization_id).fetch_optional(c).await)?)
}

pub async fn content(conn: &mut Conn, id: Uuid) -> Result<Option<Content>> {
    let query = "select headers, body from deliveries where id = $1";
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(id).fetch_optional(c).await)?)
}

/// Which deliveries of an application are asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter {
    pub verdict: Option<DeliveryVerdict>,
    pub host: Option<CodeHost>,
}

const CONDITIONS: &str = "application_id = $1 and ($2 = '' or verdict = $2) and ($3 = '' or host = $3)";

/// A page of those that match, newest first, and how many match in all.
pub async fn page(
    conn: &mut Conn,
    application_id: Uuid,
    filter: Filter,
    skip: i64,
    limit: i64,
) -> Result<(Vec<Delivery>, i64)> {
    let verdict = filter.verdict.map_or("", DeliveryVerdict::as_str);
    let host = filter.host.map_or("", CodeHost::as_str);
    let query = format!("select count(*) from deliveries where {CONDITIONS}");
    let count = sql!(conn, |c| {
        sqlx::query_scalar(AssertSqlSafe(query)).bind(application_id).bind(verdict).bind(host).fetch_one(c).await
    })?;
    let query = format!(
        concat!("select ", columns!(), " from deliveries where {} order by id desc limit $4 offset $5"),
        CONDITIONS
    );
    let page = sql!(conn, |c| {
        sqlx::query_as(AssertSqlSafe(query))
            .bind(application_id)
            .bind(verdict)
            .bind(host)
            .bind(limit)
            .bind(skip)
            .fetch_all(c)
            .await
    })?;
    Ok((page, count))
}

/// Keeps so many of the application's newest ones. Those that were refused are counted by themselves: they never push the others out.
pub async fn forget_old(tx: &mut Tx, application_id: Uuid, keep: i64) -> Result<()> {
    let query = "delete from deliveries where application_id = $1 and verdict <> 'refused' and id < (select id from deliveries \
                 where application_id = $1 and verdict <> 'refused' order by id desc limit 1 offset $2)";
    Ok(sql!(tx, |c| sqlx::query(query).bind(application_id).bind(keep - 1).execute(c).await.map(drop))?)
}

/// Keeps so many of the newest ones that were refused.
pub async fn forget_old_refused(tx: &mut Tx, application_id: Uuid, keep: i64) -> Result<()> {
    let query = "delete from deliveries where application_id = $1 and verdict = 'refused' and id < (select id from deliveries \
                 where application_id = $1 and verdict = 'refused' order by id desc limit 1 offset $2)";
    Ok(sql!(tx, |c| sqlx::query(query).bind(application_id).bind(keep - 1).execute(c).await.map(drop))?)
}

/// Some of those that are older. How many they were.
pub async fn forget_before(tx: &mut Tx, before: Timestamp, limit: i64) -> Result<u64> {
    let query = "delete from deliveries where id in (select id from deliveries where created_at < $1 limit $2)";
    let before = before.micros();
    Ok(sql!(tx, |c| { sqlx::query(query).bind(before).bind(limit).execute(c).await.map(|done| done.rows_affected()) })?)
}
