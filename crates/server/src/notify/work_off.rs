//! Sends what waits for one destination, in its order. A notice that is not taken keeps the others waiting, so one try at a time finds
//! out whether the destination is back: that is the circuit breaker.

use std::time::Duration;

use tokio::time::Instant;
use uuid::Uuid;
use windlass_api::{ErrorCode, NoticeState, Timestamp};
use windlass_durable::kill_point;
use windlass_store::notices::{self, Attempt, Notice, Outcome as Settled};
use windlass_store::webhook_configs::{self, WebhookConfig};
use windlass_store::{jobs, organizations};

use super::allowed;
use super::fold;
use super::send::{self, Sending, Tried, Verdict};
use crate::app::App;
use crate::error::{Error, Result};
use crate::jobs::{Held, Later, Outcome};
use crate::random;
use crate::service::audit::{Action, Actor, Change, Resource};
use crate::service::queue::Destination;
use crate::service::work::Work;

/// Notices that are looked at at once, and that one notice can carry.
const AT_ONCE: i64 = 100;
/// So many are sent before other destinations have their turn.
const IN_A_ROW: usize = 20;
/// And not for longer: a receiver that answers slowly must not have a place of all for itself.
const ROW_LIMIT: Duration = Duration::from_secs(30);
const FIRST_WAIT_SECONDS: u64 = 5;
const LONGEST_WAIT_SECONDS: u64 = 3_600;
/// For so long a notice is tried.
const TRIED_SECONDS: i64 = 86_400;
/// Attempts that are kept of one notice.
const KEPT_ATTEMPTS: i64 = 50;

const EXPIRED: &str = "it could not be delivered before it was of no use any more";
const GONE: &str = "its receiver has answered 410 (gone), so the channel was switched off";

/// What is to be done next.
enum Next {
    GoOn,
    Done,
    Wait(Duration),
}

pub async fn work_off(app: &App, held: &Held, destination: &Destination) -> Result<Outcome> {
    let end = Instant::now() + ROW_LIMIT;
    for _ in 0..IN_A_ROW {
        if Instant::now() >= end {
            break;
        }
        let waiting = notices::waiting(&mut app.db.read().await?, &destination.name(), AT_ONCE).await?;
        let Some(first) = waiting.first() else { return done(held).await };
        let folded = fold::chosen(&waiting, app.now());
        if !folded.is_empty() {
            fold::fold(held, destination, &folded).await?;
            continue;
        }
        match Box::pin(deliver(app, held, destination, first, waiting.len() == 1)).await? {
            Next::GoOn => {}
            Next::Done => return Ok(Outcome::Done),
            Next::Wait(after) => return Ok(later(after, "the destination did not take a notice")),
        }
    }
    Ok(later(Duration::ZERO, "other destinations have their turn"))
}

fn later(after: Duration, why: &str) -> Outcome {
    Outcome::Later(Later { after, why: why.to_owned(), is_attempt: false })
}

async fn done(held: &Held) -> Result<Outcome> {
    let mut work = held.begin().await?;
    held.done(&mut work).await?;
    work.commit().await?;
    Ok(Outcome::Done)
}

/// One try. If it is the last notice that waits and it is over, the job is done with it; what has come to wait since has a job of its
/// own.
async fn deliver(app: &App, held: &Held, destination: &Destination, notice: &Notice, is_last: bool) -> Result<Next> {
    let started_at = app.now();
    if notice.expires_at.is_some_and(|until| until <= started_at.micros()) {
        return settle(held, notice, &over(NoticeState::Dropped, EXPIRED, started_at), is_last).await;
    }
    let clock = Instant::now();
    let (tried, config) = match send::send(app, notice).await {
        Ok(Sending::Tried(tried, config)) => (tried, config),
        Ok(Sending::Off) => return drop_if_off(held, destination).await,
        Ok(Sending::NoServer(reason)) => return drop_all(held.begin().await?, held, destination, reason).await,
        Ok(Sending::Withheld(reason)) => {
            return settle(held, notice, &over(NoticeState::Dropped, reason, started_at), is_last).await;
        }
        // Such as a secret that does not open: the next try must not come at once.
        Err(error) if error.code == ErrorCode::Internal => (unsent(notice, &error), None),
        Err(error) => return Err(error),
    };
    let milliseconds = i64::try_from(clock.elapsed().as_millis()).unwrap_or(i64::MAX);
    kill_point::reached("notice-delivered");
    let attempt = attempt(notice.id, started_at, milliseconds, &tried);
    match tried.verdict {
        Verdict::Taken => record(held, &attempt, &over(NoticeState::Sent, "", app.now()), is_last).await,
        Verdict::Never => record(held, &attempt, &over(NoticeState::Failed, &tried.problem, app.now()), is_last).await,
        Verdict::Gone => match config {
            Some(config) => Box::pin(gone(held, destination, &attempt, &config)).await,
            None => record(held, &attempt, &over(NoticeState::Failed, &tried.problem, app.now()), is_last).await,
        },
        Verdict::Later(asked) => try_later(held, destination, notice, &attempt, asked).await,
    }
}

