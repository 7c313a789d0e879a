//! The worker, with handlers of the test's own: it knows nothing of what its jobs are about.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Semaphore, watch};
use uuid::Uuid;
use windlass_server::deploy;
use windlass_server::engine_health::EngineState;
use windlass_server::holder::Holder;
use windlass_server::host::Host;
use windlass_server::jobs::{self, Entry, Held, Needs, Outcome, Pool, Registry};
use windlass_store::jobs::{Job, NewJob, Search};
use windlass_store::{Error, Kind};
use windlass_testing::on_both_databases;

use crate::deploys::least;
use crate::support::{TestServer, id_of, server};

on_both_databases!(server: jobs_that_need_no_engine_run_without_one, a_job_that_fails_is_given_up,
    a_job_that_is_put_back_is_tried_again, a_cancelled_job_hears_of_it, a_worker_that_lost_its_job_can_change_nothing,
    what_was_given_up_without_need_is_done_soon, a_step_has_its_application_for_itself,
    a_server_that_is_not_heard_of_stops_working, work_on_a_lost_job_is_dropped, work_is_dropped_before_the_claim_ends, a_claim_is_renewed_after_a_cancel_too,
    a_stop_leaves_jobs_to_the_next_worker, organizations_share_the_slots, a_deployment_that_cannot_be_read_is_in_the_audit_log);

const OWNER: Uuid = Uuid::from_u128(77);
const LIMIT: Duration = Duration::from_secs(30);

/// A worker, and what its handlers have done.
struct Scene {
    server: TestServer,
    done: Arc<Mutex<Vec<String>>>,
    stop: watch::Sender<bool>,
    worker: tokio::task::JoinHandle<()>,
}

impl Scene {
    fn new(server: TestServer, registry: impl FnOnce(Arc<Mutex<Vec<String>>>) -> Registry) -> Self {
        let done = Arc::new(Mutex::default());
        let (stop, stopped) = watch::channel(false);
        let worker = tokio::spawn(jobs::run(server.app.clone(), OWNER, registry(done.clone()), stopped));
        Self { server, done, stop, worker }
    }

    async fn add(&self, kind: &'static str, organization_id: Option<Uuid>) -> Uuid {
        let id = self.server.app.new_id();
        let job = NewJob {
            id,
            kind,
            organization_id,
            application_id: None,
            payload: r#"{"text":"hello"}"#.into(),
            exclusive_key: None,
        };
        let mut work = self.server.app.begin_step().await.unwrap();
        work.enqueue(&job).await.unwrap();
        work.commit().await.unwrap();
        id
    }

