//! Command runs of applications.

use std::sync::Arc;
use std::time::Instant;

use axum::http::HeaderMap;
use uuid::Uuid;
use windlass_api::{
    Can, CommandRun, CommandRunLog, CommandRunLogs, CommandRuns, ErrorCode, ExecutionLogsQuery, FollowLogsQuery,
    LogCursor, Pagination, RunCommand, RunsQuery, ScheduleName, Whole,
};
use windlass_store::logs::{Bounds, Of, Query};
use windlass_store::runs::{self as rows, Filter};

use super::body::Payload;
use super::logs::start;
use super::params::{PathId, RawParams};
use super::respond::{Answer, events, success};
use super::table::{Table, member_who};
use crate::auth::Ctx;
use crate::logs::follow::{Followed, Follower};
use crate::records::runs as records;
use crate::service::runs;

const PAGE_SIZE: i64 = 10;
const LINES: i64 = 200;

const FOLLOWING: &str = "Server-sent events: the data of each is a `CommandRunLog`, the id its sequence number. What \
    has only an id, at the beginning and every 15 seconds, says how far the lines were looked at. The stream goes on \
    when the run has ended; its record says that it has. It ends when the server stops, when the caller may not read \
    any more, and when nothing of it was taken for too long; with `Last-Event-ID` nothing is lost or repeated.";

pub fn routes(table: Table) -> Table {
    use ErrorCode::Conflict;
    table
        .get(
            "/deploy/application/{application_id}/runs",
            list,
            member_who::<CommandRuns>("List command runs", Can::DeployRead).query::<RunsQuery>(),
        )
        .post(
            "/deploy/application/{application_id}/runs",
            create,
            member_who::<CommandRun>("Run command", Can::DeployUpdate)
                .note(
                    "In a container of its own, of the release that is live when it begins, with its variables, volumes, network and limits. A command can read every variable, so it takes `variable:read` too.",
                )
                .body::<RunCommand>()
                .errors(&[Conflict]),
        )
        .get("/deploy/runs/{run_id}", get, member_who::<CommandRun>("Get command run", Can::DeployRead))
        .post(
            "/deploy/runs/{run_id}/cancel",
            cancel,
            member_who::<CommandRun>("Cancel command run", Can::DeployUpdate)
                .note("A command that runs has 10 seconds to end by itself.")
                .errors(&[Conflict]),
        )
        .get(
            "/deploy/runs/{run_id}/logs",
            logs,
            member_who::<CommandRunLogs>("Get logs of a command run", Can::DeployRead).query::<ExecutionLogsQuery>(),
        )
        .get(
            "/deploy/runs/{run_id}/logs/follow",
            follow,
            member_who::<CommandRunLog>("Follow logs of a command run", Can::DeployRead)
                .note(FOLLOWING)
                .query::<FollowLogsQuery>()
                .events(),
        )
}

pub async fn list(ctx: Ctx, PathId(id): PathId, params: RawParams) -> Answer {
    let granted = ctx.application(id).await?;
    let query: RunsQuery = params.parse()?;
    let (number, size) = (query.page.map_or(1, Whole::get), query.page_size.map_or(PAGE_SIZE, Whole::get));
    let filter = Filter { schedule_id: query.schedule_id.map(|ScheduleName(id)| id), status: query.status };
    let mut conn = ctx.app.db.read().await?;
    let (page, count) = rows::page(&mut conn, id, filter, ((number - 1) * size, size)).await?;
    let sees_values = granted.authority().may(Can::VariableRead);
    let runs = page.into_iter().map(|row| records::run(row, sees_values)).collect();
    success("Command runs", CommandRuns { runs, pagination: Pagination::new(number, size, count) })
}

pub async fn create(ctx: Ctx, PathId(id): PathId, body: Payload) -> Answer {
    let granted = ctx.application(id).await?;
    let input: RunCommand = body.parse()?;
    success("Run queued", runs::create(&ctx.app, &granted, &input).await?)
}

pub async fn get(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.run(id).await?;
    let record = records::run(granted.row().clone(), granted.authority().may(Can::VariableRead));
    success("Command run", records::with_lines(&ctx.app.logs.store, record).await)
}

pub async fn cancel(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.run(id).await?;
    let (message, record) = runs::cancel(&ctx.app, &granted).await?;
    success(message, record)
}

pub async fn logs(ctx: Ctx, PathId(id): PathId, params: RawParams) -> Answer {
    let granted = ctx.run(id).await?;
    let query: ExecutionLogsQuery = params.parse()?;
    let (LogCursor(after), lines) = (query.after.unwrap_or(LogCursor(0)), query.limit.map_or(LINES, Whole::get));
    let bounds = Bounds { lines: lines as usize, until: Instant::now() + ctx.app.config.search_limit, turn: None };
    let page = ctx.app.logs.store.after(&all_lines(id), after, bounds).await?;
    let next_after = page.lines.last().map_or(after, |line| line.seq);
    let logs = page.lines.into_iter().map(|line| records::log(id, line)).collect();
    success("Logs of a command run", CommandRunLogs { logs, next_after, run_status: granted.row().status })
}

pub async fn follow(ctx: Ctx, PathId(id): PathId, params: RawParams, headers: HeaderMap) -> Answer {
    let organization_id = ctx.run(id).await?.authority().organization_id();
    let start = start(&params.parse()?, &headers)?;
    let open = ctx.app.log_streams.open(organization_id, ctx.caller.user.id)?;
    let follower = Follower::begin(ctx, open, Followed::Run(id), all_lines(id), start).await?;
    Ok(events(follower, async |mut follower| {
        let events = follower.next().await?;
        Some((events, follower))
    }))
}

/// A run has lines of its own, as an application has.
fn all_lines(id: Uuid) -> Query {
    Query { of: Of::Application(id), filter: Arc::default() }
}
