//! Columns that hold ciphertexts. A ciphertext begins with the id of the key that it is under, so that what still is
//! under an old key can be found.

use sqlx::{AssertSqlSafe, FromRow};
use uuid::Uuid;

use crate::db::sql;
use crate::{Conn, Result, Tx};

/// The table's rows have a UUID called `id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    pub table: &'static str,
    pub name: &'static str,
}

pub const INSTANCE_SECRET: Column = Column { table: "instance_secrets", name: "sealed_value" };

pub const TOTP_SECRET: Column = Column { table: "second_factors", name: "sealed_secret" };
pub const WEBHOOK_URL: Column = Column { table: "webhook_configs", name: "sealed_url" };
pub const SIGNING_SECRET: Column = Column { table: "webhook_configs", name: "sealed_secret" };
pub const PREVIOUS_SIGNING_SECRET: Column = Column { table: "webhook_configs", name: "sealed_previous_secret" };
pub const NOTICE_MESSAGE: Column = Column { table: "notices", name: "sealed_message" };
pub const SMTP_PASSWORD: Column = Column { table: "smtp_configs", name: "sealed_password" };
pub const APPLICATION_VARIABLES: Column = Column { table: "applications", name: "sealed_variables" };
pub const APPLICATION_CREDENTIALS: Column = Column { table: "applications", name: "sealed_credentials" };
pub const APPLICATION_WEBHOOK: Column = Column { table: "applications", name: "sealed_webhook" };
pub const CONNECTION_TOKEN: Column = Column { table: "connections", name: "sealed_token" };
pub const CONNECTION_APP: Column = Column { table: "connections", name: "sealed_app" };
pub const REGISTRY_PASSWORD: Column = Column { table: "registry_credentials", name: "sealed_password" };
pub const CERTIFICATE_KEY: Column = Column { table: "certificates", name: "sealed_key" };
pub const CERTIFICATE_ORDER_KEY: Column = Column { table: "certificate_orders", name: "sealed_key" };
pub const SHARED_VARIABLES: Column = Column { table: "shared_variables", name: "sealed_variables" };
pub const RELEASE_VARIABLES: Column = Column { table: "releases", name: "sealed_variables" };
pub const RELEASE_SERVICES: Column = Column { table: "releases", name: "sealed_services" };
pub const SERVICE_SPECIFICATION: Column = Column { table: "installed_services", name: "sealed_specification" };
pub const EXECUTION_VALUES: Column = Column { table: "executions", name: "sealed_values" };

/// Every one of them; a test compares with the schema.
pub const COLUMNS: [Column; 20] = [
    INSTANCE_SECRET,
    TOTP_SECRET,
    WEBHOOK_URL,
    SIGNING_SECRET,
    PREVIOUS_SIGNING_SECRET,
    NOTICE_MESSAGE,
    SMTP_PASSWORD,
    APPLICATION_VARIABLES,
    APPLICATION_CREDENTIALS,
    APPLICATION_WEBHOOK,
    CONNECTION_TOKEN,
    CONNECTION_APP,
    REGISTRY_PASSWORD,
    CERTIFICATE_KEY,
    CERTIFICATE_ORDER_KEY,
    SHARED_VARIABLES,
    RELEASE_VARIABLES,
    RELEASE_SERVICES,
    EXECUTION_VALUES,
    SERVICE_SPECIFICATION,
];

#[derive(FromRow)]
pub struct Sealed {
    pub id: Uuid,
    pub value: Vec<u8>,
}

/// Some of the values that do not begin with `beginning`.
pub async fn beginning_otherwise(conn: &mut Conn, column: Column, beginning: &[u8], limit: i64) -> Result<Vec<Sealed>> {
    let Column { table, name } = column;
    let length = beginning.len();
    let query = format!("select id, {name} as value from {table} where substr({name}, 1, {length}) <> $1 limit $2");
    Ok(sql!(conn, |c| { sqlx::query_as(AssertSqlSafe(query)).bind(beginning).bind(limit).fetch_all(c).await })?)
}

/// Exchanges a value, unless another process has meanwhile.
pub async fn replace(tx: &mut Tx, column: Column, id: Uuid, old: &[u8], new: &[u8]) -> Result<()> {
    let Column { table, name } = column;
    let query = format!("update {table} set {name} = $1 where id = $2 and {name} = $3");
    sql!(tx, |c| sqlx::query(AssertSqlSafe(query)).bind(new).bind(id).bind(old).execute(c).await.map(drop))?;
    Ok(())
}

pub async fn instance_secret(conn: &mut Conn, name: &str) -> Result<Option<Sealed>> {
    let query = "select id, sealed_value as value from instance_secrets where name = $1";
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(name).fetch_optional(c).await)?)
}

pub async fn insert_instance_secret(tx: &mut Tx, id: Uuid, name: &str, value: &[u8]) -> Result<()> {
    let query = "insert into instance_secrets (id, name, sealed_value) values ($1, $2, $3)";
    sql!(tx, |c| sqlx::query(query).bind(id).bind(name).bind(value).execute(c).await.map(drop))?;
    Ok(())
}

pub async fn delete_instance_secret(tx: &mut Tx, id: Uuid) -> Result<()> {
    let query = "delete from instance_secrets where id = $1";
    sql!(tx, |c| sqlx::query(query).bind(id).execute(c).await.map(drop))?;
    Ok(())
}
