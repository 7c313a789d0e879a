//! Whether applications answer their visitors.

use windlass_api::{Can, ErrorCode, Outages, UpdateUptime, Uptime, UptimeChecks, UptimeQuery, Whole};
use windlass_store::{outages as outage_rows, uptime_checks};

use super::body::Payload;
use super::params::{PathId, RawParams};
use super::respond::{Answer, success};
use super::table::{Table, member_who};
use crate::auth::Ctx;
use crate::records::uptime as records;
use crate::service::uptime;

const PAGE_SIZE: i64 = 50;

pub fn routes(table: Table) -> Table {
    table
        .get(
            "/deploy/application/{application_id}/uptime",
            get,
            member_who::<Uptime>("Get uptime", Can::DeployRead).note("Of one that was never checked too."),
        )
        .put(
            "/deploy/application/{application_id}/uptime",
            update,
            member_who::<Uptime>("Update uptime check", Can::DeployUpdate)
                .note(
                    "The application is asked at its main domain, through the edge, and what it answers is kept. The first call turns the check on. Previews have none.",
                )
                .body::<UpdateUptime>()
                .errors(&[ErrorCode::Conflict]),
        )
        .delete(
            "/deploy/application/{application_id}/uptime",
            delete,
            member_who::<()>("Delete uptime check", Can::DeployUpdate)
                .note("With all that it has come to. To keep that, turn it off.")
                .errors(&[ErrorCode::Conflict]),
        )
        .get(
            "/deploy/application/{application_id}/uptime/checks",
            checks,
            member_who::<UptimeChecks>("List uptime checks", Can::DeployRead).query::<UptimeQuery>(),
        )
        .get(
            "/deploy/application/{application_id}/uptime/outages",
            outages,
            member_who::<Outages>("List outages", Can::DeployRead).query::<UptimeQuery>(),
        )
}

pub async fn get(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.application(id).await?;
    success("Uptime", uptime::get(&ctx.app, &granted).await?)
}

pub async fn update(ctx: Ctx, PathId(id): PathId, body: Payload) -> Answer {
    let granted = ctx.application(id).await?;
    let input: UpdateUptime = body.parse()?;
    success("Uptime check changed", uptime::update(&ctx.app, &granted, &input).await?)
}

pub async fn delete(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.application(id).await?;
    uptime::delete(&ctx.app, &granted).await?;
    success("Uptime check deleted", ())
}

pub async fn checks(ctx: Ctx, PathId(id): PathId, params: RawParams) -> Answer {
    ctx.application(id).await?;
    let query: UptimeQuery = params.parse()?;
    let limit = query.limit.map_or(PAGE_SIZE, Whole::get);
    // One more, to know whether there is a next page.
    let page = uptime_checks::page(&mut ctx.app.db.read().await?, id, query.before, limit + 1).await?;
    let (page, has_more) = cut(page, limit);
    let next_cursor = page.last().map(|last| last.id).filter(|_| has_more);
    success("Uptime checks", UptimeChecks { checks: page.into_iter().map(records::check).collect(), next_cursor })
}

pub async fn outages(ctx: Ctx, PathId(id): PathId, params: RawParams) -> Answer {
    ctx.application(id).await?;
    let query: UptimeQuery = params.parse()?;
    let limit = query.limit.map_or(PAGE_SIZE, Whole::get);
    let page = outage_rows::page(&mut ctx.app.db.read().await?, id, query.before, limit + 1).await?;
    let (page, has_more) = cut(page, limit);
    let next_cursor = page.last().map(|last| last.id).filter(|_| has_more);
    success("Outages", Outages { outages: page.into_iter().map(records::outage).collect(), next_cursor })
}

/// A page, and whether there is more.
fn cut<T>(mut page: Vec<T>, limit: i64) -> (Vec<T>, bool) {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let has_more = page.len() > limit;
    page.truncate(limit);
    (page, has_more)
}
