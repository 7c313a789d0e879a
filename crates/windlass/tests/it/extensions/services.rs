//! Services of extensions: installed, brought to another version, back, and removed.

use serde_json::{Value, json};
use windlass_testing::testapp::IMAGE;

use super::support::*;
use crate::deploy::support::{Platform, docker, id_of, until};

/// Two services, of which one has a volume and the other a domain and a link to the first.
pub fn shop(version: &str) -> String {
    let variables = "  domain: { type: string, default: shop.localhost }\n  password: { type: secret }";
    let execution = format!(
        r#"  run:
    - name: services
      type: docker_compose
      properties:
        action: up
        compose:
          services:
            web:
              image: {IMAGE}
              command: [/testapp]
              restart: unless-stopped
              environment: {{ VERSION: "{version}", PASSWORD: "{{{{ password }}}}" }}
              depends_on: {{ db: {{ condition: service_healthy }} }}
            db:
              image: {IMAGE}
              command: [/testapp]
              restart: unless-stopped
              environment: {{ VERSION: "db" }}
              volumes: ["data:/data"]
              healthcheck:
                test: ["CMD", "/bin/wget", "-q", "-O", "-", "http://127.0.0.1:8080/"]
                interval: 200ms
                retries: 50
          volumes: {{ data: {{}} }}
    - {{ name: domain, type: proxy, properties: {{ action: add, domain: "{{{{ domain }}}}", service: web, port: 8080 }} }}
  validate:
    - {{ name: answers, type: wait, properties: {{ service: web, port: 8080 }} }}"#
    );
    text("shop", "install", version, variables, &execution)
}

pub async fn serves(platform: &Platform, version: &str) {
    until(&format!("{version} is served"), async || {
        (platform.visit("shop.localhost", "/").await == (200, version.into())).then_some(())
    })
    .await;
}

