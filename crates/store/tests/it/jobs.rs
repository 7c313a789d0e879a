use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use uuid::Uuid;
use windlass_store::jobs::{self, Job, NewJob, Search};
use windlass_store::{Db, Error, Kind, Tx, applications, servers};
use windlass_testing::on_both_databases;

use crate::migrations::execute;
use crate::support::{NOW, TestDb, add_application, add_deployment, database, id, populate};

on_both_databases!(database: jobs_of_one_application_come_one_after_another, some_jobs_run_beside,
    a_lease_that_has_ended_is_lost, the_job_of_a_dead_server_is_free, a_job_that_is_put_back_waits, one_that_is_hastened_is_done_at_once, a_job_that_is_put_back_before_the_clock_is_waits_no_more, what_an_owner_left_behind, what_waits_can_be_withdrawn,
    what_is_begun_can_be_cancelled, attempts_are_counted, jobs_without_an_application_or_an_organization,
    organizations_take_turns, what_visitors_wait_for_comes_first, an_organization_keeps_to_its_share);

const OWNER: Uuid = Uuid::from_u128(77);
const OTHER: Uuid = Uuid::from_u128(78);
/// A lease that has ended already: PostgreSQL counts by its own clock, which no test moves.
const ENDED: i64 = -1;

/// Applications 1 and 2, each with a deployment: 11 and 12.
async fn two_applications(db: &TestDb) -> Tx {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 3).await;
    for owner in [OWNER, OTHER] {
        servers::beat(&mut tx, owner, NOW).await.unwrap();
    }
    for number in [1, 2] {
        add_application(&mut tx, number).await;
        add_deployment(&mut tx, number + 10, number).await;
    }
    tx
}

const BUILD: Search<'_> = Search { kinds: &["deploy"], sharing: &["deploy"], share: 1_000 };
const END: Search<'_> = Search { kinds: &["stop", "delete"], sharing: &["stop", "delete"], share: 1_000 };
const BESIDE: Search<'_> = Search { kinds: &["finish"], sharing: &["finish"], share: 1_000 };

fn job(number: u128, kind: &'static str, application: u128) -> NewJob {
    NewJob {
        id: id(number),
        kind,
        organization_id: Some(id(101)),
        application_id: Some(id(application)),
        payload: "{}".into(),
        exclusive_key: (kind != "finish").then(|| format!("application {application}")),
    }
}

async fn add(tx: &mut Tx, number: u128, kind: &'static str, application: u128) {
    jobs::insert(tx, &job(number, kind, application), NOW).await.unwrap();
}

async fn claim(tx: &mut Tx, search: &Search<'_>, seconds: i64) -> Option<Job> {
    jobs::claim(tx, search, OWNER, NOW, seconds).await.unwrap()
}

async fn jobs_of_one_application_come_one_after_another(db: TestDb) {
    let mut tx = two_applications(&db).await;
    add(&mut tx, 101, "deploy", 1).await;
    add(&mut tx, 102, "stop", 1).await;
    add(&mut tx, 103, "delete", 2).await;
    assert_eq!(jobs::counts(&mut tx).await.unwrap(), (3, 0));
    let first = claim(&mut tx, &BUILD, 60).await.unwrap();
    assert_eq!((first.id, first.kind.as_str(), first.application_id, first.fence), (id(101), "deploy", Some(id(1)), 1));
    // The next of the same application has to wait; another application's does not.
    let second = claim(&mut tx, &END, 60).await.unwrap();
    assert_eq!((second.id, second.kind.as_str(), second.application_id), (id(103), "delete", Some(id(2))));
    assert!(claim(&mut tx, &END, 60).await.is_none());
    assert_eq!(jobs::counts(&mut tx).await.unwrap(), (1, 2));
    jobs::delete(&mut tx, &first).await.unwrap();
    assert_eq!(claim(&mut tx, &END, 60).await.unwrap().id, id(102));
    // A server whose clock is behind makes a job that seems older: what is under way goes first all the same.
    add(&mut tx, 100, "deploy", 1).await;
    assert!(claim(&mut tx, &BUILD, 60).await.is_none());
    assert!(jobs::withdraw(&mut tx, id(100)).await.unwrap());
    let left: Vec<_> = jobs::of_application(&mut tx, id(1)).await.unwrap().into_iter().map(|job| job.id).collect();
    assert_eq!(left, [id(102)]);
}

