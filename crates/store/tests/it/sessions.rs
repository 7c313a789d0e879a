use uuid::Uuid;
use windlass_api::Role;
use windlass_store::bearer;
use windlass_store::sessions::{self, Session};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, database, id, join, populate};

on_both_databases!(database: a_token_leads_to_its_bearer, tokens_are_exchanged_once, sessions_end);

pub fn session(id: Uuid, user_id: Uuid) -> Session {
    Session {
        id,
        user_id,
        ip_address: "127.0.0.1".into(),
        user_agent: "test".into(),
        last_used_at: NOW,
        expires_at: NOW.plus_seconds(60),
        created_at: NOW,
    }
}

async fn a_token_leads_to_its_bearer(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 2).await;
    join(&mut tx, 11, 101, 1, Role::Admin).await;
    sessions::insert(&mut tx, &session(id(50), id(1)), &[1; 32]).await.unwrap();
    let bearer = bearer::by_session(&mut tx, &[1; 32], Some(id(101))).await.unwrap().unwrap();
    assert_eq!((bearer.credential_id, bearer.user.id), (id(50), id(1)));
    let joined = bearer.joined.unwrap();
    assert_eq!((joined.membership.id, joined.membership.role), (id(11), Role::Admin));
    assert_eq!((joined.organization.id, joined.organization.name.as_str()), (id(101), "organization 101"));
    let elsewhere = bearer::by_session(&mut tx, &[1; 32], Some(id(102))).await.unwrap().unwrap();
    assert!(elsewhere.joined.is_none());
    assert!(bearer::by_session(&mut tx, &[2; 32], None).await.unwrap().is_none());
    sessions::touch(&mut tx, id(50), NOW, NOW.plus_seconds(5)).await.unwrap();
    sessions::touch(&mut tx, id(50), NOW, NOW.plus_seconds(9)).await.unwrap();
    let bearer = bearer::by_session(&mut tx, &[1; 32], None).await.unwrap().unwrap();
    assert_eq!(bearer.last_used_at, Some(NOW.plus_seconds(5)));
}

async fn tokens_are_exchanged_once(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 0).await;
    sessions::insert(&mut tx, &session(id(50), id(1)), &[1; 32]).await.unwrap();
    let until = NOW.plus_seconds(90);
    assert!(sessions::replace_token(&mut tx, id(50), &[1; 32], &[2; 32], until).await.unwrap());
    assert!(!sessions::replace_token(&mut tx, id(50), &[1; 32], &[3; 32], until).await.unwrap());
    assert!(bearer::by_session(&mut tx, &[1; 32], None).await.unwrap().is_none());
    assert_eq!(bearer::by_session(&mut tx, &[2; 32], None).await.unwrap().unwrap().expires_at, until);
}

async fn sessions_end(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 2, 0).await;
    for number in 1..=6_u8 {
        let owner = if number == 6 { id(2) } else { id(1) };
        sessions::insert(&mut tx, &session(id(50 + u128::from(number)), owner), &[number; 32]).await.unwrap();
    }
    let left = async |tx: &mut windlass_store::Tx, now| sessions::of_user(tx, id(1), now).await.unwrap().len();
    assert_eq!(left(&mut tx, NOW).await, 5);
    assert_eq!(left(&mut tx, NOW.plus_seconds(60)).await, 0);
    assert!(!sessions::delete(&mut tx, id(1), id(56)).await.unwrap());
    assert!(sessions::delete(&mut tx, id(1), id(51)).await.unwrap());
    sessions::keep_newest(&mut tx, id(1), 3).await.unwrap();
    let kept: Vec<_> =
        sessions::of_user(&mut tx, id(1), NOW).await.unwrap().into_iter().map(|session| session.id).collect();
    assert_eq!(kept, [id(55), id(54), id(53)]);
    assert_eq!(sessions::delete_others(&mut tx, id(1), id(54)).await.unwrap(), 2);
    assert_eq!(left(&mut tx, NOW).await, 1);
    assert_eq!(sessions::delete_all(&mut tx, id(1)).await.unwrap(), 1);
    assert_eq!(sessions::delete_expired(&mut tx, NOW).await.unwrap(), 0);
    assert_eq!(sessions::delete_expired(&mut tx, NOW.plus_seconds(60)).await.unwrap(), 1);
}
