//! Members of an organization.

use windlass_api::{Can, OrganizationId, OrganizationQuery, RemoveUser, UpdateUserRole};

use super::body::Payload;
use super::params::Params;
use super::respond::{Answer, success};
use crate::auth::Ctx;
use crate::records;
use crate::service::members;

pub async fn list(ctx: Ctx, Params(query): Params<OrganizationQuery>, body: Payload) -> Answer {
    let id = body.parse::<OrganizationId>()?.id.or(query.id);
    let joined = ctx.organization(id, Can::MemberRead).await?;
    let mut conn = ctx.app.db.read().await?;
    success("Users of the organization", records::members(&mut conn, &joined.organization, ctx.user.id).await?)
}

/// Leaving needs no permission, so which one is needed is the service's to say.
pub async fn remove(ctx: Ctx, body: Payload) -> Answer {
    let input: RemoveUser = body.parse()?;
    let joined = ctx.organization(input.organization_id, Can::OrganizationRead).await?;
    members::remove(&ctx, &joined, input.user_id).await?;
    success("User removed from the organization", ())
}

pub async fn change_role(ctx: Ctx, body: Payload) -> Answer {
    let input: UpdateUserRole = body.parse()?;
    let joined = ctx.organization(input.organization_id, Can::MemberUpdate).await?;
    let member = members::change_role(&ctx, &joined, input.user_id, input.role).await?;
    let mut conn = ctx.app.db.read().await?;
    success("Role updated", records::member(&mut conn, member, &joined.organization, ctx.user.id).await?)
}
