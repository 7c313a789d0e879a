use windlass_store::alarms::{self, AlarmKind};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, database, id};

on_both_databases!(database: each_change_counts_once, a_change_of_a_clock_that_was_ahead_counts_for_nothing, what_is_over_is_forgotten);

async fn each_change_counts_once(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    let mut turned = Vec::new();
    for (is_on, seconds) in [(false, 0), (true, 0), (true, 100), (false, 30), (false, 60), (true, 119), (true, 120)] {
        let now = NOW.plus_seconds(seconds);
        turned.push(alarms::turn(&mut tx, AlarmKind::Engine, id(7), is_on, now, 60).await.unwrap());
    }
    assert_eq!(turned, [false, true, false, false, true, false, true]);
    let now = NOW.plus_seconds(500);
    alarms::turn(&mut tx, AlarmKind::Logs, id(7), true, now, 0).await.unwrap();
    assert_eq!(alarms::of_subject(&mut tx, id(7)).await.unwrap(), [AlarmKind::Engine, AlarmKind::Logs]);
    assert_eq!(alarms::of_subject(&mut tx, id(8)).await.unwrap(), []);
    alarms::forget(&mut tx, AlarmKind::Engine, id(7)).await.unwrap();
    assert_eq!(alarms::of_subject(&mut tx, id(7)).await.unwrap(), [AlarmKind::Logs]);
}

/// Another server's clock may be a little ahead. One that was far ahead, and was set back, must not keep what is wrong now from being told.
async fn a_change_of_a_clock_that_was_ahead_counts_for_nothing(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    for (kind, ahead, is_told) in
        [(AlarmKind::Engine, 30, false), (AlarmKind::Logs, 60, false), (AlarmKind::DataDisk, 61, true)]
    {
        let then = NOW.plus_seconds(ahead);
        for is_on in [true, false] {
            assert!(alarms::turn(&mut tx, kind, id(7), is_on, then, 0).await.unwrap());
        }
        assert_eq!(alarms::turn(&mut tx, kind, id(7), true, NOW, 60).await.unwrap(), is_told, "on, {ahead}");
        assert!(alarms::turn(&mut tx, kind, id(8), true, then, 0).await.unwrap());
        assert_eq!(alarms::turn(&mut tx, kind, id(8), false, NOW, 60).await.unwrap(), is_told, "off, {ahead}");
    }
}

async fn what_is_over_is_forgotten(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    for kind in [AlarmKind::Engine, AlarmKind::Logs, AlarmKind::Application, AlarmKind::Certificate] {
        alarms::turn(&mut tx, kind, id(7), true, NOW, 0).await.unwrap();
    }
    alarms::turn(&mut tx, AlarmKind::Engine, id(7), false, NOW, 0).await.unwrap();
    // No application and no order has this id.
    assert_eq!(alarms::forget_before(&mut tx, NOW).await.unwrap(), 2);
    assert_eq!(alarms::forget_before(&mut tx, NOW.plus_seconds(1)).await.unwrap(), 1);
    assert_eq!(alarms::of_subject(&mut tx, id(7)).await.unwrap(), [AlarmKind::Logs]);
}
