//! Log lines: in pages, as they come, and as a file.

mod download;
mod filter;
mod follow;

use std::sync::Arc;
use std::time::{Duration, Instant};

use windlass_api::{
    ApplicationLog, ApplicationLogs, Can, ErrorCode, FollowLogsQuery, LogCursor, LogDeployment, LogFilter,
    LogRelations, LogsQuery, Whole,
};
use windlass_store::applications::{self, Application};
use windlass_store::logs::{Bounds, Of, Page, Query};

use super::params::{PathId, RawParams};
use super::respond::{Answer, success};
use super::table::{Table, member_who};
use crate::app::App;
use crate::auth::{Authority, Ctx};
use crate::error::{Error, Result};
use crate::records::logs as records;

use download::{download, download_of_deployment};
pub use follow::{LAST_EVENT_ID, start};
use follow::{follow, follow_deployment};

const PAGE_SIZE: i64 = 100;

const FOLLOWING: &str = "Server-sent events: the data of each is an `ApplicationLog` without its relations, the id \
    its cursor. An event called `gap` with `{\"missing\": n}` tells that n of the application's lines, whether they \
    would have been sent or not, were removed meanwhile. What has only an id, at the beginning and every 15 seconds, \
    says how far the lines were looked at. The stream ends when the server stops, when the caller may not read any \
    more, and when nothing of it was taken for too long; with `Last-Event-ID` nothing is lost or repeated. How many \
    can follow or download at once is limited for each organization.";
const DOWNLOADING: &str = "One line each: time, stream, step and text, and \
    before the text the service of a compose file, as in `web | text`. It ends with the newest line at the time of \
    the request. Where lines of the application were removed meanwhile, a line in brackets says how many. An answer \
    that is cut off is not complete: also that of a caller who may not read any more.";

pub fn routes(table: Table) -> Table {
    of_deployments(of_applications(table))
}

fn of_applications(table: Table) -> Table {
    table
        .get(
            "/deploy/application/logs/{application_id}",
            list,
            member_who::<ApplicationLogs>("Get logs of an application", Can::DeployRead)
                .query::<LogsQuery>()
                .query::<LogFilter>()
                .query::<LogDeployment>(),
        )
        .get(
            "/deploy/application/logs/{application_id}/follow",
            follow,
            member_who::<ApplicationLog>("Follow logs of an application", Can::DeployRead)
                .note(FOLLOWING)
                .query::<FollowLogsQuery>()
                .query::<LogFilter>()
                .query::<LogDeployment>()
                .events(),
        )
        .get(
            "/deploy/application/logs/{application_id}/download",
            download,
            member_who::<()>("Download logs of an application", Can::DeployRead)
                .note(DOWNLOADING)
                .query::<LogFilter>()
                .query::<LogDeployment>()
                .text(),
        )
}

fn of_deployments(table: Table) -> Table {
    table
        .get(
            "/deploy/application/deployments/{deployment_id}/logs",
            list_of_deployment,
            member_who::<ApplicationLogs>("Get deployment logs", Can::DeployRead)
                .query::<LogsQuery>()
                .query::<LogFilter>(),
        )
        .get(
            "/deploy/application/deployments/{deployment_id}/logs/follow",
            follow_deployment,
            member_who::<ApplicationLog>("Follow deployment logs", Can::DeployRead)
                .note(FOLLOWING)
                .query::<FollowLogsQuery>()
                .query::<LogFilter>()
                .events(),
        )
        .get(
            "/deploy/application/deployments/{deployment_id}/logs/download",
            download_of_deployment,
            member_who::<()>("Download deployment logs", Can::DeployRead).note(DOWNLOADING).query::<LogFilter>().text(),
        )
}

pub async fn list(ctx: Ctx, PathId(id): PathId, params: RawParams) -> Answer {
    let deployment_id = filter::named(&params)?;
    let granted = ctx.application(id).await?;
    let of = filter::of(&ctx, id, deployment_id).await?;
    answer(&ctx, granted.authority(), granted.row(), of, &params).await
}

pub async fn list_of_deployment(ctx: Ctx, PathId(id): PathId, params: RawParams) -> Answer {
    let (authority, application) = deployed(&ctx, id).await?;
    answer(&ctx, &authority, &application, Of::Deployment(id), &params).await
}

/// The application of a deployment that the caller may read of.
async fn deployed(ctx: &Ctx, deployment_id: uuid::Uuid) -> Result<(Authority, Application)> {
    let granted = ctx.deployment(deployment_id).await?;
    let application = applications::get(&mut ctx.app.db.read().await?, granted.row().application_id).await?;
    Ok((granted.authority().clone(), application.ok_or_else(|| Error::not_found("deployment"))?))
}

