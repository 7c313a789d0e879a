//! Variables that applications share, in containers, builds and logs.

use serde_json::{Value, json};
use windlass_testing::{Kind, testapp};

use super::support::*;

const SECRET: &str = "shared-key-0123456789abcdef";

fn share(platform: &Platform, host: &str) {
    let body = json!({
        "variables": { "HOST": host, "KEY": SECRET, "URL": "pg://u:${{shared.KEY}}@${{shared.HOST}}/shop" }, "secret_names": ["KEY"],
    });
    platform.call("PUT", "/variables/shared", &body);
}

async fn environment(platform: &Platform, host: &str) -> Value {
    let (status, text) = platform.visit(host, "/env").await;
    assert_eq!(status, 200, "{text}");
    serde_json::from_str(&text).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deploy_fills_them_in_and_a_rollback_brings_the_old_ones_back() {
    let platform = Platform::on(Kind::Sqlite, &[]).await;
    let repository = repository(&platform, "shop", "v1");
    share(&platform, "one.example.org");
    let mut body = body("shop", &repository);
    body["environment_variables"] = json!({ "URL": "${{shared.URL}}", "PLAIN": "$${{shared.URL}} ${{ other }}" });
    let application = platform.deploy(&body);
    let (id, host) = (id_of(&application), "shop.localhost");
    let first = platform.deployed(&newest_deployment(&application)).await;
    platform.settled().await;
    let old = json!(format!("pg://u:{SECRET}@one.example.org/shop"));
    let seen = environment(&platform, host).await;
    assert_eq!((&seen["URL"], &seen["PLAIN"]), (&old, &json!("${{shared.URL}} ${{ other }}")));

    share(&platform, "two.example.org");
    let plan = platform.call("GET", &format!("/deploy/application/{id}/plan"), &Value::Null);
    assert_eq!((&plan["effect"], &plan["changes"][0]["variable"]), (&json!("containers"), &json!("URL")), "{plan}");
    assert_eq!(plan["changes"][0]["is_masked"], true);
    let restart = platform.call("POST", "/deploy/application/restart", &json!({ "id": id }));
    platform.deployed(&id_of(&restart)).await;
    platform.settled().await;
    assert_eq!(environment(&platform, host).await["URL"], old, "a restart is of the same release");
    let queued = platform.call("POST", "/deploy/application/redeploy", &json!({ "id": id }));
    platform.deployed(&id_of(&queued)).await;
    platform.settled().await;
    let new = json!(format!("pg://u:{SECRET}@two.example.org/shop"));
    assert_eq!(environment(&platform, host).await["URL"], new);
    let back = platform.call("POST", "/deploy/application/rollback", &json!({ "id": first["id"] }));
    platform.deployed(&id_of(&back)).await;
    platform.settled().await;
    assert_eq!(environment(&platform, host).await["URL"], old);
}

/// Neither whole, nor the part that was filled in.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_secret_of_them_is_in_no_layer_and_no_line() {
    let platform = Platform::on(Kind::Sqlite, &[]).await;
    let repository = platform.git.repository("talkative");
    let talkative =
        "ARG TOKEN=nothing\nRUN --mount=type=secret,id=TOKEN echo the build has $TOKEN and $(cat /run/secrets/TOKEN)\n";
    repository.commit(&[("Dockerfile", &testapp::dockerfile(talkative)), ("version", "one")], "one");
    share(&platform, "db.example.org");
    let mut body = body("talkative", &repository);
    body["build_variables"] = json!({ "TOKEN": "<${{shared.KEY}}>" });
    body["environment_variables"] = json!({ "URL": "${{shared.URL}}" });
    body["pre_run_command"] = json!("echo whole: $URL; echo $URL | cut -c 8-34 | sed 's/^/part: /'");
    let application = platform.deploy(&body);
    let deployment = newest_deployment(&application);
    platform.deployed(&deployment).await;
    platform.settled().await;
    let story = platform.story(&deployment);
    for said in ["the build has nothing and ********", "whole: ********", "part: ********"] {
        assert!(story.contains(said), "{said} is not in: {story}");
    }
    let logs = format!("/deploy/application/logs/{}?page_size=100", id_of(&application));
    let mut shown = vec![story, platform.call("GET", &logs, &Value::Null).to_string()];
    for image in images_of(&id_of(&application)) {
        shown.push(docker(&["history", "--no-trunc", &image]));
        shown.push(docker(&["image", "inspect", &image]));
    }
    shown.push(platform.process().said());
    for text in shown {
        assert!(!text.contains(SECRET), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compose_file_gets_what_was_filled_in() {
    let platform = Platform::on(Kind::Sqlite, &[]).await;
    let repository = platform.git.repository("shop");
    let compose = "services:\n  web:\n    build: .\n    ports: [\"3000:8080\"]\n    environment:\n      GREETING: hello ${PLACE:-nowhere}\n";
    let files = [("compose.yaml", compose), ("Dockerfile", &testapp::dockerfile("")), ("version", "one")];
    repository.commit(&files, "one");
    share(&platform, "one.example.org");
    let mut body = body("shop", &repository);
    body["build_pack"] = json!("docker-compose");
    body["environment_variables"] = json!({ "PLACE": "${{shared.HOST}}" });
    platform.deployed(&newest_deployment(&platform.deploy(&body))).await;
    assert_eq!(environment(&platform, "shop.localhost").await["GREETING"], "hello one.example.org");
    platform.settled().await;
}