async fn some_jobs_run_beside(db: TestDb) {
    let mut tx = two_applications(&db).await;
    add(&mut tx, 101, "deploy", 1).await;
    add(&mut tx, 102, "finish", 1).await;
    add(&mut tx, 103, "finish", 1).await;
    assert_eq!(claim(&mut tx, &BUILD, 60).await.unwrap().id, id(101));
    assert!(claim(&mut tx, &BUILD, 60).await.is_none());
    for expected in [102, 103] {
        assert_eq!(claim(&mut tx, &BESIDE, 60).await.unwrap().id, id(expected));
    }
    assert!(claim(&mut tx, &BESIDE, 60).await.is_none());
}

async fn a_lease_that_has_ended_is_lost(db: TestDb) {
    let mut tx = two_applications(&db).await;
    add(&mut tx, 101, "deploy", 1).await;
    let first = claim(&mut tx, &BUILD, ENDED).await.unwrap();
    // As long as no other worker has taken it, it can be renewed, and held.
    assert!(jobs::renew(&mut tx, &first, NOW, 60).await.unwrap());
    jobs::hold(&mut tx, &first).await.unwrap();
    assert!(claim(&mut tx, &BUILD, 60).await.is_none());
    assert!(jobs::renew(&mut tx, &first, NOW, ENDED).await.unwrap());
    let second = jobs::claim(&mut tx, &BUILD, OTHER, NOW, 60).await.unwrap().unwrap();
    assert_eq!((second.id, second.fence), (first.id, first.fence + 1));
    assert!(matches!(jobs::hold(&mut tx, &first).await, Err(Error::Lost)));
    assert!(matches!(jobs::delete(&mut tx, &first).await, Err(Error::Lost)));
    assert!(!jobs::renew(&mut tx, &first, NOW, 60).await.unwrap());
    jobs::put_back(&mut tx, &first, NOW, 0).await.unwrap();
    jobs::hold(&mut tx, &second).await.unwrap();
    jobs::delete(&mut tx, &second).await.unwrap();
    assert!(matches!(jobs::hold(&mut tx, &second).await, Err(Error::Lost)));
}

/// Only PostgreSQL has several servers. SQLite's one takes back what it held when it starts.
async fn the_job_of_a_dead_server_is_free(db: TestDb) {
    let mut tx = two_applications(&db).await;
    add(&mut tx, 101, "deploy", 1).await;
    let held = claim(&mut tx, &BUILD, 60).await.unwrap();
    assert!(jobs::claim(&mut tx, &BUILD, OTHER, NOW, 60).await.unwrap().is_none());
    tx.commit().await.unwrap();
    // PostgreSQL counts by its own clock, so the silence is written into the row.
    let silent = "update servers set seen_at = 1";
    execute(&db, silent, silent).await;
    let mut tx = db.begin().await.unwrap();
    let taken = jobs::claim(&mut tx, &BUILD, OTHER, NOW, 60).await.unwrap();
    assert_eq!(taken.is_some(), db.kind() == Kind::Postgres);
    if taken.is_some() {
        assert!(matches!(jobs::hold(&mut tx, &held).await, Err(Error::Lost)));
    }
}

async fn a_job_that_is_put_back_waits(db: TestDb) {
    let mut tx = two_applications(&db).await;
    add(&mut tx, 101, "deploy", 1).await;
    add(&mut tx, 102, "stop", 1).await;
    let first = claim(&mut tx, &BUILD, 60).await.unwrap();
    jobs::put_back(&mut tx, &first, NOW, 3_600).await.unwrap();
    // The order stays: the later one is not done before it.
    assert!(claim(&mut tx, &BUILD, 60).await.is_none());
    assert!(matches!(jobs::hold(&mut tx, &first).await, Err(Error::Lost)));
    tx.commit().await.unwrap();
    let mut tx = db.begin().await.unwrap();
    let again = match db.kind() {
        Kind::Sqlite => jobs::claim(&mut tx, &BUILD, OWNER, NOW.plus_seconds(3_600), 60).await.unwrap(),
        // Its own clock counts, whatever this server's says.
        Kind::Postgres => {
            assert!(jobs::claim(&mut tx, &BUILD, OWNER, NOW.plus_seconds(99_999), 60).await.unwrap().is_none());
            tx.commit().await.unwrap();
            db.place.execute("update jobs set not_before = 0").await;
            tx = db.begin().await.unwrap();
            claim(&mut tx, &BUILD, 60).await
        }
    };
    assert_eq!(again.map(|job| (job.id, job.fence)), Some((id(101), 2)));
}

