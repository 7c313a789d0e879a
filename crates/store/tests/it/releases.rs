use windlass_store::releases::{Artifact, Image};
use windlass_store::{deployments, releases};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, add_application, add_deployment, database, deployment, id, make_live, populate};

on_both_databases!(database: a_release_is_made_kept_and_removed, what_is_beyond_the_kept_ones);

async fn a_release_is_made_kept_and_removed(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 1).await;
    add_application(&mut tx, 1).await;
    add_application(&mut tx, 2).await;
    add_deployment(&mut tx, 11, 1).await;
    assert_eq!(releases::get(&mut tx, id(11)).await.unwrap().unwrap().artifact, None);
    assert!(releases::last_kept(&mut tx, id(1)).await.unwrap().is_none());
    assert!(releases::current_of(&mut tx, &[id(1), id(2)]).await.unwrap().is_empty());
    assert!(releases::current_of(&mut tx, &[]).await.unwrap().is_empty());
    releases::set_commit(&mut tx, id(11), "abc", "Ada", "First").await.unwrap();
    make_live(&mut tx, 11, 1, NOW).await;
    add_deployment(&mut tx, 12, 1).await;
    make_live(&mut tx, 12, 1, NOW.plus_seconds(1)).await;
    let live = releases::current_of(&mut tx, &[id(1), id(2)]).await.unwrap();
    let image = |port| Some(Artifact::Image(Image { name: "shop".into(), id: "sha256:12".into(), port, bytes: 5 }));
    assert_eq!((live.len(), live[0].id, live[0].artifact.clone()), (1, id(12), image(3000)));
    releases::set_port(&mut tx, id(12), 4000).await.unwrap();
    let stored = releases::get(&mut tx, id(12)).await.unwrap().unwrap();
    assert_eq!(stored.artifact, image(4000));
    // By when it was live, not by when it was made.
    releases::set_live_at(&mut tx, id(11), NOW.plus_seconds(2)).await.unwrap();
    assert_eq!(releases::last_kept(&mut tx, id(1)).await.unwrap().unwrap().id, id(11));
    assert!(releases::get(&mut tx, id(11)).await.unwrap().unwrap().is_kept());
    releases::set_removed(&mut tx, id(11), NOW).await.unwrap();
    assert!(!releases::get(&mut tx, id(11)).await.unwrap().unwrap().is_kept());
    assert_eq!(releases::last_kept(&mut tx, id(1)).await.unwrap().unwrap().id, id(12));
    assert_eq!(releases::wanted_images(&mut tx).await.unwrap(), ["sha256:12"]);
    assert_eq!(releases::images_of(&mut tx, id(1)).await.unwrap().len(), 1);
    // What is stopped has a release that would be started.
    windlass_store::applications::set_live(&mut tx, id(1), None).await.unwrap();
    assert_eq!(releases::current_of(&mut tx, &[id(1)]).await.unwrap()[0].id, id(12));
}

async fn what_is_beyond_the_kept_ones(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 1).await;
    add_application(&mut tx, 1).await;
    for (number, seconds) in [(11, 1), (12, 2), (13, 3), (14, 4)] {
        add_deployment(&mut tx, number, 1).await;
        make_live(&mut tx, number, 1, NOW.plus_seconds(seconds)).await;
    }
    add_deployment(&mut tx, 15, 1).await;
    let ids = async |tx: &mut windlass_store::Tx, kept| {
        let mut found: Vec<_> =
            releases::surplus(tx, id(1), kept).await.unwrap().into_iter().map(|release| release.id).collect();
        found.sort_unstable();
        found
    };
    assert_eq!(ids(&mut tx, 2).await, [id(11), id(12)]);
    assert_eq!(ids(&mut tx, 0).await, [id(11), id(12), id(13)], "never the live one");
    // A user goes back to it.
    let rollback = deployment(16, 1, 11, windlass_api::DeploymentKind::Rollback);
    deployments::insert(&mut tx, &rollback).await.unwrap();
    assert_eq!(ids(&mut tx, 2).await, [id(12)]);
}
