//! Deployments: each brings one release to visitors, or says why it did not.

use sqlx::{AssertSqlSafe, FromRow};
use uuid::Uuid;
use windlass_api::{ContainerStatus, DeploymentKind, DeploymentState, DeploymentTrigger, Failure, Timestamp, words};

use crate::containers::{self, Container};
use crate::db::{parameters, sql};
use crate::word::{Word, words_of_columns};
use crate::{Conn, Result, Tx};

words! {
    /// How far the command after the switch has come.
    pub enum PostRun {
        NotBegun = "",
        /// It may have run, whether or not its end was seen.
        Begun = "begun",
        Ended = "ended",
    }
}

words_of_columns! { PostRun }

#[derive(Clone, Debug, FromRow)]
pub struct Deployment {
    pub id: Uuid,
    pub application_id: Uuid,
    pub release_id: Uuid,
    #[sqlx(try_from = "Word<DeploymentTrigger>")]
    pub triggered_by: DeploymentTrigger,
    /// The user who asked for it, or whose API key did.
    pub user_id: Option<Uuid>,
    #[sqlx(try_from = "Word<DeploymentKind>")]
    pub kind: DeploymentKind,
    pub without_cache: bool,
    pub status_id: Uuid,
    #[sqlx(try_from = "Word<DeploymentState>")]
    pub state: DeploymentState,
    #[sqlx(try_from = "i64")]
    pub state_changed_at: Timestamp,
    /// A [`Failure`], or empty.
    pub failure: String,
    pub reason: String,
    pub container_id: String,
    pub container_name: String,
    #[sqlx(try_from = "Word<ContainerStatus>")]
    pub container_status: ContainerStatus,
    pub started_at: Option<i64>,
    pub finished_at: Option<i64>,
    pub requests_served: i64,
    pub requests_failed: i64,
    /// Since when visitors waited for it, and how many requests had waited at the edge before.
    pub held_at: Option<i64>,
    pub held_before: i64,
    pub held_ms: i64,
    pub held_requests: i64,
    /// JSON: which volumes it brings back from which snapshots.
    pub restores: String,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
    #[sqlx(try_from = "i64")]
    pub updated_at: Timestamp,
}

macro_rules! columns {
    () => {
        "id, application_id, release_id, triggered_by, user_id, kind, without_cache, status_id, state, \
         state_changed_at, failure, reason, container_id, container_name, container_status, started_at, \
         finished_at, requests_served, requests_failed, held_at, held_before, held_ms, held_requests, restores, created_at, \
         updated_at"
    };
}

/// Of those that deploy this commit.
pub async fn states_of_commit(conn: &mut Conn, application_id: Uuid, commit: &str) -> Result<Vec<DeploymentState>> {
    let query = "select d.state from deployments d join releases r on r.id = d.release_id \
                 where d.application_id = $1 and r.commit_hash = $2";
    let found: Vec<Word<DeploymentState>> =
        sql!(conn, |c| sqlx::query_scalar(query).bind(application_id).bind(commit).fetch_all(c).await)?;
    Ok(found.into_iter().map(|Word(state)| state).collect())
}

/// The commit of the newest deployment that visitors were served by.
pub async fn last_deployed_commit(conn: &mut Conn, application_id: Uuid) -> Result<Option<String>> {
    let query = "select r.commit_hash from deployments d join releases r on r.id = d.release_id \
                 where d.application_id = $1 and d.state = 'deployed' order by d.id desc limit 1";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(application_id).fetch_optional(c).await)?)
}

/// What the code host was last told of it; empty for nothing.
pub async fn reported(conn: &mut Conn, id: Uuid) -> Result<String> {
    let query = "select reported from deployments where id = $1";
    let reported: Option<String> = sql!(conn, |c| sqlx::query_scalar(query).bind(id).fetch_optional(c).await)?;
    Ok(reported.unwrap_or_default())
}

pub async fn set_reported(tx: &mut Tx, id: Uuid, state: &str) -> Result<()> {
    let query = "update deployments set reported = $2 where id = $1";
    sql!(tx, |c| sqlx::query(query).bind(id).bind(state).execute(c).await.map(drop))?;
    Ok(())
}

/// One that waits for its turn.
pub async fn insert(tx: &mut Tx, deployment: &Deployment) -> Result<()> {
    let query = "insert into deployments (id, application_id, release_id, triggered_by, user_id, kind, without_cache, \
                 status_id, state, state_changed_at, created_at, updated_at, restores) \
                 values ($1, $2, $3, $4, $5, $6, $7, $8, 'queued', $9, $9, $9, $10)";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(deployment.id)
            .bind(deployment.application_id)
            .bind(deployment.release_id)
            .bind(deployment.triggered_by.as_str())
            .bind(deployment.user_id)
            .bind(deployment.kind.as_str())
            .bind(deployment.without_cache)
            .bind(deployment.status_id)
            .bind(deployment.created_at.micros())
            .bind(&deployment.restores)
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

pub async fn get(conn: &mut Conn, id: Uuid) -> Result<Option<Deployment>> {
    let query = concat!("select ", columns!(), " from deployments where id = $1");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(id).fetch_optional(c).await)?)
}

