//! Certificates with their private keys. A row never changes: another certificate is another row.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::Timestamp;

use crate::db::sql;
use crate::{Conn, Result, Tx};

/// What is known of one without its key.
#[derive(Clone, Debug, FromRow)]
pub struct Certificate {
    pub id: Uuid,
    /// None for the server itself: its address, and the names below the base domain.
    pub organization_id: Option<Uuid>,
    /// The user who uploaded it; none for one that Windlass has ordered.
    pub user_id: Option<Uuid>,
    /// Hosts in lower case, separated by spaces; `*.example.org` for every name one level below.
    pub names: String,
    pub issuer: String,
    pub serial_number: String,
    pub fingerprint: String,
    pub key_type: String,
    #[sqlx(try_from = "i64")]
    pub not_before: Timestamp,
    #[sqlx(try_from = "i64")]
    pub not_after: Timestamp,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
}

impl Certificate {
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.split(' ')
    }

    pub fn scope(&self) -> Scope {
        let Self { id, organization_id, ref names, not_before, not_after, .. } = *self;
        Scope { id, organization_id, names: names.clone(), not_before, not_after }
    }
}

/// What decides where a certificate is served.
#[derive(Clone, Debug, FromRow)]
pub struct Scope {
    pub id: Uuid,
    /// As in [`Certificate`].
    pub organization_id: Option<Uuid>,
    /// As in [`Certificate`].
    pub names: String,
    #[sqlx(try_from = "i64")]
    pub not_before: Timestamp,
    #[sqlx(try_from = "i64")]
    pub not_after: Timestamp,
}

impl Scope {
    pub fn is_valid_at(&self, now: Timestamp) -> bool {
        self.not_before <= now && now < self.not_after
    }
}

/// What an edge needs to serve one.
#[derive(Clone, Debug, FromRow)]
pub struct Material {
    pub chain_pem: String,
    pub sealed_key: Vec<u8>,
}

macro_rules! columns {
    () => {
        "id, organization_id, user_id, names, issuer, serial_number, fingerprint, key_type, not_before, not_after, created_at"
    };
}

pub async fn insert(tx: &mut Tx, certificate: &Certificate, material: &Material) -> Result<()> {
    let query = concat!(
        "insert into certificates (",
        columns!(),
        ", chain_pem, sealed_key) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
    );
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(certificate.id)
            .bind(certificate.organization_id)
            .bind(certificate.user_id)
            .bind(&certificate.names)
            .bind(&certificate.issuer)
            .bind(&certificate.serial_number)
            .bind(&certificate.fingerprint)
            .bind(&certificate.key_type)
            .bind(certificate.not_before.micros())
            .bind(certificate.not_after.micros())
            .bind(certificate.created_at.micros())
            .bind(&material.chain_pem)
            .bind(&material.sealed_key)
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

pub async fn get(conn: &mut Conn, id: Uuid) -> Result<Option<Certificate>> {
    let query = concat!("select ", columns!(), " from certificates where id = $1");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(id).fetch_optional(c).await)?)
}

pub async fn material(conn: &mut Conn, id: Uuid) -> Result<Option<Material>> {
    let query = "select chain_pem, sealed_key from certificates where id = $1";
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(id).fetch_optional(c).await)?)
}

/// The newest come first.
pub async fn of_organization(conn: &mut Conn, organization_id: Uuid) -> Result<Vec<Certificate>> {
    let query = concat!(
        "select ",
        columns!(),
        " from certificates where organization_id = $1 order by created_at desc, id desc"
    );
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(organization_id).fetch_all(c).await)?)
}

/// Of the certificates of an organization, and of the server.
pub async fn scopes_of_organization(conn: &mut Conn, organization_id: Uuid) -> Result<Vec<Scope>> {
    let query = "select id, organization_id, names, not_before, not_after from certificates \
                 where organization_id = $1 or organization_id is null";
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(organization_id).fetch_all(c).await)?)
}

/// Of those of the server.
pub async fn scopes_of_server(conn: &mut Conn) -> Result<Vec<Scope>> {
    let query =
        "select id, organization_id, names, not_before, not_after from certificates where organization_id is null";
    Ok(sql!(conn, |c| sqlx::query_as(query).fetch_all(c).await)?)
}

/// Those that members have uploaded and that end before a moment, if they have not ended already.
pub async fn uploaded_that_end(conn: &mut Conn, before: Timestamp, limit: i64) -> Result<Vec<Scope>> {
    let query = "select id, organization_id, names, not_before, not_after from certificates \
                 where user_id is not null and not_after < $1 order by not_after desc, id limit $2";
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(before.micros()).bind(limit).fetch_all(c).await)?)
}

/// Of every certificate of every organization, and of the server.
pub async fn scopes(conn: &mut Conn) -> Result<Vec<Scope>> {
    let query = "select id, organization_id, names, not_before, not_after from certificates";
    Ok(sql!(conn, |c| sqlx::query_as(query).fetch_all(c).await)?)
}

/// Of those that members have uploaded.
pub async fn count_of_organization(conn: &mut Conn, organization_id: Uuid) -> Result<i64> {
    let query = "select count(*) from certificates where organization_id = $1 and user_id is not null";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(organization_id).fetch_one(c).await)?)
}

pub async fn is_there(conn: &mut Conn, organization_id: Option<Uuid>, fingerprint: &str) -> Result<bool> {
    let query = "select count(*) from certificates where organization_id is not distinct from $1 and fingerprint = $2";
    let count: i64 =
        sql!(conn, |c| sqlx::query_scalar(query).bind(organization_id).bind(fingerprint).fetch_one(c).await)?;
    Ok(count > 0)
}

pub async fn delete(tx: &mut Tx, id: Uuid) -> Result<()> {
    let query = "delete from certificates where id = $1";
    sql!(tx, |c| sqlx::query(query).bind(id).execute(c).await.map(drop))?;
    Ok(())
}

/// Those that Windlass has ordered, and that can be served no more.
pub async fn delete_ended(tx: &mut Tx, before: Timestamp) -> Result<u64> {
    let query = "delete from certificates where user_id is null and not_after < $1";
    Ok(sql!(tx, |c| { sqlx::query(query).bind(before.micros()).execute(c).await.map(|done| done.rows_affected()) })?)
}
