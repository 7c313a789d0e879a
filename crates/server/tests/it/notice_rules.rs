//! Who hears what, when it is sent and not only when it happens; and what a destination that misbehaves takes from others.

use serde_json::{Value, json};
use uuid::Uuid;
use windlass_api::{EventName, Role};
use windlass_server::notify::consumer::Consumer;
use windlass_server::service::work::EventSubject;
use windlass_store::{Kind, notices};
use windlass_testing::on_both_databases;
use windlass_testing::receiver::{Manner, Receiver};
use windlass_testing::smtp::SmtpServer;

use crate::notices::{Scene, titles};
use crate::support::{Person, kind};

on_both_databases!(kind: what_is_folded_needs_the_same_permission, one_that_carries_others_keeps_their_place,
    who_has_lost_the_permission_hears_no_more, what_waits_goes_with_its_channel, a_channel_hears_what_its_key_may,
    a_mail_server_carries_what_its_key_may, what_is_corrected_while_it_is_tried_is_tried_again_at_once,
    a_repaired_mail_server_is_tried_at_once, a_dead_destination_fails_all_that_is_as_old, gone_takes_only_what_was_for_it,
    sending_again_is_limited, tests_take_turns_with_other_calls, answers_are_masked_before_they_are_cut,
    mails_of_one_organization_take_two_places, a_batch_ends_after_a_thousand_notices, telegram_gets_plain_text_if_it_cannot_parse);

const NOT_ALLOWED: &str = "the member or the API key that saved the channel may not hear of it (any more)";

impl Scene {
    async fn make_key(&self) {
        self.tell(EventName::ApiKeyCreated, &[("member", "Ada"), ("key", "ci")]).await;
    }

    async fn save(&self, url: &str, who: &Person) {
        let body = json!({ "type": "webhook", "webhook_url": url });
        self.server.put("/notification/webhook", body).by(who).ok().await;
    }

    /// One whose user is the owner.
    async fn key(&self, permissions: &[&str]) -> Person {
        let body = json!({ "name": permissions.join(" "), "permissions": permissions });
        let made = self.server.post("/auth/api-keys", body).by(&self.ada).ok().await;
        Person { token: made["key"].as_str().unwrap().to_owned(), ..self.ada.clone() }
    }

    async fn mail_server(&self, port: u16, who: &Person) {
        let body = json!({ "host": "127.0.0.1", "port": port, "from_email": "ops@example.org", "security": "none" });
        self.server.post("/notification/smtp", body).by(who).ok().await;
    }

    async fn hears_by_mail(&self, person: &Person, events: Value) {
        let body = json!({ "channel": "email", "events": events });
        self.server.post("/notification/preferences", body).by(person).ok().await;
    }
}

/// One message tells all who read it everything, so what needs more than the rest is not in it.
async fn what_is_folded_needs_the_same_permission(kind: Kind) {
    let mut scene = Scene::quiet(kind, &[]).await;
    let receiver = Receiver::start();
    let member = scene.server.join(&scene.ada, "member", Role::Member).await;
    scene.read().await;
    scene.channel("webhook", &receiver.url("/hook")).await;
    for number in 0..10 {
        scene.fail(&format!("shop-{number}")).await;
        scene.make_key().await;
    }
    scene.read().await;
    scene.send();
    scene.nothing_waits().await;
    let received: Vec<_> = receiver.received().iter().map(|one| one.json()["data"].clone()).collect();
    assert_eq!(received.len(), 2, "{received:#?}");
    for (data, name) in received.iter().zip(["deployment.failed", "api_key.created"]) {
        let events = data["events"].as_array().unwrap();
        assert!(data["count"] == 10 && events.iter().all(|event| event["type"] == name), "{data:#}");
    }
    let all = scene.notices("").await;
    assert_eq!(all.len(), 22);
    let of_keys = all.iter().find(|notice| notice["title"] == "10 API keys were made at once").unwrap();
    let seen = scene.server.get("/notification/notices?limit=100").by(&member).ok().await;
    let seen: Vec<_> = seen["notices"].as_array().unwrap().iter().map(|notice| notice["title"].clone()).collect();
    assert!(seen.len() == 11 && seen.contains(&json!("10 deployments failed at once")), "{seen:#?}");
    let path = format!("/notification/notices/{}", of_keys["id"].as_str().unwrap());
    scene.server.get(&path).by(&member).fails(404, "not_found").await;
    scene.server.post(&format!("{path}/send"), json!({})).by(&member).fails(404, "not_found").await;
    scene.server.get(&path).by(&scene.ada).ok().await;
}

