use uuid::Uuid;
use windlass_api::{DeploymentKind, DeploymentState};
use windlass_store::extension_sources::{self, ExtensionSource};
use windlass_store::{Tx, applications, deployments, releases};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, add_application, add_deployment, database, deployment, id, make_live, populate};

on_both_databases!(database: each_release_has_its_own_text, what_is_in_use, texts_go_with_their_releases);

fn source(release: u128, application: u128, version: &str) -> ExtensionSource {
    ExtensionSource {
        release_id: id(release),
        application_id: id(application),
        extension_id: id(7),
        extension_key: "wiki".into(),
        version: version.into(),
        content_hash: format!("hash of {version}"),
        created_at: NOW,
        yaml_content: format!("text of {version}"),
    }
}

async fn add(tx: &mut Tx, release: u128, version: &str) {
    add_deployment(tx, release, 1).await;
    extension_sources::put(tx, &source(release, 1, version)).await.unwrap();
}

async fn in_use(tx: &mut Tx) -> String {
    extension_sources::in_use(tx, id(1)).await.unwrap().expect("it is made of something").version
}

async fn each_release_has_its_own_text(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 1).await;
    add_application(&mut tx, 1).await;
    add_application(&mut tx, 2).await;
    add(&mut tx, 11, "1").await;
    add(&mut tx, 12, "2").await;
    let of = async |tx: &mut Tx, release: Uuid| extension_sources::of_release(tx, release).await.unwrap();
    assert_eq!(of(&mut tx, id(11)).await, Some(source(11, 1, "1")));
    // An update gives a release another text than the one that it began with.
    let newer = ExtensionSource { extension_id: id(8), extension_key: "fork".into(), ..source(12, 1, "3") };
    extension_sources::put(&mut tx, &newer).await.unwrap();
    assert_eq!(of(&mut tx, id(12)).await, Some(newer));
    assert_eq!(of(&mut tx, id(11)).await, Some(source(11, 1, "1")));
    assert_eq!(of(&mut tx, id(13)).await, None);
    assert_eq!(extension_sources::in_use(&mut tx, id(2)).await.unwrap(), None);
}

async fn what_is_in_use(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 1).await;
    add_application(&mut tx, 1).await;
    add(&mut tx, 11, "1").await;
    assert_eq!(in_use(&mut tx).await, "1", "it waits");
    make_live(&mut tx, 11, 1, NOW).await;
    add(&mut tx, 12, "2").await;
    assert_eq!(in_use(&mut tx).await, "2", "it is under way");
    // What is of the live release when its turn comes says nothing.
    for (number, kind) in [(13, DeploymentKind::Restart), (14, DeploymentKind::Restore)] {
        deployments::insert(&mut tx, &deployment(number, 1, 11, kind)).await.unwrap();
        assert_eq!(in_use(&mut tx).await, "2");
    }
    for number in [12, 13, 14] {
        let (from, to) = (DeploymentState::Queued, DeploymentState::Cancelled);
        assert!(deployments::advance(&mut tx, id(number), from, to, NOW).await.unwrap());
    }
    assert_eq!(in_use(&mut tx).await, "1", "it was called off");
    add(&mut tx, 15, "3").await;
    make_live(&mut tx, 15, 1, NOW.plus_seconds(1)).await;
    assert_eq!(in_use(&mut tx).await, "3");
    deployments::insert(&mut tx, &deployment(16, 1, 11, DeploymentKind::Rollback)).await.unwrap();
    assert_eq!(in_use(&mut tx).await, "1", "it is gone back to");
    let (from, to) = (DeploymentState::Queued, DeploymentState::Failed);
    assert!(deployments::advance(&mut tx, id(16), from, to, NOW).await.unwrap());
    assert_eq!(in_use(&mut tx).await, "3");
    // What is stopped is what was live last.
    applications::set_live(&mut tx, id(1), None).await.unwrap();
    assert_eq!(in_use(&mut tx).await, "3");
    for number in [11, 15] {
        releases::set_removed(&mut tx, id(number), NOW).await.unwrap();
    }
    assert_eq!(in_use(&mut tx).await, "3", "the newest, where nothing can be gone back to");
}

async fn texts_go_with_their_releases(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 1).await;
    add_application(&mut tx, 1).await;
    for number in 11..=14 {
        add(&mut tx, number, "1").await;
        make_live(&mut tx, number, 1, NOW).await;
    }
    releases::set_removed(&mut tx, id(11), NOW).await.unwrap();
    deployments::forget_old(&mut tx, id(1), 2).await.unwrap();
    assert_eq!(extension_sources::of_release(&mut tx, id(11)).await.unwrap(), None);
    assert!(extension_sources::of_release(&mut tx, id(14)).await.unwrap().is_some());
    applications::delete(&mut tx, id(1)).await.unwrap();
    assert_eq!(extension_sources::of_release(&mut tx, id(14)).await.unwrap(), None);
}
