//! Keys for programs.

use windlass_api::{Can, CreateApiKey, Named, OrganizationId, OrganizationQuery};
use windlass_store::api_keys as rows;

use super::body::Payload;
use super::params::{Params, PathId};
use super::respond::{Answer, success};
use crate::auth::{Ctx, Login};
use crate::records;
use crate::service::api_keys;

/// As many as an answer shows; an organization with more has the newest ones listed.
pub const LISTED: i64 = 1_000;

pub async fn create(login: Login, body: Payload) -> Answer {
    let named: Named = body.parse()?;
    let joined = login.organization(named.organization_id, Can::OrganizationRead).await?;
    let input: CreateApiKey = body.parse()?;
    let created = api_keys::create(&login, joined.organization.id, &input).await?;
    success("API key created; it is shown only now", created)
}

pub async fn list_own(login: Login) -> Answer {
    let found = rows::of_user(&mut login.app.db.read().await?, login.user.id, login.app.now(), LISTED).await?;
    success("Your API keys", found.into_iter().map(records::api_key).collect::<Vec<_>>())
}

pub async fn revoke_own(login: Login, PathId(id): PathId) -> Answer {
    api_keys::revoke_own(&login, id).await?;
    success("API key revoked", ())
}

pub async fn list(ctx: Ctx, Params(query): Params<OrganizationQuery>, body: Payload) -> Answer {
    let id = body.parse::<OrganizationId>()?.id.or(query.id);
    let joined = ctx.organization(id, Can::ApiKeyRead).await?;
    let mut conn = ctx.app.db.read().await?;
    let found = rows::of_organization(&mut conn, joined.organization.id, ctx.app.now(), LISTED).await?;
    success("API keys of the organization", found.into_iter().map(records::api_key).collect::<Vec<_>>())
}

pub async fn revoke(ctx: Ctx, PathId(id): PathId, Params(query): Params<OrganizationQuery>) -> Answer {
    let joined = ctx.api_key(query.id, id, Can::ApiKeyDelete).await?;
    api_keys::revoke(&ctx, joined.organization.id, id).await?;
    success("API key revoked", ())
}
