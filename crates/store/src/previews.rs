//! Previews: applications of pull requests. What each is made of is a row of `applications` with the same id.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::{ApplicationState, Timestamp};

use crate::db::sql;
use crate::word::Word;
use crate::{Conn, Result, Tx};

#[derive(Clone, Debug, FromRow)]
pub struct Preview {
    pub id: Uuid,
    /// The application that it is a preview of.
    pub application_id: Uuid,
    pub pull_request: i64,
    pub title: String,
    /// The pull request's page.
    pub url: String,
    pub branch: String,
    pub is_fork: bool,
    /// The code host's own id of the comment that tells of it; empty for none yet.
    pub comment_id: String,
    /// What the comment says; empty for nothing yet.
    pub commented: String,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
    /// When it was last asked to be deployed.
    #[sqlx(try_from = "i64")]
    pub deployed_at: Timestamp,
    /// From then on it is being removed.
    pub ended_at: Option<i64>,
}

macro_rules! columns {
    () => {
        "id, application_id, pull_request, title, url, branch, is_fork, comment_id, commented, created_at, deployed_at, ended_at"
    };
}

/// Its application must be there.
pub async fn insert(tx: &mut Tx, preview: &Preview) -> Result<()> {
    let query =
        concat!("insert into previews (", columns!(), ") values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)");
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(preview.id)
            .bind(preview.application_id)
            .bind(preview.pull_request)
            .bind(&preview.title)
            .bind(&preview.url)
            .bind(&preview.branch)
            .bind(preview.is_fork)
            .bind(&preview.comment_id)
            .bind(&preview.commented)
            .bind(preview.created_at.micros())
            .bind(preview.deployed_at.micros())
            .bind(preview.ended_at)
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

/// What a newer event says of the pull request.
pub async fn update(tx: &mut Tx, preview: &Preview) -> Result<()> {
    let query = "update previews set title = $2, url = $3, branch = $4, deployed_at = $5 where id = $1";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(preview.id)
            .bind(&preview.title)
            .bind(&preview.url)
            .bind(&preview.branch)
            .bind(preview.deployed_at.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

pub async fn get(conn: &mut Conn, id: Uuid) -> Result<Option<Preview>> {
    let query = concat!("select ", columns!(), " from previews where id = $1");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(id).fetch_optional(c).await)?)
}

/// The one of a pull request that is not being removed.
pub async fn of_pull_request(conn: &mut Conn, application_id: Uuid, pull_request: i64) -> Result<Option<Preview>> {
    let query = concat!(
        "select ",
        columns!(),
        " from previews where application_id = $1 and pull_request = $2 and ended_at is null"
    );
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(application_id).bind(pull_request).fetch_optional(c).await)?)
}

/// Those of an application that are not being removed, the newest pull request first.
pub async fn of_application(conn: &mut Conn, application_id: Uuid) -> Result<Vec<Preview>> {
    let query = concat!(
        "select ",
        columns!(),
        " from previews where application_id = $1 and ended_at is null order by pull_request desc"
    );
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(application_id).fetch_all(c).await)?)
}

/// Those that were last deployed before then, whichever application they are of.
pub async fn idle(conn: &mut Conn, before: Timestamp, limit: i64) -> Result<Vec<Preview>> {
    let query = concat!(
        "select ",
        columns!(),
        " from previews p where ended_at is null and deployed_at < $1 and not exists (select 1 from deployments d \
         where d.application_id = p.id and d.created_at >= $1) order by deployed_at limit $2"
    );
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(before.micros()).bind(limit).fetch_all(c).await)?)
}

/// Whether one is still among [`idle`].
pub async fn is_idle(conn: &mut Conn, id: Uuid, before: Timestamp) -> Result<bool> {
    let query = "select exists (select 1 from previews p where id = $1 and ended_at is null and deployed_at < $2 \
                 and not exists (select 1 from deployments d where d.application_id = p.id and d.created_at >= $2))";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(id).bind(before.micros()).fetch_one(c).await)?)
}

/// A preview, and how it is.
#[derive(Clone, Debug, FromRow)]
pub struct Shown {
    #[sqlx(flatten)]
    pub preview: Preview,
    pub name: String,
    pub domain: String,
    #[sqlx(try_from = "Word<ApplicationState>")]
    pub state: ApplicationState,
    /// The newest deployment.
    pub newest_id: Option<Uuid>,
    pub newest_at: Option<i64>,
    pub commit_hash: Option<String>,
}

macro_rules! shown {
    ($which:literal) => {
        concat!(
            "select p.id, p.application_id, p.pull_request, p.title, p.url, p.branch, p.is_fork, p.comment_id, p.commented, \
             p.created_at, p.deployed_at, p.ended_at, a.name, a.domain, a.state, d.id as newest_id, \
             d.created_at as newest_at, r.commit_hash from previews p join applications a on a.id = p.id \
             left join deployments d on d.id = (select n.id from deployments n where n.application_id = p.id \
                 order by n.id desc limit 1) left join releases r on r.id = d.release_id ",
            $which
        )
    };
}

pub async fn shown(conn: &mut Conn, id: Uuid) -> Result<Option<Shown>> {
    let query = shown!("where p.id = $1");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(id).fetch_optional(c).await)?)
}

/// All of [`of_application`].
pub async fn shown_of_application(conn: &mut Conn, application_id: Uuid) -> Result<Vec<Shown>> {
    let query = shown!("where p.application_id = $1 and p.ended_at is null order by p.pull_request desc");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(application_id).fetch_all(c).await)?)
}

/// The comment that tells of it, and what it says.
pub async fn set_comment(tx: &mut Tx, id: Uuid, comment_id: &str, text: &str) -> Result<()> {
    let query = "update previews set comment_id = $2, commented = $3 where id = $1";
    sql!(tx, |c| sqlx::query(query).bind(id).bind(comment_id).bind(text).execute(c).await.map(drop))?;
    Ok(())
}

/// False when it was ended before.
pub async fn end(tx: &mut Tx, id: Uuid, now: Timestamp) -> Result<bool> {
    let query = "update previews set ended_at = $2 where id = $1 and ended_at is null";
    let ended = sql!(tx, |c| {
        sqlx::query(query).bind(id).bind(now.micros()).execute(c).await.map(|done| done.rows_affected())
    })?;
    Ok(ended == 1)
}
