//! Domains beside the main ones of applications, and what is said about any.

use serde_json::{Value, json};
use uuid::Uuid;
use windlass_api::Role;
use windlass_store::applications;
use windlass_testing::certificates::{KEY, certificate};
use windlass_testing::pebble::Pebble;
use windlass_testing::{Kind, on_both_databases};

use crate::deploys::least;
use crate::support::{PASSWORD, Person, TestServer, id_of, kind, server};

on_both_databases!(server: an_application_has_several_domains, names_of_every_script, what_cannot_be_a_domain_is_refused,
    a_domain_is_set_up, every_name_below_one_must_be_given);
on_both_databases!(kind: a_record_in_dns_decides, dns_is_told_as_it_is, an_organization_adds_so_many_domains);

fn to(application: &Value) -> String {
    format!("/deploy/application/{}/domains", id_of(application))
}

async fn add(server: &TestServer, person: &Person, application: &Value, body: Value) -> Value {
    server.post(&to(application), body).by(person).ok().await
}

/// Each with where it leads.
async fn listed(server: &TestServer, person: &Person) -> Vec<(String, Uuid)> {
    let all = server.get("/domains").by(person).ok().await;
    let one = |one: &Value| {
        let text = |name: &str| one[name].as_str().unwrap().to_owned();
        (text("domain") + &text("path"), one["application_id"].as_str().unwrap().parse().unwrap())
    };
    all["domains"].as_array().unwrap().iter().map(one).collect()
}

async fn an_application_has_several_domains(server: TestServer) {
    let ada = server.admin().await;
    let (shop, api) = (server.deploy(&ada, least("shop")).await, server.deploy(&ada, least("api")).await);
    let www = add(&server, &ada, &shop, json!({ "domain": "WWW.example.org.", "redirect": "permanent" })).await;
    assert_eq!(
        (&www["domain"], &www["path"], &www["redirect"]),
        (&json!("www.example.org"), &json!("/"), &json!("permanent"))
    );
    assert_eq!((&www["https"], &www["https_only"], &www["problem"]), (&json!("none"), &json!(true), &json!("")));
    // Two applications of the organization share a domain.
    let inside = json!({ "domain": "shop.localhost", "path": "/api/" });
    let inside = add(&server, &ada, &api, inside).await;
    assert_eq!((&inside["domain"], &inside["path"]), (&json!("shop.localhost"), &json!("/api")));
    let (shop_id, api_id) = (id_of(&shop), id_of(&api));
    let expected = [
        ("api.localhost/".to_owned(), api_id),
        ("shop.localhost/".to_owned(), shop_id),
        ("shop.localhost/api".to_owned(), api_id),
        ("www.example.org/".to_owned(), shop_id),
    ];
    assert_eq!(listed(&server, &ada).await, expected);
    for taken in [
        json!({ "domain": "www.example.org" }),
        json!({ "domain": "shop.localhost", "path": "/api" }),
        json!({ "domain": "shop.localhost" }),
        json!({ "domain": "api.localhost" }),
    ] {
        let message = server.post(&to(&api), taken.clone()).by(&ada).fails(409, "domain_taken").await;
        let domain = taken["domain"].as_str().unwrap();
        assert_eq!(
            message,
            format!("domain: {domain} leads to an application or installation already. Choose another domain or path.")
        );
    }
    let main = json!({ "id": api_id, "domain": "www.example.org" });
    server.put("/deploy/application", main).by(&ada).fails(409, "domain_taken").await;
    let audit = server.get("/audit/logs?resource_type=domain").by(&ada).ok().await;
    assert_eq!(audit["activities"][0]["message"], "Ada added the domain shop.localhost/api to api");

    let viewer = server.join(&ada, "victor", Role::Viewer).await;
    let (path, eve) = (format!("{}/{}", to(&shop), id_of(&www)), server.stranger(&ada, "eve").await);
    server.delete(&path).by(&viewer).fails(403, "forbidden").await;
    server.delete(&path).by(&eve).fails(404, "not_found").await;
    server.delete(&format!("{}/{}", to(&api), id_of(&www))).by(&ada).fails(404, "not_found").await;
    server.delete(&path).by(&ada).ok().await;
    server.delete(&path).by(&ada).fails(404, "not_found").await;
    // It led nowhere, so it is free for all.
    let theirs = server.deploy(&eve, least("theirs")).await;
    add(&server, &eve, &theirs, json!({ "domain": "www.example.org" })).await;
    let message =
        server.post(&to(&shop), json!({ "domain": "www.example.org" })).by(&ada).fails(409, "domain_taken").await;
    let proof = format!("_windlass.www.example.org with the value windlass-organization={}", ada.organization_id);
    assert!(message.contains(&proof), "{message}");
    // What is deleted has no domains any more.
    let confirmed = json!({ "id": api_id, "name": "api" });
    server.delete("/deploy/application").json(confirmed).by(&ada).ok().await;
    assert_eq!(listed(&server, &ada).await, [("shop.localhost/".to_owned(), shop_id)]);
}

