//! Connections to code hosts.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::{CodeHost, ConnectionKind, Timestamp};

use crate::db::sql;
use crate::word::Word;
use crate::{Conn, Result, Tx};

#[derive(Clone, Debug, FromRow)]
pub struct Connection {
    pub id: Uuid,
    pub organization_id: Uuid,
    /// The user who made it.
    pub user_id: Uuid,
    pub name: String,
    #[sqlx(try_from = "Word<ConnectionKind>")]
    pub kind: ConnectionKind,
    #[sqlx(try_from = "Word<CodeHost>")]
    pub host: CodeHost,
    pub base_url: String,
    pub workspace: String,
    pub username: String,
    /// As it was when the token was last tried.
    pub account: String,
    /// The code host's own id of the app, and its page there; both are empty without one.
    pub app_id: String,
    pub app_url: String,
    /// None of an app.
    pub sealed_token: Option<Vec<u8>>,
    /// Of an app: its private key, and what its deliveries are signed with.
    pub sealed_app: Option<Vec<u8>>,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
    #[sqlx(try_from = "i64")]
    pub updated_at: Timestamp,
}

impl Connection {
    /// Where people install the app; empty without an app, or if its page is not known.
    pub fn install_url(&self) -> String {
        if self.app_url.is_empty() { String::new() } else { format!("{}/installations/new", self.app_url) }
    }
}

macro_rules! columns {
    () => {
        "id, organization_id, user_id, name, kind, host, base_url, workspace, username, account, app_id, app_url, sealed_token, sealed_app, \
         created_at, updated_at"
    };
}

pub async fn insert(tx: &mut Tx, connection: &Connection) -> Result<()> {
    let query = concat!(
        "insert into connections (",
        columns!(),
        ") values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)"
    );
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(connection.id)
            .bind(connection.organization_id)
            .bind(connection.user_id)
            .bind(&connection.name)
            .bind(connection.kind.as_str())
            .bind(connection.host.as_str())
            .bind(&connection.base_url)
            .bind(&connection.workspace)
            .bind(&connection.username)
            .bind(&connection.account)
            .bind(&connection.app_id)
            .bind(&connection.app_url)
            .bind(&connection.sealed_token)
            .bind(&connection.sealed_app)
            .bind(connection.created_at.micros())
            .bind(connection.updated_at.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

/// The token only if there is a new one: writing the old ciphertext back would undo a rotation of its key.
pub async fn update(tx: &mut Tx, connection: &Connection, sealed_token: Option<&[u8]>) -> Result<()> {
    let query = "update connections set name = $2, workspace = $3, username = $4, account = $5, \
                 sealed_token = coalesce($6, sealed_token), updated_at = $7 where id = $1";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(connection.id)
            .bind(&connection.name)
            .bind(&connection.workspace)
            .bind(&connection.username)
            .bind(&connection.account)
            .bind(sealed_token)
            .bind(connection.updated_at.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

pub async fn get(conn: &mut Conn, id: Uuid) -> Result<Option<Connection>> {
    let query = concat!("select ", columns!(), " from connections where id = $1");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(id).fetch_optional(c).await)?)
}

pub async fn by_name(conn: &mut Conn, organization_id: Uuid, name: &str) -> Result<Option<Connection>> {
    let query = concat!("select ", columns!(), " from connections where organization_id = $1 and name = $2");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(organization_id).bind(name).fetch_optional(c).await)?)
}

/// The oldest of every organization's that are of the app with this id, at whichever address of GitHub.
pub async fn of_app(conn: &mut Conn, app_id: &str, limit: i64) -> Result<Vec<Connection>> {
    let query = concat!(
        "select ",
        columns!(),
        " from connections where app_id = $1 and app_id <> '' order by created_at, id limit $2"
    );
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(app_id).bind(limit).fetch_all(c).await)?)
}

/// In the order of their names.
pub async fn of_organization(conn: &mut Conn, organization_id: Uuid, limit: i64) -> Result<Vec<Connection>> {
    let query =
        concat!("select ", columns!(), " from connections where organization_id = $1 order by name, id limit $2");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(organization_id).bind(limit).fetch_all(c).await)?)
}

pub async fn count_of_organization(conn: &mut Conn, organization_id: Uuid) -> Result<i64> {
    let query = "select count(*) from connections where organization_id = $1";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(organization_id).fetch_one(c).await)?)
}

/// Names of the applications that use it.
pub async fn used_by(conn: &mut Conn, id: Uuid, limit: i64) -> Result<Vec<String>> {
    let query = "select name from applications where connection_id = $1 order by name limit $2";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(id).bind(limit).fetch_all(c).await)?)
}

pub async fn delete(tx: &mut Tx, id: Uuid) -> Result<()> {
    sql!(tx, |c| sqlx::query("delete from connections where id = $1").bind(id).execute(c).await.map(drop))?;
    Ok(())
}