/// Whether it waits or is worked on; once.
async fn one_that_is_hastened_is_done_at_once(db: TestDb) {
    let mut tx = two_applications(&db).await;
    add(&mut tx, 101, "deploy", 1).await;
    let key = "application 1";
    let first = claim(&mut tx, &BUILD, 60).await.unwrap();
    assert!(!jobs::hasten(&mut tx, key).await.unwrap(), "it is worked on");
    jobs::put_back(&mut tx, &first, NOW, 3_600).await.unwrap();
    let second = claim(&mut tx, &BUILD, 60).await.expect("it need not wait");
    assert_eq!((second.id, second.fence), (id(101), 2));
    jobs::put_back(&mut tx, &second, NOW, 3_600).await.unwrap();
    assert!(claim(&mut tx, &BUILD, 60).await.is_none(), "it was hastened once");
    assert!(jobs::hasten(&mut tx, key).await.unwrap(), "it waits");
    let third = claim(&mut tx, &BUILD, 60).await.expect("it need not wait");
    jobs::put_back(&mut tx, &third, NOW, 3_600).await.unwrap();
    assert!(claim(&mut tx, &BUILD, 60).await.is_none(), "what is begun is hastened no more");
    assert!(!jobs::hasten(&mut tx, "application 2").await.unwrap(), "there is none");
    add(&mut tx, 102, "deploy", 2).await;
    let fourth = claim(&mut tx, &BUILD, 60).await.unwrap();
    jobs::put_back(&mut tx, &fourth, NOW, 3_600).await.unwrap();
    for (organization, beginning) in [(102, "application "), (101, "application 3"), (101, "pplication 1")] {
        jobs::hasten_all(&mut tx, id(organization), beginning).await.unwrap();
        assert!(claim(&mut tx, &BUILD, 60).await.is_none(), "{beginning} of {organization} is no beginning of a key");
    }
    jobs::hasten_all(&mut tx, id(101), "application ").await.unwrap();
    let both = [claim(&mut tx, &BUILD, 60).await, claim(&mut tx, &BUILD, 60).await].map(|job| job.unwrap().id);
    assert_eq!(both, [id(101), id(102)]);
}

/// The pause was counted by a clock that shows an earlier time now.
async fn a_job_that_is_put_back_before_the_clock_is_waits_no_more(db: TestDb) {
    let mut tx = two_applications(&db).await;
    add(&mut tx, 101, "deploy", 1).await;
    let first = claim(&mut tx, &BUILD, 60).await.unwrap();
    jobs::put_back(&mut tx, &first, NOW, 3).await.unwrap();
    assert!(claim(&mut tx, &BUILD, 60).await.is_none());
    tx.commit().await.unwrap();
    // PostgreSQL counts by its own clock, so the earlier time is written into the row.
    if db.kind() == Kind::Postgres {
        db.place.execute("update jobs set not_before = not_before * 2, put_back_at = put_back_at * 2").await;
    }
    let mut tx = db.begin().await.unwrap();
    let again = jobs::claim(&mut tx, &BUILD, OWNER, NOW.plus_seconds(-3_600), 60).await.unwrap();
    assert_eq!(again.map(|job| job.id), Some(id(101)));
}

async fn what_an_owner_left_behind(db: TestDb) {
    let mut tx = two_applications(&db).await;
    add(&mut tx, 101, "deploy", 1).await;
    add(&mut tx, 102, "stop", 2).await;
    let mine = claim(&mut tx, &BUILD, 3_600).await.unwrap();
    let theirs = jobs::claim(&mut tx, &END, OTHER, NOW, 3_600).await.unwrap().unwrap();
    let released = jobs::release_all(&mut tx, OWNER).await.unwrap();
    assert!(matches!(jobs::hold(&mut tx, &mine).await, Err(Error::Lost)));
    match db.kind() {
        // There is no other server: that was this one, under the name it had before its folder was restored.
        Kind::Sqlite => assert_eq!(released, 2),
        Kind::Postgres => {
            assert_eq!(released, 1);
            jobs::hold(&mut tx, &theirs).await.unwrap();
        }
    }
    let again = claim(&mut tx, &BUILD, 60).await.unwrap();
    assert_eq!((again.id, again.fence), (mine.id, 2));
}

async fn what_waits_can_be_withdrawn(db: TestDb) {
    let mut tx = two_applications(&db).await;
    add(&mut tx, 101, "deploy", 1).await;
    add(&mut tx, 102, "deploy", 2).await;
    assert!(jobs::withdraw(&mut tx, id(102)).await.unwrap());
    assert!(!jobs::withdraw(&mut tx, id(102)).await.unwrap());
    let begun = claim(&mut tx, &BUILD, 60).await.unwrap();
    assert!(!jobs::withdraw(&mut tx, id(101)).await.unwrap());
    jobs::hold(&mut tx, &begun).await.unwrap();
}

