//! Keys for programs.

use windlass_api::{ApiKey, ApiKeyCreated, Can, CreateApiKey, ErrorCode, Named, OrganizationId, OrganizationQuery};
use windlass_store::api_keys as rows;

use super::body::Payload;
use super::params::{Params, PathId};
use super::respond::{Answer, success};
use super::table::{Table, member_who, user};
use crate::auth::{Ctx, Login};
use crate::records;
use crate::service::api_keys;

/// As many as an answer shows; an organization with more has the newest ones listed.
pub const LISTED: i64 = 1_000;

pub fn routes(table: Table) -> Table {
    use ErrorCode::{Conflict, NotFound};
    table
        .post(
            "/auth/api-keys",
            create,
            user::<ApiKeyCreated>("Create API key").body::<CreateApiKey>().errors(&[NotFound, Conflict]),
        )
        .get("/auth/api-keys", list_own, user::<Vec<ApiKey>>("List my API keys"))
        .delete("/auth/api-keys/{key_id}", revoke_own, user::<()>("Revoke my API key").errors(&[NotFound]))
        .get(
            "/organizations/api-keys",
            list,
            member_who::<Vec<ApiKey>>("List API keys", Can::ApiKeyRead)
                .query::<OrganizationQuery>()
                .body::<OrganizationId>(),
        )
        .delete(
            "/organizations/api-keys/{key_id}",
            revoke,
            member_who::<()>("Revoke API key", Can::ApiKeyDelete).query::<OrganizationQuery>(),
        )
}

pub async fn create(login: Login, body: Payload) -> Answer {
    let named: Named = body.parse()?;
    let authority = login.own_membership(named.organization_id).await?;
    let input: CreateApiKey = body.parse()?;
    let created = api_keys::create(&login.app, &authority, &input).await?;
    success("API key created; it is shown only now", created)
}

pub async fn list_own(login: Login) -> Answer {
    let found = rows::of_user(&mut login.app.db.read().await?, login.caller.user.id, login.app.now(), LISTED).await?;
    success("Your API keys", found.into_iter().map(records::api_key).collect::<Vec<_>>())
}

pub async fn revoke_own(login: Login, PathId(id): PathId) -> Answer {
    api_keys::revoke_own(&login, id).await?;
    success("API key revoked", ())
}

pub async fn list(ctx: Ctx, Params(query): Params<OrganizationQuery>, body: Payload) -> Answer {
    let id = body.parse::<OrganizationId>()?.id.or(query.id);
    let authority = ctx.organization(id).await?;
    let mut conn = ctx.app.db.read().await?;
    let found = rows::of_organization(&mut conn, authority.organization_id(), ctx.app.now(), LISTED).await?;
    success("API keys of the organization", found.into_iter().map(records::api_key).collect::<Vec<_>>())
}

pub async fn revoke(ctx: Ctx, PathId(id): PathId, Params(query): Params<OrganizationQuery>) -> Answer {
    let authority = ctx.api_key(query.id, id).await?;
    api_keys::revoke(&ctx.app, &authority, id).await?;
    success("API key revoked", ())
}
