//! Snapshots: tars of volumes. The row comes before the file and goes after it.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::{SnapshotOrigin, SnapshotState, Timestamp};

use crate::db::sql;
use crate::word::Word;
use crate::{Conn, Result, Tx};

#[derive(Clone, Debug, FromRow)]
pub struct Snapshot {
    pub id: Uuid,
    pub organization_id: Uuid,
    /// None once the application was deleted.
    pub application_id: Option<Uuid>,
    pub application_name: String,
    pub volume_id: Uuid,
    pub volume_name: String,
    #[sqlx(try_from = "Word<SnapshotOrigin>")]
    pub origin: SnapshotOrigin,
    /// The deployment before which it was taken.
    pub deployment_id: Option<Uuid>,
    /// The release that had written the data until then.
    pub live_release_id: Option<Uuid>,
    #[sqlx(try_from = "Word<SnapshotState>")]
    pub state: SnapshotState,
    pub reason: String,
    pub size_bytes: i64,
    /// In hexadecimal digits.
    pub sha256: String,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
    pub finished_at: Option<i64>,
}

macro_rules! columns {
    () => {
        "id, organization_id, application_id, application_name, volume_id, volume_name, origin, deployment_id, \
         live_release_id, state, reason, size_bytes, sha256, created_at, finished_at"
    };
}

pub async fn insert(tx: &mut Tx, snapshot: &Snapshot) -> Result<()> {
    let query = concat!(
        "insert into snapshots (",
        columns!(),
        ") values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)"
    );
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(snapshot.id)
            .bind(snapshot.organization_id)
            .bind(snapshot.application_id)
            .bind(&snapshot.application_name)
            .bind(snapshot.volume_id)
            .bind(&snapshot.volume_name)
            .bind(snapshot.origin.as_str())
            .bind(snapshot.deployment_id)
            .bind(snapshot.live_release_id)
            .bind(snapshot.state.as_str())
            .bind(&snapshot.reason)
            .bind(snapshot.size_bytes)
            .bind(&snapshot.sha256)
            .bind(snapshot.created_at.micros())
            .bind(snapshot.finished_at)
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

pub async fn get(conn: &mut Conn, id: Uuid) -> Result<Option<Snapshot>> {
    let query = concat!("select ", columns!(), " from snapshots where id = $1");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(id).fetch_optional(c).await)?)
}

/// Nothing when it belongs to another organization.
pub async fn of_organization(conn: &mut Conn, organization_id: Uuid, id: Uuid) -> Result<Option<Snapshot>> {
    let query =
        concat!("select ", columns!(), " from snapshots where id = $1 and organization_id = $2 and state <> 'deleted'");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(id).bind(organization_id).fetch_optional(c).await)?)
}

/// The newest of an organization first.
pub async fn newest(conn: &mut Conn, organization_id: Uuid, limit: i64) -> Result<Vec<Snapshot>> {
    let query = concat!(
        "select ",
        columns!(),
        " from snapshots where organization_id = $1 and state <> 'deleted' \
         order by id desc limit $2"
    );
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(organization_id).bind(limit).fetch_all(c).await)?)
}

/// The newest of a volume first.
pub async fn of_volume(conn: &mut Conn, volume_id: Uuid, limit: i64) -> Result<Vec<Snapshot>> {
    let query = concat!(
        "select ",
        columns!(),
        " from snapshots where volume_id = $1 and state <> 'deleted' \
         order by id desc limit $2"
    );
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(volume_id).bind(limit).fetch_all(c).await)?)
}

/// What volumes had in them when a release was replaced, the newest first. Not those of a deployment that did not succeed: after it
/// the release went on writing.
pub async fn of_release(conn: &mut Conn, release_id: Uuid) -> Result<Vec<Snapshot>> {
    let query = concat!(
        "select ",
        columns!(),
        " from snapshots where live_release_id = $1 and state = 'ready' and exists (select 1 from deployments d \
         where d.id = snapshots.deployment_id and d.state = 'deployed') order by id desc limit 1000"
    );
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(release_id).fetch_all(c).await)?)
}

