use windlass_store::idempotency_keys::{self, IdempotencyKey};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, database, id, populate};

on_both_databases!(database: keys_are_kept_apart_and_forgotten);

async fn keys_are_kept_apart_and_forgotten(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 2, 2).await;
    let key = IdempotencyKey {
        organization_id: id(101),
        user_id: id(1),
        name: "once".into(),
        body_hash: vec![7; 32],
        application_id: id(5),
        created_at: NOW,
    };
    idempotency_keys::insert(&mut tx, &key).await.unwrap();
    let found = idempotency_keys::get(&mut tx, id(101), id(1), "once").await.unwrap().unwrap();
    assert_eq!((found.body_hash, found.application_id, found.created_at), (vec![7; 32], id(5), NOW));
    for (organization, user, name) in [(102, 1, "once"), (101, 2, "once"), (101, 1, "Once")] {
        assert!(idempotency_keys::get(&mut tx, id(organization), id(user), name).await.unwrap().is_none());
    }
    let another = IdempotencyKey { user_id: id(2), created_at: NOW.plus_seconds(5), ..key.clone() };
    idempotency_keys::insert(&mut tx, &another).await.unwrap();
    assert_eq!(idempotency_keys::delete_older_than(&mut tx, NOW.plus_seconds(1)).await.unwrap(), 1);
    assert!(idempotency_keys::get(&mut tx, id(101), id(1), "once").await.unwrap().is_none());
    idempotency_keys::delete(&mut tx, id(101), id(2), "once").await.unwrap();
    assert!(idempotency_keys::get(&mut tx, id(101), id(2), "once").await.unwrap().is_none());
}
