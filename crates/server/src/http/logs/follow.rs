//! Log lines as they come, as server-sent events.

use std::convert::Infallible;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::IntoResponse;
use futures_util::stream;
use uuid::Uuid;
use windlass_api::{Can, FollowLogsQuery, LogCursor, Whole};
use windlass_store::logs::Of;

use super::filter;
use crate::auth::Ctx;
use crate::auth::origin::header_text;
use crate::error::{Error, Result};
use crate::http::params::{PathId, RawParams};
use crate::http::respond::Answer;
use crate::logs::follow::{Follower, Start};
use crate::logs::readers::Place;

pub const LAST_EVENT_ID: &str = "last-event-id";
const TAIL: i64 = 100;

pub async fn follow(ctx: Ctx, PathId(id): PathId, params: RawParams, headers: HeaderMap) -> Answer {
    let deployment_id = filter::named(&params)?;
    let (joined, _) = ctx.application(id, Can::DeployRead).await?;
    let of = filter::of(&ctx, id, deployment_id).await?;
    events(ctx, joined.organization.id, id, of, &params, &headers).await
}

pub async fn follow_deployment(ctx: Ctx, PathId(id): PathId, params: RawParams, headers: HeaderMap) -> Answer {
    let (joined, deployment) = ctx.deployment(id, Can::DeployRead).await?;
    events(ctx, joined.organization.id, deployment.application_id, Of::Deployment(id), &params, &headers).await
}

async fn events(
    ctx: Ctx,
    organization_id: Uuid,
    application_id: Uuid,
    of: Of,
    params: &RawParams,
    headers: &HeaderMap,
) -> Answer {
    let start = start(&params.parse()?, headers)?;
    let which = filter::query(of, params).await?;
    let place = Place::take(&ctx.app, organization_id)?;
    let follower = Follower::begin(ctx, place, application_id, which, start).await?;
    let events = stream::unfold(follower, async |mut follower| {
        let events = follower.next().await?;
        Some((Ok::<Bytes, Infallible>(events), follower))
    });
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        // Proxies that would collect an answer first are asked not to.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    Ok((headers, Body::from_stream(events)).into_response())
}

/// A client that comes again says itself what it has seen.
fn start(query: &FollowLogsQuery, headers: &HeaderMap) -> Result<Start> {
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
