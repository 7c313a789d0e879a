use windlass_api::Role;
use windlass_store::{memberships, organizations};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, database, id, join, populate};

on_both_databases!(database: organizations_change_and_go);

async fn organizations_change_and_go(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 1).await;
    join(&mut tx, 11, 101, 1, Role::Owner).await;
    let later = NOW.plus_seconds(1);
    let changed = organizations::update(&mut tx, id(101), None, Some("new"), later).await.unwrap().unwrap();
    assert_eq!((changed.name.as_str(), changed.description.as_str()), ("organization 101", "new"));
    assert_eq!((changed.updated_at, changed.created_at), (later, NOW));
    assert!(organizations::update(&mut tx, id(102), Some("x"), None, later).await.unwrap().is_none());
    assert!(organizations::lock(&mut tx, id(101)).await.unwrap());
    assert!(!organizations::lock(&mut tx, id(102)).await.unwrap());
    organizations::delete(&mut tx, id(101)).await.unwrap();
    assert!(!organizations::lock(&mut tx, id(101)).await.unwrap());
    assert_eq!(memberships::count(&mut tx, id(101)).await.unwrap(), 0);
}
