use windlass_store::email_changes::{self, EmailChange};
use windlass_store::{Error, password_resets, users};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, database, id, populate};

on_both_databases!(database: a_link_works_once_until_it_is_replaced_or_expires, a_new_password_and_a_new_address_end_links,
    an_address_belongs_to_one_user);

fn wish(user: u128, email: &str) -> EmailChange {
    EmailChange { user_id: id(user), email: email.into() }
}

async fn a_link_works_once_until_it_is_replaced_or_expires(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 2, 1).await;
    let end = NOW.plus_seconds(60);
    email_changes::put(&mut tx, &wish(1, "a@example.org"), &[1; 32], end).await.unwrap();
    email_changes::put(&mut tx, &wish(1, "b@example.org"), &[2; 32], end).await.unwrap();
    assert!(!email_changes::exists(&mut tx, &[1; 32], NOW).await.unwrap());
    assert!(email_changes::exists(&mut tx, &[2; 32], NOW).await.unwrap());
    assert!(!email_changes::exists(&mut tx, &[2; 32], end).await.unwrap());
    assert_eq!(email_changes::take(&mut tx, &[1; 32], NOW).await.unwrap(), None);
    assert_eq!(email_changes::take(&mut tx, &[2; 32], end).await.unwrap(), None);
    assert_eq!(email_changes::take(&mut tx, &[2; 32], NOW).await.unwrap(), Some(wish(1, "b@example.org")));
    assert_eq!(email_changes::take(&mut tx, &[2; 32], NOW).await.unwrap(), None);
    email_changes::put(&mut tx, &wish(2, "c@example.org"), &[3; 32], end).await.unwrap();
    assert_eq!(email_changes::delete_expired(&mut tx, NOW).await.unwrap(), 0);
    assert_eq!(email_changes::delete_expired(&mut tx, end).await.unwrap(), 1);
}

async fn a_new_password_and_a_new_address_end_links(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 1).await;
    let end = NOW.plus_seconds(60);
    email_changes::put(&mut tx, &wish(1, "a@example.org"), &[1; 32], end).await.unwrap();
    password_resets::put_handed_over(&mut tx, id(1), &[2; 32], end).await.unwrap();
    users::set_email(&mut tx, id(1), "new@example.org", NOW).await.unwrap();
    assert!(!password_resets::exists(&mut tx, &[2; 32], NOW).await.unwrap());
    let user = users::by_id(&mut tx, id(1)).await.unwrap().unwrap();
    assert_eq!((user.email.as_str(), user.is_verified), ("new@example.org", true));
    users::set_password(&mut tx, id(1), "hash", NOW).await.unwrap();
    assert_eq!(email_changes::take(&mut tx, &[1; 32], NOW).await.unwrap(), None);
}

async fn an_address_belongs_to_one_user(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 2, 1).await;
    let taken = users::set_email(&mut tx, id(2), "user1@example.org", NOW).await;
    assert!(matches!(taken, Err(Error::Duplicate)));
}
