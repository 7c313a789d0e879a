//! Variables that the applications of an organization share: a row for those of the organization, and one for each environment that has some.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::Timestamp;

use crate::db::sql;
use crate::{Conn, Result, Tx};

#[derive(Clone, Debug, FromRow)]
pub struct SharedVariables {
    pub id: Uuid,
    pub organization_id: Uuid,
    /// Empty for those of the organization.
    pub environment: String,
    pub sealed_variables: Vec<u8>,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
    #[sqlx(try_from = "i64")]
    pub updated_at: Timestamp,
}

macro_rules! columns {
    () => {
        "id, organization_id, environment, sealed_variables, created_at, updated_at"
    };
}

pub async fn insert(tx: &mut Tx, row: &SharedVariables) -> Result<()> {
    let query = concat!("insert into shared_variables (", columns!(), ") values ($1, $2, $3, $4, $5, $6)");
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(row.id)
            .bind(row.organization_id)
            .bind(&row.environment)
            .bind(&row.sealed_variables)
            .bind(row.created_at.micros())
            .bind(row.updated_at.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

pub async fn update(tx: &mut Tx, id: Uuid, sealed_variables: &[u8], now: Timestamp) -> Result<()> {
    let query = "update shared_variables set sealed_variables = $2, updated_at = $3 where id = $1";
    sql!(tx, |c| sqlx::query(query).bind(id).bind(sealed_variables).bind(now.micros()).execute(c).await.map(drop))?;
    Ok(())
}

pub async fn delete(tx: &mut Tx, id: Uuid) -> Result<()> {
    let query = "delete from shared_variables where id = $1";
    sql!(tx, |c| sqlx::query(query).bind(id).execute(c).await.map(drop))?;
    Ok(())
}

/// All in one query, so that what refers to something is never seen without it. Those of the organization come first.
pub async fn of_organization(conn: &mut Conn, organization_id: Uuid) -> Result<Vec<SharedVariables>> {
    let query = concat!("select ", columns!(), " from shared_variables where organization_id = $1");
    let mut all: Vec<SharedVariables> = sql!(conn, |c| sqlx::query_as(query).bind(organization_id).fetch_all(c).await)?;
    // Whatever the database's language, the same order everywhere.
    all.sort_unstable_by(|one, other| one.environment.cmp(&other.environment));
    Ok(all)
}
