//! How far the output of each container was read, and by which server.

use sqlx::AssertSqlSafe;
use uuid::Uuid;
use windlass_api::Timestamp;

use super::{LogStore, ReadProgress};
use crate::db::sql;
use crate::{Kind, Result, Tx};

/// The right of a server to read the output of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    pub container_id: String,
    pub application_id: Uuid,
    pub owner: Uuid,
}

/// How long a claim keeps other servers from reading after it was last renewed. A store that is one server's own has no
/// others.
const LEASE_SECONDS: i64 = 60;

impl LogStore {
    /// The position to go on from, empty at the beginning; none while another server reads. With `force` that server
    /// loses the container, and notices with its next lines.
    pub async fn claim(&self, claim: &Claim, now: Timestamp, force: bool) -> Result<Option<String>> {
        let clock = clock(self.writer.kind());
        let query = format!(
            "insert into log_positions (container_id, application_id, position, owner, lease_until) \
             values ($1, $2, '', $3, {clock} + {LEASE_SECONDS} * 1000000) \
             on conflict (container_id) do update set owner = excluded.owner, lease_until = excluded.lease_until \
             where $5 or log_positions.owner = excluded.owner or log_positions.lease_until < {clock} returning position"
        );
        let mut tx = self.writer.begin().await?;
        let position = sql!(tx, |c| {
            sqlx::query_scalar(AssertSqlSafe(query))
                .bind(&claim.container_id)
                .bind(claim.application_id)
                .bind(claim.owner)
                .bind(now.micros())
                .bind(force)
                .fetch_optional(c)
                .await
        })?;
        tx.commit().await?;
        Ok(position)
    }

    /// A server that ends lets others go on at once.
    pub async fn release_all(&self, owner: Uuid) -> Result<()> {
        let mut tx = self.writer.begin().await?;
        let query = "update log_positions set lease_until = 0 where owner = $1";
        sql!(tx, |c| sqlx::query(query).bind(owner).execute(c).await.map(drop))?;
        tx.commit().await
    }

    /// Nothing more is to be read of a container.
    pub async fn forget(&self, container_id: &str) -> Result<()> {
        let mut tx = self.writer.begin().await?;
        let query = "delete from log_positions where container_id = $1";
        sql!(tx, |c| sqlx::query(query).bind(container_id).execute(c).await.map(drop))?;
        tx.commit().await
    }

    /// The containers of which something was read.
    pub async fn positions(&self) -> Result<Vec<String>> {
        let mut conn = self.db.read().await?;
        Ok(sql!(conn, |c| sqlx::query_scalar("select container_id from log_positions").fetch_all(c).await)?)
    }
}

/// False when another server has taken over, or when this step was made already.
pub(super) async fn advance(tx: &mut Tx, progress: &ReadProgress) -> Result<bool> {
    let query = "update log_positions set position = $1 where container_id = $2 and owner = $3 and position = $4";
    let ReadProgress { claim, from, position } = progress;
    let done = sql!(tx, |c| {
        sqlx::query(query)
            .bind(position)
            .bind(&claim.container_id)
            .bind(claim.owner)
            .bind(from)
            .execute(c)
            .await
            .map(|done| done.rows_affected())
    })?;
    Ok(done == 1)
}

/// Servers' clocks differ; where there may be several of them, the database's counts.
fn clock(kind: Kind) -> &'static str {
    match kind {
        Kind::Sqlite => "$4",
        // Mentions the parameter, so that both texts have the same ones.
        Kind::Postgres => {
            "(case when $4::bigint is null then 0 else (extract(epoch from clock_timestamp()) * 1000000)::bigint end)"
        }
    }
}
