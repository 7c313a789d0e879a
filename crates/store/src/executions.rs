//! Executions: runs of extensions, and their steps.

use sqlx::{AssertSqlSafe, FromRow};
use uuid::Uuid;
use windlass_api::{ExecutionKind, ExecutionPhase, ExecutionStatus, StepStatus, Timestamp, UndoStatus};

use crate::db::{self, sql};
use crate::word::Word;
use crate::{Conn, Result, Tx};

/// Without what is long.
#[derive(Clone, Debug, FromRow)]
pub struct Execution {
    pub id: Uuid,
    pub organization_id: Uuid,
    /// The user who asked for it.
    pub user_id: Uuid,
    pub extension_id: Uuid,
    /// What it makes, changes or removes.
    pub installation_id: Option<Uuid>,
    #[sqlx(try_from = "Word<ExecutionKind>")]
    pub kind: ExecutionKind,
    pub version: String,
    pub content_hash: String,
    /// The server that has begun it.
    pub server_id: Option<Uuid>,
    /// Empty before it began.
    pub server_hostname: String,
    /// Whether the user who asked for it may do what reaches beyond the organization's containers.
    pub may_reach_host: bool,
    /// The execution that a rollback brings back.
    pub restored_id: Option<Uuid>,
    #[sqlx(try_from = "Word<ExecutionStatus>")]
    pub status: ExecutionStatus,
    /// What it will have been once its steps are undone. None as long as nothing went wrong.
    #[sqlx(try_from = "String")]
    pub ending: Ending,
    pub exit_code: Option<i64>,
    pub error_message: String,
    /// JSON: by name, secrets masked.
    pub variable_values: String,
    pub started_at: Option<i64>,
    pub completed_at: Option<i64>,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
}

/// Empty, or a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending(pub Option<ExecutionStatus>);

impl TryFrom<String> for Ending {
    type Error = String;

    fn try_from(word: String) -> std::result::Result<Self, String> {
        if word.is_empty() { Ok(Self(None)) } else { ExecutionStatus::try_from(word).map(|status| Self(Some(status))) }
    }
}

/// What it is carried out with.
#[derive(Clone, FromRow)]
pub struct Material {
    /// JSON: all values.
    pub sealed_values: Vec<u8>,
    /// The text of the extension as it was when this was asked for.
    pub yaml_content: String,
}

#[derive(Clone, Debug, FromRow)]
pub struct Step {
    pub id: Uuid,
    pub execution_id: Uuid,
    /// From 1 on, through all phases.
    pub step_order: i64,
    pub step_name: String,
    pub step_type: String,
    #[sqlx(try_from = "Word<ExecutionPhase>")]
    pub phase: ExecutionPhase,
    #[sqlx(try_from = "Word<StepStatus>")]
    pub status: StepStatus,
    pub exit_code: Option<i64>,
    pub output: String,
    /// JSON: what must be known to undo it; empty before it began.
    pub undo: String,
    #[sqlx(try_from = "Word<UndoStatus>")]
    pub undo_status: UndoStatus,
    pub undo_message: String,
    pub started_at: Option<i64>,
    pub completed_at: Option<i64>,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
}

macro_rules! columns {
    () => {
        "id, organization_id, user_id, extension_id, installation_id, kind, version, content_hash, server_id, server_hostname, may_reach_host, \
         restored_id, status, ending, \
         exit_code, error_message, variable_values, started_at, completed_at, created_at"
    };
}

macro_rules! step_columns {
    () => {
        "id, execution_id, step_order, step_name, step_type, phase, status, exit_code, output, undo, undo_status, \
         undo_message, started_at, completed_at, created_at"
    };
}

