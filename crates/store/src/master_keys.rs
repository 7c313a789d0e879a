//! Which master keys the database knows. The keys themselves are never here.

use sqlx::FromRow;
use windlass_api::Timestamp;

use crate::db::{Handle, sql};
use crate::{Conn, Result, Tx};

#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct MasterKey {
    pub id: Vec<u8>,
    /// Only a process that holds the key can compute it.
    pub check_value: Vec<u8>,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
}

/// All of them, the oldest first.
pub async fn all(conn: &mut Conn) -> Result<Vec<MasterKey>> {
    let query = "select id, check_value, created_at from master_keys order by created_at, id";
    Ok(sql!(conn, |c| sqlx::query_as(query).fetch_all(c).await)?)
}

/// The key under which new ciphertexts are to be written.
pub async fn current(conn: &mut Conn) -> Result<Option<Vec<u8>>> {
    let query = "select master_key_id from instance where id = 1";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).fetch_one(c).await)?)
}

/// The same, and it stays so until the transaction ends: a transaction that changes it waits. Those that only hold it
/// do not wait for each other.
pub async fn hold_current(tx: &mut Tx) -> Result<Option<Vec<u8>>> {
    Ok(match tx.handle() {
        // One writer at a time.
        Handle::Sqlite(c) => sqlx::query_scalar("select master_key_id from instance where id = 1").fetch_one(c).await?,
        Handle::Postgres(c) => {
            sqlx::query_scalar("select master_key_id from instance where id = 1 for share").fetch_one(c).await?
        }
    })
}

/// True for exactly one caller, ever: the one that gives the database its first key.
pub async fn claim_first(tx: &mut Tx) -> Result<bool> {
    let query = "update instance set id = id where id = 1 and master_key_id is null";
    let held = sql!(tx, |c| sqlx::query(query).execute(c).await.map(|done| done.rows_affected()))?;
    Ok(held == 1)
}

pub async fn insert(tx: &mut Tx, key: &MasterKey) -> Result<()> {
    let query = "insert into master_keys (id, check_value, created_at) values ($1, $2, $3)";
    sql!(tx, |c| {
        sqlx::query(query).bind(&key.id).bind(&key.check_value).bind(key.created_at.micros()).execute(c).await.map(drop)
    })?;
    Ok(())
}

pub async fn set_first(tx: &mut Tx, id: &[u8]) -> Result<()> {
    let query = "update instance set master_key_id = $1 where id = 1";
    sql!(tx, |c| sqlx::query(query).bind(id).execute(c).await.map(drop))?;
    Ok(())
}

/// Waits for transactions that hold the current one. False when another process has exchanged it meanwhile.
pub async fn exchange_current(tx: &mut Tx, old: &[u8], new: &[u8]) -> Result<bool> {
    let query = "update instance set master_key_id = $1 where id = 1 and master_key_id = $2";
    let changed =
        sql!(tx, |c| sqlx::query(query).bind(new).bind(old).execute(c).await.map(|done| done.rows_affected()))?;
    Ok(changed == 1)
}

/// Whether nothing tells of a key: no key is known, nothing is sealed, no audit chain has begun.
pub async fn is_untouched(conn: &mut Conn) -> Result<bool> {
    let query = "select not exists (select 1 from master_keys) and not exists (select 1 from instance_secrets) \
                 and not exists (select 1 from audit_chains)";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).fetch_one(c).await)?)
}

/// Forgets all keys but one.
pub async fn keep_only(tx: &mut Tx, id: &[u8]) -> Result<u64> {
    let query = "delete from master_keys where id <> $1";
    Ok(sql!(tx, |c| sqlx::query(query).bind(id).execute(c).await.map(|done| done.rows_affected()))?)
}
