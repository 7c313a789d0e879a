//! What tests need, all of it real: databases, each test its own; a code host; an application to deploy.

#![allow(clippy::expect_used, clippy::panic, reason = "only tests use this; a failure here is a failed test")]

pub mod base_images;
pub mod certificates;
pub mod deliveries;
pub mod faulty_proxy;
pub mod git;
pub mod gitea;
pub mod github;
pub mod name_server;
pub mod pebble;
pub mod receiver;
pub mod small_disk;
pub mod smtp;
pub mod testapp;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection, PgConnection, SqliteConnection};
use tempfile::TempDir;
pub use windlass_store::Kind;
use windlass_store::logs::LogStore;
use windlass_store::{Db, Options};

/// Where the PostgreSQL server for tests is; `make test` starts one and sets this.
pub const URL_VARIABLE: &str = "TEST_DATABASE_URL";
/// How long PostgreSQL may take over the last statements of a process that has ended.
const SETTLED_WITHIN: Duration = Duration::from_secs(60);

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

/// The same for what takes long and hardly depends on the database: with PostgreSQL in `make test-long` only.
#[macro_export]
macro_rules! on_sqlite_and_long_on_postgres {
    ($fresh:ident: $($test:ident),* $(,)?) => {
        $(mod $test {
            #[tokio::test]
            async fn sqlite() {
                super::$test(super::$fresh($crate::Kind::Sqlite).await).await;
            }

            #[tokio::test]
            #[ignore = "long: make test-long"]
            async fn postgres() {
                super::$test(super::$fresh($crate::Kind::Postgres).await).await;
            }
        })*
    };
}

/// Names a number that tests choose a part of a long list by: the days since 1970, so that all of the list is tried within
/// some days. A run is repeated with the number that it printed.
pub const SEED_VARIABLE: &str = "TEST_SEED";

#[expect(clippy::print_stderr, reason = "the harness keeps it, and shows it beside a failure")]
pub fn seed_of_the_day() -> u64 {
    let today = || std::time::UNIX_EPOCH.elapsed().expect("a time after 1970").as_secs() / 86_400;
    let given = std::env::var(SEED_VARIABLE).ok().map(|text| text.parse().expect("TEST_SEED is a number"));
    let seed = given.unwrap_or_else(today);
    eprintln!("To repeat this choice, set {SEED_VARIABLE}={seed}");
    seed
}

/// Where a test's own empty database is. The folder is removed with the value.
pub struct DatabaseLocation {
    pub folder: TempDir,
    /// None for SQLite in the folder.
    pub url: Option<String>,
}

impl DatabaseLocation {
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

    /// The log store beside it; not migrated either.
    pub async fn open_logs(&self) -> LogStore {
        let options = Options { connections: 4, wait: Duration::from_secs(10) };
        match &self.url {
            None => LogStore::sqlite(&self.folder.path().join("logs.db"), options).await,
            Some(url) => LogStore::postgres(url, options).await,
        }
        .expect("the log store opens")
    }
}

impl DatabaseLocation {
    /// What no part of the program would do: changes rows by hand. How many rows were changed.
    pub async fn execute(&self, sql: &str) -> u64 {
        let sql = AssertSqlSafe(sql.to_owned());
        match &self.url {
            None => {
                let mut connection = self.sqlite().await;
                let done = sqlx::raw_sql(sql).execute(&mut connection).await.expect("SQLite obeys");
                connection.close().await.expect("the connection closes");
                done.rows_affected()
            }
            Some(url) => {
                let mut connection = PgConnection::connect(url).await.expect("PostgreSQL answers");
                let done = sqlx::raw_sql(sql).execute(&mut connection).await.expect("PostgreSQL obeys");
                connection.close().await.expect("the connection closes");
                done.rows_affected()
            }
        }
    }

    /// Everything that the database holds, as bytes: SQLite's files as they are on the disk, PostgreSQL's rows as text,
    /// which shows binary columns in hexadecimal.
    pub async fn bytes(&self) -> Vec<u8> {
        self.parts().await.into_values().flatten().collect()
    }

    /// The same by the names of files and tables.
    pub async fn parts(&self) -> BTreeMap<String, Vec<u8>> {
        let Some(url) = &self.url else {
            let files = std::fs::read_dir(self.folder.path()).expect("the folder").filter_map(Result::ok);
            let named = files.map(|file| (file.file_name().to_string_lossy().into_owned(), file.path()));
            let named = named.filter(|(name, _)| name.starts_with("windlass.db"));
            return named.map(|(name, path)| (name, std::fs::read(path).expect("a file"))).collect();
        };
        let mut connection = PgConnection::connect(url).await.expect("PostgreSQL answers");
        let tables = "select table_name::text from information_schema.tables where table_schema = current_schema()";
        let tables: Vec<String> = sqlx::query_scalar(tables).fetch_all(&mut connection).await.expect("the tables");
        let mut all = BTreeMap::new();
        for table in tables {
            let rows = AssertSqlSafe(format!("select t::text from {table} t"));
            let rows: Vec<String> = sqlx::query_scalar(rows).fetch_all(&mut connection).await.expect("the rows");
            all.insert(table, rows.join("\n").into_bytes());
        }
        connection.close().await.expect("the connection closes");
        all
    }

    /// Waits for what a process that has ended had begun: PostgreSQL goes on with it, and a process that could not wait for the disk
    /// leaves it in SQLite's journal, which the next one writes into the database.
    pub async fn settle(&self) {
        let Some(url) = &self.url else {
            let mut connection = self.sqlite().await;
            let moved = sqlx::raw_sql("pragma wal_checkpoint(truncate)").execute(&mut connection).await;
            moved.expect("nothing else has the database open");
            return connection.close().await.expect("the connection closes");
        };
        let mut connection = PgConnection::connect(url).await.expect("PostgreSQL answers");
        let locks = "select count(*) from pg_locks l join pg_class c on c.oid = l.relation \
                     where c.relnamespace = current_schema()::regnamespace and l.pid <> pg_backend_pid()";
        let deadline = std::time::Instant::now() + SETTLED_WITHIN;
        while sqlx::query_scalar::<_, i64>(locks).fetch_one(&mut connection).await.expect("the locks") > 0 {
            assert!(std::time::Instant::now() < deadline, "something still works on the database");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        connection.close().await.expect("the connection closes");
    }

    async fn sqlite(&self) -> SqliteConnection {
        let file = self.folder.path().join("windlass.db");
        SqliteConnection::connect(&format!("sqlite://{}", file.display())).await.expect("the database file")
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
