//! Many notices that wait for one destination become one.

use windlass_api::{EventName, Timestamp};
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

/// How many of those that wait, from the first on, are to become one; 0 for none. One that was tried stays as it is, because its
/// receiver may have it; and one that carries others is carried by none.
pub fn count(waiting: &[Notice], now: Timestamp) -> usize {
    let is_foldable =
        |notice: &&Notice| notice.attempts == 0 && notice.carries == 0 && notice.organization_id.is_some();
    let count = waiting.iter().take_while(is_foldable).count();
    let was_away = waiting.first().is_some_and(|oldest| oldest.created_at.plus_seconds(AWAY_SECONDS) < now);
    if count >= MANY || (was_away && count >= 2) { count } else { 0 }
}

/// Writes the notice that carries these, which are over.
pub async fn fold(held: &Held, destination: &Destination, folded: &[Notice]) -> Result<()> {
    let read = |notice: &Notice| serde_json::from_str::<Message>(&notice.message);
    let all = folded.iter().map(read).collect::<std::result::Result<Vec<_>, _>>().map_err(Error::internal)?;
    let carrier = Notice {
        application_id: common(folded.iter().map(|notice| notice.application_id)).flatten(),
        carries: i64::try_from(folded.len()).unwrap_or(i64::MAX),
        ..waiting(&held.app, destination, &several(&title(folded), &all))?
    };
    let ids: Vec<_> = folded.iter().map(|notice| notice.id).collect();
    let mut work = held.begin().await?;
    notices::insert_all(&mut work, std::slice::from_ref(&carrier)).await?;
    notices::fold(&mut work, &ids, carrier.id, held.app.now()).await?;
    work.commit().await?;
    Ok(())
}

/// "7 deployments failed in 2 minutes".
fn title(folded: &[Notice]) -> String {
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
            event: event.to_owned(),
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
    fn titles_count() {
        let failed = [notice("deployment.failed", 0), notice("deployment.failed", 120)];
        assert_eq!(title(&failed), "2 deployments failed in 2 minutes");
        assert_eq!(title(&[failed[0].clone(), notice("disk.low", 30)]), "2 events in 30 seconds");
        assert_eq!(
            (duration(1), duration(7_300), duration(200_000)),
            ("at once".into(), "in 2 hours".into(), "in 2 days".into())
        );
    }
}
