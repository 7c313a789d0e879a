//! Which user belongs to which organization, in which role.

use sqlx::{AssertSqlSafe, FromRow};
use uuid::Uuid;
use windlass_api::{Role, Timestamp};

use crate::db::{parameters, sql};
use crate::organizations::Organization;
use crate::users::{self, User};
use crate::word::Word;
use crate::{Conn, Result, Tx};

#[derive(Clone, Debug, FromRow)]
pub struct Membership {
    #[sqlx(rename = "membership_id")]
    pub id: Uuid,
    pub organization_id: Uuid,
    pub user_id: Uuid,
    #[sqlx(try_from = "Word<Role>")]
    pub role: Role,
    #[sqlx(rename = "joined_at", try_from = "i64")]
    pub created_at: Timestamp,
    #[sqlx(rename = "role_changed_at", try_from = "i64")]
    pub updated_at: Timestamp,
}

/// The columns of [`Organization`].
macro_rules! organization_columns {
    () => {
        "o.id, o.name, o.description, o.host_access, o.created_at, o.updated_at"
    };
}

/// The columns of [`Membership`], under names that do not clash with those of a joined table.
macro_rules! columns {
    () => {
        "m.id as membership_id, m.organization_id, m.user_id, m.role, \
         m.created_at as joined_at, m.updated_at as role_changed_at"
    };
}

#[derive(Clone, Debug, FromRow)]
pub struct Member {
    #[sqlx(flatten)]
    pub membership: Membership,
    #[sqlx(flatten)]
    pub user: User,
}

#[derive(Clone, Debug, FromRow)]
pub struct Joined {
    #[sqlx(flatten)]
    pub membership: Membership,
    #[sqlx(flatten)]
    pub organization: Organization,
}

pub async fn insert(tx: &mut Tx, membership: &Membership) -> Result<()> {
    let query = "insert into memberships (id, organization_id, user_id, role, created_at, updated_at) \
                 values ($1, $2, $3, $4, $5, $6)";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(membership.id)
            .bind(membership.organization_id)
            .bind(membership.user_id)
            .bind(membership.role.as_str())
            .bind(membership.created_at.micros())
            .bind(membership.updated_at.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

/// The organization and the user's place in it; nothing when the user is not in it.
pub async fn joined(conn: &mut Conn, user_id: Uuid, organization_id: Uuid) -> Result<Option<Joined>> {
    let query = concat!(
        "select ",
        columns!(),
        ", ",
        organization_columns!(),
        " from memberships m join organizations o on o.id = m.organization_id ",
        "where m.user_id = $1 and m.organization_id = $2"
    );
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(user_id).bind(organization_id).fetch_optional(c).await)?)
}

/// The same of the member with this address.
pub async fn joined_by_email(conn: &mut Conn, email: &str, organization_id: Uuid) -> Result<Option<Joined>> {
    let query = concat!(
        "select ",
        columns!(),
        ", ",
        organization_columns!(),
        " from memberships m join organizations o on o.id = m.organization_id ",
        "where m.user_id = (select id from users where email = $1) and m.organization_id = $2"
    );
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(email).bind(organization_id).fetch_optional(c).await)?)
}

/// All members of an organization, oldest first.
pub async fn members(conn: &mut Conn, organization_id: Uuid) -> Result<Vec<Member>> {
    let query = concat!(
        "select ",
        columns!(),
        ", ",
        users::columns!(),
        " ",
        "from memberships m join users u on u.id = m.user_id where m.organization_id = $1 order by m.id"
    );
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(organization_id).fetch_all(c).await)?)
}

pub async fn member(conn: &mut Conn, organization_id: Uuid, user_id: Uuid) -> Result<Option<Member>> {
    let query = concat!(
        "select ",
        columns!(),
        ", ",
        users::columns!(),
        " ",
        "from memberships m join users u on u.id = m.user_id where m.organization_id = $1 and m.user_id = $2"
    );
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(organization_id).bind(user_id).fetch_optional(c).await)?)
}

/// The organizations that `user_id` shares with `viewer_id`, oldest membership first.
pub async fn shared_by_user(conn: &mut Conn, user_id: Uuid, viewer_id: Uuid) -> Result<Vec<Joined>> {
    let query = concat!(
        "select ",
        columns!(),
        ", ",
        organization_columns!(),
        " from memberships m ",
        "join memberships mine on mine.organization_id = m.organization_id and mine.user_id = $2 ",
        "join organizations o on o.id = m.organization_id where m.user_id = $1 order by m.id"
    );
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(user_id).bind(viewer_id).fetch_all(c).await)?)
}

/// The users among these that are members of the organization.
pub async fn members_among(conn: &mut Conn, organization_id: Uuid, user_ids: &[Uuid]) -> Result<Vec<Member>> {
    if user_ids.is_empty() {
        return Ok(Vec::new());
    }
    let query = format!(
        concat!(
            "select ",
            columns!(),
            ", ",
            users::columns!(),
            " from memberships m join users u on u.id = m.user_id where m.organization_id = $1 and m.user_id in ({})"
        ),
        parameters(2, user_ids.len())
    );
    Ok(sql!(conn, |c| {
        let query = sqlx::query_as(AssertSqlSafe(query)).persistent(false).bind(organization_id);
        user_ids.iter().fold(query, |query, id| query.bind(*id)).fetch_all(c).await
    })?)
}

pub async fn count_of_user(conn: &mut Conn, user_id: Uuid) -> Result<i64> {
    let query = "select count(*) from memberships where user_id = $1";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(user_id).fetch_one(c).await)?)
}

pub async fn exists(conn: &mut Conn, organization_id: Uuid, user_id: Uuid) -> Result<bool> {
    let query = "select exists (select 1 from memberships where organization_id = $1 and user_id = $2)";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(organization_id).bind(user_id).fetch_one(c).await)?)
}

pub async fn has_email(conn: &mut Conn, organization_id: Uuid, email: &str) -> Result<bool> {
    let query = "select exists (select 1 from memberships m join users u on u.id = m.user_id \
                 where m.organization_id = $1 and u.email = $2)";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(organization_id).bind(email).fetch_one(c).await)?)
}

pub async fn owners(conn: &mut Conn, organization_id: Uuid) -> Result<i64> {
    let query = "select count(*) from memberships where organization_id = $1 and role = 'owner'";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(organization_id).fetch_one(c).await)?)
}

pub async fn count(conn: &mut Conn, organization_id: Uuid) -> Result<i64> {
    let query = "select count(*) from memberships where organization_id = $1";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(organization_id).fetch_one(c).await)?)
}

pub async fn set_role(tx: &mut Tx, id: Uuid, role: Role, now: Timestamp) -> Result<()> {
    let query = "update memberships set role = $1, updated_at = $2 where id = $3";
    sql!(tx, |c| sqlx::query(query).bind(role.as_str()).bind(now.micros()).bind(id).execute(c).await.map(drop))?;
    Ok(())
}

pub async fn delete(tx: &mut Tx, id: Uuid) -> Result<()> {
    sql!(tx, |c| sqlx::query("delete from memberships where id = $1").bind(id).execute(c).await.map(drop))?;
    Ok(())
}
