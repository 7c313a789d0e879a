use windlass_api::Role;
use windlass_store::invitations::{self, Invitation};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, database, id, populate};

on_both_databases!(database: invitations_are_replaced_found_and_used);

fn invitation(number: u128, email: &str) -> Invitation {
    Invitation {
        id: id(number),
        organization_id: id(101),
        email: email.into(),
        role: Role::Member,
        expires_at: NOW.plus_seconds(60),
        created_at: NOW,
    }
}

async fn invitations_are_replaced_found_and_used(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 2).await;
    invitations::put(&mut tx, &invitation(61, "a@example.org"), &[1; 32], id(1)).await.unwrap();
    invitations::put(&mut tx, &invitation(62, "b@example.org"), &[2; 32], id(1)).await.unwrap();
    invitations::put(&mut tx, &invitation(63, "a@example.org"), &[3; 32], id(1)).await.unwrap();
    assert_eq!(invitations::count(&mut tx, id(101), "", NOW).await.unwrap(), 2);
    assert_eq!(invitations::count(&mut tx, id(101), "a@example.org", NOW).await.unwrap(), 1);
    assert_eq!(invitations::count(&mut tx, id(101), "", NOW.plus_seconds(60)).await.unwrap(), 0);
    let open = invitations::of_organization(&mut tx, id(101), NOW).await.unwrap();
    assert_eq!(open.iter().map(|invitation| invitation.id).collect::<Vec<_>>(), [id(63), id(62)]);
    assert!(invitations::by_token(&mut tx, &[1; 32], NOW).await.unwrap().is_none());
    assert_eq!(invitations::by_token(&mut tx, &[3; 32], NOW).await.unwrap().unwrap().id, id(63));
    assert!(invitations::by_token(&mut tx, &[3; 32], NOW.plus_seconds(60)).await.unwrap().is_none());
    assert!(invitations::exists(&mut tx, id(101), id(63)).await.unwrap());
    assert!(!invitations::exists(&mut tx, id(102), id(63)).await.unwrap());
    assert!(invitations::delete(&mut tx, id(102), id(63)).await.unwrap().is_none());
    assert_eq!(invitations::delete(&mut tx, id(101), id(63)).await.unwrap().unwrap().email, "a@example.org");
    assert!(invitations::delete(&mut tx, id(101), id(63)).await.unwrap().is_none());
    invitations::put(&mut tx, &invitation(64, "c@example.org"), &[4; 32], id(1)).await.unwrap();
    assert_eq!(invitations::delete_sent_by(&mut tx, id(102), id(1)).await.unwrap(), 0);
    assert_eq!(invitations::delete_sent_by(&mut tx, id(101), id(1)).await.unwrap(), 2);
    invitations::put(&mut tx, &invitation(65, "d@example.org"), &[5; 32], id(1)).await.unwrap();
    assert_eq!(invitations::delete_expired(&mut tx, NOW).await.unwrap(), 0);
    assert_eq!(invitations::delete_expired(&mut tx, NOW.plus_seconds(60)).await.unwrap(), 1);
}
