//! Certificates that Windlass orders itself: how far each is, and when something is to be done about it.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::Timestamp;

use crate::db::sql;
use crate::{Conn, Error, Result, Tx};

#[derive(Clone, Debug, FromRow)]
pub struct CertificateOrder {
    pub id: Uuid,
    /// None for the server itself: its address, and the names below the base domain.
    pub organization_id: Option<Uuid>,
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
    /// The job that was queued last; it may be gone.
    pub job_id: Option<Uuid>,
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
         failures, next_at, job_id, ordered_at, created_at, updated_at"
    };
}

pub async fn insert(tx: &mut Tx, order: &CertificateOrder) -> Result<()> {
    let query = concat!(
        "insert into certificate_orders (",
        columns!(),
        ") values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)"
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
            .bind(order.job_id)
            .bind(order.ordered_at)
            .bind(order.created_at.micros())
            .bind(order.updated_at.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

/// Everything that changes but the key, which a rotation of the master key may have written anew; it goes when nothing is under way. Fails with
/// [`Error::Lost`] when the order is gone.
pub async fn update(tx: &mut Tx, order: &CertificateOrder) -> Result<()> {
    let query = "update certificate_orders set authority = $2, order_url = $3, way = $4, token = $5, key_authorization = $6, \
                 sealed_key = case when $3 = '' then null else sealed_key end, certificate_id = $7, problem = $8, failures = $9, \
                 next_at = $10, ordered_at = $11, updated_at = $12 where id = $1";
    let updated = sql!(tx, |c| {
        sqlx::query(query)
            .bind(order.id)
            .bind(&order.authority)
            .bind(&order.order_url)
            .bind(&order.way)
            .bind(&order.token)
            .bind(&order.key_authorization)
            .bind(order.certificate_id)
            .bind(&order.problem)
            .bind(order.failures)
            .bind(order.next_at.micros())
            .bind(order.ordered_at)
            .bind(order.updated_at.micros())
            .execute(c)
            .await
            .map(|done| done.rows_affected())
    })?;
    if updated == 1 { Ok(()) } else { Err(Error::Lost) }
}

pub async fn set_sealed_key(tx: &mut Tx, id: Uuid, sealed_key: Option<&[u8]>) -> Result<()> {
    let query = "update certificate_orders set sealed_key = $2 where id = $1";
    sql!(tx, |c| sqlx::query(query).bind(id).bind(sealed_key).execute(c).await.map(drop))?;
    Ok(())
}

/// The job that works on it next.
pub async fn set_job(tx: &mut Tx, id: Uuid, job_id: Uuid) -> Result<()> {
    let query = "update certificate_orders set job_id = $2 where id = $1";
    sql!(tx, |c| sqlx::query(query).bind(id).bind(job_id).execute(c).await.map(drop))?;
    Ok(())
}

/// One that has failed is tried now. False when it has not failed.
pub async fn try_now(tx: &mut Tx, id: Uuid, now: Timestamp) -> Result<bool> {
    let query = "update certificate_orders set next_at = $2, problem = '' where id = $1 and problem <> ''";
    let tried =
        sql!(tx, |c| sqlx::query(query).bind(id).bind(now.micros()).execute(c).await.map(|done| done.rows_affected()))?;
    Ok(tried == 1)
}

/// The organization's certificates have changed: what has not failed is looked at again.
pub async fn look_now(tx: &mut Tx, organization_id: Uuid, now: Timestamp) -> Result<()> {
    let query =
        "update certificate_orders set next_at = $2 where organization_id = $1 and problem = '' and next_at > $2";
    sql!(tx, |c| sqlx::query(query).bind(organization_id).bind(now.micros()).execute(c).await.map(drop))?;
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

/// Those whose time has come and that no job is for, the longest ago first, and of each organization a few.
pub async fn due(conn: &mut Conn, now: Timestamp, of_each: i64, limit: i64) -> Result<Vec<CertificateOrder>> {
    let query = concat!(
        "select ",
        columns!(),
        " from (select o.*, row_number() over (partition by o.organization_id order by o.next_at, o.id) as place \
         from certificate_orders o where o.next_at <= $1 and not exists (select 1 from jobs j where j.id = o.job_id)) d \
         where place <= $2 order by next_at, id limit $3"
    );
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(now.micros()).bind(of_each).bind(limit).fetch_all(c).await)?)
}

/// What the edge shows to authorities.
pub async fn proofs(conn: &mut Conn, limit: i64) -> Result<Vec<Proof>> {
    let query = "select id, domain, way, token, key_authorization from certificate_orders where token <> '' and way <> 'dns' order by id limit $1";
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(limit).fetch_all(c).await)?)
}

pub async fn delete(tx: &mut Tx, id: Uuid) -> Result<()> {
    let query = "delete from certificate_orders where id = $1";
    sql!(tx, |c| sqlx::query(query).bind(id).execute(c).await.map(drop))?;
    Ok(())
}
