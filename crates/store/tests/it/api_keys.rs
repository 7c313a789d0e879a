use windlass_api::Role;
use windlass_store::api_keys::{self, ApiKey};
use windlass_store::{Error, bearer, memberships};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, database, id, join, populate};

on_both_databases!(database: a_key_leads_to_its_bearer, keys_go_with_the_membership);

fn key(number: u128, user: u128) -> ApiKey {
    ApiKey {
        id: id(number),
        organization_id: id(101),
        user_id: id(user),
        name: format!("key {number}"),
        hint: "wlk_abcd".into(),
        permissions: "deploy:read deploy:create".into(),
        last_used_at: None,
        expires_at: NOW.plus_seconds(60),
        created_at: NOW,
    }
}

async fn a_key_leads_to_its_bearer(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 2, 2).await;
    join(&mut tx, 11, 101, 1, Role::Admin).await;
    join(&mut tx, 12, 101, 2, Role::Viewer).await;
    api_keys::insert(&mut tx, &key(50, 1), &[1; 32]).await.unwrap();
    api_keys::insert(&mut tx, &key(51, 2), &[2; 32]).await.unwrap();
    assert!(matches!(api_keys::insert(&mut tx, &key(52, 2), &[3; 32]).await, Ok(())));
    let bearer = bearer::by_api_key(&mut tx, &[1; 32]).await.unwrap().unwrap();
    assert_eq!((bearer.credential_id, bearer.user.id, bearer.last_used_at), (id(50), id(1), None));
    assert_eq!(bearer.key.unwrap().permissions, "deploy:read deploy:create");
    assert_eq!(bearer.joined.unwrap().membership.role, Role::Admin);
    assert!(bearer::by_api_key(&mut tx, &[9; 32]).await.unwrap().is_none());
    assert!(bearer::by_session(&mut tx, &[1; 32], None).await.unwrap().is_none());

    api_keys::touch(&mut tx, id(50), None, NOW.plus_seconds(5)).await.unwrap();
    api_keys::touch(&mut tx, id(50), Some(NOW), NOW.plus_seconds(9)).await.unwrap();
    let used = bearer::by_api_key(&mut tx, &[1; 32]).await.unwrap().unwrap().last_used_at;
    assert_eq!(used, Some(NOW.plus_seconds(5)));

    let ids = |keys: Vec<ApiKey>| keys.into_iter().map(|key| key.id).collect::<Vec<_>>();
    assert_eq!(ids(api_keys::of_user(&mut tx, id(2), NOW, 10).await.unwrap()), [id(52), id(51)]);
    assert_eq!(ids(api_keys::of_organization(&mut tx, id(101), NOW, 2).await.unwrap()), [id(52), id(51)]);
    assert_eq!(api_keys::count_of_member(&mut tx, id(101), id(2), NOW).await.unwrap(), 2);
    assert_eq!(api_keys::count_of_member(&mut tx, id(101), id(2), NOW.plus_seconds(60)).await.unwrap(), 0);
    assert!(api_keys::exists(&mut tx, id(101), id(50)).await.unwrap());
    assert!(!api_keys::exists(&mut tx, id(102), id(50)).await.unwrap());
    assert!(api_keys::delete_own(&mut tx, id(2), id(50)).await.unwrap().is_none());
    assert!(api_keys::delete(&mut tx, id(102), id(50)).await.unwrap().is_none());
    assert_eq!(api_keys::delete_own(&mut tx, id(1), id(50)).await.unwrap().unwrap().name, "key 50");
    assert_eq!(api_keys::delete(&mut tx, id(101), id(51)).await.unwrap().unwrap().name, "key 51");
    assert_eq!(api_keys::delete_expired(&mut tx, NOW).await.unwrap(), 0);
    assert_eq!(api_keys::delete_expired(&mut tx, NOW.plus_seconds(60)).await.unwrap(), 1);
    api_keys::insert(&mut tx, &key(53, 2), &[4; 32]).await.unwrap();
    assert_eq!(api_keys::delete_all_of_user(&mut tx, id(1)).await.unwrap(), 0);
    assert_eq!(api_keys::delete_all_of_user(&mut tx, id(2)).await.unwrap(), 1);
}

async fn keys_go_with_the_membership(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 1).await;
    join(&mut tx, 11, 101, 1, Role::Admin).await;
    api_keys::insert(&mut tx, &key(50, 1), &[1; 32]).await.unwrap();
    memberships::delete(&mut tx, id(11)).await.unwrap();
    assert!(bearer::by_api_key(&mut tx, &[1; 32]).await.unwrap().is_none());
    assert!(matches!(api_keys::insert(&mut tx, &key(51, 1), &[2; 32]).await, Err(Error::Unexpected(_))));
}