fn in_db(installation: &Value, command: &[&str]) -> String {
    let services = installation["services"].as_array().unwrap();
    let db = services.iter().find(|service| service["name"] == "db").unwrap()["container_name"].as_str().unwrap();
    docker(&[&["exec", db], command].concat())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_installation_is_updated_gone_back_on_and_removed() {
    let platform = Platform::start().await;
    create(&platform, &shop("1.0.0"));
    let plan = platform.call("POST", "/extensions/shop/plan", &json!({}));
    assert_eq!((&plan["needs_host_access"], &plan["domains"]), (&json!(false), &json!(["shop.localhost"])), "{plan}");
    let id = run(&platform, "shop", &json!({ "password": "correct-horse" }));
    completed(&platform, &id).await;
    serves(&platform, "1.0.0").await;
    let first = installation(&platform, "shop").unwrap();
    assert_eq!((&first["state"], &first["version"]), (&json!("installed"), &json!("1.0.0")), "{first}");
    in_db(&first, &["/bin/sh", "-c", "echo precious > /data/notes"]);
    // Services find each other by their names.
    let web = first["services"].as_array().unwrap().iter().find(|service| service["name"] == "web").unwrap();
    let web = web["container_name"].as_str().unwrap();
    assert_eq!(docker(&["exec", web, "/bin/wget", "-q", "-O", "-", "http://db:8080/"]), "db");
    let (status, refused) = platform.try_call("POST", "/extensions/shop/run", &json!({}));
    assert_eq!(status, 409, "{refused}");

    let change = json!({ "yaml_content": shop("2.0.0") });
    platform.call("PUT", "/extensions/shop", &change);
    assert_eq!(installation(&platform, "shop").unwrap()["has_update"], true);
    let path = format!("/extensions/installations/{}", id_of(&first));
    let update = platform.call("POST", &format!("{path}/update"), &json!({}));
    completed(&platform, &id_of(&update)).await;
    serves(&platform, "2.0.0").await;
    let second = installation(&platform, "shop").unwrap();
    assert_eq!((&second["version"], &second["has_update"]), (&json!("2.0.0"), &json!(false)));
    assert_eq!(in_db(&second, &["cat", "/data/notes"]), "precious");
    let password = docker(&["exec", &container(&second, "web"), "/bin/sh", "-c", "echo $PASSWORD"]);
    assert_eq!(password, "correct-horse", "values stay");
    assert_eq!(container(&second, "db"), container(&first, "db"), "what has not changed goes on");

    let back = platform.call("POST", &format!("{path}/rollback"), &Value::Null);
    completed(&platform, &id_of(&back)).await;
    serves(&platform, "1.0.0").await;
    let third = installation(&platform, "shop").unwrap();
    assert_eq!((&third["version"], &third["has_update"]), (&json!("1.0.0"), &json!(true)));
    assert_eq!(in_db(&third, &["cat", "/data/notes"]), "precious");

    let (status, _) = platform.try_call("DELETE", &path, &json!({ "name": "other" }));
    assert_eq!(status, 400);
    let removal = platform.call("DELETE", &path, &json!({ "name": "shop" }));
    completed(&platform, &id_of(&removal)).await;
    assert_eq!(installation(&platform, "shop"), None);
    until("it leads nowhere", async || (platform.visit("shop.localhost", "/").await.0 == 404).then_some(())).await;
    let label = format!("label=windlass.app={}", id_of(&first));
    assert_eq!(docker(&["ps", "-aq", "--filter", &label]), "");
    let volumes = platform.call("GET", "/deploy/volumes", &Value::Null);
    let volume = &volumes["volumes"][0];
    assert_eq!((&volume["name"], &volume["installation_id"]), (&json!("data"), &Value::Null), "{volumes}");
    assert_eq!(volume["deleted_at"], Value::Null);
}

pub fn container(installation: &Value, name: &str) -> String {
    let services = installation["services"].as_array().unwrap();
    let service = services.iter().find(|service| service["name"] == name).unwrap();
    service["container_name"].as_str().unwrap().to_owned()
}

/// A service that was removed comes back at another address: what has not changed since is told.
#[tokio::test(flavor = "multi_thread")]
async fn what_comes_back_elsewhere_is_found() {
    let platform = Platform::start().await;
    let version = |version: &str, others: &str| {
        let service = |name: &str| {
            format!(
                "            {name}: {{ image: {IMAGE}, command: [/testapp], environment: {{ VERSION: {name} }} }}\n"
            )
        };
        let services: String = std::iter::once("web").chain(others.split_whitespace()).map(service).collect();
        let wait = |name: &str| {
            format!("    - {{ name: {name}, type: wait, properties: {{ service: {name}, port: 8080 }} }}\n")
        };
        let waits: String = std::iter::once("web").chain(others.split_whitespace()).map(wait).collect();
        let execution = format!(
            "  run:\n    - name: services\n      type: docker_compose\n      properties:\n        action: up\n        compose:\n          services:\n{services}{waits}"
        );
        text("moving", "install", version, "  none: { type: string }", &execution)
    };
    let update = async |text: String| {
        platform.call("PUT", "/extensions/moving", &json!({ "yaml_content": text }));
        let path = format!("/extensions/installations/{}/update", id_of(&installation(&platform, "moving").unwrap()));
        let update = platform.call("POST", &path, &json!({}));
        completed(&platform, &id_of(&update)).await;
        platform.settled().await;
        installation(&platform, "moving").unwrap()
    };
    create(&platform, &version("1.0.0", "db"));
    completed(&platform, &run(&platform, "moving", &json!({}))).await;
    let first = installation(&platform, "moving").unwrap();
    let second = update(version("2.0.0", "")).await;
    assert_eq!(container(&second, "web"), container(&first, "web"), "it has not changed");
    // `db` gets another address than it had, because those that were never used are given out first.
    let third = update(version("3.0.0", "cache")).await;
    let fourth = update(version("4.0.0", "cache db")).await;
    assert_eq!(
        container(&fourth, "cache"),
        container(&third, "cache"),
        "it was never told of db, and does not ask for it"
    );
    for (asking, name) in [("web", "db"), ("web", "cache"), ("cache", "web")] {
        let url = format!("http://{name}:8080/");
        let found = docker(&["exec", &container(&fourth, asking), "/bin/wget", "-q", "-O", "-", &url]);
        assert_eq!(found, name, "asked by {asking}");
    }
}
