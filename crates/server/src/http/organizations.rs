//! Organizations.

use windlass_api::{Can, CreateOrganization, Named, OrganizationId, OrganizationQuery, UpdateOrganization};

use super::body::Payload;
use super::params::Params;
use super::respond::{Answer, success};
use crate::auth::{Ctx, Login};
use crate::error::Error;
use crate::records::{self, ALL_USERS, NO_USERS};
use crate::service::organizations;

pub async fn create(login: Login, body: Payload) -> Answer {
    let input: CreateOrganization = body.parse()?;
    success("Organization created", organizations::create(&login, &input).await?)
}

pub async fn get(ctx: Ctx, Params(query): Params<OrganizationQuery>, body: Payload) -> Answer {
    let id = body.parse::<OrganizationId>()?.id.or(query.id);
    let joined = ctx.organization(id, Can::OrganizationRead).await?;
    let users = if ctx.may(&joined, Can::MemberRead) { ALL_USERS } else { NO_USERS };
    let mut conn = ctx.app.db.read().await?;
    success("Organization", records::organization(&mut conn, &joined.organization, users).await?)
}

pub async fn update(ctx: Ctx, Params(query): Params<OrganizationQuery>, body: Payload) -> Answer {
    let named: Named = body.parse()?;
    let joined = ctx.organization(named.id.or(query.id), Can::OrganizationUpdate).await?;
    let input: UpdateOrganization = body.parse()?;
    if input.name.is_none() && input.description.is_none() {
        return Err(Error::field("name", "give it or description, or both"));
    }
    success("Organization updated", organizations::update(&ctx, joined.organization.id, &input).await?)
}

pub async fn delete(ctx: Ctx, Params(query): Params<OrganizationQuery>, body: Payload) -> Answer {
    let id = body.parse::<OrganizationId>()?.id.or(query.id);
    let joined = ctx.organization(id, Can::OrganizationDelete).await?;
    organizations::delete(&ctx, joined.organization.id).await?;
    success("Organization deleted", ())
}
