//! Status pages: who decides what the public sees, and that it sees nothing else, and nothing old.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use uuid::Uuid;
use windlass_api::Role;
use windlass_server::status_pages::{Publisher, folder};
use windlass_store::status_pages as rows;
use windlass_testing::receiver::Manner;
use windlass_testing::{Kind, on_both_databases};

use crate::deploys::least;
use crate::sessions::log_in;
use crate::support::{Person, TestServer, id_of, kind, server};
use crate::uptime::Checked;
use crate::walk::{Operation, World};

on_both_databases!(
    server: a_page_shows_what_was_chosen, a_page_follows_the_states, a_page_is_fresh, texts_of_people_are_inert,
    what_was_shown_before_is_never_served, a_page_has_a_domain_as_an_application_has, only_own_applications_are_shown, what_cannot_be_written_is_tried_again,
    a_page_goes_with_what_it_is_about
);
on_both_databases!(kind: a_domain_is_kept_for_a_while);

fn of(person: &Person) -> String {
    format!("/organizations/{}/status-page", person.organization_id)
}

fn page(domain: &str, applications: &[(Uuid, &str)]) -> Value {
    let applications: Vec<_> =
        applications.iter().map(|(id, name)| json!({ "application_id": id, "name": name })).collect();
    json!({ "enabled": true, "title": "All of it", "domain": domain, "applications": applications })
}

impl World {
    pub async fn about_status_page(&self, operation: &Operation) -> (String, Value) {
        let path = operation.path.replace("{organization_id}", &self.owner().organization_id.to_string());
        let shop = id_of(&self.running().await);
        let mut body = page(&format!("status-{shop}.example.org"), &[(shop, "Shop")]);
        if operation.id == "update_status_page" {
            return (path, body);
        }
        // A name that is the same each time.
        body["domain"] = json!("status.example.org");
        self.server.put(&path, body).by(self.owner()).ok().await;
        (path, Value::Null)
    }
}

/// The folder that the edge would be told of.
async fn served(server: &TestServer, person: &Person) -> Option<PathBuf> {
    let all = rows::on(&mut server.app.db.read().await.unwrap()).await.unwrap();
    let page = all.into_iter().find(|page| page.organization_id == person.organization_id)?;
    Some(folder(&server.app.config.data_dir, page.edition))
}

/// What the public reads.
async fn read(server: &TestServer, person: &Person) -> Option<String> {
    std::fs::read_to_string(served(server, person).await?.join("index.html")).ok()
}

async fn a_page_shows_what_was_chosen(server: TestServer) {
    let checked = Checked::new(server).await;
    let (server, ada) = (&checked.server, &checked.ada);
    let none = server.get(&of(ada)).by(ada).ok().await;
    assert_eq!((&none["enabled"], &none["title"], &none["domain"]), (&json!(false), &json!("Status"), &json!("")));
    assert_eq!((&none["applications"], &none["updated_at"]), (&json!([]), &Value::Null));
    checked.set(json!({})).await;
    checked.pass(0).await;
    let hidden = id_of(&server.running(ada, least("very-internal")).await);
    let set = server.put(&of(ada), page("status.example.org", &[(checked.shop, "The shop")])).by(ada).ok().await;
    assert_eq!((&set["enabled"], &set["applications"][0]["name"]), (&json!(true), &json!("The shop")));
    let mut publisher = Publisher::default();
    publisher.look(&server.app).await.unwrap();
    let html = read(server, ada).await.unwrap();
    for shown in ["<title>All of it</title>", "<bdi>The shop</bdi>", ">Up<", "100.00 % in 30 days", "Everything works."]
    {
        assert!(html.contains(shown), "{shown}: {html}");
    }
    for internal in ["very-internal", "shop.localhost", "Analytical", &hidden.to_string(), &checked.shop.to_string()] {
        assert!(!html.contains(internal), "{internal}: {html}");
    }
    let audit = server.get("/audit/logs?resource_type=status_page").by(ada).ok().await;
    assert_eq!(audit["activities"][0]["message"], "Ada turned on the status page");
    // What is not given stays.
    let titled = server.put(&of(ada), json!({ "title": "Other" })).by(ada).ok().await;
    assert_eq!(
        (&titled["domain"], titled["applications"].as_array().unwrap().len()),
        (&json!("status.example.org"), 1)
    );
    for role in [Role::Viewer, Role::Member] {
        let person = server.join(ada, role.as_str(), role).await;
        let path = of(ada);
        server.put(&path, json!({ "title": "Mine" })).by(&person).fails(403, "forbidden").await;
        server.get(&path).by(&person).ok().await;
    }
}