async fn names_of_every_script(server: TestServer) {
    let ada = server.admin().await;
    let mut body = least("buecher");
    body["domain"] = json!("Bücher.example");
    let application = server.deploy(&ada, body).await;
    assert_eq!(application["domain"], "xn--bcher-kva.example");
    let added = add(&server, &ada, &application, json!({ "domain": "東京.example.org" })).await;
    assert_eq!((&added["domain"], &added["readable"]), (&json!("xn--1lqs71d.example.org"), &json!("東京.example.org")));
}

async fn what_cannot_be_a_domain_is_refused(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.deploy(&ada, least("shop")).await;
    for (body, beginning) in [
        (json!({}), "domain"),
        (json!({ "domain": "10.0.0.1" }), "domain: must be a host name"),
        (json!({ "domain": "*" }), "domain: must be a host name"),
        (json!({ "domain": "a.*.example.org" }), "domain: must be a host name"),
        (json!({ "domain": "localhost" }), "domain: localhost is this server's own"),
        (json!({ "domain": "a.example.org", "path": "api" }), "path: must be a path"),
        (json!({ "domain": "a.example.org", "path": "/../api" }), "path: must be a path"),
        (
            json!({ "domain": "shop.localhost", "path": "/old", "redirect": "permanent" }),
            "redirect: would send visitors where they are",
        ),
        (json!({ "domain": "a.example.org", "service": "a b" }), "service: must be the name of a service"),
        (
            json!({ "domain": "a.example.org", "service": "db" }),
            "service: must be left out: build_pack is not docker-compose",
        ),
        (json!({ "domain": "a.example.org", "redirect": "maybe" }), "redirect: must be none, permanent or temporary"),
    ] {
        let message = server.post(&to(&shop), body).by(&ada).fails(400, "invalid_request").await;
        assert!(message.starts_with(beginning), "{message}");
    }
    assert_eq!(listed(&server, &ada).await.len(), 1);
}

async fn a_domain_is_set_up(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.deploy(&ada, least("shop")).await;
    add(&server, &ada, &shop, json!({ "domain": "shop.example.org" })).await;
    let upload = async |names: &[&str]| {
        let body = json!({ "certificate_chain": certificate(names), "private_key": KEY });
        id_of(&server.post("/certificates", body).by(&ada).ok().await)
    };
    let (own, wide) = (upload(&["shop.example.org"]).await, upload(&["*.example.org"]).await);
    let other = upload(&["other.example.net"]).await;
    let path = "/domains/shop.example.org";
    let changed = server.put(path, json!({ "https_only": false })).by(&ada).ok().await;
    assert_eq!((&changed["https_only"], &changed["certificate_id"]), (&json!(false), &json!(own)));
    let changed = server.put(path, json!({ "certificate_id": wide })).by(&ada).ok().await;
    assert_eq!(changed["https_only"], false, "what is absent stays");
    assert_eq!((&changed["certificate_id"], &changed["chosen_certificate_id"]), (&json!(wide), &json!(wide)));
    let best = server.put(path, json!({ "certificate_id": "" })).by(&ada).ok().await;
    assert_eq!((&best["certificate_id"], &best["chosen_certificate_id"]), (&json!(own), &Value::Null));
    server.put(path, json!({ "certificate_id": wide })).by(&ada).ok().await;
    let served = server.get(&format!("/certificates/{wide}")).by(&ada).ok().await;
    assert_eq!(served["domains"], json!(["shop.example.org"]));
    let message = server.put(path, json!({ "certificate_id": other })).by(&ada).fails(400, "invalid_request").await;
    assert_eq!(message, "certificate_id: is a certificate that is not for shop.example.org");
    let eve = server.stranger(&ada, "eve").await;
    server.put(path, json!({ "https_only": true })).by(&eve).fails(404, "not_found").await;
    let body = json!({ "certificate_chain": certificate(&["shop.example.org"]), "private_key": KEY });
    let foreign = id_of(&server.post("/certificates", body).by(&eve).ok().await);
    let message = server.put(path, json!({ "certificate_id": foreign })).by(&ada).fails(400, "invalid_request").await;
    assert_eq!(message, "certificate_id: is not a certificate of the organization");
    // One that is deleted is chosen no more.
    server.delete(&format!("/certificates/{wide}")).by(&ada).ok().await;
    let all = server.get("/domains").by(&ada).ok().await;
    assert_eq!(
        (&all["domains"][0]["certificate_id"], &all["domains"][0]["chosen_certificate_id"]),
        (&json!(own), &Value::Null)
    );
    let changed = server.put(path, json!({ "certificate_id": "", "https_only": true })).by(&ada).ok().await;
    assert_eq!(changed["https_only"], true);
}

