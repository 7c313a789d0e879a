//! Deployments of applications.

use uuid::Uuid;
use windlass_api::{
    ApplicationDeployment, ApplicationId, ApplicationQuery, Can, ComparisonQuery, DeploymentId, Deployments,
    DeploymentsQuery, ErrorCode, Pagination, Redeploy, ReleaseComparison, Restart, Rollback, Whole,
};
use windlass_store::releases::Release;
use windlass_store::{applications, deployments as rows, releases};

use super::body::{Payload, named_id};
use super::params::{PathId, RawParams};
use super::respond::{Answer, success};
use super::table::{Table, member_who};
use crate::auth::Ctx;
use crate::error::{Error, Result};
use crate::records::applications as records;
use crate::records::logs::deployment_with_lines;
use crate::records::releases::{Contents, changes};
use crate::service::deployments::{self, Restartable};
use crate::shared_variables;

const PAGE_SIZE: i64 = 10;

pub fn routes(table: Table) -> Table {
    use ErrorCode::{Conflict, ReleaseGone};
    table
        .post(
            "/deploy/application/start",
            start,
            member_who::<ApplicationDeployment>("Start application", Can::DeployUpdate)
                .note("What was live last, after a stop.")
                .body::<ApplicationId>()
                .errors(&[Conflict]),
        )
        .post(
            "/deploy/application/redeploy",
            redeploy,
            member_who::<ApplicationDeployment>("Redeploy application", Can::DeployUpdate)
                .note("The newest commit with the present configuration.")
                .body::<Redeploy>()
                .errors(&[Conflict]),
        )
        .post(
            "/deploy/application/restart",
            restart,
            member_who::<ApplicationDeployment>("Restart application", Can::DeployUpdate)
                .note("The live release in a new container.")
                .body::<Restart>()
                .errors(&[Conflict]),
        )
        .post(
            "/deploy/application/rollback",
            rollback,
            member_who::<ApplicationDeployment>("Roll back application", Can::DeployUpdate)
                .body::<Rollback>()
                .errors(&[ReleaseGone, Conflict]),
        )
        .post(
            "/deploy/application/cancel-deployment",
            cancel,
            member_who::<ApplicationDeployment>("Cancel deployment", Can::DeployUpdate)
                .body::<DeploymentId>()
                .errors(&[Conflict]),
        )
        .get(
            "/deploy/application/deployments",
            list,
            member_who::<Deployments>("List deployments", Can::DeployRead).query::<DeploymentsQuery>(),
        )
        .get(
            "/deploy/application/deployments/{deployment_id}",
            get,
            member_who::<ApplicationDeployment>("Get deployment by id", Can::DeployRead),
        )
        .get(
            "/deploy/application/{application_id}/compare",
            compare,
            member_who::<ReleaseComparison>("Compare releases", Can::DeployRead)
                .note("Of the releases of two deployments: commit, artifact, settings and variables.")
                .query::<ComparisonQuery>(),
        )
}

pub async fn get(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.deployment(id).await?;
    let mut conn = ctx.app.db.read().await?;
    let gone = || Error::not_found("deployment");
    let shown = rows::shown(&mut conn, id).await?.ok_or_else(gone)?;
    let row = applications::get(&mut conn, shown.deployment.application_id).await?.ok_or_else(gone)?;
    let record = records::deployment(&mut conn, &granted.authority().application_viewer(&ctx.app), &row, shown).await?;
    drop(conn);
    success("Deployment", deployment_with_lines(&ctx.app.logs.store, record).await)
}

pub async fn compare(ctx: Ctx, PathId(id): PathId, params: RawParams) -> Answer {
    let granted = ctx.application(id).await?;
    let ComparisonQuery { from, to } = params.parse()?;
    let (before, after) = (release_of(&ctx, id, from).await?, release_of(&ctx, id, to).await?);
    let viewer = granted.authority().application_viewer(&ctx.app);
    let mut conn = ctx.app.db.read().await?;
    let now = shared_variables::of_application(&mut conn, &ctx.app.vault, granted.row()).await?;
    drop(conn);
    let before = Contents::of_release(&ctx.app.vault, &before).await?;
    let after = Contents::of_release(&ctx.app.vault, &after).await?;
    success("What has changed", ReleaseComparison { changes: changes(&viewer, &now, &before, &after)? })
}

/// A deployment of another application is none of this one's.
async fn release_of(ctx: &Ctx, application_id: Uuid, deployment_id: Uuid) -> Result<Release> {
    let deployment = ctx.deployment(deployment_id).await?;
    let row = deployment.row();
    let release = releases::get(&mut ctx.app.db.read().await?, row.release_id).await?;
    let release = release.filter(|_| row.application_id == application_id);
    release.ok_or_else(|| Error::not_found("deployment"))
}

pub async fn list(ctx: Ctx, params: RawParams) -> Answer {
    let id = params.parse::<ApplicationQuery>()?.id;
    let granted = ctx.application(id).await?;
    let viewer = granted.authority().application_viewer(&ctx.app);
    let query: DeploymentsQuery = params.parse()?;
    let (number, size) = (query.page.map_or(1, Whole::get), query.limit.map_or(PAGE_SIZE, Whole::get));
    let mut conn = ctx.app.db.read().await?;
    let total = rows::count(&mut conn, id).await?;
    let page = rows::page(&mut conn, id, (number - 1) * size, size).await?;
    let deployments = page.into_iter().map(|shown| records::bare_deployment(&viewer, shown)).collect();
    success("Deployments", Deployments { deployments, pagination: Pagination::new(number, size, total) })
}

pub async fn redeploy(ctx: Ctx, body: Payload) -> Answer {
    let granted = ctx.application(named_id(&ctx, &body).await?).await?;
    let input: Redeploy = body.parse()?;
    let without_cache = input.force_without_cache.unwrap_or_default();
    let queued = deployments::redeploy(&ctx.app, &granted, without_cache).await?;
    success("Deployment queued", queued)
}

pub async fn restart(ctx: Ctx, body: Payload) -> Answer {
    let what = application_or_deployment(&ctx, named_id(&ctx, &body).await?).await?;
    body.parse::<Restart>()?;
    success("Restart queued", deployments::restart(&ctx.app, &what).await?)
}

/// What the id belongs to.
async fn application_or_deployment(ctx: &Ctx, id: Uuid) -> Result<Restartable> {
    match ctx.application(id).await {
        Err(error) if error.code == ErrorCode::NotFound => {
            let found = ctx.deployment(id).await.map_err(|error| match error.code {
                ErrorCode::NotFound => Error::not_found("application or deployment"),
                _ => error,
            });
            found.map(Restartable::Deployment)
        }
        found => found.map(Restartable::Application),
    }
}

pub async fn start(ctx: Ctx, body: Payload) -> Answer {
    let granted = ctx.application(named_id(&ctx, &body).await?).await?;
    body.parse::<ApplicationId>()?;
    success("Start queued", deployments::start(&ctx.app, &granted).await?)
}

pub async fn rollback(ctx: Ctx, body: Payload) -> Answer {
    let granted = ctx.deployment(named_id(&ctx, &body).await?).await?;
    let input: Rollback = body.parse()?;
    let with_data = input.with_data.unwrap_or_default();
    success("Rollback queued", deployments::rollback(&ctx.app, &granted, with_data).await?)
}

pub async fn cancel(ctx: Ctx, body: Payload) -> Answer {
    let granted = ctx.deployment(named_id(&ctx, &body).await?).await?;
    body.parse::<DeploymentId>()?;
    let (message, deployment) = deployments::cancel(&ctx.app, &granted).await?;
    success(message, deployment)
}
