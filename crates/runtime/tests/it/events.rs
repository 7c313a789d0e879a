//! Events of containers reach the subscribers of their label.

use std::time::Duration;

use windlass_runtime::{ContainerEvent, ContainerEventKind, Events};

use crate::support::{World, address};

const LIMIT: Duration = Duration::from_secs(60);

async fn next(events: &mut Events) -> ContainerEvent {
    tokio::time::timeout(LIMIT, events.next()).await.expect("an event").unwrap().unwrap()
}

#[tokio::test]
async fn the_life_of_a_container_is_told() {
    let world = World::new().await;
    let other = World::new().await;
    let image = world.image("HEALTHCHECK --interval=1s --retries=1 CMD test ! -e /sick\n").await;
    let network = world.network().await;
    let spec = world.spec("app", &image, &network, &["sh", "-c", "sleep 4; touch /sick; sleep 4; exit 3"]);
    let mut stranger = world.spec("stranger", &image, &network, &["true"]);
    stranger.labels = other.labels();
    stranger.address = address(&network, 11);

    let mut events = world.docker.events(&world.label).await.unwrap();
    world.run(&stranger).await;
    let id = world.run(&spec).await;
    let expected = [
        ContainerEventKind::Started,
        ContainerEventKind::Healthy,
        ContainerEventKind::Unhealthy,
        ContainerEventKind::Died { exit_code: 3 },
    ];
    for kind in expected {
        let event = next(&mut events).await;
        assert_eq!(event, ContainerEvent { id: id.clone(), name: spec.name.clone(), kind });
    }
    world.docker.remove(&spec.name).await.unwrap();
    assert_eq!(next(&mut events).await.kind, ContainerEventKind::Destroyed);
}

/// A second program in the container needs too much, and the first one goes on: containerd can lose the news about a program that
/// is killed together with its container.
#[tokio::test]
async fn running_out_of_memory_is_told_and_remembered() {
    let world = World::new().await;
    let (image, network) = (world.image("").await, world.network().await);
    let mut spec = world.spec("app", &image, &network, &["sleep", "600"]);
    spec.memory_bytes = 16 << 20;
    let mut events = world.docker.events(&world.label).await.unwrap();
    world.run(&spec).await;
    assert_eq!(next(&mut events).await.kind, ContainerEventKind::Started);

    let command = ["sh", "-c", "x=a; while :; do x=$x$x; done"].map(str::to_owned);
    let executed = world.docker.exec(&spec.name, &command).await.unwrap().run(LIMIT).await.unwrap();
    assert_eq!(executed.exit_code, 137);
    assert_eq!(next(&mut events).await.kind, ContainerEventKind::OutOfMemory);
    world.docker.stop(&spec.name, Duration::ZERO).await.unwrap();
    assert!(world.inspect(&spec.name).await.oom_killed);
}
