//! The port that visitors are sent to when neither the user nor the image names it.

use serde_json::{Value, json};
use windlass_testing::testapp;

use super::support::*;

/// An image that exposes what these lines say, and nothing else.
fn dockerfile(lines: &str, command: &str) -> String {
    format!(
        "FROM {} AS base\nFROM scratch\nCOPY --from=base / /\nENV PATH=/bin\nCOPY version /version\n{lines}\n\
         CMD [\"sh\", \"-c\", \"{command}\"]\n",
        testapp::IMAGE
    )
}

/// Two ports are listened on.
const TWO: &str = "LISTEN=0.0.0.0:9090 /testapp & LISTEN=0.0.0.0:3000 exec /testapp";
const ONE: &str = "LISTEN=0.0.0.0:9090 /testapp & sleep 1; kill $!; LISTEN=0.0.0.0:3000 exec /testapp";

async fn ended(platform: &Platform, name: &str, dockerfile: &str, changes: Value) -> Value {
    let repository = platform.git.repository(name);
    repository.commit(&[("Dockerfile", dockerfile), ("version", name)], "one");
    let mut body = body(name, &repository);
    for (field, value) in changes.as_object().expect("fields") {
        body[field] = value.clone();
    }
    platform.ended(&newest_deployment(&platform.deploy(&body))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_only_port_that_is_listened_on_is_taken() {
    let platform = Platform::start().await;
    let cases = [
        ("none", "", ONE, "Port 3000: the only one that it listens on"),
        ("usual", "", "exec /testapp", "Health: GET / answered 200"),
        ("several", "EXPOSE 3000 9229", TWO, "Port 3000: the only exposed one that it listens on (3000, 9090)"),
        ("wrong", "EXPOSE 80", "LISTEN=0.0.0.0:3000 exec /testapp", "Port 3000: the only one that it listens on"),
    ];
    for (name, lines, command, words) in cases {
        let deployment = ended(&platform, name, &dockerfile(lines, command), json!({})).await;
        let id = id_of(&deployment);
        assert_eq!(deployment["status"]["status"], "deployed", "{name}: {}", platform.story(&id));
        until(words, async || platform.story(&id).contains(words).then_some(())).await;
        let host = format!("{name}.localhost");
        assert_eq!(platform.visit(&host, "/").await, (200, name.to_owned()), "{name}");
        let given = if name == "wrong" { "\"PORT\":\"80\"" } else { "\"PORT\":\"8080\"" };
        assert!(platform.visit(&host, "/env").await.1.contains(given), "{name}");
    }
}

/// What was found out belongs to the release: a restart knows it from the beginning.
#[tokio::test(flavor = "multi_thread")]
async fn a_port_that_was_found_is_kept() {
    let platform = Platform::start().await;
    let text = dockerfile("", "LISTEN=0.0.0.0:3000 exec /testapp");
    let deployment = ended(&platform, "kept", &text, json!({})).await;
    let application = deployment["application_id"].clone();
    let restart = platform.call("POST", "/deploy/application/restart", &json!({ "id": application }));
    let restart = id_of(&restart);
    platform.deployed(&restart).await;
    until("it is told", async || platform.story(&restart).contains("Deployed: ").then_some(())).await;
    let story = platform.story(&restart);
    assert!(!story.contains("Port 3000"), "{story}");
    assert_eq!(platform.visit("kept.localhost", "/").await, (200, "kept".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn what_is_not_clear_fails_with_the_ports() {
    let platform = Platform::start().await;
    let one = "LISTEN=0.0.0.0:3000 exec /testapp";
    let cases = [
        ("two", dockerfile("", TWO), json!({ "health_seconds": 6 }), "It listens on 3000, 9090: set port"),
        // A port that the user names is the one that is used.
        ("named", dockerfile("", one), json!({ "health_seconds": 6, "port": 8080 }), "It listens on 3000: set port"),
        (
            "variable",
            dockerfile("", one),
            json!({ "health_seconds": 6, "environment_variables": { "PORT": "8080" } }),
            "It listens on 3000: set port",
        ),
    ];
    for (name, dockerfile, changes, words) in cases {
        let deployment = ended(&platform, name, &dockerfile, changes).await;
        assert_eq!(deployment["failure"], "not_listening", "{name}: {}", platform.story(&id_of(&deployment)));
        assert!(deployment["reason"].as_str().expect("a reason").contains(words), "{name}: {deployment}");
    }
}
