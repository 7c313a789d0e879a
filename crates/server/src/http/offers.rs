//! What the author of an extension has changed since it was forked or installed.

use windlass_api::{Can, ErrorCode, Extension, InstallationOffer, ParentOffer, TakeOffer};

use super::body::Payload;
use super::params::{PathId, PathText};
use super::respond::{Answer, success};
use super::table::{Table, member_who};
use crate::auth::Ctx;
use crate::auth::resources::ExtensionName;
use crate::service::offers;

pub fn routes(table: Table) -> Table {
    use ErrorCode::Conflict;
    table
        .get(
            "/extensions/{extension_id}/parent",
            of_parent,
            member_who::<ParentOffer>("Get offer of parent", Can::ExtensionRead)
                .note("How far a fork is behind the extension that it was forked from, field by field, beside what the fork has changed itself.")
                .errors(&[Conflict]),
        )
        .post(
            "/extensions/{extension_id}/parent",
            take,
            member_who::<Extension>("Take offer of parent", Can::ExtensionCreate)
                .note("Brings the changes of the parent into the fork. What is installed of it stays as it is until it is updated.")
                .body::<TakeOffer>()
                .errors(&[Conflict]),
        )
        .get(
            "/extensions/installations/{installation_id}/update",
            of_installation,
            member_who::<InstallationOffer>("Get offer of update", Can::ExtensionRead)
                .note("What an update would bring, field by field, beside what the organization has set. Nothing is changed.")
                .errors(&[Conflict]),
        )
}

pub async fn of_parent(ctx: Ctx, PathText(name): PathText<ExtensionName>) -> Answer {
    let granted = ctx.extension(&name).await?;
    success("What the parent has changed", offers::of_parent(&ctx.app, &granted).await?)
}

pub async fn take(ctx: Ctx, PathText(name): PathText<ExtensionName>, body: Payload) -> Answer {
    let granted = ctx.extension(&name).await?;
    let input: TakeOffer = body.parse()?;
    success("Changes of the parent taken", offers::take(&ctx.app, &granted, input).await?)
}

pub async fn of_installation(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.installation(id).await?;
    success("What an update would bring", offers::of_installation(&ctx.app, &granted).await?)
}
