use windlass_store::instance;
use windlass_store::master_keys::{self, MasterKey};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, database, empty_database};

on_both_databases!(database: master_keys_change_hands);
on_both_databases!(empty_database: a_database_before_keys);

async fn a_database_before_keys(db: TestDb) {
    assert!(!instance::is_known(&mut db.read().await.unwrap()).await.unwrap());
    db.migrate().await.unwrap();
    assert!(instance::is_known(&mut db.read().await.unwrap()).await.unwrap());
}

async fn master_keys_change_hands(db: TestDb) {
    let key = |number: u8| MasterKey { id: vec![number; 8], check_value: vec![number; 32], created_at: NOW };
    let mut tx = db.begin().await.unwrap();
    assert_eq!(master_keys::current(&mut tx).await.unwrap(), None);
    assert!(master_keys::claim_first(&mut tx).await.unwrap());
    assert!(master_keys::is_untouched(&mut tx).await.unwrap());
    master_keys::insert(&mut tx, &key(1)).await.unwrap();
    assert!(!master_keys::is_untouched(&mut tx).await.unwrap());
    master_keys::set_first(&mut tx, &[1; 8]).await.unwrap();
    master_keys::insert(&mut tx, &key(2)).await.unwrap();
    assert!(!master_keys::exchange_current(&mut tx, &[3; 8], &[2; 8]).await.unwrap());
    assert!(master_keys::exchange_current(&mut tx, &[1; 8], &[2; 8]).await.unwrap());
    assert!(!master_keys::claim_first(&mut tx).await.unwrap());
    assert_eq!(master_keys::hold_current(&mut tx).await.unwrap(), Some(vec![2; 8]));
    assert_eq!(master_keys::all(&mut tx).await.unwrap(), [key(1), key(2)]);
    assert_eq!(master_keys::keep_only(&mut tx, &[2; 8]).await.unwrap(), 1);
    assert_eq!(master_keys::all(&mut tx).await.unwrap(), [key(2)]);
}
