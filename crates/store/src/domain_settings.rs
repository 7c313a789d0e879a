//! What organizations have said about their domains.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::Timestamp;

use crate::db::sql;
use crate::{Conn, Result, Tx};

#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct DomainSettings {
    pub domain: String,
    pub organization_id: Uuid,
    pub https_only: bool,
    pub certificate_id: Option<Uuid>,
}

impl DomainSettings {
    /// As long as nothing was said.
    pub fn usual(domain: &str, organization_id: Uuid) -> Self {
        Self { domain: domain.to_owned(), organization_id, https_only: true, certificate_id: None }
    }
}

/// In the place of what was said before, by whichever organization.
pub async fn put(tx: &mut Tx, settings: &DomainSettings, now: Timestamp) -> Result<()> {
    let query = "insert into domain_settings (domain, organization_id, https_only, certificate_id, updated_at) \
                 values ($1, $2, $3, $4, $5) on conflict (domain) do update set organization_id = excluded.organization_id, \
                 https_only = excluded.https_only, certificate_id = excluded.certificate_id, updated_at = excluded.updated_at";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(&settings.domain)
            .bind(settings.organization_id)
            .bind(settings.https_only)
            .bind(settings.certificate_id)
            .bind(now.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

pub async fn all(conn: &mut Conn) -> Result<Vec<DomainSettings>> {
    let query = "select domain, organization_id, https_only, certificate_id from domain_settings";
    Ok(sql!(conn, |c| sqlx::query_as(query).fetch_all(c).await)?)
}

pub async fn of_organization(conn: &mut Conn, organization_id: Uuid) -> Result<Vec<DomainSettings>> {
    let query =
        "select domain, organization_id, https_only, certificate_id from domain_settings where organization_id = $1";
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(organization_id).fetch_all(c).await)?)
}

/// Those of domains that nothing has any more, if they were last changed before then. How many those were.
pub async fn forget_unused(tx: &mut Tx, before: Timestamp) -> Result<u64> {
    let query = "delete from domain_settings where updated_at < $1 \
                 and not exists (select 1 from applications a where a.domain = domain_settings.domain) \
                 and not exists (select 1 from application_domains d where d.domain = domain_settings.domain) \
                 and not exists (select 1 from installed_routes r where r.domain = domain_settings.domain) \
                 and not exists (select 1 from status_pages s where s.domain = domain_settings.domain)";
    Ok(sql!(tx, |c| sqlx::query(query).bind(before.micros()).execute(c).await.map(|done| done.rows_affected()))?)
}
