//! Applications made from images of a registry, which is a real one on this machine.

use serde_json::{Value, json};
use windlass_api::Timestamp;
use windlass_server::deploy::KILL_POINTS;
use windlass_store::image_checks;
use windlass_testing::{Kind, testapp};

use super::support::*;
use crate::extensions::registry::{PASSWORD, Registry, USERNAME};
use crate::process::token_in;

const HOST: &str = "shop.localhost";

fn of_image(image: &str) -> Value {
    json!({ "name": "shop", "repository": "image", "image": image, "stop_seconds": 1 })
}

/// The registry is on this machine, which is not every organization's to reach.
async fn platform(kind: Kind, arguments: &[&str]) -> Platform {
    Platform::on(kind, &[&["--allow-private-targets", "true"][..], arguments].concat()).await
}

fn plan(platform: &Platform, id: &str) -> Value {
    platform.call("GET", &format!("/deploy/application/{id}/plan"), &Value::Null)
}

async fn deployed_again(platform: &Platform, id: &str) -> Value {
    let queued = platform.call("POST", "/deploy/application/redeploy", &json!({ "id": id }));
    platform.deployed(&id_of(&queued)).await
}

/// The deployment of what is asked for, when it has failed: its class, and why.
async fn failure(platform: &Platform, body: &Value) -> (String, String) {
    let application = platform.deploy(body);
    let deployment = platform.ended(&newest_deployment(&application)).await;
    let text = |name: &str| deployment[name].as_str().unwrap().to_owned();
    (text("failure"), text("reason"))
}

fn credentials(platform: &Platform, registry: &Registry, password: &str) -> Value {
    let body = json!({ "host": registry.address, "username": USERNAME, "password": password });
    platform.call("POST", "/registry-credentials", &body)
}

/// A compose file of one service with this image.
fn of_services(platform: &Platform, name: &str, image: &str) -> Value {
    let repository = platform.git.repository(name);
    let compose = format!("services: {{ web: {{ image: '{image}' }} }}");
    repository.commit(&[("compose.yaml", compose.as_str())], image);
    let mut services = body(name, &repository);
    services["build_pack"] = json!("docker-compose");
    services
}

