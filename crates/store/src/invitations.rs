//! Open invitations: one per organization and e-mail address.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::{Role, Timestamp};

use crate::db::sql;
use crate::word::Word;
use crate::{Conn, Result, Tx};

#[derive(Clone, Debug, FromRow)]
pub struct Invitation {
    pub id: Uuid,
    pub organization_id: Uuid,
    pub email: String,
    #[sqlx(try_from = "Word<Role>")]
    pub role: Role,
    #[sqlx(try_from = "i64")]
    pub expires_at: Timestamp,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
}

/// A second invitation of the same address takes the place of the first, whose link stops working.
pub async fn put(tx: &mut Tx, invitation: &Invitation, token_hash: &[u8], invited_by: Uuid) -> Result<()> {
    let query = "insert into invitations \
                 (id, organization_id, email, role, token_hash, invited_by, expires_at, created_at) \
                 values ($1, $2, $3, $4, $5, $6, $7, $8) \
                 on conflict (organization_id, email) do update set id = excluded.id, role = excluded.role, \
                 token_hash = excluded.token_hash, invited_by = excluded.invited_by, \
                 expires_at = excluded.expires_at, created_at = excluded.created_at";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(invitation.id)
            .bind(invitation.organization_id)
            .bind(&invitation.email)
            .bind(invitation.role.as_str())
            .bind(token_hash)
            .bind(invited_by)
            .bind(invitation.expires_at.micros())
            .bind(invitation.created_at.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

pub async fn of_organization(conn: &mut Conn, organization_id: Uuid, now: Timestamp) -> Result<Vec<Invitation>> {
    let query = "select id, organization_id, email, role, expires_at, created_at from invitations \
                 where organization_id = $1 and expires_at > $2 order by id desc";
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(organization_id).bind(now.micros()).fetch_all(c).await)?)
}

/// Open invitations to the organization, those of `except` left out.
pub async fn count(conn: &mut Conn, organization_id: Uuid, except: &str, now: Timestamp) -> Result<i64> {
    let query = "select count(*) from invitations where organization_id = $1 and email <> $2 and expires_at > $3";
    Ok(sql!(conn, |c| {
        sqlx::query_scalar(query).bind(organization_id).bind(except).bind(now.micros()).fetch_one(c).await
    })?)
}

/// Withdraws the invitations of a user who may not invite any more.
pub async fn delete_sent_by(tx: &mut Tx, organization_id: Uuid, user_id: Uuid) -> Result<u64> {
    let query = "delete from invitations where organization_id = $1 and invited_by = $2";
    Ok(sql!(tx, |c| {
        sqlx::query(query).bind(organization_id).bind(user_id).execute(c).await.map(|done| done.rows_affected())
    })?)
}

pub async fn exists(conn: &mut Conn, organization_id: Uuid, id: Uuid) -> Result<bool> {
    let query = "select exists (select 1 from invitations where id = $1 and organization_id = $2)";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(id).bind(organization_id).fetch_one(c).await)?)
}

pub async fn by_token(conn: &mut Conn, token_hash: &[u8], now: Timestamp) -> Result<Option<Invitation>> {
    let query = "select id, organization_id, email, role, expires_at, created_at from invitations \
                 where token_hash = $1 and expires_at > $2";
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(token_hash).bind(now.micros()).fetch_optional(c).await)?)
}

/// Takes the invitation away; nothing when it was used, withdrawn or replaced meanwhile.
pub async fn delete(tx: &mut Tx, organization_id: Uuid, id: Uuid) -> Result<Option<Invitation>> {
    let query = "delete from invitations where id = $1 and organization_id = $2 \
                 returning id, organization_id, email, role, expires_at, created_at";
    Ok(sql!(tx, |c| sqlx::query_as(query).bind(id).bind(organization_id).fetch_optional(c).await)?)
}

pub async fn delete_expired(tx: &mut Tx, now: Timestamp) -> Result<u64> {
    let query = "delete from invitations where expires_at <= $1";
    Ok(sql!(tx, |c| sqlx::query(query).bind(now.micros()).execute(c).await.map(|done| done.rows_affected()))?)
}
