//! Deployments of applications.

use uuid::Uuid;
use windlass_api::{
    ApplicationId, ApplicationQuery, Can, DeploymentId, Deployments, DeploymentsQuery, ErrorCode, Pagination, Redeploy,
    Restart, Whole,
};
use windlass_store::memberships::Joined;
use windlass_store::{applications, deployments as rows};

use super::body::{Payload, named_id};
use super::params::{PathId, RawParams};
use super::respond::{Answer, success};
use crate::auth::Ctx;
use crate::error::{Error, Result};
use crate::records::applications as records;
use crate::service::deployments;

const PAGE_SIZE: i64 = 10;

pub async fn get(ctx: Ctx, PathId(id): PathId) -> Answer {
    let (joined, _) = ctx.deployment(id, Can::DeployRead).await?;
    let mut conn = ctx.app.db.read().await?;
    let gone = || Error::not_found("deployment");
    let shown = rows::shown(&mut conn, id).await?.ok_or_else(gone)?;
    let row = applications::get(&mut conn, shown.deployment.application_id).await?.ok_or_else(gone)?;
    let record = records::deployment(&mut conn, &ctx.onlooker(&joined), &row, shown).await?;
    drop(conn);
    success("Deployment", records::deployment_with_lines(&ctx.app.logs.store, record).await)
}

pub async fn list(ctx: Ctx, params: RawParams) -> Answer {
    let id = params.parse::<ApplicationQuery>()?.id;
    ctx.application(id, Can::DeployRead).await?;
    let query: DeploymentsQuery = params.parse()?;
    let (number, size) = (query.page.map_or(1, Whole::get), query.limit.map_or(PAGE_SIZE, Whole::get));
    let mut conn = ctx.app.db.read().await?;
    let total = rows::count(&mut conn, id).await?;
    let page = rows::page(&mut conn, id, (number - 1) * size, size).await?;
    let deployments = page.into_iter().map(records::bare_deployment).collect();
    success("Deployments", Deployments { deployments, pagination: Pagination::new(number, size, total) })
}

pub async fn redeploy(ctx: Ctx, body: Payload) -> Answer {
    let id = named_id(&ctx, &body, Can::DeployUpdate).await?;
    let (joined, _) = ctx.application(id, Can::DeployUpdate).await?;
    let input: Redeploy = body.parse()?;
    let without_cache = input.force_without_cache.unwrap_or_default();
    let queued = deployments::redeploy(&ctx, joined.organization.id, input.id, without_cache).await?;
    success("Deployment queued", queued)
}

pub async fn restart(ctx: Ctx, body: Payload) -> Answer {
    let id = named_id(&ctx, &body, Can::DeployUpdate).await?;
    let (joined, application_id, deployment_id) = application_or_deployment(&ctx, id).await?;
    body.parse::<Restart>()?;
    let queued = deployments::restart(&ctx, joined.organization.id, application_id, deployment_id).await?;
    success("Restart queued", queued)
}

/// The application, and the deployment if it is one that the id belongs to.
async fn application_or_deployment(ctx: &Ctx, id: Uuid) -> Result<(Joined, Uuid, Option<Uuid>)> {
    match ctx.application(id, Can::DeployUpdate).await {
        Ok((joined, application)) => Ok((joined, application.id, None)),
        Err(error) if error.code == ErrorCode::NotFound => {
            let found = ctx.deployment(id, Can::DeployUpdate).await;
            let (joined, deployment) = found.map_err(|error| match error.code {
                ErrorCode::NotFound => Error::not_found("application or deployment"),
                _ => error,
            })?;
            Ok((joined, deployment.application_id, Some(id)))
        }
        Err(error) => Err(error),
    }
}

pub async fn start(ctx: Ctx, body: Payload) -> Answer {
    let id = named_id(&ctx, &body, Can::DeployUpdate).await?;
    let (joined, _) = ctx.application(id, Can::DeployUpdate).await?;
    let input: ApplicationId = body.parse()?;
    success("Start queued", deployments::start(&ctx, joined.organization.id, input.id).await?)
}

pub async fn rollback(ctx: Ctx, body: Payload) -> Answer {
    let id = named_id(&ctx, &body, Can::DeployUpdate).await?;
    let (joined, deployment) = ctx.deployment(id, Can::DeployUpdate).await?;
    body.parse::<DeploymentId>()?;
    success("Rollback queued", deployments::rollback(&ctx, joined.organization.id, &deployment).await?)
}

pub async fn cancel(ctx: Ctx, body: Payload) -> Answer {
    let id = named_id(&ctx, &body, Can::DeployUpdate).await?;
    let (joined, deployment) = ctx.deployment(id, Can::DeployUpdate).await?;
    body.parse::<DeploymentId>()?;
    let (message, deployment) = deployments::cancel(&ctx, joined.organization.id, &deployment).await?;
    success(message, deployment)
}