async fn answer(ctx: &Ctx, authority: &Authority, row: &Application, of: Of, params: &RawParams) -> Answer {
    let query: LogsQuery = params.parse()?;
    let start = Start::asked_for(&query)?;
    let size = query.page_size.map_or(PAGE_SIZE, Whole::get);
    let which = filter::query(of, params).await?;
    let mut page = find(&ctx.app, row, &which, start, size).await?;
    let lines = std::mem::take(&mut page.lines);
    let logs = match query.relations {
        Some(LogRelations::None) => lines.into_iter().map(|line| records::log(row.id, line)).collect(),
        _ => {
            let numbers: Vec<i64> = lines.iter().map(|line| line.seq).collect();
            let mut conn = ctx.app.db.read().await?;
            let logs = records::with_relations(&mut conn, &authority.application_viewer(&ctx.app), row, lines).await?;
            if logs.len() < numbers.len() {
                page.next = logs.len().checked_sub(1).map(|last| numbers[last]);
                page.is_cut_short = false;
            }
            logs
        }
    };
    let message = message(&ctx.app, &which, &page).await?;
    success(&message, ApplicationLogs { logs, next_cursor: page.next.map(|seq| seq.to_string()).unwrap_or_default() })
}

#[derive(Clone, Copy)]
enum Start {
    Page(i64),
    Before(i64),
    After(i64),
}

impl Start {
    fn asked_for(query: &LogsQuery) -> Result<Self> {
        let both =
            |second: &str, first: &str| Err(Error::field(second, format!("cannot be given together with {first}")));
        match (query.page, query.before, query.after) {
            (_, Some(_), Some(_)) => both("after", "before"),
            (Some(_), Some(_), None) => both("before", "page"),
            (Some(_), None, Some(_)) => both("after", "page"),
            (None, Some(LogCursor(seq)), None) => Ok(Self::Before(seq)),
            (None, None, Some(LogCursor(seq))) => Ok(Self::After(seq)),
            (page, None, None) => Ok(Self::Page(page.map_or(1, Whole::get))),
        }
    }
}

async fn find(app: &App, row: &Application, which: &Query, start: Start, size: i64) -> Result<Page> {
    let (store, limit) = (&app.logs.store, app.config.search_limit);
    // The numbers of an application's lines have no holes, so there is nothing to count.
    let is_everything = which.of == Of::Application(row.id) && which.filter.is_empty();
    let skip = match start {
        Start::Page(number) if !is_everything => (number - 1) * size,
        _ => 0,
    };
    let is_search = skip > 0 || !which.filter.is_empty();
    let bounds = app.searches.bounds(row.organization_id, is_search, size as usize, limit).await;
    match start {
        Start::Page(number) if is_everything && number > 1 => {
            let seq = store.next_seq(row.id).await? - (number - 1) * size;
            Ok(store.before(which, seq, 0, bounds).await?)
        }
        Start::Page(_) => {
            let page = store.before(which, i64::MAX, skip as u64, bounds).await?;
            match skip > 0 && page.is_cut_short && page.lines.is_empty() {
                true => Err(too_far(limit)),
                false => Ok(page),
            }
        }
        Start::Before(seq) => Ok(store.before(which, seq, 0, bounds).await?),
        Start::After(seq) => {
            let head = store.next_seq(row.id).await?;
            // One from the future belongs to a store that was put back to an earlier time.
            let mut page = store.after(which, seq.min(head - 1), bounds).await?;
            // A caller who asks again later need not search these lines once more.
            let last = page.lines.last().map_or(0, |line| line.seq);
            page.next = page.next.or(Some(last.max(head - 1)));
            Ok(page)
        }
    }
}

fn too_far(limit: Duration) -> Error {
    let message = format!(
        "page: this one was not reached within {} seconds. Give the next_cursor of the page before it as before \
         instead.",
        limit.as_secs()
    );
    Error::new(ErrorCode::TimeLimit, message)
}

/// Says how far a search got that took too long.
async fn message(app: &App, which: &Query, page: &Page) -> Result<String> {
    let (true, Some(seq)) = (page.is_cut_short, page.next) else { return Ok("Log lines".to_owned()) };
    let limit = app.config.search_limit;
    let place = Query { of: which.of, filter: Arc::default() };
    let bounds = Bounds { lines: 1, until: Instant::now() + limit, turn: None };
    let reached = app.logs.store.after(&place, seq.saturating_sub(1), bounds).await?;
    let seconds = limit.as_secs();
    Ok(match reached.lines.first() {
        Some(line) => {
            format!("Log lines; the search reached {} in {seconds} seconds and goes on from next_cursor", line.line.at)
        }
        None => format!("Log lines; the search took {seconds} seconds and goes on from next_cursor"),
    })
}
