//! What extensions have installed.

use windlass_api::{
    Can, ErrorCode, ExecutionLogsQuery, ExtensionExecution, Installation, InstallationLogs, Installations,
    InstallationsQuery, Pagination, Uninstall, UpdateInstallation, Whole,
};
use windlass_store::installations as rows;

use super::body::Payload;
use super::executions::lines_after;
use super::params::{Params, PathId, RawParams};
use super::respond::{Answer, success};
use super::table::{Table, member_who};
use crate::auth::Ctx;
use crate::records::executions::with_lines;
use crate::records::installations as records;
use crate::service::{installations, uninstall};

const PAGE_SIZE: i64 = 10;

pub fn routes(table: Table) -> Table {
    use ErrorCode::Conflict;
    table
        .get(
            "/extensions/installations",
            list,
            member_who::<Installations>("List installations", Can::ExtensionRead).query::<InstallationsQuery>(),
        )
        .get(
            "/extensions/installations/{installation_id}",
            get,
            member_who::<Installation>("Get installation", Can::ExtensionRead),
        )
        .get(
            "/extensions/installations/{installation_id}/logs",
            logs,
            member_who::<InstallationLogs>("Get installation logs", Can::ExtensionRead)
                .note("What its services print.")
                .query::<ExecutionLogsQuery>(),
        )
        .post(
            "/extensions/installations/{installation_id}/update",
            update,
            member_who::<ExtensionExecution>("Update installation", Can::ExtensionRun)
                .note("Brings it to the extension's text of now. Volumes and values stay. If it fails, what was there before is back.")
                .body::<UpdateInstallation>()
                .errors(&[Conflict]),
        )
        .post(
            "/extensions/installations/{installation_id}/rollback",
            roll_back,
            member_who::<ExtensionExecution>("Roll back installation", Can::ExtensionRun)
                .note("Brings it to the text and the values that it had before its last update. What is in its volumes stays.")
                .errors(&[Conflict]),
        )
        .delete(
            "/extensions/installations/{installation_id}",
            uninstall,
            member_who::<ExtensionExecution>("Uninstall", Can::ExtensionRun)
                .note("Removes its containers and domains and undoes what it did to the machine. Its volumes stay unless each is named.")
                .body::<Uninstall>()
                .errors(&[Conflict]),
        )
}

pub async fn list(ctx: Ctx, Params(query): Params<InstallationsQuery>) -> Answer {
    let authority = ctx.organization(None).await?;
    let (number, size) = (query.page.map_or(1, Whole::get), query.page_size.map_or(PAGE_SIZE, Whole::get));
    let mut conn = ctx.app.db.read().await?;
    let (page, count) = rows::page(&mut conn, authority.organization_id(), ((number - 1) * size, size)).await?;
    let installations =
        records::installations(&mut conn, &ctx.app.config, page, authority.may(Can::VariableRead)).await?;
    success("Installations", Installations { installations, pagination: Pagination::new(number, size, count) })
}

pub async fn get(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.installation(id).await?;
    let mut conn = ctx.app.db.read().await?;
    success(
        "Installation",
        records::installation(
            &mut conn,
            &ctx.app.config,
            granted.row().clone(),
            granted.authority().may(Can::VariableRead),
        )
        .await?,
    )
}

pub async fn update(ctx: Ctx, PathId(id): PathId, body: Payload) -> Answer {
    let granted = ctx.installation(id).await?;
    let input: UpdateInstallation = body.parse()?;
    let execution = installations::update(&ctx.app, &granted, &input).await?;
    success("Update started", with_lines(&ctx.app.logs.store, execution).await)
}

pub async fn roll_back(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.installation(id).await?;
    let execution = installations::roll_back(&ctx.app, &granted).await?;
    success("Rollback started", with_lines(&ctx.app.logs.store, execution).await)
}

pub async fn uninstall(ctx: Ctx, PathId(id): PathId, body: Payload) -> Answer {
    let granted = ctx.installation(id).await?;
    let input: Uninstall = body.parse()?;
    let execution = uninstall::uninstall(&ctx.app, &granted, &input).await?;
    success("Uninstallation started", with_lines(&ctx.app.logs.store, execution).await)
}

pub async fn logs(ctx: Ctx, PathId(id): PathId, params: RawParams) -> Answer {
    ctx.installation(id).await?;
    let query: ExecutionLogsQuery = params.parse()?;
    let (lines, next_after) = lines_after(&ctx, id, &query).await?;
    let services = rows::services(&mut ctx.app.db.read().await?, id).await?;
    let logs = lines.into_iter().map(|line| records::log(id, &services, line)).collect();
    success("Installation logs", InstallationLogs { logs, next_after })
}