fn unsent(notice: &Notice, error: &Error) -> Tried {
    tracing::error!(notice = %notice.id, cause = error.cause, "a notice could not be sent");
    Tried {
        destination: String::new(),
        status: None,
        problem: "Something is wrong in the server that sends it. Its log has the details.".to_owned(),
        answer: String::new(),
        verdict: Verdict::Later(None),
    }
}

const fn over(state: NoticeState, reason: &str, now: Timestamp) -> Settled<'_> {
    Settled { state, reason, next_attempt_at: None, now }
}

fn attempt(notice_id: Uuid, started_at: Timestamp, milliseconds: i64, tried: &Tried) -> Attempt {
    Attempt {
        notice_id,
        number: 0,
        started_at,
        milliseconds,
        destination: tried.destination.clone(),
        status: tried.status.map(i64::from),
        problem: tried.problem.clone(),
        answer: tried.answer.clone(),
    }
}

async fn try_later(
    held: &Held,
    destination: &Destination,
    notice: &Notice,
    attempt: &Attempt,
    asked: Option<Duration>,
) -> Result<Next> {
    let (now, since) = (held.app.now(), notice.first_tried_at.map_or(attempt.started_at, Timestamp::from_micros));
    if since.plus_seconds(TRIED_SECONDS) <= now {
        return give_up(held, destination, attempt, now).await;
    }
    let wait = wait(since.seconds_until(now), random::bytes()).max(asked.unwrap_or_default());
    let next_attempt_at = Some(now.plus_seconds(i64::try_from(wait.as_secs()).unwrap_or_default()));
    let settled = Settled { state: NoticeState::Waiting, reason: &attempt.problem, next_attempt_at, now };
    record(held, attempt, &settled, false).await?;
    Ok(Next::Wait(wait))
}

/// About as long as it was tried so far, so that the waits double; with some jitter, so that destinations that went away together do
/// not come back together.
fn wait(tried_seconds: u64, [jitter]: [u8; 1]) -> Duration {
    let seconds = (tried_seconds + FIRST_WAIT_SECONDS).min(LONGEST_WAIT_SECONDS);
    Duration::from_secs(seconds + seconds * u64::from(jitter) / 1_024)
}

/// What has waited as long behind it would be tried for another day, each: it has failed with it.
async fn give_up(held: &Held, destination: &Destination, attempt: &Attempt, now: Timestamp) -> Result<Next> {
    let mut work = held.begin().await?;
    write_down(&mut work, attempt).await?;
    let reason = format!("it was tried for a day. At last: {}", attempt.problem);
    notices::settle(&mut work, attempt.notice_id, &over(NoticeState::Failed, &reason, now)).await?;
    let (name, older) = (destination.name(), now.plus_seconds(-TRIED_SECONDS));
    let reason = format!("its destination took nothing for a day, so it was not sent. At last: {}", attempt.problem);
    notices::fail_older(&mut work, &name, older, &reason, now).await?;
    work.commit().await?;
    Ok(Next::GoOn)
}

/// A transaction that holds what is saved of a destination as it is. Always in this order, the organization and then the job: so do
/// callers of the API.
async fn begin_still<'a>(held: &'a Held, destination: &Destination) -> Result<Work<'a>> {
    let mut work = held.app.begin_step().await?;
    if let Some(organization_id) = destination.organization_id {
        organizations::lock(&mut work, organization_id).await?;
    }
    jobs::hold(&mut work, &held.job).await?;
    Ok(work)
}

