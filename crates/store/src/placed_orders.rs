//! What was asked of certificate authorities, which count it.

use uuid::Uuid;
use windlass_api::Timestamp;

use crate::db::sql;
use crate::{Conn, Result, Tx};

/// Without an organization it is for the server itself.
pub async fn insert(
    tx: &mut Tx,
    id: Uuid,
    organization_id: Option<Uuid>,
    is_renewal: bool,
    now: Timestamp,
) -> Result<()> {
    let query = "insert into placed_orders (id, organization_id, is_renewal, placed_at) values ($1, $2, $3, $4)";
    sql!(tx, |c| {
        sqlx::query(query).bind(id).bind(organization_id).bind(is_renewal).bind(now.micros()).execute(c).await.map(drop)
    })?;
    Ok(())
}

/// How many were placed since then for one organization, renewals apart.
pub async fn count_first_of_organization(conn: &mut Conn, organization_id: Uuid, since: Timestamp) -> Result<i64> {
    let query = "select count(*) from placed_orders where placed_at > $1 and organization_id = $2 and is_renewal = $3";
    Ok(sql!(conn, |c| {
        sqlx::query_scalar(query).bind(since.micros()).bind(organization_id).bind(false).fetch_one(c).await
    })?)
}

/// How many were placed since then, for all organizations and the server: first ones, and renewals.
pub async fn count(conn: &mut Conn, since: Timestamp) -> Result<(i64, i64)> {
    let query = "select coalesce(sum(case when is_renewal = $2 then 0 else 1 end), 0), \
                 coalesce(sum(case when is_renewal = $2 then 1 else 0 end), 0) \
                 from placed_orders where placed_at > $1";
    Ok(sql!(conn, |c| { sqlx::query_as(query).bind(since.micros()).bind(true).fetch_one(c).await })?)
}

/// What authorities no longer count.
pub async fn forget_before(tx: &mut Tx, before: Timestamp) -> Result<u64> {
    let query = "delete from placed_orders where placed_at < $1";
    Ok(sql!(tx, |c| { sqlx::query(query).bind(before.micros()).execute(c).await.map(|done| done.rows_affected()) })?)
}
