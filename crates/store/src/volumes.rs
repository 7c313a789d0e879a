//! Volumes: where applications write what must stay. The row comes before the volume on the engine and goes after it.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::{Timestamp, VolumeOrigin};

use crate::db::{among, sql};
use crate::word::Word;
use crate::{Conn, Result, Tx, snapshots};

/// `deleted_at` of one that is about to go, and cannot be attached any more.
pub const GIVEN_UP: i64 = 0;

#[derive(Clone, Debug, FromRow)]
pub struct Volume {
    pub id: Uuid,
    pub organization_id: Uuid,
    /// None once the application was deleted.
    pub application_id: Option<Uuid>,
    /// What an extension has installed, which has it instead of an application.
    pub installation_id: Option<Uuid>,
    /// Or of the installation.
    pub application_name: String,
    pub name: String,
    /// Where it is in the container.
    pub path: String,
    pub shared: bool,
    /// A folder of the machine instead of a volume of the engine; empty for none.
    pub host_path: String,
    pub engine_name: String,
    #[sqlx(try_from = "Word<VolumeOrigin>")]
    pub origin: VolumeOrigin,
    pub size_bytes: Option<i64>,
    pub measured_at: Option<i64>,
    /// None as long as no container had it.
    pub used_at: Option<i64>,
    pub snapshot_hours: i64,
    pub kept_snapshots: i64,
    /// Commands in the container, instead of pausing it; empty for none.
    pub before_snapshot: String,
    pub after_snapshot: String,
    pub next_snapshot_at: Option<i64>,
    pub deleted_at: Option<i64>,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
    #[sqlx(try_from = "i64")]
    pub updated_at: Timestamp,
}

macro_rules! columns {
    () => {
        "id, organization_id, application_id, installation_id, application_name, name, path, shared, host_path, engine_name, origin, \
         size_bytes, measured_at, used_at, snapshot_hours, kept_snapshots, before_snapshot, after_snapshot, next_snapshot_at, \
         deleted_at, created_at, updated_at"
    };
}

pub async fn insert(tx: &mut Tx, volume: &Volume) -> Result<()> {
    let query = concat!(
        "insert into volumes (",
        columns!(),
        ") values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)"
    );
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(volume.id)
            .bind(volume.organization_id)
            .bind(volume.application_id)
            .bind(volume.installation_id)
            .bind(&volume.application_name)
            .bind(&volume.name)
            .bind(&volume.path)
            .bind(volume.shared)
            .bind(&volume.host_path)
            .bind(&volume.engine_name)
            .bind(volume.origin.as_str())
            .bind(volume.size_bytes)
            .bind(volume.measured_at)
            .bind(volume.used_at)
            .bind(volume.snapshot_hours)
            .bind(volume.kept_snapshots)
            .bind(&volume.before_snapshot)
            .bind(&volume.after_snapshot)
            .bind(volume.next_snapshot_at)
            .bind(volume.deleted_at)
            .bind(volume.created_at.micros())
            .bind(volume.updated_at.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

/// What users change, and where it belongs.
pub async fn update(tx: &mut Tx, volume: &Volume) -> Result<()> {
    let query = "update volumes set application_id = $2, application_name = $3, name = $4, path = $5, shared = $6, \
                 snapshot_hours = $7, kept_snapshots = $8, next_snapshot_at = $9, deleted_at = $10, updated_at = $11, \
                 before_snapshot = $12, after_snapshot = $13, installation_id = $14 where id = $1";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(volume.id)
            .bind(volume.application_id)
            .bind(&volume.application_name)
            .bind(&volume.name)
            .bind(&volume.path)
            .bind(volume.shared)
            .bind(volume.snapshot_hours)
            .bind(volume.kept_snapshots)
            .bind(volume.next_snapshot_at)
            .bind(volume.deleted_at)
            .bind(volume.updated_at.micros())
            .bind(&volume.before_snapshot)
            .bind(&volume.after_snapshot)
            .bind(volume.installation_id)
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

/// Those of an installation that are not deleted, in the order of their names.
pub async fn of_installation(conn: &mut Conn, installation_id: Uuid) -> Result<Vec<Volume>> {
    of_installations(conn, &[installation_id]).await
}

/// Those of several.
pub async fn of_installations(conn: &mut Conn, installation_ids: &[Uuid]) -> Result<Vec<Volume>> {
    let query = concat!(
        "select ",
        columns!(),
        " from volumes where installation_id in ({}) and deleted_at is null order by name"
    );
    among(conn, query, installation_ids).await
}

/// Those that installations of this name have left behind, the newest first.
pub async fn left_behind(conn: &mut Conn, organization_id: Uuid, installation_name: &str) -> Result<Vec<Volume>> {
    let query = concat!(
        "select ",
        columns!(),
        " from volumes where organization_id = $1 and application_name = $2 and origin = 'extension' \
         and application_id is null and installation_id is null and deleted_at is null order by updated_at desc, id desc"
    );
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(organization_id).bind(installation_name).fetch_all(c).await)?)
}

/// Those of an application that are not deleted, in the order of their names.
pub async fn of_application(conn: &mut Conn, application_id: Uuid) -> Result<Vec<Volume>> {
    let query =
        concat!("select ", columns!(), " from volumes where application_id = $1 and deleted_at is null order by name");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(application_id).fetch_all(c).await)?)
}

