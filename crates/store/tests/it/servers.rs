use uuid::Uuid;
use windlass_store::{Kind, instance, servers};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, database, populate};

on_both_databases!(database: all_living_servers_use_one_engine, a_database_is_told_from_its_copy);

const FIRST: Uuid = Uuid::from_u128(1);
const SECOND: Uuid = Uuid::from_u128(2);

async fn all_living_servers_use_one_engine(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 1).await;
    for server in [FIRST, SECOND] {
        servers::beat(&mut tx, server, NOW).await.unwrap();
    }
    assert_eq!(servers::use_engine(&mut tx, FIRST, "A", NOW).await.unwrap(), None);
    assert_eq!(servers::use_engine(&mut tx, SECOND, "B", NOW).await.unwrap(), Some("A".into()));
    // The one that came first is not disturbed by the one that was refused.
    assert_eq!(servers::use_engine(&mut tx, FIRST, "A", NOW).await.unwrap(), None);
    assert_eq!(servers::use_engine(&mut tx, SECOND, "A", NOW).await.unwrap(), None);
    // When the others are gone an engine may be replaced by another.
    servers::leave(&mut tx, FIRST).await.unwrap();
    assert_eq!(servers::use_engine(&mut tx, SECOND, "B", NOW).await.unwrap(), None);
}

async fn a_database_is_told_from_its_copy(db: TestDb) {
    let identity = instance::database_identity(&mut db.read().await.unwrap()).await.unwrap();
    let again = instance::database_identity(&mut db.read().await.unwrap()).await.unwrap();
    assert_eq!(identity, again);
    let other = database(db.kind()).await;
    let others = instance::database_identity(&mut other.read().await.unwrap()).await.unwrap();
    match db.kind() {
        Kind::Sqlite => assert_eq!(identity, None),
        Kind::Postgres => assert_ne!(identity, others),
    }
}
