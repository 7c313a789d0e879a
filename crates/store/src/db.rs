//! One handle for two databases.

use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sqlx::migrate::Migrator;
use sqlx::pool::{PoolConnection, PoolOptions};
use sqlx::postgres::{PgConnectOptions, PgRow};
use sqlx::sqlite::{SqliteAutoVacuum, SqliteConnectOptions, SqliteJournalMode, SqliteRow, SqliteSynchronous};
use sqlx::{
    AssertSqlSafe, Connection, FromRow, PgConnection, PgPool, Postgres, Sqlite, SqliteConnection, SqlitePool,
    Transaction,
};

use uuid::Uuid;

use crate::error::Result;
use crate::migrations;

/// Runs one query on whichever database the connection belongs to. The query is written once and compiled for both.
macro_rules! sql {
    ($conn:expr, |$c:ident| $query:expr) => {
        match $conn.handle() {
            $crate::db::Handle::Sqlite($c) => $query,
            $crate::db::Handle::Postgres($c) => $query,
        }
    };
}
pub(crate) use sql;

/// A part of a text for `like` with `escape '\'`: without any sign that it understands.
pub(crate) fn like_part(part: &str) -> String {
    let escaped = part.replace('\\', r"\\").replace('%', r"\%").replace('_', r"\_");
    format!("%{escaped}%")
}

/// `$2, $3, $4`: parameters for `in (..)`.
pub(crate) fn parameters(first: usize, count: usize) -> String {
    (first..first + count).map(|number| format!("${number}")).collect::<Vec<_>>().join(", ")
}

/// Rows by some ids. The query has `{}` where they belong.
pub(crate) async fn among<T>(conn: &mut Conn, query: &str, ids: &[Uuid]) -> Result<Vec<T>>
where
    T: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin,
{
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let query = query.replace("{}", &parameters(1, ids.len()));
    Ok(sql!(conn, |c| {
        let query = sqlx::query_as(AssertSqlSafe(query)).persistent(false);
        ids.iter().fold(query, |query, id| query.bind(*id)).fetch_all(c).await
    })?)
}

/// The current time, as SQL. Several servers on one PostgreSQL need one clock, which is its own; SQLite has one server.
pub(crate) fn clock(kind: Kind, parameter: &str) -> String {
    match kind {
        Kind::Sqlite => parameter.to_owned(),
        // Mentions the parameter, so that both texts have the same ones.
        Kind::Postgres => format!(
            "(case when {parameter}::bigint is null then 0 else (extract(epoch from clock_timestamp()) * 1000000)::bigint end)"
        ),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Sqlite,
    Postgres,
}

/// How many connections to hold and how long to wait for one.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub connections: u32,
    pub wait: Duration,
}

/// The database. Cheap to clone; all clones share the connections.
#[derive(Clone)]
pub struct Db {
    pools: Pools,
    queries: Arc<AtomicU64>,
}

#[derive(Clone)]
enum Pools {
    /// SQLite allows one writer at a time; giving it one connection makes writers wait their turn in memory.
    Sqlite {
        read: SqlitePool,
        write: SqlitePool,
    },
    Postgres(PgPool),
}

/// A burst makes SQLite's write-ahead log longer; afterwards it is cut to this.
const JOURNAL_BYTES: &str = "16777216";
/// PostgreSQL ends a statement that runs longer than this.
const STATEMENT_LIMIT: &str = "30s";
/// And gives up sooner on a row that another transaction holds.
const LOCK_LIMIT: &str = "10s";
/// A pooled connection that was idle for longer is tried before it is used: the server may have gone.
const TRUSTED_IDLE: Duration = Duration::from_secs(5);

impl Db {
    pub async fn sqlite(file: &Path, options: Options) -> Result<Self> {
        Self::sqlite_with(file, options, |writer| writer).await
    }

