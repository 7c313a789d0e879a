//! Domains of applications beside their main ones.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::{Redirect, Timestamp};

use crate::db::sql;
use crate::word::Word;
use crate::{Conn, Result, Tx};

#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct ApplicationDomain {
    pub id: Uuid,
    pub application_id: Uuid,
    pub domain: String,
    pub path: String,
    #[sqlx(try_from = "Word<Redirect>")]
    pub redirect: Redirect,
    /// The service of a compose file that it leads to; empty for the one that visitors of the main domain reach.
    pub service: String,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select d.id, d.application_id, d.domain, d.path, d.redirect, d.service, d.created_at from application_domains d ",
            $rest
        )
    };
}

pub async fn insert(tx: &mut Tx, domain: &ApplicationDomain) -> Result<()> {
    let query = "insert into application_domains (id, application_id, domain, path, redirect, service, created_at) \
                 values ($1, $2, $3, $4, $5, $6, $7)";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(domain.id)
            .bind(domain.application_id)
            .bind(&domain.domain)
            .bind(&domain.path)
            .bind(domain.redirect.as_str())
            .bind(&domain.service)
            .bind(domain.created_at.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

/// False if it was gone already.
pub async fn delete(tx: &mut Tx, id: Uuid) -> Result<bool> {
    let query = "delete from application_domains where id = $1";
    Ok(sql!(tx, |c| sqlx::query(query).bind(id).execute(c).await.map(|done| done.rows_affected() > 0))?)
}

pub async fn of_application(conn: &mut Conn, application_id: Uuid) -> Result<Vec<ApplicationDomain>> {
    let query = select!("where d.application_id = $1 order by d.domain, d.path");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(application_id).fetch_all(c).await)?)
}

/// Of applications that are not being deleted: those are not routed.
pub async fn routed(conn: &mut Conn) -> Result<Vec<ApplicationDomain>> {
    let query = select!(
        "join applications a on a.id = d.application_id where a.wanted <> 'deleted' order by d.application_id, d.id"
    );
    Ok(sql!(conn, |c| sqlx::query_as(query).fetch_all(c).await)?)
}

pub async fn count_of_organization(conn: &mut Conn, organization_id: Uuid) -> Result<i64> {
    let query = "select count(*) from application_domains d join applications a on a.id = d.application_id \
                 where a.organization_id = $1";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(organization_id).fetch_one(c).await)?)
}
