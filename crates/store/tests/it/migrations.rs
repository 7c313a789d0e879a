//! Each step is applied to a database that is filled as it was before the step.

use sqlx::{Connection, PgConnection, SqliteConnection};
use windlass_api::WebhookType;
use windlass_store::{
    Error, Kind, applications, audit, bearer, jobs, memberships, releases, smtp_configs, users, webhook_configs,
};
use windlass_testing::on_both_databases;

use crate::support::{TestDb, database, empty_database, id};

on_both_databases!(empty_database: a_filled_database_survives_every_step, running_again_changes_nothing);
on_both_databases!(database: a_database_of_a_newer_version_is_refused);

/// What to put in after the step of that number. A new step adds its own line.
const FILLINGS: [(i64, &str, &str); 1] =
    [(1, include_str!("fillings/0001.sqlite.sql"), include_str!("fillings/0001.postgres.sql"))];

async fn a_filled_database_survives_every_step(db: TestDb) {
    for (version, sqlite, postgres) in FILLINGS {
        db.migrate_to(version).await.unwrap();
        execute(&db, sqlite, postgres).await;
    }
    db.migrate().await.unwrap();
    assert_eq!(applied(&db).await, FILLINGS.len() as i64, "a step has no filling in this test");

    let mut conn = db.begin().await.unwrap();
    let ada = users::by_email(&mut conn, "ada@example.org").await.unwrap().unwrap();
    assert_eq!(ada.user.username, "Ada");
    assert_eq!(memberships::members(&mut conn, id(2)).await.unwrap().len(), 1);
    assert_eq!(audit::after(&mut conn, id(2), 0, 10).await.unwrap().len(), 1);
    assert!(bearer::by_api_key(&mut conn, &[0; 32]).await.unwrap().unwrap().user.two_factor_enabled);
    assert!(webhook_configs::get(&mut conn, id(2), WebhookType::Slack).await.unwrap().is_some());
    assert!(smtp_configs::of_organization(&mut conn, id(2)).await.unwrap().is_some());
    let shop = applications::by_name(&mut conn, id(2), "shop").await.unwrap().unwrap();
    assert_eq!(releases::current_of(&mut conn, &[shop.id]).await.unwrap().len(), 1);
    assert_eq!(jobs::of_application(&mut conn, shop.id).await.unwrap().len(), 1);
}

async fn running_again_changes_nothing(db: TestDb) {
    db.migrate().await.unwrap();
    db.migrate().await.unwrap();
    assert_eq!(applied(&db).await, FILLINGS.len() as i64);
}

async fn a_database_of_a_newer_version_is_refused(db: TestDb) {
    let newer = "insert into _sqlx_migrations (version, description, success, checksum, execution_time) values (999, 'later', true, ";
    execute(&db, &format!("{newer}x'00', 0)"), &format!("{newer}'\\x00', 0)")).await;
    assert!(matches!(db.migrate().await, Err(Error::Foreign(_))));
}

#[tokio::test]
async fn two_servers_migrate_one_postgres_at_once() {
    let first = empty_database(Kind::Postgres).await;
    let second = first.place.open().await;
    let (a, b) = tokio::join!(first.migrate(), second.migrate());
    a.unwrap();
    b.unwrap();
    assert_eq!(applied(&first).await, FILLINGS.len() as i64);
}

pub async fn execute(db: &TestDb, sqlite: &str, postgres: &str) {
    match db.kind() {
        Kind::Sqlite => {
            let mut connection = sqlite_connection(db).await;
            sqlx::raw_sql(sqlx::AssertSqlSafe(sqlite.to_owned())).execute(&mut connection).await.unwrap();
            connection.close().await.unwrap();
        }
        Kind::Postgres => {
            let mut connection = PgConnection::connect(db.place.url.as_ref().unwrap()).await.unwrap();
            sqlx::raw_sql(sqlx::AssertSqlSafe(postgres.to_owned())).execute(&mut connection).await.unwrap();
            connection.close().await.unwrap();
        }
    }
}

async fn applied(db: &TestDb) -> i64 {
    let query = "select count(*) from _sqlx_migrations where success";
    match db.kind() {
        Kind::Sqlite => sqlx::query_scalar(query).fetch_one(&mut sqlite_connection(db).await).await.unwrap(),
        Kind::Postgres => {
            let mut connection = PgConnection::connect(db.place.url.as_ref().unwrap()).await.unwrap();
            sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap()
        }
    }
}

/// What a query gives, as texts.
pub async fn scalars(db: &TestDb, query: &'static str) -> Vec<String> {
    match db.kind() {
        Kind::Sqlite => sqlx::query_scalar(query).fetch_all(&mut sqlite_connection(db).await).await.unwrap(),
        Kind::Postgres => {
            let mut connection = PgConnection::connect(db.place.url.as_ref().unwrap()).await.unwrap();
            sqlx::query_scalar(query).fetch_all(&mut connection).await.unwrap()
        }
    }
}

async fn sqlite_connection(db: &TestDb) -> SqliteConnection {
    let file = db.place.folder.path().join("windlass.db");
    SqliteConnection::connect(&format!("sqlite://{}", file.display())).await.unwrap()
}
