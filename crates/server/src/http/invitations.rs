//! Invitations to an organization.

use windlass_api::{
    AcceptInvitation, Can, ErrorCode, Invitation, InvitationCreated, Named, OrganizationId, OrganizationQuery,
    OrganizationUser, SendInvitation,
};
use windlass_store::invitations as rows;

use super::body::Payload;
use super::params::{Params, PathId};
use super::respond::{Answer, success};
use super::table::{Table, member_who, user};
use crate::auth::{Ctx, Login};
use crate::records;
use crate::service::invitations;

pub fn routes(table: Table) -> Table {
    use ErrorCode::{AlreadyMember, Conflict, InvitationForAnotherAddress, NotFound};
    table
        .get(
            "/organizations/invites",
            list,
            member_who::<Vec<Invitation>>("List invitations", Can::MemberRead)
                .query::<OrganizationQuery>()
                .body::<OrganizationId>(),
        )
        .delete(
            "/organizations/invites/{invitation_id}",
            withdraw,
            member_who::<()>("Withdraw invitation", Can::MemberCreate).query::<OrganizationQuery>(),
        )
        .post(
            "/organizations/invite/send",
            send,
            member_who::<InvitationCreated>("Send invitation", Can::MemberCreate)
                .query::<OrganizationQuery>()
                .body::<SendInvitation>()
                .errors(&[AlreadyMember, Conflict]),
        )
        .post(
            "/organizations/invite/accept",
            accept,
            user::<OrganizationUser>("Accept invitation").body::<AcceptInvitation>().errors(&[
                NotFound,
                InvitationForAnotherAddress,
                AlreadyMember,
                Conflict,
            ]),
        )
}

pub async fn list(ctx: Ctx, Params(query): Params<OrganizationQuery>, body: Payload) -> Answer {
    let id = body.parse::<OrganizationId>()?.id.or(query.id);
    let authority = ctx.organization(id).await?;
    let mut conn = ctx.app.db.read().await?;
    let found = rows::of_organization(&mut conn, authority.organization_id(), ctx.app.now()).await?;
    success("Open invitations", found.into_iter().map(records::invitation).collect::<Vec<_>>())
}

pub async fn send(ctx: Ctx, Params(query): Params<OrganizationQuery>, body: Payload) -> Answer {
    let named: Named = body.parse()?;
    let authority = ctx.organization(named.organization_id.or(query.id)).await?;
    let input: SendInvitation = body.parse()?;
    let created = invitations::send(&ctx.app, &authority, &input).await?;
    let message = match ctx.app.config.mail.is_set() {
        true => "Invitation created; its link is mailed to the invited person",
        false => "Invitation created; give the link to the invited person",
    };
    success(message, created)
}

pub async fn accept(login: Login, body: Payload) -> Answer {
    let input: AcceptInvitation = body.parse()?;
    success("Invitation accepted", invitations::accept(&login, &input).await?)
}

pub async fn withdraw(ctx: Ctx, PathId(id): PathId, Params(query): Params<OrganizationQuery>) -> Answer {
    let authority = ctx.invitation(query.id, id).await?;
    invitations::withdraw(&ctx.app, &authority, id).await?;
    success("Invitation withdrawn; its link no longer works", ())
}
