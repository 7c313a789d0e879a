//! Members of an organization.

use windlass_api::{
    Can, ErrorCode, Named, OrganizationId, OrganizationQuery, OrganizationUser, RemoveUser, UpdateUserRole,
};

use super::body::Payload;
use super::params::Params;
use super::respond::{Answer, success};
use super::table::{Table, member_who};
use crate::auth::Ctx;
use crate::records;
use crate::service::members;

pub fn routes(table: Table) -> Table {
    use ErrorCode::LastOwner;
    table
        .get(
            "/organizations/users",
            list,
            member_who::<Vec<OrganizationUser>>("Get organization users", Can::MemberRead)
                .query::<OrganizationQuery>()
                .body::<OrganizationId>(),
        )
        .post(
            "/organizations/remove-user",
            remove,
            member_who::<()>("Remove user", Can::MemberDelete)
                .note("Members may remove themselves.")
                .query::<OrganizationQuery>()
                .body::<RemoveUser>()
                .errors(&[LastOwner]),
        )
        .post(
            "/organizations/update-user-role",
            change_role,
            member_who::<OrganizationUser>("Update user role", Can::MemberUpdate)
                .query::<OrganizationQuery>()
                .body::<UpdateUserRole>()
                .errors(&[LastOwner]),
        )
}

pub async fn list(ctx: Ctx, Params(query): Params<OrganizationQuery>, body: Payload) -> Answer {
    let id = body.parse::<OrganizationId>()?.id.or(query.id);
    let authority = ctx.organization(id).await?;
    let mut conn = ctx.app.db.read().await?;
    success("Users of the organization", records::members(&mut conn, authority.organization()).await?)
}

pub async fn remove(ctx: Ctx, Params(query): Params<OrganizationQuery>, body: Payload) -> Answer {
    let named: Named = body.parse()?;
    let organization_id = named.organization_id.or(query.id);
    // Every member may leave, but no program may leave for them.
    let leaves = named.user_id == Some(ctx.caller.user.id) && !ctx.caller.is_key();
    if leaves {
        let authority = ctx.own_membership(organization_id).await?;
        body.parse::<RemoveUser>()?;
        members::leave(&ctx.app, &authority).await?;
    } else {
        let authority = ctx.member(organization_id, named.user_id).await?;
        let input: RemoveUser = body.parse()?;
        members::remove(&ctx.app, &authority, input.user_id).await?;
    }
    success("User removed from the organization", ())
}

pub async fn change_role(ctx: Ctx, Params(query): Params<OrganizationQuery>, body: Payload) -> Answer {
    let named: Named = body.parse()?;
    let authority = ctx.member(named.organization_id.or(query.id), named.user_id).await?;
    let input: UpdateUserRole = body.parse()?;
    success("Role updated", members::change_role(&ctx.app, &authority, input.user_id, input.role).await?)
}