async fn a_page_follows_the_states(server: TestServer) {
    let checked = Checked::new(server).await;
    let (server, ada) = (&checked.server, &checked.ada);
    checked.set(json!({ "failures": 1 })).await;
    server.put(&of(ada), page("status.example.org", &[(checked.shop, "Shop")])).by(ada).ok().await;
    let mut publisher = Publisher::default();
    let mut shown = async || {
        publisher.look(&server.app).await.unwrap();
        read(server, ada).await.unwrap()
    };
    assert!(shown().await.contains(">No recent check<"));
    checked.pass(0).await;
    let up = shown().await;
    assert!(up.contains(">Up<") && up.contains("<p>None.</p>"), "{up}");
    assert_eq!(shown().await, up, "nothing has changed, and it is fresh");
    checked.edge.always(Manner::status(500));
    checked.pass(60).await;
    let down = shown().await;
    assert!(down.contains(">Down<") && down.contains("Not everything works.") && down.contains("until now"), "{down}");
    assert!(!down.contains("status 500"), "why is not for the public: {down}");
    server.post("/deploy/application/stop", json!({ "id": checked.shop })).by(ada).ok().await;
    assert!(shown().await.contains(">Paused<"));
    checked.set(json!({ "enabled": false })).await;
    assert!(shown().await.contains(">Not checked<"));
}

/// Visitors see how old it is, so it is written anew though nothing has changed.
async fn a_page_is_fresh(server: TestServer) {
    let checked = Checked::new(server).await;
    let (server, ada) = (&checked.server, &checked.ada);
    server.put(&of(ada), page("status.example.org", &[(checked.shop, "Shop")])).by(ada).ok().await;
    let mut publisher = Publisher::default();
    publisher.look(&server.app).await.unwrap();
    let file = served(server, ada).await.unwrap().join("index.html");
    std::fs::write(&file, "as it was").unwrap();
    for (seconds, is_fresh) in [(40, false), (15, true)] {
        // Not while the database is asked: its limits of time would be over at once.
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(seconds)).await;
        tokio::time::resume();
        publisher.look(&server.app).await.unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap() != "as it was", is_fresh, "{seconds} seconds later");
    }
}

async fn texts_of_people_are_inert(server: TestServer) {
    let checked = Checked::new(server).await;
    let (server, ada) = (&checked.server, &checked.ada);
    let hostile = "</title><script>alert('1')</script><b x=\"";
    let mut body = page("status.example.org", &[(checked.shop, hostile)]);
    body["title"] = json!(hostile);
    server.put(&of(ada), body).by(ada).ok().await;
    Publisher::default().look(&server.app).await.unwrap();
    let html = read(server, ada).await.unwrap();
    assert!(!html.contains("<script") && !html.contains("<b x"), "{html}");
    assert!(html.contains("&lt;script&gt;alert(&#39;1&#39;)"), "{html}");
}

