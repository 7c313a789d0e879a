//! How many requests a client may send.

use serde_json::json;
use windlass_store::Kind;
use windlass_testing::on_both_databases;

use crate::support::{Person, TestServer, kind};

on_both_databases!(kind: an_address_is_limited, health_is_not_limited, an_account_is_limited_over_all_its_logins, a_key_has_its_own_limit);

async fn an_address_is_limited(kind: Kind) {
    let server = TestServer::with(kind, &[("address-requests", "5"), ("trusted-proxies", "127.0.0.1")]).await;
    let from = |address: &str| server.get("/auth/is-admin-registered").header("x-forwarded-for", address);
    for _ in 0..5 {
        from("192.0.2.7").ok().await;
    }
    server.app.clock.advance_seconds(15);
    let reply = from("192.0.2.7").send().await;
    assert_eq!((reply.status, reply.headers["retry-after"].to_str().unwrap()), (429, "45"));
    assert_eq!(reply.json["error"], "rate_limited");
    // Their other requests are refused too, known path or not; other clients go on.
    server.get("/nothing").header("x-forwarded-for", "192.0.2.7").fails(429, "rate_limited").await;
    from("192.0.2.8").ok().await;
    // An IPv6 customer has 2^64 addresses and one limit.
    for number in 1..=5 {
        from(&format!("2001:db8:1:2::{number}")).ok().await;
    }
    from("2001:db8:1:2:ffff::1").fails(429, "rate_limited").await;
    from("2001:db8:1:3::1").ok().await;
    server.app.clock.advance_seconds(45);
    from("192.0.2.7").ok().await;
}

/// What asks whether the server is well must not be told that it is not because it asked too often.
async fn health_is_not_limited(kind: Kind) {
    let server = TestServer::with(kind, &[("address-requests", "3")]).await;
    for _ in 0..10 {
        server.get("/health").ok().await;
        server.get("/health/ready").ok().await;
    }
    for _ in 0..3 {
        server.get("/auth/is-admin-registered").ok().await;
    }
    server.get("/auth/is-admin-registered").fails(429, "rate_limited").await;
    server.get("/health").ok().await;
}

async fn an_account_is_limited_over_all_its_logins(kind: Kind) {
    let server = TestServer::with(kind, &[("account-requests", "4")]).await;
    let ada = server.admin().await;
    let body = json!({ "email": ada.email, "password": crate::support::PASSWORD });
    let second = server.post("/auth/login", body).ok().await["access_token"].as_str().unwrap().to_owned();
    let second = Person { token: second, ..ada.clone() };
    for caller in [&ada, &second, &ada, &second] {
        server.get("/user").by(caller).ok().await;
    }
    for caller in [&ada, &second] {
        let reply = server.get("/user").by(caller).send().await;
        assert_eq!((reply.status, reply.headers["retry-after"].to_str().unwrap()), (429, "60"));
    }
    server.app.clock.advance_seconds(60);
    server.get("/user").by(&ada).ok().await;
}

async fn a_key_has_its_own_limit(kind: Kind) {
    let server = TestServer::with(kind, &[("key-requests", "3")]).await;
    let ada = server.admin().await;
    let mut keys = Vec::new();
    for name in ["a", "b"] {
        let created = server.post("/auth/api-keys", json!({ "name": name })).by(&ada).ok().await;
        keys.push(Person { token: created["key"].as_str().unwrap().into(), ..ada.clone() });
    }
    for _ in 0..3 {
        server.get("/organizations").by(&keys[0]).ok().await;
    }
    server.get("/organizations").by(&keys[0]).fails(429, "rate_limited").await;
    server.get("/organizations").by(&keys[1]).ok().await;
    server.get("/organizations").by(&ada).ok().await;
}
