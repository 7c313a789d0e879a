//! Volumes and snapshots: what may be asked for, and by whom. What the engine makes of it is tested with the binary.

use serde_json::{Value, json};
use uuid::Uuid;
use windlass_store::volumes;
use windlass_testing::{Kind, on_both_databases};

use crate::deploys::least;
use crate::support::{Person, TestServer, id_of, kind, server};

on_both_databases!(
    server: names_and_paths_are_the_applications_own, a_deployment_brings_volumes, deleted_ones_can_be_attached_again,
    replicas_need_shared_volumes, folders_of_the_machine_need_host_access, what_is_of_another_organization_is_not_there
);
on_both_databases!(kind: there_are_limits);

fn with_volume(name: &str) -> Value {
    let mut body = least(name);
    body["volumes"] = json!([{ "name": "data", "path": "/data" }]);
    body
}

/// The path of an application's volumes.
async fn deployed(server: &TestServer, person: &Person, body: Value) -> String {
    let application = server.running(person, body).await;
    server.use_volumes(id_of(&application)).await;
    format!("/deploy/application/{}/volumes", id_of(&application))
}

async fn names_and_paths_are_the_applications_own(server: TestServer) {
    let admin = server.admin().await;
    let path = deployed(&server, &admin, with_volume("shop")).await;
    let post = |body: Value| server.post(&path, body).by(&admin);
    let message = post(json!({ "name": "data", "path": "/other" })).fails(409, "name_taken").await;
    assert_eq!(message, "name: shop has a volume data already. Choose another name.");
    let message = post(json!({ "name": "other", "path": "/data/" })).fails(400, "invalid_request").await;
    assert_eq!(message, "path: /data is the path of data already, so not of other too");
    let message = post(json!({ "name": "other" })).fails(400, "invalid_request").await;
    assert_eq!(message, "path: is required for the new volume other");
    // One inside another is fine.
    post(json!({ "name": "inner", "path": "/data/inner" })).ok().await;
    let put = |name: &str, body: Value| server.put(&format!("{path}/{name}"), body).by(&admin);
    put("inner", json!({ "name": "data" })).fails(409, "name_taken").await;
    put("inner", json!({ "path": "/data" })).fails(400, "invalid_request").await;
    // The same again is fine.
    put("inner", json!({ "path": "/data/inner" })).ok().await;
    put("none", json!({ "name": "new" })).fails(404, "not_found").await;
    put("Not-A-Name", json!({ "name": "new" })).fails(400, "invalid_request").await;
    let renamed = put("inner", json!({ "name": "deep", "snapshot_hours": 6 })).ok().await;
    assert_eq!((&renamed["name"], &renamed["path"]), (&json!("deep"), &json!("/data/inner")));
    assert_eq!(renamed["next_snapshot_at"], "2026-01-01T06:00:00.000000Z");
    let names = server.get(&path).by(&admin).ok().await;
    let names: Vec<_> = names["volumes"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["data", "deep"]);
}

async fn a_deployment_brings_volumes(server: TestServer) {
    let admin = server.admin().await;
    let first = server.deploy(&admin, with_volume("shop")).await;
    assert_eq!(first["volumes"][0]["name"], "data");
    // What is not named stays; what is the same is no change.
    let mut body = least("shop");
    body["volumes"] = json!([{ "name": "cache", "path": "/cache", "shared": true }]);
    let second = server.deploy(&admin, body.clone()).await;
    assert_eq!(second["volumes"].as_array().unwrap().len(), 2);
    let key = json!({ "name": "ci", "organization_id": admin.organization_id, "permissions": ["deploy:create", "deploy:read"] });
    let key = server.post("/auth/api-keys", key).by(&admin).ok().await;
    let key = Person { token: key["key"].as_str().unwrap().to_owned(), ..admin.clone() };
    server.deploy(&key, body.clone()).await;
    body["volumes"][0]["shared"] = json!(false);
    let message = server.post("/deploy/application", body.clone()).by(&key).fails(403, "forbidden").await;
    assert!(message.ends_with("because the request changes shop: volumes."), "{message}");
    body["volumes"][0]["host_path"] = json!("/srv");
    let message = server.post("/deploy/application", body).by(&admin).fails(400, "invalid_request").await;
    assert_eq!(message, "volumes: cache: host_path cannot change; make another volume");
    let update = json!({ "id": first["id"], "volumes": [{ "name": "data", "path": "/elsewhere" }], "name": "store" });
    let updated = server.put("/deploy/application", update).by(&admin).ok().await;
    let shown: Vec<_> =
        updated["volumes"].as_array().unwrap().iter().map(|one| (&one["path"], &one["application_name"])).collect();
    assert_eq!(shown, [(&json!("/cache"), &json!("store")), (&json!("/elsewhere"), &json!("store"))]);
}

