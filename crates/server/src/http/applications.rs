//! Applications.

use axum::http::HeaderMap;
use windlass_api::{
    Application, ApplicationId, ApplicationOrder, ApplicationQuery, Applications, ApplicationsQuery, BuildPlan, Can,
    CreateDeployment, DeleteApplication, ErrorCode, IdempotencyName, Pagination, SortDirection, UpdateApplication,
    UpdateLabels, Whole,
};
use windlass_store::applications::{Filter, Sorting, page};

use super::body::{Payload, named_id};
use super::params::{Params, RawParams};
use super::respond::{Answer, success};
use super::table::{Table, member_who};
use crate::auth::Ctx;
use crate::auth::origin::header_text;
use crate::deploy::build_plan;
use crate::error::{Error, Result};
use crate::records::applications as records;
use crate::records::logs::with_lines;
use crate::service::applications;
use crate::service::idempotency::Once;

pub const IDEMPOTENCY_HEADER: &str = "idempotency-key";
const PAGE_SIZE: i64 = 10;

const DEPLOYING: &str = "The same name and repository again deploys the application again; a request that changes it \
    also needs `deploy:update`.";

const PREVIEWING: &str = "Fetches the repository and says what a deploy with the same body would build of it, and why. Nothing is \
    stored or built; `domain` is not looked at. It needs `deploy:read` too. What would keep the deploy from building is in `failure` and `reason`.";

pub fn routes(table: Table) -> Table {
    use ErrorCode::{Conflict, DomainTaken, IdempotencyKeyReused, NameTaken};
    table
        .post(
            "/deploy/application",
            deploy,
            member_who::<Application>("Handle deploy", Can::DeployCreate)
                .note(DEPLOYING)
                .body::<CreateDeployment>()
                .idempotency_key()
                .errors(&[NameTaken, DomainTaken, IdempotencyKeyReused, Conflict]),
        )
        .post(
            "/deploy/application/preview",
            preview,
            member_who::<BuildPlan>("Preview build", Can::DeployCreate)
                .note(PREVIEWING)
                .body::<CreateDeployment>()
                .errors(&[NameTaken, DomainTaken, Conflict]),
        )
        .get(
            "/deploy/applications",
            list,
            member_who::<Applications>("List applications", Can::DeployRead).query::<ApplicationsQuery>(),
        )
        .get(
            "/deploy/application",
            get,
            member_who::<Application>("Get application", Can::DeployRead).query::<ApplicationQuery>(),
        )
        .put(
            "/deploy/application",
            update,
            member_who::<Application>("Update application", Can::DeployUpdate).body::<UpdateApplication>().errors(&[
                NameTaken,
                DomainTaken,
                Conflict,
            ]),
        )
        .delete(
            "/deploy/application",
            delete,
            member_who::<()>("Delete application", Can::DeployDelete)
                .note("It stays visible until everything of it is gone. Its volumes stay unless each is named.")
                .body::<DeleteApplication>(),
        )
        .put(
            "/deploy/application/labels",
            set_labels,
            member_who::<Application>("Update labels", Can::DeployUpdate)
                .query::<ApplicationQuery>()
                .body::<UpdateLabels>()
                .errors(&[Conflict]),
        )
        .post(
            "/deploy/application/stop",
            stop,
            member_who::<Application>("Stop application", Can::DeployUpdate)
                .body::<ApplicationId>()
                .errors(&[Conflict]),
        )
}

pub async fn deploy(ctx: Ctx, headers: HeaderMap, body: Payload) -> Answer {
    let authority = ctx.organization(None).await?;
    let once = once(&ctx, &headers, body.bytes())?;
    let input: CreateDeployment = body.parse()?;
    let (message, application) = Box::pin(applications::deploy(&ctx.app, &authority, input, once.as_ref())).await?;
    success(message, application)
}

pub async fn preview(ctx: Ctx, body: Payload) -> Answer {
    let authority = ctx.organization(None).await?;
    // It shows something of the repository.
    authority.require(&ctx.app, Can::DeployRead)?;
    let input = body.parse()?;
    let turn = ctx.app.build_plans.take(authority.organization_id(), authority.user_id())?;
    let application = Box::pin(applications::as_deployed(&ctx.app, &authority, input)).await?;
    success("Build plan", build_plan::make(&ctx.app, application, turn).await?)
}

/// The name that a request has, so that it is not done twice.
pub fn once(ctx: &Ctx, headers: &HeaderMap, body: &[u8]) -> Result<Option<Once>> {
    let Some(text) = header_text(headers, IDEMPOTENCY_HEADER) else { return Ok(None) };
    let name = IdempotencyName::try_from(text.as_str()).map_err(|problem| Error::field("Idempotency-Key", problem))?;
    Ok(Some(Once::new(&ctx.app, name, body)))
}

pub async fn list(ctx: Ctx, params: RawParams) -> Answer {
    let authority = ctx.organization(None).await?;
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
    let (rows, total) = page(&mut conn, authority.organization_id(), &filter, sorting, skip, size).await?;
    let applications = records::applications(&mut conn, &authority.application_viewer(&ctx.app), &rows).await?;
    success("Applications", Applications { applications, pagination: Pagination::new(number, size, total) })
}

pub async fn get(ctx: Ctx, Params(query): Params<ApplicationQuery>) -> Answer {
    let granted = ctx.application(query.id).await?;
    let mut conn = ctx.app.db.read().await?;
    let viewer = granted.authority().application_viewer(&ctx.app);
    let record = records::application(&mut conn, &viewer, granted.row()).await?;
    drop(conn);
    success("Application", with_lines(&ctx.app.logs.store, record).await)
}

pub async fn update(ctx: Ctx, body: Payload) -> Answer {
    let granted = ctx.application(named_id(&ctx, &body).await?).await?;
    let input: UpdateApplication = body.parse()?;
    let updated = Box::pin(applications::update(&ctx.app, &granted, input)).await?;
    let message = match updated.pending_fields.as_slice() {
        [] => "Application updated".to_owned(),
        fields => format!("Application updated; at the next deploy these take effect: {}", fields.join(", ")),
    };
    success(&message, updated)
}

pub async fn delete(ctx: Ctx, body: Payload) -> Answer {
    let granted = ctx.application(named_id(&ctx, &body).await?).await?;
    let input: DeleteApplication = body.parse()?;
    let volumes = input.volumes.as_deref().unwrap_or_default();
    applications::delete(&ctx.app, &granted, &input.name, volumes).await?;
    success("Application is being deleted", ())
}

pub async fn set_labels(ctx: Ctx, Params(query): Params<ApplicationQuery>, body: Payload) -> Answer {
    let granted = ctx.application(query.id).await?;
    let input: UpdateLabels = body.parse()?;
    success("Labels saved", applications::set_labels(&ctx.app, &granted, &input.labels).await?)
}

pub async fn stop(ctx: Ctx, body: Payload) -> Answer {
    let granted = ctx.application(named_id(&ctx, &body).await?).await?;
    body.parse::<ApplicationId>()?;
    let (message, application) = applications::stop(&ctx.app, &granted).await?;
    success(message, application)
}
