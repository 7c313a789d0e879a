use windlass_store::{password_resets, users};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, database, id, populate};

on_both_databases!(database: what_was_asked_for_takes_no_place, an_admins_newer_link_takes_the_place_of_the_older_one);

async fn what_was_asked_for_takes_no_place(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 2, 1).await;
    let end = NOW.plus_seconds(60);
    password_resets::put_handed_over(&mut tx, id(1), &[1; 32], end).await.unwrap();
    for (token, is_made) in [(2, true), (3, true), (4, false)] {
        let made = password_resets::insert_asked_for(&mut tx, id(1), &[token; 32], end, NOW, 2).await.unwrap();
        assert_eq!(made, is_made, "{token}");
    }
    for (token, is_there) in [(1, true), (2, true), (3, true), (4, false)] {
        assert_eq!(password_resets::exists(&mut tx, &[token; 32], NOW).await.unwrap(), is_there, "{token}");
    }
    // Those of another user, and those that have ended, leave room.
    assert!(password_resets::insert_asked_for(&mut tx, id(2), &[5; 32], end, NOW, 1).await.unwrap());
    let later = end.plus_seconds(60);
    assert!(password_resets::insert_asked_for(&mut tx, id(1), &[6; 32], later, end, 1).await.unwrap());
    assert_eq!(password_resets::take(&mut tx, &[2; 32], end).await.unwrap(), None);
    assert_eq!(password_resets::take(&mut tx, &[2; 32], NOW).await.unwrap(), Some(id(1)));
    assert_eq!(password_resets::take(&mut tx, &[2; 32], NOW).await.unwrap(), None);
    users::set_password(&mut tx, id(1), "hash", NOW).await.unwrap();
    for token in [1, 3, 6] {
        assert!(!password_resets::exists(&mut tx, &[token; 32], NOW).await.unwrap(), "{token}");
    }
    assert_eq!(password_resets::delete_expired(&mut tx, end).await.unwrap(), 1);
}

async fn an_admins_newer_link_takes_the_place_of_the_older_one(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 2, 1).await;
    let end = NOW.plus_seconds(60);
    assert!(password_resets::insert_asked_for(&mut tx, id(1), &[1; 32], end, NOW, 1).await.unwrap());
    for (user, token) in [(1, 2), (2, 3), (1, 4)] {
        password_resets::put_handed_over(&mut tx, id(user), &[token; 32], end).await.unwrap();
    }
    for (token, is_there) in [(1, true), (2, false), (3, true), (4, true)] {
        assert_eq!(password_resets::exists(&mut tx, &[token; 32], NOW).await.unwrap(), is_there, "{token}");
    }
}