    /// The same with a file that can give back the room of what was deleted, a little at a time.
    pub(crate) async fn shrinking_sqlite(file: &Path, options: Options) -> Result<Self> {
        let shrinking = |writer: SqliteConnectOptions| {
            writer.auto_vacuum(SqliteAutoVacuum::Incremental).pragma("journal_size_limit", JOURNAL_BYTES)
        };
        Self::sqlite_with(file, options, shrinking).await
    }

    async fn sqlite_with(
        file: &Path,
        options: Options,
        of_writer: impl Fn(SqliteConnectOptions) -> SqliteConnectOptions,
    ) -> Result<Self> {
        let connect = SqliteConnectOptions::new()
            .filename(file)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(options.wait)
            .pragma("cache_size", "-2000")
            .pragma("temp_store", "memory");
        let pool =
            |connections| PoolOptions::<Sqlite>::new().max_connections(connections).acquire_timeout(options.wait);
        // The writer comes first: it creates the file and switches it to WAL, which a read-only connection cannot.
        let write = pool(1)
            .idle_timeout(None)
            .max_lifetime(None)
            .test_before_acquire(false)
            .before_acquire(|connection, _| Box::pin(is_outside_of_transactions(connection)));
        let write = write.connect_with(of_writer(connect.clone())).await?;
        let read = pool(options.connections).test_before_acquire(false);
        let read = read.connect_with(connect.read_only(true)).await?;
        Ok(Self::new(Pools::Sqlite { read, write }))
    }

    pub async fn postgres(url: &str, options: Options) -> Result<Self> {
        let connect = PgConnectOptions::from_str(url)?.application_name("windlass").options([
            ("statement_timeout", STATEMENT_LIMIT),
            ("lock_timeout", LOCK_LIMIT),
            // A server that vanishes with a transaction open must not keep its rows for hours.
            ("idle_in_transaction_session_timeout", STATEMENT_LIMIT),
        ]);
        let pool = PoolOptions::<Postgres>::new()
            .max_connections(options.connections)
            .acquire_timeout(options.wait)
            .test_before_acquire(false)
            .before_acquire(|connection, meta| {
                Box::pin(async move {
                    if meta.idle_for > TRUSTED_IDLE {
                        connection.ping().await?;
                    }
                    Ok(true)
                })
            });
        // A first connection by hand: when there is no server, it says why; the pool would only say that time is up.
        let first = tokio::time::timeout(options.wait, PgConnection::connect_with(&connect));
        first.await.map_err(|_| sqlx::Error::PoolTimedOut)??.close().await?;
        Ok(Self::new(Pools::Postgres(pool.connect_with(connect).await?)))
    }

    fn new(pools: Pools) -> Self {
        Self { pools, queries: Arc::default() }
    }

    pub fn kind(&self) -> Kind {
        match self.pools {
            Pools::Sqlite { .. } => Kind::Sqlite,
            Pools::Postgres(_) => Kind::Postgres,
        }
    }

    /// How many queries were sent since start.
    pub fn queries(&self) -> u64 {
        self.queries.load(Ordering::Relaxed)
    }

    /// A connection for reading. Hold one at a time: a task that waits for a second while holding a first can starve
    /// the pool.
    pub async fn read(&self) -> Result<Conn> {
        let inner = match &self.pools {
            Pools::Sqlite { read, .. } => Inner::Sqlite(read.acquire().await?),
            Pools::Postgres(pool) => Inner::Postgres(pool.acquire().await?),
        };
        Ok(self.conn(inner))
    }

    /// A transaction. Without [`Tx::commit`] nothing of it remains.
    pub async fn begin(&self) -> Result<Tx> {
        let inner = match &self.pools {
            // Immediate: take the write lock now, so that no later statement can fail because another transaction has
            // it.
            Pools::Sqlite { write, .. } => Inner::SqliteTx(write.begin_with("BEGIN IMMEDIATE").await?),
            Pools::Postgres(pool) => Inner::PostgresTx(begin_whole(pool.clone()).await?),
        };
        Ok(Tx(self.conn(inner)))
    }

