use std::time::Duration;

use windlass_api::EventName;
use windlass_store::events::{self, NewEvent};
use windlass_store::{Kind, Tx};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, database, id};

on_both_databases!(database: events_are_numbered, a_consumer_reads_each_event_once, old_events_are_forgotten,
    only_what_is_asked_for);

fn event(organization: u128, name: EventName) -> NewEvent {
    NewEvent {
        name,
        organization_id: id(organization),
        application_id: Some(id(7)),
        deployment_id: None,
        details: "{}".into(),
        created_at: NOW,
    }
}

async fn write(tx: &mut Tx, organization: u128, count: usize) {
    let written: Vec<_> = (0..count).map(|_| event(organization, EventName::ApplicationRunning)).collect();
    events::append(tx, &written).await.unwrap();
}

async fn events_are_numbered(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    assert_eq!((events::first_seq(&mut tx).await.unwrap(), events::last_seq(&mut tx).await.unwrap()), (1, 0));
    write(&mut tx, 2, 3).await;
    write(&mut tx, 2, 2).await;
    let all = events::after(&mut tx, 0, 100).await.unwrap();
    assert_eq!(all.iter().map(|event| event.seq).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    assert_eq!((all[0].name, all[0].created_at), (EventName::ApplicationRunning, NOW));
    assert_eq!(events::after(&mut tx, 3, 1).await.unwrap()[0].seq, 4);
    drop(tx);
    // What was rolled back leaves no hole.
    let mut tx = db.begin().await.unwrap();
    assert_eq!(events::last_seq(&mut tx).await.unwrap(), 0);
}

async fn only_what_is_asked_for(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    write(&mut tx, 2, 2).await;
    write(&mut tx, 3, 2).await;
    events::append(&mut tx, &[event(2, EventName::DeploymentFailed)]).await.unwrap();
    let names = [EventName::ApplicationRunning];
    let seqs = |events: Vec<events::Event>| events.into_iter().map(|event| event.seq).collect::<Vec<_>>();
    assert_eq!(seqs(events::of_organization_after(&mut tx, id(2), &names, 0, 10).await.unwrap()), [1, 2]);
    assert_eq!(seqs(events::of_organization_after(&mut tx, id(2), EventName::ALL, 1, 10).await.unwrap()), [2, 5]);
    assert_eq!(seqs(events::of_organization_after(&mut tx, id(3), EventName::ALL, 0, 1).await.unwrap()), [3]);
    assert_eq!(seqs(events::of_organization_after(&mut tx, id(3), &[], 0, 10).await.unwrap()), [0_i64; 0]);
}

/// Its cursor moves in the transaction of what it does, so that a crash repeats or loses nothing.
async fn a_consumer_reads_each_event_once(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    write(&mut tx, 2, 1).await;
    assert_eq!(events::cursor(&mut tx, "mailer").await.unwrap(), 1, "it begins with what happens from now on");
    write(&mut tx, 2, 4).await;
    tx.commit().await.unwrap();
    let mut seen = Vec::new();
    for crashes in [true, false, true, false, false] {
        let mut tx = db.begin().await.unwrap();
        let from = events::cursor(&mut tx, "mailer").await.unwrap();
        let batch = events::after(&mut tx, from, 2).await.unwrap();
        let Some(last) = batch.last() else { break };
        events::move_cursor(&mut tx, "mailer", last.seq).await.unwrap();
        if !crashes {
            seen.extend(batch.iter().map(|event| event.seq));
            tx.commit().await.unwrap();
        }
    }
    assert_eq!(seen, [2, 3, 4, 5]);
    let mut tx = db.begin().await.unwrap();
    events::move_cursor(&mut tx, "mailer", 3).await.unwrap();
    assert_eq!(events::cursor(&mut tx, "mailer").await.unwrap(), 5, "it never goes back");
    assert_eq!(events::cursor(&mut tx, "another").await.unwrap(), 5);
}

async fn old_events_are_forgotten(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    write(&mut tx, 2, 5).await;
    assert_eq!(events::forget_before(&mut tx, NOW, 10).await.unwrap(), 0, "none is older");
    let later = NOW.plus_seconds(1);
    assert_eq!(events::forget_before(&mut tx, later, 2).await.unwrap(), 2);
    assert_eq!(events::first_seq(&mut tx).await.unwrap(), 3);
    // One that has not been read stays.
    events::cursor(&mut tx, "mailer").await.unwrap();
    write(&mut tx, 2, 2).await;
    assert_eq!(events::forget_before(&mut tx, later, 10).await.unwrap(), 3);
    assert_eq!(events::first_seq(&mut tx).await.unwrap(), 6);
}

/// A transaction that took its numbers first commits last: no reader may pass over them meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_number_is_seen_before_a_smaller_one() {
    let db = database(Kind::Postgres).await;
    let mut writers = Vec::new();
    for writer in 0..8_u64 {
        let handle = db.place.open().await;
        writers.push(tokio::spawn(async move {
            for round in 0..25 {
                let mut tx = handle.begin().await.unwrap();
                write(&mut tx, 2, 1).await;
                tokio::time::sleep(Duration::from_millis((writer * 7 + round) % 5)).await;
                tx.commit().await.unwrap();
            }
        }));
    }
    let (mut cursor, mut seen) = (0, 0);
    let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
    while seen < 200 {
        assert!(tokio::time::Instant::now() < deadline, "{seen} of 200 were seen: a number was passed over");
        for event in events::after(&mut db.read().await.unwrap(), cursor, 100).await.unwrap() {
            (cursor, seen) = (event.seq, seen + 1);
        }
    }
    for writer in writers {
        writer.await.unwrap();
    }
}
