//! What a plan says beforehand is what the deploy then does.

use serde_json::{Value, json};
use windlass_testing::Kind;

use super::support::*;

fn plan(platform: &Platform, id: &str) -> Value {
    platform.call("GET", &format!("/deploy/application/{id}/plan"), &Value::Null)
}

fn said(plan: &Value) -> (&str, &str) {
    (plan["effect"].as_str().unwrap(), plan["is_gapless"].as_str().unwrap())
}

fn change(platform: &Platform, id: &str, mut fields: Value) {
    fields["id"] = json!(id);
    platform.call("PUT", "/deploy/application", &fields);
}

async fn redeployed(platform: &Platform, id: &str) -> Value {
    let queued = platform.call("POST", "/deploy/application/redeploy", &json!({ "id": id }));
    let deployed = platform.deployed(&id_of(&queued)).await;
    platform.settled().await;
    assert_eq!(plan(platform, id)["effect"], "nothing", "right after a deploy nothing is left to change");
    deployed
}

/// What is in the image of a deployment: the same if the same was built.
fn layers(deployment: &Value) -> String {
    docker(&[
        "image",
        "inspect",
        "--format",
        "{{json .RootFS.Layers}}",
        deployment["container_image"].as_str().unwrap(),
    ])
}

#[tokio::test(flavor = "multi_thread")]
async fn the_deploy_does_what_the_plan_has_said() {
    let platform = Platform::on(Kind::Sqlite, &[]).await;
    let repository = repository(&platform, "shop", "v1");
    let application = platform.deploy(&body("shop", &repository));
    let (id, host) = (id_of(&application), "shop.localhost");
    let first = platform.deployed(&newest_deployment(&application)).await;
    platform.settled().await;
    let found = plan(&platform, &id);
    assert_eq!((said(&found), &found["changes"]), (("nothing", "yes"), &json!([])), "{found}");
    assert_eq!((&found["live_deployment_id"], &found["newest_commit_hash"]), (&first["id"], &first["commit_hash"]));

    change(&platform, &id, json!({ "environment_variables": { "GREETING": "hello" } }));
    let found = plan(&platform, &id);
    assert_eq!(said(&found), ("containers", "yes"), "{found}");
    assert_eq!(found["changes"][0]["variable"], "GREETING");
    let second = redeployed(&platform, &id).await;
    assert!(platform.visit(host, "/env").await.1.contains("hello"));
    assert_eq!((layers(&second), &second["held_ms"]), (layers(&first), &json!(0)), "what was built is the same");

    let hash = commit(&repository, "v2");
    let found = plan(&platform, &id);
    assert_eq!((said(&found), &found["newest_commit_hash"]), (("build", "yes"), &json!(hash)), "{found}");
    let third = redeployed(&platform, &id).await;
    assert_eq!((&third["commit_hash"], &third["held_ms"]), (&json!(hash), &json!(0)));
    assert_ne!(layers(&third), layers(&second));

    // No container has the volume yet, so none has to end for it.
    let volume = json!({ "name": "data", "path": "/data" });
    platform.call("POST", &format!("/deploy/application/{id}/volumes"), &volume);
    let found = plan(&platform, &id);
    assert_eq!((said(&found), &found["changes"][0]["field"]), (("containers", "yes"), &json!("volumes")), "{found}");
    assert_eq!(redeployed(&platform, &id).await["held_ms"], 0);
    let found = plan(&platform, &id);
    assert!(said(&found) == ("nothing", "no") && found["gap"].as_str().unwrap().contains("data"), "{found}");
    change(&platform, &id, json!({ "environment_variables": { "GREETING": "hello again" } }));
    assert_eq!(said(&plan(&platform, &id)), ("containers", "no"));
    let held = redeployed(&platform, &id).await;
    assert!(held["held_ms"].as_i64().unwrap() > 0, "{held}");

    // Only the deploy knows what a new commit makes of it.
    commit(&repository, "v3");
    assert_eq!(said(&plan(&platform, &id)), ("build", "depends"));
    change(&platform, &id, json!({ "build_pack": "dockerfile" }));
    assert_eq!(said(&plan(&platform, &id)), ("build", "no"));
    let held = redeployed(&platform, &id).await;
    assert!(held["held_ms"].as_i64().unwrap() > 0, "{held}");
}
