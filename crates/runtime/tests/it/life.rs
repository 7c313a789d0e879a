//! How containers run and end: exit codes, signals, memory, health, removal.

use std::time::{Duration, Instant};

use windlass_runtime::{ContainerHealth, Error, State};

use crate::support::{World, address};

#[tokio::test]
async fn waiting_gives_the_exit_code_before_and_after_the_end() {
    let world = World::new().await;
    let (image, network) = (world.image("").await, world.network().await);
    let spec = world.spec("app", &image, &network, &["sh", "-c", "sleep 1; exit 7"]);
    world.docker.create(&spec).await.unwrap();
    assert!(matches!(world.docker.wait(&spec.name).await, Err(Error::Conflict { .. })), "it has not been started");

    world.docker.start(&spec.name).await.unwrap();
    assert_eq!(world.docker.wait(&spec.name).await.unwrap(), 7);
    assert_eq!(world.docker.wait(&spec.name).await.unwrap(), 7);
    let container = world.inspect(&spec.name).await;
    assert_eq!((container.state, container.exit_code, container.oom_killed), (State::Exited, 7, false));
    assert!(container.finished_at.unwrap() > container.started_at.unwrap());
    assert_eq!((container.pid, container.error.as_str()), (None, ""));
}

#[tokio::test]
async fn a_container_that_is_removed_ends_the_wait() {
    let world = World::new().await;
    let (image, network) = (world.image("").await, world.network().await);
    let spec = world.spec("app", &image, &network, &["sleep", "600"]);
    world.run(&spec).await;
    let (docker, name) = (world.docker.clone(), spec.name.clone());
    let waiting = tokio::spawn(async move { docker.wait(&name).await });
    world.until_state(&spec.name, State::Running).await;
    world.docker.remove(&spec.name).await.unwrap();
    let result = waiting.await.unwrap();
    assert!(matches!(result, Ok(137) | Err(Error::NotFound { .. })), "{result:?}");
}

#[tokio::test]
async fn stopping_asks_first_and_kills_after_the_grace() {
    let world = World::new().await;
    let (image, network) = (world.image("").await, world.network().await);
    let polite = world.spec(
        "polite",
        &image,
        &network,
        &["sh", "-c", "trap 'exit 5' TERM; echo ready; while :; do sleep 0.1; done"],
    );
    let mut deaf =
        world.spec("deaf", &image, &network, &["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done"]);
    deaf.address = address(&network, 11);
    for spec in [&polite, &deaf] {
        world.run(spec).await;
        let start = Instant::now();
        while world.docker.tail(&spec.name, 1).await.unwrap() != ["ready"] {
            assert!(start.elapsed() < Duration::from_secs(60));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    let start = Instant::now();
    world.docker.stop(&polite.name, Duration::from_secs(60)).await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(50));
    assert_eq!(world.inspect(&polite.name).await.exit_code, 5);

    let start = Instant::now();
    world.docker.stop(&deaf.name, Duration::from_millis(1500)).await.unwrap();
    assert!(start.elapsed() >= Duration::from_millis(1500), "{:?}", start.elapsed());
    assert_eq!(world.inspect(&deaf.name).await.exit_code, 137);

    world.docker.stop(&deaf.name, Duration::from_secs(1)).await.unwrap();
    assert_eq!(world.inspect(&deaf.name).await.state, State::Exited);
}

#[tokio::test]
async fn an_images_health_check_is_told() {
    let world = World::new().await;
    let image =
        world.image("HEALTHCHECK --interval=1s --retries=2 CMD test -e /well || { echo not well; exit 1; }\n").await;
    let network = world.network().await;
    let well = world.spec("well", &image, &network, &["sh", "-c", "touch /well; sleep 600"]);
    let mut unwell = world.spec("unwell", &image, &network, &["sleep", "600"]);
    unwell.address = address(&network, 11);
    for spec in [&well, &unwell] {
        world.run(spec).await;
        assert_eq!(world.inspect(&spec.name).await.health, Some(ContainerHealth::Starting));
    }
    world.until(&well.name, "healthy", |container| container.health == Some(ContainerHealth::Healthy)).await;
    let unhealthy = Some(ContainerHealth::Unhealthy("not well".to_owned()));
    world.until(&unwell.name, "unhealthy", |container| container.health == unhealthy).await;
}

#[tokio::test]
async fn removing_waits_for_a_removal_that_is_under_way() {
    let world = World::new().await;
    let (image, network) = (world.image("VOLUME /data\n").await, world.network().await);
    let spec = world.spec("app", &image, &network, &["sh", "-c", "trap '' TERM; sleep 600"]);
    for _ in 0..3 {
        world.run(&spec).await;
        let remove = || world.docker.remove(&spec.name);
        let (a, b, c, d) = tokio::join!(remove(), remove(), remove(), remove());
        for result in [a, b, c, d] {
            result.unwrap();
        }
        assert_eq!(world.docker.inspect(&spec.name).await.unwrap(), None);
    }
}

#[tokio::test]
async fn the_engine_starts_again_what_is_to_run_always() {
    let world = World::new().await;
    let (image, network) = (world.image("").await, world.network().await);
    let spec = world.spec("app", &image, &network, &["sh", "-c", "sleep 0.3; exit 1"]);
    world.run(&spec).await;
    world.until_state(&spec.name, State::Exited).await;
    world.docker.restart_always(&spec.name).await.unwrap();
    world.docker.start(&spec.name).await.unwrap();
    world.until(&spec.name, "started again", |container| container.restart_count >= 1).await;
}
