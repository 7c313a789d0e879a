//! Certificates that members bring.

use serde_json::{Value, json};
use windlass_api::Role;
use windlass_testing::certificates::{KEY, certificate, certificate_of_years, pem};
use windlass_testing::{Kind, on_both_databases};

use crate::deploys::least;
use crate::sessions::log_in;
use crate::support::{Person, TestServer, id_of, kind, server};

on_both_databases!(server: a_certificate_is_described, what_cannot_be_served_is_refused, the_key_is_shown_nowhere);
on_both_databases!(kind: an_organization_has_so_many_certificates);

fn body(chain: &str) -> Value {
    json!({ "certificate_chain": chain, "private_key": KEY })
}

pub async fn upload_of_years(server: &TestServer, person: &Person, names: &[&str], until: i32) {
    server.post("/certificates", body(&certificate_of_years(names, 2020..=until))).by(person).ok().await;
}

async fn upload(server: &TestServer, person: &Person, names: &[&str]) -> Value {
    server.post("/certificates", body(&certificate(names))).by(person).ok().await
}

/// Each with the domains that it is served for: the organization's own, and of several certificates the best.
async fn a_certificate_is_described(server: TestServer) {
    let ada = server.admin().await;
    let eve = server.stranger(&ada, "eve").await;
    let mut shop = least("shop");
    shop["domain"] = json!("shop.example.org");
    server.deploy(&ada, shop).await;

    let foreign = upload(&server, &eve, &["shop.example.org"]).await;
    assert_eq!(foreign["domains"], json!([]), "another organization's domain");
    let wide = upload(&server, &ada, &["*.example.org", "example.org"]).await;
    assert_eq!(wide["names"], json!(["*.example.org", "example.org"]));
    assert_eq!(wide["domains"], json!(["shop.example.org"]));
    assert_eq!((&wide["state"], &wide["key_type"]), (&json!("valid"), &json!("RSA 2048")));
    assert!(wide["issuer"].as_str().unwrap().contains("Windlass Tests"), "{wide}");
    let own = upload(&server, &ada, &["shop.example.org"]).await;
    assert_eq!(own["domains"], json!(["shop.example.org"]));

    let list = server.get("/certificates").by(&ada).ok().await;
    let domains: Vec<_> = list["certificates"].as_array().unwrap().iter().map(|one| one["domains"].clone()).collect();
    assert_eq!(domains, [json!(["shop.example.org"]), json!([])], "{list}");
    let path = format!("/certificates/{}", id_of(&own));
    assert_eq!(server.get(&path).by(&ada).ok().await, own);
    server.get(&path).by(&eve).fails(404, "not_found").await;
    server.delete(&path).by(&eve).fails(404, "not_found").await;
    let viewer = server.join(&ada, "victor", Role::Viewer).await;
    server.get(&path).by(&viewer).ok().await;
    server.delete(&path).by(&viewer).fails(403, "forbidden").await;
    server.delete(&path).by(&ada).ok().await;
    let wide = server.get(&format!("/certificates/{}", id_of(&wide))).by(&ada).ok().await;
    assert_eq!(wide["domains"], json!(["shop.example.org"]));

    server.app.clock.advance_seconds(80 * 365 * 24 * 3_600);
    let ada = log_in(&server, &ada).await;
    let wide = server.get(&format!("/certificates/{}", id_of(&wide))).by(&ada).ok().await;
    assert_eq!(wide["state"], "expired");
}

async fn what_cannot_be_served_is_refused(server: TestServer) {
    let ada = server.admin().await;
    let names = ["shop.example.org"];
    let good = certificate(&names);
    let encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n-----END ENCRYPTED PRIVATE KEY-----";
    let cases = [
        (body("nonsense"), "certificate_chain: must be PEM"),
        (body(&pem("CERTIFICATE", b"nonsense")), "certificate_chain: certificate 1 cannot be read"),
        (body(&certificate_of_years(&names, 2020..=2024)), "certificate_chain: certificate 1 expired on 2024-12-31"),
        (
            body(&certificate_of_years(&names, 2030..=2031)),
            "certificate_chain: certificate 1 is not valid before 2030-01-01",
        ),
        (body(&certificate(&[])), "certificate_chain: the first certificate is for no host"),
        (body(&good.repeat(11)), "certificate_chain: holds 11 certificates"),
        (body(&"x".repeat(100_001)), "certificate_chain: must have at most 100000 characters"),
        (json!({ "certificate_chain": good, "private_key": "nonsense" }), "private_key: must be PEM"),
        (json!({ "certificate_chain": good, "private_key": encrypted }), "private_key: is protected by a password"),
        (
            json!({ "certificate_chain": good, "private_key": pem("PRIVATE KEY", b"nonsense") }),
            "private_key: cannot be used",
        ),
        (json!({ "certificate_chain": good }), "private_key"),
    ];
    for (body, beginning) in cases {
        let message = server.post("/certificates", body).by(&ada).fails(400, "invalid_request").await;
        assert!(message.starts_with(beginning), "{message}");
    }
    assert_eq!(server.get("/certificates").by(&ada).ok().await["certificates"], json!([]), "nothing was saved");
    upload(&server, &ada, &names).await;
    let message = server.post("/certificates", body(&good)).by(&ada).fails(409, "conflict").await;
    assert!(message.contains("already"), "{message}");
}

async fn the_key_is_shown_nowhere(server: TestServer) {
    let ada = server.admin().await;
    let shown = upload(&server, &ada, &["shop.example.org"]).await;
    let list = server.get("/certificates").by(&ada).ok().await;
    let audit = server.get("/audit/logs?resource_type=certificate").by(&ada).ok().await;
    assert_eq!(audit["activities"][0]["message"], "Ada uploaded a certificate for shop.example.org");
    let line = KEY.lines().nth(5).unwrap();
    for answer in [shown, list, audit] {
        assert!(!answer.to_string().contains(line), "{answer}");
    }
    let stored = server.place.bytes().await;
    assert!(!stored.windows(line.len()).any(|window| window == line.as_bytes()), "the key is not sealed");
}

async fn an_organization_has_so_many_certificates(kind: Kind) {
    let server = TestServer::with(kind, &[("organization-certificates", "2")]).await;
    let ada = server.admin().await;
    let first = upload(&server, &ada, &["a.example.org"]).await;
    upload(&server, &ada, &["b.example.org"]).await;
    let message =
        server.post("/certificates", body(&certificate(&["c.example.org"]))).by(&ada).fails(409, "conflict").await;
    assert_eq!(message, "An organization can have 2 certificates. Delete one first.");
    server.delete(&format!("/certificates/{}", id_of(&first))).by(&ada).ok().await;
    upload(&server, &ada, &["c.example.org"]).await;
}
