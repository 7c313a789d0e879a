//! The caller behind a token: everything that a request needs to know about its caller, in one query.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::{Role, Timestamp};

use crate::db::sql;
use crate::memberships::{Joined, Membership};
use crate::organizations::Organization;
use crate::users::{self, User};
use crate::word::Word;
use crate::{Conn, Result};

#[derive(Clone, Debug)]
pub struct Bearer {
    /// The session's id, or the API key's.
    pub credential_id: Uuid,
    /// Only an API key has one: which key it is and what it may do at most.
    pub key: Option<Key>,
    pub last_used_at: Option<Timestamp>,
    pub expires_at: Timestamp,
    pub user: User,
    /// The organization that they act in, if they belong to it.
    pub joined: Option<Joined>,
}

#[derive(Clone, Debug)]
pub struct Key {
    pub name: String,
    /// Names, separated by spaces.
    pub permissions: String,
}

#[derive(FromRow)]
struct Row {
    credential_id: Uuid,
    key_name: Option<String>,
    key_permissions: Option<String>,
    last_used_at: Option<i64>,
    expires_at: i64,
    #[sqlx(flatten)]
    user: User,
    membership_id: Option<Uuid>,
    organization_id: Option<Uuid>,
    role: Option<Word<Role>>,
    joined_at: Option<i64>,
    role_changed_at: Option<i64>,
    organization_name: Option<String>,
    organization_description: Option<String>,
    host_access: Option<bool>,
    organization_created_at: Option<i64>,
    organization_updated_at: Option<i64>,
}

impl Row {
    /// All columns of the place are there, or none.
    fn joined(&mut self) -> Option<Joined> {
        let organization_id = self.organization_id?;
        Some(Joined {
            membership: Membership {
                id: self.membership_id?,
                organization_id,
                user_id: self.user.id,
                role: self.role.take()?.0,
                created_at: self.joined_at?.into(),
                updated_at: self.role_changed_at?.into(),
            },
            organization: Organization {
                id: organization_id,
                name: self.organization_name.take()?,
                description: self.organization_description.take()?,
                host_access: self.host_access?,
                created_at: self.organization_created_at?.into(),
                updated_at: self.organization_updated_at?.into(),
            },
        })
    }
}

impl From<Row> for Bearer {
    fn from(mut row: Row) -> Self {
        let joined = row.joined();
        let key = row.key_name.zip(row.key_permissions).map(|(name, permissions)| Key { name, permissions });
        Self {
            credential_id: row.credential_id,
            key,
            last_used_at: row.last_used_at.map(Timestamp::from_micros),
            expires_at: row.expires_at.into(),
            user: row.user,
            joined,
        }
    }
}

macro_rules! place_columns {
    () => {
        "m.id as membership_id, m.organization_id, m.role, m.created_at as joined_at, \
         m.updated_at as role_changed_at, o.name as organization_name, o.description as organization_description, \
         o.host_access, o.created_at as organization_created_at, o.updated_at as organization_updated_at"
    };
}

macro_rules! of_session {
    ($condition:literal) => {
        concat!(
            "select s.id as credential_id, cast(null as text) as key_name, cast(null as text) as key_permissions, ",
            "s.last_used_at, s.expires_at, ",
            users::columns!(),
            ", ",
            place_columns!(),
            " from sessions s join users u on u.id = s.user_id ",
            "left join memberships m on m.user_id = u.id and m.organization_id = coalesce($2, u.default_organization_id) ",
            "left join organizations o on o.id = m.organization_id ",
            "where ",
            $condition
        )
    };
}

macro_rules! of_api_key {
    ($condition:literal) => {
        concat!(
            "select k.id as credential_id, k.name as key_name, k.permissions as key_permissions, ",
            "k.last_used_at, k.expires_at, ",
            users::columns!(),
            ", ",
            place_columns!(),
            " from api_keys k join users u on u.id = k.user_id ",
            "join memberships m on m.user_id = k.user_id and m.organization_id = k.organization_id ",
            "join organizations o on o.id = k.organization_id ",
            "where ",
            $condition
        )
    };
}

/// `organization_id` is the one that the request names; without it the user's default counts.
pub async fn by_session(conn: &mut Conn, token_hash: &[u8], organization_id: Option<Uuid>) -> Result<Option<Bearer>> {
    let query = of_session!("s.token_hash = $1");
    let row: Option<Row> =
        sql!(conn, |c| sqlx::query_as(query).bind(token_hash).bind(organization_id).fetch_optional(c).await)?;
    Ok(row.map(Bearer::from))
}

/// An API key acts in its own organization and in no other.
pub async fn by_api_key(conn: &mut Conn, token_hash: &[u8]) -> Result<Option<Bearer>> {
    let query = of_api_key!("k.token_hash = $1");
    let row: Option<Row> = sql!(conn, |c| sqlx::query_as(query).bind(token_hash).fetch_optional(c).await)?;
    Ok(row.map(Bearer::from))
}

/// The caller behind a session or key that has asked for something before, by its id.
pub async fn by_id(
    conn: &mut Conn,
    credential_id: Uuid,
    is_key: bool,
    organization_id: Uuid,
) -> Result<Option<Bearer>> {
    let row: Option<Row> = match is_key {
        true => {
            let query = of_api_key!("k.id = $1 and k.organization_id = $2");
            sql!(conn, |c| sqlx::query_as(query).bind(credential_id).bind(organization_id).fetch_optional(c).await)?
        }
        false => {
            let query = of_session!("s.id = $1");
            sql!(conn, |c| sqlx::query_as(query).bind(credential_id).bind(organization_id).fetch_optional(c).await)?
        }
    };
    Ok(row.map(Bearer::from))
}