/// It is written later than those that were too many for it.
async fn one_that_carries_others_keeps_their_place(kind: Kind) {
    let mut scene = Scene::quiet(kind, &[]).await;
    let receiver = Receiver::start();
    scene.channel("webhook", &receiver.url("/hook")).await;
    for number in 0..103 {
        scene.fail(&format!("shop-{number}")).await;
    }
    scene.read().await;
    scene.send();
    scene.nothing_waits().await;
    let received = receiver.received();
    assert_eq!(received[0].json()["data"]["count"], 100);
    let others = [100, 101, 102].map(|number| format!("shop-{number}: the deployment failed"));
    assert_eq!(titles(&received[1..]), others);
}

/// Between what happens and what is told an hour can pass.
async fn who_has_lost_the_permission_hears_no_more(kind: Kind) {
    let mut scene = Scene::quiet(kind, &[]).await;
    let (receiver, mails) = (Receiver::start(), SmtpServer::start());
    let grace = scene.server.join(&scene.ada, "grace", Role::Admin).await;
    scene.read().await;
    scene.save(&receiver.url("/hook"), &grace).await;
    scene.mail_server(mails.port(), &scene.ada).await;
    scene.hears_by_mail(&scene.ada, json!([])).await;
    scene.make_key().await;
    scene.fail("shop").await;
    scene.read().await;
    assert_eq!(scene.notices("&state=waiting").await.len(), 4);
    let role = json!({ "user_id": grace.user_id, "role": "viewer" });
    scene.server.post("/organizations/update-user-role", role).by(&scene.ada).ok().await;
    scene.send();
    scene.nothing_waits().await;
    let dropped = scene.notices("&state=dropped").await;
    let mut reasons: Vec<_> = dropped.iter().map(|notice| notice["reason"].as_str().unwrap()).collect();
    reasons.sort_unstable();
    assert_eq!(reasons, ["the member may not hear of it any more", NOT_ALLOWED]);
    assert!(dropped.iter().all(|notice| notice["event"] == "api_key.created"), "{dropped:#?}");
    assert_eq!(titles(&receiver.received()), ["shop: the deployment failed"]);
    assert_eq!(mails.mails().len(), 1);
    assert!(mails.mails()[0].header("subject").unwrap().contains("shop: the deployment failed"));
}

/// A channel that is saved later is another one.
async fn what_waits_goes_with_its_channel(kind: Kind) {
    let mut scene = Scene::quiet(kind, &[]).await;
    let (receiver, mails) = (Receiver::start(), SmtpServer::start());
    scene.channel("webhook", "http://127.0.0.1:9/hook").await;
    scene.mail_server(mails.port(), &scene.ada).await;
    scene.fail("one").await;
    scene.read().await;
    scene.server.delete("/notification/webhook").json(json!({ "type": "webhook" })).by(&scene.ada).ok().await;
    scene.server.delete("/notification/smtp").by(&scene.ada).ok().await;
    let reason = |channel: &str| {
        let query = format!("&state=dropped&channel={channel}");
        let scene = &scene;
        async move { scene.notices(&query).await[0]["reason"].clone() }
    };
    assert_eq!(reason("webhook").await, "the channel was removed");
    assert_eq!(reason("email").await, "the organization's mail server was removed");
    let body = json!({ "type": "webhook", "webhook_url": receiver.url("/hook") });
    scene.server.post("/notification/webhook", body).by(&scene.ada).send().await;
    scene.mail_server(mails.port(), &scene.ada).await;
    scene.fail("two").await;
    scene.read().await;
    scene.send();
    scene.nothing_waits().await;
    assert_eq!(titles(&receiver.received()), ["two: the deployment failed"]);
    assert_eq!(mails.mails().len(), 1);
}

/// A key that may only save addresses is no way to hear what its user hears.
async fn a_channel_hears_what_its_key_may(kind: Kind) {
    let mut scene = Scene::quiet(kind, &[]).await;
    let receiver = Receiver::start();
    let narrow = scene.key(&["webhook:create", "webhook:update"]).await;
    let reading = scene.key(&["webhook:update", "deploy:read"]).await;
    scene.read().await;
    let url = receiver.url("/hook");
    let happen = async || {
        scene.make_key().await;
        scene.fail("shop").await;
        scene.read().await;
        scene.notices("").await.iter().map(|notice| notice["event"].clone()).collect::<Vec<_>>()
    };
    scene.save(&url, &narrow).await;
    assert!(happen().await.is_empty());
    scene.save(&url, &reading).await;
    assert_eq!(happen().await, ["deployment.failed"]);
    scene.save(&url, &scene.ada).await;
    assert_eq!(happen().await, ["deployment.failed", "api_key.created", "deployment.failed"]);
    // What waits is withheld from the address that the key saves now; and it hears nothing when the key pauses and unpauses it.
    scene.save(&url, &narrow).await;
    scene.send();
    scene.nothing_waits().await;
    let all = scene.notices("").await;
    assert!(all.iter().all(|notice| notice["state"] == "dropped" && notice["reason"] == NOT_ALLOWED), "{all:#?}");
    assert_eq!(receiver.count(), 0);
}

