use windlass_api::ContainerStatus;
use windlass_store::applications::Routed;
use windlass_store::containers::{self, Container, Purpose, Stage};
use windlass_store::networks::{self, Network};
use windlass_store::{Error, applications, deployments};
use windlass_testing::on_both_databases;

use crate::support::{NOW, TestDb, add_application, add_deployment, database, id, make_live, populate};

on_both_databases!(
    database: containers_come_and_go, instances_come_in_order, the_longest_free_address_comes_first,
    networks_without_an_application
);

fn container(number: u128, name: &str, address: &str) -> Container {
    Container {
        service: String::new(),
        port: 0,
        specification_hash: String::new(),
        hosts: "[]".into(),
        id: id(number),
        application_id: id(1),
        deployment_id: id(11),
        purpose: Purpose::App,
        ordinal: 1,
        stage: Stage::Starting,
        name: name.into(),
        engine_id: String::new(),
        status: ContainerStatus::None,
        address: address.into(),
        mounts: "[]".into(),
        steady_restarts: 0,
        crash_loop: String::new(),
        created_at: NOW,
    }
}

fn addresses(routed: &Routed) -> Vec<&str> {
    routed.instances.iter().map(|instance| instance.address.as_str()).collect()
}

fn network(organization: u128) -> Network {
    let subnet = format!("10.192.{}.0/24", organization - 100);
    Network { owner_id: id(organization), name: format!("wl-{organization}"), subnet, created_at: NOW }
}

async fn containers_come_and_go(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 1).await;
    add_application(&mut tx, 1).await;
    add_deployment(&mut tx, 11, 1).await;
    make_live(&mut tx, 11, 1, NOW).await;
    containers::insert(&mut tx, &container(21, "wl-a", "10.192.1.2")).await.unwrap();
    containers::observe(&mut tx, id(21), "c1", ContainerStatus::Running).await.unwrap();
    containers::set_stage(&mut tx, id(21), Stage::Live).await.unwrap();
    let found = containers::by_name(&mut tx, "wl-a").await.unwrap().unwrap();
    assert_eq!((found.engine_id.as_str(), found.stage, found.purpose), ("c1", Stage::Live, Purpose::App));
    let routed = applications::routed(&mut tx).await.unwrap();
    assert_eq!((addresses(&routed[0]), routed[0].port), (vec!["10.192.1.2"], Some(3000)));
    containers::leave(&mut tx, id(11)).await.unwrap();
    assert_eq!(containers::of_deployment(&mut tx, id(11)).await.unwrap()[0].stage, Stage::Leaving);
    assert_eq!(addresses(&applications::routed(&mut tx).await.unwrap()[0]), [""; 0]);
    assert_eq!(containers::of_application(&mut tx, id(1)).await.unwrap().len(), 1);
    containers::delete(&mut tx, id(21), NOW).await.unwrap();
    assert!(containers::all(&mut tx).await.unwrap().is_empty());
    containers::insert(&mut tx, &container(22, "wl-b", "10.192.1.3")).await.unwrap();
    let same_name = containers::insert(&mut tx, &container(23, "wl-b", "10.192.1.4")).await;
    assert!(matches!(same_name, Err(Error::Duplicate)));
}

/// Whatever the order in which they were made; commands are no instances.
async fn instances_come_in_order(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 1).await;
    for number in [1, 2] {
        add_application(&mut tx, number).await;
        add_deployment(&mut tx, number + 10, number).await;
        make_live(&mut tx, number + 10, number, NOW).await;
    }
    for (number, ordinal) in [(21, 3), (22, 1), (23, 2)] {
        let name = format!("wl-{ordinal}");
        let instance = Container { ordinal, stage: Stage::Live, ..container(number, &name, &name) };
        containers::insert(&mut tx, &instance).await.unwrap();
    }
    let command = Container { purpose: Purpose::PreRun, stage: Stage::Live, ..container(24, "wl-pre", "wl-pre") };
    containers::insert(&mut tx, &command).await.unwrap();
    let routed = applications::routed(&mut tx).await.unwrap();
    assert_eq!(routed.iter().map(|routed| routed.id).collect::<Vec<_>>(), [id(1), id(2)]);
    assert_eq!(addresses(&routed[0]), ["wl-1", "wl-2", "wl-3"]);
    assert_eq!(addresses(&routed[1]), [""; 0]);
    let instances = containers::instances_of(&mut tx, &[id(11), id(12)]).await.unwrap();
    assert_eq!(instances.iter().map(|one| one.ordinal).collect::<Vec<_>>(), [1, 2, 3]);
    let shown = deployments::shown(&mut tx, id(11)).await.unwrap().unwrap();
    assert_eq!(shown.instances.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["wl-1", "wl-2", "wl-3"]);
    assert!(deployments::page(&mut tx, id(2), 0, 1).await.unwrap()[0].instances.is_empty());
}

async fn the_longest_free_address_comes_first(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 1).await;
    add_application(&mut tx, 1).await;
    add_deployment(&mut tx, 11, 1).await;
    networks::insert(&mut tx, &network(101)).await.unwrap();
    for number in 2..=4 {
        let address = format!("10.192.1.{number}");
        containers::insert(&mut tx, &container(number, &address, &address)).await.unwrap();
        networks::take_address(&mut tx, id(101), &address, id(number)).await.unwrap();
    }
    containers::delete(&mut tx, id(3), NOW.plus_seconds(1)).await.unwrap();
    containers::delete(&mut tx, id(2), NOW.plus_seconds(2)).await.unwrap();
    let addresses = networks::addresses(&mut tx, id(101)).await.unwrap();
    let shown: Vec<_> = addresses.iter().map(|row| (row.address.as_str(), row.container_id)).collect();
    assert_eq!(shown, [("10.192.1.3", None), ("10.192.1.2", None), ("10.192.1.4", Some(id(4)))]);
    networks::set_subnet(&mut tx, id(101), "10.193.0.0/24").await.unwrap();
    assert!(networks::addresses(&mut tx, id(101)).await.unwrap().is_empty());
    assert_eq!(networks::get(&mut tx, id(101)).await.unwrap().unwrap().subnet, "10.193.0.0/24");
}

async fn networks_without_an_application(db: TestDb) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 2).await;
    add_application(&mut tx, 1).await;
    for organization in [101, 102] {
        networks::insert(&mut tx, &network(organization)).await.unwrap();
    }
    assert_eq!(networks::unused(&mut tx).await.unwrap(), [network(102)]);
    assert!(!networks::delete_unused(&mut tx, id(101)).await.unwrap());
    assert!(networks::delete_unused(&mut tx, id(102)).await.unwrap());
    assert_eq!(networks::all(&mut tx).await.unwrap(), [network(101)]);
}