    /// For what SQLite does not do in a transaction. On PostgreSQL any connection will do.
    pub(crate) async fn write_outside_of_transactions(&self) -> Result<Conn> {
        let inner = match &self.pools {
            Pools::Sqlite { write, .. } => Inner::Sqlite(write.acquire().await?),
            Pools::Postgres(pool) => Inner::Postgres(pool.acquire().await?),
        };
        Ok(self.conn(inner))
    }

    fn conn(&self, inner: Inner) -> Conn {
        Conn { inner, queries: self.queries.clone() }
    }

    /// Brings the schema up to date. PostgreSQL holds its own lock meanwhile; with SQLite the caller holds the lock
    /// of the data folder.
    pub async fn migrate(&self) -> Result<()> {
        self.migrate_to(migrations::LATEST).await
    }

    /// Stops at a step, so that tests can fill the schema as it was then.
    #[doc(hidden)]
    pub async fn migrate_to(&self, version: i64) -> Result<()> {
        self.migrate_with(&migrations::sqlite(), &migrations::postgres(), version).await
    }

    pub(crate) async fn migrate_with(&self, sqlite: &Migrator, postgres: &Migrator, version: i64) -> Result<()> {
        match &self.pools {
            Pools::Sqlite { write, .. } => sqlite.run_to(version, write).await?,
            Pools::Postgres(pool) => {
                // A connection of its own: a migration, or the wait for another server's, may take its time.
                let unlimited = [("statement_timeout", "0"), ("lock_timeout", "0")];
                let options = PgConnectOptions::clone(&pool.connect_options()).options(unlimited);
                let mut connection = PgConnection::connect_with(&options).await?;
                postgres.run_to(version, &mut connection).await?;
                connection.close().await?;
            }
        }
        Ok(())
    }

    /// Fails when the database does not answer.
    pub async fn ping(&self) -> Result<()> {
        sql!(self.read().await?, |c| c.ping().await)?;
        Ok(())
    }

    pub async fn close(&self) {
        match &self.pools {
            Pools::Sqlite { read, write } => {
                read.close().await;
                // The last connection to close moves the write-ahead log into the database file.
                write.close().await;
            }
            Pools::Postgres(pool) => pool.close().await,
        }
    }
}

/// SQLite ends a transaction by itself when the disk is full or fails, and the driver never learns of it: such a
/// connection can begin no other, and has to be replaced.
async fn is_outside_of_transactions(connection: &mut SqliteConnection) -> std::result::Result<bool, sqlx::Error> {
    if !connection.is_in_transaction() {
        return Ok(true);
    }
    // A rollback may still be on its way to the connection's thread.
    connection.ping().await?;
    Ok(!connection.is_in_transaction())
}

/// In a task of its own, because a caller that goes away during `BEGIN` would leave the connection inside a transaction
/// that the driver does not know of. A transaction that has begun is rolled back when it is dropped.
async fn begin_whole(pool: PgPool) -> Result<Transaction<'static, Postgres>> {
    let begin = tokio::spawn(async move { pool.begin().await });
    let begun = begin.await.map_err(|_| sqlx::Error::WorkerCrashed)?;
    Ok(begun?)
}

/// A connection that can read.
pub struct Conn {
    inner: Inner,
    queries: Arc<AtomicU64>,
}