/// The newest first, before one of them if that is given.
pub async fn of_application(
    conn: &mut Conn,
    application_id: Uuid,
    before: Option<Uuid>,
    limit: i64,
) -> Result<Vec<Deployment>> {
    let query = match before {
        Some(_) => concat!(
            "select ",
            columns!(),
            " from deployments where application_id = $1 and id < $3 order by id desc limit $2"
        ),
        None => concat!("select ", columns!(), " from deployments where application_id = $1 order by id desc limit $2"),
    };
    Ok(sql!(conn, |c| {
        let query = sqlx::query_as(query).bind(application_id).bind(limit);
        match before {
            Some(before) => query.bind(before).fetch_all(c).await,
            None => query.fetch_all(c).await,
        }
    })?)
}

/// A deployment with what there is to say about its release.
#[derive(Clone, Debug, FromRow)]
pub struct Shown {
    #[sqlx(flatten)]
    pub deployment: Deployment,
    pub commit_hash: String,
    pub commit_author: String,
    pub commit_message: String,
    pub image_id: String,
    pub has_site: bool,
    pub has_services: bool,
    /// The name of `user_id`, as long as they are a member of the organization.
    pub user_name: Option<String>,
    /// Whether the release can be made live again.
    pub is_kept: bool,
    /// Whether there are snapshots of what the release had written when it was replaced.
    pub has_data: bool,
    /// Those that are there now, in the order of their ordinals.
    #[sqlx(skip)]
    pub instances: Vec<Container>,
}

macro_rules! shown {
    () => {
        "select d.id, d.application_id, d.release_id, d.triggered_by, d.user_id, d.kind, d.without_cache, d.status_id, \
         d.state, d.state_changed_at, d.failure, d.reason, d.container_id, d.container_name, d.container_status, \
         d.started_at, d.finished_at, d.requests_served, d.requests_failed, d.held_at, d.held_before, d.held_ms, d.held_requests, \
         d.restores, d.created_at, d.updated_at, r.commit_hash, r.commit_author, r.commit_message, r.image_id, \
         (r.site <> '') as has_site, (r.services <> '') as has_services, \
         (select u.username from users u join memberships m on m.user_id = u.id \
             join applications a on a.id = d.application_id and a.organization_id = m.organization_id \
             where u.id = d.user_id) as user_name, \
         (r.live_at is not null and r.removed_at is null and (r.image_id <> '' or r.site <> '' or r.services <> '')) as is_kept, \
         exists (select 1 from snapshots s join deployments n on n.id = s.deployment_id and n.state = 'deployed' \
             join volumes v on v.id = s.volume_id and v.deleted_at is null \
             where s.live_release_id = d.release_id and s.state = 'ready') as has_data \
         from deployments d join releases r on r.id = d.release_id "
    };
}

pub async fn shown(conn: &mut Conn, id: Uuid) -> Result<Option<Shown>> {
    let query = concat!(shown!(), "where d.id = $1");
    let shown: Option<Shown> = sql!(conn, |c| sqlx::query_as(query).bind(id).fetch_optional(c).await)?;
    Ok(with_instances(conn, shown.into_iter().collect()).await?.pop())
}

async fn with_instances(conn: &mut Conn, mut all: Vec<Shown>) -> Result<Vec<Shown>> {
    let ids: Vec<Uuid> = all.iter().map(|shown| shown.deployment.id).collect();
    for instance in containers::instances_of(conn, &ids).await? {
        let its = all.iter_mut().find(|shown| shown.deployment.id == instance.deployment_id);
        its.into_iter().for_each(|shown| shown.instances.push(instance.clone()));
    }
    Ok(all)
}

/// Those among them that are remembered, in no order.
pub async fn shown_among(conn: &mut Conn, ids: &[Uuid]) -> Result<Vec<Shown>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let query = format!(concat!(shown!(), "where d.id in ({})"), parameters(1, ids.len()));
    let all = sql!(conn, |c| {
        let query = sqlx::query_as(AssertSqlSafe(query)).persistent(false);
        ids.iter().fold(query, |query, id| query.bind(*id)).fetch_all(c).await
    })?;
    with_instances(conn, all).await
}

