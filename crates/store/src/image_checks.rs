//! When the registry of an application's image is asked again if its tag leads to another one. An application that does not want
//! that has no row.

use sqlx::{AssertSqlSafe, FromRow};
use uuid::Uuid;
use windlass_api::Timestamp;

use crate::db::{parameters, sql};
use crate::{Conn, Result, Tx};

#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct ImageCheck {
    pub application_id: Uuid,
    pub organization_id: Uuid,
    #[sqlx(try_from = "i64")]
    pub next_at: Timestamp,
    /// When it was last asked; 0 for never.
    #[sqlx(try_from = "i64")]
    pub checked_at: Timestamp,
    /// What was to be deployed last, because of a check or because a person wanted it; empty for nothing.
    pub digest: String,
}

/// One that is there stays as it is.
pub async fn insert(tx: &mut Tx, check: &ImageCheck) -> Result<()> {
    let query = "insert into image_checks (application_id, organization_id, next_at, checked_at, digest) \
                 values ($1, $2, $3, $4, $5) on conflict (application_id) do nothing";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(check.application_id)
            .bind(check.organization_id)
            .bind(check.next_at.micros())
            .bind(check.checked_at.micros())
            .bind(&check.digest)
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

pub async fn delete(tx: &mut Tx, application_id: Uuid) -> Result<()> {
    let query = "delete from image_checks where application_id = $1";
    sql!(tx, |c| sqlx::query(query).bind(application_id).execute(c).await.map(drop))?;
    Ok(())
}

/// The next whose time has come, but of none of these organizations. Organizations take turns: first comes the one whose last check was the
/// longest ago.
pub async fn next_due(conn: &mut Conn, now: Timestamp, busy: &[Uuid]) -> Result<Option<ImageCheck>> {
    let others = match busy {
        [] => String::new(),
        busy => format!("and c.organization_id not in ({})", parameters(2, busy.len())),
    };
    let query = format!(
        "select c.application_id, c.organization_id, c.next_at, c.checked_at, c.digest from image_checks c \
         where c.next_at <= $1 {others} \
         order by (select max(o.checked_at) from image_checks o where o.organization_id = c.organization_id), \
             c.next_at, c.application_id limit 1"
    );
    Ok(sql!(conn, |c| {
        let query = sqlx::query_as(AssertSqlSafe(query)).bind(now.micros());
        busy.iter().fold(query, |query, id| query.bind(*id)).fetch_optional(c).await
    })?)
}

/// Takes the time that has come, and sets the next. False when another server has taken it.
pub async fn take(tx: &mut Tx, check: &ImageCheck, now: Timestamp, next: Timestamp) -> Result<bool> {
    let query = "update image_checks set next_at = $3, checked_at = $4 where application_id = $1 and next_at = $2";
    let taken = sql!(tx, |c| {
        sqlx::query(query)
            .bind(check.application_id)
            .bind(check.next_at.micros())
            .bind(next.micros())
            .bind(now.micros())
            .execute(c)
            .await
            .map(|done| done.rows_affected())
    })?;
    Ok(taken == 1)
}

/// Sets when it is asked next.
pub async fn put_off(tx: &mut Tx, application_id: Uuid, next: Timestamp) -> Result<()> {
    let query = "update image_checks set next_at = $2 where application_id = $1";
    sql!(tx, |c| sqlx::query(query).bind(application_id).bind(next.micros()).execute(c).await.map(drop))?;
    Ok(())
}

/// What is to be deployed. False when it is that already, or nothing is checked.
pub async fn set_digest(tx: &mut Tx, application_id: Uuid, digest: &str) -> Result<bool> {
    let query = "update image_checks set digest = $2 where application_id = $1 and digest <> $2";
    let changed = sql!(tx, |c| {
        sqlx::query(query).bind(application_id).bind(digest).execute(c).await.map(|done| done.rows_affected())
    })?;
    Ok(changed == 1)
}
