//! Volumes and snapshots.

use uuid::Uuid;
use windlass_api::{SnapshotOrigin, SnapshotState, Timestamp, VolumeOrigin};
use windlass_store::jobs::{self, NewJob};
use windlass_store::snapshots::{self, Snapshot};
use windlass_store::volumes::{self, Volume};
use windlass_store::{Error, applications};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, application, database, id, populate};

on_both_databases!(database: volumes_come_and_go, what_is_on_the_engine_is_exchanged, snapshots_are_kept_by_origin);

async fn with_application(db: &TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 1).await;
    applications::insert(&mut tx, &application(1)).await.unwrap();
    tx.commit().await.unwrap();
}

fn volume(number: u128, name: &str) -> Volume {
    Volume {
        id: id(number),
        organization_id: id(101),
        application_id: Some(id(1)),
        installation_id: None,
        application_name: "shop".into(),
        name: name.into(),
        path: format!("/{name}"),
        shared: false,
        host_path: String::new(),
        engine_name: format!("wl-{number}"),
        origin: VolumeOrigin::User,
        size_bytes: None,
        measured_at: None,
        used_at: None,
        snapshot_hours: 0,
        kept_snapshots: 1,
        before_snapshot: String::new(),
        after_snapshot: String::new(),
        next_snapshot_at: None,
        deleted_at: None,
        created_at: NOW,
        updated_at: NOW,
    }
}

fn names(all: Vec<Volume>) -> Vec<String> {
    all.into_iter().map(|volume| volume.name).collect()
}

async fn volumes_come_and_go(db: TestDb) {
    with_application(&db).await;
    let mut tx = db.begin().await.unwrap();
    for (number, name) in [(11, "b"), (12, "a")] {
        volumes::insert(&mut tx, &volume(number, name)).await.unwrap();
    }
    assert_eq!(names(volumes::of_application(&mut tx, id(1)).await.unwrap()), ["a", "b"]);
    tx.commit().await.unwrap();

    let mut tx = db.begin().await.unwrap();
    let twice = volumes::insert(&mut tx, &volume(13, "a")).await;
    assert!(matches!(twice, Err(Error::Duplicate)), "{twice:?}");
    drop(tx);

    let mut tx = db.begin().await.unwrap();
    let deleted = Volume { deleted_at: Some(NOW.micros()), ..volume(12, "a") };
    volumes::update(&mut tx, &deleted).await.unwrap();
    // The name is free for another one.
    volumes::insert(&mut tx, &volume(13, "a")).await.unwrap();
    assert_eq!(volumes::count_of_organization(&mut tx, id(101)).await.unwrap(), 2);
    assert_eq!(volumes::of_organization(&mut tx, id(101), 10).await.unwrap().len(), 3);
    assert_eq!(names(volumes::deleted_before(&mut tx, NOW, 10).await.unwrap()), ["a"]);
    assert!(volumes::deleted_before(&mut tx, NOW.plus_seconds(-1), 10).await.unwrap().is_empty());
    volumes::give_up(&mut tx, id(12)).await.unwrap();
    volumes::give_up(&mut tx, id(13)).await.unwrap();
    let gone: Vec<_> = volumes::deleted_before(&mut tx, Timestamp::from_micros(0), 10).await.unwrap();
    assert_eq!(gone.iter().map(|volume| volume.id).collect::<Vec<_>>(), [id(12)], "only what is deleted");
    assert_eq!(
        volumes::of_organization(&mut tx, id(101), 10).await.unwrap().len(),
        2,
        "what is about to go is not shown"
    );

    volumes::set_next_snapshot(&mut tx, id(11), Some(NOW)).await.unwrap();
    assert_eq!(names(volumes::due(&mut tx, NOW, 10).await.unwrap()), ["b"]);
    assert!(volumes::due(&mut tx, NOW.plus_seconds(-1), 10).await.unwrap().is_empty());
    volumes::set_size(&mut tx, "wl-11", 5, NOW).await.unwrap();
    volumes::set_size(&mut tx, "wl-12", 7, NOW).await.unwrap();
    assert_eq!(volumes::bytes_of_organization(&mut tx, id(101)).await.unwrap(), 12);
    volumes::set_application_name(&mut tx, id(1), "store").await.unwrap();

    applications::delete(&mut tx, id(1)).await.unwrap();
    let kept = volumes::get(&mut tx, id(11)).await.unwrap().unwrap();
    assert_eq!((kept.application_id, kept.application_name.as_str()), (None, "store"));
    volumes::delete(&mut tx, id(11)).await.unwrap();
    assert!(volumes::get(&mut tx, id(11)).await.unwrap().is_some(), "it is not deleted");
    volumes::rename_all(&mut tx, "copy").await.unwrap();
    volumes::delete(&mut tx, id(12)).await.unwrap();
    assert!(volumes::by_engine_name(&mut tx, "wl-12-copy").await.unwrap().is_none());
    assert!(volumes::by_engine_name(&mut tx, "wl-11-copy").await.unwrap().is_some());
}

