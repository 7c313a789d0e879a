//! The same call by several clients at once: one of them changes something, the others find it changed.

use windlass_testing::on_both_databases;

use crate::walk::{World, operations, world};

on_both_databases!(world: the_same_call_at_once_breaks_nothing);

async fn the_same_call_at_once_breaks_nothing(world: World) {
    for operation in operations() {
        let caller = world.fresh_caller(&operation).await;
        let valid = world.valid(&operation, &caller).await;
        let call = || world.call(&operation, &valid).by(&caller).send();
        let (a, b, c, d) = tokio::join!(call(), call(), call(), call());
        for reply in [a, b, c, d] {
            assert!(reply.status < 500, "{}: {} {}", operation.id, reply.status, reply.text);
        }
    }
}
