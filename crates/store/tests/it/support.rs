//! An empty database of the test's own, and rows to put into it.

use std::ops::Deref;

use uuid::Uuid;
use windlass_api::{Role, Timestamp, UserType};
use windlass_store::memberships::{self, Membership};
use windlass_store::organizations::{self, Organization};
use windlass_store::users::{self, User};
use windlass_store::{Db, Kind, Tx};
use windlass_testing::Place;

pub const NOW: Timestamp = Timestamp::from_micros(1_767_225_600_000_001);

pub struct TestDb {
    db: Db,
    pub place: Place,
}

impl Deref for TestDb {
    type Target = Db;

    fn deref(&self) -> &Db {
        &self.db
    }
}

/// For `on_both_databases!`.
pub async fn database(kind: Kind) -> TestDb {
    let empty = empty_database(kind).await;
    empty.migrate().await.unwrap();
    empty
}

pub async fn empty_database(kind: Kind) -> TestDb {
    let place = Place::fresh(kind).await;
    TestDb { db: place.open().await, place }
}

pub fn id(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

pub fn user(number: u128) -> User {
    User {
        id: id(number),
        username: format!("user {number}"),
        email: format!("user{number}@example.org"),
        avatar: String::new(),
        kind: UserType::User,
        is_verified: true,
        two_factor_enabled: false,
        created_at: NOW,
        updated_at: NOW,
    }
}

pub fn organization(number: u128) -> Organization {
    Organization {
        id: id(number),
        name: format!("organization {number}"),
        description: String::new(),
        host_access: false,
        created_at: NOW,
        updated_at: NOW,
    }
}

pub fn membership(number: u128, organization: u128, user: u128, role: Role) -> Membership {
    Membership {
        id: id(number),
        organization_id: id(organization),
        user_id: id(user),
        role,
        created_at: NOW,
        updated_at: NOW,
    }
}

/// Users 1 to `users`, organizations 101 to 100 + `organizations`.
pub async fn populate(tx: &mut Tx, users: u128, organizations: u128) {
    for number in 1..=users {
        users::insert(tx, &user(number), "hash").await.unwrap();
    }
    for number in 101..=100 + organizations {
        organizations::insert(tx, &organization(number)).await.unwrap();
    }
}

pub async fn join(tx: &mut Tx, number: u128, organization: u128, user: u128, role: Role) {
    memberships::insert(tx, &membership(number, organization, user, role)).await.unwrap();
}
