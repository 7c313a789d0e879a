use windlass_store::releases::{Artifact, Image, Site};
use windlass_store::{deployments, releases};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, add_application, add_deployment, database, deployment, id, make_live, populate};

on_both_databases!(
    database: a_release_is_made_kept_and_removed, what_is_beyond_the_kept_ones, a_site_stays_while_a_release_needs_it
);

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

async fn a_site_stays_while_a_release_needs_it(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 1).await;
    add_application(&mut tx, 1).await;
    for number in [11, 12, 13, 14, 15] {
        add_deployment(&mut tx, number, 1).await;
        if number != 15 {
            make_live(&mut tx, number, 1, NOW.plus_seconds(i64::try_from(number).unwrap())).await;
        }
        // The first two have the same files.
        let name = format!("site{}", number.max(12));
        let site = Artifact::Site(Site { name, single_page: number == 14, bytes: 7 });
        releases::set_artifact(&mut tx, id(number), Some(&site)).await.unwrap();
        assert_eq!(releases::get(&mut tx, id(number)).await.unwrap().unwrap().artifact, Some(site));
    }
    let wanted = async |tx: &mut windlass_store::Tx, given_up_after| {
        let mut names: Vec<String> = releases::wanted_sites(tx, given_up_after)
            .await
            .unwrap()
            .into_iter()
            .map(|(application_id, name)| {
                assert_eq!(application_id, id(1));
                name
            })
            .collect();
        names.sort_unstable();
        names
    };
    assert_eq!(wanted(&mut tx, NOW).await, ["site12", "site13", "site14", "site15"]);
    assert!(releases::has_site(&mut tx, id(1), "site12", id(11)).await.unwrap(), "the other one has it");
    assert!(!releases::has_site(&mut tx, id(1), "site13", id(13)).await.unwrap());
    let removed = NOW.plus_seconds(100);
    for number in [11, 13, 14] {
        releases::set_removed(&mut tx, id(number), removed).await.unwrap();
    }
    assert_eq!(wanted(&mut tx, NOW).await.len(), 4, "a visitor may be reading what was given up a moment ago");
    let later = removed.plus_seconds(60);
    assert_eq!(wanted(&mut tx, later).await, ["site12", "site14", "site15"], "14 is live, 15 is being made");
    assert!(releases::has_site(&mut tx, id(1), "site12", id(11)).await.unwrap());
    assert!(!releases::has_site(&mut tx, id(1), "site12", id(12)).await.unwrap(), "11 is given up");
    let live = releases::live_sites(&mut tx).await.unwrap();
    assert_eq!((live.len(), live[0].deployment_id, live[0].site.as_str()), (1, id(14), "site14"));
    assert!(!live[0].is_there, "it has the status of a container");
    deployments::observe_container(&mut tx, id(14), windlass_api::ContainerStatus::None, NOW).await.unwrap();
    assert!(releases::live_sites(&mut tx).await.unwrap()[0].is_there);
    let bytes = releases::artifact_bytes_of_organization(&mut tx, id(101)).await.unwrap();
    assert_eq!(bytes, 14, "of 12 and 15");
    let routed = windlass_store::applications::routed(&mut tx).await.unwrap();
    assert_eq!((routed[0].site.as_deref(), routed[0].single_page), (Some("site14"), Some(true)));
}