/// The newest of each of these applications, in no order.
pub async fn newest_of(conn: &mut Conn, application_ids: &[Uuid]) -> Result<Vec<Shown>> {
    if application_ids.is_empty() {
        return Ok(Vec::new());
    }
    let query = format!(
        concat!(
            shown!(),
            "where d.id in (select (select n.id from deployments n where n.application_id = l.id order by n.id desc limit 1) \
             from applications l where l.id in ({}))"
        ),
        parameters(1, application_ids.len())
    );
    let all = sql!(conn, |c| {
        let query = sqlx::query_as(AssertSqlSafe(query)).persistent(false);
        application_ids.iter().fold(query, |query, id| query.bind(*id)).fetch_all(c).await
    })?;
    with_instances(conn, all).await
}

/// Some of an application's, newest first.
pub async fn page(conn: &mut Conn, application_id: Uuid, skip: i64, limit: i64) -> Result<Vec<Shown>> {
    let query = concat!(shown!(), "where d.application_id = $1 order by d.id desc limit $2 offset $3");
    let all = sql!(conn, |c| sqlx::query_as(query).bind(application_id).bind(limit).bind(skip).fetch_all(c).await)?;
    with_instances(conn, all).await
}

pub async fn count(conn: &mut Conn, application_id: Uuid) -> Result<i64> {
    let query = "select count(*) from deployments where application_id = $1";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(application_id).fetch_one(c).await)?)
}

/// Nothing when its application belongs to another organization.
pub async fn of_organization(conn: &mut Conn, organization_id: Uuid, id: Uuid) -> Result<Option<Deployment>> {
    let query = concat!(
        "select ",
        columns!(),
        " from deployments where id = $1 \
         and application_id in (select a.id from applications a where a.organization_id = $2)"
    );
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(id).bind(organization_id).fetch_optional(c).await)?)
}

/// Those that wait or are under way, oldest first.
pub async fn under_way(conn: &mut Conn, application_id: Uuid) -> Result<Vec<Deployment>> {
    let query = concat!(
        "select ",
        columns!(),
        " from deployments where application_id = $1 and state in ('queued', 'cloning', 'building', 'deploying') order by id"
    );
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(application_id).fetch_all(c).await)?)
}

/// False when it was not in that state, and nothing changed.
pub async fn advance(
    tx: &mut Tx,
    id: Uuid,
    from: DeploymentState,
    to: DeploymentState,
    now: Timestamp,
) -> Result<bool> {
    let query = "update deployments set state = $3, state_changed_at = $4, updated_at = $4, \
                 started_at = case when $2 = 'queued' and $3 <> 'cancelled' then $4 else started_at end, \
                 finished_at = case when $3 in ('deployed', 'failed', 'cancelled') then $4 else finished_at end \
                 where id = $1 and state = $2";
    let changed = sql!(tx, |c| {
        sqlx::query(query)
            .bind(id)
            .bind(from.as_str())
            .bind(to.as_str())
            .bind(now.micros())
            .execute(c)
            .await
            .map(|done| done.rows_affected())
    })?;
    Ok(changed == 1)
}

/// Why it failed, or why it was cancelled: the first reason that was given stays.
pub async fn explain(tx: &mut Tx, id: Uuid, failure: Option<Failure>, reason: &str) -> Result<()> {
    let query = "update deployments set failure = $2, \
                 reason = case when $2 = '' and reason <> '' then reason else $3 end where id = $1";
    let failure = failure.map_or("", Failure::as_str);
    sql!(tx, |c| sqlx::query(query).bind(id).bind(failure).bind(reason).execute(c).await.map(drop))?;
    Ok(())
}

/// Why it is to be cancelled, unless it has failed already.
pub async fn explain_cancel(tx: &mut Tx, id: Uuid, reason: &str, now: Timestamp) -> Result<()> {
    let query = "update deployments set reason = case when failure = '' then $3 else reason end, updated_at = $2 where id = $1 \
                 and state in ('queued', 'cloning', 'building', 'deploying')";
    sql!(tx, |c| sqlx::query(query).bind(id).bind(now.micros()).bind(reason).execute(c).await.map(drop))?;
    Ok(())
}

