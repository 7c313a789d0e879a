//! An application is asked through the edge whether it answers: what is told of it, and what the public reads. Each change of the settings
//! asks at once, so that nothing waits for the time of the next check.

use std::process::Command;

use serde_json::{Value, json};
use windlass_testing::Kind;

use super::encrypted::upload;
use super::support::*;
use crate::edge::authority::Authority;

/// Answers as long as the file is there.
const PATH: &str = "/file?/tmp/well";

struct Shop {
    platform: Platform,
    id: String,
}

impl Shop {
    async fn start(kind: Kind) -> Self {
        let shop = Self::deployed(Platform::on(kind, &[]).await, "shop.localhost").await;
        shop.make_well().await;
        shop
    }

    async fn deployed(platform: Platform, domain: &str) -> Self {
        let mut shop = body("shop", &repository(&platform, "shop", "shop"));
        shop["domain"] = json!(domain);
        let application = platform.deploy(&shop);
        platform.deployed(&newest_deployment(&application)).await;
        platform.settled().await;
        Self { id: id_of(&application), platform }
    }

    async fn make_well(&self) {
        let (status, text) = self.platform.visit("shop.localhost", "/append?/tmp/well=yes").await;
        assert_eq!(status, 200, "{text}");
    }

    fn make_ill(&self) {
        for name in containers_of(&self.id) {
            docker(&["exec", &name, "rm", "-f", "/tmp/well"]);
        }
    }

    fn ask(&self, body: &Value) {
        self.platform.call("PUT", &format!("/deploy/application/{}/uptime", self.id), body);
    }

    fn uptime(&self) -> Value {
        self.platform.call("GET", &format!("/deploy/application/{}/uptime", self.id), &Value::Null)
    }

    /// Waits for the check that was just asked for.
    async fn is(&self, state: &str) {
        until(&format!("the application is {state}"), async || (self.uptime()["state"] == state).then_some(())).await;
    }

    fn outages(&self) -> Vec<Value> {
        let path = format!("/deploy/application/{}/uptime/outages", self.id);
        self.platform.call("GET", &path, &Value::Null)["outages"].as_array().unwrap().clone()
    }

    fn results(&self) -> Vec<Value> {
        let path = format!("/deploy/application/{}/uptime/checks?limit=500", self.id);
        self.platform.call("GET", &path, &Value::Null)["checks"].as_array().unwrap().clone()
    }

