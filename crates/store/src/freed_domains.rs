//! Domains that are kept for one organization for a while: it gave them up, or proved that they are its own. Visitors, links and cookies of before may still come there, so no other organization
//! takes them for a while.

use sqlx::AssertSqlSafe;
use uuid::Uuid;
use windlass_api::Timestamp;

use crate::db::{parameters, sql};
use crate::{Conn, Result, Tx};

/// The most that one organization keeps from others; beyond it, the one that it gave up first is free.
const MOST: i64 = 200;

pub async fn free(tx: &mut Tx, domain: &str, organization_id: Uuid, now: Timestamp) -> Result<()> {
    let query = "insert into freed_domains (domain, organization_id, freed_at) values ($1, $2, $3) on conflict (domain) \
                 do update set organization_id = excluded.organization_id, freed_at = excluded.freed_at";
    sql!(tx, |c| {
        sqlx::query(query).bind(domain).bind(organization_id).bind(now.micros()).execute(c).await.map(drop)
    })?;
    let query = "delete from freed_domains where organization_id = $1 and domain not in (select domain from freed_domains \
                 where organization_id = $1 order by freed_at desc, domain limit $2)";
    Ok(sql!(tx, |c| sqlx::query(query).bind(organization_id).bind(MOST).execute(c).await.map(drop))?)
}

/// When another organization than this one gave up one of the names, the last time, if that was after `since`.
pub async fn freed_by_another(
    conn: &mut Conn,
    names: &[String],
    organization_id: Uuid,
    since: Timestamp,
) -> Result<Option<Timestamp>> {
    let query = format!(
        "select freed_at from freed_domains where organization_id <> $1 and freed_at > $2 and domain in ({}) \
         order by freed_at desc limit 1",
        parameters(3, names.len())
    );
    let found: Option<(i64,)> = sql!(conn, |c| {
        let query = sqlx::query_as(AssertSqlSafe(query)).persistent(false).bind(organization_id).bind(since.micros());
        names.iter().fold(query, sqlx::query::QueryAs::bind).fetch_optional(c).await
    })?;
    Ok(found.map(|(freed_at,)| Timestamp::from_micros(freed_at)))
}

/// How many those were.
pub async fn forget_before(tx: &mut Tx, before: Timestamp) -> Result<u64> {
    let query = "delete from freed_domains where freed_at <= $1";
    Ok(sql!(tx, |c| sqlx::query(query).bind(before.micros()).execute(c).await.map(|done| done.rows_affected()))?)
}
