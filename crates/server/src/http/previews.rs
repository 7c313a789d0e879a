//! Previews of pull requests.

use windlass_api::{Can, DeployPreview, ErrorCode, Preview, Previews};
use windlass_store::previews as rows;

use super::body::Payload;
use super::params::PathId;
use super::respond::{Answer, success};
use super::table::{Table, member_who};
use crate::auth::Ctx;
use crate::error::{Error, Result};
use crate::records::previews as records;
use crate::service::previews;

pub fn routes(table: Table) -> Table {
    use ErrorCode::Conflict;
    table
        .get(
            "/deploy/application/{application_id}/previews",
            list,
            member_who::<Previews>("List previews", Can::DeployRead),
        )
        .post(
            "/deploy/application/{application_id}/previews",
            deploy,
            member_who::<Preview>("Deploy preview", Can::DeployCreate)
                .note(
                    "Of a branch of the application's own repository. A pull request that has a preview already gets another \
                     deployment of it.",
                )
                .body::<DeployPreview>()
                .errors(&[Conflict]),
        )
        .get("/deploy/previews/{preview_id}", get, member_who::<Preview>("Get preview", Can::DeployRead))
        .delete(
            "/deploy/previews/{preview_id}",
            end,
            member_who::<()>("Remove preview", Can::DeployDelete).note("With everything that it has."),
        )
}

pub async fn list(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.application(id).await?;
    let all = rows::shown_of_application(&mut ctx.app.db.read().await?, granted.row().id).await?;
    let previews = all.into_iter().map(|shown| records::preview(&ctx.app.config, shown)).collect::<Result<_>>()?;
    success("Previews", Previews { previews })
}

pub async fn deploy(ctx: Ctx, PathId(id): PathId, body: Payload) -> Answer {
    let granted = ctx.application(id).await?;
    let input: DeployPreview = body.parse()?;
    success("Deployment of the preview queued", previews::deploy_by_member(&ctx.app, &granted, &input).await?)
}

pub async fn get(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.preview(id).await?;
    let shown = rows::shown(&mut ctx.app.db.read().await?, granted.row().id).await?;
    let shown = shown.ok_or_else(|| Error::not_found("preview"))?;
    success("Preview", records::preview(&ctx.app.config, shown)?)
}

pub async fn end(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.preview(id).await?;
    previews::end_by_member(&ctx.app, &granted).await?;
    success("Preview is being removed", ())
}
