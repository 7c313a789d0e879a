//! Log lines as they come, as server-sent events.

use axum::http::HeaderMap;
use uuid::Uuid;
use windlass_api::{FollowLogsQuery, LogCursor, Whole};
use windlass_store::logs::Of;

use super::filter;
use crate::auth::Ctx;
use crate::auth::origin::header_text;
use crate::error::{Error, Result};
use crate::http::params::{PathId, RawParams};
use crate::http::respond::{Answer, events};
use crate::logs::follow::{Followed, Follower, Start};

pub const LAST_EVENT_ID: &str = "last-event-id";
const TAIL: i64 = 100;

pub async fn follow(ctx: Ctx, PathId(id): PathId, params: RawParams, headers: HeaderMap) -> Answer {
    let deployment_id = filter::named(&params)?;
    let organization_id = ctx.application(id).await?.authority().organization_id();
    let of = filter::of(&ctx, id, deployment_id).await?;
    answer(ctx, organization_id, id, of, &params, &headers).await
}

pub async fn follow_deployment(ctx: Ctx, PathId(id): PathId, params: RawParams, headers: HeaderMap) -> Answer {
    let granted = ctx.deployment(id).await?;
    let (organization_id, application_id) = (granted.authority().organization_id(), granted.row().application_id);
    answer(ctx, organization_id, application_id, Of::Deployment(id), &params, &headers).await
}

async fn answer(
    ctx: Ctx,
    organization_id: Uuid,
    application_id: Uuid,
    of: Of,
    params: &RawParams,
    headers: &HeaderMap,
) -> Answer {
    let start = start(&params.parse()?, headers)?;
    let which = filter::query(of, params).await?;
    let open = ctx.app.log_streams.open(organization_id, ctx.caller.user.id)?;
    let follower = Follower::begin(ctx, open, Followed::Application(application_id), which, start).await?;
    Ok(events(follower, async |mut follower| {
        let events = follower.next().await?;
        Some((events, follower))
    }))
}

/// A client that comes again says itself what it has seen.
pub fn start(query: &FollowLogsQuery, headers: &HeaderMap) -> Result<Start> {
    if let Some(seen) = header_text(headers, LAST_EVENT_ID).filter(|text| !text.is_empty()) {
        let LogCursor(seq) =
            seen.as_str().try_into().map_err(|_| Error::field(LAST_EVENT_ID, "must be the id of an event"))?;
        return Ok(Start::After(seq));
    }
    Ok(match query.after {
        Some(LogCursor(seq)) => Start::After(seq),
        None => Start::Newest(query.tail.map_or(TAIL, Whole::get) as usize),
    })
}
