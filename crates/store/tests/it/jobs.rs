use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use uuid::Uuid;
use windlass_store::jobs::{self, Job, JobKind, Queue};
use windlass_store::{Db, Error, Kind, Tx, servers};
use windlass_testing::on_both_databases;

use crate::migrations::execute;
use crate::support::{NOW, TestDb, add_application, add_deployment, database, id, populate};

on_both_databases!(database: jobs_of_one_application_come_one_after_another, some_jobs_run_beside,
    a_lease_that_has_ended_is_lost, the_job_of_a_dead_server_is_free, a_job_that_is_put_back_waits, what_an_owner_left_behind, what_waits_can_be_withdrawn);

const OWNER: Uuid = Uuid::from_u128(77);
const OTHER: Uuid = Uuid::from_u128(78);
/// A lease that has ended already: PostgreSQL counts by its own clock, which no test moves.
const ENDED: i64 = -1;

/// Applications 1 and 2, each with a deployment: 11 and 12.
async fn two_applications(db: &TestDb) -> Tx {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 1).await;
    for owner in [OWNER, OTHER] {
        servers::beat(&mut tx, owner, NOW).await.unwrap();
    }
    for number in [1, 2] {
        add_application(&mut tx, number).await;
        add_deployment(&mut tx, number + 10, number).await;
    }
    tx
}

async fn add(tx: &mut Tx, number: u128, kind: JobKind, application: u128) {
    let deployment = (kind == JobKind::Deploy).then(|| id(application + 10));
    jobs::insert(tx, id(number), kind, id(application), deployment, NOW).await.unwrap();
}

async fn claim(tx: &mut Tx, queue: Queue, seconds: i64) -> Option<Job> {
    jobs::claim(tx, queue, OWNER, NOW, seconds).await.unwrap()
}

async fn jobs_of_one_application_come_one_after_another(db: TestDb) {
    let mut tx = two_applications(&db).await;
    add(&mut tx, 101, JobKind::Deploy, 1).await;
    add(&mut tx, 102, JobKind::Stop, 1).await;
    add(&mut tx, 103, JobKind::Delete, 2).await;
    assert_eq!(jobs::counts(&mut tx).await.unwrap(), (3, 0));
    let first = claim(&mut tx, Queue::Deploy, 60).await.unwrap();
    assert_eq!((first.id, first.kind, first.deployment_id, first.fence), (id(101), JobKind::Deploy, Some(id(11)), 1));
    // The next of the same application has to wait; another application's does not.
    let second = claim(&mut tx, Queue::End, 60).await.unwrap();
    assert_eq!((second.id, second.kind, second.deployment_id), (id(103), JobKind::Delete, None));
    assert!(claim(&mut tx, Queue::End, 60).await.is_none());
    assert_eq!(jobs::counts(&mut tx).await.unwrap(), (1, 2));
    jobs::delete(&mut tx, &first).await.unwrap();
    assert_eq!(claim(&mut tx, Queue::End, 60).await.unwrap().id, id(102));
    // A server whose clock is behind makes a job that seems older: what is under way goes first all the same.
    add(&mut tx, 100, JobKind::Deploy, 1).await;
    assert!(claim(&mut tx, Queue::Deploy, 60).await.is_none());
    assert!(jobs::withdraw(&mut tx, id(11)).await.unwrap());
    let left: Vec<_> = jobs::of_application(&mut tx, id(1)).await.unwrap().into_iter().map(|job| job.id).collect();
    assert_eq!(left, [id(102)]);
}

async fn some_jobs_run_beside(db: TestDb) {
    let mut tx = two_applications(&db).await;
    add(&mut tx, 101, JobKind::Deploy, 1).await;
    add(&mut tx, 102, JobKind::Finish, 1).await;
    add(&mut tx, 103, JobKind::Finish, 1).await;
    assert_eq!(claim(&mut tx, Queue::Deploy, 60).await.unwrap().id, id(101));
    assert!(claim(&mut tx, Queue::Deploy, 60).await.is_none());
    for expected in [102, 103] {
        assert_eq!(claim(&mut tx, Queue::Beside, 60).await.unwrap().id, id(expected));
    }
    assert!(claim(&mut tx, Queue::Beside, 60).await.is_none());
}

