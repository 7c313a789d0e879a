//! The one way to change state: a transaction together with what is written down about it, what is told of it, and
//! which tasks of this server are woken by it.

use std::ops::{Deref, DerefMut};

use serde_json::{Map, Value};
use uuid::Uuid;
use windlass_api::EventName;
use windlass_store::audit::Entry;
use windlass_store::events::{self, NewEvent};
use windlass_store::jobs::{self, NewJob};
use windlass_store::{Result, Tx};

use crate::app::App;
use crate::auth::{Authority, Caller};
use crate::error;
use crate::service::audit::{Author, Change, chain, entry};

/// A transaction that changes something. [`Work::commit`] does all that belongs to it.
///
/// Audit entries are linked into their chains after everything else that was changed, so that others wait for the end
/// of a chain no longer than it takes to write them, and in the order of the chains, so that no two transactions wait
/// for each other. The events are last of all: their head row is one for all transactions, which wait for it in one line.
pub struct Work<'a> {
    tx: Tx,
    pub app: &'a App,
    entries: Vec<Entry>,
    events: Vec<NewEvent>,
    woken: Woken,
    kind: WorkKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WorkKind {
    /// Asked for by an actor: it must say so in the audit log.
    Asked,
    /// A step of something that was asked for, or something that was observed.
    Step,
}

/// The tasks of this server that have something to do after the commit.
#[derive(Clone, Copy, Default)]
struct Woken {
    worker: bool,
    reconciler: bool,
    log_readers: bool,
}

/// What an event is about.
#[derive(Clone, Copy, Debug)]
pub struct EventSubject {
    pub organization_id: Uuid,
    pub application_id: Option<Uuid>,
    pub deployment_id: Option<Uuid>,
}

impl EventSubject {
    /// What is about the organization itself, or about what the details name.
    pub const fn of_organization(organization_id: Uuid) -> Self {
        Self { organization_id, application_id: None, deployment_id: None }
    }
}

impl App {
    /// Begins a change that an actor has asked for.
    pub async fn begin(&self) -> Result<Work<'_>> {
        self.begin_work(WorkKind::Asked).await
    }

    /// Begins a change of the caller's own account.
    pub async fn begin_own(&self, caller: &Caller) -> error::Result<Work<'_>> {
        let mut work = self.begin().await?;
        caller.hold(self, &mut work.tx).await?;
        Ok(work)
    }

    /// Begins a step of something that was asked for, whose beginning and end are in the audit log, or writes down what
    /// was observed.
    pub async fn begin_step(&self) -> Result<Work<'_>> {
        self.begin_work(WorkKind::Step).await
    }

    async fn begin_work(&self, kind: WorkKind) -> Result<Work<'_>> {
        let (tx, woken) = (self.db.begin().await?, Woken::default());
        Ok(Work { tx, app: self, entries: Vec::new(), events: Vec::new(), woken, kind })
    }
}

impl Work<'_> {
    /// What will be in the audit log.
    pub fn record(&mut self, author: impl Into<Author>, change: &Change<'_>) {
        self.entries.push(entry(self.app.new_id(), self.app.now(), &author.into(), change));
    }

    /// Holds the organization still until the end, and checks what the caller was allowed once more: the answer is
    /// their authority as it is now. Each change that was obtained through a request begins with this.
    pub async fn hold(&mut self, authority: &Authority) -> error::Result<Authority> {
        authority.hold(self.app, &mut self.tx).await
    }

    /// What consumers of events will hear.
    pub fn tell(&mut self, name: EventName, about: EventSubject, details: &[(&str, &str)]) {
        let known = details.iter().filter(|(_, value)| !value.is_empty());
        let details: Map<_, _> = known.map(|(name, value)| ((*name).to_owned(), Value::from(*value))).collect();
        self.events.push(NewEvent {
            name,
            organization_id: about.organization_id,
            application_id: about.application_id,
            deployment_id: about.deployment_id,
            details: Value::Object(details).to_string(),
            created_at: self.app.now(),
        });
    }

    /// Leaves something for the worker to do.
    pub async fn enqueue(&mut self, job: &NewJob) -> Result<()> {
        self.woken.worker = true;
        jobs::insert(&mut self.tx, job, self.app.now()).await
    }

    /// A job need not wait any longer.
    pub fn wake_worker(&mut self) {
        self.woken.worker = true;
    }

    /// Engine or edge may no longer agree with the rows.
    pub fn wake_reconciler(&mut self) {
        self.woken.reconciler = true;
    }

    /// Something may have become secret.
    pub fn wake_log_readers(&mut self) {
        self.woken.log_readers = true;
    }

    pub async fn commit(mut self) -> Result<()> {
        debug_assert!(
            self.kind == WorkKind::Step || !self.entries.is_empty(),
            "a change that was asked for, without an audit entry"
        );
        if !self.entries.is_empty() {
            chain::append(&mut self.tx, &self.app.audit_key, self.entries).await?;
        }
        let has_events = !self.events.is_empty();
        if has_events {
            events::append(&mut self.tx, &self.events).await?;
        }
        self.tx.commit().await?;
        self.woken.wake(self.app);
        if has_events {
            self.app.events_written.send_replace(());
        }
        Ok(())
    }
}

impl Woken {
    fn wake(self, app: &App) {
        if self.worker {
            app.jobs_waiting.notify_one();
        }
        if self.reconciler {
            app.rows_changed.notify_one();
            app.domains_changed.notify_one();
        }
        if self.log_readers {
            app.secrets_changed.send_replace(());
        }
    }
}

impl Deref for Work<'_> {
    type Target = Tx;

    fn deref(&self) -> &Tx {
        &self.tx
    }
}

impl DerefMut for Work<'_> {
    fn deref_mut(&mut self) -> &mut Tx {
        &mut self.tx
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    /// Every other transaction of the server, by file, and why it is none of [`super::Work`]. Nothing of them is a change of what
    /// people see.
    const OTHERS: [(&str, &str); 15] = [
        ("auth/bearer.rs", "when a credential was last used: reading must not wait for an audit chain"),
        ("figures/keep.rs", "what was measured of applications, several times a minute"),
        ("holder.rs", "which engine the servers of a database use"),
        ("jobs/heartbeat.rs", "which servers live"),
        ("jobs/held.rs", "looks whether a job is still held, and changes nothing"),
        ("jobs/lease.rs", "how long a job is held"),
        ("jobs/mod.rs", "who works on a job; what the job does is a Work"),
        ("pulled_images.rs", "which images were brought to the engine, so that they go again"),
        ("service/adoption.rs", "the installation's own mark, made before anything else"),
        ("service/first_start.rs", "the keys of the audit chains, made before there is a chain"),
        ("service/housekeeping.rs", "what has expired is of no more use, and is removed by the hour"),
        ("service/master_key.rs", "the same secrets under another key, row by row; the rotation itself is a Work"),
        ("service/work.rs", "here it begins"),
        ("traffic.rs", "what the edge has counted, several times a minute"),
        ("write_probe.rs", "changes nothing, to see whether a change can be made"),
    ];

    #[test]
    fn every_other_transaction_has_a_reason() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut found = BTreeSet::new();
        let mut folders = vec![source.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if std::fs::read_to_string(&path).unwrap().contains(concat!("db", ".begin()")) {
                    found.insert(path.strip_prefix(&source).unwrap().to_str().unwrap().to_owned());
                }
            }
        }
        assert_eq!(found, OTHERS.iter().map(|(file, _)| (*file).to_owned()).collect());
    }
}
