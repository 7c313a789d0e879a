//! Applications that are made from an image of a registry: what is asked for, and what does not go with it.

use serde_json::{Value, json};
use windlass_store::image_checks;
use windlass_testing::on_both_databases;

use crate::deploys::{SSH_KEY, least};
use crate::support::{TestServer, id_of, server};

on_both_databases!(
    server: an_image_stands_for_a_repository, what_does_not_go_with_an_image_is_refused, a_tag_is_followed_while_it_is_wanted,
    there_is_nothing_to_build
);

const IMAGE: &str = "registry.example.org/team/shop:1.4";

fn of_image() -> Value {
    json!({ "name": "shop", "repository": "image", "image": IMAGE })
}

async fn an_image_stands_for_a_repository(server: TestServer) {
    let ada = server.admin().await;
    let made = server.deploy(&ada, of_image()).await;
    assert_eq!((&made["repository"], &made["build_pack"]), (&json!("image"), &json!("image")));
    assert_eq!((&made["settings"]["image"], &made["triggers"]["auto_update"]), (&json!(IMAGE), &json!(false)));
    let again = json!({
        "name": "shop", "repository": "image", "repository_token": "", "repository_ssh_key": "", "auto_deploy": true, "watch_paths": [],
        "tag_pattern": "",
    });
    let again = server.deploy(&ada, again).await;
    assert_eq!((&again["id"], &again["settings"]["image"]), (&made["id"], &json!(IMAGE)), "it stays");
    let other = json!({ "id": made["id"], "image": "registry.example.org/team/shop:2" });
    let changed = server.put("/deploy/application", other).by(&ada).ok().await;
    assert_eq!(changed["settings"]["image"], "registry.example.org/team/shop:2");
    let mut whole = of_image();
    (whole["name"], whole["build_pack"]) = (json!("whole"), json!("image"));
    server.deploy(&ada, whole).await;
    server.post("/deploy/application", least("shop")).by(&ada).fails(409, "name_taken").await;
}

async fn what_does_not_go_with_an_image_is_refused(server: TestServer) {
    let ada = server.admin().await;
    for (field, value, expected) in [
        ("image", json!(""), "image: must be given, because repository is image"),
        ("image", json!("Shop"), "image: must be the name of an image"),
        ("image", json!("https://registry.example.org/shop"), "image: must have the host of a registry in it"),
        ("image", json!("ada:x@registry.example.org/shop"), "image: has an @, and behind it no digest"),
        ("build_pack", json!("dockerfile"), "build_pack: must be image or left out"),
        ("branch", json!("main"), "branch: must be left out"),
        ("base_path", json!("/web"), "base_path: must be left out"),
        ("start_command", json!("npm start"), "start_command: must be left out"),
        ("output_path", json!("/dist"), "output_path: must be left out"),
        ("repository_token", json!("a very secret token"), "repository_token: must be left out"),
        ("repository_ssh_key", json!(SSH_KEY), "repository_ssh_key: must be left out"),
        ("auto_deploy", json!(false), "auto_deploy: must be left out"),
        ("watch_paths", json!(["web"]), "watch_paths: must be left out"),
        ("tag_pattern", json!("v*"), "tag_pattern: must be left out"),
    ] {
        let mut wrong = of_image();
        wrong[field] = value;
        let message = server.post("/deploy/application", wrong).by(&ada).fails(400, "invalid_request").await;
        assert!(message.starts_with(expected), "{field}: {message}");
    }
    for (field, value, expected) in [
        ("image", json!(IMAGE), "image: must be left out: the application is built of its repository"),
        ("build_pack", json!("image"), "build_pack: can be image only where repository is image"),
        ("auto_update", json!(true), "auto_update: is for an application whose repository is image"),
    ] {
        let mut wrong = least("built");
        wrong[field] = value;
        let message = server.post("/deploy/application", wrong).by(&ada).fails(400, "invalid_request").await;
        assert!(message.starts_with(expected), "{field}: {message}");
    }
    assert_eq!(server.get("/deploy/applications").by(&ada).ok().await["applications"], json!([]));
}

async fn a_tag_is_followed_while_it_is_wanted(server: TestServer) {
    let ada = server.admin().await;
    let mut body = of_image();
    body["auto_update"] = json!(true);
    let made = server.deploy(&ada, body).await;
    let due = async || {
        let later = server.app.now().plus_seconds(1_000_000);
        image_checks::next_due(&mut server.app.db.read().await.unwrap(), later, &[]).await.unwrap()
    };
    let check = due().await.expect("a check");
    assert_eq!(check.application_id, id_of(&made));
    assert_eq!(check.next_at, server.app.now().plus_seconds(3_600));
    let off = json!({ "id": made["id"], "auto_update": false });
    server.put("/deploy/application", off).by(&ada).ok().await;
    assert_eq!(due().await, None);
}

async fn there_is_nothing_to_build(server: TestServer) {
    let ada = server.admin().await;
    let plan = server.post("/deploy/application/preview", of_image()).by(&ada).ok().await;
    assert_eq!(plan["failure"], "no_build_pack", "{plan}");
    assert!(plan["reason"].as_str().unwrap().starts_with("There is no repository"), "{plan}");
}
