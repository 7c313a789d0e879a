//! Access settings of applications: what is kept, what is refused, and whose those of previews are.

use serde_json::{Value, json};
use windlass_api::Role;
use windlass_store::application_access;
use windlass_testing::on_both_databases;

use crate::deploys::least;
use crate::support::{TestServer, id_of, server};

on_both_databases!(server: passwords_are_kept_and_never_shown, what_the_edge_would_refuse_is_refused,
    previews_have_those_of_their_application, an_organization_has_so_much_room, only_members_who_deploy_change_them);

fn to(application: &Value) -> String {
    format!("/deploy/application/{}/access", id_of(application))
}

async fn passwords_are_kept_and_never_shown(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.deploy(&ada, least("shop")).await;
    let users = json!({ "anna": "correct horse", "ben": "battery staple" });
    let set = server.put(&to(&shop), json!({ "users": users })).by(&ada).ok().await;
    assert_eq!(set["users"], json!({ "anna": "********", "ben": "********" }));
    let stored = || async {
        application_access::get(&mut server.app.db.read().await.unwrap(), id_of(&shop)).await.unwrap().unwrap()
    };
    let first = stored().await;
    assert!(!first.contains("correct horse") && first.contains("\"hash\""), "{first}");
    // One stays, one gets another password, and a third has none to keep.
    let refused = json!({ "users": { "anna": "********", "carl": "********" } });
    let refused = server.put(&to(&shop), refused).by(&ada).fails(400, "invalid_request").await;
    assert!(refused.contains("users: carl has no password yet"), "{refused}");
    assert_eq!(stored().await, first);
    server.put(&to(&shop), json!({ "users": { "anna": "********", "ben": "another staple" } })).by(&ada).ok().await;
    let (first, second): (Value, Value) =
        (serde_json::from_str(&first).unwrap(), serde_json::from_str(&stored().await).unwrap());
    assert_eq!(first["users"][0], second["users"][0]);
    assert_ne!(first["users"][1], second["users"][1]);
    let removed = server.put(&to(&shop), json!({ "users": {} })).by(&ada).ok().await;
    assert_eq!(removed["users"], json!({}));
}

/// One that passed would keep the edge from the routes of all organizations.
async fn what_the_edge_would_refuse_is_refused(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.deploy(&ada, least("shop")).await;
    let many = |count: usize, length: usize| -> Value {
        (0..count)
            .map(|number| (format!("x-{number}"), json!("y".repeat(length))))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    for (field, value) in [
        ("headers", json!({ "proxy-status": "x" })),
        ("headers", many(30, 1)),
        ("headers", many(5, 1_000)),
        ("realm", json!("a \"quoted\" one")),
        ("pages", json!({ "503": "a\u{1}b" })),
        ("pages", json!({ "418": "tea" })),
    ] {
        let refused = server.put(&to(&shop), json!({ field: value })).by(&ada).fails(400, "invalid_request").await;
        assert!(refused.starts_with(field), "{refused}");
    }
    // All that is accepted at once.
    let most = json!({ "headers": many(29, 50), "security_headers": true, "pages": { "503": "x".repeat(16_384) } });
    server.put(&to(&shop), most).by(&ada).ok().await;
}

async fn previews_have_those_of_their_application(server: TestServer) {
    let ada = server.admin().await;
    let mut body = least("shop");
    (body["repository"], body["branch"]) = (json!("https://github.com/team/shop"), json!("main"));
    body["previews"] = json!(true);
    let shop = server.running(&ada, body).await;
    server.put(&to(&shop), json!({ "maintenance": true })).by(&ada).ok().await;
    let preview = server.preview(&ada, id_of(&shop), 7).await;
    assert_eq!(server.get(&to(&preview)).by(&ada).ok().await["maintenance"], true);
    let all = application_access::all(&mut server.app.db.read().await.unwrap()).await.unwrap();
    let mut routed: Vec<_> = all.into_iter().map(|row| row.application_id).collect();
    routed.sort_unstable();
    let mut both = [id_of(&shop), id_of(&preview)];
    both.sort_unstable();
    assert_eq!(routed, both, "what the edge is told");
    let refused = server.put(&to(&preview), json!({ "maintenance": false })).by(&ada).fails(409, "conflict").await;
    assert!(refused.contains("is a preview"), "{refused}");
}

async fn an_organization_has_so_much_room(server: TestServer) {
    let ada = server.admin().await;
    let pages: Value =
        ["401", "403", "404"].map(|status| (status.to_owned(), json!("ä".repeat(10_600)))).into_iter().collect();
    let mut set = 0;
    loop {
        let application = server.deploy(&ada, least(&format!("shop-{set}"))).await;
        let reply = server.put(&to(&application), json!({ "pages": pages })).by(&ada).send().await;
        if reply.status != 200 {
            assert!(reply.text.contains("organization-access-mib"), "{}", reply.text);
            break;
        }
        set += 1;
        assert!(set < 30, "there is no limit");
    }
    // Of 64 KB each, counted in bytes.
    assert!((14..=17).contains(&set), "{set}");
}

async fn only_members_who_deploy_change_them(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.deploy(&ada, least("shop")).await;
    let viewer = server.join(&ada, "vera", Role::Viewer).await;
    server.get(&to(&shop)).by(&viewer).ok().await;
    server.put(&to(&shop), json!({ "maintenance": true })).by(&viewer).fails(403, "forbidden").await;
    let stranger = server.stranger(&ada, "sam").await;
    server.get(&to(&shop)).by(&stranger).fails(404, "not_found").await;
    server.put(&to(&shop), json!({ "maintenance": true })).by(&stranger).fails(404, "not_found").await;
}
