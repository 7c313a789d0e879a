//! The one row about the installation itself.

use uuid::Uuid;

use crate::db::sql;
use crate::{Conn, Result, Tx};

/// Whether there is anything in the database at all. Everything else fails when there is not.
pub async fn is_known(conn: &mut Conn) -> Result<bool> {
    conn.has_table("instance").await
}

pub async fn admin_registered(conn: &mut Conn) -> Result<bool> {
    let query = "select admin_registered from instance where id = 1";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).fetch_one(c).await)?)
}

/// True for exactly one caller, ever: the one who registers the first admin.
pub async fn claim_first_admin(tx: &mut Tx) -> Result<bool> {
    let query = "update instance set admin_registered = true where id = 1 and admin_registered = false";
    let changed = sql!(tx, |c| sqlx::query(query).execute(c).await.map(|done| done.rows_affected()))?;
    Ok(changed == 1)
}

/// Marks what belongs to this installation on an engine that others use too. The first one that was offered stays.
pub async fn engine_label(tx: &mut Tx, offered: Uuid) -> Result<Uuid> {
    let query = "update instance set engine_label = coalesce(engine_label, $1) where id = 1 returning engine_label";
    Ok(sql!(tx, |c| sqlx::query_scalar(query).bind(offered).fetch_one(c).await)?)
}
