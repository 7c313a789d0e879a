//! The number of queries does not grow with the number of records.

use serde_json::json;
use windlass_api::Role;
use windlass_testing::on_both_databases;

use crate::support::{Call, Person, TestServer, server};

on_both_databases!(server: queries_are_constant);

async fn queries_are_constant(server: TestServer) {
    let admin = server.admin().await;
    let few = counts(&server, &admin).await;
    let expected = [
        ("is_admin_registered", 1),
        ("get_organization", 4),
        ("get_organization_users", 4),
        ("create_organization", 8),
        ("update_auto_update", 4),
        ("update_theme", 4),
        ("get_user", 2),
        ("list_my_organizations", 2),
        ("get_settings", 3),
        ("list_invitations", 3),
        ("list_sessions", 2),
    ];
    assert_eq!(few, expected);
    for name in ["b", "c", "d", "e", "f"] {
        let person = server.join(&admin, name, Role::Member).await;
        server.post("/organizations", json!({ "name": name })).by(&person).ok().await;
    }
    assert_eq!(counts(&server, &admin).await, expected);
}

async fn counts(server: &TestServer, admin: &Person) -> Vec<(&'static str, u64)> {
    let mut counts = Vec::new();
    for (name, call) in calls(server) {
        let before = server.app.db.queries();
        call.by(admin).ok().await;
        counts.push((name, server.app.db.queries() - before));
    }
    counts
}

fn calls(server: &TestServer) -> Vec<(&'static str, Call<'_>)> {
    vec![
        ("is_admin_registered", server.get("/auth/is-admin-registered")),
        ("get_organization", server.get("/organizations")),
        ("get_organization_users", server.get("/organizations/users")),
        ("create_organization", server.post("/organizations", json!({ "name": "More" }))),
        ("update_auto_update", server.patch("/user/settings/auto-update", json!({ "auto_update": true }))),
        ("update_theme", server.patch("/user/settings/theme", json!({ "theme": "dark" }))),
        ("get_user", server.get("/user")),
        ("list_my_organizations", server.get("/user/organizations")),
        ("get_settings", server.get("/user/settings")),
        ("list_invitations", server.get("/organizations/invites")),
        ("list_sessions", server.get("/auth/sessions")),
    ]
}
