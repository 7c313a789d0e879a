//! Domains, and how their visitors come.

use windlass_api::{AddDomain, Can, Domain, DomainCheck, DomainName, Domains, ErrorCode, GivenId, UpdateDomain};

use super::body::Payload;
use super::params::{PathId, PathIdAndText, PathText};
use super::respond::{Answer, success};
use super::table::{Table, member_who};
use crate::auth::Ctx;
use crate::service::{domain_check, domains};

pub fn routes(table: Table) -> Table {
    use ErrorCode::{Conflict, DomainTaken, RateLimited};
    table
        .get("/domains", list, member_who::<Domains>("List domains", Can::DomainRead))
        .put(
            "/domains/{domain}",
            update,
            member_who::<Domain>("Update domain", Can::DomainUpdate)
                .note("At once, and without a deployment. For every path of the domain.")
                .body::<UpdateDomain>(),
        )
        .get(
            "/domains/{domain}/check",
            check,
            member_who::<DomainCheck>("Check domain", Can::DomainRead)
                .note("Asks DNS at this moment, which can take up to ten seconds."),
        )
        .post(
            "/domains/{domain}/retry",
            retry,
            member_who::<Domain>("Order certificate again", Can::DomainUpdate)
                .note("Of a domain for which the last order failed.")
                .errors(&[Conflict, RateLimited]),
        )
        .post(
            "/deploy/application/{application_id}/domains",
            add,
            member_who::<Domain>("Add domain", Can::DomainCreate)
                .note("Visitors come by it at once, and without a deployment.")
                .body::<AddDomain>()
                .errors(&[Conflict, DomainTaken]),
        )
        .delete(
            "/deploy/application/{application_id}/domains/{domain_id}",
            remove,
            member_who::<()>("Remove domain", Can::DomainDelete)
                .note("One that was added. The main domain of an application is changed with the application.")
                .errors(&[Conflict]),
        )
}

pub async fn list(ctx: Ctx) -> Answer {
    let authority = ctx.organization(None).await?;
    let domains = domains::list(&ctx.app, authority.organization_id()).await?;
    success("Domains", Domains { domains })
}

pub async fn add(ctx: Ctx, PathId(id): PathId, body: Payload) -> Answer {
    let granted = ctx.application(id).await?;
    let input: AddDomain = body.parse()?;
    success("Domain added", domains::add(&ctx.app, &granted, &input).await?)
}

pub async fn remove(ctx: Ctx, path: PathIdAndText<GivenId>) -> Answer {
    let granted = ctx.application(path.id).await?;
    let GivenId(id) = path.text()?;
    domains::remove(&ctx.app, &granted, id).await?;
    success("Domain removed", ())
}

pub async fn update(ctx: Ctx, PathText(domain): PathText<DomainName>, body: Payload) -> Answer {
    let authority = ctx.organization(None).await?;
    let input: UpdateDomain = body.parse()?;
    success("Domain changed", domains::update(&ctx.app, &authority, &domain, &input).await?)
}

pub async fn check(ctx: Ctx, PathText(domain): PathText<DomainName>) -> Answer {
    let authority = ctx.organization(None).await?;
    success("What DNS says", domain_check::check(&ctx.app, authority.organization_id(), &domain).await?)
}

pub async fn retry(ctx: Ctx, PathText(domain): PathText<DomainName>) -> Answer {
    let authority = ctx.organization(None).await?;
    success("The certificate is being ordered", domains::retry(&ctx.app, &authority, &domain).await?)
}
