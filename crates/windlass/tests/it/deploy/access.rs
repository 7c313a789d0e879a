//! Who comes to an application, and how: in force at once, without a deployment, and for no moment open in between.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::support::*;
use super::visitor::Visitor;

/// Status and the whole of what a visitor gets, in lower case.
fn visit(edge: SocketAddr, more: &[&str]) -> (u16, String) {
    let output = Command::new("curl")
        .args(["--silent", "--show-error", "--max-time", "20", "--include"])
        .args(["--header", "Host: shop.localhost"])
        .args(more)
        .arg(format!("http://{edge}/"))
        .output()
        .expect("curl runs");
    let head = String::from_utf8_lossy(&output.stdout).to_lowercase();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.unwrap_or_else(|| panic!("{head} {}", String::from_utf8_lossy(&output.stderr))), head)
}

struct Shop {
    platform: Platform,
    id: String,
    edge: SocketAddr,
}

impl Shop {
    async fn start() -> Self {
        let platform = Platform::start().await;
        let application = platform.deploy(&body("shop", &repository(&platform, "shop", "shop")));
        platform.deployed(&newest_deployment(&application)).await;
        let edge = platform.edge().await;
        Self { id: id_of(&application), platform, edge }
    }

    fn path(&self) -> String {
        format!("/deploy/application/{}/access", self.id)
    }

    fn set(&self, body: &Value) -> Value {
        self.platform.call("PUT", &self.path(), body)
    }

    /// Waits until visitors meet what was set.
    async fn answers(&self, status: u16, more: &[&str]) -> String {
        let what = format!("visitors get {status}");
        until(&what, async || Some(visit(self.edge, more)).filter(|answer| answer.0 == status)).await.1
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn visitors_meet_what_was_set() {
    let shop = Shop::start().await;
    assert_eq!(visit(shop.edge, &[]).0, 200);
    shop.set(&json!({ "deny": ["127.0.0.0/8"], "pages": { "403": "<h1>Members only</h1>" } }));
    shop.answers(403, &[]).await;
    let (_, answer) = visit(shop.edge, &[]);
    assert!(answer.ends_with("<h1>members only</h1>"), "{answer}");
    shop.set(&json!({ "deny": [], "users": { "anna": "correct horse" }, "realm": "Staging" }));
    let head = shop.answers(401, &[]).await;
    assert!(head.contains("www-authenticate: basic realm=\"staging\""), "{head}");
    assert_eq!(visit(shop.edge, &["--user", "anna:wrong horse"]).0, 401);
    assert_eq!(visit(shop.edge, &["--user", "anna:correct horse"]).0, 200);
    // A second user, and the password of the first as it was.
    shop.set(&json!({ "users": { "anna": "********", "ben": "battery staple" } }));
    shop.answers(200, &["--user", "ben:battery staple"]).await;
    assert_eq!(visit(shop.edge, &["--user", "anna:correct horse"]).0, 200);
    shop.set(&json!({ "users": {}, "maintenance": true }));
    let head = shop.answers(503, &[]).await;
    assert!(head.contains("retry-after"), "{head}");
    shop.set(&json!({
        "maintenance": false, "security_headers": true, "headers": { "X-Team": "blue", "content-security-policy": "default-src 'self'" },
    }));
    let head = shop.answers(200, &[]).await;
    for line in ["x-team: blue", "x-content-type-options: nosniff", "content-security-policy: default-src 'self'"] {
        assert!(head.contains(line), "{line}: {head}");
    }
    shop.set(&json!({ "body_bytes": 10 }));
    shop.answers(413, &["--data", "much more than ten bytes"]).await;
    shop.set(&json!({ "requests_per_minute": 2, "request_burst": 1 }));
    let head = shop.answers(429, &[]).await;
    assert!(head.contains("retry-after"), "{head}");
    let record = shop.platform.call("GET", &shop.path(), &Value::Null);
    assert_eq!(record["users"], json!({}));
    let entries = shop.platform.call("GET", "/audit/logs", &Value::Null).to_string();
    assert!(entries.contains("changed the access settings of shop"), "{entries}");
    assert!(!entries.contains("correct horse"), "{entries}");
}

/// While it is deployed anew and restarted, and while the server dies and comes back, what is closed stays closed.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_closed_stays_closed() {
    let mut shop = Shop::start().await;
    shop.set(&json!({ "users": { "anna": "correct horse" } }));
    shop.answers(401, &[]).await;
    let stop = Arc::new(AtomicBool::new(false));
    let stranger = tokio::spawn(try_to_come_in(shop.edge, stop.clone()));
    let id = shop.id.clone();
    shop.platform.call("POST", "/deploy/application/redeploy", &json!({ "id": id }));
    shop.platform.settled().await;
    shop.platform.kill_server();
    shop.platform.start_server(None);
    shop.platform.call("POST", "/deploy/application/restart", &json!({ "id": id }));
    shop.platform.settled().await;
    shop.answers(200, &["--user", "anna:correct horse"]).await;
    stop.store(true, Ordering::SeqCst);
    let statuses = stranger.await.unwrap();
    assert!(statuses.len() > 50 && statuses.iter().all(|status| *status == 401), "{statuses:?}");
}

async fn try_to_come_in(edge: SocketAddr, stop: Arc<AtomicBool>) -> Vec<u16> {
    let mut visitor = Visitor::new(edge, "shop.localhost");
    let mut statuses = Vec::new();
    while !stop.load(Ordering::SeqCst) {
        statuses.push(visitor.get("/").await.map_or(0, |(status, _)| status));
    }
    statuses
}
