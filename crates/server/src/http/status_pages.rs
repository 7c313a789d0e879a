//! What organizations show the public of their applications.

use windlass_api::{Can, ErrorCode, StatusPage, UpdateStatusPage};

use super::body::Payload;
use super::params::PathId;
use super::respond::{Answer, success};
use super::table::{Table, member_who};
use crate::auth::Ctx;
use crate::service::status_pages;

pub fn routes(table: Table) -> Table {
    table
        .get(
            "/organizations/{organization_id}/status-page",
            get,
            member_who::<StatusPage>("Get status page", Can::OrganizationRead)
                .note("Of an organization that never had one too."),
        )
        .put(
            "/organizations/{organization_id}/status-page",
            update,
            member_who::<StatusPage>("Update status page", Can::OrganizationUpdate)
                .note(
                    "Everyone on the internet can read a page that is on, without a login. To turn it on, or give it a domain, takes `domain:create` too.",
                )
                .body::<UpdateStatusPage>()
                .errors(&[ErrorCode::DomainTaken]),
        )
}

pub async fn get(ctx: Ctx, PathId(id): PathId) -> Answer {
    let authority = ctx.organization(Some(id)).await?;
    success("Status page", status_pages::get(&ctx.app, authority.organization_id()).await?)
}

pub async fn update(ctx: Ctx, PathId(id): PathId, body: Payload) -> Answer {
    let authority = ctx.organization(Some(id)).await?;
    let input: UpdateStatusPage = body.parse()?;
    success("Status page changed", status_pages::update(&ctx.app, &authority, &input).await?)
}
