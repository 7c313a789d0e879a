//! Asks registries if the tags of images lead to other ones, for the applications that want to follow them: four questions at a time,
//! one of each organization, and organizations take turns.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use uuid::Uuid;
use windlass_api::{Configuration, Failure, Wanted};
use windlass_store::image_checks::{self, ImageCheck};
use windlass_store::{applications, releases};

use crate::app::App;
use crate::deploy::{Interruption, Result};
use crate::engine_health::EngineState;
use crate::error::Error;
use crate::host::Host;
use crate::registries;
use crate::service;

/// So late a check begins at most, if no others are under way.
const INTERVAL: Duration = Duration::from_secs(1);
/// A registry that is slower is asked again the next time.
const LONGEST: Duration = Duration::from_secs(30);
/// One that fails again and again is asked at least so often, in seconds, unless all are asked less often.
const A_DAY: i64 = 86_400;

/// Runs until it is dropped.
pub async fn run(host: Arc<Host>) {
    let busy = Mutex::new(Vec::new());
    let one = || Box::pin(keep_looking(&host, &busy));
    tokio::join!(one(), one(), one(), one());
}

/// One of those that ask at the same time. `busy` has the organizations whose registries are being asked.
async fn keep_looking(host: &Host, busy: &Mutex<Vec<Uuid>>) {
    loop {
        // Another installation may hold what would be deployed.
        while host.app.engine_health.seen() == EngineState::Well {
            match look_at_next(host, busy).await {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    tracing::warn!(?error, "the next image could not be looked for; trying again");
                    break;
                }
            }
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// False when the time of none has come.
async fn look_at_next(host: &Host, busy: &Mutex<Vec<Uuid>>) -> Result<bool> {
    let app = &host.app;
    // Held until the organization is in it: no other server takes another check of the same one.
    let mut others = busy.lock().await;
    let due = image_checks::next_due(&mut app.db.read().await?, app.now(), &others).await?;
    let Some(check) = due else { return Ok(false) };
    if !take(app, &check).await? {
        return Ok(true);
    }
    others.push(check.organization_id);
    drop(others);
    let looked = look(host, &check).await;
    busy.lock().await.retain(|organization_id| *organization_id != check.organization_id);
    if let Err(problem) = looked {
        // Users see the same in the plan.
        tracing::debug!(?problem, application = %check.application_id, "a registry could not be asked for an image");
        if matches!(problem, Interruption::Failed(..)) {
            put_off(app, &check).await?;
        }
    }
    Ok(true)
}

/// Whatever comes of it, the next time is an interval away. False when another server has taken it.
async fn take(app: &App, check: &ImageCheck) -> Result<bool> {
    let (mut work, now) = (app.begin_step().await?, app.now());
    let taken = image_checks::take(&mut work, check, now, now.plus_seconds(app.config.image_check_seconds)).await?;
    work.commit().await?;
    Ok(taken)
}

/// A registry that gave no answer is asked again when twice as long has passed as before this time.
async fn put_off(app: &App, check: &ImageCheck) -> Result<()> {
    let (mut work, now) = (app.begin_step().await?, app.now());
    let seconds = seconds_after_failure(check, app.config.image_check_seconds);
    image_checks::put_off(&mut work, check.application_id, now.plus_seconds(seconds)).await?;
    work.commit().await?;
    Ok(())
}

fn seconds_after_failure(check: &ImageCheck, usual: i64) -> i64 {
    // The first time, nothing was before.
    let before = match check.checked_at.micros() {
        0 => usual,
        checked => check.next_at.micros().saturating_sub(checked) / 1_000_000,
    };
    before.saturating_mul(2).clamp(usual, usual.max(A_DAY))
}

async fn look(host: &Host, check: &ImageCheck) -> Result<()> {
    let app = &host.app;
    let mut conn = app.db.read().await?;
    let application = applications::get(&mut conn, check.application_id).await?;
    let live = releases::current_of(&mut conn, &[check.application_id]).await?.pop();
    drop(conn);
    let (Some(application), Some(live)) = (application, live) else { return Ok(()) };
    if application.wanted != Wanted::Running {
        return Ok(());
    }
    let configuration = Configuration::from_json(&application.configuration).map_err(Error::internal)?;
    let image = registries::image_of(&configuration)?;
    if image.digest().is_some() {
        return Ok(());
    }
    let asking = registries::newest_digest(app, application.organization_id, &image, LONGEST);
    let Ok(digest) = tokio::time::timeout(LONGEST, asking).await else {
        return Err(Interruption::Failed(Failure::TimedOut, "the registry did not answer in time".to_owned()));
    };
    let digest = digest?;
    if digest != live.commit_hash && digest != check.digest {
        service::image_checks::deploy(app, application.id, application.organization_id, &digest).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use windlass_api::Timestamp;

    use super::*;

    #[test]
    fn a_registry_that_fails_is_asked_less_and_less() {
        let check = |checked: i64, next: i64| ImageCheck {
            application_id: Uuid::nil(),
            organization_id: Uuid::nil(),
            next_at: Timestamp::from_micros(next * 1_000_000),
            checked_at: Timestamp::from_micros(checked * 1_000_000),
            digest: String::new(),
        };
        let usual = 3_600;
        for (checked, next, expected) in [
            (0, 5_000_000, 7_200),
            (10_000, 13_600, 7_200),
            (10_000, 17_200, 14_400),
            (10_000, 10_000 + 50_000, 86_400),
            (10_000, 10_000 + 86_400, 86_400),
            (10_000, 9_000, 3_600),
        ] {
            assert_eq!(seconds_after_failure(&check(checked, next), usual), expected, "{checked} {next}");
        }
        assert_eq!(seconds_after_failure(&check(10_000, 10_000 + 604_800), 604_800), 604_800, "never more often");
    }
}