async fn a_lease_that_has_ended_is_lost(db: TestDb) {
    let mut tx = two_applications(&db).await;
    add(&mut tx, 101, JobKind::Deploy, 1).await;
    let first = claim(&mut tx, Queue::Deploy, ENDED).await.unwrap();
    // As long as nobody has taken it, it can be renewed, and held.
    assert!(jobs::renew(&mut tx, &first, NOW, 60).await.unwrap());
    jobs::hold(&mut tx, &first).await.unwrap();
    assert!(claim(&mut tx, Queue::Deploy, 60).await.is_none());
    assert!(jobs::renew(&mut tx, &first, NOW, ENDED).await.unwrap());
    let second = jobs::claim(&mut tx, Queue::Deploy, OTHER, NOW, 60).await.unwrap().unwrap();
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
    add(&mut tx, 101, JobKind::Deploy, 1).await;
    let held = claim(&mut tx, Queue::Deploy, 60).await.unwrap();
    assert!(jobs::claim(&mut tx, Queue::Deploy, OTHER, NOW, 60).await.unwrap().is_none());
    tx.commit().await.unwrap();
    // PostgreSQL counts by its own clock, so the silence is written into the row.
    let silent = "update servers set seen_at = 1";
    execute(&db, silent, silent).await;
    let mut tx = db.begin().await.unwrap();
    let taken = jobs::claim(&mut tx, Queue::Deploy, OTHER, NOW, 60).await.unwrap();
    assert_eq!(taken.is_some(), db.kind() == Kind::Postgres);
    if taken.is_some() {
        assert!(matches!(jobs::hold(&mut tx, &held).await, Err(Error::Lost)));
    }
}

async fn a_job_that_is_put_back_waits(db: TestDb) {
    let mut tx = two_applications(&db).await;
    add(&mut tx, 101, JobKind::Deploy, 1).await;
    add(&mut tx, 102, JobKind::Stop, 1).await;
    let first = claim(&mut tx, Queue::Deploy, 60).await.unwrap();
    jobs::put_back(&mut tx, &first, NOW, 3_600).await.unwrap();
    // The order stays: the later one is not done before it.
    assert!(claim(&mut tx, Queue::Deploy, 60).await.is_none());
    assert!(matches!(jobs::hold(&mut tx, &first).await, Err(Error::Lost)));
    tx.commit().await.unwrap();
    let mut tx = db.begin().await.unwrap();
    let again = match db.kind() {
        Kind::Sqlite => jobs::claim(&mut tx, Queue::Deploy, OWNER, NOW.plus_seconds(3_600), 60).await.unwrap(),
        // Its own clock counts, whatever this server's says.
        Kind::Postgres => {
            assert!(jobs::claim(&mut tx, Queue::Deploy, OWNER, NOW.plus_seconds(99_999), 60).await.unwrap().is_none());
            tx.commit().await.unwrap();
            db.place.execute("update jobs set not_before = 0").await;
            tx = db.begin().await.unwrap();
            claim(&mut tx, Queue::Deploy, 60).await
        }
    };
    assert_eq!(again.map(|job| (job.id, job.fence)), Some((id(101), 2)));
}

async fn what_an_owner_left_behind(db: TestDb) {
    let mut tx = two_applications(&db).await;
    add(&mut tx, 101, JobKind::Deploy, 1).await;
    add(&mut tx, 102, JobKind::Stop, 2).await;
    let mine = claim(&mut tx, Queue::Deploy, 3_600).await.unwrap();
    let theirs = jobs::claim(&mut tx, Queue::End, OTHER, NOW, 3_600).await.unwrap().unwrap();
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
    let again = claim(&mut tx, Queue::Deploy, 60).await.unwrap();
    assert_eq!((again.id, again.fence), (mine.id, 2));
}

async fn what_waits_can_be_withdrawn(db: TestDb) {
    let mut tx = two_applications(&db).await;
    add(&mut tx, 101, JobKind::Deploy, 1).await;
    add(&mut tx, 102, JobKind::Deploy, 2).await;
    assert!(jobs::withdraw(&mut tx, id(12)).await.unwrap());
    assert!(!jobs::withdraw(&mut tx, id(12)).await.unwrap());
    let begun = claim(&mut tx, Queue::Deploy, 60).await.unwrap();
    assert!(!jobs::withdraw(&mut tx, id(11)).await.unwrap());
    jobs::hold(&mut tx, &begun).await.unwrap();
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
        let kind = if number % 5 == 0 { JobKind::Finish } else { JobKind::Stop };
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
        // Committed before the claim, as a server does it: others must know that it lives when they see what it holds.
        let mut tx = db.begin().await.unwrap();
        servers::beat(&mut tx, owner, NOW).await.unwrap();
        tx.commit().await.unwrap();
        let mut idle = true;
        for queue in [Queue::End, Queue::Beside] {
            let mut tx = db.begin().await.unwrap();
            let claimed = jobs::claim(&mut tx, queue, owner, NOW, 3_600).await.unwrap();
            tx.commit().await.unwrap();
            let Some(job) = claimed else { continue };
            idle = false;
            assert_eq!(job.fence, 1, "nobody had it before");
            {
                let mut seen = seen.lock().unwrap();
                assert!(queue == Queue::Beside || seen.busy.insert(job.application_id), "two at once");
                seen.begun.entry(job.application_id).or_default().push(job.id);
            }
            tokio::task::yield_now().await;
            // Before the commit, which lets the next one in.
            let mut tx = db.begin().await.unwrap();
            jobs::delete(&mut tx, &job).await.unwrap();
            if queue == Queue::End {
                seen.lock().unwrap().busy.remove(&job.application_id);
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
