//! The number of queries does not grow with the number of records.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::json;
use windlass_api::Role;
use windlass_testing::on_sqlite_and_long_on_postgres;

use crate::deploys;
use crate::support::{TestServer, id_of};
use crate::walk::{World, operations, world};

on_sqlite_and_long_on_postgres!(world: queries_are_constant);

async fn queries_are_constant(world: World) {
    // A page with forks takes one query more, for their parents.
    let fork = operations().into_iter().find(|operation| operation.id == "fork_extension").expect("it is described");
    let valid = world.valid(&fork, world.owner()).await;
    world.call(&fork, &valid).by(world.owner()).ok().await;
    let few = counts(&world).await;
    let expected = [
        ("is_admin_registered", 1),
        ("get_organization", 2),
        ("get_organization_users", 2),
        ("create_organization", 15),
        ("update_auto_update", 6),
        ("update_theme", 6),
        ("get_application", 11),
        ("list_applications", 9),
        ("get_deployment_by_id", 9),
        ("list_deployments", 5),
        ("get_logs_of_an_application", 7),
        ("follow_logs_of_an_application", 2),
        ("download_logs_of_an_application", 2),
        ("get_deployment_logs", 8),
        ("follow_deployment_logs", 2),
        ("download_deployment_logs", 3),
        ("handle_deploy", 48),
    ];
    assert_eq!(expected.map(|(operation, _)| (operation, few[operation])), expected);
    let owner = world.owner();
    for name in ["b", "c", "d", "e", "f"] {
        let person = world.server.join(owner, name, Role::Member).await;
        let theirs = world.server.post("/organizations", json!({ "name": name })).by(&person).ok().await;
        // The owner shares these with their members, so they show in the owner's records.
        let invitation = json!({ "email": owner.email, "organization_id": theirs["id"] });
        let token = world.server.post("/organizations/invite/send", invitation).by(&person).ok().await["token"].clone();
        world.server.post("/organizations/invite/accept", json!({ "token": token })).by(owner).ok().await;
        let extra = json!({ "email": format!("{name}@elsewhere.example") });
        world.server.post("/organizations/invite/send", extra).by(owner).ok().await;
        // Applications of other people, with some history.
        let application = world.server.running(&person, deploys::least(name)).await;
        world.server.print(id_of(&application["deployments"][0]), (0..50).map(|number| number.to_string())).await;
        for _ in 0..3 {
            let redeploy = json!({ "id": application["id"] });
            world.server.post("/deploy/application/redeploy", redeploy).by(&person).ok().await;
        }
    }
    assert_eq!(counts(&world).await, few);
}

async fn counts(world: &World) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for operation in operations() {
        let caller = world.fresh_caller(&operation).await;
        let valid = world.valid(&operation, &caller).await;
        let before = world.server.app.db.queries();
        world.call(&operation, &valid).by(&caller).ok().await;
        world.server.resets_end().await;
        // A stream reads on as long as it is followed: how often says nothing about the number of records. A whole chain is read in pieces.
        if !matches!(operation.id.as_str(), "follow_events" | "verify_audit_log") {
            counts.insert(operation.id, world.server.app.db.queries() - before);
        }
        streams_end(&world.server).await;
    }
    counts
}

/// A follower that has not noticed yet that its client is gone would read on, and be counted with the next operation.
async fn streams_end(server: &TestServer) {
    let metrics = &server.app.metrics;
    let deadline = Instant::now() + Duration::from_secs(20);
    while metrics.log_followers.get() + metrics.event_followers.get() > 0 {
        assert!(Instant::now() < deadline, "a stream goes on without its client");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
