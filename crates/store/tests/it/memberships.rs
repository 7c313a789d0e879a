use windlass_api::Role;
use windlass_store::{Error, memberships};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, database, id, join, membership, populate};

on_both_databases!(database: members_and_roles, what_two_users_share, foreign_keys_are_enforced);

async fn members_and_roles(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 3, 2).await;
    join(&mut tx, 11, 101, 1, Role::Owner).await;
    join(&mut tx, 12, 101, 2, Role::Viewer).await;
    join(&mut tx, 13, 102, 3, Role::Owner).await;
    let again = memberships::joined(&mut tx, id(2), id(101)).await.unwrap().unwrap();
    assert_eq!((again.membership.role, again.organization.name.as_str()), (Role::Viewer, "organization 101"));
    assert!(memberships::joined(&mut tx, id(3), id(101)).await.unwrap().is_none());
    let members: Vec<_> =
        memberships::members(&mut tx, id(101)).await.unwrap().into_iter().map(|m| m.user.id).collect();
    assert_eq!(members, [id(1), id(2)]);
    assert_eq!(memberships::count(&mut tx, id(101)).await.unwrap(), 2);
    assert_eq!(memberships::count_of_user(&mut tx, id(2)).await.unwrap(), 1);
    assert_eq!(memberships::owners(&mut tx, id(101)).await.unwrap(), 1);
    assert!(memberships::exists(&mut tx, id(101), id(2)).await.unwrap());
    assert!(!memberships::exists(&mut tx, id(101), id(3)).await.unwrap());
    assert!(memberships::has_email(&mut tx, id(101), "user2@example.org").await.unwrap());
    assert!(!memberships::has_email(&mut tx, id(101), "user3@example.org").await.unwrap());
    let second = memberships::joined_by_email(&mut tx, "user2@example.org", id(101)).await.unwrap().unwrap();
    assert_eq!((second.membership.user_id, second.organization.id), (id(2), id(101)));
    assert!(memberships::joined_by_email(&mut tx, "user3@example.org", id(101)).await.unwrap().is_none());
    memberships::set_role(&mut tx, id(12), Role::Owner, NOW.plus_seconds(1)).await.unwrap();
    let member = memberships::member(&mut tx, id(101), id(2)).await.unwrap().unwrap();
    assert_eq!((member.membership.role, member.membership.updated_at), (Role::Owner, NOW.plus_seconds(1)));
    memberships::delete(&mut tx, id(12)).await.unwrap();
    assert!(memberships::member(&mut tx, id(101), id(2)).await.unwrap().is_none());
}

async fn what_two_users_share(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 3, 3).await;
    join(&mut tx, 11, 101, 1, Role::Owner).await;
    join(&mut tx, 12, 101, 2, Role::Viewer).await;
    join(&mut tx, 13, 102, 2, Role::Owner).await;
    join(&mut tx, 14, 103, 1, Role::Owner).await;
    join(&mut tx, 15, 103, 2, Role::Member).await;
    let ids = |joined: Vec<memberships::Joined>| -> Vec<_> {
        joined.into_iter().map(|joined| (joined.membership.user_id, joined.organization.id)).collect()
    };
    let shared = memberships::shared_by_user(&mut tx, id(2), id(1)).await.unwrap();
    assert_eq!(ids(shared), [(id(2), id(101)), (id(2), id(103))]);
    let own = memberships::shared_by_user(&mut tx, id(2), id(2)).await.unwrap();
    assert_eq!(ids(own), [(id(2), id(101)), (id(2), id(102)), (id(2), id(103))]);
    assert_eq!(ids(memberships::shared_by_user(&mut tx, id(2), id(3)).await.unwrap()), []);
    let among = memberships::members_among(&mut tx, id(102), &[id(1), id(2), id(3)]).await.unwrap();
    assert_eq!(among.iter().map(|member| member.user.id).collect::<Vec<_>>(), [id(2)]);
    assert!(memberships::members_among(&mut tx, id(102), &[]).await.unwrap().is_empty());
}

async fn foreign_keys_are_enforced(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 0).await;
    let dangling = membership(11, 101, 1, Role::Owner);
    assert!(matches!(memberships::insert(&mut tx, &dangling).await, Err(Error::Unexpected(_))));
}
