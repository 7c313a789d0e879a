//! Command runs and schedules.

use windlass_api::{Overlap, RunStatus};
use windlass_store::applications;
use windlass_store::jobs::{self, NewJob};
use windlass_store::runs::{self, End, Filter, Run};
use windlass_store::schedules::{self, Schedule};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, application, database, id, populate};

on_both_databases!(database: a_run_begins_and_ends_once, a_time_is_taken_once, organizations_take_turns, histories_are_bounded, rows_go_with_their_application);

async fn with_application(db: &TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 1).await;
    applications::insert(&mut tx, &application(1)).await.unwrap();
    schedules::insert(&mut tx, &schedule(50)).await.unwrap();
    tx.commit().await.unwrap();
}

fn schedule(number: u128) -> Schedule {
    Schedule {
        id: id(number),
        organization_id: id(101),
        application_id: id(1),
        name: format!("schedule {number}"),
        cron: "@daily".into(),
        command: "bin/report".into(),
        service: String::new(),
        overlap: Overlap::Skip,
        timeout_seconds: 60,
        kept_runs: 2,
        next_at: Some(NOW.micros()),
        created_at: NOW,
        updated_at: NOW,
    }
}

fn run(number: u128, schedule: Option<u128>) -> Run {
    Run {
        id: id(number),
        organization_id: id(101),
        application_id: id(1),
        schedule_id: schedule.map(id),
        schedule_name: String::new(),
        scheduled_at: None,
        user_id: None,
        actor: "Ada".into(),
        command: "bin/report".into(),
        service: String::new(),
        timeout_seconds: 60,
        status: RunStatus::Queued,
        ending: String::new(),
        reason: String::new(),
        exit_code: None,
        deployment_id: None,
        release_id: None,
        has_begun: false,
        created_at: NOW,
        started_at: None,
        finished_at: None,
    }
}

fn end(status: RunStatus) -> End {
    End { status, exit_code: Some(0), reason: "because".into() }
}

async fn a_run_begins_and_ends_once(db: TestDb) {
    with_application(&db).await;
    let mut tx = db.begin().await.unwrap();
    runs::insert(&mut tx, &run(60, None)).await.unwrap();
    let started = Run { service: "web".into(), deployment_id: Some(id(7)), release_id: Some(id(8)), ..run(60, None) };
    assert!(runs::start(&mut tx, &started, NOW).await.unwrap());
    assert!(!runs::start(&mut tx, &started, NOW).await.unwrap(), "it runs already");
    runs::set_begun(&mut tx, id(60)).await.unwrap();
    runs::set_ending(&mut tx, id(60), RunStatus::Cancelled, "by Ada").await.unwrap();
    runs::set_ending(&mut tx, id(60), RunStatus::TimedOut, "too late").await.unwrap();
    let row = runs::get(&mut tx, id(60)).await.unwrap().unwrap();
    assert_eq!((row.status, row.has_begun, row.service.as_str()), (RunStatus::Running, true, "web"));
    assert_eq!(
        (row.decided(), row.reason.as_str()),
        (Some(RunStatus::Cancelled), "by Ada"),
        "the first decision stays"
    );
    assert_eq!((row.started_at, row.deployment_id, row.release_id), (Some(NOW.micros()), Some(id(7)), Some(id(8))));
    assert_eq!(runs::count_under_way(&mut tx, id(101)).await.unwrap(), 1);
    assert!(runs::end(&mut tx, id(60), &end(RunStatus::Cancelled), NOW).await.unwrap());
    assert!(!runs::end(&mut tx, id(60), &end(RunStatus::Succeeded), NOW).await.unwrap(), "it is over");
    let row = runs::get(&mut tx, id(60)).await.unwrap().unwrap();
    assert_eq!((row.status, row.exit_code, row.finished_at), (RunStatus::Cancelled, Some(0), Some(NOW.micros())));
    assert!(runs::under_way(&mut tx, id(1)).await.unwrap().is_empty());
    assert!(runs::of_organization(&mut tx, id(102), id(60)).await.unwrap().is_none());
}

