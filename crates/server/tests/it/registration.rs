//! Becoming a user.

use serde_json::json;
use windlass_api::Role;
use windlass_store::Kind;
use windlass_testing::on_both_databases;

use crate::support::{PASSWORD, TestServer, kind, server, snapshot};

on_both_databases!(kind: beyond_loopback_the_first_needs_the_set_up_token, open_registration_gives_everybody_an_organization_of_their_own, an_invitation_can_bring_an_organization_of_ones_own_too);
on_both_databases!(server:
    behind_a_proxy_the_first_needs_the_set_up_token, first_user_is_the_admin, later_ones_need_an_invitation, addresses_are_unique, concurrent_first_registrations_make_one_admin,
);

async fn first_user_is_the_admin(server: TestServer) {
    let before = server.get("/auth/is-admin-registered").send().await;
    snapshot("is_admin_registered_at_first", &before.json);
    let body = json!({ "email": "Ada@Example.org", "password": PASSWORD, "username": "Ada", "organization": "Analytical Engines" });
    let registered = server.post("/auth/register", body).send().await;
    assert_eq!(registered.status, 200);
    assert_eq!(registered.status, 200, "{}", registered.text);
    assert_eq!(server.get("/auth/is-admin-registered").ok().await["admin_registered"], true);
}

async fn later_ones_need_an_invitation(server: TestServer) {
    let admin = server.admin().await;
    let body = json!({ "email": "eve@example.org", "password": PASSWORD });
    server.post("/auth/register", body.clone()).fails(403, "registration_closed").await;
    let mut with_token = body;
    with_token["token"] = "made up".into();
    server.post("/auth/register", with_token).fails(404, "not_found").await;

    let invitation = json!({ "email": "grace@example.org", "role": "admin" });
    let token = server.post("/organizations/invite/send", invitation).by(&admin).ok().await["token"].clone();
    let of_another = json!({ "email": "eve@example.org", "password": PASSWORD, "token": token });
    server.post("/auth/register", of_another).fails(403, "invitation_for_another_address").await;
    let body = json!({ "email": "grace@example.org", "password": PASSWORD, "token": token });
    let grace = server.register(body.clone()).await;
    assert_eq!(grace.organization_id, admin.organization_id);
    server.post("/auth/register", body).fails(404, "not_found").await;
}

async fn addresses_are_unique(server: TestServer) {
    let admin = server.admin().await;
    let invitation = json!({ "email": "grace@example.org" });
    let token = server.post("/organizations/invite/send", invitation).by(&admin).ok().await["token"].clone();
    server.register(json!({ "email": "grace@example.org", "password": PASSWORD, "token": token })).await;
    // A second organization may invite the same address; registering again is the wrong answer to that.
    let second = server.post("/organizations", json!({ "name": "Second" })).by(&admin).ok().await;
    let invitation = json!({ "email": "grace@example.org", "organization_id": second["id"] });
    let token = server.post("/organizations/invite/send", invitation).by(&admin).ok().await["token"].clone();
    let again = json!({ "email": "grace@example.org", "password": PASSWORD, "token": token });
    let message = server.post("/auth/register", again).fails(409, "email_taken").await;
    assert!(message.starts_with("email:"), "{message}");
}

async fn concurrent_first_registrations_make_one_admin(server: TestServer) {
    let register = |n: u32| {
        server.post("/auth/register", json!({ "email": format!("p{n}@example.org"), "password": PASSWORD })).send()
    };
    let (a, b, c) = tokio::join!(register(1), register(2), register(3));
    let mut statuses = [a.status, b.status, c.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 403, 403]);
}

async fn beyond_loopback_the_first_needs_the_set_up_token(kind: Kind) {
    let server = TestServer::with(kind, &[("listen", "0.0.0.0:0")]).await;
    let mut body = json!({ "email": "ada@example.org", "password": PASSWORD });
    server.post("/auth/register", body.clone()).fails(403, "setup_token_required").await;
    body["token"] = "wrong".into();
    server.post("/auth/register", body.clone()).fails(403, "setup_token_required").await;
    body["token"] = server.app.setup_token.reveal().into();
    server.register(body).await;
}

/// A proxy on the same machine makes every visitor come from there.
async fn behind_a_proxy_the_first_needs_the_set_up_token(server: TestServer) {
    let mut body = json!({ "email": "ada@example.org", "password": PASSWORD });
    for (name, value) in [
        ("x-forwarded-for", "198.51.100.7"),
        ("x-forwarded-host", "windlass.example.org"),
        ("x-forwarded-proto", "https"),
        ("x-real-ip", "198.51.100.7"),
        ("forwarded", "for=198.51.100.7"),
        ("via", "1.1 proxy"),
        ("cf-connecting-ip", "198.51.100.7"),
    ] {
        let asked = server.post("/auth/register", body.clone()).header(name, value);
        let message = asked.fails(403, "setup_token_required").await;
        assert!(message.starts_with("token: "), "{message}");
    }
    server.post("/auth/register", body.clone()).header("host", "windlass.example.org").fails(403, "forbidden").await;
    // One that adds nothing is of another user.
    let url = format!("http://{}/api/v1/auth/register", server.address);
    let mut other = tokio::process::Command::new("setpriv");
    other.args(["--reuid=65534", "--regid=65534", "--clear-groups", "curl", "-s", "-d", &body.to_string(), &url]);
    let said = String::from_utf8(other.output().await.unwrap().stdout).unwrap();
    assert!(said.contains("setup_token_required"), "{said}");
    body["token"] = server.app.setup_token.reveal().into();
    server.post("/auth/register", body).header("x-forwarded-for", "198.51.100.7").ok().await;
}

async fn open_registration_gives_everybody_an_organization_of_their_own(kind: Kind) {
    let server = TestServer::with(kind, &[("open-registration", "true")]).await;
    let admin = server.admin().await;
    let body = json!({ "email": "eve@example.org", "password": PASSWORD });
    let eve = server.register(body).await;
    assert_ne!(eve.organization_id, admin.organization_id);
    let user = server.get("/user").by(&eve).ok().await;
    assert_eq!((&user["type"], &user["is_verified"]), (&json!("user"), &json!(false)));
    assert_eq!(user["organizations"][0]["name"], "eve's team");
    // Only the first organization may touch the host.
    let permissions = user["organization_users"][0]["permissions"].as_array().unwrap();
    assert!(!permissions.contains(&json!("extension:host")));
}

async fn an_invitation_can_bring_an_organization_of_ones_own_too(kind: Kind) {
    let server = server(kind).await;
    let admin = server.admin().await;
    let invitation = json!({ "email": "grace@example.org", "role": Role::Viewer });
    let token = server.post("/organizations/invite/send", invitation).by(&admin).ok().await["token"].clone();
    let body =
        json!({ "email": "grace@example.org", "password": PASSWORD, "token": token, "organization": "Compilers" });
    let grace = server.register(body).await;
    let names: Vec<_> = server
        .get("/user/organizations")
        .by(&grace)
        .ok()
        .await
        .as_array()
        .unwrap()
        .iter()
        .map(|joined| joined["organization"]["name"].clone())
        .collect();
    assert_eq!(names, ["Analytical Engines", "Compilers"]);
    let current = server.get("/organizations").by(&grace).ok().await;
    assert_eq!(current["name"], "Analytical Engines");
}