    /// Waits until this was done.
    async fn done(&self, expected: &[&str]) {
        let deadline = tokio::time::Instant::now() + LIMIT;
        while *self.done.lock() != expected {
            assert!(tokio::time::Instant::now() < deadline, "{:?}", self.done.lock());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn jobs(&self) -> (i64, i64) {
        windlass_store::jobs::counts(&mut self.server.app.db.read().await.unwrap()).await.unwrap()
    }

    async fn no_jobs(&self) {
        let deadline = tokio::time::Instant::now() + LIMIT;
        while self.jobs().await != (0, 0) {
            assert!(tokio::time::Instant::now() < deadline, "{:?}", self.jobs().await);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn end(self) {
        self.stop.send_replace(true);
        tokio::time::timeout(LIMIT, self.worker).await.expect("in time").unwrap();
    }
}

fn entry<F>(kind: &'static str, needs: Needs, handler: impl Fn(jobs::Task) -> F + Send + Sync + 'static) -> Entry
where
    F: Future<Output = Outcome> + Send + 'static,
{
    Entry {
        kind,
        lease: Duration::from_secs(60),
        needs,
        handler: Box::new(move |task| Box::pin(handler(task))),
        kept_waiting: Box::new(|_, _| Box::pin(async {})),
    }
}

async fn finish(held: &Held) -> Outcome {
    let mut work = held.begin().await.unwrap();
    held.done(&mut work).await.unwrap();
    work.commit().await.unwrap();
    Outcome::Done
}

const POOL: Pool = Pool { slots: 2, may_wait: false, most_of_one: None };

async fn jobs_that_need_no_engine_run_without_one(server: TestServer) {
    server.app.engine_health.set(EngineState::Unreachable("it is being repaired".into()));
    let scene = Scene::new(server, |done| {
        let record = move |task: jobs::Task| {
            let done = done.clone();
            async move {
                #[derive(serde::Deserialize)]
                struct Payload {
                    text: String,
                }
                let Payload { text } = task.held().payload().unwrap();
                done.lock().push(format!("{} {text}", task.held().job.kind));
                finish(task.held()).await
            }
        };
        let entries =
            vec![entry("free", Needs::Nothing, record.clone()), entry("bound", Needs::ContainerEngine, record)];
        Registry::new(10, 100).add(POOL, entries)
    });
    scene.add("bound", None).await;
    scene.add("free", None).await;
    scene.done(&["free hello"]).await;
    assert_eq!(scene.jobs().await.0, 1);
    scene.server.app.engine_health.set(EngineState::Well);
    scene.server.app.jobs_waiting.notify_one();
    scene.done(&["free hello", "bound hello"]).await;
    scene.no_jobs().await;
    scene.end().await;
}

async fn a_job_that_fails_is_given_up(server: TestServer) {
    let scene = Scene::new(server, |done| {
        let entries = vec![entry("hopeless", Needs::Nothing, move |_| {
            done.lock().push("tried".into());
            async { Outcome::Failed("it cannot be done".into()) }
        })];
        Registry::new(10, 100).add(POOL, entries)
    });
    scene.add("hopeless", None).await;
    scene.done(&["tried"]).await;
    scene.no_jobs().await;
    scene.end().await;
}

async fn a_job_that_is_put_back_is_tried_again(server: TestServer) {
    let scene = Scene::new(server, |done| {
        let entries = vec![entry("stubborn", Needs::Nothing, move |task| {
            let done = done.clone();
            async move {
                let attempts = task.held().job.attempts;
                done.lock().push(format!("attempt {attempts}"));
                match attempts {
                    0 => Outcome::Later(jobs::Later { after: Duration::ZERO, why: "no luck".into(), is_attempt: true }),
                    1 => Outcome::Later(jobs::Later { after: Duration::ZERO, why: "not yet".into(), is_attempt: true }),
                    _ => finish(task.held()).await,
                }
            }
        })];
        Registry::new(10, 100).add(POOL, entries)
    });
    scene.add("stubborn", None).await;
    scene.done(&["attempt 0", "attempt 1", "attempt 2"]).await;
    scene.no_jobs().await;
    scene.end().await;
}

async fn a_cancelled_job_hears_of_it(server: TestServer) {
    let scene = Scene::new(server, |done| {
        let entries = vec![entry("endless", Needs::Nothing, move |mut task| {
            let done = done.clone();
            async move {
                done.lock().push("begun".into());
                let ended = task.parts().1.ended().await;
                done.lock().push(format!("{ended:?}"));
                finish(task.held()).await
            }
        })];
        Registry::new(10, 100).add(POOL, entries)
    });
    let id = scene.add("endless", None).await;
    scene.done(&["begun"]).await;
    let mut tx = scene.server.app.db.begin().await.unwrap();
    windlass_store::jobs::request_cancel(&mut tx, id, scene.server.app.now()).await.unwrap();
    tx.commit().await.unwrap();
    scene.done(&["begun", "Cancelled"]).await;
    scene.no_jobs().await;
    scene.end().await;
}

/// As another worker's claim does.
const TAKE_AWAY: &str = "update jobs set fence = fence + 1";

async fn a_worker_that_lost_its_job_can_change_nothing(server: TestServer) {
    let gate = Arc::new(Semaphore::new(0));
    let opened = gate.clone();
    let scene = Scene::new(server, move |done| {
        let entries = vec![entry("taken", Needs::Nothing, move |task| {
            let (done, gate) = (done.clone(), gate.clone());
            async move {
                done.lock().push("begun".into());
                gate.acquire().await.unwrap().forget();
                let (begun, checked) = (task.held().begin().await.map(drop), task.held().check().await);
                done.lock().push(format!("{begun:?} {checked:?}"));
                Outcome::Lost
            }
        })];
        Registry::new(10, 100).add(POOL, entries)
    });
    scene.add("taken", None).await;
    scene.done(&["begun"]).await;
    scene.server.place.execute(TAKE_AWAY).await;
    opened.add_permits(1);
    scene.done(&["begun", "Err(Lost) Err(Lost)"]).await;
    // The other worker is of another server, whose job the end of this one does not touch.
    assert_eq!(scene.jobs().await, (0, 1));
    scene.end().await;
}

/// A handler that works while it holds its job, and says whether it could finish. The gate lets it.
fn working(lease: Duration, gate: Arc<Semaphore>, done: Arc<Mutex<Vec<String>>>) -> Registry {
    let work = move |mut task: jobs::Task| {
        let (done, gate) = (done.clone(), gate.clone());
        async move {
            done.lock().push("begun".into());
            let worked = task.parts().1.during(async { gate.acquire().await.unwrap().forget() }).await;
            done.lock().push(if worked.is_some() { "finished" } else { "dropped" }.into());
            match worked {
                Some(()) => finish(task.held()).await,
                None => Outcome::Lost,
            }
        }
    };
    let entry = Entry { lease, ..entry("work", Needs::Nothing, work) };
    // However small an organization's share is, it has a slot.
    Registry::new(1, 1).add(Pool { slots: 1, may_wait: false, most_of_one: None }, vec![entry])
}

/// A handler may think that its job is lost when no other worker has it. It need not wait until the claim ends.
async fn what_was_given_up_without_need_is_done_soon(server: TestServer) {
    let scene = Scene::new(server, |done| {
        let doubt = move |task: jobs::Task| {
            let done = done.clone();
            async move {
                let is_first = done.lock().is_empty();
                done.lock().push("begun".into());
                if is_first { Outcome::Lost } else { finish(task.held()).await }
            }
        };
        let entry = Entry { lease: 4 * LIMIT, ..entry("doubtful", Needs::Nothing, doubt) };
        Registry::new(10, 100).add(POOL, vec![entry])
    });
    scene.add("doubtful", None).await;
    let deadline = tokio::time::Instant::now() + LIMIT;
    while scene.done.lock().is_empty() || scene.jobs().await != (1, 0) {
        assert!(tokio::time::Instant::now() < deadline, "{:?}", scene.jobs().await);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    scene.server.app.clock.advance_seconds(10);
    scene.done(&["begun", "begun"]).await;
    scene.no_jobs().await;
    scene.end().await;
}

/// While a caller of the API changes the application, the worker waits; and of one that is gone it does nothing more.
async fn a_step_has_its_application_for_itself(server: TestServer) {
    let ada = server.admin().await;
    let shop = id_of(&server.deploy(&ada, least("shop")).await);
    let app = server.app.clone();
    let (id, payload) = (app.new_id(), String::new());
    let job =
        NewJob { id, kind: "step", organization_id: None, application_id: Some(shop), payload, exclusive_key: None };
    let mut work = app.begin_step().await.unwrap();
    work.enqueue(&job).await.unwrap();
    work.commit().await.unwrap();
    let search = Search { kinds: &["step"], sharing: &["step"], share: 10 };
    let mut tx = app.db.begin().await.unwrap();
    let job = windlass_store::jobs::claim(&mut tx, &search, OWNER, app.now(), 600).await.unwrap().unwrap();
    tx.commit().await.unwrap();

    let held = Held { app: app.clone(), job: job.clone() };
    let mut change = app.db.begin().await.unwrap();
    windlass_store::applications::lock(&mut change, shop).await.unwrap().unwrap();
    let step = tokio::spawn(async move { held.begin().await.map(drop) });
    // Long enough for a step that does not wait.
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(!step.is_finished(), "the worker did not wait");
    change.commit().await.unwrap();
    tokio::time::timeout(LIMIT, step).await.expect("in time").unwrap().unwrap();

    let of_none = Held { app, job: Job { application_id: Some(Uuid::from_u128(1)), ..job } };
    assert!(matches!(of_none.begin().await.map(drop), Err(Error::Lost)));
}

/// Another server may take its jobs, so it drops them before and begins no other until it is heard of again. A server with a database
/// of its own has no other to think of.
async fn a_server_that_is_not_heard_of_stops_working(server: TestServer) {
    let gate = Arc::new(Semaphore::new(0));
    let scene = Scene::new(server, |done| working(4 * LIMIT, gate.clone(), done));
    scene.add("work", None).await;
    scene.done(&["begun"]).await;
    let refuse = match scene.server.app.db.kind() {
        Kind::Sqlite => "drop table servers",
        Kind::Postgres => {
            "create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
             create trigger refuse before insert or update on servers for each row execute function refuse()"
        }
    };
    scene.server.place.execute(refuse).await;
    if scene.server.app.db.kind() == Kind::Postgres {
        scene.done(&["begun", "dropped"]).await;
        // Nothing may happen, for longer than the worker takes between two looks for jobs.
        tokio::time::sleep(Duration::from_secs(5)).await;
        scene.done(&["begun", "dropped"]).await;
        scene.server.place.execute("drop trigger refuse on servers").await;
        scene.done(&["begun", "dropped", "begun"]).await;
    }
    gate.add_permits(1);
    scene.no_jobs().await;
    scene.end().await;
}

/// It is noticed when the claim is to be renewed, long before it would end.
async fn work_on_a_lost_job_is_dropped(server: TestServer) {
    let gate = Arc::new(Semaphore::new(0));
    let scene = Scene::new(server, |done| working(2 * LIMIT, gate, done));
    scene.add("work", None).await;
    scene.done(&["begun"]).await;
    scene.server.place.execute(TAKE_AWAY).await;
    scene.done(&["begun", "dropped"]).await;
    scene.end().await;
}

/// The database answers no question about jobs, so that the claim is not renewed and another worker may have it soon.
async fn work_is_dropped_before_the_claim_ends(server: TestServer) {
    let gate = Arc::new(Semaphore::new(0));
    let scene = Scene::new(server, |done| working(Duration::from_secs(3), gate, done));
    scene.add("work", None).await;
    scene.done(&["begun"]).await;
    scene.server.place.execute("alter table jobs rename to hidden").await;
    scene.done(&["begun", "dropped"]).await;
    scene.server.place.execute("alter table hidden rename to jobs").await;
    scene.end().await;
}

/// What cannot be cancelled goes on, and needs its job until its end.
async fn a_claim_is_renewed_after_a_cancel_too(server: TestServer) {
    let gate = Arc::new(Semaphore::new(0));
    let scene = Scene::new(server, |done| working(Duration::from_secs(9), gate.clone(), done));
    let id = scene.add("work", None).await;
    scene.done(&["begun"]).await;
    let mut tx = scene.server.app.db.begin().await.unwrap();
    windlass_store::jobs::request_cancel(&mut tx, id, scene.server.app.now()).await.unwrap();
    tx.commit().await.unwrap();
    // Twice, because the first time may have begun before the cancel was seen.
    for _ in 0..2 {
        scene.server.place.execute("update jobs set lease_until = 0").await;
        let deadline = tokio::time::Instant::now() + LIMIT;
        while scene.server.place.execute("update jobs set id = id where lease_until > 0").await == 0 {
            assert!(tokio::time::Instant::now() < deadline, "the claim is not renewed");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    gate.add_permits(1);
    scene.done(&["begun", "finished"]).await;
    scene.no_jobs().await;
    scene.end().await;
}

async fn a_stop_leaves_jobs_to_the_next_worker(server: TestServer) {
    let gate = Arc::new(Semaphore::new(0));
    let scene = Scene::new(server, |done| working(2 * LIMIT, gate.clone(), done));
    scene.add("work", None).await;
    scene.done(&["begun"]).await;
    let Scene { server, stop, worker, .. } = scene;
    stop.send_replace(true);
    tokio::time::timeout(LIMIT, worker).await.expect("in time").unwrap();
    let counts = windlass_store::jobs::counts(&mut server.app.db.read().await.unwrap()).await.unwrap();
    assert_eq!(counts, (1, 0));
    gate.add_permits(1);
    let scene = Scene::new(server, |done| working(2 * LIMIT, gate, done));
    scene.done(&["begun", "finished"]).await;
    scene.no_jobs().await;
    scene.end().await;
}

/// One organization queues 200 builds and fills every place; the build of another, which comes later, is begun next. And as long as
/// jobs only wait, an organization never has more than its share under way.
async fn organizations_share_the_slots(server: TestServer) {
    let ada = server.admin().await;
    let bob = server.stranger(&ada, "bob").await;
    let gate = Arc::new(Semaphore::new(0));
    let opened = gate.clone();
    let (many, one) = (ada.organization_id, bob.organization_id);
    let scene = Scene::new(server, move |done| {
        let build = move |task: jobs::Task| {
            let (done, gate) = (done.clone(), gate.clone());
            async move {
                let whose = if task.held().job.organization_id == Some(one) { "one" } else { "many" };
                done.lock().push(whose.into());
                gate.acquire().await.unwrap().forget();
                finish(task.held()).await
            }
        };
        let pool = Pool { slots: 2, may_wait: true, most_of_one: None };
        Registry::new(8, 50).add(pool, vec![entry("build", Needs::Nothing, build)])
    });
    for _ in 0..200 {
        scene.add("build", Some(many)).await;
    }
    scene.done(&["many", "many"]).await;
    scene.add("build", Some(one)).await;
    opened.add_permits(1);
    scene.done(&["many", "many", "one"]).await;
    opened.add_permits(1);
    scene.done(&["many", "many", "one", "many"]).await;
    scene.end().await;
}

/// Its end is as important as that of any other, whatever it was that could not be read.
async fn a_deployment_that_cannot_be_read_is_in_the_audit_log(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.deploy(&ada, least("shop")).await;
    server.place.execute("update releases set configuration = 'nonsense'").await;
    let app = server.app.clone();
    app.engine_health.set(EngineState::Well);
    let holder = Holder::of(&mut app.db.read().await.unwrap(), server.place.folder.path()).await.unwrap();
    let host = Arc::new(Host::new(app.clone(), Uuid::from_u128(1), OWNER, holder));
    let (stop, stopped) = watch::channel(false);
    let worker = tokio::spawn(jobs::run(app, OWNER, deploy::registry(&host), stopped));
    let deadline = tokio::time::Instant::now() + LIMIT;
    let id = id_of(&shop["deployments"][0]);
    loop {
        let path = format!("/deploy/application/deployments/{id}");
        let deployment = server.get(&path).by(&ada).ok().await;
        if deployment["status"]["status"] == "failed" {
            assert!(deployment["reason"].as_str().unwrap().contains("cannot be read"), "{deployment}");
            break;
        }
        assert!(tokio::time::Instant::now() < deadline, "{deployment}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let entries = server.get("/audit/logs?resource_type=deployment").by(&ada).ok().await;
    let newest = &entries["activities"][0];
    assert_eq!(newest["message"], "windlass could not deploy shop", "{entries}");
    stop.send_replace(true);
    tokio::time::timeout(LIMIT, worker).await.expect("in time").unwrap();
}
