//! Visitors' requests over time. That the edge's counters get here is tested with a real edge.

use serde_json::{Value, json};
use windlass_server::service::housekeeping;
use windlass_server::traffic::MINUTE_MICROS;
use windlass_store::traffic::{Requests, add};
use windlass_testing::on_both_databases;

use crate::deploys::least;
use crate::support::{Person, TestServer, id_of, server};

on_both_databases!(server: requests_are_summed_by_slots, tenants_see_their_own, old_minutes_are_forgotten);

pub fn counted(requests: i64, errors: i64) -> Requests {
    Requests { requests, errors, answers: requests, answer_us: requests * 5_000 }
}

impl TestServer {
    /// So many minutes ago.
    pub async fn count(&self, application: &Value, ago: i64, requests: Requests) {
        let mut tx = self.app.db.begin().await.unwrap();
        add(&mut tx, self.app.now().micros() / MINUTE_MICROS - ago, &[(id_of(application), requests)]).await.unwrap();
        tx.commit().await.unwrap();
    }

    async fn traffic(&self, person: &Person, query: &str) -> Value {
        self.get(&format!("/deploy/traffic?{query}")).by(person).ok().await
    }
}

async fn requests_are_summed_by_slots(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.running(&ada, least("shop")).await;
    server.running(&ada, least("quiet")).await;
    server.app.clock.advance_seconds(86_400);
    server.count(&shop, 0, counted(3, 1)).await;
    // The edge is asked several times a minute.
    server.count(&shop, 0, counted(4, 0)).await;
    server.count(&shop, 59, counted(5, 5)).await;
    server.count(&shop, 60, counted(100, 0)).await;
    let hour = server.traffic(&ada, "").await;
    assert_eq!((&hour["slots"], &hour["slot_seconds"]), (&json!(60), &json!(60)));
    let seen = &hour["applications"][0];
    assert_eq!(hour["applications"].as_array().unwrap().len(), 1, "one without requests is left out");
    assert_eq!(seen["application_id"], shop["id"]);
    let at = |line: &str, slot: usize| seen[line][slot].as_i64().unwrap();
    assert_eq!((at("requests", 59), at("errors", 59), at("answer_ms", 59)), (7, 1, 5));
    assert_eq!((at("requests", 0), at("errors", 0)), (5, 5));
    let sum = |data: &Value| -> i64 {
        data["applications"][0]["requests"].as_array().unwrap().iter().map(|number| number.as_i64().unwrap()).sum()
    };
    assert_eq!(sum(&hour), 12);
    let day = server.traffic(&ada, &format!("hours=24&id={}", shop["id"].as_str().unwrap())).await;
    assert_eq!((&day["slot_seconds"], sum(&day)), (&json!(1_440), 112));
    server.get("/deploy/traffic?hours=25").by(&ada).fails(400, "invalid_request").await;
}

async fn tenants_see_their_own(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.running(&ada, least("shop")).await;
    server.count(&shop, 0, counted(3, 1)).await;
    let eve = server.stranger(&ada, "eve").await;
    assert_eq!(server.traffic(&eve, "").await["applications"], json!([]));
    let path = format!("/deploy/traffic?id={}", shop["id"].as_str().unwrap());
    server.get(&path).by(&eve).fails(404, "not_found").await;
    // What is counted for an application that is gone is left out, and the rest is kept.
    let mut tx = server.app.db.begin().await.unwrap();
    let all = [(server.app.new_id(), counted(1, 0)), (id_of(&shop), counted(1, 0))];
    add(&mut tx, server.app.now().micros() / MINUTE_MICROS, &all).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(server.traffic(&ada, "").await["applications"][0]["requests"][59], 4);
}

async fn old_minutes_are_forgotten(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.running(&ada, least("shop")).await;
    server.app.clock.advance_seconds(4 * 86_400);
    server.count(&shop, 3 * 1_440, counted(3, 1)).await;
    server.count(&shop, 1_000, counted(3, 1)).await;
    housekeeping::sweep(&server.app).await.unwrap();
    assert_eq!(server.place.execute("delete from traffic where requests = 3").await, 1, "the old one is gone");
    server.count(&shop, 1_000, counted(3, 1)).await;
    let day = server.traffic(&ada, "hours=24").await;
    assert_eq!(day["applications"].as_array().unwrap().len(), 1);
}
