//! Executions of extensions.

use std::sync::Arc;
use std::time::Instant;

use axum::http::HeaderMap;
use uuid::Uuid;
use windlass_api::{
    Can, ErrorCode, ExecutionLog, ExecutionLogs, ExecutionLogsQuery, ExecutionsQuery, ExtensionExecution,
    ExtensionExecutions, FollowLogsQuery, LogCursor, Pagination, Whole,
};
use windlass_store::executions::{self as rows, Filter};
use windlass_store::logs::{Bounds, Of, Query, Stored};

use super::logs::start;
use super::params::{Params, PathId, PathText, RawParams};
use super::respond::{Answer, events, success};
use super::table::{Table, member_who};
use crate::auth::resources::ExtensionName;
use crate::auth::{Authority, Ctx};
use crate::error::Result;
use crate::logs::follow::{Followed, Follower};
use crate::records::executions as records;
use crate::service::executions;

const PAGE_SIZE: i64 = 10;
const LINES: i64 = 200;

const FOLLOWING: &str = "Server-sent events: the data of each is an `ExecutionLog`, the id its sequence number. What \
    has only an id, at the beginning and every 15 seconds, says how far the lines were looked at. The stream ends when \
    the server stops, when the caller may not read any more, and when nothing of it was taken for too long; with \
    `Last-Event-ID` nothing is lost or repeated.";

pub fn routes(table: Table) -> Table {
    table
        .get(
            "/extensions/executions",
            list,
            member_who::<ExtensionExecutions>("List executions", Can::ExtensionRead).query::<ExecutionsQuery>(),
        )
        .get(
            "/extensions/by-extension-id/{extension_id}/executions",
            list_of_extension,
            member_who::<ExtensionExecutions>("List executions of an extension", Can::ExtensionRead)
                .query::<ExecutionsQuery>(),
        )
        .get(
            "/extensions/execution/{execution_id}",
            get,
            member_who::<ExtensionExecution>("Get execution", Can::ExtensionRead),
        )
        .post(
            "/extensions/execution/{execution_id}/cancel",
            cancel,
            member_who::<ExtensionExecution>("Cancel execution", Can::ExtensionRun)
                .note("The step under way is ended with all its processes, and what was completed is undone.")
                .errors(&[ErrorCode::Conflict]),
        )
        .get(
            "/extensions/execution/{execution_id}/logs",
            logs,
            member_who::<ExecutionLogs>("Get execution logs", Can::ExtensionRead).query::<ExecutionLogsQuery>(),
        )
        .get(
            "/extensions/execution/{execution_id}/logs/follow",
            follow,
            member_who::<ExecutionLog>("Follow execution logs", Can::ExtensionRead)
                .note(FOLLOWING)
                .query::<FollowLogsQuery>()
                .events(),
        )
}

pub async fn list(ctx: Ctx, Params(query): Params<ExecutionsQuery>) -> Answer {
    let authority = ctx.organization(None).await?;
    page(&ctx, &authority, None, &query).await
}

pub async fn list_of_extension(ctx: Ctx, PathText(name): PathText<ExtensionName>, params: RawParams) -> Answer {
    let granted = ctx.extension(&name).await?;
    let query: ExecutionsQuery = params.parse()?;
    page(&ctx, granted.authority(), Some(granted.row().id), &query).await
}

async fn page(ctx: &Ctx, authority: &Authority, extension_id: Option<Uuid>, query: &ExecutionsQuery) -> Answer {
    let (organization_id, may_see) = (authority.organization_id(), authority.may(Can::VariableRead));
    let (number, size) = (query.page.map_or(1, Whole::get), query.page_size.map_or(PAGE_SIZE, Whole::get));
    let filter = Filter { extension_id, installation_id: None, status: query.status };
    let mut conn = ctx.app.db.read().await?;
    let (page, count) = rows::page(&mut conn, organization_id, filter, ((number - 1) * size, size)).await?;
    let executions = records::all_listed(page, may_see);
    success("Executions", ExtensionExecutions { executions, pagination: Pagination::new(number, size, count) })
}

pub async fn get(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.execution(id).await?;
    let record = records::full(&mut ctx.app.db.read().await?, granted.row().clone()).await?;
    let record = records::as_seen(record, granted.authority().may(Can::VariableRead));
    success("Execution", records::with_lines(&ctx.app.logs.store, record).await)
}

pub async fn cancel(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.execution(id).await?;
    let (message, record) = executions::cancel(&ctx.app, &granted).await?;
    success(message, records::with_lines(&ctx.app.logs.store, record).await)
}

pub async fn logs(ctx: Ctx, PathId(id): PathId, params: RawParams) -> Answer {
    let granted = ctx.execution(id).await?;
    let query: ExecutionLogsQuery = params.parse()?;
    let (lines, next_after) = lines_after(&ctx, id, &query).await?;
    let logs = lines.into_iter().map(|line| records::log(id, line)).collect();
    success("Execution logs", ExecutionLogs { logs, next_after, execution_status: granted.row().status })
}

/// The lines of an execution or an installation after a number, and the number to go on from.
pub async fn lines_after(ctx: &Ctx, id: Uuid, query: &ExecutionLogsQuery) -> Result<(Vec<Stored>, i64)> {
    let (LogCursor(after), lines) = (query.after.unwrap_or(LogCursor(0)), query.limit.map_or(LINES, Whole::get));
    let which = Query { of: Of::Application(id), filter: Arc::default() };
    let bounds = Bounds { lines: lines as usize, until: Instant::now() + ctx.app.config.search_limit, turn: None };
    let page = ctx.app.logs.store.after(&which, after, bounds).await?;
    let next_after = page.lines.last().map_or(after, |line| line.seq);
    Ok((page.lines, next_after))
}

pub async fn follow(ctx: Ctx, PathId(id): PathId, params: RawParams, headers: HeaderMap) -> Answer {
    let organization_id = ctx.execution(id).await?.authority().organization_id();
    let start = start(&params.parse()?, &headers)?;
    let which = Query { of: Of::Application(id), filter: Arc::default() };
    let open = ctx.app.log_streams.open(organization_id, ctx.caller.user.id)?;
    let follower = Follower::begin(ctx, open, Followed::Execution(id), which, start).await?;
    Ok(events(follower, async |mut follower| {
        let events = follower.next().await?;
        Some((events, follower))
    }))
}
