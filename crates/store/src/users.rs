//! People.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::{Timestamp, UserType};

use crate::db::{like_part, sql};
use crate::word::Word;
use crate::{Conn, Result, Tx};

#[derive(Clone, Debug, FromRow)]
pub struct User {
    pub id: Uuid,
    pub username: String,
    pub email: String,
    pub avatar: String,
    #[sqlx(rename = "type", try_from = "Word<UserType>")]
    pub kind: UserType,
    pub is_verified: bool,
    pub two_factor_enabled: bool,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
    #[sqlx(try_from = "i64")]
    pub updated_at: Timestamp,
}

/// The columns of [`User`].
macro_rules! columns {
    () => {
        "u.id, u.username, u.email, u.avatar, u.type, u.is_verified, u.two_factor_enabled, u.created_at, u.updated_at"
    };
}
pub(crate) use columns;

#[derive(FromRow)]
pub struct Credentials {
    #[sqlx(flatten)]
    pub user: User,
    pub password_hash: String,
}

pub async fn insert(tx: &mut Tx, user: &User, password_hash: &str) -> Result<()> {
    let query = "insert into users (id, username, email, password_hash, avatar, type, is_verified, created_at, updated_at) \
                 values ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(user.id)
            .bind(&user.username)
            .bind(&user.email)
            .bind(password_hash)
            .bind(&user.avatar)
            .bind(user.kind.as_str())
            .bind(user.is_verified)
            .bind(user.created_at.micros())
            .bind(user.updated_at.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

/// A user, and in how many organizations they are.
#[derive(FromRow)]
pub struct Listed {
    #[sqlx(flatten)]
    pub user: User,
    pub organizations: i64,
}

/// Users whose name or address has the text in it, by address, and how many there are.
pub async fn page(conn: &mut Conn, search: &str, skip: i64, limit: i64) -> Result<(Vec<Listed>, i64)> {
    // SQLite lowers ASCII only: a name with other capitals is found as it is written.
    let (part, written) = (like_part(&search.to_lowercase()), like_part(search));
    let count = r"select count(*) from users u where lower(u.username) like $1 escape '\' or u.username like $2 escape '\' or u.email like $1 escape '\'";
    let count = sql!(conn, |c| sqlx::query_scalar(count).bind(&part).bind(&written).fetch_one(c).await)?;
    let query = concat!(
        "select ",
        columns!(),
        ", (select count(*) from memberships m where m.user_id = u.id) as organizations from users u ",
        r"where lower(u.username) like $1 escape '\' or u.username like $2 escape '\' or u.email like $1 escape '\' ",
        "order by u.email limit $3 offset $4"
    );
    let users =
        sql!(conn, |c| { sqlx::query_as(query).bind(&part).bind(&written).bind(limit).bind(skip).fetch_all(c).await })?;
    Ok((users, count))
}

pub async fn by_id(conn: &mut Conn, id: Uuid) -> Result<Option<User>> {
    let query = concat!("select ", columns!(), " from users u where u.id = $1");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(id).fetch_optional(c).await)?)
}

pub async fn by_email(conn: &mut Conn, email: &str) -> Result<Option<Credentials>> {
    let query = concat!("select ", columns!(), ", u.password_hash from users u where u.email = $1");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(email).fetch_optional(c).await)?)
}

pub async fn password_hash(conn: &mut Conn, id: Uuid) -> Result<Option<String>> {
    let query = "select password_hash from users where id = $1";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(id).fetch_optional(c).await)?)
}

/// Holds the user still until the transaction ends.
pub async fn lock(tx: &mut Tx, id: Uuid) -> Result<()> {
    Ok(sql!(tx, |c| sqlx::query("update users set id = id where id = $1").bind(id).execute(c).await.map(drop))?)
}

/// Whether this still is the user's password hash; if so, it stays so until the transaction ends.
pub async fn hold_password(tx: &mut Tx, id: Uuid, password_hash: &str) -> Result<bool> {
    let query = "update users set id = id where id = $1 and password_hash = $2";
    let held = sql!(tx, |c| {
        sqlx::query(query).bind(id).bind(password_hash).execute(c).await.map(|done| done.rows_affected())
    })?;
    Ok(held == 1)
}

pub async fn rename(tx: &mut Tx, id: Uuid, username: &str, now: Timestamp) -> Result<()> {
    let query = "update users set username = $1, updated_at = $2 where id = $3";
    sql!(tx, |c| sqlx::query(query).bind(username).bind(now.micros()).bind(id).execute(c).await.map(drop))?;
    Ok(())
}

/// A link with which it could be set once more ends with it, and so does one that would give the account another address.
pub async fn set_password(tx: &mut Tx, id: Uuid, password_hash: &str, now: Timestamp) -> Result<()> {
    for forget in ["delete from password_resets where user_id = $1", "delete from email_changes where user_id = $1"] {
        sql!(tx, |c| sqlx::query(forget).bind(id).execute(c).await.map(drop))?;
    }
    let query = "update users set password_hash = $1, updated_at = $2 where id = $3";
    sql!(tx, |c| sqlx::query(query).bind(password_hash).bind(now.micros()).bind(id).execute(c).await.map(drop))?;
    Ok(())
}

/// One that is proven to be the user's. A link that was sent to the one before ends.
pub async fn set_email(tx: &mut Tx, id: Uuid, email: &str, now: Timestamp) -> Result<()> {
    let forget = "delete from password_resets where user_id = $1";
    sql!(tx, |c| sqlx::query(forget).bind(id).execute(c).await.map(drop))?;
    let query = "update users set email = $1, is_verified = $2, updated_at = $3 where id = $4";
    sql!(tx, |c| sqlx::query(query).bind(email).bind(true).bind(now.micros()).bind(id).execute(c).await.map(drop))?;
    Ok(())
}

/// The organization in which the user acts when a request names none.
pub async fn set_default_organization(tx: &mut Tx, id: Uuid, organization_id: Uuid) -> Result<()> {
    let query = "update users set default_organization_id = $1 where id = $2";
    sql!(tx, |c| sqlx::query(query).bind(organization_id).bind(id).execute(c).await.map(drop))?;
    Ok(())
}

/// Gives users whose default organization is one they are not in (any more) the oldest of those that they are in.
pub async fn repair_default_organization(tx: &mut Tx, id: Uuid) -> Result<()> {
    let query = "update users set default_organization_id = \
                 (select organization_id from memberships where user_id = $1 order by id limit 1) \
                 where id = $1 and not exists (select 1 from memberships m \
                 where m.user_id = $1 and m.organization_id = users.default_organization_id)";
    sql!(tx, |c| sqlx::query(query).bind(id).execute(c).await.map(drop))?;
    Ok(())
}
