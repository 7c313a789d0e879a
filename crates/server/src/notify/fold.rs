//! Many notices that wait for one destination become one. What one message tells, all who read it may hear: those that need another
//! permission stay apart.

use windlass_api::{EventName, Timestamp};
use windlass_durable::kill_point;
use windlass_notify::{Message, several};
use windlass_store::notices::{self, Notice};

use super::messages;
use super::queue::waiting;
use crate::error::{Error, Result};
use crate::jobs::Held;
use crate::service::queue::Destination;

/// So many that wait at the same time are too many to be read one by one.
const MANY: usize = 10;
/// If the oldest has waited for so long, its destination was away, and two are enough.
const AWAY_SECONDS: i64 = 120;

/// Those of the notices that wait that are to become one with the first; empty for none. One that was tried stays as it is, because its
/// receiver may have it; and one that carries others is carried by none.
pub fn chosen(waiting: &[Notice], now: Timestamp) -> Vec<&Notice> {
    let is_foldable =
        |notice: &&Notice| notice.attempts == 0 && notice.carries == 0 && notice.organization_id.is_some();
    let Some(first) = waiting.first() else { return Vec::new() };
    let all: Vec<_> = waiting.iter().take_while(is_foldable).filter(|notice| notice.needs == first.needs).collect();
    let was_away = first.created_at.plus_seconds(AWAY_SECONDS) < now;
    if all.len() >= MANY || (was_away && all.len() >= 2) { all } else { Vec::new() }
}

/// Writes the notice that carries these, which are over. It has the place of the first.
pub async fn fold(held: &Held, destination: &Destination, folded: &[&Notice]) -> Result<()> {
    let read = |notice: &&Notice| serde_json::from_str::<Message>(&notice.message);
    let all = folded.iter().map(read).collect::<std::result::Result<Vec<_>, _>>().map_err(Error::internal)?;
    let carrier = Notice {
        position: folded.first().map_or(0, |first| first.position),
        needs: folded.first().map(|first| first.needs.clone()).unwrap_or_default(),
        application_id: common(folded.iter().map(|notice| notice.application_id)).flatten(),
        carries: i64::try_from(folded.len()).unwrap_or(i64::MAX),
        ..waiting(&held.app, destination, &several(&title(folded), &all))?
    };
    let ids: Vec<_> = folded.iter().map(|notice| notice.id).collect();
    let mut work = held.begin().await?;
    notices::insert_all(&mut work, std::slice::from_ref(&carrier)).await?;
    notices::fold(&mut work, &ids, carrier.id, held.app.now()).await?;
    work.commit().await?;
    kill_point::reached("notices-folded");
    Ok(())
}

/// "7 deployments failed in 2 minutes".
fn title(folded: &[&Notice]) -> String {
    let name = common(folded.iter().map(|notice| notice.event.as_str()));
    let many = name.and_then(|name| EventName::try_from(name).ok()).map_or("events", |name| messages::of(name).many);
    let (first, last) = (folded.first().map(|notice| notice.created_at), folded.last().map(|notice| notice.created_at));
    let seconds = first.zip(last).map_or(0, |(first, last)| first.seconds_until(last));
    format!("{} {many} {}", folded.len(), duration(seconds))
}

fn duration(seconds: u64) -> String {
    match seconds {
        0..=1 => "at once".to_owned(),
        2..=119 => format!("in {seconds} seconds"),
        120..=7_199 => format!("in {} minutes", seconds / 60),
        7_200..=172_799 => format!("in {} hours", seconds / 3_600),
        _ => format!("in {} days", seconds / 86_400),
    }
}

/// What all are, if all are the same.
fn common<T: PartialEq>(mut all: impl Iterator<Item = T>) -> Option<T> {
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;
    use windlass_api::{Channel, NoticeState};

    use super::*;

    fn notice(event: &str, seconds: i64) -> Notice {
        Notice {
            id: Uuid::from_u128(1),
            organization_id: Some(Uuid::from_u128(2)),
            channel: Channel::Slack,
            recipient: String::new(),
            destination: String::new(),
            position: 1,
            event: event.to_owned(),
            needs: "deploy:read".to_owned(),
            application_id: None,
            title: String::new(),
            message: String::new(),
            sealed_message: None,
            state: NoticeState::Waiting,
            reason: String::new(),
            carried_by: None,
            carries: 0,
            attempts: 0,
            first_tried_at: None,
            next_attempt_at: None,
            expires_at: None,
            created_at: Timestamp::from_micros(0).plus_seconds(seconds),
            ended_at: None,
        }
    }

    #[test]
    fn ten_at_once_or_two_that_waited_long() {
        let now = Timestamp::from_micros(0);
        let all = vec![notice("deployment.failed", 0); 12];
        let count = |waiting: &[Notice], now| chosen(waiting, now).len();
        assert_eq!((count(&all, now), count(&all[..9], now), count(&all[..9], now.plus_seconds(121))), (12, 0, 9));
        assert_eq!(count(&all[..1], now.plus_seconds(1_000)), 0);
        let mut tried = all.clone();
        tried[0].attempts = 1;
        assert_eq!(count(&tried, now), 0, "what was tried goes first, as it is");
        let mut carried = all.clone();
        carried[10].carries = 10;
        assert_eq!(count(&carried, now), 10);
    }

    #[test]
    fn what_needs_another_permission_stays_apart() {
        let other = |seconds| Notice { needs: "extension:host".to_owned(), ..notice("disk.low", seconds) };
        let all: Vec<_> = (0..10).flat_map(|seconds| [notice("deployment.failed", seconds), other(seconds)]).collect();
        let folded = chosen(&all, Timestamp::from_micros(0));
        assert!(folded.len() == 10 && folded.iter().all(|notice| notice.needs == "deploy:read"), "{folded:?}");
        assert!(chosen(&all[..18], Timestamp::from_micros(0)).is_empty(), "nine of each");
        assert_eq!(chosen(&all[1..], Timestamp::from_micros(0))[0].needs, "extension:host");
    }

    #[test]
    fn titles_count() {
        let failed = [notice("deployment.failed", 0), notice("deployment.failed", 120)];
        assert_eq!(title(&[&failed[0], &failed[1]]), "2 deployments failed in 2 minutes");
        assert_eq!(title(&[&failed[0], &notice("disk.low", 30)]), "2 events in 30 seconds");
        assert_eq!(
            (duration(1), duration(7_300), duration(200_000)),
            ("at once".into(), "in 2 hours".into(), "in 2 days".into())
        );
    }
}
