//! Uptime checks, their history and outages.

use windlass_api::{CheckResult, UptimeState};
use windlass_store::outages::{self, Outage};
use windlass_store::uptime::{self, Uptime};
use windlass_store::uptime_checks::{self, Counts, UptimeCheck};
use windlass_store::{applications, domains, status_pages};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, application, database, id, populate};

on_both_databases!(database: a_time_is_taken_once, organizations_take_turns, a_time_of_a_wrong_clock_has_come, checks_are_counted_by_hours,
    one_outage_lasts, the_domain_of_a_page_that_is_on_is_its_organizations);

fn of(number: u128) -> Uptime {
    Uptime {
        application_id: id(number),
        organization_id: id(101),
        path: "/".into(),
        interval_seconds: 60,
        expected_status: 0,
        timeout_seconds: 10,
        failures: 2,
        next_at: Some(NOW.micros()),
        state: UptimeState::Unknown,
        reason: String::new(),
        since: NOW,
        checked_at: None,
        failed_checks: 0,
        failing_since: None,
        created_at: NOW,
        updated_at: NOW,
    }
}

/// Applications 1 to 4, of which the first is checked.
async fn with_applications(db: &TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 2).await;
    for number in 1..=4 {
        applications::insert(&mut tx, &application(number)).await.unwrap();
    }
    uptime::put(&mut tx, &of(1)).await.unwrap();
    tx.commit().await.unwrap();
}

async fn a_time_is_taken_once(db: TestDb) {
    with_applications(&db).await;
    let mut tx = db.begin().await.unwrap();
    let due = uptime::due(&mut tx, NOW, 10).await.unwrap().remove(0);
    let taken = uptime::take_time(&mut tx, &due, NOW).await.unwrap().unwrap();
    assert_eq!(taken.next_at, Some(NOW.plus_seconds(60).micros()));
    assert!(uptime::take_time(&mut tx, &due, NOW).await.unwrap().is_none());
    assert!(uptime::due(&mut tx, NOW.plus_seconds(59), 10).await.unwrap().is_empty());
    assert_eq!(uptime::due(&mut tx, NOW.plus_seconds(60), 10).await.unwrap().len(), 1);
    // What a check has come to leaves the time of the next one alone.
    uptime::conclude(&mut tx, &Uptime { state: UptimeState::Up, next_at: None, ..of(1) }).await.unwrap();
    let stored = uptime::get(&mut tx, id(1)).await.unwrap().unwrap();
    assert_eq!((stored.state, stored.next_at), (UptimeState::Up, taken.next_at));
}

async fn organizations_take_turns(db: TestDb) {
    with_applications(&db).await;
    let mut tx = db.begin().await.unwrap();
    for (number, organization, seconds) in [(2, 101, -3), (3, 101, -2), (4, 102, -1)] {
        let next_at = Some(NOW.plus_seconds(seconds).micros());
        uptime::put(&mut tx, &Uptime { organization_id: id(organization), next_at, ..of(number) }).await.unwrap();
    }
    let due = uptime::due(&mut tx, NOW, 3).await.unwrap();
    assert_eq!(
        due.iter().map(|due| (due.application_id, due.turn)).collect::<Vec<_>>(),
        [(id(2), 1), (id(4), 1), (id(3), 2)]
    );
    assert_eq!(uptime::count_of_organization(&mut tx, id(101)).await.unwrap(), 3);
    uptime::put(&mut tx, &Uptime { next_at: None, ..of(2) }).await.unwrap();
    assert_eq!(uptime::count_of_organization(&mut tx, id(101)).await.unwrap(), 2);
}

async fn a_time_of_a_wrong_clock_has_come(db: TestDb) {
    with_applications(&db).await;
    let mut tx = db.begin().await.unwrap();
    for (seconds, is_due) in [(60, false), (61, true), (86_400, true)] {
        uptime::put(&mut tx, &Uptime { next_at: Some(NOW.plus_seconds(seconds).micros()), ..of(1) }).await.unwrap();
        assert_eq!(!uptime::due(&mut tx, NOW, 10).await.unwrap().is_empty(), is_due, "{seconds}");
    }
}

