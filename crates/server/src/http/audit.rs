//! What was done, by whom.

use std::time::Duration;

use windlass_api::{
    AuditActivities, AuditQuery, AuditScope, AuditVerification, Can, ErrorCode, OrganizationQuery, Pagination, UserType,
};
use windlass_store::audit::{self, Filter, INSTANCE_CHAIN};

use super::params::{Params, RawParams};
use super::respond::{Answer, success};
use super::table::{Table, member_who};
use crate::auth::Ctx;
use crate::error::{Error, Result};
use crate::records::{self, Hidden};
use crate::service::audit::verify;

const PAGE_SIZE: i64 = 10;
/// They wait in line: no organization can keep the others from it.
const WALK_WAIT: Duration = Duration::from_secs(5);

pub fn routes(table: Table) -> Table {
    table
        .get(
            "/audit/logs",
            list,
            member_who::<AuditActivities>("Get recent audit logs", Can::AuditRead).query::<AuditQuery>(),
        )
        .get(
            "/audit/verify",
            verify,
            member_who::<AuditVerification>("Verify audit log", Can::AuditRead)
                .query::<OrganizationQuery>()
                .errors(&[ErrorCode::RateLimited]),
        )
}

/// Walks the organization's whole chain.
pub async fn verify(ctx: Ctx, Params(query): Params<OrganizationQuery>) -> Answer {
    let authority = ctx.organization(query.id).await?;
    let busy = || Error::rate_limited("Another audit log is being verified. Try again in a moment.", 5);
    let walk = tokio::time::timeout(WALK_WAIT, ctx.app.audit_walks.acquire()).await;
    let _walk = walk.map_err(|_| busy())?.map_err(Error::internal)?;
    let found = verify::verify_one(&ctx.app.db, &ctx.app.audit_key, authority.organization_id()).await?;
    let broken = found.broken.into_iter().next();
    let verification = AuditVerification {
        entries: found.entries,
        broken_at: broken.as_ref().map(|broken| broken.seq),
        problem: broken.map(|broken| broken.problem).unwrap_or_default(),
    };
    success("Audit log verified", verification)
}

pub async fn list(ctx: Ctx, params: RawParams) -> Answer {
    // Who may read comes before what they ask for.
    let query = params.parse::<AuditQuery>();
    let (scope, id) = query
        .as_ref()
        .map_or((AuditScope::Organization, None), |query| (query.scope.unwrap_or(AuditScope::Organization), query.id));
    let (chain_id, hidden) = match scope {
        AuditScope::Organization => {
            let authority = ctx.organization(id).await?;
            let hidden = Hidden {
                api_keys: !authority.may(Can::ApiKeyRead),
                smtp: !authority.may(Can::SmtpRead),
                except_of: authority.user_id(),
            };
            (authority.organization_id(), hidden)
        }
        AuditScope::Instance => (instance_chain(&ctx)?, Hidden::nothing()),
    };
    let query = query?;
    let page = query.page.map_or(1, windlass_api::Whole::get);
    let page_size = query.page_size.map_or(PAGE_SIZE, windlass_api::Whole::get);
    let filter = filter(&query, &hidden);
    let mut conn = ctx.app.db.read().await?;
    let (entries, total) = audit::page(&mut conn, chain_id, &filter, (page - 1) * page_size, page_size).await?;
    let activities = entries.into_iter().map(|entry| records::audit_activity(entry, &hidden)).collect();
    success("Activities", AuditActivities { activities, pagination: Pagination::new(page, page_size, total) })
}

/// What belongs to no organization concerns those who run the instance.
fn instance_chain(ctx: &Ctx) -> Result<uuid::Uuid> {
    if ctx.caller.user.kind == UserType::Admin && !ctx.caller.is_key() {
        return Ok(INSTANCE_CHAIN);
    }
    let message = "scope: the activities of the installation are for its admins with a login.";
    Err(Error::new(ErrorCode::Forbidden, message))
}

fn filter(query: &AuditQuery, hidden: &Hidden) -> Filter {
    let actor = query.actor.as_deref();
    let actor_id = actor.and_then(|actor| actor.parse().ok());
    Filter {
        resource: query.resource_type.as_deref().map(str::to_owned),
        action: query.action.map(|action| action.as_str().to_owned()),
        actor: actor.filter(|_| actor_id.is_none()).map(str::to_owned),
        actor_id,
        from: query.from,
        to: query.to,
        search: query.search.as_deref().map(str::to_lowercase),
        unsearchable: hidden.resources(),
    }
}