/// One that is not deleted.
pub async fn by_name(conn: &mut Conn, application_id: Uuid, name: &str) -> Result<Option<Volume>> {
    let query =
        concat!("select ", columns!(), " from volumes where application_id = $1 and name = $2 and deleted_at is null");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(application_id).bind(name).fetch_optional(c).await)?)
}

pub async fn by_engine_name(conn: &mut Conn, engine_name: &str) -> Result<Option<Volume>> {
    let query = concat!("select ", columns!(), " from volumes where engine_name = $1");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(engine_name).fetch_optional(c).await)?)
}

pub async fn get(conn: &mut Conn, id: Uuid) -> Result<Option<Volume>> {
    let query = concat!("select ", columns!(), " from volumes where id = $1");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(id).fetch_optional(c).await)?)
}

/// The newest of an organization first, those too that wait to be removed and those whose application was deleted; not those that are about to
/// go.
pub async fn of_organization(conn: &mut Conn, organization_id: Uuid, limit: i64) -> Result<Vec<Volume>> {
    let query = concat!(
        "select ",
        columns!(),
        " from volumes where organization_id = $1 and coalesce(deleted_at, 1) > 0 \
         order by id desc limit $2"
    );
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(organization_id).bind(limit).fetch_all(c).await)?)
}

/// Those that wait to be removed too.
pub async fn count_all(conn: &mut Conn, organization_id: Uuid) -> Result<i64> {
    let query = "select count(*) from volumes where organization_id = $1";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(organization_id).fetch_one(c).await)?)
}

/// Those that are not deleted.
pub async fn count_of_organization(conn: &mut Conn, organization_id: Uuid) -> Result<i64> {
    let query = "select count(*) from volumes where organization_id = $1 and deleted_at is null";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(organization_id).fetch_one(c).await)?)
}

/// What an organization has stored in volumes, as they were last measured, and in snapshots; those that wait to be removed too.
pub async fn data_of_organization(conn: &mut Conn, organization_id: Uuid) -> Result<i64> {
    Ok(bytes_of_organization(conn, organization_id).await?
        + snapshots::bytes_of_organization(conn, organization_id).await?)
}

/// The part of it that is in volumes.
pub async fn bytes_of_organization(conn: &mut Conn, organization_id: Uuid) -> Result<i64> {
    let query = "select cast(coalesce(sum(size_bytes), 0) as bigint) from volumes where organization_id = $1";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(organization_id).fetch_one(c).await)?)
}

/// The application has another name.
pub async fn set_application_name(tx: &mut Tx, application_id: Uuid, name: &str) -> Result<()> {
    for query in [
        "update volumes set application_name = $2 where application_id = $1",
        "update snapshots set application_name = $2 where application_id = $1",
    ] {
        sql!(tx, |c| sqlx::query(query).bind(application_id).bind(name).execute(c).await.map(drop))?;
    }
    Ok(())
}

