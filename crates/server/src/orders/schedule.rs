//! When something is to be done: after a failure, before a certificate ends, and how often at most.

use uuid::Uuid;
use windlass_acme::Renewal;
use windlass_api::Timestamp;

use super::problem::ProblemKind;

const MINUTE: i64 = 60;
const HOUR: i64 = 3_600;
pub const DAY: i64 = 24 * HOUR;

/// Nothing was asked of the authority, so that the next look costs nothing.
const AFTER_PREFLIGHT: [i64; 6] = [MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE];
/// Authorities allow five proofs of a host an hour that fail.
const AFTER_REFUSAL: [i64; 6] = [10 * MINUTE, 20 * MINUTE, HOUR, 2 * HOUR, 4 * HOUR, 6 * HOUR];
/// Soon at first: one request in many fails for no reason.
const WHEN_UNREACHABLE: [i64; 7] = [10, MINUTE, 2 * MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR];
const WHEN_LIMITED: [i64; 3] = [HOUR, 3 * HOUR, 6 * HOUR];
/// What an authority says about renewals is asked for no more often, and no less.
const LEAST_ASK: i64 = HOUR;
const LONGEST_ASK: i64 = DAY;
/// A certificate that is about to end is not left to the authority's advice.
const LAST_TENTH: i64 = 10;

/// How long to wait after so many failures in a row.
pub fn wait_seconds(kind: ProblemKind, failures: i64) -> i64 {
    let waits: &[i64] = match kind {
        ProblemKind::Preflight => &AFTER_PREFLIGHT,
        ProblemKind::Refused => &AFTER_REFUSAL,
        ProblemKind::Unreachable | ProblemKind::BadAccount | ProblemKind::Here => &WHEN_UNREACHABLE,
        ProblemKind::RateLimited => &WHEN_LIMITED,
    };
    let index = usize::try_from(failures.saturating_sub(1)).unwrap_or_default();
    waits[index.min(waits.len() - 1)]
}

/// The time of a certificate.
#[derive(Clone, Copy, Debug)]
pub struct Lifetime {
    pub not_before: Timestamp,
    pub not_after: Timestamp,
}

/// What is to be done about a certificate that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Renew,
    /// Look again then.
    Wait(Timestamp),
}

/// Two thirds of the lifetime, or what the authority advises. The id spreads the certificates of one day over the time that is given.
pub fn next(id: Uuid, lifetime: Lifetime, advice: Option<Renewal>, now: Timestamp) -> Next {
    let (from, until) = (lifetime.not_before.micros() / 1_000_000, lifetime.not_after.micros() / 1_000_000);
    let (now, length) = (now.micros() / 1_000_000, (until - from).max(0));
    let latest = until - length / LAST_TENTH;
    let (at, ask_after) = match advice {
        None => (from + length / 3 * 2 + spread(id, length / 50), i64::MAX),
        Some(told) => {
            let ask_after = i64::try_from(told.ask_after.as_secs()).unwrap_or(i64::MAX);
            (told.from + spread(id, told.until - told.from), ask_after.clamp(LEAST_ASK, LONGEST_ASK))
        }
    };
    let at = at.min(latest);
    if at <= now {
        return Next::Renew;
    }
    let look = at.min(now.saturating_add(ask_after));
    Next::Wait(Timestamp::from_micros(look.saturating_mul(1_000_000)))
}

/// From 0 to `most`, always the same for the same id.
fn spread(id: Uuid, most: i64) -> i64 {
    let random = i64::from(u32::try_from(id.as_u128() & 0xFFFF).unwrap_or_default());
    most.max(0) * random / 0x1_0000
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const NINETY: Lifetime =
        Lifetime { not_before: Timestamp::from_micros(0), not_after: Timestamp::from_micros(90 * DAY * 1_000_000) };

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn a_refused_host_stays_below_five_proofs_an_hour() {
        let mut tries = vec![0];
        for failures in 1..20 {
            tries.push(tries[tries.len() - 1] + wait_seconds(ProblemKind::Refused, failures));
        }
        for (index, first) in tries.iter().enumerate() {
            let within = tries[index..].iter().filter(|time| **time < first + HOUR).count();
            assert!(within < 5, "{within} within an hour");
        }
        assert_eq!(wait_seconds(ProblemKind::Preflight, 1), MINUTE);
        assert_eq!(wait_seconds(ProblemKind::Preflight, 100), 30 * MINUTE);
    }

    #[test]
    fn without_advice_a_certificate_is_renewed_after_two_thirds_of_its_time() {
        let id = Uuid::from_u128(0);
        assert_eq!(next(id, NINETY, None, at(0)), Next::Wait(at(60 * DAY)));
        assert_eq!(next(id, NINETY, None, at(60 * DAY)), Next::Renew);
        let Next::Wait(late) = next(Uuid::from_u128(0xFFFF), NINETY, None, at(0)) else { panic!() };
        assert!(late > at(61 * DAY) && late < at(62 * DAY), "{late}");
    }

    #[test]
    fn the_authoritys_advice_goes_before_and_is_asked_for_again() {
        let id = Uuid::from_u128(0x8000);
        let advice = |from, until| Some(Renewal { from, until, ask_after: Duration::from_secs(6 * 3_600) });
        assert_eq!(next(id, NINETY, advice(10 * DAY, 12 * DAY), at(0)), Next::Wait(at(6 * HOUR)));
        let soon = at(11 * DAY - 5 * HOUR);
        assert_eq!(next(id, NINETY, advice(10 * DAY, 12 * DAY), soon), Next::Wait(at(11 * DAY)));
        assert_eq!(next(id, NINETY, advice(-DAY, 0), at(DAY)), Next::Renew, "it was revoked, for instance");
        assert_eq!(next(id, NINETY, advice(100 * DAY, 110 * DAY), at(81 * DAY)), Next::Renew, "never after its end");
        let hasty = Some(Renewal { from: 50 * DAY, until: 50 * DAY, ask_after: Duration::ZERO });
        assert_eq!(next(id, NINETY, hasty, at(0)), Next::Wait(at(HOUR)));
    }
}
