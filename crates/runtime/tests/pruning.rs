//! Builds while the build cache is pruned. A program of its own, which runs when the other tests do not: they find what
//! they have built in the cache.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failure here is a failed test")]

#[path = "it/support.rs"]
#[allow(dead_code, reason = "shared with the other tests, which use all of it")]
mod support;

use support::World;

/// Also in the moment between the arrival of a context and its use.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn builds_survive_that_the_cache_is_pruned() {
    let world = World::new().await;
    let building = async {
        for _ in 0..3 {
            tokio::join!(world.image(""), world.image(""), world.image(""), world.image(""));
        }
    };
    let pruning = async {
        loop {
            world.docker.prune_build_cache(1).await.unwrap();
        }
    };
    tokio::select! {
        () = building => {}
        () = pruning => {}
    }
}
