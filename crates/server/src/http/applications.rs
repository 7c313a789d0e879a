//! Applications.

use axum::http::HeaderMap;
use windlass_api::{
    ApplicationId, ApplicationOrder, ApplicationQuery, Applications, ApplicationsQuery, Can, CreateDeployment,
    DeleteApplication, IdempotencyName, Pagination, SortDirection, UpdateApplication, UpdateLabels, Whole,
};
use windlass_store::applications::{Filter, Sorting, page};

use super::body::{Payload, named_id};
use super::params::{Params, RawParams};
use super::respond::{Answer, success};
use crate::auth::Ctx;
use crate::auth::origin::header_text;
use crate::error::{Error, Result};
use crate::records::applications as records;
use crate::service::applications;
use crate::service::idempotency::Once;

pub const IDEMPOTENCY_HEADER: &str = "idempotency-key";
const PAGE_SIZE: i64 = 10;

pub async fn deploy(ctx: Ctx, headers: HeaderMap, body: Payload) -> Answer {
    let joined = ctx.organization(None, Can::DeployCreate).await?;
    let once = once(&ctx, &headers, &body)?;
    let input: CreateDeployment = body.parse()?;
    let (message, application) =
        Box::pin(applications::deploy(&ctx, joined.organization.id, input, once.as_ref())).await?;
    success(message, application)
}

fn once(ctx: &Ctx, headers: &HeaderMap, body: &Payload) -> Result<Option<Once>> {
    let Some(text) = header_text(headers, IDEMPOTENCY_HEADER) else { return Ok(None) };
    let name = IdempotencyName::try_from(text.as_str()).map_err(|problem| Error::field("Idempotency-Key", problem))?;
    Ok(Some(Once::new(&ctx.app, name, body.bytes())))
}

pub async fn list(ctx: Ctx, params: RawParams) -> Answer {
    let joined = ctx.organization(None, Can::DeployRead).await?;
    let query: ApplicationsQuery = params.joining("label")?.parse()?;
    let (number, size) = (query.page.map_or(1, Whole::get), query.page_size.map_or(PAGE_SIZE, Whole::get));
    let filter = Filter {
        search: query.search.as_deref().map(str::to_owned),
        labels: query.label.as_deref().unwrap_or_default().to_vec(),
        state: query.state,
        environment: query.environment.as_deref().map(str::to_owned),
    };
    let sorting = Sorting {
        by: query.sort_by.unwrap_or(ApplicationOrder::CreatedAt),
        direction: query.sort_direction.unwrap_or(SortDirection::Descending),
    };
    let mut conn = ctx.app.db.read().await?;
    let skip = (number - 1) * size;
    let (rows, total) = page(&mut conn, joined.organization.id, &filter, sorting, skip, size).await?;
    let applications = records::applications(&mut conn, &ctx.onlooker(&joined), &rows).await?;
    success("Applications", Applications { applications, pagination: Pagination::new(number, size, total) })
}

pub async fn get(ctx: Ctx, Params(query): Params<ApplicationQuery>) -> Answer {
    let (joined, row) = ctx.application(query.id, Can::DeployRead).await?;
    let mut conn = ctx.app.db.read().await?;
    let record = records::application(&mut conn, &ctx.onlooker(&joined), &row).await?;
    drop(conn);
    success("Application", records::with_lines(&ctx.app.logs.store, record).await)
}

pub async fn update(ctx: Ctx, body: Payload) -> Answer {
    let id = named_id(&ctx, &body, Can::DeployUpdate).await?;
    let (joined, _) = ctx.application(id, Can::DeployUpdate).await?;
    let input: UpdateApplication = body.parse()?;
    let updated = Box::pin(applications::update(&ctx, joined.organization.id, input)).await?;
    let message = match updated.pending_fields.as_slice() {
        [] => "Application updated".to_owned(),
        fields => format!("Application updated; at the next deploy these take effect: {}", fields.join(", ")),
    };
    success(&message, updated)
}

pub async fn delete(ctx: Ctx, body: Payload) -> Answer {
    let id = named_id(&ctx, &body, Can::DeployDelete).await?;
    let (joined, _) = ctx.application(id, Can::DeployDelete).await?;
    let input: DeleteApplication = body.parse()?;
    applications::delete(&ctx, joined.organization.id, input.id, &input.name).await?;
    success("Application is being deleted", ())
}

pub async fn set_labels(ctx: Ctx, Params(query): Params<ApplicationQuery>, body: Payload) -> Answer {
    let (joined, _) = ctx.application(query.id, Can::DeployUpdate).await?;
    let input: UpdateLabels = body.parse()?;
    success("Labels saved", applications::set_labels(&ctx, joined.organization.id, query.id, &input.labels).await?)
}

pub async fn stop(ctx: Ctx, body: Payload) -> Answer {
    let id = named_id(&ctx, &body, Can::DeployUpdate).await?;
    let (joined, _) = ctx.application(id, Can::DeployUpdate).await?;
    let input: ApplicationId = body.parse()?;
    let (message, application) = applications::stop(&ctx, joined.organization.id, input.id).await?;
    success(message, application)
}
