//! Applications with several domains: each leads where it should at once, and no visitor of another notices.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::support::*;
use super::visitor::Visitor;

/// Comes again and again by one domain. How often it was served, and what was lost.
async fn come(mut visitor: Visitor, stop: Arc<AtomicBool>) -> (usize, Vec<String>) {
    let (mut served, mut lost) = (0, Vec::new());
    while !stop.load(Ordering::SeqCst) {
        match visitor.get("/").await {
            Ok((200, text)) if text == "shop" => served += 1,
            other => lost.push(format!("{other:?}")),
        }
    }
    (served, lost)
}

/// Where a visitor is sent, if it is.
fn sent_to(edge: std::net::SocketAddr, host: &str, path: &str) -> String {
    let output = std::process::Command::new("curl")
        .args(["--silent", "--max-time", "10", "--output", "/dev/null", "--write-out", "%{http_code} %{redirect_url}"])
        .args(["--header", &format!("Host: {host}"), &format!("http://{edge}{path}")])
        .output()
        .expect("curl runs");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn visitors_come_by_every_domain() {
    let platform = Platform::start().await;
    let mut ids = Vec::new();
    for name in ["shop", "api"] {
        let application = platform.deploy(&body(name, &repository(&platform, name, name)));
        platform.deployed(&newest_deployment(&application)).await;
        ids.push(id_of(&application));
    }
    let (shop, api) = (ids[0].as_str(), ids[1].as_str());
    let edge = platform.edge().await;
    let stop = Arc::new(AtomicBool::new(false));
    let coming = tokio::spawn(come(Visitor::new(edge, "shop.localhost"), stop.clone()));
    let add = |application: &str, body: Value| {
        id_of(&platform.call("POST", &format!("/deploy/application/{application}/domains"), &body))
    };
    let leads = async |host: &str, path: &str, expected: &str| {
        until(&format!("{host}{path} leads to {expected}"), async || {
            let (status, text) = platform.visit(host, path).await;
            ((status == 200 && text == expected) || (expected.is_empty() && status == 404)).then_some(())
        })
        .await;
    };
    let second = add(shop, json!({ "domain": "second.example.org" }));
    let inside = add(api, json!({ "domain": "shop.localhost", "path": "/api" }));
    add(shop, json!({ "domain": "*.shop.localhost" }));
    add(shop, json!({ "domain": "www.example.org", "redirect": "permanent" }));
    add(shop, json!({ "domain": "old.example.org", "redirect": "temporary" }));
    add(api, json!({ "domain": "docs.example.org", "redirect": "temporary" }));
    leads("second.example.org", "/", "shop").await;
    leads("shop.localhost", "/api", "api").await;
    leads("shop.localhost", "/api/users", "api").await;
    leads("shop.localhost", "/apiary", "shop").await;
    leads("one.shop.localhost", "/", "shop").await;
    let port = edge.port();
    let asked = |host: &str| format!("{host}:{port}");
    for (host, status) in [("www.example.org", 308), ("old.example.org", 307)] {
        let expected = format!("{status} http://shop.localhost:{port}/a?b=c");
        until("visitors are sent to the main domain", async || {
            (sent_to(edge, &asked(host), "/a?b=c") == expected).then_some(())
        })
        .await;
    }
    // The main domain moves, and what leads to it goes with it.
    platform.call("PUT", "/deploy/application", &json!({ "id": api, "domain": "api.example.org" }));
    leads("api.example.org", "/", "api").await;
    until("what is sent to the main domain follows it", async || {
        (sent_to(edge, &asked("docs.example.org"), "/") == format!("307 http://api.example.org:{port}/")).then_some(())
    })
    .await;
    let gone = |application: &str, id: &str| format!("/deploy/application/{application}/domains/{id}");
    platform.call("DELETE", &gone(shop, &second), &Value::Null);
    platform.call("DELETE", &gone(api, &inside), &Value::Null);
    leads("second.example.org", "/", "").await;
    leads("shop.localhost", "/api", "shop").await;
    stop.store(true, Ordering::SeqCst);
    let (served, lost) = coming.await.unwrap();
    assert!(served > 100 && lost.is_empty(), "{served} served, lost: {lost:?}");
}
