//! What visitors of an application meet before it.

use windlass_api::{Access, Can, ErrorCode, UpdateAccess};

use super::body::Payload;
use super::params::PathId;
use super::respond::{Answer, success};
use super::table::{Table, member_who};
use crate::auth::Ctx;
use crate::service::access;

pub fn routes(table: Table) -> Table {
    table
        .get(
            "/deploy/application/{application_id}/access",
            get,
            member_who::<Access>("Get access settings", Can::DeployRead)
                .note("Those of a preview are its application's."),
        )
        .put(
            "/deploy/application/{application_id}/access",
            update,
            member_who::<Access>("Update access settings", Can::DeployUpdate)
                .note("At once, and without a deployment; for previews too.")
                .body::<UpdateAccess>()
                .errors(&[ErrorCode::Conflict]),
        )
}

pub async fn get(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.application(id).await?;
    success("Access settings", access::get(&ctx.app, &granted).await?)
}

pub async fn update(ctx: Ctx, PathId(id): PathId, body: Payload) -> Answer {
    let granted = ctx.application(id).await?;
    let input: UpdateAccess = body.parse()?;
    success("Access settings changed", access::update(&ctx.app, &granted, &input).await?)
}
