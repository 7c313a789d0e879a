//! Notices: what happened reaches people, once, in order, signed, and whatever their receivers do.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::watch;
use uuid::Uuid;
use windlass_api::{EventName, Role};
use windlass_notify::{SigningSecret, sign};
use windlass_server::jobs::{self, Registry};
use windlass_server::notify;
use windlass_server::service::work::EventSubject;
use windlass_store::{Kind, jobs as job_rows};
use windlass_testing::on_both_databases;
use windlass_testing::receiver::{Manner, Received, Receiver};
use windlass_testing::smtp::SmtpServer;

use crate::deploys::least;
use crate::support::{Person, TestServer, id_of, kind};

on_both_databases!(kind: a_failure_is_told_once_and_signed, a_secret_is_rotated, whatever_the_receiver_does_it_is_told_in_the_end,
    a_receiver_can_say_how_long_to_wait, notices_keep_their_order, many_at_once_are_one, one_that_was_away_hears_one_message,
    one_that_hangs_keeps_no_other_waiting, what_was_tried_for_a_day_is_given_up_and_sent_again, a_message_that_is_refused_gives_way,
    gone_is_gone, too_many_give_way, channels_hear_what_was_chosen, the_first_success_is_told, a_deployment_speaks_for_its_application,
    members_hear_by_mail, a_channel_hears_what_its_member_may, others_see_nothing, answers_show_nothing_secret,
    a_test_says_what_went_wrong, tests_are_limited, bad_preferences_are_refused, what_is_over_is_forgotten, a_page_goes_on_where_it_ended,
    a_paused_channel_hears_nothing);

const OWNER: Uuid = Uuid::from_u128(78);
const LIMIT: Duration = Duration::from_secs(60);
const SECOND: i64 = 1_000_000;

/// A server whose events become notices, and whose worker sends them.
pub struct Scene {
    pub server: TestServer,
    pub ada: Person,
    stop: Option<watch::Sender<bool>>,
    consumer: Option<tokio::task::JoinHandle<()>>,
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(consumer) = self.consumer.take() {
            consumer.abort();
        }
    }
}

impl Scene {
    /// Nothing is sent yet, and events are not read.
    pub async fn quiet(kind: Kind, settings: &[(&str, &str)]) -> Self {
        let own = [("allow-private-targets", "true"), ("notice-seconds", "2")];
        let named = |name: &str| settings.iter().any(|(given, _)| *given == name);
        let all: Vec<_> = own.into_iter().filter(|(name, _)| !named(name)).chain(settings.iter().copied()).collect();
        let server = TestServer::with(kind, &all).await;
        // What came before the first round is not told.
        notify::consumer::Consumer::default().read(&server.app).await.unwrap();
        let ada = server.admin().await;
        let scene = Self { server, ada, stop: None, consumer: None };
        scene.read().await;
        scene
    }

    pub async fn new(kind: Kind) -> Self {
        let mut scene = Self::quiet(kind, &[]).await;
        scene.go();
        scene
    }

    /// Makes all events that there are into notices.
    pub async fn read(&self) {
        let mut consumer = notify::consumer::Consumer::default();
        while consumer.read(&self.server.app).await.unwrap() {}
    }

    pub fn go(&mut self) {
        self.consumer = Some(tokio::spawn(notify::consumer::run(self.server.app.clone())));
        self.send();
    }

    pub fn send(&mut self) {
        let (stop, stopped) = watch::channel(false);
        let registry = notify::add_to(Registry::new(4, 100), &self.server.app);
        tokio::spawn(jobs::run(self.server.app.clone(), OWNER, registry, stopped));
        self.stop = Some(stop);
    }

    /// Something that is told unless another choice was made.
    pub async fn tell(&self, name: EventName, details: &[(&str, &str)]) {
        self.tell_about(name, None, details).await;
    }

    pub async fn tell_about(&self, name: EventName, application_id: Option<Uuid>, details: &[(&str, &str)]) {
        let about = EventSubject { organization_id: self.ada.organization_id, application_id, deployment_id: None };
        let mut work = self.server.app.begin_step().await.unwrap();
        work.tell(name, about, details);
        work.commit().await.unwrap();
    }

    pub async fn fail(&self, application: &str) {
        let details = [("application", application), ("failure", "build_failed"), ("reason", "no such file")];
        self.tell(EventName::DeploymentFailed, &details).await;
    }

    pub async fn channel(&self, kind: &str, url: &str) {
        let body = json!({ "type": kind, "webhook_url": url });
        self.server.put("/notification/webhook", body).by(&self.ada).ok().await;
    }

    pub async fn choose(&self, channel: &str, events: &[&str]) {
        let body = json!({ "channel": channel, "events": events });
        self.server.post("/notification/preferences", body).by(&self.ada).ok().await;
    }

    pub async fn notices(&self, query: &str) -> Vec<Value> {
        let all = self.server.get(&format!("/notification/notices?limit=100{query}")).by(&self.ada).ok().await;
        all["notices"].as_array().unwrap().clone()
    }

    pub async fn notice(&self, id: &Value) -> Value {
        self.server.get(&format!("/notification/notices/{}", id.as_str().unwrap())).by(&self.ada).ok().await
    }