    async fn status_page(&self, host: &str) -> (u16, String) {
        let edge = self.platform.edge().await;
        let output = Command::new("curl")
            .args(["--silent", "--show-error", "--max-time", "20", "--include"])
            .args(["--header", &format!("Host: {host}")])
            .arg(format!("http://{edge}/"))
            .output()
            .expect("curl runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
        (status.unwrap_or_else(|| panic!("{text} {}", String::from_utf8_lossy(&output.stderr))), text)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn on_sqlite() {
    an_application_is_asked_as_visitors_ask(Kind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres() {
    an_application_is_asked_as_visitors_ask(Kind::Postgres).await;
}

async fn an_application_is_asked_as_visitors_ask(kind: Kind) {
    let mut shop = Shop::start(kind).await;
    shop.ask(&json!({ "path": PATH, "failures": 1 }));
    shop.is("up").await;
    shop.make_ill();
    shop.ask(&json!({ "interval_seconds": 30 }));
    shop.is("down").await;
    assert_eq!(shop.uptime()["reason"], "it answered with status 404");
    // A server that is started again goes on, and tells nothing anew.
    shop.platform.kill_server();
    shop.platform.start_server(None);
    shop.ask(&json!({ "interval_seconds": 60 }));
    until("it was asked again", async || (shop.results().len() > 2).then_some(())).await;
    assert_eq!((shop.outages().len(), &shop.outages()[0]["ended_at"]), (1, &Value::Null));
    shop.make_well().await;
    shop.ask(&json!({ "interval_seconds": 30 }));
    shop.is("up").await;
    assert_eq!((shop.outages().len(), &shop.outages()[0]["recovered"]), (1, &json!(true)));
    // What visitors do not notice is no outage: it is asked all the time while another release takes over.
    shop.ask(&json!({ "path": "/" }));
    let queued = shop.platform.call("POST", "/deploy/application/redeploy", &json!({ "id": shop.id }));
    let (deployment, before) = (id_of(&queued), shop.results().len());
    loop {
        let count = shop.results().len();
        shop.ask(&json!({}));
        until("it is asked again", async || (shop.results().len() > count).then_some(())).await;
        let state = shop.platform.deployment(&deployment)["status"]["status"].as_str().expect("a state").to_owned();
        if ["deployed", "failed", "cancelled"].contains(&state.as_str()) {
            break;
        }
    }
    shop.platform.deployed(&deployment).await;
    let meanwhile = shop.results().len() - before;
    assert!(shop.results().iter().take(meanwhile).all(|check| check["result"] != "failed"), "{:?}", shop.results());
    assert_eq!(shop.outages().len(), 1);
    shop.platform.settled().await;
    shop.platform.call("POST", "/deploy/application/stop", &json!({ "id": shop.id }));
    shop.ask(&json!({}));
    shop.is("paused").await;
    until("it was looked at", async || (shop.results()[0]["result"] == "paused").then_some(())).await;
    assert_eq!(shop.outages().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_public_reads_a_status_page_at_the_edge() {
    let shop = Shop::start(Kind::Sqlite).await;
    shop.ask(&json!({ "path": PATH, "failures": 1 }));
    shop.is("up").await;
    let application = shop.platform.application(&shop.id);
    let path = format!("/organizations/{}/status-page", application["organization_id"].as_str().unwrap());
    let applications = json!([{ "application_id": shop.id, "name": "<i>The shop</i>" }]);
    let page = json!({ "enabled": true, "title": "Hello & welcome", "domain": "status.localhost", "applications": applications });
    assert_eq!(shop.status_page("status.localhost").await.0, 404);
    shop.platform.call("PUT", &path, &page);
    let shown = async |part: &str| {
        until(&format!("the page shows {part}"), async || {
            let (status, text) = shop.status_page("status.localhost").await;
            (status == 200 && text.contains(part)).then_some(text)
        })
        .await
    };
    let text = shown(">Up<").await;
    let (head, html) = text.split_once("\r\n\r\n").expect("a head");
    let policy = head.to_lowercase();
    assert!(policy.contains("content-security-policy: default-src 'none'; style-src 'sha256-"), "{head}");
    assert!(
        html.contains("&lt;i&gt;The shop&lt;/i&gt;") && html.contains("<title>Hello &amp; welcome</title>"),
        "{html}"
    );
    assert!(!html.contains("<i>") && !html.contains("shop.localhost"), "{html}");
    shop.make_ill();
    shop.ask(&json!({}));
    shown(">Down<").await;
    // It is gone when it is turned off, and its name is free for an application.
    shop.platform.call("PUT", &path, &json!({ "enabled": false }));
    until("the page is gone", async || (shop.status_page("status.localhost").await.0 == 404).then_some(())).await;
    let domains = format!("/deploy/application/{}/domains", shop.id);
    shop.platform.call("POST", &domains, &json!({ "domain": "status.localhost" }));
    until("the application is there", async || {
        let (status, text) = shop.status_page("status.localhost").await;
        (status == 200 && !text.contains("Hello")).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_encrypted_application_is_asked_over_https() {
    const NAME: &str = "shop.example.org";
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new());
    let roots = folder.path().join("roots.pem");
    std::fs::write(&roots, authority.root_pem()).unwrap();
    let platform = Platform::on(Kind::Sqlite, &["--acme-roots-file", roots.to_str().unwrap()]).await;
    let shop = Shop::deployed(platform, NAME).await;
    // A visitor over http is sent to https, once there is a certificate: that is no such answer.
    shop.ask(&json!({ "expected_status": 200, "failures": 1 }));
    shop.is("up").await;
    upload(&shop.platform, &authority.issue("trusted", &[NAME]));
    until("visitors are sent to https", async || (shop.platform.visit(NAME, "/").await.0 == 308).then_some(())).await;
    let asked_anew = async |wanted: &str| {
        until(&format!("another check says {wanted}"), async || {
            let before = shop.results()[0]["id"].clone();
            shop.ask(&json!({}));
            let newest = async || Some(shop.results()[0].clone()).filter(|newest| newest["id"] != before);
            Some(until("it is asked", newest).await).filter(|newest| newest["result"] == wanted)
        })
        .await
    };
    assert_eq!(asked_anew("up").await["status"], 200);
    // What visitors trust is not known here: that one certificate is not trusted says nothing of the application.
    for unknown in [Authority::new().issue("unknown", &[NAME]), Authority::self_signed("its own", &[NAME])] {
        upload(&shop.platform, &unknown);
        let told = asked_anew("unknown").await;
        assert!(told["status"].is_null() && told["reason"].as_str().unwrap().contains("certificate"), "{told}");
        upload(&shop.platform, &authority.issue("trusted again", &[NAME]));
        assert_eq!(asked_anew("up").await["status"], 200);
    }
    assert!(shop.outages().is_empty(), "{:?}", shop.outages());
}
