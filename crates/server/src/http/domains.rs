//! Domains, and how their visitors come.

use windlass_api::{Can, Domain, Domains, ErrorCode, HostName};

use super::params::PathText;
use super::respond::{Answer, success};
use super::table::{Table, member_who};
use crate::auth::Ctx;
use crate::service::certificate_orders;

pub fn routes(table: Table) -> Table {
    table.get("/domains", list, member_who::<Domains>("List domains", Can::DomainRead)).post(
        "/domains/{domain}/retry",
        retry,
        member_who::<Domain>("Order certificate again", Can::DomainUpdate)
            .note("Of a domain for which the last order failed.")
            .errors(&[ErrorCode::Conflict, ErrorCode::RateLimited]),
    )
}

pub async fn list(ctx: Ctx) -> Answer {
    let authority = ctx.organization(None).await?;
    let domains = certificate_orders::list(&ctx.app, authority.organization_id()).await?;
    success("Domains", Domains { domains })
}

pub async fn retry(ctx: Ctx, PathText(domain): PathText<HostName>) -> Answer {
    let authority = ctx.organization(None).await?;
    success("The certificate is being ordered", certificate_orders::retry(&ctx.app, &authority, &domain).await?)
}