pub async fn insert(tx: &mut Tx, execution: &Execution, material: &Material) -> Result<()> {
    let query = concat!(
        "insert into executions (",
        columns!(),
        ", sealed_values, yaml_content) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)"
    );
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(execution.id)
            .bind(execution.organization_id)
            .bind(execution.user_id)
            .bind(execution.extension_id)
            .bind(execution.installation_id)
            .bind(execution.kind.as_str())
            .bind(&execution.version)
            .bind(&execution.content_hash)
            .bind(execution.server_id)
            .bind(&execution.server_hostname)
            .bind(execution.may_reach_host)
            .bind(execution.restored_id)
            .bind(execution.status.as_str())
            .bind(execution.ending.0.map_or("", ExecutionStatus::as_str))
            .bind(execution.exit_code)
            .bind(&execution.error_message)
            .bind(&execution.variable_values)
            .bind(execution.started_at)
            .bind(execution.completed_at)
            .bind(execution.created_at.micros())
            .bind(&material.sealed_values)
            .bind(&material.yaml_content)
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

pub async fn insert_step(tx: &mut Tx, step: &Step) -> Result<()> {
    let query = concat!(
        "insert into execution_steps (",
        step_columns!(),
        ") values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)"
    );
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(step.id)
            .bind(step.execution_id)
            .bind(step.step_order)
            .bind(&step.step_name)
            .bind(&step.step_type)
            .bind(step.phase.as_str())
            .bind(step.status.as_str())
            .bind(step.exit_code)
            .bind(&step.output)
            .bind(&step.undo)
            .bind(step.undo_status.as_str())
            .bind(&step.undo_message)
            .bind(step.started_at)
            .bind(step.completed_at)
            .bind(step.created_at.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

pub async fn get(conn: &mut Conn, id: Uuid) -> Result<Option<Execution>> {
    let query = concat!("select ", columns!(), " from executions where id = $1");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(id).fetch_optional(c).await)?)
}

/// Those that there are.
pub async fn among(conn: &mut Conn, ids: &[Uuid]) -> Result<Vec<Execution>> {
    db::among(conn, concat!("select ", columns!(), " from executions where id in ({})"), ids).await
}

/// Nothing when it belongs to another organization.
pub async fn of_organization(conn: &mut Conn, organization_id: Uuid, id: Uuid) -> Result<Option<Execution>> {
    let query = concat!("select ", columns!(), " from executions where id = $1 and organization_id = $2");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(id).bind(organization_id).fetch_optional(c).await)?)
}

pub async fn material(conn: &mut Conn, id: Uuid) -> Result<Option<Material>> {
    let query = "select sealed_values, yaml_content from executions where id = $1";
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(id).fetch_optional(c).await)?)
}

/// Which ones are asked for; what is none does not matter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter {
    pub extension_id: Option<Uuid>,
    pub installation_id: Option<Uuid>,
    pub status: Option<ExecutionStatus>,
}

/// Newest first, and how many there are in all.
pub async fn page(
    conn: &mut Conn,
    organization_id: Uuid,
    filter: Filter,
    (skip, limit): (i64, i64),
) -> Result<(Vec<Execution>, i64)> {
    let mut conditions = "organization_id = $1".to_owned();
    // At most one of them is given.
    let of = filter.extension_id.or(filter.installation_id);
    if of.is_some() {
        let column = if filter.extension_id.is_some() { "extension_id" } else { "installation_id" };
        conditions.push_str(&format!(" and {column} = $2"));
    }
    if let Some(status) = filter.status {
        conditions.push_str(&format!(" and status = '{}'", status.as_str()));
    }
    let query = format!("select count(*) from executions where {conditions}");
    let count = sql!(conn, |c| {
        let query = sqlx::query_scalar(AssertSqlSafe(query)).persistent(false).bind(organization_id);
        of.into_iter().fold(query, sqlx::query::QueryScalar::bind).fetch_one(c).await
    })?;
    let query = format!(
        concat!("select ", columns!(), " from executions where {} order by id desc limit {} offset {}"),
        conditions, limit, skip
    );
    let page = sql!(conn, |c| {
        let query = sqlx::query_as(AssertSqlSafe(query)).persistent(false).bind(organization_id);
        of.into_iter().fold(query, sqlx::query::QueryAs::bind).fetch_all(c).await
    })?;
    Ok((page, count))
}

pub async fn steps(conn: &mut Conn, execution_id: Uuid) -> Result<Vec<Step>> {
    let query =
        concat!("select ", step_columns!(), " from execution_steps where execution_id = $1 order by step_order");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(execution_id).fetch_all(c).await)?)
}

/// Those of an installation that were completed, the newest first.
pub async fn completed_of_installation(conn: &mut Conn, installation_id: Uuid) -> Result<Vec<Execution>> {
    let query = concat!(
        "select ",
        columns!(),
        " from executions where installation_id = $1 and status = 'completed' order by id desc limit 1000"
    );
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(installation_id).fetch_all(c).await)?)
}

/// The newest that removed an installation, or tried to, and has ended.
pub async fn newest_uninstall(conn: &mut Conn, installation_id: Uuid) -> Result<Option<Uuid>> {
    let query = "select id from executions where installation_id = $1 and kind = 'uninstall' \
                 and status in ('completed', 'failed') order by id desc limit 1";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(installation_id).fetch_optional(c).await)?)
}

