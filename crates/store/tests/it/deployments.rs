use windlass_api::{ContainerStatus, DeploymentKind, DeploymentState, DeploymentTrigger, Failure};
use windlass_store::deployments::Deployment;
use windlass_store::{deployments, releases};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, add_application, add_deployment, database, deployment, id, make_live, populate};

on_both_databases!(database: a_deployment_moves_on_and_says_why, a_deployment_needs_no_user, deployments_are_listed,
    old_deployments_are_forgotten);

async fn a_deployment_moves_on_and_says_why(db: TestDb) {
    use DeploymentState::{Building, Cloning, Failed, Queued};
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 1).await;
    add_application(&mut tx, 1).await;
    add_deployment(&mut tx, 11, 1).await;
    let (one, two) = (NOW.plus_seconds(1), NOW.plus_seconds(2));
    assert!(!deployments::advance(&mut tx, id(11), Cloning, Building, one).await.unwrap());
    assert!(deployments::advance(&mut tx, id(11), Queued, Cloning, one).await.unwrap());
    assert!(!deployments::advance(&mut tx, id(11), Queued, Cloning, two).await.unwrap());
    deployments::explain_cancel(&mut tx, id(11), "why", one).await.unwrap();
    deployments::set_container(&mut tx, id(11), "wl-1", "c1", ContainerStatus::Starting, two).await.unwrap();
    assert!(deployments::observe_container(&mut tx, id(11), ContainerStatus::Exited, two).await.unwrap());
    assert!(!deployments::observe_container(&mut tx, id(11), ContainerStatus::Exited, two).await.unwrap());
    deployments::explain(&mut tx, id(11), Some(Failure::BuildFailed), "step 3").await.unwrap();
    assert!(deployments::advance(&mut tx, id(11), Cloning, Failed, two).await.unwrap());
    deployments::add_requests(&mut tx, id(11), 7, 1, two).await.unwrap();
    let row = deployments::get(&mut tx, id(11)).await.unwrap().unwrap();
    assert_eq!((row.state, row.state_changed_at, row.created_at, row.updated_at), (Failed, two, NOW, two));
    assert_eq!((row.started_at, row.finished_at), (Some(one.micros()), Some(two.micros())));
    assert_eq!((row.failure.as_str(), row.reason.as_str()), ("build_failed", "step 3"));
    assert_eq!((row.requests_served, row.requests_failed, row.container_status), (7, 1, ContainerStatus::Exited));
    // A deployment that has ended does not change any more.
    add_deployment(&mut tx, 12, 1).await;
    make_live(&mut tx, 12, 1, NOW).await;
    deployments::explain_cancel(&mut tx, id(12), "why", one).await.unwrap();
    assert_eq!(deployments::get(&mut tx, id(12)).await.unwrap().unwrap().reason, "");
    // What never began has no beginning, and the first reason stays.
    add_deployment(&mut tx, 13, 1).await;
    deployments::explain_cancel(&mut tx, id(13), "the application was stopped", one).await.unwrap();
    deployments::explain(&mut tx, id(13), None, "cancelled on request").await.unwrap();
    assert!(deployments::advance(&mut tx, id(13), Queued, DeploymentState::Cancelled, two).await.unwrap());
    let row = deployments::get(&mut tx, id(13)).await.unwrap().unwrap();
    assert_eq!((row.started_at, row.reason.as_str()), (None, "the application was stopped"));
}

async fn a_deployment_needs_no_user(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 1).await;
    add_application(&mut tx, 1).await;
    add_deployment(&mut tx, 11, 1).await;
    for (number, triggered_by) in (12..).zip(DeploymentTrigger::ALL.iter().copied()) {
        let deployment = deployment(number, 1, 11, DeploymentKind::Deploy);
        deployments::insert(&mut tx, &Deployment { triggered_by, user_id: None, ..deployment }).await.unwrap();
        let row = deployments::shown(&mut tx, id(number)).await.unwrap().unwrap().deployment;
        assert_eq!((row.triggered_by, row.user_id), (triggered_by, None));
    }
}

/// Old ones are forgotten, but for what is live, what can be gone back to, and what is under way.
async fn old_deployments_are_forgotten(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 1).await;
    add_application(&mut tx, 1).await;
    for number in 11..=20 {
        add_deployment(&mut tx, number, 1).await;
    }
    make_live(&mut tx, 12, 1, NOW).await;
    for number in [11, 13, 14, 15, 16, 17, 18] {
        use DeploymentState::{Cancelled, Queued};
        deployments::advance(&mut tx, id(number), Queued, Cancelled, NOW).await.unwrap();
        releases::set_removed(&mut tx, id(number), NOW).await.unwrap();
    }
    // A few at a time.
    for _ in 0..5 {
        deployments::forget_old(&mut tx, id(1), 4).await.unwrap();
    }
    let left = deployments::of_application(&mut tx, id(1), None, 100).await.unwrap();
    assert_eq!(left.iter().map(|row| row.id).collect::<Vec<_>>(), [20, 19, 18, 17, 12].map(id));
    assert!(releases::get(&mut tx, id(13)).await.unwrap().is_none());
    assert!(releases::get(&mut tx, id(12)).await.unwrap().is_some());
}

async fn deployments_are_listed(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 2).await;
    add_application(&mut tx, 1).await;
    add_application(&mut tx, 2).await;
    for number in 11..=14 {
        add_deployment(&mut tx, number, 1).await;
    }
    add_deployment(&mut tx, 15, 2).await;
    make_live(&mut tx, 11, 1, NOW).await;
    releases::set_commit(&mut tx, id(11), "abc", "Ada", "First").await.unwrap();
    let rollback = deployment(16, 1, 11, DeploymentKind::Rollback);
    deployments::insert(&mut tx, &rollback).await.unwrap();

    assert_eq!(deployments::count(&mut tx, id(1)).await.unwrap(), 5);
    let page = deployments::page(&mut tx, id(1), 0, 2).await.unwrap();
    assert_eq!(page.iter().map(|row| row.deployment.id).collect::<Vec<_>>(), [id(16), id(14)]);
    assert_eq!((page[0].commit_hash.as_str(), page[0].image_id.as_str(), page[0].is_kept), ("abc", "sha256:11", true));
    assert_eq!((page[1].commit_hash.as_str(), page[1].image_id.as_str(), page[1].is_kept), ("", "", false));
    let page = deployments::page(&mut tx, id(1), 4, 2).await.unwrap();
    assert_eq!(page.iter().map(|row| row.deployment.id).collect::<Vec<_>>(), [id(11)]);
    assert!(deployments::shown(&mut tx, id(11)).await.unwrap().unwrap().is_kept);
    assert!(deployments::shown(&mut tx, id(99)).await.unwrap().is_none());

    let before = deployments::of_application(&mut tx, id(1), Some(id(13)), 10).await.unwrap();
    assert_eq!(before.iter().map(|row| row.id).collect::<Vec<_>>(), [id(12), id(11)]);
    assert_eq!(deployments::of_application(&mut tx, id(1), None, 1).await.unwrap()[0].id, id(16));
    let under_way = deployments::under_way(&mut tx, id(1)).await.unwrap();
    assert_eq!(under_way.iter().map(|row| row.id).collect::<Vec<_>>(), [id(12), id(13), id(14), id(16)]);
    assert!(deployments::of_organization(&mut tx, id(101), id(15)).await.unwrap().is_some());
    assert!(deployments::of_organization(&mut tx, id(102), id(15)).await.unwrap().is_none());
}
