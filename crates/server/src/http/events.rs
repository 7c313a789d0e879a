//! The live event stream.

use axum::http::HeaderMap;
use windlass_api::{Can, Event, EventCursor, EventsQuery};

use super::logs::LAST_EVENT_ID;
use super::params::Params;
use super::respond::{Answer, events};
use super::table::{Table, member_who};
use crate::auth::Ctx;
use crate::auth::origin::header_text;
use crate::error::{Error, Result};
use crate::event_follower::EventFollower;

/// What the description says beyond the rest of the entry.
const FOLLOWING: &str = "Server-sent events of the current organization: the data of each is an `Event`, the id its \
    number. An event called `gap` tells that some were removed meanwhile. What has only an id, at the beginning and \
    every 15 seconds, says how far was looked. The stream ends when the server stops, when the caller may not read any \
    more, and when nothing of it was taken for too long; with `Last-Event-ID` nothing is lost or repeated. How many can \
    follow at once is limited for each organization.";

pub fn routes(table: Table) -> Table {
    table.get(
        "/events",
        follow,
        member_who::<Event>("Follow events", Can::DeployRead).note(FOLLOWING).query::<EventsQuery>().events(),
    )
}

async fn follow(ctx: Ctx, Params(query): Params<EventsQuery>, headers: HeaderMap) -> Answer {
    let authority = ctx.organization(None).await?;
    let after = after(&query, &headers)?;
    let open = ctx.app.event_streams.open(authority.organization_id(), authority.user_id())?;
    let follower = EventFollower::begin(ctx, &authority, open, after).await?;
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