async fn a_mail_server_carries_what_its_key_may(kind: Kind) {
    let mut scene = Scene::quiet(kind, &[]).await;
    let mails = SmtpServer::start();
    let narrow = scene.key(&["smtp:update", "deploy:read"]).await;
    scene.read().await;
    scene.mail_server(mails.port(), &narrow).await;
    scene.make_key().await;
    scene.fail("shop").await;
    scene.read().await;
    let events: Vec<_> = scene.notices("").await.iter().map(|notice| notice["event"].clone()).collect();
    assert_eq!(events, ["deployment.failed"]);
    // Saved by the owner, it carries all; saved by the key, no more, though it waits already.
    scene.server.put("/notification/smtp", json!({ "from_name": "Ops" })).by(&scene.ada).ok().await;
    scene.make_key().await;
    scene.read().await;
    assert_eq!(scene.notices("&state=waiting").await.len(), 2);
    scene.server.put("/notification/smtp", json!({ "from_name": "Spy" })).by(&narrow).ok().await;
    scene.send();
    scene.nothing_waits().await;
    let dropped = scene.notices("&state=dropped").await;
    assert_eq!((dropped.len(), &dropped[0]["event"]), (1, &json!("api_key.created")));
    assert_eq!(dropped[0]["reason"], "the API key that saved the mail server may not hear of it");
    assert_eq!(mails.mails().len(), 1);
}

/// Not when the pause is over that the old address has asked for.
async fn what_is_corrected_while_it_is_tried_is_tried_again_at_once(kind: Kind) {
    let mut scene = Scene::quiet(kind, &[("notice-seconds", "60")]).await;
    let (old, new) = (Receiver::start(), Receiver::start());
    let later = Manner::with_header(503, "retry-after", "3600");
    old.always(later.clone());
    old.hold();
    scene.channel("webhook", &old.url("/hook")).await;
    scene.go();
    scene.fail("shop").await;
    old.wait_for(1).await;
    scene.channel("webhook", &new.url("/hook")).await;
    old.go_on();
    assert_eq!(scene.only("sent").await["attempts"], 2);
    assert_eq!((old.count(), new.count()), (1, 1));
    // The same when a person has it sent again.
    new.then(later);
    new.hold();
    scene.fail("store").await;
    new.wait_for(2).await;
    let waiting = scene.notices("&state=waiting").await;
    let path = format!("/notification/notices/{}/send", waiting[0]["id"].as_str().unwrap());
    scene.server.post(&path, json!({})).by(&scene.ada).ok().await;
    new.go_on();
    scene.nothing_waits().await;
    assert_eq!(titles(&new.wait_for(3).await)[2], "store: the deployment failed");
}

async fn a_repaired_mail_server_is_tried_at_once(kind: Kind) {
    let mut scene = Scene::quiet(kind, &[]).await;
    let mails = SmtpServer::start();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    scene.mail_server(closed.port(), &scene.ada).await;
    scene.go();
    scene.fail("shop").await;
    scene
        .until("it was tried", async || {
            let all = scene.notices("&state=waiting").await;
            all.iter().any(|notice| notice["attempts"] == 1).then_some(())
        })
        .await;
    scene.server.put("/notification/smtp", json!({ "port": mails.port() })).by(&scene.ada).ok().await;
    mails.wait_for(1).await;
    scene.nothing_waits().await;
}