/// Each with its organization.
pub async fn organizations(conn: &mut Conn) -> Result<Vec<(Uuid, Uuid)>> {
    Ok(sql!(conn, |c| sqlx::query_as("select id, organization_id from executions").fetch_all(c).await)?)
}

/// Of an organization: those that wait or run.
pub async fn count_under_way(conn: &mut Conn, organization_id: Uuid) -> Result<i64> {
    let query = "select count(*) from executions where organization_id = $1 and status in ('pending', 'running')";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(organization_id).fetch_one(c).await)?)
}

/// It is being carried out from now on, or again after a crash.
pub async fn begin(tx: &mut Tx, id: Uuid, server_id: Uuid, hostname: &str, now: Timestamp) -> Result<()> {
    let query = "update executions set status = 'running', server_id = coalesce(server_id, $2), \
                 server_hostname = case when server_hostname = '' then $3 else server_hostname end, \
                 started_at = coalesce(started_at, $4) where id = $1 and status in ('pending', 'running')";
    sql!(tx, |c| {
        sqlx::query(query).bind(id).bind(server_id).bind(hostname).bind(now.micros()).execute(c).await.map(drop)
    })?;
    Ok(())
}

/// It goes no further: what was done is undone, and then it ends like this.
pub async fn set_ending(tx: &mut Tx, id: Uuid, end: &End<'_>) -> Result<()> {
    let query = "update executions set ending = $2, exit_code = $3, error_message = $4 where id = $1 and ending = ''";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(id)
            .bind(end.status.as_str())
            .bind(end.exit_code)
            .bind(end.error_message)
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

/// How an execution ended.
#[derive(Clone, Debug)]
pub struct End<'a> {
    pub status: ExecutionStatus,
    pub exit_code: Option<i64>,
    pub error_message: &'a str,
}

/// False when it had ended already.
pub async fn end(tx: &mut Tx, id: Uuid, end: &End<'_>, now: Timestamp) -> Result<bool> {
    let query = "update executions set status = $2, exit_code = $3, error_message = $4, completed_at = $5 \
                 where id = $1 and status in ('pending', 'running')";
    let changed = sql!(tx, |c| {
        sqlx::query(query)
            .bind(id)
            .bind(end.status.as_str())
            .bind(end.exit_code)
            .bind(end.error_message)
            .bind(now.micros())
            .execute(c)
            .await
            .map(|done| done.rows_affected())
    })?;
    Ok(changed == 1)
}

/// What is known of a step from now on.
pub async fn update_step(tx: &mut Tx, step: &Step) -> Result<()> {
    let query = "update execution_steps set status = $2, exit_code = $3, output = $4, undo = $5, undo_status = $6, \
                 undo_message = $7, started_at = $8, completed_at = $9 where id = $1";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(step.id)
            .bind(step.status.as_str())
            .bind(step.exit_code)
            .bind(&step.output)
            .bind(&step.undo)
            .bind(step.undo_status.as_str())
            .bind(&step.undo_message)
            .bind(step.started_at)
            .bind(step.completed_at)
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

/// Forgets some of those that are over, beyond the newest `kept`: not those of what is installed. What they printed goes with them, so
/// they are few at a time.
pub async fn forget_old(tx: &mut Tx, organization_id: Uuid, kept: i64) -> Result<()> {
    let query = "delete from executions where id in ( \
             select e.id from executions e where e.organization_id = $1 and e.status in ('completed', 'failed', 'cancelled') \
             and e.id < (select id from executions where organization_id = $1 order by id desc limit 1 offset $2 - 1) \
             and not exists (select 1 from installations i where i.id = e.installation_id) \
             and not exists (select 1 from jobs j where j.id = e.id) \
             order by e.id limit 2)";
    sql!(tx, |c| sqlx::query(query).bind(organization_id).bind(kept).execute(c).await.map(drop))?;
    Ok(())
}

/// What is under way is called off.
pub async fn cancel_all(tx: &mut Tx, reason: &str, now: Timestamp) -> Result<()> {
    let query = "update executions set status = 'cancelled', error_message = $1, completed_at = $2 \
                 where status in ('pending', 'running')";
    sql!(tx, |c| sqlx::query(query).bind(reason).bind(now.micros()).execute(c).await.map(drop))?;
    Ok(())
}
