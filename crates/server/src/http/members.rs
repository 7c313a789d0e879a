//! Members of an organization.

use windlass_api::{Can, Named, OrganizationId, OrganizationQuery, RemoveUser, UpdateUserRole};

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
    success("Users of the organization", records::members(&mut conn, &joined.organization).await?)
}

pub async fn remove(ctx: Ctx, Params(query): Params<OrganizationQuery>, body: Payload) -> Answer {
    let named: Named = body.parse()?;
    let needed = members::permission_to_remove(&ctx, named.user_id);
    let joined = ctx.member(named.organization_id.or(query.id), named.user_id, needed).await?;
    let input: RemoveUser = body.parse()?;
    members::remove(&ctx, joined.organization.id, input.user_id).await?;
    success("User removed from the organization", ())
}

pub async fn change_role(ctx: Ctx, Params(query): Params<OrganizationQuery>, body: Payload) -> Answer {
    let named: Named = body.parse()?;
    let joined = ctx.member(named.organization_id.or(query.id), named.user_id, Can::MemberUpdate).await?;
    let input: UpdateUserRole = body.parse()?;
    success("Role updated", members::change_role(&ctx, joined.organization.id, input.user_id, input.role).await?)
}