/// The token of a user with an organization of their own, which has no host access.
fn registered(platform: &Platform, email: &str) -> String {
    let body = json!({ "email": email, "password": "correct horse" }).to_string();
    token_in(&platform.process().request("POST", "/auth/register", "", &body))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tag_is_resolved_followed_and_gone_back_from_without_the_registry() {
    testapp::base_image().await;
    let mut registry = Registry::start();
    let image = registry.take_version("shop:1", "v1");
    let platform = platform(Kind::Sqlite, &["--build-seconds", "15"]).await;
    let application = platform.deploy(&of_image(&image));
    let id = id_of(&application);
    assert_eq!((&application["build_pack"], &application["settings"]["image"]), (&json!("image"), &json!(image)));
    let first = platform.deployed(&newest_deployment(&application)).await;
    assert_eq!(platform.visit(HOST, "/").await, (200, "v1".into()));
    let digest = first["commit_hash"].as_str().unwrap();
    assert!(digest.starts_with("sha256:"), "{first}");
    assert!(first["container_image"].as_str().unwrap().starts_with("sha256:"), "{first}");
    let story = platform.story(&id_of(&first));
    assert!(story.contains("Pulling ") && story.contains(digest), "{story}");
    platform.settled().await;
    let found = plan(&platform, &id);
    assert_eq!((&found["effect"], &found["newest_commit_hash"]), (&json!("nothing"), &json!(digest)), "{found}");

    registry.take_version("shop:1", "v2");
    let found = plan(&platform, &id);
    assert_eq!((&found["effect"], &found["changes"][0]["field"]), (&json!("build"), &json!("commit_hash")), "{found}");
    let second = deployed_again(&platform, &id).await;
    assert_eq!(
        (&second["commit_hash"], platform.visit(HOST, "/").await.1),
        (&found["newest_commit_hash"], "v2".into())
    );

    registry.stop();
    let found = plan(&platform, &id);
    let problem = found["commit_problem"].as_str().unwrap();
    assert!(found["effect"] == "unknown" && problem.contains("could not be reached"), "{found}");
    let rollback = platform.call("POST", "/deploy/application/rollback", &json!({ "id": first["id"] }));
    let rollback = platform.deployed(&id_of(&rollback)).await;
    assert_eq!(rollback["commit_hash"], first["commit_hash"]);
    assert_eq!(platform.visit(HOST, "/").await, (200, "v1".into()));
    platform.settled().await;

    assert!(registry.is_any_there());
    platform.call("DELETE", "/deploy/application", &json!({ "id": id, "name": "shop" }));
    until("the images are gone", async || (!registry.is_any_there()).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_private_image_takes_the_organizations_own_credentials() {
    testapp::base_image().await;
    let registry = Registry::private();
    let image = registry.take_version("shop:1", "v1");
    let mut platform = platform(Kind::Sqlite, &["--open-registration", "true"]).await;
    let own = platform.token().to_owned();
    // Another organization may have the image, and has it on the same engine.
    platform.use_token(&registered(&platform, "eve@example.org"));
    credentials(&platform, &registry, PASSWORD);
    let theirs = platform.deploy(&json!({ "name": "theirs", "repository": "image", "image": image }));
    let theirs = platform.deployed(&newest_deployment(&theirs)).await;
    let very = format!("{}/shop@{}", registry.address, theirs["commit_hash"].as_str().unwrap());
    platform.use_token(&registered(&platform, "mallory@example.org"));
    for (name, wanted) in [("tag", &image), ("digest", &very)] {
        let (class, reason) = failure(&platform, &of_services(&platform, name, wanted)).await;
        assert!(class == "image_missing" && reason.contains("could not be pulled"), "{wanted}: {class}: {reason}");
        let stolen = json!({ "name": "stolen", "repository": "image", "image": wanted });
        let (class, reason) = failure(&platform, &stolen).await;
        assert!(class == "registry_refused" && reason.contains("Add credentials for"), "{wanted}: {class}: {reason}");
    }

    platform.use_token(&own);
    for wanted in [&image, &very] {
        let (class, reason) = failure(&platform, &of_image(wanted)).await;
        assert!(class == "registry_refused" && reason.contains("Add credentials for"), "{wanted}: {class}: {reason}");
    }
    let made = credentials(&platform, &registry, "a wrong password");
    let (class, reason) = failure(&platform, &of_image(&image)).await;
    assert!(class == "registry_refused" && reason.contains("refuses the organization's credentials"), "{reason}");
    let (class, reason) = failure(&platform, &of_services(&platform, "composed", &image)).await;
    assert!(class == "registry_refused" && reason.contains("refuses the organization's credentials"), "{reason}");
    let path = format!("/registry-credentials/{}", id_of(&made));
    platform.call("PUT", &path, &json!({ "password": PASSWORD }));
    let application = platform.deploy(&of_image(&image));
    let deployment = platform.deployed(&newest_deployment(&application)).await;
    assert_eq!(platform.visit(HOST, "/").await, (200, "v1".into()));
    let pinned = platform.deploy(&of_image(&very));
    platform.deployed(&newest_deployment(&pinned)).await;
    assert!(!platform.story(&id_of(&deployment)).contains(PASSWORD));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_had_is_told_by_its_reason() {
    testapp::base_image().await;
    let mut registry = Registry::start();
    registry.take_version("shop:1", "v1");
    let platform = platform(Kind::Sqlite, &[]).await;
    let (class, reason) = failure(&platform, &of_image(&format!("{}/shop:2", registry.address))).await;
    assert!(class == "image_not_found" && reason.contains("Check its name and its tag"), "{class}: {reason}");
    let (class, _) = failure(&platform, &of_image(&format!("{}/other", registry.address))).await;
    assert_eq!(class, "image_not_found");
    registry.stop();
    let (class, reason) = failure(&platform, &of_image(&format!("{}/shop:1", registry.address))).await;
    assert!(class == "registry_unreachable" && reason.contains("could not be reached"), "{class}: {reason}");
}

/// The server looks by itself, while that is wanted.
#[tokio::test(flavor = "multi_thread")]
async fn a_tag_that_moved_is_deployed_by_itself() {
    testapp::base_image().await;
    let registry = Registry::start();
    let image = registry.take_version("shop:1", "v1");
    let platform = platform(Kind::Postgres, &["--image-check-seconds", "1"]).await;
    let mut body = of_image(&image);
    body["auto_update"] = json!(true);
    let application = platform.deploy(&body);
    let id = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    registry.take_version("shop:1", "v2");
    until("the new image serves", async || (platform.visit(HOST, "/").await.1 == "v2").then_some(())).await;
    platform.settled().await;
    let newest = newest_deployment(&platform.application(&id));
    assert_eq!(platform.deployment(&newest)["triggered_by"], "schedule");

    platform.call("PUT", "/deploy/application", &json!({ "id": id, "auto_update": false }));
    registry.take_version("shop:1", "v3");
    until("the plan knows", async || (plan(&platform, &id)["effect"] == "build").then_some(())).await;
    // Checks of a second each would have found it.
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    assert_eq!(newest_deployment(&platform.application(&id)), newest, "it was not asked for");
    assert_eq!(platform.visit(HOST, "/").await.1, "v2");
}

/// What a person goes back from stays away, until the tag leads to something new.
#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_is_not_undone_by_the_tag() {
    testapp::base_image().await;
    let registry = Registry::start();
    let image = registry.take_version("shop:1", "v1");
    // No check comes before the deployments that are asked for.
    let platform = platform(Kind::Sqlite, &["--image-check-seconds", "120"]).await;
    let mut body = of_image(&image);
    body["auto_update"] = json!(true);
    let application = platform.deploy(&body);
    let id = id_of(&application);
    let first = platform.deployed(&newest_deployment(&application)).await;
    registry.take_version("shop:1", "v2");
    deployed_again(&platform, &id).await;
    let rollback = platform.call("POST", "/deploy/application/rollback", &json!({ "id": first["id"] }));
    platform.deployed(&id_of(&rollback)).await;
    platform.settled().await;

    let db = platform.database().await;
    let now = Timestamp::from_micros(i64::MAX);
    let check = image_checks::next_due(&mut db.read().await.unwrap(), now, &[]).await.unwrap().expect("a check");
    let mut tx = db.begin().await.unwrap();
    let begun = Timestamp::from_micros(1);
    assert!(image_checks::take(&mut tx, &check, begun, begun).await.unwrap());
    tx.commit().await.unwrap();
    until("the registry was asked", async || {
        let seen = image_checks::next_due(&mut db.read().await.ok()?, now, &[]).await.ok()??;
        (seen.checked_at > begun).then_some(())
    })
    .await;
    db.close().await;
    // The answer of a registry on this machine takes no longer.
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    assert_eq!(newest_deployment(&platform.application(&id)), id_of(&rollback), "it stays");
    assert_eq!(platform.visit(HOST, "/").await, (200, "v1".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_dies_while_it_takes_an_image_goes_on_with_the_same() {
    testapp::base_image().await;
    let registry = Registry::start();
    let mut platform = platform(Kind::Sqlite, &[]).await;
    let image = registry.take_version("shop:1", "v0");
    let application = platform.deploy(&of_image(&image));
    let id = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    for point in KILL_POINTS.into_iter().filter(|point| point.starts_with("image-")) {
        let version = format!("v-{point}");
        registry.take_version("shop:1", &version);
        platform.kill_server();
        platform.start_server(Some(point));
        platform.ask("POST", "/deploy/application", &of_image(&image));
        platform.wait_for_death();
        // What was resolved is what is deployed, wherever the tag leads by now.
        registry.take_version("shop:1", "too late");
        platform.start_server(None);
        platform.deployed(&newest_deployment(&platform.application(&id))).await;
        assert_eq!(platform.visit(HOST, "/").await, (200, version), "{point}");
        platform.settled().await;
    }
}
