use windlass_store::audit::{self, Entry};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, database, id};

on_both_databases!(database: entries_belong_to_an_organization_or_the_instance);

async fn entries_belong_to_an_organization_or_the_instance(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    for (number, organization_id) in [(1, None), (2, Some(id(101))), (3, Some(id(102))), (4, Some(id(101)))] {
        let entry = Entry {
            id: id(number),
            organization_id,
            actor_id: None,
            actor: "operator".into(),
            action: "update".into(),
            resource: "user".into(),
            resource_id: String::new(),
            metadata: "{}".into(),
            ip_address: String::new(),
            request_id: String::new(),
            created_at: NOW,
        };
        audit::insert(&mut tx, &entry).await.unwrap();
    }
    tx.commit().await.unwrap();
    let mut conn = db.read().await.unwrap();
    let mut ids = async |organization, limit| -> Vec<_> {
        audit::newest(&mut conn, organization, limit).await.unwrap().into_iter().map(|entry| entry.id).collect()
    };
    assert_eq!(ids(None, 10).await, [id(1)]);
    assert_eq!(ids(Some(id(101)), 10).await, [id(4), id(2)]);
    assert_eq!(ids(Some(id(101)), 1).await, [id(4)]);
}
