//! Status pages of organizations: where they are, and what they show.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::{Timestamp, UptimeState, Wanted};

use crate::db::sql;
use crate::word::Word;
use crate::{Conn, Result, Tx};

#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct StatusPage {
    pub organization_id: Uuid,
    pub enabled: bool,
    pub title: String,
    /// Empty for none.
    pub domain: String,
    /// Another one with each change.
    pub edition: Uuid,
    #[sqlx(try_from = "i64")]
    pub updated_at: Timestamp,
}

macro_rules! columns {
    () => {
        "organization_id, enabled, title, domain, edition, updated_at"
    };
}

/// In the place of what was there.
pub async fn put(tx: &mut Tx, page: &StatusPage) -> Result<()> {
    let query = concat!(
        "insert into status_pages (",
        columns!(),
        ") values ($1, $2, $3, $4, $5, $6) on conflict (organization_id) do update set enabled = excluded.enabled, \
         title = excluded.title, domain = excluded.domain, edition = excluded.edition, updated_at = excluded.updated_at"
    );
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(page.organization_id)
            .bind(page.enabled)
            .bind(&page.title)
            .bind(&page.domain)
            .bind(page.edition)
            .bind(page.updated_at.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

pub async fn get(conn: &mut Conn, organization_id: Uuid) -> Result<Option<StatusPage>> {
    let query = concat!("select ", columns!(), " from status_pages where organization_id = $1");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(organization_id).fetch_optional(c).await)?)
}

/// Those that are on, in the order of their organizations.
pub async fn on(conn: &mut Conn) -> Result<Vec<StatusPage>> {
    let query = concat!("select ", columns!(), " from status_pages where enabled order by organization_id");
    Ok(sql!(conn, |c| sqlx::query_as(query).fetch_all(c).await)?)
}

/// Turns it off, as where its domain is another organization's. False if it was off already.
pub async fn turn_off(tx: &mut Tx, organization_id: Uuid, edition: Uuid, now: Timestamp) -> Result<bool> {
    let query =
        "update status_pages set enabled = $2, edition = $3, updated_at = $4 where organization_id = $1 and enabled";
    let changed = sql!(tx, |c| {
        let query = sqlx::query(query).bind(organization_id).bind(false).bind(edition).bind(now.micros());
        query.execute(c).await.map(|done| done.rows_affected())
    })?;
    Ok(changed == 1)
}

#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct PageApplication {
    pub application_id: Uuid,
    /// What the public reads.
    pub name: String,
}

/// In the place of those that were there, in this order. They are the organization's.
pub async fn set_applications(tx: &mut Tx, organization_id: Uuid, all: &[PageApplication]) -> Result<()> {
    let query = "delete from status_page_applications where organization_id = $1";
    sql!(tx, |c| sqlx::query(query).bind(organization_id).execute(c).await.map(drop))?;
    let query =
        "insert into status_page_applications (organization_id, application_id, name, place) values ($1, $2, $3, $4)";
    for (place, application) in (0_i64..).zip(all) {
        sql!(tx, |c| {
            let query = sqlx::query(query).bind(organization_id).bind(application.application_id);
            query.bind(&application.name).bind(place).execute(c).await.map(drop)
        })?;
    }
    Ok(())
}

/// In the order in which they are shown.
pub async fn applications(conn: &mut Conn, organization_id: Uuid) -> Result<Vec<PageApplication>> {
    let query = "select application_id, name from status_page_applications where organization_id = $1 order by place";
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(organization_id).fetch_all(c).await)?)
}

/// What a page that is on shows of an application. One without an uptime check has no state.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Shown {
    pub organization_id: Uuid,
    pub application_id: Uuid,
    pub name: String,
    #[sqlx(try_from = "Word<Wanted>")]
    pub wanted: Wanted,
    pub state: Option<String>,
    pub checked_at: Option<i64>,
    pub interval_seconds: Option<i64>,
    pub timeout_seconds: Option<i64>,
    pub next_at: Option<i64>,
}

impl Shown {
    pub fn state(&self) -> Option<UptimeState> {
        self.state.as_deref().and_then(|state| UptimeState::try_from(state).ok())
    }
}

/// Of all pages that are on, each in its order.
pub async fn shown(conn: &mut Conn) -> Result<Vec<Shown>> {
    let query = "select s.organization_id, s.application_id, s.name, a.wanted, u.state, u.checked_at, u.interval_seconds, \
                 u.timeout_seconds, u.next_at from status_pages p \
                 join status_page_applications s on s.organization_id = p.organization_id \
                 join applications a on a.id = s.application_id \
                 left join uptime u on u.application_id = s.application_id \
                 where p.enabled order by s.organization_id, s.place";
    Ok(sql!(conn, |c| sqlx::query_as(query).fetch_all(c).await)?)
}