/// A container that has it runs.
pub async fn set_used(tx: &mut Tx, engine_name: &str, now: Timestamp) -> Result<()> {
    let query = "update volumes set used_at = $2 where engine_name = $1";
    sql!(tx, |c| sqlx::query(query).bind(engine_name).bind(now.micros()).execute(c).await.map(drop))?;
    Ok(())
}

pub async fn set_size(tx: &mut Tx, engine_name: &str, bytes: i64, now: Timestamp) -> Result<()> {
    let query = "update volumes set size_bytes = $2, measured_at = $3 where engine_name = $1";
    sql!(tx, |c| sqlx::query(query).bind(engine_name).bind(bytes).bind(now.micros()).execute(c).await.map(drop))?;
    Ok(())
}

/// Each becomes what the other was on the engine: what the first had is now the second's, with its size and last use.
pub async fn exchange(tx: &mut Tx, first: &Volume, second: &Volume) -> Result<()> {
    // A name is there once only, so it is put aside in between.
    let aside = format!("{}-aside", first.engine_name);
    let query = "update volumes set engine_name = $2, size_bytes = $3, measured_at = $4, used_at = $5 where id = $1";
    let steps =
        [(first.id, &aside, first), (second.id, &first.engine_name, first), (first.id, &second.engine_name, second)];
    for (id, engine_name, from) in steps {
        sql!(tx, |c| {
            sqlx::query(query)
                .bind(id)
                .bind(engine_name)
                .bind(from.size_bytes)
                .bind(from.measured_at)
                .bind(from.used_at)
                .execute(c)
                .await
                .map(drop)
        })?;
    }
    Ok(())
}

/// A deleted one goes now: it cannot be attached any more.
pub async fn give_up(tx: &mut Tx, id: Uuid) -> Result<()> {
    let query = "update volumes set deleted_at = 0 where id = $1 and deleted_at is not null";
    sql!(tx, |c| sqlx::query(query).bind(id).execute(c).await.map(drop))?;
    Ok(())
}

/// When the next snapshot is due.
pub async fn set_next_snapshot(tx: &mut Tx, id: Uuid, at: Option<Timestamp>) -> Result<()> {
    let query = "update volumes set next_snapshot_at = $2 where id = $1";
    sql!(tx, |c| sqlx::query(query).bind(id).bind(at.map(Timestamp::micros)).execute(c).await.map(drop))?;
    Ok(())
}

/// Those that were deleted before a moment.
pub async fn deleted_before(conn: &mut Conn, before: Timestamp, limit: i64) -> Result<Vec<Volume>> {
    let query = concat!("select ", columns!(), " from volumes where deleted_at <= $1 order by deleted_at limit $2");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(before.micros()).bind(limit).fetch_all(c).await)?)
}

/// Those whose next snapshot is due, the longest waiting first.
pub async fn due(conn: &mut Conn, now: Timestamp, limit: i64) -> Result<Vec<Volume>> {
    let query = concat!(
        "select ",
        columns!(),
        " from volumes where next_snapshot_at <= $1 and deleted_at is null and application_id is not null \
         order by next_snapshot_at limit $2"
    );
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(now.micros()).bind(limit).fetch_all(c).await)?)
}

/// The engine has it no more.
pub async fn delete(tx: &mut Tx, id: Uuid) -> Result<()> {
    let query = "delete from volumes where id = $1 and deleted_at is not null";
    sql!(tx, |c| sqlx::query(query).bind(id).execute(c).await.map(drop))?;
    Ok(())
}

/// Those of another installation, as far as this one is concerned: it has other names for what it will make.
pub async fn rename_all(tx: &mut Tx, ending: &str) -> Result<()> {
    let query = "update volumes set engine_name = engine_name || '-' || $1";
    sql!(tx, |c| sqlx::query(query).bind(ending).execute(c).await.map(drop))?;
    Ok(())
}