async fn what_is_begun_can_be_cancelled(db: TestDb) {
    let mut tx = two_applications(&db).await;
    add(&mut tx, 101, "deploy", 1).await;
    let begun = claim(&mut tx, &BUILD, 60).await.unwrap();
    assert!(!jobs::is_cancel_requested(&mut tx, begun.id).await.unwrap());
    assert!(jobs::request_cancel(&mut tx, begun.id, NOW).await.unwrap());
    assert!(!jobs::request_cancel(&mut tx, begun.id, NOW).await.unwrap(), "it was asked for before");
    assert!(!jobs::request_cancel(&mut tx, id(999), NOW).await.unwrap(), "there is no such job");
    assert!(jobs::is_cancel_requested(&mut tx, begun.id).await.unwrap());
    // It is still this worker's, which has to clean up.
    jobs::hold(&mut tx, &begun).await.unwrap();
}

async fn attempts_are_counted(db: TestDb) {
    let mut tx = two_applications(&db).await;
    add(&mut tx, 101, "deploy", 1).await;
    for attempts in 0..3 {
        let begun = claim(&mut tx, &BUILD, 60).await.unwrap();
        assert_eq!((begun.attempts, begun.fence), (attempts, attempts + 1));
        jobs::count_attempt(&mut tx, &begun).await.unwrap();
        jobs::put_back(&mut tx, &begun, NOW, 0).await.unwrap();
    }
}

async fn jobs_without_an_application_or_an_organization(db: TestDb) {
    let mut tx = two_applications(&db).await;
    let alone = NewJob { application_id: None, exclusive_key: None, ..job(101, "deploy", 1) };
    jobs::insert(&mut tx, &alone, NOW).await.unwrap();
    jobs::insert(&mut tx, &NewJob { organization_id: None, id: id(102), ..alone }, NOW).await.unwrap();
    for expected in [101, 102] {
        assert_eq!(claim(&mut tx, &BUILD, 60).await.unwrap().id, id(expected));
    }
    assert!(jobs::busy_applications(&mut tx).await.unwrap().is_empty());
}

/// One organization has queued 200 builds; those of the others, which came later, are begun next, in turns.
async fn organizations_take_turns(db: TestDb) {
    let mut tx = two_applications(&db).await;
    for (organization, first, count) in [(101, 1_000, 200), (102, 2_000, 3), (103, 3_000, 3)] {
        for number in 0..count {
            let job = NewJob {
                organization_id: Some(id(organization)),
                application_id: None,
                exclusive_key: None,
                ..job(first + number, "deploy", 1)
            };
            jobs::insert(&mut tx, &job, NOW).await.unwrap();
        }
    }
    let whose = |job: &Job| job.organization_id.unwrap().as_u128();
    let (mut held, mut order) = (Vec::new(), Vec::new());
    // Two slots: as soon as one is free, the next job is begun.
    for step in 1..=12 {
        let now = NOW.plus_seconds(step);
        let job = jobs::claim(&mut tx, &BUILD, OWNER, now, 60).await.unwrap().unwrap();
        order.push(whose(&job));
        held.push(job);
        if held.len() == 2 {
            jobs::delete(&mut tx, &held.remove(0)).await.unwrap();
        }
    }
    assert_eq!(order, [101, 102, 103, 101, 102, 103, 101, 102, 103, 101, 101, 101]);
}

async fn what_visitors_wait_for_comes_first(db: TestDb) {
    let mut tx = two_applications(&db).await;
    add(&mut tx, 101, "deploy", 1).await;
    add(&mut tx, 102, "deploy", 2).await;
    applications::set_held_until(&mut tx, id(2), Some(NOW)).await.unwrap();
    assert_eq!(claim(&mut tx, &BUILD, 60).await.unwrap().id, id(102));
    assert_eq!(claim(&mut tx, &BUILD, 60).await.unwrap().id, id(101));
}

