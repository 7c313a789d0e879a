//! The task that stores lines: all that came in since the last time, in one transaction.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;
use windlass_store::Error;
use windlass_store::logs::{Batch, LogStore, Outcome, Stored};

use super::WriterHealth;
use super::room::Room;
use super::tails::Tails;

/// Between two transactions: a disk can do only so many a second, and lines that come one by one wait for each other.
const PACE: Duration = Duration::from_millis(25);
/// Text of one transaction, about.
const MOST_BYTES: usize = 4 * 1024 * 1024;
/// Batches that wait here because they cannot be stored. With more of them, nothing else is taken.
const MOST_WAITING: usize = 32;
/// How long one transaction may take before something must be wrong.
const LIMIT: Duration = Duration::from_secs(15);
/// Between two tries when something cannot be stored.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// How often lines that cannot be stored for a reason that does not pass are tried.
const MOST_TRIES: u32 = 5;

pub struct Waiting {
    pub batch: Batch,
    pub done: oneshot::Sender<Outcome>,
}

pub struct StoreWriter {
    store: LogStore,
    room: Room,
    tails: Arc<Tails>,
    health: Arc<WriterHealth>,
}

/// What could not be stored, and how often that has failed.
struct Late {
    waiting: Waiting,
    tries: u32,
}

impl StoreWriter {
    pub fn new(store: LogStore, room: Room, tails: Arc<Tails>, health: Arc<WriterHealth>) -> Self {
        Self { store, room, tails, health }
    }

    /// Until no handle to it is left.
    pub async fn run(self, mut queue: mpsc::Receiver<Waiting>) {
        let (mut late, mut pause) = (Vec::new(), FIRST_PAUSE);
        loop {
            if late.is_empty() {
                let Some(first) = queue.recv().await else { return };
                late.push(Late { waiting: first, tries: 0 });
            }
            take_more(&mut late, &mut queue);
            late = self.store(late).await;
            if late.is_empty() {
                pause = FIRST_PAUSE;
                tokio::time::sleep(PACE).await;
            } else {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }

    /// All at once; when that fails each by itself, because what is wrong with one must not keep the others from being
    /// stored. What is left, to be tried again.
    async fn store(&self, late: Vec<Late>) -> Vec<Late> {
        let (mut left, problem) = match self.append(late).await {
            (left, Some(_)) if left.len() > 1 => self.store_one_by_one(left).await,
            other => other,
        };
        left.retain(|one| match one.tries < MOST_TRIES {
            true => true,
            // The caller learns that it was not stored.
            false => {
                tracing::error!(application_id = %one.waiting.batch.application_id, "log lines cannot be stored at all");
                self.health.count_lost();
                false
            }
        });
        let problem = problem.filter(|_| !left.is_empty()).map(|error| error.to_string());
        if self.health.set(problem.clone()) {
            match problem {
                Some(problem) => tracing::error!(
                    problem,
                    "log lines cannot be stored; what was not read yet stays with the engine meanwhile"
                ),
                None => tracing::info!("log lines are stored again"),
            }
        }
        left
    }

    async fn store_one_by_one(&self, late: Vec<Late>) -> (Vec<Late>, Option<Error>) {
        let (mut left, mut problem) = (Vec::new(), None);
        for one in late {
            let (not_stored, error) = self.append(vec![one]).await;
            left.extend(not_stored);
            problem = error.or(problem);
        }
        (left, problem)
    }

    /// In one transaction: all or none.
    async fn append(&self, mut late: Vec<Late>) -> (Vec<Late>, Option<Error>) {
        let batches: Vec<Batch> = late.iter_mut().map(|one| std::mem::take(&mut one.waiting.batch)).collect();
        match self.append_in_time(&batches).await {
            Ok(outcomes) => {
                self.tell(batches, late.into_iter().map(|one| one.waiting.done).collect(), &outcomes);
                (Vec::new(), None)
            }
            Err(error) => {
                let is_lasting = !matches!(error, Error::Unavailable(_));
                let is_alone = late.len() == 1;
                for (one, batch) in late.iter_mut().zip(batches) {
                    one.waiting.batch = batch;
                    one.tries += u32::from(is_lasting && is_alone);
                }
                (late, Some(error))
            }
        }
    }

    async fn append_in_time(&self, batches: &[Batch]) -> windlass_store::Result<Vec<Outcome>> {
        if let Some(problem) = self.room.problem().await {
            return Err(Error::no_room(problem));
        }
        let appended = tokio::time::timeout(LIMIT, self.store.append(batches)).await;
        appended.unwrap_or_else(|_| Err(Error::no_answer()))
    }

    fn tell(&self, batches: Vec<Batch>, done: Vec<oneshot::Sender<Outcome>>, outcomes: &[Outcome]) {
        let mut news: BTreeMap<Uuid, Vec<Stored>> = BTreeMap::new();
        for ((batch, done), outcome) in batches.into_iter().zip(done).zip(outcomes) {
            let _ = done.send(*outcome);
            if let Outcome::Stored { first_seq } = *outcome
                && self.tails.has_followers(batch.application_id)
            {
                let deployment_id = batch.deployment_id;
                let stored = |(seq, line)| Stored { seq, deployment_id, line };
                news.entry(batch.application_id).or_default().extend((first_seq..).zip(batch.lines).map(stored));
            }
        }
        for (application_id, lines) in news {
            self.tails.publish(application_id, lines);
        }
    }
}

fn take_more(late: &mut Vec<Late>, queue: &mut mpsc::Receiver<Waiting>) {
    let size = |one: &Late| one.waiting.batch.lines.iter().map(|line| line.text.len()).sum::<usize>();
    let mut bytes: usize = late.iter().map(size).sum();
    while bytes < MOST_BYTES
        && late.len() < MOST_WAITING
        && let Ok(waiting) = queue.try_recv()
    {
        let next = Late { waiting, tries: 0 };
        bytes += size(&next);
        late.push(next);
    }
}
