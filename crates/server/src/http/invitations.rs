//! Invitations to an organization.

use windlass_api::{AcceptInvitation, Can, Named, OrganizationId, OrganizationQuery, SendInvitation};
use windlass_store::invitations as rows;

use super::body::Payload;
use super::params::{Params, PathId};
use super::respond::{Answer, success};
use crate::auth::{Ctx, Login};
use crate::records;
use crate::service::invitations;

pub async fn list(ctx: Ctx, Params(query): Params<OrganizationQuery>, body: Payload) -> Answer {
    let id = body.parse::<OrganizationId>()?.id.or(query.id);
    let joined = ctx.organization(id, Can::MemberRead).await?;
    let mut conn = ctx.app.db.read().await?;
    let found = rows::of_organization(&mut conn, joined.organization.id, ctx.app.now()).await?;
    success("Open invitations", found.into_iter().map(records::invitation).collect::<Vec<_>>())
}

pub async fn send(ctx: Ctx, Params(query): Params<OrganizationQuery>, body: Payload) -> Answer {
    let named: Named = body.parse()?;
    let joined = ctx.organization(named.organization_id.or(query.id), Can::MemberCreate).await?;
    let input: SendInvitation = body.parse()?;
    let created = invitations::send(&ctx, joined.organization.id, &input).await?;
    success("Invitation created; give the link to the invited person", created)
}

pub async fn accept(login: Login, body: Payload) -> Answer {
    let input: AcceptInvitation = body.parse()?;
    success("Invitation accepted", invitations::accept(&login, &input).await?)
}

pub async fn withdraw(ctx: Ctx, PathId(id): PathId, Params(query): Params<OrganizationQuery>) -> Answer {
    let joined = ctx.invitation(query.id, id, Can::MemberCreate).await?;
    invitations::withdraw(&ctx, joined.organization.id, id).await?;
    success("Invitation withdrawn; its link no longer works", ())
}
