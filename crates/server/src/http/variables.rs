//! Variables of an application as a file.

use axum::http::header;
use axum::response::IntoResponse;
use windlass_api::{Can, ErrorCode, ImportVariables, ImportedVariables, VariableKind};

use super::body::Payload;
use super::params::{PathId, PathIdAndText};
use super::respond::{Answer, success};
use super::table::{Table, member_who};
use crate::auth::Ctx;
use crate::records::variable_files;
use crate::service::variables;

const DOWNLOADING: &str = "Lines of `NAME=value`, as a file `.env` has them; an import of it gives the same values. Values that are secret or that the caller may not read are left \
    out, and so are names that such a file cannot have: a comment says which.";
const IMPORTING: &str = "Takes effect at the next deploy. Either the whole text is taken or nothing of it.";

pub fn routes(table: Table) -> Table {
    table
        .get(
            "/deploy/application/{application_id}/variables/{kind}/download",
            download,
            member_who::<()>("Download variables", Can::DeployRead).note(DOWNLOADING).text(),
        )
        .post(
            "/deploy/application/{application_id}/variables",
            import,
            member_who::<ImportedVariables>("Import variables", Can::DeployUpdate)
                .note(IMPORTING)
                .body::<ImportVariables>()
                .errors(&[ErrorCode::Conflict]),
        )
}

pub async fn download(ctx: Ctx, path: PathIdAndText<VariableKind>) -> Answer {
    let granted = ctx.application(path.id).await?;
    let kind = path.text()?;
    let viewer = granted.authority().application_viewer(&ctx.app);
    let text = variable_files::text(&viewer, granted.row(), kind).await?;
    let headers = [
        (header::CONTENT_TYPE, "text/plain; charset=utf-8".to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{}.env\"", kind.as_str())),
        (header::CACHE_CONTROL, "no-store".to_owned()),
    ];
    Ok((headers, text).into_response())
}

pub async fn import(ctx: Ctx, PathId(id): PathId, body: Payload) -> Answer {
    let granted = ctx.application(id).await?;
    let input: ImportVariables = body.parse()?;
    let imported = variables::import(&ctx.app, &granted, &input).await?;
    let ImportedVariables { added, changed, removed, .. } = &imported;
    let message = format!("{} added, {} changed, {} removed", added.len(), changed.len(), removed.len());
    success(&message, imported)
}