    pub async fn until<T>(&self, what: &str, look: impl AsyncFn() -> Option<T>) -> T {
        let until = Instant::now() + LIMIT;
        loop {
            if let Some(found) = look().await {
                return found;
            }
            assert!(Instant::now() < until, "{what}: {:#?}", self.notices("").await);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// The one notice, when it is in this state.
    pub async fn only(&self, state: &str) -> Value {
        self.until(&format!("a notice is {state}"), async || {
            let all = self.notices("").await;
            all.first().filter(|_| all.len() == 1).filter(|notice| notice["state"] == state).cloned()
        })
        .await
    }

    /// It was tried so often at least, and waits for its next try.
    pub async fn tried(&self, attempts: i64) -> Value {
        let what = format!("a notice was tried {attempts} times");
        let notice = self.until(&what, async || {
            let all = self.notices("&state=waiting").await;
            all.into_iter()
                .find(|notice| notice["attempts"].as_i64() >= Some(attempts) && !notice["next_attempt_at"].is_null())
        });
        let notice = notice.await;
        let key = format!("notices {} {} ", self.ada.organization_id, notice["channel"].as_str().unwrap());
        self.until("the job was put back", async || {
            let mut tx = self.server.app.db.begin().await.unwrap();
            job_rows::hold_waiting(&mut tx, &key).await.unwrap().then_some(())
        })
        .await;
        notice
    }

    /// What waits for its next try is tried now, whatever the clock says.
    pub async fn hurry(&self, channel: &str) {
        let key = format!("notices {} {channel} ", self.ada.organization_id);
        let mut tx = self.server.app.db.begin().await.unwrap();
        job_rows::hasten(&mut tx, &key).await.unwrap();
        tx.commit().await.unwrap();
        self.server.app.jobs_waiting.notify_one();
    }

    pub async fn nothing_waits(&self) {
        self.until("nothing waits", async || self.notices("&state=waiting").await.is_empty().then_some(())).await;
    }
}

pub fn titles(received: &[Received]) -> Vec<String> {
    received.iter().map(|one| one.json()["data"]["title"].as_str().unwrap_or_default().to_owned()).collect()
}

async fn a_failure_is_told_once_and_signed(kind: Kind) {
    let scene = Scene::new(kind).await;
    let receiver = Receiver::start();
    scene.channel("webhook", &receiver.url("/hook?token=very-secret")).await;
    scene.fail("shop").await;
    let notice = scene.only("sent").await;
    let received = receiver.received();
    assert_eq!(received.len(), 1);
    let got = &received[0];
    assert_eq!(
        (got.target.as_str(), got.header("webhook-id")),
        ("/hook?token=very-secret", notice["id"].as_str().unwrap())
    );
    let secret = scene.server.get("/notification/webhook/secret").by(&scene.ada).ok().await;
    let secret = SigningSecret::parse(secret["secret"].as_str().unwrap()).unwrap();
    let timestamp = got.header("webhook-timestamp").parse().unwrap();
    assert_eq!(got.header("webhook-signature"), sign(&secret, got.header("webhook-id"), timestamp, &got.body));
    assert_eq!(timestamp, scene.server.app.now().micros() / SECOND);
    let body = got.json();
    assert_eq!((&body["type"], &body["data"]["reason"]), (&json!("deployment.failed"), &json!("no such file")));
    assert_eq!(
        (&notice["title"], &notice["event"]),
        (&json!("shop: the deployment failed"), &json!("deployment.failed"))
    );
    assert_eq!(
        (&notice["channel"], &notice["attempts"], &notice["reason"]),
        (&json!("webhook"), &json!(1), &json!(""))
    );
    let details = scene.notice(&notice["id"]).await;
    let attempt = &details["attempts"][0];
    assert_eq!((&attempt["status"], &attempt["problem"], &attempt["number"]), (&json!(200), &json!(""), &json!(1)));
    let place = format!("http://{}/********", receiver.address());
    assert_eq!((&attempt["destination"], details["attempts"].as_array().unwrap().len()), (&json!(place), 1));
    // A success that ends no failure, and what is under way, is told only to those who ask for it.
    let other = Some(Uuid::from_u128(7));
    scene.tell_about(EventName::DeploymentSucceeded, other, &[("application", "other")]).await;
    scene.tell(EventName::DeploymentQueued, &[("application", "shop")]).await;
    scene.fail("store").await;
    receiver.wait_for(2).await;
    assert_eq!(titles(&receiver.received()), ["shop: the deployment failed", "store: the deployment failed"]);
}

async fn a_secret_is_rotated(kind: Kind) {
    let scene = Scene::new(kind).await;
    let receiver = Receiver::start();
    scene.server.get("/notification/webhook/secret").by(&scene.ada).fails(404, "not_found").await;
    scene.channel("webhook", &receiver.url("/hook")).await;
    let first = scene.server.get("/notification/webhook/secret").by(&scene.ada).ok().await;
    assert_eq!(first["previous_secret_until"], Value::Null);
    let second = scene.server.post("/notification/webhook/secret", json!({})).by(&scene.ada).ok().await;
    assert_ne!(first["secret"], second["secret"]);
    assert_eq!(second["previous_secret_until"], "2026-01-02T00:00:00.000000Z");
    let signed = |received: &Received, secret: &Value| {
        let secret = SigningSecret::parse(secret["secret"].as_str().unwrap()).unwrap();
        let timestamp = received.header("webhook-timestamp").parse().unwrap();
        let signature = sign(&secret, received.header("webhook-id"), timestamp, &received.body);
        received.header("webhook-signature").split(' ').any(|one| one == signature)
    };
    scene.fail("shop").await;
    let received = receiver.wait_for(1).await;
    assert!(signed(&received[0], &first) && signed(&received[0], &second));
    scene.server.app.clock.advance_seconds(86_401);
    let shown = scene.server.get("/notification/webhook/secret").by(&scene.ada).ok().await;
    assert_eq!(shown["previous_secret_until"], Value::Null);
    scene.fail("shop").await;
    let received = receiver.wait_for(2).await;
    assert!(!signed(&received[1], &first) && signed(&received[1], &second));
    let viewer = scene.server.join(&scene.ada, "viewer", Role::Viewer).await;
    scene.server.get("/notification/webhook/secret").by(&viewer).fails(403, "forbidden").await;
}

async fn whatever_the_receiver_does_it_is_told_in_the_end(kind: Kind) {
    let scene = Scene::new(kind).await;
    let redirect = Manner::with_header(302, "location", "http://elsewhere.example/secret");
    let ways = [
        (Manner::status(500), "It answered 500: something is wrong there.", Some(500)),
        (redirect, "It answered 302: a redirect to elsewhere.example.", Some(302)),
        (Manner::status(401), "It answered 401: the address, or a token in it, is not valid (any more).", Some(401)),
        (Manner::Close, "The host 127.0.0.1 closed the connection before its answer was complete.", None),
        (Manner::Hang, "The host 127.0.0.1 took more than 2 s to answer.", None),
    ];
    let receiver = Receiver::start();
    scene.channel("webhook", &receiver.url("/hook")).await;
    for (manner, ..) in &ways {
        receiver.then(manner.clone());
    }
    scene.fail("shop").await;
    for (number, (_, problem, status)) in (1_i64..).zip(&ways) {
        let notice = scene.tried(number).await;
        let details = scene.notice(&notice["id"]).await;
        let attempt = &details["attempts"][usize::try_from(number).unwrap() - 1];
        assert!(attempt["problem"].as_str().unwrap().starts_with(problem), "{details}");
        assert_eq!(attempt["status"], json!(status), "{details}");
        scene.hurry("webhook").await;
    }
    // Ten megabytes are not read, and are no reason to send it again.
    let notice = scene.only("sent").await;
    let ids: Vec<_> = receiver.received().iter().map(|one| one.header("webhook-id").to_owned()).collect();
    assert!(ids.len() > ways.len() && ids.iter().all(|id| *id == notice["id"]), "{ids:?}");
    let before = receiver.count();
    receiver.then(Manner::Answer { status: 200, headers: Vec::new(), body: vec![b'x'; 10_000_000] });
    scene.fail("store").await;
    receiver.wait_for(before + 1).await;
    scene.nothing_waits().await;
    assert_eq!(receiver.count(), before + 1);
    let newest = scene.notices("").await[0].clone();
    let answer = scene.notice(&newest["id"]).await["attempts"][0]["answer"].as_str().unwrap().to_owned();
    assert_eq!((newest["state"].as_str(), answer.len()), (Some("sent"), 1_024));
    // Nothing listens there.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    scene.channel("webhook", &format!("http://{closed}/hook")).await;
    scene.fail("third").await;
    let notice = scene.tried(1).await;
    assert_eq!(notice["reason"], format!("Nothing accepts connections at {closed}."));
    // A corrected address is tried at once.
    scene.channel("webhook", &receiver.url("/corrected")).await;
    scene.nothing_waits().await;
    assert_eq!(receiver.received().last().unwrap().target, "/corrected");
}

async fn a_receiver_can_say_how_long_to_wait(kind: Kind) {
    let scene = Scene::new(kind).await;
    let receiver = Receiver::start();
    scene.channel("webhook", &receiver.url("/hook")).await;
    receiver.then(Manner::with_header(429, "retry-after", "90"));
    receiver.then(Manner::with_header(503, "retry-after", "999999"));
    scene.fail("shop").await;
    for (attempts, wait) in [(1, 90), (2, 3_600)] {
        let notice = scene.tried(attempts).await;
        let next = scene.server.app.now().plus_seconds(wait).to_string();
        assert_eq!(notice["next_attempt_at"], next, "{notice}");
        scene.hurry("webhook").await;
    }
    scene.only("sent").await;
}

async fn notices_keep_their_order(kind: Kind) {
    let mut scene = Scene::quiet(kind, &[]).await;
    let receiver = Receiver::start();
    receiver.then(Manner::status(500));
    scene.channel("webhook", &receiver.url("/hook")).await;
    for name in ["one", "two", "three"] {
        scene.fail(name).await;
    }
    scene.go();
    scene.tried(1).await;
    assert_eq!(receiver.count(), 1, "the others wait for it");
    scene.hurry("webhook").await;
    let told = ["one", "one", "two", "three"].map(|name| format!("{name}: the deployment failed"));
    assert_eq!(titles(&receiver.wait_for(4).await), told);
    scene.nothing_waits().await;
    assert_eq!(receiver.count(), 4);
}

async fn many_at_once_are_one(kind: Kind) {
    let mut scene = Scene::quiet(kind, &[]).await;
    let receiver = Receiver::start();
    scene.channel("webhook", &receiver.url("/hook")).await;
    for number in 0..12 {
        scene.server.app.clock.advance_seconds(5);
        scene.fail(&format!("shop-{number}")).await;
        scene.read().await;
    }
    scene.send();
    scene.nothing_waits().await;
    let received = receiver.received();
    assert_eq!(received.len(), 1);
    assert_eq!(received[0].json()["data"]["count"], 12);
    let all = scene.notices("").await;
    let carrier = &all[0];
    assert_eq!((&carrier["title"], &carrier["carries"]), (&json!("12 deployments failed in 55 seconds"), &json!(12)));
    assert_eq!((&carrier["state"], &carrier["event"]), (&json!("sent"), &Value::Null));
    assert_eq!(received[0].header("webhook-id"), carrier["id"].as_str().unwrap());
    let is_folded = |notice: &Value| notice["state"] == "folded" && notice["carried_by"] == carrier["id"];
    assert!(all.len() == 13 && all[1..].iter().all(is_folded), "{all:#?}");
}

async fn one_that_was_away_hears_one_message(kind: Kind) {
    let mut scene = Scene::quiet(kind, &[]).await;
    let receiver = Receiver::start();
    scene.channel("webhook", &receiver.url("/hook")).await;
    scene.fail("one").await;
    scene.fail("two").await;
    scene.fail("three").await;
    scene.read().await;
    scene.server.app.clock.advance_seconds(600);
    scene.send();
    let received = receiver.wait_for(1).await;
    assert_eq!(received[0].json()["data"]["count"], 3);
    scene.nothing_waits().await;
    assert_eq!(receiver.count(), 1);
}

async fn one_that_hangs_keeps_no_other_waiting(kind: Kind) {
    let mut scene = Scene::quiet(kind, &[("notice-seconds", "60")]).await;
    let (hanging, well) = (Receiver::start(), Receiver::start());
    hanging.always(Manner::Hang);
    scene.channel("webhook", &hanging.url("/hook")).await;
    scene.channel("slack", &well.url("/hook")).await;
    scene.go();
    scene.fail("one").await;
    hanging.wait_for(1).await;
    for name in ["two", "three", "four"] {
        scene.fail(name).await;
    }
    well.wait_for(4).await;
    assert_eq!(hanging.count(), 1);
}

async fn what_was_tried_for_a_day_is_given_up_and_sent_again(kind: Kind) {
    let scene = Scene::new(kind).await;
    let receiver = Receiver::start();
    receiver.always(Manner::status(500));
    scene.channel("webhook", &receiver.url("/hook")).await;
    scene.fail("shop").await;
    let mut attempts = 0;
    for seconds in [0, 5, 3_600, 82_000] {
        scene.server.app.clock.advance_seconds(seconds);
        if attempts > 0 {
            scene.hurry("webhook").await;
        }
        attempts += 1;
        scene.tried(attempts).await;
    }
    scene.server.app.clock.advance_seconds(800);
    scene.hurry("webhook").await;
    let notice = scene.only("failed").await;
    let reason = "it was tried for a day. At last: It answered 500: something is wrong there.";
    assert_eq!((&notice["reason"], &notice["next_attempt_at"]), (&json!(reason), &Value::Null));
    receiver.always(Manner::status(200));
    let path = format!("/notification/notices/{}/send", notice["id"].as_str().unwrap());
    let again = scene.server.post(&path, json!({})).by(&scene.ada).ok().await;
    assert_eq!((&again["state"], &again["reason"]), (&json!("waiting"), &json!("")));
    let notice = scene.only("sent").await;
    assert_eq!(notice["attempts"], receiver.count());
    let id = notice["id"].as_str().unwrap();
    assert!(receiver.received().iter().all(|one| one.header("webhook-id") == id), "the same each time");
}

/// The next message may be one that it takes.
async fn a_message_that_is_refused_gives_way(kind: Kind) {
    let scene = Scene::new(kind).await;
    let receiver = Receiver::start();
    receiver.then(Manner::status(400));
    scene.channel("webhook", &receiver.url("/hook")).await;
    scene.fail("one").await;
    scene.only("failed").await;
    scene.fail("two").await;
    receiver.wait_for(2).await;
    scene.nothing_waits().await;
    assert_eq!(scene.notices("&state=sent").await.len(), 1);
}

async fn gone_is_gone(kind: Kind) {
    let mut scene = Scene::quiet(kind, &[]).await;
    let receiver = Receiver::start();
    receiver.always(Manner::status(410));
    scene.channel("webhook", &receiver.url("/hook")).await;
    scene.fail("one").await;
    scene.fail("two").await;
    // Before it is asked whether any waits.
    scene.read().await;
    scene.go();
    scene.nothing_waits().await;
    let all = scene.notices("").await;
    assert_eq!((&all[0]["state"], &all[1]["state"]), (&json!("dropped"), &json!("failed")));
    assert_eq!(receiver.count(), 1);
    let config = scene.server.get("/notification/webhook/webhook").by(&scene.ada).ok().await;
    assert_eq!(config["is_active"], false);
    let logs = scene.server.get("/audit/logs").by(&scene.ada).ok().await;
    let said = "windlass switched the webhook webhook off: its receiver has answered 410 (gone)";
    assert_eq!(logs["activities"][0]["message"], said);
}

async fn too_many_give_way(kind: Kind) {
    let scene = Scene::quiet(kind, &[("organization-notices", "100")]).await;
    scene.channel("webhook", "http://127.0.0.1:9/hook").await;
    let about = EventSubject { organization_id: scene.ada.organization_id, application_id: None, deployment_id: None };
    let mut work = scene.server.app.begin_step().await.unwrap();
    for number in 0..105 {
        work.tell(EventName::DeploymentFailed, about, &[("application", &format!("shop-{number}"))]);
    }
    work.commit().await.unwrap();
    scene.read().await;
    let dropped = scene.notices("&state=dropped").await;
    assert_eq!(dropped.len(), 5);
    assert_eq!(dropped[4]["title"], "shop-0: the deployment failed", "the oldest");
    assert_eq!(dropped[0]["reason"], "too many notices of the organization were waiting (organization-notices)");
    assert_eq!(scene.notices("&state=waiting").await.len(), 100);
    let path = format!("/notification/notices/{}/send", dropped[0]["id"].as_str().unwrap());
    scene.server.post(&path, json!({})).by(&scene.ada).fails(409, "conflict").await;
}

async fn channels_hear_what_was_chosen(kind: Kind) {
    let scene = Scene::quiet(kind, &[]).await;
    for channel in ["slack", "webhook"] {
        scene.channel(channel, "http://127.0.0.1:9/hook").await;
    }
    let shop = id_of(&scene.server.deploy(&scene.ada, least("shop")).await);
    let other = id_of(&scene.server.deploy(&scene.ada, least("other")).await);
    scene.read().await;
    let chosen = json!({ "channel": "slack", "events": ["application.updated", "application.updated"], "application_ids": [shop] });
    let saved = scene.server.post("/notification/preferences", chosen).by(&scene.ada).ok().await;
    assert_eq!((&saved["events"], &saved["recoveries"]), (&json!(["application.updated"]), &json!(true)));
    let all = scene.server.get("/notification/preferences").by(&scene.ada).ok().await;
    let of = |channel: &str| {
        all["channels"].as_array().unwrap().iter().find(|one| one["channel"] == channel).unwrap().clone()
    };
    assert_eq!((&of("slack")["is_default"], &of("slack")["application_ids"]), (&json!(false), &json!([shop])));
    assert_eq!((&of("webhook")["is_default"], &of("teams")["is_default"]), (&json!(true), &json!(true)));
    for id in [shop, other] {
        scene.tell_about(EventName::ApplicationUpdated, Some(id), &[("application", "x")]).await;
        scene.tell_about(EventName::DeploymentFailed, Some(id), &[("application", "x")]).await;
    }
    scene.tell(EventName::ApplicationUpdated, &[("application", "none")]).await;
    scene.read().await;
    let slack = scene.notices("&channel=slack").await;
    assert_eq!(slack.len(), 1);
    assert_eq!((&slack[0]["event"], &slack[0]["application_id"]), (&json!("application.updated"), &json!(shop)));
    let webhook = scene.notices("&channel=webhook").await;
    let events: Vec<_> = webhook.iter().map(|notice| notice["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["deployment.failed", "deployment.failed"]);
    assert_eq!(scene.notices(&format!("&application_id={other}")).await.len(), 1);
    // Nothing at all.
    scene.choose("webhook", &[]).await;
    scene.fail("shop").await;
    scene.read().await;
    assert_eq!(scene.notices("&channel=webhook").await.len(), 2);
}

async fn the_first_success_is_told(kind: Kind) {
    let scene = Scene::quiet(kind, &[]).await;
    scene.channel("webhook", "http://127.0.0.1:9/hook").await;
    scene.channel("slack", "http://127.0.0.1:9/hook").await;
    let body = json!({ "channel": "slack", "events": ["deployment.failed"], "recoveries": false });
    scene.server.post("/notification/preferences", body).by(&scene.ada).ok().await;
    let shop = [("application", "shop")];
    for name in [EventName::DeploymentFailed, EventName::DeploymentSucceeded, EventName::DeploymentSucceeded] {
        scene.tell(name, &shop).await;
    }
    scene.read().await;
    let titles: Vec<_> = scene.notices("&channel=webhook").await.iter().map(|one| one["title"].clone()).collect();
    assert_eq!(titles, ["shop: deployed again after a failure", "shop: the deployment failed"]);
    assert_eq!(scene.notices("&channel=slack").await.len(), 1);
    // Of a command that a person runs by hand, who waits for it, nothing is told.
    scene.tell(EventName::RunFailed, &shop).await;
    scene.tell(EventName::RunFailed, &[("application", "shop"), ("schedule", "nightly")]).await;
    scene.read().await;
    assert_eq!(scene.notices("&channel=webhook").await[0]["title"], "shop: the schedule nightly failed");
    assert_eq!(scene.notices("&channel=webhook").await.len(), 3);
}

/// One cause, one message.
async fn a_deployment_speaks_for_its_application(kind: Kind) {
    let scene = Scene::quiet(kind, &[]).await;
    scene.channel("webhook", "http://127.0.0.1:9/hook").await;
    let after_deploying = [("application", "shop"), ("before", "deploying")];
    scene.tell(EventName::DeploymentFailed, &[("application", "shop")]).await;
    scene.tell(EventName::ApplicationFailed, &after_deploying).await;
    scene.tell(EventName::DeploymentSucceeded, &[("application", "shop")]).await;
    scene.tell(EventName::ApplicationRunning, &after_deploying).await;
    scene.tell(EventName::ApplicationFailed, &[("application", "shop"), ("before", "running")]).await;
    scene.tell(EventName::ApplicationRunning, &[("application", "shop"), ("before", "failed")]).await;
    scene.read().await;
    let titles: Vec<_> = scene.notices("").await.iter().map(|one| one["title"].clone()).collect();
    let told = [
        "shop is running again",
        "shop does not run",
        "shop: deployed again after a failure",
        "shop: the deployment failed",
    ];
    assert_eq!(titles, told);
}

async fn members_hear_by_mail(kind: Kind) {
    let mut scene = Scene::quiet(kind, &[]).await;
    let mails = SmtpServer::start();
    let member = scene.server.join(&scene.ada, "member", Role::Member).await;
    let viewer = scene.server.join(&scene.ada, "viewer", Role::Viewer).await;
    let admin = scene.server.join(&scene.ada, "admin", Role::Admin).await;
    scene.read().await;
    let smtp = json!({
        "host": "127.0.0.1", "port": mails.port(), "from_email": "ops@example.org", "from_name": "Operations", "security": "none",
    });
    scene.server.post("/notification/smtp", smtp).by(&scene.ada).ok().await;
    let own = |events: Value| json!({ "channel": "email", "events": events });
    scene.server.post("/notification/preferences", own(json!(["deployment.failed"]))).by(&viewer).ok().await;
    scene.server.post("/notification/preferences", own(json!([]))).by(&admin).ok().await;
    let chosen = scene.server.get("/notification/preferences").by(&member).ok().await["email"].clone();
    assert_eq!(
        (&chosen["events"], &chosen["is_default"]),
        (&json!([]), &json!(true)),
        "members hear nothing unless they ask"
    );
    scene.read().await;
    scene.go();
    scene.fail("shop").await;
    let all = mails.wait_for(2).await;
    let mut to: Vec<_> = all.iter().flat_map(|mail| mail.to.clone()).collect();
    to.sort();
    assert_eq!(to, ["ada@example.org", "viewer@example.org"]);
    assert!(all[0].header("subject").unwrap().contains("shop: the deployment failed"), "{:?}", all[0]);
    assert!(all[0].text().contains("no such file"), "{}", all[0].text());
    scene.until("both are sent", async || (scene.notices("&state=sent").await.len() == 2).then_some(())).await;
    // A viewer may not hear of API keys, whatever they have chosen; one who has left hears nothing of what still waits.
    let body = own(json!(["deployment.failed", "api_key.created"]));
    scene.server.post("/notification/preferences", body).by(&viewer).ok().await;
    let mails_before = mails.mails().len();
    scene.tell(EventName::ApiKeyCreated, &[("member", "Ada"), ("key", "ci")]).await;
    scene.until("the owner hears", async || (mails.mails().len() > mails_before).then_some(())).await;
    scene.nothing_waits().await;
    assert_eq!(mails.mails().len(), mails_before + 1);
    let tested = scene.server.post("/notification/smtp/test", json!({})).by(&scene.ada).ok().await;
    assert_eq!((&tested["is_delivered"], &tested["problem"]), (&json!(true), &json!("")), "{tested}");
    assert_eq!(mails.mails().last().unwrap().to, ["ada@example.org"]);
    mails.say("RCPT", "550 5.1.1 no such user");
    let body = json!({ "to": "else@example.org" });
    let tested = scene.server.post("/notification/smtp/test", body).by(&scene.ada).ok().await;
    assert!(tested["problem"].as_str().unwrap().contains("550 5.1.1 no such user"), "{tested}");
}

/// Who may configure channels must not hear by them what they may not hear themselves.
async fn a_channel_hears_what_its_member_may(kind: Kind) {
    let scene = Scene::quiet(kind, &[]).await;
    let member = scene.server.join(&scene.ada, "member", Role::Member).await;
    scene.read().await;
    let channel = json!({ "type": "webhook", "webhook_url": "http://127.0.0.1:9/hook" });
    scene.server.put("/notification/webhook", channel.clone()).by(&member).ok().await;
    let key = [("member", "Ada"), ("key", "ci")];
    scene.tell(EventName::ApiKeyCreated, &key).await;
    scene.fail("shop").await;
    scene.read().await;
    assert_eq!(scene.notices("").await.len(), 1);
    scene.server.put("/notification/webhook", channel).by(&scene.ada).ok().await;
    scene.tell(EventName::ApiKeyCreated, &key).await;
    scene.read().await;
    let all = scene.notices("").await;
    assert_eq!((all.len(), &all[0]["title"]), (2, &json!("Ada made the API key ci")));
    // And of what they may not hear, members see no notice either.
    let seen = scene.server.get("/notification/notices").by(&member).ok().await;
    assert_eq!(seen["notices"].as_array().unwrap().len(), 1);
    let path = format!("/notification/notices/{}", all[0]["id"].as_str().unwrap());
    scene.server.get(&path).by(&member).fails(404, "not_found").await;
    scene.server.post(&format!("{path}/send"), json!({})).by(&member).fails(404, "not_found").await;
}

async fn others_see_nothing(kind: Kind) {
    let scene = Scene::quiet(kind, &[]).await;
    let eve = scene.server.stranger(&scene.ada, "eve").await;
    scene.read().await;
    scene.channel("webhook", "http://127.0.0.1:9/hook").await;
    scene.fail("shop").await;
    scene.read().await;
    let id = scene.notices("").await[0]["id"].as_str().unwrap().to_owned();
    let seen = scene.server.get("/notification/notices").by(&eve).ok().await;
    assert_eq!(seen, json!({ "notices": [], "next_cursor": null }));
    for path in
        [format!("/notification/notices/{id}"), format!("/notification/notices?id={}", scene.ada.organization_id)]
    {
        scene.server.get(&path).by(&eve).fails(404, "not_found").await;
    }
    scene.server.post(&format!("/notification/notices/{id}/send"), json!({})).by(&eve).fails(404, "not_found").await;
    let body = json!({ "type": "webhook" });
    scene.server.post("/notification/webhook/test", body).by(&eve).fails(404, "not_found").await;
    let shop = id_of(&scene.server.deploy(&scene.ada, least("shop")).await);
    let body = json!({ "channel": "webhook", "events": [], "application_ids": [shop] });
    let message = scene.server.post("/notification/preferences", body).by(&eve).fails(400, "invalid_request").await;
    assert_eq!(message, format!("application_ids: there is no application {shop}"));
}

async fn answers_show_nothing_secret(kind: Kind) {
    let scene = Scene::new(kind).await;
    let receiver = Receiver::start();
    let body = b"no such hook: /services/T00000000/very-secret-path?token=hunter2hunter2".to_vec();
    receiver.always(Manner::Answer { status: 404, headers: Vec::new(), body });
    scene.channel("slack", &receiver.url("/services/T00000000/very-secret-path?token=hunter2hunter2")).await;
    scene.fail("shop").await;
    let notice = scene.tried(1).await;
    let details = scene.notice(&notice["id"]).await;
    let shown = details["attempts"][0]["answer"].as_str().unwrap();
    assert!(shown.starts_with("no such hook: ") && !shown.contains("secret") && !shown.contains("hunter2"), "{shown}");
    let tested = scene.server.post("/notification/webhook/test", json!({ "type": "slack" })).by(&scene.ada).ok().await;
    assert!(!tested.to_string().contains("hunter2"), "{tested}");
}

async fn a_test_says_what_went_wrong(kind: Kind) {
    let scene = Scene::quiet(kind, &[("notice-tests", "1000")]).await;
    let receiver = Receiver::start();
    let test = async || {
        scene.server.post("/notification/webhook/test", json!({ "type": "webhook" })).by(&scene.ada).ok().await
    };
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let not_found = scene.server.post("/notification/webhook/test", json!({ "type": "webhook" })).by(&scene.ada);
    not_found.fails(404, "not_found").await;
    for (url, problem) in [
        (format!("http://{closed}/hook"), format!("Nothing accepts connections at {closed}.")),
        ("http://hooks.invalid/hook".to_owned(), "The name hooks.invalid".to_owned()),
    ] {
        scene.channel("webhook", &url).await;
        let tested = test().await;
        assert!(tested["problem"].as_str().unwrap().starts_with(&problem), "{url}: {tested}");
        assert_eq!((&tested["is_delivered"], &tested["status"]), (&json!(false), &Value::Null), "{tested}");
    }
    scene.channel("webhook", &receiver.url("/hook")).await;
    for (manner, problem) in [
        (Manner::status(401), "It answered 401"),
        (Manner::status(403), "It answered 403"),
        (Manner::with_header(301, "location", "/there"), "It answered 301: a redirect"),
        (Manner::Hang, "The host 127.0.0.1 took more than 2 s to answer."),
        (Manner::Close, "The host 127.0.0.1 closed the connection"),
    ] {
        receiver.then(manner);
        let tested = test().await;
        assert!(tested["problem"].as_str().unwrap().starts_with(problem), "{tested}");
    }
    let tested = test().await;
    assert_eq!(
        (&tested["is_delivered"], &tested["problem"], &tested["status"]),
        (&json!(true), &json!(""), &json!(200))
    );
    assert_eq!(receiver.received().last().unwrap().json()["type"], "test");
    assert!(scene.notices("").await.is_empty(), "a test is no notice");
}

async fn tests_are_limited(kind: Kind) {
    let scene = Scene::quiet(kind, &[("notice-tests", "2"), ("allow-private-targets", "false")]).await;
    // A public address that is never called: the name leads nowhere.
    scene.channel("webhook", "https://hooks.example/hook").await;
    let test = || scene.server.post("/notification/webhook/test", json!({ "type": "webhook" })).by(&scene.ada);
    test().ok().await;
    test().ok().await;
    test().fails(429, "rate_limited").await;
    let viewer = scene.server.join(&scene.ada, "viewer", Role::Viewer).await;
    let call = scene.server.post("/notification/webhook/test", json!({ "type": "webhook" })).by(&viewer);
    call.fails(403, "forbidden").await;
}

async fn bad_preferences_are_refused(kind: Kind) {
    let scene = Scene::quiet(kind, &[]).await;
    let viewer = scene.server.join(&scene.ada, "viewer", Role::Viewer).await;
    let refused = async |body: Value| {
        scene.server.post("/notification/preferences", body).by(&scene.ada).fails(400, "invalid_request").await
    };
    assert!(refused(json!({ "channel": "pigeon", "events": [] })).await.starts_with("channel: "));
    assert!(refused(json!({ "channel": "slack", "events": ["everything"] })).await.starts_with("events"));
    assert!(refused(json!({ "channel": "slack" })).await.starts_with("events"));
    let body = json!({ "channel": "slack", "events": [] });
    let message =
        scene.server.post("/notification/preferences", body.clone()).by(&viewer).fails(403, "forbidden").await;
    assert!(message.contains("webhook:update"), "{message}");
    let key = json!({ "name": "k" });
    let key = scene.server.post("/auth/api-keys", key).by(&scene.ada).ok().await["key"].as_str().unwrap().to_owned();
    let by_key = |body: Value| {
        scene.server.post("/notification/preferences", body).header("authorization", &format!("Bearer {key}"))
    };
    by_key(body).ok().await;
    by_key(json!({ "channel": "email", "events": [] })).fails(403, "login_required").await;
}

async fn what_is_over_is_forgotten(kind: Kind) {
    let scene =
        Scene::quiet(kind, &[("kept-notices", "100"), ("notice-days", "1"), ("organization-notices", "100")]).await;
    scene.channel("webhook", "http://127.0.0.1:9/hook").await;
    let about = EventSubject { organization_id: scene.ada.organization_id, application_id: None, deployment_id: None };
    let mut work = scene.server.app.begin_step().await.unwrap();
    for _ in 0..120 {
        work.tell(EventName::DeploymentFailed, about, &[("application", "shop")]);
    }
    work.commit().await.unwrap();
    scene.read().await;
    let housekeeping = windlass_server::service::housekeeping::sweep;
    housekeeping(&scene.server.app).await.unwrap();
    assert_eq!((scene.notices("").await.len(), scene.notices("&state=dropped").await.len()), (100, 0));
    scene.server.delete("/notification/webhook").json(json!({ "type": "webhook" })).by(&scene.ada).ok().await;
    let mut scene = scene;
    scene.send();
    scene.nothing_waits().await;
    assert_eq!(scene.notices("").await[0]["reason"], "the channel was removed");
    scene.server.app.clock.advance_seconds(86_401);
    housekeeping(&scene.server.app).await.unwrap();
    assert!(scene.notices("").await.is_empty());
}

async fn a_page_goes_on_where_it_ended(kind: Kind) {
    let scene = Scene::quiet(kind, &[]).await;
    scene.channel("webhook", "http://127.0.0.1:9/hook").await;
    for number in 0..5 {
        scene.fail(&format!("shop-{number}")).await;
    }
    scene.read().await;
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    for size in [2, 2, 1] {
        let page = scene.server.get(&format!("/notification/notices?limit=2{cursor}")).by(&scene.ada).ok().await;
        let notices = page["notices"].as_array().unwrap();
        assert_eq!(notices.len(), size);
        seen.extend(notices.iter().map(|notice| notice["title"].as_str().unwrap().to_owned()));
        cursor = page["next_cursor"].as_str().map(|id| format!("&before={id}")).unwrap_or_default();
    }
    assert_eq!(cursor, "");
    assert_eq!(seen, [4, 3, 2, 1, 0].map(|number| format!("shop-{number}: the deployment failed")));
}

async fn a_paused_channel_hears_nothing(kind: Kind) {
    let mut scene = Scene::quiet(kind, &[]).await;
    let receiver = Receiver::start();
    scene.channel("webhook", &receiver.url("/hook")).await;
    scene.fail("one").await;
    scene.read().await;
    let paused = json!({ "type": "webhook", "is_active": false });
    scene.server.put("/notification/webhook", paused).by(&scene.ada).ok().await;
    scene.fail("two").await;
    scene.go();
    scene.nothing_waits().await;
    let all = scene.notices("").await;
    assert_eq!((all.len(), &all[0]["reason"]), (1, &json!("the channel is paused")));
    assert_eq!(receiver.count(), 0);
}
