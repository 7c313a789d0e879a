//! The mail server of an organization.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::{SmtpSecurity, Timestamp};

use crate::db::sql;
use crate::word::Word;
use crate::{Conn, Result, Tx};

#[derive(Clone, Debug, FromRow)]
pub struct SmtpConfig {
    pub id: Uuid,
    pub organization_id: Uuid,
    /// The user who saved it last.
    pub user_id: Uuid,
    /// What the API key that saved it last may do, with spaces between the names; none for a login.
    pub key_permissions: Option<String>,
    pub host: String,
    pub port: i64,
    pub username: String,
    pub sealed_password: Option<Vec<u8>>,
    pub from_email: String,
    pub from_name: String,
    #[sqlx(try_from = "Word<SmtpSecurity>")]
    pub security: SmtpSecurity,
    pub is_active: bool,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
    #[sqlx(try_from = "i64")]
    pub updated_at: Timestamp,
}

macro_rules! columns {
    () => {
        "id, organization_id, user_id, key_permissions, host, port, username, sealed_password, from_email, from_name, security, \
         is_active, created_at, updated_at"
    };
}

pub async fn insert(tx: &mut Tx, config: &SmtpConfig) -> Result<()> {
    let query = concat!(
        "insert into smtp_configs (",
        columns!(),
        ") values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)"
    );
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(config.id)
            .bind(config.organization_id)
            .bind(config.user_id)
            .bind(&config.key_permissions)
            .bind(&config.host)
            .bind(config.port)
            .bind(&config.username)
            .bind(&config.sealed_password)
            .bind(&config.from_email)
            .bind(&config.from_name)
            .bind(config.security.as_str())
            .bind(config.is_active)
            .bind(config.created_at.micros())
            .bind(config.updated_at.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

/// Everything but the password: writing the old ciphertext back would undo a rotation of its key.
pub async fn update(tx: &mut Tx, config: &SmtpConfig) -> Result<()> {
    let query = "update smtp_configs set user_id = $1, host = $2, port = $3, username = $4, from_email = $5, \
                 from_name = $6, security = $7, is_active = $8, updated_at = $9, key_permissions = $11 where id = $10";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(config.user_id)
            .bind(&config.host)
            .bind(config.port)
            .bind(&config.username)
            .bind(&config.from_email)
            .bind(&config.from_name)
            .bind(config.security.as_str())
            .bind(config.is_active)
            .bind(config.updated_at.micros())
            .bind(config.id)
            .bind(&config.key_permissions)
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

pub async fn set_password(tx: &mut Tx, id: Uuid, sealed_password: Option<&[u8]>) -> Result<()> {
    let query = "update smtp_configs set sealed_password = $1 where id = $2";
    sql!(tx, |c| sqlx::query(query).bind(sealed_password).bind(id).execute(c).await.map(drop))?;
    Ok(())
}

pub async fn of_organization(conn: &mut Conn, organization_id: Uuid) -> Result<Option<SmtpConfig>> {
    let query = concat!("select ", columns!(), " from smtp_configs where organization_id = $1");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(organization_id).fetch_optional(c).await)?)
}

pub async fn delete(tx: &mut Tx, organization_id: Uuid) -> Result<()> {
    let query = "delete from smtp_configs where organization_id = $1";
    sql!(tx, |c| sqlx::query(query).bind(organization_id).execute(c).await.map(drop))?;
    Ok(())
}
