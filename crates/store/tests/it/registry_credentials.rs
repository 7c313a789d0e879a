use windlass_store::Error;
use windlass_store::registry_credentials::{self, RegistryCredential};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, database, id, populate};

on_both_databases!(database: one_for_each_host_of_an_organization);

fn row(number: u128, organization: u128, host: &str) -> RegistryCredential {
    RegistryCredential {
        id: id(number),
        organization_id: id(organization),
        user_id: id(1),
        host: host.into(),
        username: "ada".into(),
        sealed_password: vec![1],
        created_at: NOW,
        updated_at: NOW,
    }
}

async fn one_for_each_host_of_an_organization(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 2).await;
    for row in [row(50, 101, "b.example.org"), row(51, 101, "a.example.org"), row(52, 102, "a.example.org")] {
        registry_credentials::insert(&mut tx, &row).await.unwrap();
    }
    let all = registry_credentials::of_organization(&mut tx, id(101), 10).await.unwrap();
    assert_eq!(all.iter().map(|row| row.id).collect::<Vec<_>>(), [id(51), id(50)]);
    assert_eq!(registry_credentials::count_of_organization(&mut tx, id(101)).await.unwrap(), 2);
    let theirs = registry_credentials::by_host(&mut tx, id(102), "a.example.org").await.unwrap().unwrap();
    assert_eq!(theirs.id, id(52));
    assert!(registry_credentials::by_host(&mut tx, id(102), "b.example.org").await.unwrap().is_none());
    let changed = RegistryCredential { username: "eve".into(), ..row(50, 101, "") };
    registry_credentials::update(&mut tx, &changed, None).await.unwrap();
    registry_credentials::update(&mut tx, &row(51, 101, ""), Some(&[2])).await.unwrap();
    let (kept, other) =
        (registry_credentials::get(&mut tx, id(50)).await, registry_credentials::get(&mut tx, id(51)).await);
    let (kept, other) = (kept.unwrap().unwrap(), other.unwrap().unwrap());
    assert_eq!((&*kept.host, &*kept.username, &*kept.sealed_password), ("b.example.org", "eve", &[1][..]));
    assert_eq!(other.sealed_password, [2]);
    registry_credentials::delete(&mut tx, id(50)).await.unwrap();
    assert!(registry_credentials::get(&mut tx, id(50)).await.unwrap().is_none());
    let again = registry_credentials::insert(&mut tx, &row(53, 102, "a.example.org")).await;
    assert!(matches!(again, Err(Error::Duplicate)), "{again:?}");
}
