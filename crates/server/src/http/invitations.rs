//! Invitations to an organization.

use windlass_api::{AcceptInvitation, Can, InvitationCreated, OrganizationQuery, SendInvitation};
use windlass_store::{invitations as rows, memberships};

use super::body::Payload;
use super::params::{Params, PathId};
use super::respond::{Answer, success};
use crate::auth::Ctx;
use crate::error::Error;
use crate::records;
use crate::service::invitations;

pub async fn list(ctx: Ctx, Params(query): Params<OrganizationQuery>) -> Answer {
    let joined = ctx.organization(query.id, Can::MemberRead).await?;
    let mut conn = ctx.app.db.read().await?;
    let found = rows::of_organization(&mut conn, joined.organization.id, ctx.app.now()).await?;
    success("Open invitations", found.into_iter().map(records::invitation).collect::<Vec<_>>())
}

pub async fn send(ctx: Ctx, body: Payload) -> Answer {
    let input: SendInvitation = body.parse()?;
    let joined = ctx.organization(input.organization_id, Can::MemberCreate).await?;
    let (invitation, token) = invitations::send(&ctx, &joined, &input).await?;
    let created = InvitationCreated {
        invitation: records::invitation(invitation),
        // Behind the #, so that the token stays in the browser and reaches no server's log.
        link: format!("{}/#invitation={}", ctx.app.config.public_url, token.reveal()),
        token: token.reveal().to_owned(),
    };
    success("Invitation created; give the link to the invited person", created)
}

pub async fn accept(ctx: Ctx, body: Payload) -> Answer {
    let membership = invitations::accept(&ctx, &body.parse::<AcceptInvitation>()?).await?;
    let joined = ctx.organization(Some(membership.organization_id), Can::OrganizationRead).await?;
    let mut conn = ctx.app.db.read().await?;
    let member = memberships::member(&mut conn, membership.organization_id, ctx.user.id).await?;
    let member = member.ok_or_else(|| Error::not_found("organization"))?;
    success("Invitation accepted", records::member(&mut conn, member, &joined.organization, ctx.user.id).await?)
}

pub async fn withdraw(ctx: Ctx, PathId(id): PathId, Params(query): Params<OrganizationQuery>) -> Answer {
    let joined = ctx.organization(query.id, Can::MemberCreate).await?;
    invitations::withdraw(&ctx, &joined, id).await?;
    success("Invitation withdrawn; its link no longer works", ())
}
