//! What goes wrong by itself and is worth a message, and what is well again: each change is told once, as an event.
//!
//! - `machine.rs` looks at disks, the engine and the log store, `visitors.rs` at what visitors of applications get.
//! - Orders of certificates say themselves how they are (`orders/alarm.rs`); `certificates.rs` looks at those that members have uploaded.

pub mod certificates;
pub mod machine;
pub mod visitors;

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;
use windlass_api::EventName;
use windlass_store::alarms::{self, AlarmKind};
use windlass_store::{Result, organizations};

use crate::engine_health::EngineState;
use crate::host::Host;
use crate::service::work::{EventSubject, Work};
use machine::Machine;

const INTERVAL: Duration = Duration::from_secs(5);
const LOOKS_PER_LOOK_AT_VISITORS: u64 = 2;
const LOOKS_PER_LOOK_AT_CERTIFICATES: u64 = 12;
/// It can be another engine after a while.
const LOOKS_PER_QUESTION: u64 = 120;
const ENGINE_LIMIT: Duration = Duration::from_secs(2);
/// What changes more often than this is told less often than it changes.
const LEAST_SECONDS: i64 = 60;
/// More organizations than this are not told of the machine.
const MOST_OPERATORS: i64 = 1_000;

/// Runs until it is dropped.
pub async fn run(host: Arc<Host>) {
    let (app, mut machine) = (&host.app, Machine::new(host.server_id()));
    for look in 0_u64.. {
        // What belongs to another installation is told by that one.
        if app.engine_health.held_by_another().is_none() {
            if look.is_multiple_of(LOOKS_PER_QUESTION) || app.engine_health.folder().is_none() {
                ask_for_folder(&host).await;
            }
            machine.look(app).await;
            if look.is_multiple_of(LOOKS_PER_LOOK_AT_VISITORS)
                && let Err(error) = visitors::look(app).await
            {
                tracing::warn!(%error, "could not look whether visitors get errors; trying again in some seconds");
            }
            if look.is_multiple_of(LOOKS_PER_LOOK_AT_CERTIFICATES)
                && let Err(error) = certificates::look(app).await
            {
                tracing::warn!(%error, "could not look which certificates end soon; trying again in a minute");
            }
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Where the engine keeps what it has, so that its disk is looked at too. One that does not answer is told by others.
async fn ask_for_folder(host: &Host) {
    if host.app.engine_health.seen() != EngineState::Well {
        return;
    }
    if let Ok(Ok(engine)) = tokio::time::timeout(ENGINE_LIMIT, host.engine()).await {
        host.app.engine_health.set_folder(engine.data_root);
    }
}

/// Who is told.
#[derive(Clone, Copy, Debug)]
pub enum Audience {
    One(EventSubject),
    /// The organizations that an admin of the installation trusts with the machine.
    Operators,
}

impl Audience {
    /// What is of no organization is the machine's.
    pub const fn of_organization(id: Option<Uuid>) -> Self {
        match id {
            Some(organization_id) => Self::One(EventSubject::of_organization(organization_id)),
            None => Self::Operators,
        }
    }
}

/// Tells that something is wrong now, or well again. False when that was told before, or something else a moment ago.
pub async fn turn(
    work: &mut Work<'_>,
    kind: AlarmKind,
    subject_id: Uuid,
    is_wrong: bool,
    audience: Audience,
    details: &[(&str, &str)],
) -> Result<bool> {
    let now = work.app.now();
    if !alarms::turn(work, kind, subject_id, is_wrong, now, least_seconds(kind)).await? {
        return Ok(false);
    }
    let name = event_name(kind, is_wrong);
    match audience {
        Audience::One(subject) => work.tell(name, subject, details),
        Audience::Operators => {
            for organization_id in organizations::with_host_access(work, MOST_OPERATORS).await? {
                work.tell(name, EventSubject::of_organization(organization_id), details);
            }
        }
    }
    Ok(true)
}

/// An order of a certificate paces itself, and would not say again that it has succeeded.
const fn least_seconds(kind: AlarmKind) -> i64 {
    match kind {
        AlarmKind::Certificate => 0,
        AlarmKind::DataDisk
        | AlarmKind::EngineDisk
        | AlarmKind::Engine
        | AlarmKind::Logs
        | AlarmKind::Application
        | AlarmKind::UploadedCertificate => LEAST_SECONDS,
    }
}

const fn event_name(kind: AlarmKind, is_wrong: bool) -> EventName {
    match (kind, is_wrong) {
        (AlarmKind::DataDisk | AlarmKind::EngineDisk, true) => EventName::DiskLow,
        (AlarmKind::DataDisk | AlarmKind::EngineDisk, false) => EventName::DiskRecovered,
        (AlarmKind::Engine, true) => EventName::EngineLost,
        (AlarmKind::Engine, false) => EventName::EngineRecovered,
        (AlarmKind::Logs, true) => EventName::LogsStopped,
        (AlarmKind::Logs, false) => EventName::LogsRecovered,
        (AlarmKind::Application, true) => EventName::ApplicationUnhealthy,
        (AlarmKind::Application, false) => EventName::ApplicationRecovered,
        (AlarmKind::Certificate | AlarmKind::UploadedCertificate, true) => EventName::CertificateFailed,
        (AlarmKind::Certificate | AlarmKind::UploadedCertificate, false) => EventName::CertificateRecovered,
    }
}
