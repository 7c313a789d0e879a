//! Images that deployments brought to the engine: of compose files, and of applications made from an image.

use std::collections::HashSet;

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::Timestamp;

use crate::db::sql;
use crate::releases::images_in;
use crate::{Conn, Result, Tx};

#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct PulledImage {
    pub id: Uuid,
    pub organization_id: Uuid,
    pub reference: String,
    /// The engine's id of it; empty while it is being pulled.
    pub image_id: String,
    pub bytes: i64,
    /// When a deployment last asked for it.
    #[sqlx(try_from = "i64")]
    pub used_at: Timestamp,
}

/// One that is there already has been used again.
pub async fn note(tx: &mut Tx, image: &PulledImage) -> Result<()> {
    let query = "insert into pulled_images (id, organization_id, reference, image_id, bytes, used_at) \
                 values ($1, $2, $3, $4, $5, $6) on conflict (organization_id, reference, image_id) \
                 do update set bytes = excluded.bytes, used_at = excluded.used_at";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(image.id)
            .bind(image.organization_id)
            .bind(&image.reference)
            .bind(&image.image_id)
            .bind(image.bytes)
            .bind(image.used_at.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

/// Whether a deployment of any organization brought it.
pub async fn is_known(conn: &mut Conn, reference: &str) -> Result<bool> {
    let query = "select id from pulled_images where reference = $1 limit 1";
    let found: Option<Uuid> = sql!(conn, |c| sqlx::query_scalar(query).bind(reference).fetch_optional(c).await)?;
    Ok(found.is_some())
}

/// Nothing is being pulled by this name any more.
pub async fn end_pull(tx: &mut Tx, organization_id: Uuid, reference: &str) -> Result<()> {
    let query = "delete from pulled_images where organization_id = $1 and reference = $2 and image_id = ''";
    sql!(tx, |c| sqlx::query(query).bind(organization_id).bind(reference).execute(c).await.map(drop))?;
    Ok(())
}

/// What the images take that the organization brought, each counted once.
pub async fn bytes_of_organization(conn: &mut Conn, organization_id: Uuid) -> Result<i64> {
    let query = "select cast(coalesce(sum(p.bytes), 0) as bigint) from \
                 (select distinct image_id, bytes from pulled_images where organization_id = $1) p";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(organization_id).fetch_one(c).await)?)
}

/// Those that no deployment has asked for since then, and no release needs that can be made live.
pub async fn unwanted(conn: &mut Conn, since: Timestamp) -> Result<Vec<PulledImage>> {
    let query = "select id, organization_id, reference, image_id, bytes, used_at from pulled_images where used_at < $1";
    let old: Vec<PulledImage> = sql!(conn, |c| sqlx::query_as(query).bind(since.micros()).fetch_all(c).await)?;
    if old.is_empty() {
        return Ok(old);
    }
    let query = "select a.organization_id, r.services from releases r join applications a on a.id = r.application_id \
                 left join deployments d on d.id = a.live_deployment_id \
                 where r.services <> '' and (r.removed_at is null or d.release_id = r.id)";
    let services: Vec<(Uuid, String)> = sql!(conn, |c| sqlx::query_as(query).fetch_all(c).await)?;
    let query = "select a.organization_id, r.image_id from releases r join applications a on a.id = r.application_id \
                 left join deployments d on d.id = a.live_deployment_id \
                 where r.image_id <> '' and (r.removed_at is null or d.release_id = r.id)";
    let images: Vec<(Uuid, String)> = sql!(conn, |c| sqlx::query_as(query).fetch_all(c).await)?;
    let needed: HashSet<(Uuid, String)> = services
        .into_iter()
        .flat_map(|(organization, services)| {
            images_in(&services).into_iter().map(move |image| (organization, image.id))
        })
        .chain(images)
        .collect();
    Ok(old.into_iter().filter(|image| !needed.contains(&(image.organization_id, image.image_id.clone()))).collect())
}

/// Whether another row has it, or an extension runs with it.
pub async fn is_needed_elsewhere(conn: &mut Conn, image: &PulledImage) -> Result<bool> {
    let query = "select id from pulled_images where image_id = $1 and id <> $2 \
                 union all select id from installed_services where image_id = $1 limit 1";
    let found: Option<Uuid> =
        sql!(conn, |c| sqlx::query_scalar(query).bind(&image.image_id).bind(image.id).fetch_optional(c).await)?;
    Ok(found.is_some())
}

pub async fn delete(tx: &mut Tx, id: Uuid) -> Result<()> {
    sql!(tx, |c| sqlx::query("delete from pulled_images where id = $1").bind(id).execute(c).await.map(drop))?;
    Ok(())
}