async fn deleted_ones_can_be_attached_again(server: TestServer) {
    let admin = server.admin().await;
    let path = deployed(&server, &admin, with_volume("shop")).await;
    let id = id_of(&server.get(&path).by(&admin).ok().await["volumes"][0]);
    let application = path.split('/').nth(3).unwrap().to_owned();
    let attach = format!("/deploy/volumes/{id}/attach");
    let body = json!({ "application_id": application });
    server.post(&attach, body.clone()).by(&admin).fails(409, "conflict").await;
    server.delete(&format!("/deploy/volumes/{id}")).by(&admin).ok().await;
    server.delete(&format!("{path}/data")).by(&admin).fails(404, "not_found").await;
    server.delete(&format!("/deploy/volumes/{id}")).by(&admin).fails(409, "conflict").await;
    let all = server.get("/deploy/volumes").by(&admin).ok().await;
    assert_eq!(all["volumes"][0]["removed_after"], "2026-01-02T00:00:00.000000Z");
    // Another one has its name by now.
    server.post(&path, json!({ "name": "data", "path": "/data" })).by(&admin).ok().await;
    server.post(&attach, body.clone()).by(&admin).fails(409, "name_taken").await;
    let again = json!({ "application_id": application, "name": "before" });
    server.post(&attach, again).by(&admin).fails(400, "invalid_request").await;
    let again = json!({ "application_id": application, "name": "before", "path": "/before" });
    let attached = server.post(&attach, again).by(&admin).ok().await;
    assert_eq!((&attached["name"], &attached["deleted_at"]), (&json!("before"), &Value::Null));
    // Volumes keep an organization that is otherwise empty.
    let organization = server.post("/organizations", json!({ "name": "Doomed" })).by(&admin).ok().await;
    let doomed = Person { organization_id: id_of(&organization), ..admin.clone() };
    let other =
        server.post("/deploy/application", with_volume("other")).within(doomed.organization_id).by(&admin).ok().await;
    let kept = server.kept_volume(id_of(&other)).await;
    let delete = server.delete("/organizations").json(json!({ "id": organization["id"] })).by(&admin);
    let message = delete.fails(409, "organization_not_empty").await;
    assert!(message.contains("1 volume(s) and 0 snapshot(s)"), "{message}");
    server.delete(&format!("/deploy/volumes/{kept}")).within(doomed.organization_id).by(&admin).ok().await;
    server.delete("/organizations").json(json!({ "id": organization["id"] })).by(&admin).ok().await;
    let mut conn = server.app.db.read().await.unwrap();
    assert!(volumes::get(&mut conn, kept).await.unwrap().is_some(), "it is still to be removed from the engine");
}

async fn replicas_need_shared_volumes(server: TestServer) {
    let admin = server.admin().await;
    let mut body = with_volume("shop");
    body["replicas"] = json!(2);
    let message = server.post("/deploy/application", body.clone()).by(&admin).fails(400, "invalid_request").await;
    assert!(message.starts_with("replicas: 2 instances would write the volume data at once"), "{message}");
    body["volumes"][0]["shared"] = json!(true);
    let path = deployed(&server, &admin, body).await;
    let id = path.split('/').nth(3).unwrap();
    let other = json!({ "name": "other", "path": "/other" });
    let message = server.post(&path, other).by(&admin).fails(400, "invalid_request").await;
    assert!(message.starts_with("shared: 2 instances would write the volume other"), "{message}");
    server.put(&format!("{path}/data"), json!({ "shared": false })).by(&admin).fails(400, "invalid_request").await;
    server.put("/deploy/application", json!({ "id": id, "replicas": 1 })).by(&admin).ok().await;
    server.put(&format!("{path}/data"), json!({ "shared": false })).by(&admin).ok().await;
    server
        .put("/deploy/application", json!({ "id": id, "replicas": 2 }))
        .by(&admin)
        .fails(400, "invalid_request")
        .await;
}