enum Inner {
    Sqlite(PoolConnection<Sqlite>),
    SqliteTx(Transaction<'static, Sqlite>),
    Postgres(PoolConnection<Postgres>),
    PostgresTx(Transaction<'static, Postgres>),
}

pub(crate) enum Handle<'a> {
    Sqlite(&'a mut SqliteConnection),
    Postgres(&'a mut PgConnection),
}

impl Conn {
    pub(crate) fn kind(&self) -> Kind {
        match self.inner {
            Inner::Sqlite(_) | Inner::SqliteTx(_) => Kind::Sqlite,
            Inner::Postgres(_) | Inner::PostgresTx(_) => Kind::Postgres,
        }
    }

    pub(crate) async fn has_table(&mut self, name: &str) -> Result<bool> {
        let found: i64 = match self.handle() {
            Handle::Sqlite(c) => {
                sqlx::query_scalar("select count(*) from sqlite_master where name = $1").bind(name).fetch_one(c).await?
            }
            Handle::Postgres(c) => {
                let query = "select count(*) from pg_class where oid = to_regclass($1)";
                sqlx::query_scalar(query).bind(name).fetch_one(c).await?
            }
        };
        Ok(found == 1)
    }

    pub(crate) fn handle(&mut self) -> Handle<'_> {
        self.queries.fetch_add(1, Ordering::Relaxed);
        match &mut self.inner {
            Inner::Sqlite(connection) => Handle::Sqlite(connection),
            Inner::SqliteTx(transaction) => Handle::Sqlite(transaction),
            Inner::Postgres(connection) => Handle::Postgres(connection),
            Inner::PostgresTx(transaction) => Handle::Postgres(transaction),
        }
    }
}

/// A connection in a transaction: the only thing that can write.
pub struct Tx(Conn);

impl Tx {
    pub async fn commit(self) -> Result<()> {
        match self.0.inner {
            Inner::SqliteTx(transaction) => transaction.commit().await?,
            Inner::PostgresTx(transaction) => transaction.commit().await?,
            // Only `Db::begin` makes a `Tx`, and it makes transactions.
            Inner::Sqlite(_) | Inner::Postgres(_) => {}
        }
        Ok(())
    }
}

impl Deref for Tx {
    type Target = Conn;

    fn deref(&self) -> &Conn {
        &self.0
    }
}

impl DerefMut for Tx {
    fn deref_mut(&mut self) -> &mut Conn {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A limit on the file's pages is to SQLite what a full disk is.
    #[tokio::test]
    async fn a_full_disk_is_not_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { connections: 2, wait: Duration::from_secs(5) };
        let db = Db::sqlite(&folder.path().join("test.db"), options).await.unwrap();
        let Pools::Sqlite { write, .. } = &db.pools else { panic!("not SQLite") };
        sqlx::query("create table t (x blob)").execute(write).await.unwrap();
        sqlx::query("pragma max_page_count = 10").execute(write).await.unwrap();
        let mut tx = db.begin().await.unwrap();
        let insert = "insert into t values (zeroblob(100000))";
        let refused = sql!(tx, |c| sqlx::query(insert).execute(c).await.map(drop));
        assert!(matches!(crate::Error::from(refused.unwrap_err()), crate::Error::Unavailable(_)));
        drop(tx);
        // The limit was the connection's own, so another one is free of it.
        let mut tx = db.begin().await.unwrap();
        sql!(tx, |c| sqlx::query(insert).execute(c).await.map(drop)).unwrap();
        tx.commit().await.unwrap();
    }

    #[tokio::test]
    async fn sqlite_is_durable_and_strict() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { connections: 2, wait: Duration::from_secs(5) };
        let db = Db::sqlite(&folder.path().join("test.db"), options).await.unwrap();
        let Pools::Sqlite { read, write } = &db.pools else { panic!("not SQLite") };
        for (pragma, expected) in [("synchronous", 2), ("foreign_keys", 1), ("cache_size", -2_000)] {
            let query = format!("pragma {pragma}");
            for pool in [read, write] {
                let value: i64 = sqlx::query_scalar(AssertSqlSafe(query.clone())).fetch_one(pool).await.unwrap();
                assert_eq!(value, expected, "{pragma}");
            }
        }
        let mode: String = sqlx::query_scalar("pragma journal_mode").fetch_one(write).await.unwrap();
        assert_eq!(mode, "wal");
    }
}
