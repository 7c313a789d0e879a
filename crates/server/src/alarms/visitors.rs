//! What visitors of applications get, by what the edges have counted in each minute.

use uuid::Uuid;
use windlass_api::{Configuration, Wanted};
use windlass_store::Result;
use windlass_store::alarms::{self, AlarmKind, Suspect};
use windlass_store::traffic::{self, Slot};

use super::{Audience, turn};
use crate::app::App;
use crate::service::work::EventSubject;
use crate::traffic::MINUTE_MICROS;

/// Fewer say nothing: one request of two is half of them.
const LEAST_REQUESTS: i64 = 20;
/// Well again is what has less than this share of the rate that is too much.
const SHARE_OF_WELL: i64 = 2;
/// Looked at together.
const AT_ONCE: i64 = 200;
const MINUTE_SECONDS: i64 = 60;

/// Looks at each application with errors in this minute or the one before, and at each that was told to have them.
pub async fn look(app: &App) -> Result<()> {
    let minute = app.now().micros() / MINUTE_MICROS;
    let mut after = Uuid::nil();
    loop {
        let suspects = alarms::suspects(&mut app.db.read().await?, minute - 1, after, AT_ONCE).await?;
        let is_last = (suspects.len() as i64) < AT_ONCE;
        after = suspects.last().map_or(after, |suspect| suspect.id);
        for suspect in suspects {
            look_at(app, &suspect, minute).await?;
        }
        if is_last {
            return Ok(());
        }
    }
}

async fn look_at(app: &App, suspect: &Suspect, minute: i64) -> Result<()> {
    let configuration = match Configuration::from_json(&suspect.configuration) {
        Ok(configuration) => configuration,
        Err(problem) => {
            tracing::error!(application = %suspect.id, problem, "could not look whether its visitors get errors");
            return Ok(());
        }
    };
    let percent = i64::from(configuration.settings.error_rate_percent);
    let is_watched = percent > 0 && suspect.wanted == Wanted::Running && suspect.has_release;
    if !is_watched {
        return forget(app, suspect).await;
    }
    let minutes = i64::from(configuration.settings.error_rate_seconds.div_ceil(60));
    let slots = traffic::minutes(&mut app.db.read().await?, suspect.id, minute - minutes).await?;
    let rate = Rate::of(&slots, minute, minutes);
    match suspect.is_on {
        false if rate.is_too_much(percent) => tell(app, suspect, true, rate, minutes).await,
        true if rate.is_well(percent) => tell(app, suspect, false, rate, minutes).await,
        _ => Ok(()),
    }
}

/// It is not watched any more, so it does not recover either.
async fn forget(app: &App, suspect: &Suspect) -> Result<()> {
    if !suspect.is_on {
        return Ok(());
    }
    let mut work = app.begin_step().await?;
    alarms::forget(&mut work, AlarmKind::Application, suspect.id).await?;
    work.commit().await
}

async fn tell(app: &App, suspect: &Suspect, is_wrong: bool, rate: Rate, minutes: i64) -> Result<()> {
    let subject = EventSubject {
        organization_id: suspect.organization_id,
        application_id: Some(suspect.id),
        deployment_id: None,
    };
    let (errors, requests) = (rate.errors.to_string(), rate.requests.to_string());
    let (percent, seconds) = (rate.percent().to_string(), (minutes * MINUTE_SECONDS).to_string());
    let details = [
        ("application", suspect.name.as_str()),
        ("errors", errors.as_str()),
        ("requests", requests.as_str()),
        ("percent", percent.as_str()),
        ("seconds", seconds.as_str()),
    ];
    let mut work = app.begin_step().await?;
    let audience = Audience::One(subject);
    if turn(&mut work, AlarmKind::Application, suspect.id, is_wrong, audience, &details).await? {
        work.commit().await?;
    }
    Ok(())
}

/// Of some minutes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Rate {
    requests: i64,
    errors: i64,
}

impl Rate {
    /// The minutes up to the present one, if there are enough requests in them; else those before it, which are whole.
    fn of(slots: &[Slot], minute: i64, minutes: i64) -> Self {
        let newest = Self::between(slots, minute - minutes + 1, minute);
        match newest.requests >= LEAST_REQUESTS {
            true => newest,
            false => Self::between(slots, minute - minutes, minute - 1),
        }
    }

    fn between(slots: &[Slot], first: i64, last: i64) -> Self {
        let some = slots.iter().filter(|slot| (first..=last).contains(&slot.slot));
        some.fold(Self::default(), |sum, slot| Self {
            requests: sum.requests + slot.sum.requests,
            errors: sum.errors + slot.sum.errors,
        })
    }

    const fn is_too_much(self, percent: i64) -> bool {
        self.requests >= LEAST_REQUESTS && self.errors * 100 >= self.requests * percent
    }

    /// Few requests are enough for that: there may never be many.
    const fn is_well(self, percent: i64) -> bool {
        self.requests > 0 && self.errors * 100 * SHARE_OF_WELL < self.requests * percent
    }

    /// A request can be counted in one minute and its error in the next.
    fn percent(self) -> i64 {
        (self.errors * 100 / self.requests.max(1)).min(100)
    }
}

#[cfg(test)]
mod tests {
    use windlass_store::traffic::Requests;

    use super::*;

    /// Requests and errors of minutes, up to the tenth.
    fn slots(all: &[(i64, i64)]) -> Vec<Slot> {
        let minutes = (11 - i64::try_from(all.len()).unwrap())..;
        let slot = |((requests, errors), slot): (&(i64, i64), i64)| Slot {
            application_id: Uuid::nil(),
            slot,
            sum: Requests { requests: *requests, errors: *errors, ..Requests::default() },
        };
        all.iter().zip(minutes).map(slot).collect()
    }

    fn rate(all: &[(i64, i64)], minutes: i64) -> (i64, i64) {
        let Rate { requests, errors } = Rate::of(&slots(all), 10, minutes);
        (requests, errors)
    }

    #[test]
    fn the_present_minute_counts_as_soon_as_it_says_something() {
        assert_eq!(rate(&[(100, 0), (20, 15)], 1), (20, 15));
        assert_eq!(rate(&[(100, 0), (19, 19)], 1), (100, 0));
        assert_eq!(rate(&[(7, 7), (15, 10), (5, 5)], 2), (20, 15));
        assert_eq!(rate(&[(7, 7), (5, 5), (5, 5)], 2), (12, 12));
        assert_eq!(rate(&[], 60), (0, 0));
    }

    #[test]
    fn there_is_a_gap_between_too_much_and_well() {
        let told = |requests, errors| {
            let rate = Rate { requests, errors };
            (rate.is_too_much(50), rate.is_well(50))
        };
        assert_eq!(told(20, 10), (true, false));
        assert_eq!(told(19, 19), (false, false));
        assert_eq!(told(20, 9), (false, false));
        assert_eq!(told(20, 5), (false, false));
        assert_eq!(told(20, 4), (false, true));
        assert_eq!((told(1, 0), told(0, 0)), ((false, true), (false, false)));
    }
}