/// Nothing is sent to a destination that is switched off. If it was saved again since, it gets what waits for it.
async fn drop_if_off(held: &Held, destination: &Destination) -> Result<Next> {
    let mut work = begin_still(held, destination).await?;
    match allowed::off(&mut work, destination).await? {
        Some(reason) => drop_all(work, held, destination, reason).await,
        None => Ok(Next::GoOn),
    }
}

async fn drop_all(mut work: Work<'_>, held: &Held, destination: &Destination, reason: &str) -> Result<Next> {
    notices::drop_of_destination(&mut work, &destination.name(), reason, held.app.now()).await?;
    held.done(&mut work).await?;
    work.commit().await?;
    Ok(Next::Done)
}

/// The channel is switched off, and what waits for it is dropped. If a member has saved it since, this goes to where it leads now.
async fn gone(held: &Held, destination: &Destination, attempt: &Attempt, tried: &WebhookConfig) -> Result<Next> {
    let mut work = begin_still(held, destination).await?;
    let stored = webhook_configs::get(&mut work, tried.organization_id, tried.kind).await?;
    let as_tried = |config: &WebhookConfig| (config.id, config.updated_at) == (tried.id, tried.updated_at);
    let is_same = stored.is_some_and(|config| as_tried(&config) && config.sealed_url == tried.sealed_url);
    let now = held.app.now();
    write_down(&mut work, attempt).await?;
    if !is_same {
        let settled = Settled { state: NoticeState::Waiting, reason: &attempt.problem, next_attempt_at: None, now };
        notices::settle(&mut work, attempt.notice_id, &settled).await?;
        work.commit().await?;
        return Ok(Next::GoOn);
    }
    notices::settle(&mut work, attempt.notice_id, &over(NoticeState::Failed, &attempt.problem, now)).await?;
    if webhook_configs::switch_off(&mut work, tried.id, tried.updated_at).await? {
        record_switched_off(&mut work, tried);
    }
    drop_all(work, held, destination, GONE).await
}

async fn record(held: &Held, attempt: &Attempt, settled: &Settled<'_>, is_last: bool) -> Result<Next> {
    let mut work = held.begin().await?;
    write_down(&mut work, attempt).await?;
    notices::settle(&mut work, attempt.notice_id, settled).await?;
    if is_last {
        held.done(&mut work).await?;
    }
    work.commit().await?;
    Ok(if is_last { Next::Done } else { Next::GoOn })
}

async fn write_down(work: &mut Work<'_>, attempt: &Attempt) -> Result<()> {
    let number = notices::count_attempt(work, attempt.notice_id, attempt.started_at).await?;
    notices::insert_attempt(work, &Attempt { number, ..attempt.clone() }).await?;
    if number > KEPT_ATTEMPTS {
        notices::forget_attempts(work, attempt.notice_id, number, KEPT_ATTEMPTS).await?;
    }
    Ok(())
}

async fn settle(held: &Held, notice: &Notice, settled: &Settled<'_>, is_last: bool) -> Result<Next> {
    let mut work = held.begin().await?;
    notices::settle(&mut work, notice.id, settled).await?;
    if is_last {
        held.done(&mut work).await?;
    }
    work.commit().await?;
    Ok(if is_last { Next::Done } else { Next::GoOn })
}

fn record_switched_off(work: &mut Work<'_>, config: &WebhookConfig) {
    let kind = config.kind.as_str();
    let change = Change {
        organization_id: Some(config.organization_id),
        action: Action::Update,
        resource: Resource::Webhook,
        resource_id: config.id,
        summary: &format!("switched the {kind} webhook off: its receiver has answered 410 (gone)"),
        details: &[("type", kind), ("state", "paused")],
    };
    work.record(&Actor::Server, &change);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_an_hour_and_differ() {
        let mut tried = 0;
        let waits: Vec<_> = std::iter::repeat_with(|| {
            let next = wait(tried, [0]).as_secs();
            tried += next;
            next
        })
        .take(12)
        .collect();
        assert_eq!(waits, [5, 10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 3_600, 3_600]);
        assert_eq!((wait(0, [255]).as_secs(), wait(3_600, [255]).as_secs()), (6, 4_496));
    }
}