/// However many slots there are, an organization that is at its share gets no more of them.
async fn an_organization_keeps_to_its_share(db: TestDb) {
    let mut tx = two_applications(&db).await;
    for number in 0..10 {
        let alone = NewJob { application_id: None, exclusive_key: None, ..job(101 + number, "deploy", 1) };
        jobs::insert(&mut tx, &alone, NOW).await.unwrap();
    }
    let search = Search { sharing: &["deploy", "roll-out"], share: 3, ..BUILD };
    let mut held = Vec::new();
    for _ in 0..3 {
        held.push(claim(&mut tx, &search, 60).await.unwrap());
    }
    assert!(claim(&mut tx, &search, 60).await.is_none());
    // Another server has slots of its own.
    assert!(jobs::claim(&mut tx, &search, OTHER, NOW, 60).await.unwrap().is_some());
    // Jobs of a kind that waits in the same slots count too.
    jobs::delete(&mut tx, &held.remove(0)).await.unwrap();
    let other = NewJob { application_id: None, exclusive_key: None, ..job(201, "roll-out", 1) };
    jobs::insert(&mut tx, &other, NOW).await.unwrap();
    let rolling = Search { kinds: &["roll-out"], ..search.clone() };
    assert!(claim(&mut tx, &rolling, 60).await.is_some());
    assert!(claim(&mut tx, &search, 60).await.is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_job_is_claimed_twice_on_sqlite() {
    many_claimers(database(Kind::Sqlite).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_job_is_claimed_twice_on_postgres() {
    many_claimers(database(Kind::Postgres).await).await;
}

const CLAIMERS: u128 = 8;
const APPLICATIONS: u128 = 20;
const JOBS: u128 = 300;

/// What the claimers have seen together.
#[derive(Default)]
struct Seen {
    /// In the order in which they were begun.
    begun: BTreeMap<Uuid, Vec<Uuid>>,
    /// Applications of which a job that needs them for itself is being done.
    busy: BTreeSet<Uuid>,
    finished: usize,
}

/// As many servers on one database.
async fn many_claimers(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 1).await;
    for number in 1..=APPLICATIONS {
        add_application(&mut tx, number).await;
    }
    for number in 1..=JOBS {
        let kind = if number % 5 == 0 { "finish" } else { "stop" };
        add(&mut tx, 1_000 + number, kind, number % APPLICATIONS + 1).await;
    }
    tx.commit().await.unwrap();
    let seen = Arc::new(Mutex::new(Seen::default()));
    let mut claimers = Vec::new();
    for number in 0..CLAIMERS {
        let handle = db.place.open().await;
        claimers.push(tokio::spawn(work_until_done(handle, id(9_000 + number), seen.clone())));
    }
    for claimer in claimers {
        tokio::time::timeout(Duration::from_secs(120), claimer).await.expect("in time").unwrap();
    }
    let seen = seen.lock().unwrap();
    let all: BTreeSet<_> = seen.begun.values().flatten().collect();
    assert_eq!((all.len(), seen.finished), (JOBS as usize, JOBS as usize), "each exactly once");
    for (application, begun) in &seen.begun {
        let exclusive: Vec<_> = begun.iter().filter(|job| job.as_u128() % 5 != 0).collect();
        assert!(exclusive.is_sorted(), "{application} had its jobs out of order");
    }
}

async fn work_until_done(db: Db, owner: Uuid, seen: Arc<Mutex<Seen>>) {
    loop {
        // Committed before the claim, as a server does it: others must know that it runs when they see what it holds.
        let mut tx = db.begin().await.unwrap();
        servers::beat(&mut tx, owner, NOW).await.unwrap();
        tx.commit().await.unwrap();
        let mut idle = true;
        for search in [&END, &BESIDE] {
            let mut tx = db.begin().await.unwrap();
            let claimed = jobs::claim(&mut tx, search, owner, NOW, 3_600).await.unwrap();
            tx.commit().await.unwrap();
            let Some(job) = claimed else { continue };
            idle = false;
            assert_eq!(job.fence, 1, "no other had it before");
            let application_id = job.application_id.unwrap();
            {
                let mut seen = seen.lock().unwrap();
                assert!(job.kind == "finish" || seen.busy.insert(application_id), "two at once");
                seen.begun.entry(application_id).or_default().push(job.id);
            }
            tokio::task::yield_now().await;
            // Before the commit, which lets the next one in.
            let mut tx = db.begin().await.unwrap();
            jobs::delete(&mut tx, &job).await.unwrap();
            if job.kind != "finish" {
                seen.lock().unwrap().busy.remove(&application_id);
            }
            tx.commit().await.unwrap();
            seen.lock().unwrap().finished += 1;
        }
        let is_done = jobs::counts(&mut db.read().await.unwrap()).await.unwrap() == (0, 0);
        if is_done {
            return;
        }
        if idle {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}
