//! What can go wrong with a row.

use thiserror::Error;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, Error)]
pub enum Error {
    /// A unique value is taken. The databases do not agree on how they name it, so the caller decides what it was.
    #[error("a row with this value exists")]
    Duplicate,
    /// The job belongs to another worker by now, or is done.
    #[error("the job is another worker's by now")]
    Lost,
    /// The database cannot answer now; the same call may work later.
    #[error("the database is not available: {0}")]
    Unavailable(#[source] sqlx::Error),
    /// Written by a version that this one does not know.
    #[error("the database belongs to a newer or different version of Windlass: {0}")]
    Foreign(#[source] sqlx::migrate::MigrateError),
    #[error("the database could not be brought up to date: {0}")]
    Migration(#[source] sqlx::migrate::MigrateError),
    #[error("database: {0}")]
    Unexpected(#[source] sqlx::Error),
}

impl Error {
    /// For a caller that has looked at the disk.
    pub fn no_room(problem: String) -> Self {
        Self::Unavailable(sqlx::Error::Io(std::io::Error::new(std::io::ErrorKind::StorageFull, problem)))
    }

    /// Whether the database found no room on its disk.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Unavailable(sqlx::Error::Io(error)) => error.kind() == std::io::ErrorKind::StorageFull,
            Self::Unavailable(sqlx::Error::Database(error)) => error.code().is_some_and(|code| is_full_code(&code)),
            _ => false,
        }
    }

    /// For a caller that has waited long enough.
    pub fn no_answer() -> Self {
        Self::Unavailable(sqlx::Error::PoolTimedOut)
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        if is_duplicate(&error) {
            Self::Duplicate
        } else if is_passing(&error) {
            Self::Unavailable(error)
        } else {
            Self::Unexpected(error)
        }
    }
}

impl From<sqlx::migrate::MigrateError> for Error {
    fn from(error: sqlx::migrate::MigrateError) -> Self {
        use sqlx::migrate::MigrateError::{Dirty, VersionMismatch, VersionMissing};
        match error {
            VersionMissing(_) | VersionMismatch(_) | Dirty(_) => Self::Foreign(error),
            _ => Self::Migration(error),
        }
    }
}

fn is_duplicate(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(sqlx::error::DatabaseError::is_unique_violation)
}

fn is_passing(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed
        // A server that ends while a connection is made, and what stands in front of one, say nothing that makes sense.
        | sqlx::Error::Protocol(_) | sqlx::Error::Tls(_) => true,
        sqlx::Error::Database(error) => error.code().is_some_and(|code| is_passing_code(&code)),
        _ => false,
    }
}

/// PostgreSQL's codes have five characters: connection trouble, a contended transaction or row, lack of resources, an
/// operator's intervention, a disk that fails, a server that only answers reads for now. SQLite's have at most four
/// digits, the cause in the lowest byte: busy, locked, no memory, read-only, I/O error, full, cannot be opened.
fn is_passing_code(code: &str) -> bool {
    if code.len() == 5 {
        return ["08", "25006", "40", "53", "55P03", "57", "58"].iter().any(|class| code.starts_with(class));
    }
    code.parse::<u32>().is_ok_and(|code| matches!(code & 0xFF, 5 | 6 | 7 | 8 | 10 | 13 | 14))
}

/// PostgreSQL's disk_full; SQLite's full, and the failure to lengthen the file that its connections share.
fn is_full_code(code: &str) -> bool {
    matches!(code, "53100" | "13" | "4874")
}

#[cfg(test)]
mod tests {
    use super::{Error, is_full_code, is_passing_code};

    #[test]
    fn a_server_that_ends_while_a_connection_is_made_may_answer_later() {
        let error = sqlx::Error::Protocol("unexpected response from SSLRequest: 0x00".into());
        assert!(matches!(Error::from(error), Error::Unavailable(_)));
    }

    #[test]
    fn codes_of_both_databases() {
        for code in
            ["5", "6", "13", "261", "517", "08006", "40001", "53300", "55P03", "57P01", "25006", "58030", "7", "14"]
        {
            assert!(is_passing_code(code), "{code}");
        }
        for code in ["13", "4874", "53100"] {
            assert!(is_full_code(code) && is_passing_code(code), "{code}");
        }
        for code in ["1", "19", "2067", "23505", "42601", "22P02"] {
            assert!(!is_passing_code(code), "{code}");
        }
    }
}
