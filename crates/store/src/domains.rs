//! The names by which visitors come: each belongs to an application, to something that is installed, or to a status page.

use sqlx::{AssertSqlSafe, FromRow};
use uuid::Uuid;
use windlass_api::Redirect;

use crate::db::{parameters, sql};
use crate::word::Word;
use crate::{Conn, Result};

#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Domain {
    /// Of one that was added to its application.
    pub id: Option<Uuid>,
    pub domain: String,
    pub path: String,
    #[sqlx(try_from = "Word<Redirect>")]
    pub redirect: Redirect,
    pub service: String,
    pub organization_id: Uuid,
    /// Of a status page neither this nor the next is there.
    pub application_id: Option<Uuid>,
    pub installation_id: Option<Uuid>,
}

impl Domain {
    pub const fn is_of_status_page(&self) -> bool {
        self.application_id.is_none() && self.installation_id.is_none()
    }
}

// In this order: PostgreSQL makes a text of a column that is null in the first two.
macro_rules! domains {
    ($rest:literal) => {
        concat!(
            "select n.id, n.domain, n.path, n.redirect, n.service, n.organization_id, n.application_id, n.installation_id from (\
                 select d.id, d.domain, d.path, d.redirect, d.service, a.organization_id, a.id as application_id, null as installation_id, \
                 case when a.wanted <> 'deleted' then $1 else $2 end as is_live \
                 from application_domains d join applications a on a.id = d.application_id union all \
                 select null as id, r.domain, '/' as path, 'none' as redirect, '' as service, i.organization_id, null as application_id, \
                 i.id as installation_id, r.is_live \
                 from installed_routes r join installations i on i.id = r.installation_id union all \
                 select null as id, a.domain, '/' as path, 'none' as redirect, '' as service, a.organization_id, a.id as application_id, \
                 null as installation_id, case when a.wanted <> 'deleted' then $1 else $2 end as is_live \
                 from applications a union all \
                 select null as id, s.domain, '/' as path, 'none' as redirect, '' as service, s.organization_id, null as application_id, \
                 null as installation_id, case when s.enabled then $1 else $2 end as is_live \
                 from status_pages s where s.enabled and s.domain <> '') n where ",
            $rest
        )
    };
}

/// Those that lead to something.
pub async fn of_organization(conn: &mut Conn, organization_id: Uuid) -> Result<Vec<Domain>> {
    let query = domains!("n.is_live = $1 and n.organization_id = $3 order by n.domain, n.path");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(true).bind(false).bind(organization_id).fetch_all(c).await)?)
}

/// The first of those that lead to something. All that have the same name are one organization's.
pub async fn get(conn: &mut Conn, domain: &str) -> Result<Option<Domain>> {
    let query = domains!("n.is_live = $1 and n.domain = $3 order by n.path limit 1");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(true).bind(false).bind(domain).fetch_optional(c).await)?)
}

/// All that have the name, also of what is being deleted or is not routed yet.
pub async fn at(conn: &mut Conn, domain: &str) -> Result<Vec<Domain>> {
    let query = domains!("(n.is_live = $1 or n.is_live = $2) and n.domain = $3 order by n.path");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(true).bind(false).bind(domain).fetch_all(c).await)?)
}

/// Whether another organization has one of these names.
pub async fn are_anothers(conn: &mut Conn, names: &[String], organization_id: Uuid) -> Result<bool> {
    let query = format!(
        "{} n.organization_id <> $3 and n.domain in ({}) limit 1",
        domains!("(n.is_live = $1 or n.is_live = $2) and"),
        parameters(4, names.len())
    );
    let found: Option<Domain> = sql!(conn, |c| {
        let query = sqlx::query_as(AssertSqlSafe(query)).persistent(false).bind(true).bind(false).bind(organization_id);
        names.iter().fold(query, sqlx::query::QueryAs::bind).fetch_optional(c).await
    })?;
    Ok(found.is_some())
}

/// Those for which no certificate was ever ordered by their organization, each name once.
pub async fn without_order(conn: &mut Conn) -> Result<Vec<Domain>> {
    let query = domains!(
        "n.is_live = $1 and not exists (select 1 from certificate_orders o \
         where o.domain = n.domain and o.organization_id = n.organization_id) order by n.domain, n.path"
    );
    let mut all: Vec<Domain> = sql!(conn, |c| sqlx::query_as(query).bind(true).bind(false).fetch_all(c).await)?;
    all.dedup_by(|one, other| one.domain == other.domain);
    Ok(all)
}