async fn what_was_shown_before_is_never_served(server: TestServer) {
    let checked = Checked::new(server).await;
    let (server, ada) = (&checked.server, &checked.ada);
    server.put(&of(ada), page("status.example.org", &[(checked.shop, "Old name")])).by(ada).ok().await;
    let mut publisher = Publisher::default();
    publisher.look(&server.app).await.unwrap();
    let before = served(server, ada).await.unwrap();
    assert!(before.join("index.html").exists());
    server.put(&of(ada), json!({ "enabled": false })).by(ada).ok().await;
    assert_eq!(served(server, ada).await, None);
    // A server that was away in the meantime.
    let applications = json!([{ "application_id": checked.shop, "name": "New name" }]);
    server.put(&of(ada), json!({ "enabled": true, "applications": applications })).by(ada).ok().await;
    assert_eq!(read(server, ada).await, None, "nothing is shown until it is written anew");
    publisher.look(&server.app).await.unwrap();
    let html = read(server, ada).await.unwrap();
    assert!(html.contains("New name") && !html.contains("Old name"), "{html}");
    assert!(!before.exists(), "what was shown before is gone");
    let shown = served(server, ada).await.unwrap();
    server.put(&of(ada), json!({ "enabled": false })).by(ada).ok().await;
    publisher.look(&server.app).await.unwrap();
    assert!(!shown.exists());
}

