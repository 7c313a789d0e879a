//! What happens, as it happens.

use axum::http::HeaderMap;
use windlass_api::{Can, EventCursor, EventsQuery};

use super::logs::LAST_EVENT_ID;
use super::params::Params;
use super::respond::{Answer, events};
use crate::auth::Ctx;
use crate::auth::origin::header_text;
use crate::error::{Error, Result};
use crate::event_follower::EventFollower;
use crate::streams::{OpenStream, StreamKind};

pub async fn follow(ctx: Ctx, Params(query): Params<EventsQuery>, headers: HeaderMap) -> Answer {
    let joined = ctx.organization(None, Can::DeployRead).await?;
    let after = after(&query, &headers)?;
    let open = OpenStream::open(&ctx.app, StreamKind::Events, joined.organization.id)?;
    let follower = EventFollower::begin(ctx, &joined, open, after).await?;
    Ok(events(follower, async |mut follower| {
        let events = follower.next().await?;
        Some((events, follower))
    }))
}

/// A client that comes again says itself what it has seen.
fn after(query: &EventsQuery, headers: &HeaderMap) -> Result<Option<i64>> {
    match header_text(headers, LAST_EVENT_ID).filter(|text| !text.is_empty()) {
        Some(seen) => match EventCursor::try_from(seen.as_str()) {
            Ok(EventCursor(seq)) => Ok(Some(seq)),
            Err(_) => Err(Error::field(LAST_EVENT_ID, "must be the id of an event")),
        },
        None => Ok(query.after.map(|EventCursor(seq)| seq)),
    }
}
