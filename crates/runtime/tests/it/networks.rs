//! Networks: each subnet once.

use windlass_runtime::{Error, Labels, Network};

use crate::support::{World, network_in};

#[tokio::test]
async fn the_same_network_may_be_created_again_and_another_of_its_name_may_not() {
    let world = World::new().await;
    let network = world.network().await;
    world.docker.create_network(&network).await.unwrap();

    let others = [
        Network { labels: Labels::new(), ..network.clone() },
        Network { subnet: "10.255.254.0/28".to_owned(), gateway: [10, 255, 254, 1].into(), ..network.clone() },
    ];
    for other in others {
        let result = world.docker.create_network(&other).await;
        assert!(matches!(result, Err(Error::Conflict { .. })), "{result:?}");
    }
    assert_eq!(world.docker.networks(Some(&world.label)).await.unwrap().len(), 1);
}

#[tokio::test]
async fn subnets_must_not_overlap() {
    let world = World::new().await;
    let network = world.network().await;
    let [_, a, b, _] = network.gateway.octets();
    let result = world.docker.create_network(&network_in(&world.name("other"), (a, b), world.labels())).await;
    assert!(matches!(result, Err(Error::SubnetTaken { .. })), "{result:?}");
}

#[tokio::test]
async fn networks_are_listed_and_removed() {
    let world = World::new().await;
    let network = world.network().await;
    let listed = world.docker.networks(Some(&world.label)).await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].name.as_str(), listed[0].labels.clone()), (network.name.as_str(), world.labels()));
    assert_eq!(listed[0].subnets, [network.subnet.as_str()]);
    let all = world.docker.networks(None).await.unwrap();
    assert!(all.iter().any(|other| other.name == "bridge") && all.contains(&listed[0]));

    let image = world.image("").await;
    let spec = world.spec("app", &image, &network, &["sleep", "600"]);
    world.run(&spec).await;
    let result = world.docker.remove_network(&network.name).await;
    assert!(matches!(result, Err(Error::Conflict { .. })), "{result:?}");
    world.docker.remove(&spec.name).await.unwrap();

    world.docker.remove_network(&network.name).await.unwrap();
    world.docker.remove_network(&network.name).await.unwrap();
    assert_eq!(world.docker.networks(Some(&world.label)).await.unwrap(), []);
}

#[tokio::test]
async fn callers_that_create_the_same_network_at_once_get_one() {
    let world = World::new().await;
    let network = world.network().await;
    world.docker.remove_network(&network.name).await.unwrap();
    let create = || world.docker.create_network(&network);
    let (a, b, c, d) = tokio::join!(create(), create(), create(), create());
    for result in [a, b, c, d] {
        result.unwrap();
    }
    assert_eq!(world.docker.networks(Some(&world.label)).await.unwrap().len(), 1);
}
