//! Applications that are made from extensions.

use axum::http::HeaderMap;
use windlass_api::{
    Application, ApplicationDeployment, ApplicationExtension, Can, CreateExtensionApplication, ErrorCode,
    UpdateFromExtension,
};

use super::applications::once;
use super::body::Payload;
use super::params::{PathId, PathText};
use super::respond::{Answer, success};
use super::table::{Table, member_who};
use crate::auth::Ctx;
use crate::auth::resources::ExtensionName;
use crate::service::{extension_applications, extension_updates};

const MAKING: &str = "What the extension's template starts becomes an application like any other, whose `repository` is `extension`. Only templates of \
    services that visitors come to (`docker_compose`, `docker`, `proxy`) can be one. It needs `extension:read` too, and `domain:create` where \
    the template has more than one domain.";
const LOOKING: &str = "The text that is in use, and what an update would bring, field by field, beside what the organization has set. Nothing is changed. \
    It needs `extension:read` too.";
const UPDATING: &str = "Deploys the text that the extension has by now, without a gap. A rollback brings the text of then back. It needs `extension:read` \
    too, and `domain:create` where the text has new domains.";

pub fn routes(table: Table) -> Table {
    use ErrorCode::{Conflict, DomainTaken, IdempotencyKeyReused, NameTaken};
    table
        .post(
            "/extensions/{extension_id}/application",
            create,
            member_who::<Application>("Create application of extension", Can::DeployCreate)
                .note(MAKING)
                .body::<CreateExtensionApplication>()
                .idempotency_key()
                .errors(&[NameTaken, DomainTaken, IdempotencyKeyReused, Conflict]),
        )
        .get(
            "/deploy/application/{application_id}/extension",
            get,
            member_who::<ApplicationExtension>("Get extension of application", Can::DeployRead)
                .note(LOOKING)
                .errors(&[Conflict]),
        )
        .post(
            "/deploy/application/{application_id}/extension",
            update,
            member_who::<ApplicationDeployment>("Update application from extension", Can::DeployUpdate)
                .note(UPDATING)
                .body::<UpdateFromExtension>()
                .errors(&[Conflict, DomainTaken]),
        )
}

pub async fn create(ctx: Ctx, PathText(name): PathText<ExtensionName>, headers: HeaderMap, body: Payload) -> Answer {
    let granted = ctx.extension(&name).await?;
    // The same body means something else for another extension.
    let request = [granted.row().id.as_bytes().as_slice(), body.bytes()].concat();
    let once = once(&ctx, &headers, &request)?;
    let input: CreateExtensionApplication = body.parse()?;
    let (message, application) =
        Box::pin(extension_applications::create(&ctx.app, &granted, input, once.as_ref())).await?;
    success(message, application)
}

pub async fn get(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.application(id).await?;
    success("Extension of the application", extension_updates::look(&ctx.app, &granted).await?)
}

pub async fn update(ctx: Ctx, PathId(id): PathId, body: Payload) -> Answer {
    let granted = ctx.application(id).await?;
    let input: UpdateFromExtension = body.parse()?;
    success("Deployment queued", Box::pin(extension_updates::take(&ctx.app, &granted, &input)).await?)
}
