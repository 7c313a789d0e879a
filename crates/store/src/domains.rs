//! The names by which visitors come: each belongs to an application, or to something that is installed.

use sqlx::FromRow;
use uuid::Uuid;

use crate::db::sql;
use crate::{Conn, Result};

#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Domain {
    pub domain: String,
    pub organization_id: Uuid,
    pub application_id: Option<Uuid>,
    pub installation_id: Option<Uuid>,
}

macro_rules! domains {
    ($which:literal) => {
        concat!(
            "select n.domain, n.organization_id, n.application_id, n.installation_id from (\
                 select a.domain, a.organization_id, a.id as application_id, null as installation_id \
                 from applications a where a.wanted <> 'deleted' union all \
                 select r.domain, i.organization_id, null as application_id, i.id as installation_id \
                 from installed_routes r join installations i on i.id = r.installation_id where r.is_live = $1) n where ",
            $which,
            " order by n.domain"
        )
    };
}

pub async fn of_organization(conn: &mut Conn, organization_id: Uuid) -> Result<Vec<Domain>> {
    let query = domains!("n.organization_id = $2");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(true).bind(organization_id).fetch_all(c).await)?)
}

pub async fn get(conn: &mut Conn, domain: &str) -> Result<Option<Domain>> {
    let query = domains!("n.domain = $2");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(true).bind(domain).fetch_optional(c).await)?)
}

/// Those for which no certificate was ever ordered by their organization.
pub async fn without_order(conn: &mut Conn) -> Result<Vec<Domain>> {
    let query = domains!(
        "not exists (select 1 from certificate_orders o where o.domain = n.domain and o.organization_id = n.organization_id)"
    );
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(true).fetch_all(c).await)?)
}
