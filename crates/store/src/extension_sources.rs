//! The texts of extensions that releases are made of, for applications whose source is an extension. Each release keeps its own.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::Timestamp;

use crate::db::sql;
use crate::{Conn, Result, Tx};

#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct ExtensionSource {
    pub release_id: Uuid,
    pub application_id: Uuid,
    /// Deleted, maybe.
    pub extension_id: Uuid,
    /// As it was called when the text was taken.
    pub extension_key: String,
    pub version: String,
    pub content_hash: String,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
    pub yaml_content: String,
}

macro_rules! columns {
    () => {
        "release_id, application_id, extension_id, extension_key, version, content_hash, created_at, yaml_content"
    };
}

/// In the place of one that the release has already.
pub async fn put(tx: &mut Tx, source: &ExtensionSource) -> Result<()> {
    let query = concat!(
        "insert into extension_sources (",
        columns!(),
        ") values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (release_id) do update set extension_id = excluded.extension_id, \
         extension_key = excluded.extension_key, version = excluded.version, content_hash = excluded.content_hash, \
         created_at = excluded.created_at, yaml_content = excluded.yaml_content"
    );
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(source.release_id)
            .bind(source.application_id)
            .bind(source.extension_id)
            .bind(&source.extension_key)
            .bind(&source.version)
            .bind(&source.content_hash)
            .bind(source.created_at.micros())
            .bind(&source.yaml_content)
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

pub async fn of_release(conn: &mut Conn, release_id: Uuid) -> Result<Option<ExtensionSource>> {
    let query = concat!("select ", columns!(), " from extension_sources where release_id = $1");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(release_id).fetch_optional(c).await)?)
}

/// What an application is made of, and the next release of it unless an update is asked for: the text of what is under way, else of what is live, else
/// of what was live last, else of the newest. What is of the live release when its turn comes brings no text.
pub async fn in_use(conn: &mut Conn, application_id: Uuid) -> Result<Option<ExtensionSource>> {
    let query = concat!(
        "select ",
        columns!(),
        " from extension_sources where release_id = (select coalesce( \
         (select d.release_id from deployments d where d.application_id = $1 \
             and d.state in ('queued', 'cloning', 'building', 'deploying') and d.kind not in ('restart', 'restore') \
             order by d.id desc limit 1), \
         (select d.release_id from applications a join deployments d on d.id = a.live_deployment_id where a.id = $1), \
         (select r.id from releases r where r.application_id = $1 and r.live_at is not null and r.removed_at is null \
             order by r.live_at desc, r.id desc limit 1), \
         (select s.release_id from extension_sources s where s.application_id = $1 order by s.release_id desc limit 1)))"
    );
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(application_id).fetch_optional(c).await)?)
}