async fn a_time_is_taken_once(db: TestDb) {
    with_application(&db).await;
    let mut tx = db.begin().await.unwrap();
    let off = Schedule { next_at: None, ..schedule(51) };
    schedules::insert(&mut tx, &off).await.unwrap();
    assert!(schedules::due(&mut tx, NOW.plus_seconds(-1), 10).await.unwrap().is_empty());
    let due = schedules::due(&mut tx, NOW, 10).await.unwrap();
    assert_eq!(due.iter().map(|schedule| schedule.id).collect::<Vec<_>>(), [id(50)]);
    let next = NOW.plus_seconds(60);
    assert!(schedules::take_time(&mut tx, id(50), NOW.micros(), Some(next)).await.unwrap());
    assert!(!schedules::take_time(&mut tx, id(50), NOW.micros(), Some(next)).await.unwrap());
    let row = schedules::get(&mut tx, id(50)).await.unwrap().unwrap();
    assert_eq!(row.next_at, Some(next.micros()));
    schedules::update(&mut tx, &Schedule { name: "other".into(), next_at: None, ..row }).await.unwrap();
    assert!(schedules::due(&mut tx, next, 10).await.unwrap().is_empty());
    let names: Vec<_> = schedules::of_application(&mut tx, id(1)).await.unwrap();
    assert_eq!(names.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["other", "schedule 51"]);
}

async fn organizations_take_turns(db: TestDb) {
    with_application(&db).await;
    let mut tx = db.begin().await.unwrap();
    for (number, organization, seconds) in [(51, 101, -3), (52, 101, -2), (53, 102, -1), (54, 102, 1)] {
        let next_at = Some(NOW.plus_seconds(seconds).micros());
        let more = Schedule { organization_id: id(organization), next_at, ..schedule(number) };
        schedules::insert(&mut tx, &more).await.unwrap();
    }
    let due = schedules::due(&mut tx, NOW, 3).await.unwrap();
    assert_eq!(due.iter().map(|due| due.id).collect::<Vec<_>>(), [id(51), id(53), id(52)]);
}

async fn histories_are_bounded(db: TestDb) {
    with_application(&db).await;
    let mut tx = db.begin().await.unwrap();
    for number in 60..66 {
        // Every other one is of the schedule.
        let of = (number % 2 == 0).then_some(50);
        runs::insert(&mut tx, &run(number, of)).await.unwrap();
        if number < 65 {
            assert!(runs::end(&mut tx, id(number), &end(RunStatus::Succeeded), NOW).await.unwrap());
        }
    }
    let newest = runs::newest_of_schedules(&mut tx, id(1)).await.unwrap();
    assert_eq!(newest.iter().map(|run| run.id).collect::<Vec<_>>(), [id(64)]);
    assert_eq!(runs::newest_of_schedule(&mut tx, id(50)).await.unwrap().unwrap().id, id(64));
    // One whose container is still to be removed has a job.
    let job = NewJob {
        id: id(60),
        kind: "run",
        organization_id: Some(id(101)),
        application_id: None,
        payload: "{}".into(),
        exclusive_key: None,
    };
    jobs::insert(&mut tx, &job, NOW).await.unwrap();
    assert!(jobs::exists(&mut tx, id(60)).await.unwrap() && !jobs::exists(&mut tx, id(61)).await.unwrap());
    runs::forget_old_of_schedule(&mut tx, id(50), 1).await.unwrap();
    runs::forget_old_of_application(&mut tx, id(1), 1).await.unwrap();
    let (left, count) = runs::page(&mut tx, id(1), Filter::default(), (0, 10)).await.unwrap();
    assert_eq!(left.iter().map(|run| run.id).collect::<Vec<_>>(), [id(65), id(64), id(63), id(60)]);
    assert_eq!(count, 4);
    let of_schedule = Filter { schedule_id: Some(id(50)), status: Some(RunStatus::Succeeded) };
    let (found, count) = runs::page(&mut tx, id(1), of_schedule, (1, 1)).await.unwrap();
    assert_eq!((found[0].id, count), (id(60), 2));
    runs::interrupt_all(&mut tx, "a copy", NOW).await.unwrap();
    assert_eq!(runs::get(&mut tx, id(65)).await.unwrap().unwrap().status, RunStatus::Interrupted);
}

async fn rows_go_with_their_application(db: TestDb) {
    with_application(&db).await;
    let mut tx = db.begin().await.unwrap();
    for number in [60, 61] {
        runs::insert(&mut tx, &run(number, Some(50))).await.unwrap();
    }
    schedules::delete(&mut tx, id(50)).await.unwrap();
    assert_eq!(runs::get(&mut tx, id(60)).await.unwrap().unwrap().schedule_id, None, "its history stays");
    assert_eq!(runs::organizations(&mut tx).await.unwrap().len(), 2);
    applications::delete(&mut tx, id(1)).await.unwrap();
    assert!(runs::organizations(&mut tx).await.unwrap().is_empty());
}
