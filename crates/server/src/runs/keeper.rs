//! Looks which schedules' times have come.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use uuid::Uuid;
use windlass_store::schedules;

use crate::app::App;
use crate::engine_health::EngineState;
use crate::service;

/// So late a run is queued at most, if nothing is in the way.
const INTERVAL: Duration = Duration::from_secs(1);
/// So many are asked for in one round. If there are more, the next round begins at once.
const AT_ONCE: usize = 100;
/// How long one that could not be queued is left out of the rounds.
const RETRY_AFTER: Duration = Duration::from_secs(10);
/// If it puts off more, it forgets all of them: its memory is bounded, and they are only tried again too early.
const MOST_PUT_OFF: usize = 1000;

/// Runs until it is dropped.
pub async fn run(app: Arc<App>) {
    let mut keeper = Keeper::default();
    loop {
        // Not before it is known that another installation does not hold what this one would run something beside.
        let has_more = match app.engine_health.seen() {
            EngineState::Well => keeper.queue_due(&app).await.unwrap_or_else(|error| {
                tracing::warn!(%error, "schedules whose time has come could not be looked for; trying again");
                false
            }),
            _ => false,
        };
        if !has_more {
            tokio::time::sleep(INTERVAL).await;
        }
    }
}

#[derive(Default)]
pub struct Keeper {
    /// Those that could not be queued, and until when they are left out, so that they take no place from others in a round.
    put_off: HashMap<Uuid, Instant>,
}

impl Keeper {
    /// One round. True when more may be waiting for the next.
    pub async fn queue_due(&mut self, app: &App) -> windlass_store::Result<bool> {
        let now = Instant::now();
        self.put_off.retain(|_, until| *until > now);
        if self.put_off.len() >= MOST_PUT_OFF {
            self.put_off.clear();
        }
        let limit = AT_ONCE + self.put_off.len();
        let most = i64::try_from(limit).unwrap_or(i64::MAX);
        let due = schedules::due(&mut app.db.read().await?, app.now(), most).await?;
        let (is_full, mut queued) = (due.len() == limit, 0);
        for schedule in due {
            if self.put_off.contains_key(&schedule.id) {
                continue;
            }
            match service::schedules::queue_due(app, &schedule).await {
                Ok(()) => queued += 1,
                // One that cannot be read must not keep the others from their time.
                Err(error) => {
                    tracing::warn!(%error, schedule = %schedule.id, "the run of a schedule could not be queued; trying again");
                    self.put_off.insert(schedule.id, Instant::now() + RETRY_AFTER);
                }
            }
        }
        // With none queued the database may be what is in the way.
        Ok(is_full && queued > 0)
    }
}