/// It would be tried for another day for each.
async fn a_dead_destination_fails_all_that_is_as_old(kind: Kind) {
    let mut scene = Scene::quiet(kind, &[]).await;
    let receiver = Receiver::start();
    receiver.always(Manner::status(500));
    scene.channel("webhook", &receiver.url("/hook")).await;
    scene.fail("one").await;
    scene.read().await;
    scene.send();
    scene.tried(1).await;
    scene.fail("two").await;
    scene.read().await;
    scene.server.app.clock.advance_seconds(43_200);
    scene.fail("three").await;
    scene.read().await;
    scene.server.app.clock.advance_seconds(43_201);
    scene.hurry("webhook").await;
    let failed = scene
        .until("two have failed", async || {
            let failed = scene.notices("&state=failed").await;
            (failed.len() == 2).then_some(failed)
        })
        .await;
    let answered = "It answered 500: something is wrong there.";
    assert_eq!(failed[1]["reason"], format!("it was tried for a day. At last: {answered}"));
    let reason = format!("its destination took nothing for a day, so it was not sent. At last: {answered}");
    assert_eq!((&failed[0]["reason"], &failed[0]["attempts"]), (&json!(reason), &json!(0)));
    let waiting = scene.notices("&state=waiting").await;
    assert_eq!((waiting.len(), &waiting[0]["title"]), (1, &json!("three: the deployment failed")));
}

/// Who saves a new address meanwhile gets what waits there, and the channel stays on.
async fn gone_takes_only_what_was_for_it(kind: Kind) {
    let mut scene = Scene::quiet(kind, &[("notice-seconds", "60")]).await;
    let (old, new) = (Receiver::start(), Receiver::start());
    old.always(Manner::status(410));
    old.hold();
    scene.channel("webhook", &old.url("/hook")).await;
    scene.fail("one").await;
    scene.fail("two").await;
    scene.read().await;
    scene.send();
    old.wait_for(1).await;
    scene.channel("webhook", &new.url("/hook")).await;
    old.go_on();
    scene.nothing_waits().await;
    assert_eq!(titles(&new.received()), ["one: the deployment failed", "two: the deployment failed"]);
    assert_eq!(old.count(), 1);
    assert_eq!(scene.notices("&state=sent").await.len(), 2);
    let config = scene.server.get("/notification/webhook/webhook").by(&scene.ada).ok().await;
    assert_eq!(config["is_active"], true);
}

/// It is others' servers that are called, so it counts with the tests of channels.
async fn sending_again_is_limited(kind: Kind) {
    let scene = Scene::quiet(kind, &[("notice-tests", "2")]).await;
    scene.channel("webhook", "http://127.0.0.1:9/hook").await;
    scene.fail("shop").await;
    scene.read().await;
    let id = scene.notices("").await[0]["id"].as_str().unwrap().to_owned();
    let again = || scene.server.post(&format!("/notification/notices/{id}/send"), json!({})).by(&scene.ada);
    again().ok().await;
    again().ok().await;
    again().fails(429, "rate_limited").await;
    let test = scene.server.post("/notification/webhook/test", json!({ "type": "webhook" })).by(&scene.ada);
    test.fails(429, "rate_limited").await;
}

async fn tests_take_turns_with_other_calls(kind: Kind) {
    let scene = Scene::quiet(kind, &[]).await;
    let (receiver, mails) = (Receiver::start(), SmtpServer::start());
    scene.channel("webhook", &receiver.url("/hook")).await;
    scene.mail_server(mails.port(), &scene.ada).await;
    let calls = &scene.server.app.calls;
    let all = calls.acquire_many(u32::try_from(calls.available_permits()).unwrap()).await.unwrap();
    let webhook = || scene.server.post("/notification/webhook/test", json!({ "type": "webhook" })).by(&scene.ada);
    let mail = || scene.server.post("/notification/smtp/test", json!({})).by(&scene.ada);
    webhook().fails(503, "unavailable").await;
    mail().fails(503, "unavailable").await;
    assert_eq!((receiver.count(), mails.connections()), (0, 0));
    drop(all);
    webhook().ok().await;
    mail().ok().await;
    assert_eq!((receiver.count(), mails.mails().len()), (1, 1));
}

/// A secret that is cut is recognised no more.
async fn answers_are_masked_before_they_are_cut(kind: Kind) {
    let scene = Scene::quiet(kind, &[]).await;
    let receiver = Receiver::start();
    scene.channel("webhook", &receiver.url("/hook/very-secret-token")).await;
    for before in [1_015, 8_185] {
        let body = ("x".repeat(before) + "very-secret-token").into_bytes();
        receiver.then(Manner::Answer { status: 500, headers: Vec::new(), body });
        let test = scene.server.post("/notification/webhook/test", json!({ "type": "webhook" })).by(&scene.ada);
        let tested = test.ok().await;
        let answer = tested["answer"].as_str().unwrap();
        assert!(answer.starts_with("xxx") && answer.len() <= 1_024 && !answer.contains("ve"), "{answer}");
    }
}

