//! What code hosts send, and what became of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use windlass_api::{
    ApplicationWebhook, Can, Deliveries, DeliveriesQuery, Delivery, DeployKey, ErrorCode, Pagination, RotateWebhook,
    Whole,
};
use windlass_store::deliveries::{self as rows, Filter};

use super::body::{DeliveryPayload, Payload};
use super::params::{PathId, RawParams};
use super::respond::{Answer, bare_success, success};
use super::table::{Table, anyone, member_who};
use crate::app::App;
use crate::auth::{Ctx, Origin};
use crate::error::Error;
use crate::records::deliveries as records;
use crate::service::deliveries::{self, Arrived};
use crate::service::{deploy_keys, webhooks};

const PAGE_SIZE: i64 = 10;

pub fn routes(table: Table) -> Table {
    use ErrorCode::{BodyTimeout, CodeHostFailed, Conflict, InvalidSignature, TooLarge, UnsupportedEncoding};
    table
        .post(
            "/webhook",
            receive,
            anyone::<()>("Handle webhook from a code host")
                .note(
                    "For GitHub, GitLab, Gitea, Forgejo and Bitbucket. The body is what they send, signed with the secret of an \
                     application of the repository. The message says what came of it.",
                )
                .errors(&[InvalidSignature, BodyTimeout, TooLarge, UnsupportedEncoding])
                .bare(),
        )
        .get(
            "/deploy/application/{application_id}/webhook",
            get_webhook,
            member_who::<ApplicationWebhook>("Get webhook of an application", Can::DeployUpdate),
        )
        .post(
            "/deploy/application/{application_id}/webhook/rotate",
            rotate,
            member_who::<ApplicationWebhook>("Rotate webhook secret", Can::DeployUpdate)
                .body::<RotateWebhook>()
                .errors(&[Conflict]),
        )
        .post(
            "/deploy/application/{application_id}/webhook/register",
            register,
            member_who::<ApplicationWebhook>("Register webhook", Can::DeployUpdate)
                .note("At the code host, through the application's connection. Again after the secret was changed.")
                .errors(&[Conflict, CodeHostFailed]),
        )
        .delete(
            "/deploy/application/{application_id}/webhook/register",
            unregister,
            member_who::<ApplicationWebhook>("Unregister webhook", Can::DeployUpdate)
                .errors(&[Conflict, CodeHostFailed]),
        )
        .get(
            "/deploy/application/{application_id}/deploy-key",
            get_key,
            member_who::<DeployKey>("Get deploy key", Can::DeployRead),
        )
        .post(
            "/deploy/application/{application_id}/deploy-key",
            create_key,
            member_who::<DeployKey>("Create deploy key", Can::DeployUpdate)
                .note("A new key for a repository over ssh, used from the next deploy on. Through a connection it is added at the code host too.")
                .errors(&[Conflict, CodeHostFailed]),
        )
        .delete(
            "/deploy/application/{application_id}/deploy-key",
            delete_key,
            member_who::<()>("Delete deploy key", Can::DeployUpdate).errors(&[Conflict]),
        )
        .get(
            "/deploy/application/{application_id}/deliveries",
            list,
            member_who::<Deliveries>("List deliveries", Can::DeployRead).query::<DeliveriesQuery>(),
        )
        .get("/deploy/deliveries/{delivery_id}", get, member_who::<Delivery>("Get delivery", Can::DeployUpdate))
        .post(
            "/deploy/deliveries/{delivery_id}/replay",
            replay,
            member_who::<Delivery>("Replay delivery", Can::DeployUpdate)
                .note("Looks at it again, with the application as it is now. The answer is the new delivery.")
                .errors(&[Conflict]),
        )
}

pub async fn receive(State(app): State<Arc<App>>, origin: Origin, headers: HeaderMap, body: DeliveryPayload) -> Answer {
    let text = |(name, value): (&axum::http::HeaderName, &axum::http::HeaderValue)| {
        Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
    };
    let headers: BTreeMap<String, String> = headers.iter().filter_map(text).collect();
    let arrived = Arrived { headers, body: body.bytes.clone(), origin };
    bare_success(&deliveries::receive(&app, arrived).await?)
}

pub async fn get_webhook(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.application(id).await?;
    success("Webhook", webhooks::get(&ctx.app, granted.row()).await?)
}

pub async fn rotate(ctx: Ctx, PathId(id): PathId, body: Payload) -> Answer {
    let granted = ctx.application(id).await?;
    let input: RotateWebhook = body.parse()?;
    success("Webhook secret changed", webhooks::rotate(&ctx.app, &granted, &input).await?)
}

pub async fn register(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.application(id).await?;
    success("Webhook registered", webhooks::register(&ctx.app, &granted).await?)
}

pub async fn unregister(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.application(id).await?;
    success("Webhook removed", webhooks::unregister(&ctx.app, &granted).await?)
}

pub async fn get_key(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.application(id).await?;
    success("Deploy key", deploy_keys::get(granted.row())?)
}

pub async fn create_key(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.application(id).await?;
    success("Deploy key made", deploy_keys::create(&ctx.app, &granted).await?)
}

pub async fn delete_key(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.application(id).await?;
    deploy_keys::delete(&ctx.app, &granted).await?;
    success("Deploy key removed", ())
}

pub async fn list(ctx: Ctx, PathId(id): PathId, params: RawParams) -> Answer {
    let granted = ctx.application(id).await?;
    let query: DeliveriesQuery = params.parse()?;
    let (number, size) = (query.page.map_or(1, Whole::get), query.page_size.map_or(PAGE_SIZE, Whole::get));
    let filter = Filter { verdict: query.verdict, host: query.host };
    let mut conn = ctx.app.db.read().await?;
    let (page, total) = rows::page(&mut conn, granted.row().id, filter, (number - 1) * size, size).await?;
    let deliveries = page.into_iter().map(records::delivery).collect();
    success("Deliveries", Deliveries { deliveries, pagination: Pagination::new(number, size, total) })
}

/// To those who may change the application: what was sent may hold anything.
pub async fn get(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.delivery(id).await?;
    let content = rows::content(&mut ctx.app.db.read().await?, id).await?;
    let content = content.ok_or_else(|| Error::not_found("delivery"))?;
    success("Delivery", records::whole_delivery(granted.row().clone(), &content))
}

pub async fn replay(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.delivery(id).await?;
    success("Delivery replayed", deliveries::replay(&ctx.app, &granted).await?)
}
