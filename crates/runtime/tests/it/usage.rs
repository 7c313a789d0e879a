//! What a container uses, as the kernel's files and the engine say it.

use std::time::{Duration, Instant};

use windlass_runtime::{Groups, Reading};

use crate::support::World;

fn is_close(one: u64, other: u64, slack: u64) -> bool {
    one.abs_diff(other) <= slack.max(one / 20)
}

/// The files are read right before and right after the engine was asked, so that its answer must lie between.
fn agree(before: &Reading, engine: &Reading, after: &Reading) {
    let cpu = before.cpu_us..=after.cpu_us;
    assert!(cpu.contains(&engine.cpu_us), "{before:?} {engine:?} {after:?}");
    assert!(is_close(engine.memory_bytes, after.memory_bytes, 1 << 20), "{engine:?} {after:?}");
    assert_eq!(engine.network, after.network);
    assert_eq!(engine.disk.unwrap_or_default(), after.disk.unwrap_or_default());
}

#[tokio::test]
async fn the_files_and_the_engine_say_the_same() {
    let world = World::new().await;
    let (image, network) = (world.image("").await, world.network().await);
    // Some memory that stays, and a processor for as long as it may have it.
    let script = "x=$(head -c 8000000 /dev/zero | tr '\\0' x); while :; do :; done";
    let spec = world.spec("busy", &image, &network, &["sh", "-c", script]);
    let id = world.run(&spec).await;
    let pid = world.inspect(&spec.name).await.pid.expect("it runs");
    let groups = Groups::find(pid, &id).expect("these tests are root's, on the engine's machine");
    // It has half a processor, and it does take it.
    let deadline = Instant::now() + Duration::from_secs(60);
    while groups.read().unwrap().cpu_us <= 1_000_000 {
        assert!(Instant::now() < deadline, "{:?}", groups.read());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let before = groups.read().unwrap();
    let engine = world.docker.usage(&spec.name).await.unwrap().expect("it runs");
    let after = groups.read().unwrap();
    agree(&before, &engine, &after);
    assert!(engine.cpu_us > 500_000 && engine.memory_bytes > 8_000_000, "{engine:?}");
    assert!(engine.network.is_some());

    world.docker.stop(&spec.name, Duration::ZERO).await.unwrap();
    assert!(groups.read().is_err(), "it has ended");
    assert_eq!(world.docker.usage(&spec.name).await.unwrap(), None);
    world.docker.remove(&spec.name).await.unwrap();
    assert_eq!(world.docker.usage(&spec.name).await.unwrap(), None);
    assert!(Groups::find(std::process::id(), &id).is_err(), "another process is not the container");
}
