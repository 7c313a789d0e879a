use windlass_api::Role;
use windlass_store::user_settings::{self, Change, UserSettings};
use windlass_store::{Error, users};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, database, id, join, populate, user};

on_both_databases!(database: users_are_found_and_changed, addresses_are_unique, default_organizations, settings);

async fn users_are_found_and_changed(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 0).await;
    let later = NOW.plus_seconds(1);
    users::rename(&mut tx, id(1), "Ada", later).await.unwrap();
    users::set_password(&mut tx, id(1), "new hash", later).await.unwrap();
    let found = users::by_email(&mut tx, "user1@example.org").await.unwrap().unwrap();
    assert_eq!((found.user.username.as_str(), found.password_hash.as_str()), ("Ada", "new hash"));
    assert_eq!((found.user.created_at, found.user.updated_at), (NOW, later));
    assert_eq!(users::password_hash(&mut tx, id(1)).await.unwrap().as_deref(), Some("new hash"));
    assert_eq!(users::password_hash(&mut tx, id(9)).await.unwrap(), None);
    assert!(users::hold_password(&mut tx, id(1), "new hash").await.unwrap());
    assert!(!users::hold_password(&mut tx, id(1), "hash").await.unwrap());
}

async fn addresses_are_unique(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 0).await;
    let mut second = user(2);
    second.email = user(1).email;
    assert!(matches!(users::insert(&mut tx, &second, "hash").await, Err(Error::Duplicate)));
}

async fn default_organizations(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 2).await;
    join(&mut tx, 11, 101, 1, Role::Owner).await;
    join(&mut tx, 12, 102, 1, Role::Viewer).await;
    let default = async |tx: &mut windlass_store::Tx| {
        let token = [7; 32];
        let session = crate::sessions::session(id(50), id(1));
        windlass_store::sessions::delete(tx, id(1), id(50)).await.unwrap();
        windlass_store::sessions::insert(tx, &session, &token).await.unwrap();
        let bearer = windlass_store::bearer::by_session(tx, &token, None).await.unwrap().unwrap();
        bearer.joined.map(|joined| joined.organization.id)
    };
    assert_eq!(default(&mut tx).await, None);
    users::repair_default_organization(&mut tx, id(1)).await.unwrap();
    assert_eq!(default(&mut tx).await, Some(id(101)));
    users::set_default_organization(&mut tx, id(1), id(102)).await.unwrap();
    users::repair_default_organization(&mut tx, id(1)).await.unwrap();
    assert_eq!(default(&mut tx).await, Some(id(102)));
    windlass_store::memberships::delete(&mut tx, id(12)).await.unwrap();
    users::repair_default_organization(&mut tx, id(1)).await.unwrap();
    assert_eq!(default(&mut tx).await, Some(id(101)));
    windlass_store::organizations::delete(&mut tx, id(101)).await.unwrap();
    users::repair_default_organization(&mut tx, id(1)).await.unwrap();
    assert_eq!(default(&mut tx).await, None);
}

async fn settings(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 0).await;
    let row = UserSettings {
        id: id(5),
        user_id: id(1),
        auto_update: true,
        theme: "light".into(),
        font_family: "outfit".into(),
        font_size: 16,
        language: "en".into(),
        created_at: NOW,
        updated_at: NOW,
    };
    user_settings::insert(&mut tx, &row).await.unwrap();
    let change = Change { auto_update: Some(false), font_size: Some(20), ..Change::default() };
    let changed = user_settings::update(&mut tx, id(1), &change, NOW.plus_seconds(1)).await.unwrap().unwrap();
    assert_eq!((changed.auto_update, changed.font_size, changed.theme.as_str()), (false, 20, "light"));
    let found = user_settings::of_user(&mut tx, id(1)).await.unwrap().unwrap();
    assert_eq!((found.auto_update, found.updated_at), (false, NOW.plus_seconds(1)));
    assert!(user_settings::of_user(&mut tx, id(2)).await.unwrap().is_none());
    assert!(user_settings::update(&mut tx, id(2), &change, NOW).await.unwrap().is_none());
}