async fn folders_of_the_machine_need_host_access(server: TestServer) {
    let admin = server.admin().await;
    let stranger = server.stranger(&admin, "eve").await;
    let folder = json!({ "name": "files", "path": "/files", "host_path": "/srv/files" });
    let theirs = deployed(&server, &stranger, with_volume("theirs")).await;
    let message = server.post(&theirs, folder.clone()).by(&stranger).fails(400, "invalid_request").await;
    assert_eq!(message, "host_path: is for organizations with host access only");
    let mut body = least("theirs");
    body["volumes"] = json!([folder]);
    server.post("/deploy/application", body).by(&stranger).fails(400, "invalid_request").await;
    let path = deployed(&server, &admin, with_volume("shop")).await;
    let made = server.post(&path, folder).by(&admin).ok().await;
    assert_eq!(made["host_path"], "/srv/files");
    // What is on the machine is not replaced by a snapshot.
    server.use_volumes(path.split('/').nth(3).unwrap().parse().unwrap()).await;
    let taken = id_of(&server.post(&format!("{path}/files/snapshots"), Value::Null).by(&admin).ok().await);
    server.finish_snapshot(taken).await;
    let body = json!({ "snapshot_id": taken });
    server.post(&format!("{path}/files/restore"), body).by(&admin).fails(409, "conflict").await;
}

async fn what_is_of_another_organization_is_not_there(server: TestServer) {
    let admin = server.admin().await;
    let stranger = server.stranger(&admin, "eve").await;
    let path = deployed(&server, &admin, with_volume("shop")).await;
    let taken = id_of(&server.post(&format!("{path}/data/snapshots"), Value::Null).by(&admin).ok().await);
    server.finish_snapshot(taken).await;
    let volume = id_of(&server.get(&path).by(&admin).ok().await["volumes"][0]);
    server.delete(&format!("{path}/data")).by(&admin).ok().await;
    let mut own = least("own");
    own["volumes"] = json!([{ "name": "mine", "path": "/mine" }]);
    let own = deployed(&server, &stranger, own).await;
    let id = own.split('/').nth(3).unwrap();
    // By name in an application of their own, and by id.
    server.get(&format!("{own}/data/snapshots")).by(&stranger).fails(404, "not_found").await;
    server.post(&format!("{own}/data/snapshots"), Value::Null).by(&stranger).fails(404, "not_found").await;
    let body = json!({ "snapshot_id": taken });
    server.post(&format!("{own}/mine/restore"), body.clone()).by(&stranger).fails(404, "not_found").await;
    server.post(&format!("{path}/data/restore"), body).by(&stranger).fails(404, "not_found").await;
    let attach = format!("/deploy/volumes/{volume}/attach");
    server.post(&attach, json!({ "application_id": id })).by(&stranger).fails(404, "not_found").await;
    // The other way round: a volume of their own cannot be put into an application that is not theirs.
    let foreign = path.split('/').nth(3).unwrap();
    let mine = id_of(&server.get(&own).by(&stranger).ok().await["volumes"][0]);
    server.delete(&format!("{own}/mine")).by(&stranger).ok().await;
    let attach = format!("/deploy/volumes/{mine}/attach");
    server.post(&attach, json!({ "application_id": foreign })).by(&stranger).fails(404, "not_found").await;
    for list in ["/deploy/volumes", "/deploy/snapshots"] {
        let seen = server.get(list).by(&stranger).ok().await.to_string();
        assert!(!seen.contains(&volume.to_string()) && !seen.contains(&taken.to_string()), "{seen}");
    }
}

async fn there_are_limits(kind: Kind) {
    let settings = [("application-volumes", "2"), ("organization-volumes", "3"), ("organization-data-mib", "1")];
    let server = TestServer::with(kind, &settings).await;
    let admin = server.admin().await;
    let path = deployed(&server, &admin, with_volume("shop")).await;
    let new = |name: &str| json!({ "name": name, "path": format!("/{name}") });
    server.post(&path, new("second")).by(&admin).ok().await;
    let message = server.post(&path, new("third")).by(&admin).fails(409, "conflict").await;
    assert_eq!(message, "An application can have 2 volumes. Delete one first.");
    let other = deployed(&server, &admin, with_volume("other")).await;
    let message = server.post(&other, new("fourth")).by(&admin).fails(409, "conflict").await;
    assert_eq!(message, "An organization can have 3 volumes (organization-volumes). Delete one first.");
    server.delete(&format!("{path}/second")).by(&admin).ok().await;
    let mut tx = server.app.db.begin().await.unwrap();
    let application: Uuid = path.split('/').nth(3).unwrap().parse().unwrap();
    let data = volumes::by_name(&mut tx, application, "data").await.unwrap().unwrap();
    volumes::set_size(&mut tx, &data.engine_name, 1 << 20, server.app.now()).await.unwrap();
    tx.commit().await.unwrap();
    let message = server.post(&other, new("fourth")).by(&admin).fails(409, "conflict").await;
    assert!(message.contains("take 1 MiB, and can take 1 (organization-data-mib)"), "{message}");
    server.post(&format!("{path}/data/snapshots"), Value::Null).by(&admin).fails(409, "conflict").await;
}
