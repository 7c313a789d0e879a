//! An empty database of the test's own, and rows to put into it.

use std::ops::Deref;

use uuid::Uuid;
use windlass_api::{
    ApplicationState, Configuration, ContainerStatus, DeploymentKind, DeploymentState, DeploymentTrigger, Role,
    Timestamp, Triggers, UserType, Wanted,
};
use windlass_store::applications::{self, Application};
use windlass_store::deployments::{self, Deployment};
use windlass_store::memberships::{self, Membership};
use windlass_store::organizations::{self, Organization};
use windlass_store::releases::{self, Artifact, Image, Release};
use windlass_store::users::{self, User};
use windlass_store::{Db, Kind, Tx};
use windlass_testing::DatabaseLocation;

pub const NOW: Timestamp = Timestamp::from_micros(1_767_225_600_000_001);

pub struct TestDb {
    db: Db,
    pub place: DatabaseLocation,
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
    let place = DatabaseLocation::fresh(kind).await;
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

/// Application `number` of organization 101, with the domain `app<number>.localhost`.
pub fn application(number: u128) -> Application {
    Application {
        id: id(number),
        organization_id: id(101),
        user_id: id(1),
        name: format!("app {number}"),
        repository: "https://git.example.org/shop.git".into(),
        repository_key: "git.example.org/shop".into(),
        connection_id: None,
        hook_id: String::new(),
        deploy_key_id: String::new(),
        deploy_key: String::new(),
        domain: format!("app{number}.localhost"),
        configuration: Configuration::default().to_json().unwrap(),
        refers_to_shared: false,
        sealed_variables: vec![1],
        sealed_credentials: None,
        sealed_webhook: vec![1],
        triggers: Triggers::default().to_json().unwrap(),
        labels: "[]".into(),
        wanted: Wanted::Running,
        live_deployment_id: None,
        held_until: None,
        status_id: id(number + 1_000_000),
        state: ApplicationState::Deploying,
        state_changed_at: NOW,
        created_at: NOW,
        updated_at: NOW,
    }
}

pub fn release(number: u128, application: u128) -> Release {
    Release {
        id: id(number),
        application_id: id(application),
        configuration: Configuration::default().to_json().unwrap(),
        sealed_variables: vec![1],
        commit_hash: String::new(),
        commit_author: String::new(),
        commit_message: String::new(),
        artifact: None,
        live_at: None,
        removed_at: None,
        created_at: NOW,
    }
}

pub fn deployment(number: u128, application: u128, release: u128, kind: DeploymentKind) -> Deployment {
    Deployment {
        id: id(number),
        application_id: id(application),
        release_id: id(release),
        triggered_by: DeploymentTrigger::User,
        user_id: Some(id(1)),
        kind,
        without_cache: false,
        status_id: id(number + 2_000_000),
        state: DeploymentState::Queued,
        state_changed_at: NOW,
        failure: String::new(),
        reason: String::new(),
        container_id: String::new(),
        container_name: String::new(),
        container_status: ContainerStatus::None,
        started_at: None,
        finished_at: None,
        requests_served: 0,
        requests_failed: 0,
        held_at: None,
        held_before: 0,
        held_ms: 0,
        held_requests: 0,
        restores: "[]".into(),
        created_at: NOW,
        updated_at: NOW,
    }
}

pub async fn add_application(tx: &mut Tx, number: u128) {
    applications::insert(tx, &application(number)).await.unwrap();
}

/// A release and the deployment that makes it, which has the same id.
pub async fn add_deployment(tx: &mut Tx, number: u128, application: u128) {
    releases::insert(tx, &release(number, application)).await.unwrap();
    let deployment = deployment(number, application, number, DeploymentKind::Deploy);
    deployments::insert(tx, &deployment).await.unwrap();
}

/// The deployment went through, and visitors are served by it.
pub async fn make_live(tx: &mut Tx, number: u128, application: u128, now: Timestamp) {
    use DeploymentState::{Building, Cloning, Deployed, Deploying, Queued};
    for (from, to) in [(Queued, Cloning), (Cloning, Building), (Building, Deploying), (Deploying, Deployed)] {
        assert!(deployments::advance(tx, id(number), from, to, now).await.unwrap());
    }
    let image = Image { name: "shop".into(), id: format!("sha256:{number}"), port: 3000, bytes: 5 };
    releases::set_artifact(tx, id(number), Some(&Artifact::Image(image))).await.unwrap();
    releases::set_live_at(tx, id(number), now).await.unwrap();
    deployments::set_container(tx, id(number), "wl", "c", ContainerStatus::Running, NOW).await.unwrap();
    applications::set_live(tx, id(application), Some(id(number))).await.unwrap();
    applications::settle(tx, id(application), now).await.unwrap();
}