/// Without a record in DNS, only below a name that the organization has from this server.
async fn every_name_below_one_must_be_given(server: TestServer) {
    let ada = server.admin().await;
    let eve = server.stranger(&ada, "eve").await;
    let (shop, theirs) = (server.deploy(&ada, least("shop")).await, server.deploy(&eve, least("theirs")).await);
    for (domain, beginning) in [
        ("*.localhost", "domain: names of this server are below localhost"),
        ("*.theirs.localhost", "domain: needs a proof that every name below theirs.localhost is yours"),
        ("*.example.org", "domain: needs a proof that every name below example.org is yours"),
    ] {
        let message = server.post(&to(&shop), json!({ "domain": domain })).by(&ada).fails(400, "invalid_request").await;
        assert!(message.starts_with(beginning), "{message}");
    }
    let below = add(&server, &ada, &shop, json!({ "domain": "*.shop.localhost" })).await;
    assert_eq!(below["domain"], "*.shop.localhost");
    // What is below is the organization's then, also when the name above is given up.
    for domain in ["a.shop.localhost", "a.b.shop.localhost"] {
        server.post(&to(&theirs), json!({ "domain": domain })).by(&eve).fails(409, "domain_taken").await;
        add(&server, &ada, &shop, json!({ "domain": domain })).await;
    }
    server.put("/deploy/application", json!({ "id": id_of(&shop), "domain": "a.example.org" })).by(&ada).ok().await;
    server.post(&to(&theirs), json!({ "domain": "shop.localhost" })).by(&eve).fails(409, "domain_taken").await;
    assert_ne!(server.deploy(&eve, least("shop")).await["domain"], "shop.localhost", "what is below is another's");
    // What was there before stays another organization's, and can be changed.
    add(&server, &eve, &theirs, json!({ "domain": "b.a.example.org" })).await;
    let moved = json!({ "id": id_of(&theirs), "domain": "one.theirs.localhost" });
    server.put("/deploy/application", moved).by(&eve).ok().await;
    let above = server.deploy(&ada, least("theirs")).await;
    assert_eq!(above["domain"], "theirs.localhost");
    add(&server, &ada, &above, json!({ "domain": "*.theirs.localhost" })).await;
    let same = json!({ "id": id_of(&theirs), "domain": "one.theirs.localhost", "replicas": 2 });
    server.put("/deploy/application", same).by(&eve).ok().await;
    add(&server, &eve, &theirs, json!({ "domain": "one.theirs.localhost", "path": "/api" })).await;
    server.post(&to(&theirs), json!({ "domain": "two.theirs.localhost" })).by(&eve).fails(409, "domain_taken").await;
}

