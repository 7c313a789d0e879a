use windlass_store::github_apps::{self, Registration};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, database, id, populate};

on_both_databases!(database: registrations_are_found_bounded_and_used_once);

fn registration(number: u128, organization: u128) -> Registration {
    Registration {
        id: id(number),
        organization_id: id(organization),
        credential_id: id(7),
        is_key: number.is_multiple_of(2),
        name: format!("GitHub {number}"),
        base_url: "https://github.com".into(),
        github_organization: String::new(),
        expires_at: NOW.plus_seconds(60),
        created_at: NOW,
    }
}

async fn registrations_are_found_bounded_and_used_once(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 2).await;
    for (number, organization) in [(61, 101), (62, 102), (63, 101), (64, 101)] {
        let hash = [u8::try_from(number).unwrap(); 32];
        github_apps::insert(&mut tx, &registration(number, organization), &hash).await.unwrap();
    }
    let found = github_apps::by_state(&mut tx, &[62; 32], NOW).await.unwrap().unwrap();
    assert_eq!((found.id, found.is_key, found.name.as_str()), (id(62), true, "GitHub 62"));
    assert!(github_apps::by_state(&mut tx, &[62; 32], NOW.plus_seconds(60)).await.unwrap().is_none());
    github_apps::keep_newest(&mut tx, id(101), 2).await.unwrap();
    assert!(github_apps::by_state(&mut tx, &[61; 32], NOW).await.unwrap().is_none(), "it gave way");
    for hash in [[62; 32], [63; 32], [64; 32]] {
        assert!(github_apps::by_state(&mut tx, &hash, NOW).await.unwrap().is_some());
    }
    assert!(github_apps::delete(&mut tx, id(63)).await.unwrap());
    assert!(!github_apps::delete(&mut tx, id(63)).await.unwrap());
    assert_eq!(github_apps::delete_expired(&mut tx, NOW).await.unwrap(), 0);
    assert_eq!(github_apps::delete_expired(&mut tx, NOW.plus_seconds(60)).await.unwrap(), 2);
}
