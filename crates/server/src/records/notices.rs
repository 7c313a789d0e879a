//! Notices, and the tries to deliver them.

use windlass_api as api;
use windlass_api::{Can, EventName, Timestamp};
use windlass_store::notices::{Attempt, Notice};

use crate::auth::Authority;

/// Whose address a mail goes to is for those who may know members.
pub fn notice(row: Notice, authority: &Authority) -> api::Notice {
    api::Notice {
        id: row.id,
        organization_id: row.organization_id.unwrap_or_default(),
        channel: row.channel,
        recipient: if authority.may(Can::MemberRead) { row.recipient } else { String::new() },
        event: EventName::try_from(row.event.as_str()).ok(),
        application_id: row.application_id,
        title: row.title,
        state: row.state,
        reason: row.reason,
        carried_by: row.carried_by,
        carries: row.carries,
        attempts: row.attempts,
        next_attempt_at: row.next_attempt_at.map(Timestamp::from_micros),
        created_at: row.created_at,
        ended_at: row.ended_at.map(Timestamp::from_micros),
    }
}

pub fn attempt(row: Attempt) -> api::NoticeAttempt {
    api::NoticeAttempt {
        number: row.number,
        started_at: row.started_at,
        milliseconds: row.milliseconds,
        destination: row.destination,
        status: row.status,
        problem: row.problem,
        answer: row.answer,
    }
}
