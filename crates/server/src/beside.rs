//! What the reconciler does beside its passes: the last lines of a container may take a while to be stored, and no other container
//! must wait for them.

use std::collections::HashMap;

use tokio::task::{AbortHandle, JoinSet};

use crate::deploy::Result;

/// Containers that are on their way out at once; the others are seen to in a later pass.
const MOST: usize = 32;

/// Ends what it has begun when it is dropped.
#[derive(Default)]
pub struct Beside {
    tasks: JoinSet<()>,
    by_container: HashMap<String, AbortHandle>,
}

impl Beside {
    /// Whether there is work on this container, or no room for more.
    pub fn is_busy_with(&mut self, container: &str) -> bool {
        while self.tasks.try_join_next().is_some() {}
        self.by_container.retain(|_, task| !task.is_finished());
        self.by_container.contains_key(container) || self.by_container.len() >= MOST
    }

    /// What fails is tried again in a later pass.
    pub fn begin(&mut self, container: &str, work: impl Future<Output = Result<()>> + Send + 'static) {
        let name = container.to_owned();
        let task = self.tasks.spawn(async move {
            if let Err(problem) = work.await {
                tracing::warn!(container = name, ?problem, "a container could not be brought in line; trying again");
            }
        });
        self.by_container.insert(container.to_owned(), task);
    }
}
