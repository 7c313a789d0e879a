//! What was done, by whom. Written in the transaction of the change itself, so that neither exists without the other.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::Timestamp;

use crate::db::sql;
use crate::{Conn, Result, Tx};

#[derive(Clone, Debug, FromRow)]
pub struct Entry {
    pub id: Uuid,
    /// Without one the entry belongs to the instance.
    pub organization_id: Option<Uuid>,
    pub actor_id: Option<Uuid>,
    pub actor: String,
    pub action: String,
    pub resource: String,
    pub resource_id: String,
    /// A JSON object with string values. Never a secret.
    pub metadata: String,
    pub ip_address: String,
    pub request_id: String,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
}

pub async fn insert(tx: &mut Tx, entry: &Entry) -> Result<()> {
    let query = "insert into audit_log (id, organization_id, actor_id, actor, action, resource, resource_id, \
                 metadata, ip_address, request_id, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(entry.id)
            .bind(entry.organization_id)
            .bind(entry.actor_id)
            .bind(&entry.actor)
            .bind(&entry.action)
            .bind(&entry.resource)
            .bind(&entry.resource_id)
            .bind(&entry.metadata)
            .bind(&entry.ip_address)
            .bind(&entry.request_id)
            .bind(entry.created_at.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

/// The newest entries of an organization, or of the instance.
pub async fn newest(conn: &mut Conn, organization_id: Option<Uuid>, limit: i64) -> Result<Vec<Entry>> {
    let query = "select id, organization_id, actor_id, actor, action, resource, resource_id, metadata, ip_address, \
                 request_id, created_at from audit_log \
                 where organization_id = $1 or ($1 is null and organization_id is null) order by id desc limit $2";
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(organization_id).bind(limit).fetch_all(c).await)?)
}
