//! What of an order is worth a message: failures that last, or that come near the end of the certificate in use, and that they are over.

use windlass_api::Timestamp;
use windlass_store::Result;
use windlass_store::alarms::AlarmKind;
use windlass_store::certificate_orders::CertificateOrder;

use super::problem::ProblemKind;
use super::schedule::{DAY, Lifetime};
use crate::alarms::{Audience, turn};
use crate::service::work::Work;

/// So many in a row.
const MOST_ANSWERED: i64 = 3;
/// An authority that does not answer, or wants to be asked less, often answers within half an hour.
const MOST_UNANSWERED: i64 = 6;
pub const NEAR_END_SECONDS: i64 = 7 * DAY;
/// Of a certificate that is not good for long, this share of its time is near its end.
const LAST_FIFTH: i64 = 5;

pub fn is_worth_telling(kind: ProblemKind, failures: i64, in_use: Option<Lifetime>, now: Timestamp) -> bool {
    let most = match kind {
        ProblemKind::Preflight | ProblemKind::Refused => MOST_ANSWERED,
        ProblemKind::Here | ProblemKind::Unreachable | ProblemKind::RateLimited | ProblemKind::BadAccount => {
            MOST_UNANSWERED
        }
    };
    failures >= most || in_use.is_some_and(|in_use| is_near_end(in_use.not_before, in_use.not_after, now))
}

pub fn is_near_end(not_before: Timestamp, not_after: Timestamp, now: Timestamp) -> bool {
    let seconds = |moment: Timestamp| moment.micros() / 1_000_000;
    let whole = seconds(not_after) - seconds(not_before);
    seconds(not_after) - seconds(now) <= NEAR_END_SECONDS.min(whole / LAST_FIFTH)
}

pub async fn tell_failure(work: &mut Work<'_>, order: &CertificateOrder, in_use: Option<Lifetime>) -> Result<()> {
    let ends = in_use.map(|in_use| in_use.not_after.to_string()).unwrap_or_default();
    let reason = reason(order, in_use);
    let details = [("domain", order.domain.as_str()), ("reason", reason.as_str()), ("ends", ends.as_str())];
    turn(work, AlarmKind::Certificate, order.id, true, audience(order), &details).await.map(drop)
}

/// What went wrong, what visitors get meanwhile, and that it goes on.
fn reason(order: &CertificateOrder, in_use: Option<Lifetime>) -> String {
    let meanwhile = match in_use {
        Some(_) => "Until it ends the present certificate is served",
        None => "Until then the domain has no certificate that browsers accept",
    };
    format!("{} {meanwhile}. It is tried again at {}.", order.problem, order.next_at)
}

/// Nothing is told if no failure was.
pub async fn tell_recovery(work: &mut Work<'_>, order: &CertificateOrder) -> Result<()> {
    let details = [("domain", order.domain.as_str())];
    turn(work, AlarmKind::Certificate, order.id, false, audience(order), &details).await.map(drop)
}

const fn audience(order: &CertificateOrder) -> Audience {
    Audience::of_organization(order.organization_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn failures_that_pass_are_not_told() {
        let lasts = |kind, failures| is_worth_telling(kind, failures, None, at(0));
        assert_eq!((lasts(ProblemKind::Refused, 2), lasts(ProblemKind::Refused, 3)), (false, true));
        assert_eq!((lasts(ProblemKind::Unreachable, 5), lasts(ProblemKind::Unreachable, 6)), (false, true));
    }

    #[test]
    fn near_the_end_the_first_failure_is_told() {
        let is_told = |days: i64, at_day: i64| {
            let in_use = Lifetime { not_before: at(0), not_after: at(days * DAY) };
            is_worth_telling(ProblemKind::Unreachable, 1, Some(in_use), at(at_day * DAY))
        };
        assert_eq!((is_told(90, 82), is_told(90, 83), is_told(90, 91)), (false, true, true));
        assert_eq!((is_told(10, 7), is_told(10, 8)), (false, true));
    }
}
