//! What an application uses, and what visitors ask of it, over time.

use windlass_api::{Can, Figures, FiguresQuery, Timestamp};

use super::params::{PathId, RawParams};
use super::respond::{Answer, success};
use super::table::{Table, member_who};
use crate::auth::Ctx;
use crate::figures::read::{self, Plan};

const NOTE: &str = "Numbers are null where nothing was measured: a gap is no 0. Requests and errors are exact, all else is rounded by less than a \
    percent.";

pub fn routes(table: Table) -> Table {
    table.get(
        "/deploy/application/{application_id}/figures",
        get,
        member_who::<Figures>("Get figures", Can::DeployRead).note(NOTE).query::<FiguresQuery>(),
    )
}

pub async fn get(ctx: Ctx, PathId(id): PathId, params: RawParams) -> Answer {
    let granted = ctx.application(id).await?;
    let query: FiguresQuery = params.parse()?;
    let plan = Plan::new(&query, ctx.app.now(), ctx.app.config.figures_interval)?;
    let found = read::of_application(&ctx.app, granted.row().id, plan, &query).await?;
    let (span, (lines, instances)) = (plan.span, found.into_lines());
    let figures = Figures {
        from: Timestamp::from_micros(span.from.saturating_mul(1_000_000)),
        step_seconds: span.seconds,
        points: i64::try_from(span.count).unwrap_or(i64::MAX),
        lines,
        instances,
    };
    success("Figures", figures)
}
