//! Databases for tests: real ones, each test its own.

#![allow(clippy::expect_used, clippy::panic, reason = "only tests use this; a failure here is a failed test")]

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tempfile::TempDir;
pub use windlass_store::Kind;
use windlass_store::{Db, Options};

/// Where the PostgreSQL server for tests is; `make test` starts one and sets this.
pub const URL_VARIABLE: &str = "TEST_DATABASE_URL";

/// Runs one async test function on both databases: `on_both_databases!(fresh: a_test, another_test);` calls
/// `a_test(fresh(kind).await)` for each kind, as tests of their own.
#[macro_export]
macro_rules! on_both_databases {
    ($fresh:ident: $($test:ident),* $(,)?) => {
        $(mod $test {
            #[tokio::test]
            async fn sqlite() {
                super::$test(super::$fresh($crate::Kind::Sqlite).await).await;
            }

            #[tokio::test]
            async fn postgres() {
                super::$test(super::$fresh($crate::Kind::Postgres).await).await;
            }
        })*
    };
}

/// An empty place for a database. The folder goes with the value.
pub struct Place {
    pub folder: TempDir,
    /// None for SQLite in the folder.
    pub url: Option<String>,
}

impl Place {
    pub async fn fresh(kind: Kind) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let url = match kind {
            Kind::Sqlite => None,
            Kind::Postgres => Some(fresh_schema().await),
        };
        Self { folder, url }
    }

    /// Opened, but not migrated.
    pub async fn open(&self) -> Db {
        let options = Options { connections: 4, wait: Duration::from_secs(10) };
        match &self.url {
            None => Db::sqlite(&self.folder.path().join("windlass.db"), options).await,
            Some(url) => Db::postgres(url, options).await,
        }
        .expect("the database opens")
    }
}

/// A schema of the test's own on the shared server: as separate as a database, and much quicker to make.
async fn fresh_schema() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let schema = format!("test_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let server = create_schema(&schema).await;
    format!("{server}?options[search_path]={schema}")
}

/// Makes a schema on the PostgreSQL server for tests, whose address it returns.
pub async fn create_schema(schema: &str) -> String {
    let Ok(server) = std::env::var(URL_VARIABLE) else {
        panic!("{URL_VARIABLE} is not set: run `make test`, or `scripts/with-postgres cargo test`");
    };
    let mut connection = PgConnection::connect(&server).await.expect("the PostgreSQL server for tests answers");
    let create = format!("create schema {schema}");
    sqlx::raw_sql(AssertSqlSafe(create)).execute(&mut connection).await.expect("a schema");
    connection.close().await.expect("the connection closes");
    server
}
