//! Requests that must not be done twice.

use serde_json::Value;
use windlass_api::Role;
use windlass_server::service::housekeeping;
use windlass_testing::on_both_databases;

use crate::applications::jobs_of;
use crate::deploys::least;
use crate::support::{Person, TestServer, id_of, server};

on_both_databases!(server: a_request_with_a_key_is_done_once, many_requests_with_one_key);

async fn a_request_with_a_key_is_done_once(server: TestServer) {
    let ada = server.admin().await;
    let grace = server.join(&ada, "grace", Role::Member).await;
    let call = |body: Value, person: &Person| {
        server.post("/deploy/application", body).by(person).header("idempotency-key", "ci-run-17")
    };
    let first = call(least("shop"), &ada).send().await;
    assert_eq!(first.json["message"], "Deployment queued");
    server.make_live(id_of(&first.json["data"]["deployments"][0])).await;
    let again = call(least("shop"), &ada).send().await;
    assert_eq!(again.json["message"], "This was done already; nothing was done again");
    assert_eq!(again.json["data"]["id"], first.json["data"]["id"]);
    assert_eq!(again.json["data"]["status"]["status"], "running", "as it is now");
    assert_eq!(again.json["data"]["deployments"].as_array().unwrap().len(), 1);
    let message = call(least("other"), &ada).fails(409, "idempotency_key_reused").await;
    assert!(message.starts_with("Idempotency-Key: "), "{message}");
    // Another user's key is another one.
    assert_eq!(call(least("shop"), &grace).ok().await["deployments"].as_array().unwrap().len(), 2);
    for bad in ["", &"x".repeat(201), "a b"] {
        let call = server.post("/deploy/application", least("shop")).by(&ada).header("idempotency-key", bad);
        let message = call.fails(400, "invalid_request").await;
        assert!(message.starts_with("Idempotency-Key: "), "{message}");
    }
    // A day later it is forgotten, also before it was swept.
    server.app.clock.advance_seconds(86_400);
    assert_eq!(call(least("shop"), &ada).ok().await["deployments"].as_array().unwrap().len(), 3);
    server.app.clock.advance_seconds(86_401);
    assert!(housekeeping::sweep(&server.app).await.unwrap() >= 2);
}

async fn many_requests_with_one_key(server: TestServer) {
    let ada = server.admin().await;
    let call = || server.post("/deploy/application", least("shop")).by(&ada).header("idempotency-key", "once").ok();
    let (a, b, c, d, e, f, g, h, i, j) =
        tokio::join!(call(), call(), call(), call(), call(), call(), call(), call(), call(), call());
    for other in [b, c, d, e, f, g, h, i, j] {
        assert_eq!(other["id"], a["id"]);
        assert_eq!(other["deployments"].as_array().unwrap().len(), 1);
    }
    assert_eq!(jobs_of(&server, &a).await, ["deploy"]);
}
