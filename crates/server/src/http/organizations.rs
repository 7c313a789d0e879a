//! Organizations.

use windlass_api::{Can, CreateOrganization, OrganizationId, OrganizationQuery, UpdateOrganization};

use super::body::Payload;
use super::params::Params;
use super::respond::{Answer, success};
use crate::auth::Ctx;
use crate::error::Error;
use crate::records;
use crate::service::organizations;

pub async fn create(ctx: Ctx, body: Payload) -> Answer {
    let organization = organizations::create(&ctx, &body.parse::<CreateOrganization>()?).await?;
    let mut conn = ctx.app.db.read().await?;
    success("Organization created", records::organization(&mut conn, &organization, ctx.user.id).await?)
}

pub async fn get(ctx: Ctx, Params(query): Params<OrganizationQuery>, body: Payload) -> Answer {
    let id = body.parse::<OrganizationId>()?.id.or(query.id);
    let joined = ctx.organization(id, Can::OrganizationRead).await?;
    let mut conn = ctx.app.db.read().await?;
    success("Organization", records::organization(&mut conn, &joined.organization, ctx.user.id).await?)
}

pub async fn update(ctx: Ctx, body: Payload) -> Answer {
    let input: UpdateOrganization = body.parse()?;
    let joined = ctx.organization(input.id, Can::OrganizationUpdate).await?;
    if input.name.is_none() && input.description.is_none() {
        return Err(Error::field("name", "give it or description, or both"));
    }
    let organization = organizations::update(&ctx, &joined, &input).await?;
    let mut conn = ctx.app.db.read().await?;
    success("Organization updated", records::organization(&mut conn, &organization, ctx.user.id).await?)
}

pub async fn delete(ctx: Ctx, Params(query): Params<OrganizationQuery>, body: Payload) -> Answer {
    let id = body.parse::<OrganizationId>()?.id.or(query.id);
    let joined = ctx.organization(id, Can::OrganizationDelete).await?;
    organizations::delete(&ctx, &joined).await?;
    success("Organization deleted", ())
}