/// Those that a deployment has asked for.
pub async fn of_deployment(conn: &mut Conn, deployment_id: Uuid) -> Result<Vec<Snapshot>> {
    let query = concat!(
        "select ",
        columns!(),
        " from snapshots where deployment_id = $1 and application_id = \
         (select application_id from deployments where id = $1) order by id"
    );
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(deployment_id).fetch_all(c).await)?)
}

pub async fn bytes_of_organization(conn: &mut Conn, organization_id: Uuid) -> Result<i64> {
    let query = "select cast(coalesce(sum(size_bytes), 0) as bigint) from snapshots where organization_id = $1";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(organization_id).fetch_one(c).await)?)
}

/// Its last state. False when it had one already, or is gone.
pub async fn end(tx: &mut Tx, snapshot: &Snapshot, state: SnapshotState, reason: &str, now: Timestamp) -> Result<bool> {
    let query = "update snapshots set state = $2, reason = $3, size_bytes = $4, sha256 = $5, finished_at = $6 \
                 where id = $1 and state = 'pending'";
    let changed = sql!(tx, |c| {
        sqlx::query(query)
            .bind(snapshot.id)
            .bind(state.as_str())
            .bind(reason)
            .bind(snapshot.size_bytes)
            .bind(&snapshot.sha256)
            .bind(now.micros())
            .execute(c)
            .await
            .map(|done| done.rows_affected())
    })?;
    Ok(changed == 1)
}

/// It is to go. False when it is being written, or gone.
pub async fn mark_deleted(tx: &mut Tx, id: Uuid) -> Result<bool> {
    let query = "update snapshots set state = 'deleted' where id = $1 and (state <> 'pending' \
                 or not exists (select 1 from jobs j where j.id = snapshots.id or j.id = snapshots.deployment_id))";
    let changed = sql!(tx, |c| sqlx::query(query).bind(id).execute(c).await.map(|done| done.rows_affected()))?;
    Ok(changed == 1)
}

/// Those that are to go.
pub async fn deleted(conn: &mut Conn, limit: i64) -> Result<Vec<Snapshot>> {
    let query = concat!("select ", columns!(), " from snapshots where state = 'deleted' order by id limit $1");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(limit).fetch_all(c).await)?)
}

/// Those of a volume beyond the newest `kept` in this state, of the ones that no user asked for.
pub async fn surplus(conn: &mut Conn, volume_id: Uuid, state: SnapshotState, kept: i64) -> Result<Vec<Snapshot>> {
    let query = concat!(
        "select ",
        columns!(),
        " from snapshots where volume_id = $1 and origin <> 'user' and state = $3 \
         order by id desc limit 1000 offset $2"
    );
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(volume_id).bind(kept).bind(state.as_str()).fetch_all(c).await)?)
}

/// Those of an application that are waiting or being written.
pub async fn pending_of(conn: &mut Conn, application_id: Uuid) -> Result<Vec<Snapshot>> {
    let query =
        concat!("select ", columns!(), " from snapshots where application_id = $1 and state = 'pending' order by id");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(application_id).fetch_all(c).await)?)
}

/// None of them is written any more.
pub async fn end_all_pending(tx: &mut Tx, reason: &str, now: Timestamp) -> Result<()> {
    let query = "update snapshots set state = 'failed', reason = $1, finished_at = $2 where state = 'pending'";
    sql!(tx, |c| sqlx::query(query).bind(reason).bind(now.micros()).execute(c).await.map(drop))?;
    Ok(())
}

pub async fn count_of_organization(conn: &mut Conn, organization_id: Uuid) -> Result<i64> {
    let query = "select count(*) from snapshots where organization_id = $1 and state <> 'deleted'";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(organization_id).fetch_one(c).await)?)
}

/// The file is gone.
pub async fn delete(tx: &mut Tx, id: Uuid) -> Result<()> {
    sql!(tx, |c| sqlx::query("delete from snapshots where id = $1").bind(id).execute(c).await.map(drop))?;
    Ok(())
}