/// A mail server that hangs is that of all members: it must not take the places of other organizations' mail.
async fn mails_of_one_organization_take_two_places(kind: Kind) {
    let mut scene = Scene::quiet(kind, &[("notice-seconds", "60")]).await;
    let (receiver, mails) = (Receiver::start(), SmtpServer::start());
    mails.hang_at("CONNECT");
    for name in ["b", "c", "d", "e"] {
        let person = scene.server.join(&scene.ada, name, Role::Viewer).await;
        scene.hears_by_mail(&person, json!(["deployment.failed"])).await;
    }
    scene.read().await;
    scene.channel("webhook", &receiver.url("/hook")).await;
    scene.mail_server(mails.port(), &scene.ada).await;
    scene.go();
    // The worker has looked for mails of the one before when it has sent the next.
    for number in 1..=4 {
        scene.fail(&format!("shop-{number}")).await;
        receiver.wait_for(number).await;
    }
    let two = scene.until("two mails are tried", async || (mails.connections() >= 2).then(|| mails.connections()));
    assert_eq!(two.await, 2);
    let mailed = scene.notices("&channel=email").await;
    assert_eq!(mailed.len(), 20);
}

/// What is left of the events is the next one's.
async fn a_batch_ends_after_a_thousand_notices(kind: Kind) {
    const CHANNELS: [&str; 6] = ["slack", "discord", "teams", "webhook", "telegram", "ntfy"];
    let scene = Scene::quiet(kind, &[]).await;
    for channel in CHANNELS {
        let path = if channel == "telegram" { "bot1:x/sendMessage?chat_id=1" } else { "hook" };
        scene.channel(channel, &format!("http://127.0.0.1:9/{path}")).await;
    }
    let about = EventSubject::of_organization(scene.ada.organization_id);
    let mut work = scene.server.app.begin_step().await.unwrap();
    for number in 0..180 {
        work.tell(EventName::DeploymentFailed, about, &[("application", &format!("shop-{number}"))]);
    }
    work.commit().await.unwrap();
    let organization_id: Uuid = scene.ada.organization_id;
    let count = async || {
        let mut conn = scene.server.app.db.read().await.unwrap();
        notices::count_waiting(&mut conn, organization_id).await.unwrap()
    };
    let mut consumer = Consumer::default();
    // The first round may only find out how far others have come.
    while count().await == 0 {
        assert!(consumer.read(&scene.server.app).await.unwrap(), "there is more");
    }
    assert_eq!(count().await, 167 * 6);
    scene.read().await;
    for channel in CHANNELS {
        let mut conn = scene.server.app.db.read().await.unwrap();
        let waiting = notices::waiting(&mut conn, &format!("{organization_id} {channel} "), 1_000).await.unwrap();
        let told: Vec<_> = waiting.iter().map(|notice| notice.title.clone()).collect();
        let expected: Vec<_> = (0..180).map(|number| format!("shop-{number}: the deployment failed")).collect();
        assert_eq!(told, expected, "{channel}: each once, in order");
    }
}

async fn telegram_gets_plain_text_if_it_cannot_parse(kind: Kind) {
    let mut scene = Scene::quiet(kind, &[]).await;
    let receiver = Receiver::start();
    let refusal = |why: &str| {
        let body = json!({ "ok": false, "error_code": 400, "description": format!("Bad Request: {why}") });
        Manner::Answer { status: 400, headers: Vec::new(), body: body.to_string().into_bytes() }
    };
    scene.channel("telegram", &receiver.url("/bot1:very-secret/sendMessage?chat_id=1")).await;
    receiver.then(refusal("can't parse entities: unclosed tag"));
    scene.go();
    scene.fail("one").await;
    assert_eq!(scene.only("sent").await["attempts"], 1);
    let bodies: Vec<_> = receiver.received().iter().map(windlass_testing::receiver::Received::json).collect();
    assert_eq!((bodies.len(), &bodies[0]["parse_mode"], &bodies[1]["parse_mode"]), (2, &json!("HTML"), &Value::Null));
    // What it refuses for another reason, and what it refuses twice, is given up, and the next one goes on.
    receiver.then(refusal("chat not found"));
    receiver.then(refusal("can't parse entities: unclosed tag"));
    receiver.then(refusal("can't parse entities: unclosed tag"));
    scene.fail("two").await;
    scene.fail("three").await;
    scene.fail("four").await;
    receiver.wait_for(6).await;
    scene.nothing_waits().await;
    assert_eq!((scene.notices("&state=failed").await.len(), scene.notices("&state=sent").await.len()), (2, 2));
}