async fn what_is_on_the_engine_is_exchanged(db: TestDb) {
    with_application(&db).await;
    let mut tx = db.begin().await.unwrap();
    let live = Volume { used_at: Some(1), size_bytes: Some(10), ..volume(11, "data") };
    let beside = Volume { used_at: Some(2), size_bytes: Some(20), deleted_at: Some(3), ..volume(12, "data") };
    for volume in [&live, &beside] {
        volumes::insert(&mut tx, volume).await.unwrap();
    }
    volumes::exchange(&mut tx, &live, &beside).await.unwrap();
    let shown = |volume: Volume| (volume.engine_name, volume.used_at, volume.size_bytes, volume.deleted_at);
    let (first, second) = (volumes::get(&mut tx, id(11)).await, volumes::get(&mut tx, id(12)).await);
    assert_eq!(shown(first.unwrap().unwrap()), ("wl-12".to_owned(), Some(2), Some(20), None));
    assert_eq!(shown(second.unwrap().unwrap()), ("wl-11".to_owned(), Some(1), Some(10), Some(3)));
}

fn snapshot(number: u128, origin: SnapshotOrigin) -> Snapshot {
    Snapshot {
        id: id(number),
        organization_id: id(101),
        application_id: Some(id(1)),
        application_name: "shop".into(),
        volume_id: id(11),
        volume_name: "data".into(),
        origin,
        deployment_id: None,
        live_release_id: Some(id(50)),
        state: SnapshotState::Pending,
        reason: String::new(),
        size_bytes: 0,
        sha256: String::new(),
        created_at: NOW,
        finished_at: None,
    }
}

fn numbers(all: Vec<Snapshot>) -> Vec<Uuid> {
    all.into_iter().map(|snapshot| snapshot.id).collect()
}

async fn snapshots_are_kept_by_origin(db: TestDb) {
    with_application(&db).await;
    let mut tx = db.begin().await.unwrap();
    let origins =
        [SnapshotOrigin::Schedule, SnapshotOrigin::User, SnapshotOrigin::Deployment, SnapshotOrigin::Schedule];
    for (number, origin) in (21..).zip(origins) {
        let pending = snapshot(number, origin);
        snapshots::insert(&mut tx, &pending).await.unwrap();
        let ready = Snapshot { size_bytes: 5, sha256: "ab".into(), ..pending };
        assert!(snapshots::end(&mut tx, &ready, SnapshotState::Ready, "", NOW).await.unwrap());
        assert!(!snapshots::end(&mut tx, &ready, SnapshotState::Failed, "late", NOW).await.unwrap(), "it has ended");
    }
    snapshots::insert(&mut tx, &snapshot(25, SnapshotOrigin::Schedule)).await.unwrap();
    assert_eq!(numbers(snapshots::surplus(&mut tx, id(11), SnapshotState::Ready, 1).await.unwrap()), [id(23), id(21)]);
    assert!(snapshots::surplus(&mut tx, id(11), SnapshotState::Failed, 0).await.unwrap().is_empty());
    assert_eq!(numbers(snapshots::pending_of(&mut tx, id(1)).await.unwrap()), [id(25)]);
    assert_eq!(snapshots::count_of_organization(&mut tx, id(101)).await.unwrap(), 5);
    assert_eq!(snapshots::bytes_of_organization(&mut tx, id(101)).await.unwrap(), 20);
    let job = NewJob {
        id: id(25),
        kind: "snapshot",
        organization_id: Some(id(101)),
        application_id: Some(id(1)),
        payload: "{}".into(),
        exclusive_key: None,
    };
    jobs::insert(&mut tx, &job, NOW).await.unwrap();
    assert!(!snapshots::mark_deleted(&mut tx, id(25)).await.unwrap(), "it is being written");
    assert!(snapshots::mark_deleted(&mut tx, id(21)).await.unwrap());
    assert_eq!(numbers(snapshots::deleted(&mut tx, 10).await.unwrap()), [id(21)]);
    assert!(snapshots::of_organization(&mut tx, id(101), id(21)).await.unwrap().is_none());
    assert!(snapshots::of_organization(&mut tx, id(102), id(22)).await.unwrap().is_none(), "it is another's");
    assert_eq!(numbers(snapshots::of_volume(&mut tx, id(11), 10).await.unwrap()), [id(25), id(24), id(23), id(22)]);
    assert_eq!(numbers(snapshots::newest(&mut tx, id(101), 2).await.unwrap()), [id(25), id(24)]);
    assert!(
        snapshots::of_release(&mut tx, id(50)).await.unwrap().is_empty(),
        "they are of no deployment that succeeded"
    );
    snapshots::end_all_pending(&mut tx, "over", NOW).await.unwrap();
    assert!(snapshots::pending_of(&mut tx, id(1)).await.unwrap().is_empty());
    snapshots::delete(&mut tx, id(21)).await.unwrap();
    assert!(snapshots::get(&mut tx, id(21)).await.unwrap().is_none());
}