async fn a_record_in_dns_decides(kind: Kind) {
    let pebble = Pebble::start();
    let server = TestServer::with(kind, &[("dns-servers", &pebble.name_server())]).await;
    let ada = server.admin().await;
    let eve = server.stranger(&ada, "eve").await;
    let (shop, theirs) = (server.deploy(&ada, least("shop")).await, server.deploy(&eve, least("theirs")).await);
    let of = |person: &Person| format!("windlass-organization={}", person.organization_id);
    // Both ways in which another organization can have a name that is not its own.
    add(&server, &eve, &theirs, json!({ "domain": "www.example.org" })).await;
    let squatted = json!({ "id": id_of(&theirs), "domain": "example.org" });
    server.put("/deploy/application", squatted).by(&eve).ok().await;
    let wanted = json!({ "domain": "www.example.org" });
    server.post(&to(&shop), wanted.clone()).by(&ada).fails(409, "domain_taken").await;
    // Not by another name's record, nor while the record names both.
    pebble.say("_windlass.example.com.", &[&of(&ada)]);
    pebble.say("_windlass.www.example.org.", &[&of(&ada), &of(&eve)]);
    server.post(&to(&shop), wanted.clone()).by(&ada).fails(409, "domain_taken").await;
    pebble.say("_windlass.www.example.org.", &["v=spf1 -all", &of(&ada)]);
    pebble.say("_windlass.example.org.", &[&of(&ada)]);
    let check = server.get("/domains/www.example.org/check").by(&eve).ok().await;
    assert_eq!((&check["proof"]["value"], &check["proof"]["is_found"]), (&json!(of(&eve)), &json!(false)));
    add(&server, &ada, &shop, wanted.clone()).await;
    let main = json!({ "id": id_of(&shop), "domain": "example.org" });
    assert_eq!(server.put("/deploy/application", main).by(&ada).ok().await["domain"], "example.org");
    let left = listed(&server, &eve).await;
    assert_eq!(left, [("theirs.localhost/".to_owned(), id_of(&theirs))], "an application has a name still");
    let told = server.get("/audit/logs?resource_type=domain").by(&eve).ok().await;
    assert_eq!(
        told["activities"][0]["message"],
        "windlass took example.org from theirs: its records in DNS name another owner"
    );
    assert!(!told.to_string().contains(&ada.organization_id.to_string()), "{told}");
    let check = server.get("/domains/www.example.org/check").by(&ada).ok().await;
    assert_eq!((&check["proof"]["is_found"], &check["problem"]), (&json!(true), &json!("")), "{check}");
    // The same for every name below. What the organization has is not asked about again.
    add(&server, &ada, &shop, json!({ "domain": "*.example.org" })).await;
    pebble.say("_windlass.example.org.", &[]);
    add(&server, &ada, &shop, json!({ "domain": "*.example.org", "path": "/api" })).await;
    pebble.say("_windlass.example.org.", &[&of(&ada)]);
    server.post(&to(&theirs), json!({ "domain": "blog.example.org" })).by(&eve).fails(409, "domain_taken").await;
    pebble.say("_windlass.blog.example.org.", &[&of(&eve)]);
    add(&server, &eve, &theirs, json!({ "domain": "blog.example.org" })).await;
    // And for a name that visitors of another organization may still come to.
    let mut tx = server.app.db.begin().await.unwrap();
    applications::set_live(&mut tx, id_of(&shop), Some(id_of(&shop["deployments"][0]))).await.unwrap();
    tx.commit().await.unwrap();
    server.put("/deploy/application", json!({ "id": id_of(&shop), "domain": "" })).by(&ada).ok().await;
    let wanted = json!({ "domain": "example.org" });
    server.post(&to(&theirs), wanted.clone()).by(&eve).fails(409, "domain_taken").await;
    pebble.say("_windlass.example.org.", &[&of(&eve)]);
    add(&server, &eve, &theirs, wanted).await;
    // Names below one that was given up are kept as well, and what a proof has brought stays without it.
    let all = server.get("/domains").by(&ada).ok().await;
    for wide in all["domains"].as_array().unwrap().iter().filter(|one| one["domain"] == "*.example.org") {
        server.delete(&format!("{}/{}", to(&shop), id_of(wide))).by(&ada).ok().await;
    }
    pebble.say("_windlass.blog.example.org.", &[]);
    server.post(&to(&theirs), json!({ "domain": "mail.example.org" })).by(&eve).fails(409, "domain_taken").await;
    add(&server, &eve, &theirs, json!({ "domain": "blog.example.org", "path": "/api" })).await;
}

async fn dns_is_told_as_it_is(kind: Kind) {
    let pebble = Pebble::start();
    let settings = [("dns-servers", pebble.name_server()), ("public-url", "https://198.51.100.7".to_owned())];
    let settings = settings.each_ref().map(|(name, value)| (*name, value.as_str()));
    let server = TestServer::with(kind, &settings).await;
    let token = server.app.setup_token.reveal();
    let ada = json!({ "email": "ada@example.org", "password": PASSWORD, "token": token });
    let ada = server.register(ada).await;
    let shop = server.deploy(&ada, least("shop")).await;
    add(&server, &ada, &shop, json!({ "domain": "www.example.org" })).await;
    let path = "/domains/www.example.org/check";
    pebble.lead("www.example.org", &["93.184.215.14", "10.0.0.5"]);
    let check = server.get(path).by(&ada).ok().await;
    let record = |is_found: bool| json!([{ "type": "A", "name": "www.example.org", "value": "198.51.100.7", "is_found": is_found }]);
    assert_eq!((&check["records"], &check["problem"]), (&record(false), &json!("")));
    assert_eq!(check["addresses"], json!(["93.184.215.14"]), "what is inside the operator's network is not told");
    assert_eq!(check["issuers"], Value::Null);
    pebble.lead("www.example.org", &["198.51.100.7"]);
    pebble.allow("www.example.org", "ca.example.net");
    let check = server.get(path).by(&ada).ok().await;
    assert_eq!((&check["records"], &check["addresses"]), (&record(true), &json!(["198.51.100.7"])));
    assert_eq!(check["issuers"], json!(["ca.example.net"]));
    let eve = server.stranger(&ada, "eve").await;
    server.get(path).by(&eve).fails(404, "not_found").await;
}

async fn an_organization_adds_so_many_domains(kind: Kind) {
    let server = TestServer::with(kind, &[("organization-domains", "1")]).await;
    let ada = server.admin().await;
    let shop = server.deploy(&ada, least("shop")).await;
    add(&server, &ada, &shop, json!({ "domain": "a.example.org" })).await;
    let message = server.post(&to(&shop), json!({ "domain": "b.example.org" })).by(&ada).fails(409, "conflict").await;
    assert_eq!(
        message,
        "An organization can add 1 domains to its applications (organization-domains). Remove one first."
    );
}
