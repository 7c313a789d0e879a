//! What visitors of an application meet before it: networks, passwords, limits. What is in it is known to the server; here it is a text.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::Timestamp;

use crate::db::sql;
use crate::{Conn, Result, Tx};

#[derive(Clone, Debug, FromRow)]
pub struct ApplicationAccess {
    pub application_id: Uuid,
    /// JSON.
    pub settings: String,
}

/// In the place of what was there.
pub async fn put(tx: &mut Tx, access: &ApplicationAccess, now: Timestamp) -> Result<()> {
    let query = "insert into application_access (application_id, settings, updated_at) values ($1, $2, $3) \
                 on conflict (application_id) do update set settings = excluded.settings, updated_at = excluded.updated_at";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(access.application_id)
            .bind(&access.settings)
            .bind(now.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

pub async fn get(conn: &mut Conn, application_id: Uuid) -> Result<Option<String>> {
    let query = "select settings from application_access where application_id = $1";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(application_id).fetch_optional(c).await)?)
}

/// Bytes of all that an organization has, with those of previews, which have their application's.
pub async fn bytes_of_organization(conn: &mut Conn, organization_id: Uuid) -> Result<i64> {
    let query = "select cast(coalesce(sum(octet_length(x.settings) * (1 + (select count(*) from previews p where p.application_id = a.id))), 0) as bigint) \
                 from application_access x join applications a on a.id = x.application_id where a.organization_id = $1";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(organization_id).fetch_one(c).await)?)
}

/// What an application or a preview of this organization has.
#[derive(Clone, Debug, FromRow)]
pub struct RoutedAccess {
    pub application_id: Uuid,
    pub organization_id: Uuid,
    pub settings: String,
}

/// Of every application, and of every preview as its application has it.
pub async fn all(conn: &mut Conn) -> Result<Vec<RoutedAccess>> {
    let query = "select x.application_id, a.organization_id, x.settings from application_access x \
                 join applications a on a.id = x.application_id union all \
                 select p.id as application_id, a.organization_id, x.settings from application_access x \
                 join applications a on a.id = x.application_id join previews p on p.application_id = x.application_id";
    Ok(sql!(conn, |c| sqlx::query_as(query).fetch_all(c).await)?)
}
