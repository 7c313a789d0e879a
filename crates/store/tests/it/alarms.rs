use windlass_store::alarms::{self, AlarmKind};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, database, id};

on_both_databases!(database: each_change_counts_once, what_is_over_is_forgotten);

async fn each_change_counts_once(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    let mut turned = Vec::new();
    for (is_on, seconds) in [(false, 0), (true, 0), (true, 100), (false, 30), (false, 60), (true, 119), (true, 120)] {
        let now = NOW.plus_seconds(seconds);
        let not_after = now.plus_seconds(-60);
        turned.push(alarms::turn(&mut tx, AlarmKind::Engine, id(7), is_on, now, not_after).await.unwrap());
    }
    assert_eq!(turned, [false, true, false, false, true, false, true]);
    let now = NOW.plus_seconds(500);
    alarms::turn(&mut tx, AlarmKind::Logs, id(7), true, now, now).await.unwrap();
    assert_eq!(alarms::of_subject(&mut tx, id(7)).await.unwrap(), [AlarmKind::Engine, AlarmKind::Logs]);
    assert_eq!(alarms::of_subject(&mut tx, id(8)).await.unwrap(), []);
    alarms::forget(&mut tx, AlarmKind::Engine, id(7)).await.unwrap();
    assert_eq!(alarms::of_subject(&mut tx, id(7)).await.unwrap(), [AlarmKind::Logs]);
}

async fn what_is_over_is_forgotten(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    for kind in [AlarmKind::Engine, AlarmKind::Logs, AlarmKind::Application, AlarmKind::Certificate] {
        alarms::turn(&mut tx, kind, id(7), true, NOW, NOW).await.unwrap();
    }
    alarms::turn(&mut tx, AlarmKind::Engine, id(7), false, NOW, NOW).await.unwrap();
    // No application and no order has this id.
    assert_eq!(alarms::forget_before(&mut tx, NOW).await.unwrap(), 2);
    assert_eq!(alarms::forget_before(&mut tx, NOW.plus_seconds(1)).await.unwrap(), 1);
    assert_eq!(alarms::of_subject(&mut tx, id(7)).await.unwrap(), [AlarmKind::Logs]);
}
