//! Certificates that Windlass orders itself: how far each is, and when something is to be done about it.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::Timestamp;

use crate::db::sql;
use crate::{Conn, Result, Tx};

#[derive(Clone, Debug, FromRow)]
pub struct CertificateOrder {
    pub id: Uuid,
    pub organization_id: Uuid,
    pub domain: String,
    /// The address of the authority's directory that was asked last; empty for none yet.
    pub authority: String,
    /// What is under way there; empty for nothing.
    pub order_url: String,
    /// How the authority looks for the proof; empty for none.
    pub way: String,
    pub token: String,
    pub key_authorization: String,
    /// Of the certificate that is under way.
    pub sealed_key: Option<Vec<u8>>,
    /// The one that was issued last.
    pub certificate_id: Option<Uuid>,
    /// Why the last attempt came to nothing; empty if it did not.
    pub problem: String,
    pub failures: i64,
    /// When there is something to do.
    #[sqlx(try_from = "i64")]
    pub next_at: Timestamp,
    /// When the authority was last asked for a certificate.
    pub ordered_at: Option<i64>,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
    #[sqlx(try_from = "i64")]
    pub updated_at: Timestamp,
}

/// What authorities are shown as a proof.
#[derive(Clone, Debug, FromRow)]
pub struct Proof {
    pub id: Uuid,
    pub domain: String,
    pub way: String,
    pub token: String,
    pub key_authorization: String,
}

macro_rules! columns {
    () => {
        "id, organization_id, domain, authority, order_url, way, token, key_authorization, sealed_key, certificate_id, problem, \
         failures, next_at, ordered_at, created_at, updated_at"
    };
}

pub async fn insert(tx: &mut Tx, order: &CertificateOrder) -> Result<()> {
    let query = concat!(
        "insert into certificate_orders (",
        columns!(),
        ") values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)"
    );
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(order.id)
            .bind(order.organization_id)
            .bind(&order.domain)
            .bind(&order.authority)
            .bind(&order.order_url)
            .bind(&order.way)
            .bind(&order.token)
            .bind(&order.key_authorization)
            .bind(&order.sealed_key)
            .bind(order.certificate_id)
            .bind(&order.problem)
            .bind(order.failures)
            .bind(order.next_at.micros())
            .bind(order.ordered_at)
            .bind(order.created_at.micros())
            .bind(order.updated_at.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

/// Everything that changes.
pub async fn update(tx: &mut Tx, order: &CertificateOrder) -> Result<()> {
    let query = "update certificate_orders set authority = $2, order_url = $3, way = $4, token = $5, key_authorization = $6, \
                 sealed_key = $7, certificate_id = $8, problem = $9, failures = $10, next_at = $11, ordered_at = $12, \
                 updated_at = $13 where id = $1";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(order.id)
            .bind(&order.authority)
            .bind(&order.order_url)
            .bind(&order.way)
            .bind(&order.token)
            .bind(&order.key_authorization)
            .bind(&order.sealed_key)
            .bind(order.certificate_id)
            .bind(&order.problem)
            .bind(order.failures)
            .bind(order.next_at.micros())
            .bind(order.ordered_at)
            .bind(order.updated_at.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

pub async fn get(conn: &mut Conn, id: Uuid) -> Result<Option<CertificateOrder>> {
    let query = concat!("select ", columns!(), " from certificate_orders where id = $1");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(id).fetch_optional(c).await)?)
}

pub async fn of_domain(conn: &mut Conn, domain: &str) -> Result<Option<CertificateOrder>> {
    let query = concat!("select ", columns!(), " from certificate_orders where domain = $1");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(domain).fetch_optional(c).await)?)
}

pub async fn of_organization(conn: &mut Conn, organization_id: Uuid) -> Result<Vec<CertificateOrder>> {
    let query = concat!("select ", columns!(), " from certificate_orders where organization_id = $1");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(organization_id).fetch_all(c).await)?)
}

/// Those whose time has come, the longest ago first.
pub async fn due(conn: &mut Conn, now: Timestamp, limit: i64) -> Result<Vec<CertificateOrder>> {
    let query =
        concat!("select ", columns!(), " from certificate_orders where next_at <= $1 order by next_at, id limit $2");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(now.micros()).bind(limit).fetch_all(c).await)?)
}

/// What the edge shows to authorities.
pub async fn proofs(conn: &mut Conn) -> Result<Vec<Proof>> {
    let query = "select id, domain, way, token, key_authorization from certificate_orders where way <> '' order by id";
    Ok(sql!(conn, |c| sqlx::query_as(query).fetch_all(c).await)?)
}

/// How many were ordered since then, of one organization or of all.
pub async fn count_ordered(conn: &mut Conn, organization_id: Option<Uuid>, since: Timestamp) -> Result<i64> {
    let query =
        "select count(*) from certificate_orders where ordered_at > $1 and ($2 is null or organization_id = $2)";
    Ok(sql!(conn, |c| { sqlx::query_scalar(query).bind(since.micros()).bind(organization_id).fetch_one(c).await })?)
}

pub async fn delete(tx: &mut Tx, id: Uuid) -> Result<()> {
    let query = "delete from certificate_orders where id = $1";
    sql!(tx, |c| sqlx::query(query).bind(id).execute(c).await.map(drop))?;
    Ok(())
}
