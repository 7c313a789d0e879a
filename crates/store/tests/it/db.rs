use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use sqlx::{Connection, PgConnection};
use windlass_store::{Db, Error, Kind, Options, instance, users};
use windlass_testing::on_both_databases;

use crate::support::{TestDb, database, user};

on_both_databases!(database:
    nothing_remains_without_commit, the_first_admin_is_claimed_once, readers_do_not_wait_for_a_writer, a_closed_database_is_unavailable,
    queries_are_counted, writers_wait_for_each_other,
);

async fn nothing_remains_without_commit(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    users::insert(&mut tx, &user(1), "hash").await.unwrap();
    assert!(users::by_email(&mut tx, "user1@example.org").await.unwrap().is_some());
    drop(tx);
    assert!(users::by_email(&mut db.read().await.unwrap(), "user1@example.org").await.unwrap().is_none());
}

async fn the_first_admin_is_claimed_once(db: TestDb) {
    assert!(!instance::admin_registered(&mut db.read().await.unwrap()).await.unwrap());
    let mut tx = db.begin().await.unwrap();
    assert!(instance::claim_first_admin(&mut tx).await.unwrap());
    assert!(!instance::claim_first_admin(&mut tx).await.unwrap());
    tx.commit().await.unwrap();
    assert!(instance::admin_registered(&mut db.read().await.unwrap()).await.unwrap());
}

async fn readers_do_not_wait_for_a_writer(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    users::insert(&mut tx, &user(1), "hash").await.unwrap();
    let mut conn = db.read().await.unwrap();
    assert!(users::by_email(&mut conn, "user1@example.org").await.unwrap().is_none());
    tx.commit().await.unwrap();
    assert!(users::by_email(&mut conn, "user1@example.org").await.unwrap().is_some());
}

async fn writers_wait_for_each_other(db: TestDb) {
    let write = async |number| {
        let mut tx = db.begin().await.unwrap();
        users::insert(&mut tx, &user(number), "hash").await.unwrap();
        tx.commit().await.unwrap();
    };
    tokio::join!(write(1), write(2), write(3), write(4), write(5), write(6), write(7), write(8));
    let mut conn = db.read().await.unwrap();
    for number in 1..=8 {
        assert!(users::by_email(&mut conn, &format!("user{number}@example.org")).await.unwrap().is_some());
    }
}

async fn a_closed_database_is_unavailable(db: TestDb) {
    db.ping().await.unwrap();
    db.close().await;
    assert!(matches!(db.ping().await, Err(Error::Unavailable(_))));
    assert!(matches!(db.begin().await, Err(Error::Unavailable(_))));
}

async fn queries_are_counted(db: TestDb) {
    let before = db.queries();
    let mut conn = db.read().await.unwrap();
    instance::admin_registered(&mut conn).await.unwrap();
    instance::admin_registered(&mut conn).await.unwrap();
    assert_eq!(db.queries(), before + 2);
}

/// A caller that goes away during `BEGIN` leaves no connection inside a transaction for the next caller.
#[tokio::test]
async fn a_begin_that_is_given_up_leaves_nothing_open() {
    let migrated = database(Kind::Postgres).await;
    let url = migrated.place.url.as_ref().unwrap();
    // A single connection, which every caller gets.
    let options = Options { connections: 1, wait: Duration::from_secs(5) };
    let db = Db::postgres(url, options).await.unwrap();
    let mut observer = PgConnection::connect(url).await.unwrap();
    let schema = url.rsplit('=').next().unwrap();
    // A transaction that has read a table of this test's schema holds a lock on it until it ends.
    let query = "select count(*) from pg_stat_activity a join pg_locks l on l.pid = a.pid \
                 join pg_class c on c.oid = l.relation join pg_namespace n on n.oid = c.relnamespace \
                 where a.state = 'idle in transaction' and n.nspname = $1";
    for polls in 1..8 {
        // So that there is a connection to begin on at once.
        db.ping().await.unwrap();
        give_up_after(polls, db.begin()).await;
        instance::admin_registered(&mut db.read().await.unwrap()).await.unwrap();
        let open: i64 = sqlx::query_scalar(query).bind(schema).fetch_one(&mut observer).await.unwrap();
        assert_eq!(open, 0, "given up after {polls} polls");
    }
}

/// Polls a future so many times and drops it.
async fn give_up_after<T>(mut polls: u32, future: impl Future<Output = T>) {
    let mut future = pin!(future);
    poll_fn(|context| {
        polls -= 1;
        if future.as_mut().poll(context).is_ready() || polls == 0 { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}