async fn checks_are_counted_by_hours(db: TestDb) {
    with_applications(&db).await;
    let mut tx = db.begin().await.unwrap();
    let results = [
        (0, CheckResult::Up),
        (0, CheckResult::Failed),
        (-3_600, CheckResult::Up),
        (-24 * 3_600, CheckResult::Failed),
        (-8 * 86_400, CheckResult::Up),
        (-31 * 86_400, CheckResult::Failed),
        (-60, CheckResult::Paused),
    ];
    for (number, (seconds, result)) in (200..).zip(results) {
        let check = UptimeCheck {
            id: id(number),
            application_id: id(1),
            result,
            status: Some(200),
            answer_ms: None,
            reason: String::new(),
            checked_at: NOW.plus_seconds(seconds),
        };
        uptime_checks::insert(&mut tx, &check).await.unwrap();
    }
    let expected =
        Counts { up_24_hours: 2, failed_24_hours: 1, up_7_days: 2, failed_7_days: 2, up_30_days: 3, failed_30_days: 2 };
    assert_eq!(uptime_checks::counts(&mut tx, id(1), NOW).await.unwrap(), expected);
    assert_eq!(uptime_checks::counts(&mut tx, id(2), NOW).await.unwrap(), Counts::default());
    let newest = uptime_checks::page(&mut tx, id(1), None, 2).await.unwrap();
    assert_eq!(newest.iter().map(|check| check.id).collect::<Vec<_>>(), [id(206), id(205)]);
    let next = uptime_checks::page(&mut tx, id(1), Some(id(205)), 10).await.unwrap();
    assert_eq!((next.len(), next[0].id), (5, id(204)));
    assert_eq!(uptime_checks::forget_before(&mut tx, NOW.plus_seconds(-86_399), 2).await.unwrap(), 2);
    assert_eq!(uptime_checks::forget_before(&mut tx, NOW.plus_seconds(-86_399), 2).await.unwrap(), 1);
    assert_eq!(uptime_checks::forget_hours_before(&mut tx, NOW.plus_seconds(-20 * 86_400)).await.unwrap(), 1);
    assert_eq!(uptime_checks::forget_hours_before(&mut tx, NOW.plus_seconds(-20 * 86_400)).await.unwrap(), 0);
    assert!(uptime::delete(&mut tx, id(1)).await.unwrap());
    assert!(uptime_checks::page(&mut tx, id(1), None, 10).await.unwrap().is_empty(), "they go with it");
}

async fn one_outage_lasts(db: TestDb) {
    with_applications(&db).await;
    let mut tx = db.begin().await.unwrap();
    let outage = |number: u128| Outage {
        id: id(number),
        application_id: id(1),
        started_at: NOW,
        ended_at: None,
        recovered: false,
        reason: "no".into(),
    };
    for number in 300..304 {
        outages::begin(&mut tx, &outage(number), 2).await.unwrap();
        assert!(outages::lasts(&mut tx, id(1)).await.unwrap());
        // A clock that was set back since does not end it before it began.
        let ended = outages::end(&mut tx, id(1), true, NOW.plus_seconds(-5)).await.unwrap().unwrap();
        assert_eq!((ended.id, ended.ended_at, ended.recovered), (id(number), Some(NOW.micros()), true));
        assert!(outages::end(&mut tx, id(1), true, NOW).await.unwrap().is_none());
    }
    let kept = outages::page(&mut tx, id(1), None, 10).await.unwrap();
    assert_eq!(kept.iter().map(|outage| outage.id).collect::<Vec<_>>(), [id(303), id(302)]);
    assert_eq!(outages::forget_before(&mut tx, NOW.plus_seconds(1), 10).await.unwrap(), 2);
}

async fn the_domain_of_a_page_that_is_on_is_its_organizations(db: TestDb) {
    with_applications(&db).await;
    let mut tx = db.begin().await.unwrap();
    let page = status_pages::StatusPage {
        organization_id: id(102),
        enabled: true,
        title: "Status".into(),
        domain: "status.example.org".into(),
        edition: id(400),
        updated_at: NOW,
    };
    status_pages::put(&mut tx, &page).await.unwrap();
    let found = domains::get(&mut tx, "status.example.org").await.unwrap().unwrap();
    assert!(found.is_of_status_page() && found.organization_id == id(102) && found.path == "/");
    assert_eq!(domains::without_order(&mut tx).await.unwrap().len(), 5, "a certificate is ordered for it too");
    assert!(status_pages::turn_off(&mut tx, id(102), id(401), NOW).await.unwrap());
    assert!(!status_pages::turn_off(&mut tx, id(102), id(402), NOW).await.unwrap());
    assert!(domains::at(&mut tx, "status.example.org").await.unwrap().is_empty());
    assert_eq!(status_pages::get(&mut tx, id(102)).await.unwrap().unwrap().edition, id(401));
    assert!(status_pages::on(&mut tx).await.unwrap().is_empty());
}
