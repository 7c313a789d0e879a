//! What was told to be wrong, so that each change is told once, whichever server sees it and whenever it is started again.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::{Timestamp, Wanted, words};

use crate::db::sql;
use crate::word::{Word, words_of_columns};
use crate::{Conn, Result, Tx};

words! {
    /// What is wrong.
    #[derive(PartialOrd, Ord)]
    pub enum AlarmKind {
        /// Little room on the disk of a server's data folder.
        DataDisk = "data_disk",
        /// The same of the engine's.
        EngineDisk = "engine_disk",
        /// The engine does not answer a server.
        Engine = "engine",
        /// A server cannot store log lines.
        Logs = "logs",
        /// Visitors of an application get errors.
        Application = "application",
        /// There is no certificate, or none for long, by the id of its order.
        Certificate = "certificate",
        /// A certificate that a member has uploaded is near its end, by its id.
        UploadedCertificate = "uploaded_certificate",
    }
}

words_of_columns! { AlarmKind }

/// Turns an alarm on or off. False when it was that already, and when it has changed within these seconds. A change that is further ahead
/// than that is of a clock that was wrong, and counts for nothing: it must not keep the alarm as it is until its time has come.
pub async fn turn(
    tx: &mut Tx,
    kind: AlarmKind,
    subject_id: Uuid,
    is_on: bool,
    now: Timestamp,
    least_seconds: i64,
) -> Result<bool> {
    let query = match is_on {
        true => {
            "insert into alarms (kind, subject_id, is_on, changed_at) values ($1, $2, $3, $4) \
             on conflict (kind, subject_id) do update set is_on = $3, changed_at = $4 \
             where alarms.is_on <> $3 and (alarms.changed_at <= $5 or alarms.changed_at > $6)"
        }
        false => {
            "update alarms set is_on = $3, changed_at = $4 \
             where kind = $1 and subject_id = $2 and is_on <> $3 and (changed_at <= $5 or changed_at > $6)"
        }
    };
    let (not_after, not_before) = (now.plus_seconds(-least_seconds), now.plus_seconds(least_seconds));
    let changed = sql!(tx, |c| {
        let query = sqlx::query(query).bind(kind.as_str()).bind(subject_id).bind(is_on);
        let query = query.bind(now.micros()).bind(not_after.micros()).bind(not_before.micros());
        query.execute(c).await.map(|done| done.rows_affected())
    })?;
    Ok(changed == 1)
}

/// Nothing more is known of it, and nothing is told.
pub async fn forget(tx: &mut Tx, kind: AlarmKind, subject_id: Uuid) -> Result<()> {
    let query = "delete from alarms where kind = $1 and subject_id = $2";
    sql!(tx, |c| sqlx::query(query).bind(kind.as_str()).bind(subject_id).execute(c).await.map(drop))?;
    Ok(())
}

/// The kinds that are on for a subject.
pub async fn of_subject(conn: &mut Conn, subject_id: Uuid) -> Result<Vec<AlarmKind>> {
    let query = "select kind from alarms where subject_id = $1 and is_on order by kind";
    let kinds: Vec<Kind> = sql!(conn, |c| sqlx::query_as(query).bind(subject_id).fetch_all(c).await)?;
    Ok(kinds.into_iter().map(|row| row.kind).collect())
}

#[derive(FromRow)]
struct Kind {
    #[sqlx(try_from = "Word<AlarmKind>")]
    kind: AlarmKind,
}

/// An application of whose visitors some got errors lately, or were told to get them.
#[derive(Clone, Debug, FromRow)]
pub struct Suspect {
    pub id: Uuid,
    pub organization_id: Uuid,
    pub name: String,
    /// JSON of [`windlass_api::Configuration`].
    pub configuration: String,
    #[sqlx(try_from = "Word<Wanted>")]
    pub wanted: Wanted,
    pub has_release: bool,
    pub is_on: bool,
}

/// Those with errors from a minute on, and those with an alarm: some after the one with the id `after`.
pub async fn suspects(conn: &mut Conn, minute: i64, after: Uuid, limit: i64) -> Result<Vec<Suspect>> {
    let query = "select * from (select a.id, a.organization_id, a.name, a.configuration, a.wanted, \
                 a.live_deployment_id is not null as has_release, \
                 exists (select 1 from alarms l where l.kind = $1 and l.subject_id = a.id and l.is_on) as is_on, \
                 exists (select 1 from traffic t where t.application_id = a.id and t.minute >= $2 and t.errors > 0) as has_errors \
                 from applications a where a.id > $3) found where is_on or has_errors order by id limit $4";
    let kind = AlarmKind::Application.as_str();
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(kind).bind(minute).bind(after).bind(limit).fetch_all(c).await)?)
}

/// Those that are off since before a moment, and those of what is gone.
pub async fn forget_before(tx: &mut Tx, moment: Timestamp) -> Result<u64> {
    let query = "delete from alarms where (changed_at < $1 and not is_on) \
                 or (kind = $2 and not exists (select 1 from applications a where a.id = subject_id)) \
                 or (kind = $3 and not exists (select 1 from certificate_orders o where o.id = subject_id)) \
                 or (kind = $4 and not exists (select 1 from certificates c where c.id = subject_id))";
    let kinds = [AlarmKind::Application, AlarmKind::Certificate, AlarmKind::UploadedCertificate];
    Ok(sql!(tx, |c| {
        let query = sqlx::query(query).bind(moment.micros());
        let query = kinds.iter().fold(query, |query, kind| query.bind(kind.as_str()));
        query.execute(c).await.map(|done| done.rows_affected())
    })?)
}