pub async fn set_container(
    tx: &mut Tx,
    id: Uuid,
    name: &str,
    engine_id: &str,
    status: ContainerStatus,
    now: Timestamp,
) -> Result<()> {
    let query = "update deployments set container_name = $2, container_id = $3, container_status = $4, updated_at = $5 \
                 where id = $1";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(id)
            .bind(name)
            .bind(engine_id)
            .bind(status.as_str())
            .bind(now.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

/// True when that is news.
pub async fn observe_container(tx: &mut Tx, id: Uuid, status: ContainerStatus, now: Timestamp) -> Result<bool> {
    let query =
        "update deployments set container_status = $2, updated_at = $3 where id = $1 and container_status <> $2";
    let changed = sql!(tx, |c| {
        let query = sqlx::query(query).bind(id).bind(status.as_str()).bind(now.micros());
        query.execute(c).await.map(|done| done.rows_affected())
    })?;
    Ok(changed == 1)
}

/// What became of requests that were under way in the containers before.
pub async fn add_requests(tx: &mut Tx, id: Uuid, served: i64, failed: i64, now: Timestamp) -> Result<()> {
    let query = "update deployments set requests_served = requests_served + $2, requests_failed = requests_failed + $3, \
                 updated_at = $4 where id = $1";
    sql!(tx, |c| {
        sqlx::query(query).bind(id).bind(served).bind(failed).bind(now.micros()).execute(c).await.map(drop)
    })?;
    Ok(())
}

pub async fn post_run(conn: &mut Conn, id: Uuid) -> Result<PostRun> {
    let query = "select post_run from deployments where id = $1";
    let found: Option<Word<PostRun>> = sql!(conn, |c| sqlx::query_scalar(query).bind(id).fetch_optional(c).await)?;
    Ok(found.map_or(PostRun::NotBegun, |Word(word)| word))
}

pub async fn set_post_run(tx: &mut Tx, id: Uuid, to: PostRun) -> Result<()> {
    let query = "update deployments set post_run = $2 where id = $1";
    Ok(sql!(tx, |c| sqlx::query(query).bind(id).bind(to.as_str()).execute(c).await.map(drop))?)
}

/// Since when visitors wait for it, and how many requests had waited at the edge before.
pub async fn set_held_at(tx: &mut Tx, id: Uuid, at: Timestamp, before: i64) -> Result<()> {
    let query = "update deployments set held_at = $2, held_before = $3, updated_at = $2 where id = $1";
    sql!(tx, |c| sqlx::query(query).bind(id).bind(at.micros()).bind(before).execute(c).await.map(drop))?;
    Ok(())
}

/// For how long visitors have waited for it, and how many of their requests.
pub async fn set_held(tx: &mut Tx, id: Uuid, milliseconds: i64, requests: i64, now: Timestamp) -> Result<()> {
    let query = "update deployments set held_ms = $2, held_requests = $3, updated_at = $4 where id = $1";
    sql!(tx, |c| {
        sqlx::query(query).bind(id).bind(milliseconds).bind(requests).bind(now.micros()).execute(c).await.map(drop)
    })?;
    Ok(())
}

/// Another release, because the one that was asked for is not what is meant any more.
pub async fn set_release(tx: &mut Tx, id: Uuid, release_id: Uuid) -> Result<()> {
    let query = "update deployments set release_id = $2 where id = $1";
    sql!(tx, |c| sqlx::query(query).bind(id).bind(release_id).execute(c).await.map(drop))?;
    Ok(())
}

/// Forgets some of those that are over, beyond the newest `kept`: not the live one, and not the newest of a release that can be gone back
/// to. What they printed goes with them, so they are few at a time.
pub async fn forget_old(tx: &mut Tx, application_id: Uuid, kept: i64) -> Result<()> {
    let query = "delete from deployments where id in ( \
             select d.id from deployments d where d.application_id = $1 and d.state in ('deployed', 'failed', 'cancelled') \
             and d.id < (select id from deployments where application_id = $1 order by id desc limit 1 offset $2 - 1) \
             and not exists (select 1 from applications a where a.id = $1 and a.live_deployment_id = d.id) \
             and not exists (select 1 from containers c where c.deployment_id = d.id or c.made_by = d.id) \
             and not exists (select 1 from jobs j where j.id = d.id) \
             and not exists (select 1 from releases r where r.id = d.release_id and r.live_at is not null \
                 and r.removed_at is null \
                 and not exists (select 1 from deployments n where n.release_id = r.id and n.id > d.id)) \
             order by d.id limit 2)";
    sql!(tx, |c| sqlx::query(query).bind(application_id).bind(kept).execute(c).await.map(drop))?;
    let query = "delete from releases where id in ( \
             select r.id from releases r where r.application_id = $1 and r.removed_at is not null \
             and not exists (select 1 from deployments d where d.release_id = r.id) limit 2)";
    sql!(tx, |c| sqlx::query(query).bind(application_id).execute(c).await.map(drop))?;
    Ok(())
}

/// What is under way is called off, and no container is left of any.
pub async fn cancel_all(tx: &mut Tx, reason: &str, now: Timestamp) -> Result<()> {
    let query = "update deployments set state = 'cancelled', state_changed_at = $1, finished_at = $1, updated_at = $1, reason = $2 \
                 where state in ('queued', 'cloning', 'building', 'deploying')";
    sql!(tx, |c| sqlx::query(query).bind(now.micros()).bind(reason).execute(c).await.map(drop))?;
    let query = "update deployments set container_status = 'removed', updated_at = $1 where container_status not in ('', 'removed')";
    Ok(sql!(tx, |c| sqlx::query(query).bind(now.micros()).execute(c).await.map(drop))?)
}
