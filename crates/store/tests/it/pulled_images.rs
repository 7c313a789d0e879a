//! Images that deployments of compose files brought to the engine.

use windlass_api::Timestamp;
use windlass_store::pulled_images::{self, PulledImage};
use windlass_store::releases::{self, Artifact, Image, ServiceImage, Services};
use windlass_store::{Tx, applications};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, add_application, database, id, populate, release};

on_both_databases!(database: what_no_release_needs_is_unwanted, what_was_taken_from_a_registry_stays_with_its_release, each_image_counts_once);

fn image(number: u128, reference: &str, image_id: &str) -> PulledImage {
    PulledImage {
        id: id(number),
        organization_id: id(101),
        reference: reference.into(),
        image_id: image_id.into(),
        bytes: if image_id.is_empty() { 0 } else { 10 },
        used_at: NOW,
    }
}

fn later() -> Timestamp {
    Timestamp::from_micros(NOW.micros() + 1)
}

async fn unwanted(tx: &mut Tx, since: Timestamp) -> Vec<String> {
    let mut ids: Vec<String> =
        pulled_images::unwanted(tx, since).await.unwrap().into_iter().map(|image| image.image_id).collect();
    ids.sort();
    ids
}

async fn what_was_taken_from_a_registry_stays_with_its_release(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 1).await;
    add_application(&mut tx, 1).await;
    pulled_images::note(&mut tx, &image(1, "registry.example.org/shop@sha256:0", "sha256:a")).await.unwrap();
    releases::insert(&mut tx, &release(20, 1)).await.unwrap();
    assert_eq!(unwanted(&mut tx, later()).await, ["sha256:a"]);
    let image = Image { name: "windlass/shop:1".into(), id: "sha256:a".into(), port: 80, bytes: 5 };
    releases::set_artifact(&mut tx, id(20), Some(&Artifact::Image(image))).await.unwrap();
    assert_eq!(unwanted(&mut tx, later()).await, [""; 0]);
    releases::set_removed(&mut tx, id(20), NOW).await.unwrap();
    assert_eq!(unwanted(&mut tx, later()).await, ["sha256:a"]);
}

async fn what_no_release_needs_is_unwanted(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 1).await;
    add_application(&mut tx, 1).await;
    for (number, reference, image_id) in [(1, "redis:8", "sha256:a"), (2, "redis:8", "sha256:b"), (3, "gone:1", "")] {
        pulled_images::note(&mut tx, &image(number, reference, image_id)).await.unwrap();
    }
    assert!(pulled_images::is_known(&mut tx, "redis:8").await.unwrap());
    assert!(!pulled_images::is_known(&mut tx, "redis:7").await.unwrap());
    // One that a deployment has just asked for has no release yet.
    assert_eq!(unwanted(&mut tx, NOW).await, [""; 0]);
    assert_eq!(unwanted(&mut tx, later()).await, ["", "sha256:a", "sha256:b"]);

    releases::insert(&mut tx, &release(20, 1)).await.unwrap();
    let all = vec![ServiceImage { service: "cache".into(), name: String::new(), id: "sha256:b".into() }];
    let services = Services { all, main: "cache".into(), port: 6379, bytes: 0 };
    releases::set_artifact(&mut tx, id(20), Some(&Artifact::Services(services))).await.unwrap();
    assert_eq!(unwanted(&mut tx, later()).await, ["", "sha256:a"]);
    // Another organization's release needs none of these.
    let other = PulledImage { organization_id: id(102), ..image(4, "redis:8", "sha256:b") };
    pulled_images::note(&mut tx, &other).await.unwrap();
    assert_eq!(unwanted(&mut tx, later()).await, ["", "sha256:a", "sha256:b"]);
    assert!(pulled_images::is_needed_elsewhere(&mut tx, &other).await.unwrap());
    pulled_images::delete(&mut tx, id(4)).await.unwrap();

    releases::set_removed(&mut tx, id(20), NOW).await.unwrap();
    assert_eq!(unwanted(&mut tx, later()).await, ["", "sha256:a", "sha256:b"]);
    applications::delete(&mut tx, id(1)).await.unwrap();
    assert_eq!(unwanted(&mut tx, later()).await.len(), 3, "the organization may be gone, its images are not yet");
    pulled_images::end_pull(&mut tx, id(101), "gone:1").await.unwrap();
    assert_eq!(unwanted(&mut tx, later()).await, ["sha256:a", "sha256:b"]);
}

async fn each_image_counts_once(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 1).await;
    for (number, reference) in [(1, "redis:8"), (2, "redis:latest"), (1, "redis:8")] {
        pulled_images::note(&mut tx, &image(number, reference, "sha256:a")).await.unwrap();
    }
    pulled_images::note(&mut tx, &image(3, "postgres:17", "sha256:b")).await.unwrap();
    assert_eq!(pulled_images::bytes_of_organization(&mut tx, id(101)).await.unwrap(), 20);
    assert_eq!(pulled_images::bytes_of_organization(&mut tx, id(102)).await.unwrap(), 0);
}
