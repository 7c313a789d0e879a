//! What applications and their deployments print: append-only, numbered without holes for each application.
//!
//! A database of its own where SQLite is used, so that bursts never delay other queries, and connections of its own
//! where PostgreSQL is. Lines are kept in packed chunks of one deployment's consecutive lines. A transaction that
//! appends holds the row of the application's head until the commit, so numbers become visible in their order and a
//! cursor never skips a late commit.

pub mod colors;
mod pack;
mod positions;
mod read;
mod retention;
mod write;

use std::path::Path;

use uuid::Uuid;
use windlass_api::{LogStep, LogStream, Timestamp};

use crate::{Db, Options, Result, migrations};

pub use positions::Claim;
pub use read::{Bounds, Filter, Of, Page, Query, Stored};
pub use retention::Kept;
pub use write::{Batch, Outcome, ReadProgress};

/// One connection each for lines, positions and retention.
const WRITERS: u32 = 3;

/// One line, as it was printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    pub at: Timestamp,
    pub stream: LogStream,
    pub step: LogStep,
    /// The service of a compose file whose container has printed it, or empty.
    pub service: String,
    pub text: String,
}

impl LogLine {
    /// About the work, and not from a program.
    pub const fn note(at: Timestamp, step: LogStep, text: String) -> Self {
        Self { at, stream: LogStream::Windlass, step, service: String::new(), text }
    }
}

/// The log store. Cheap to clone; all clones share the connections.
#[derive(Clone)]
pub struct LogStore {
    db: Db,
    /// Separate, so that readers never keep writers waiting. On SQLite, which separates them itself, the same.
    writer: Db,
}

impl LogStore {
    pub async fn sqlite(file: &Path, options: Options) -> Result<Self> {
        let db = Db::shrinking_sqlite(file, options).await?;
        Ok(Self { writer: db.clone(), db })
    }

    /// In the same database as everything else, with connections of its own.
    pub async fn postgres(url: &str, options: Options) -> Result<Self> {
        let writing = Options { connections: WRITERS, ..options };
        Ok(Self { db: Db::postgres(url, options).await?, writer: Db::postgres(url, writing).await? })
    }

    pub async fn migrate(&self) -> Result<()> {
        let (sqlite, postgres) = (migrations::logs_sqlite(), migrations::logs_postgres());
        self.db.migrate_with(&sqlite, &postgres, migrations::LATEST_OF_LOGS).await
    }

    /// Whether other servers may write to it too.
    pub fn is_shared(&self) -> bool {
        self.db.kind() == crate::Kind::Postgres
    }

    pub async fn close(&self) {
        self.writer.close().await;
        self.db.close().await;
    }
}

/// The id of a line: the same whenever it is asked for, and in the order of time as other ids are. It is made of the
/// line's time, its number, and a part of its application's id.
pub fn line_id(application_id: Uuid, seq: i64, at: Timestamp) -> Uuid {
    const NUMBER_BITS: u32 = 40;
    let millis = at.micros().div_euclid(1_000).max(0) as u64;
    let application = (application_id.as_u128() & 0x3FF_FFFF_FFFF) as u64;
    let number = (seq as u64) & ((1 << NUMBER_BITS) - 1);
    // 12 bits after the version, 62 after the variant.
    let first = (millis << 16) | 0x7000 | (application >> 22 & 0xFFF);
    let second = (0b10 << 62) | ((application & 0x3F_FFFF) << NUMBER_BITS) | number;
    Uuid::from_u64_pair(first, second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_lines_are_ids_like_others() {
        let at = Timestamp::from_micros(1_767_225_600_000_001);
        let application = Uuid::from_u128(0x0193_0000_0000_7000_8000_1234_5678_9abc);
        let id = line_id(application, 1, at);
        assert_eq!((id.get_version_num(), id.get_variant()), (7, uuid::Variant::RFC4122));
        assert_eq!(id, line_id(application, 1, at));
        assert!(id < line_id(application, 2, at));
        assert_ne!(id, line_id(Uuid::from_u128(2), 1, at));
    }
}