async fn a_page_has_a_domain_as_an_application_has(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.running(&ada, least("shop")).await;
    let message = server.put(&of(&ada), json!({ "enabled": true })).by(&ada).fails(400, "invalid_request").await;
    assert_eq!(message, "domain: is needed before the status page is turned on");
    server.put(&of(&ada), page("shop.localhost", &[])).by(&ada).fails(409, "domain_taken").await;
    server.put(&of(&ada), page("localhost", &[])).by(&ada).fails(400, "invalid_request").await;
    // As long as it is off, the name is not the page's.
    server.put(&of(&ada), json!({ "domain": "status.example.org" })).by(&ada).ok().await;
    let domains = async || {
        let all = server.get("/domains").by(&ada).ok().await;
        let all = all["domains"].as_array().unwrap().clone();
        all.into_iter().map(|one| one["domain"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(domains().await, ["shop.localhost"]);
    server.put(&of(&ada), json!({ "enabled": true })).by(&ada).ok().await;
    assert_eq!(domains().await, ["shop.localhost", "status.example.org"]);
    let adding = format!("/deploy/application/{}/domains", id_of(&shop));
    let wanted = json!({ "domain": "status.example.org" });
    server.post(&adding, wanted.clone()).by(&ada).fails(409, "domain_taken").await;
    server.post(&adding, json!({ "domain": "status.example.org", "path": "/api" })).by(&ada).ok().await;
    let eve = server.stranger(&ada, "eve").await;
    let theirs = server.running(&eve, least("theirs")).await;
    let path = format!("/deploy/application/{}/domains", id_of(&theirs));
    server.post(&path, wanted).by(&eve).fails(409, "domain_taken").await;
    server.put(&of(&eve), page("status.example.org", &[])).by(&eve).fails(409, "domain_taken").await;
    server.put(&of(&ada), json!({ "domain": "" })).by(&ada).fails(400, "invalid_request").await;
    // A key may change the organization, and claim no name.
    let key = json!({ "name": "k", "organization_id": ada.organization_id, "permissions": ["organization:update"] });
    let key = server.post("/auth/api-keys", key).by(&ada).ok().await["key"].as_str().unwrap().to_owned();
    let key = Person { token: key, ..ada.clone() };
    let message =
        server.put(&of(&ada), json!({ "domain": "other.example.org" })).by(&key).fails(403, "forbidden").await;
    assert!(message.contains("domain:create"), "{message}");
    server.put(&of(&ada), json!({ "title": "By a program" })).by(&key).ok().await;
}

async fn a_domain_is_kept_for_a_while(kind: Kind) {
    let server = TestServer::with(kind, &[]).await;
    let ada = server.admin().await;
    let eve = server.stranger(&ada, "eve").await;
    server.put(&of(&ada), page("status.example.org", &[])).by(&ada).ok().await;
    server.put(&of(&ada), json!({ "enabled": false })).by(&ada).ok().await;
    // Its visitors must not find another organization's page there.
    let message = server.put(&of(&eve), page("status.example.org", &[])).by(&eve).fails(409, "domain_taken").await;
    assert!(message.contains("another organization had status.example.org"), "{message}");
    server.app.clock.advance_seconds(server.app.config.domain_hold_seconds + 1);
    let (ada, eve) = (log_in(&server, &ada).await, log_in(&server, &eve).await);
    server.put(&of(&eve), page("status.example.org", &[])).by(&eve).ok().await;
    server.put(&of(&ada), json!({ "enabled": true })).by(&ada).fails(409, "domain_taken").await;
}

async fn only_own_applications_are_shown(server: TestServer) {
    let ada = server.admin().await;
    let eve = server.stranger(&ada, "eve").await;
    let theirs = id_of(&server.running(&eve, least("theirs")).await);
    let message = server
        .put(&of(&ada), page("status.example.org", &[(theirs, "Ours")]))
        .by(&ada)
        .fails(400, "invalid_request")
        .await;
    assert_eq!(message, format!("applications: {theirs} is not an application of the organization"));
    let none = server.get(&of(&ada)).by(&ada).ok().await;
    assert_eq!((&none["enabled"], &none["domain"]), (&json!(false), &json!("")), "nothing of it was kept");
    let own = id_of(&server.running(&ada, least("shop")).await);
    let twice = page("status.example.org", &[(own, "One"), (own, "Two")]);
    let message = server.put(&of(&ada), twice).by(&ada).fails(400, "invalid_request").await;
    assert!(message.contains("twice"), "{message}");
    server.get(&of(&ada)).by(&eve).fails(404, "not_found").await;
    server.put(&of(&ada), json!({ "title": "Mine" })).by(&eve).fails(404, "not_found").await;
}

async fn what_cannot_be_written_is_tried_again(server: TestServer) {
    let checked = Checked::new(server).await;
    let (server, ada) = (&checked.server, &checked.ada);
    let in_the_way = server.app.config.data_dir.join("status-pages");
    std::fs::write(&in_the_way, "not a folder").unwrap();
    server.put(&of(ada), page("status.example.org", &[(checked.shop, "Shop")])).by(ada).ok().await;
    let mut publisher = Publisher::default();
    publisher.look(&server.app).await.unwrap();
    assert_eq!(read(server, ada).await, None);
    std::fs::remove_file(&in_the_way).unwrap();
    publisher.look(&server.app).await.unwrap();
    assert!(read(server, ada).await.unwrap().contains("Shop"));
}

async fn a_page_goes_with_what_it_is_about(server: TestServer) {
    let checked = Checked::new(server).await;
    let (server, ada) = (&checked.server, &checked.ada);
    server.put(&of(ada), page("status.example.org", &[(checked.shop, "Shop")])).by(ada).ok().await;
    let mut tx = server.app.db.begin().await.unwrap();
    windlass_store::applications::delete(&mut tx, checked.shop).await.unwrap();
    tx.commit().await.unwrap();
    Publisher::default().look(&server.app).await.unwrap();
    let html = read(server, ada).await.unwrap();
    assert!(!html.contains("Shop") && html.contains("Nothing is known at the moment."), "{html}");
    let doomed = server.post("/organizations", json!({ "name": "Doomed" })).by(ada).ok().await;
    let path = format!("/organizations/{}/status-page", id_of(&doomed));
    let set = page("doomed.example.org", &[]);
    server.put(&path, set).by(ada).within(id_of(&doomed)).ok().await;
    server.delete("/organizations").json(json!({ "id": doomed["id"] })).by(ada).ok().await;
    assert_eq!(server.place.execute("delete from status_pages where domain = 'doomed.example.org'").await, 0);
}
