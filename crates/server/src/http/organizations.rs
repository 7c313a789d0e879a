//! Organizations.

use windlass_api::{
    Can, CreateOrganization, ErrorCode, Named, Organization, OrganizationId, OrganizationQuery, UpdateOrganization,
};

use super::body::Payload;
use super::params::Params;
use super::respond::{Answer, success};
use super::table::{Table, member_who, user};
use crate::auth::{Ctx, Login};
use crate::error::Error;
use crate::records::{self, ALL_USERS, NO_USERS};
use crate::service::organizations;

pub fn routes(table: Table) -> Table {
    use ErrorCode::{Conflict, OrganizationNotEmpty};
    table
        .post(
            "/organizations",
            create,
            user::<Organization>("Create organization").body::<CreateOrganization>().errors(&[Conflict]),
        )
        .get(
            "/organizations",
            get,
            member_who::<Organization>("Get organization", Can::OrganizationRead)
                .query::<OrganizationQuery>()
                .body::<OrganizationId>(),
        )
        .put(
            "/organizations",
            update,
            member_who::<Organization>("Update organization", Can::OrganizationUpdate)
                .query::<OrganizationQuery>()
                .body::<UpdateOrganization>(),
        )
        .delete(
            "/organizations",
            delete,
            member_who::<()>("Delete organization", Can::OrganizationDelete)
                .query::<OrganizationQuery>()
                .body::<OrganizationId>()
                .errors(&[OrganizationNotEmpty]),
        )
}

pub async fn create(login: Login, body: Payload) -> Answer {
    let input: CreateOrganization = body.parse()?;
    success("Organization created", organizations::create(&login, &input).await?)
}

pub async fn get(ctx: Ctx, Params(query): Params<OrganizationQuery>, body: Payload) -> Answer {
    let id = body.parse::<OrganizationId>()?.id.or(query.id);
    let authority = ctx.organization(id).await?;
    let users = if authority.may(Can::MemberRead) { ALL_USERS } else { NO_USERS };
    let mut conn = ctx.app.db.read().await?;
    success("Organization", records::organization(&mut conn, authority.organization(), users).await?)
}

pub async fn update(ctx: Ctx, Params(query): Params<OrganizationQuery>, body: Payload) -> Answer {
    let named: Named = body.parse()?;
    let authority = ctx.organization(named.id.or(query.id)).await?;
    let input: UpdateOrganization = body.parse()?;
    if input.name.is_none() && input.description.is_none() {
        return Err(Error::field("name", "give it or description, or both"));
    }
    success("Organization updated", organizations::update(&ctx.app, &authority, &input).await?)
}

pub async fn delete(ctx: Ctx, Params(query): Params<OrganizationQuery>, body: Payload) -> Answer {
    let id = body.parse::<OrganizationId>()?.id.or(query.id);
    let authority = ctx.organization(id).await?;
    organizations::delete(&ctx.app, &authority).await?;
    success("Organization deleted", ())
}
