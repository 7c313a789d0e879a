//! The tasks of one target: its connections and tunnels, all of which end when its requests are cut.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::task::AbortHandle;

#[derive(Default)]
pub struct Tasks(Mutex<Running>);

#[derive(Default)]
struct Running {
    handles: HashMap<u64, AbortHandle>,
    next: u64,
    is_cut: bool,
}

impl Tasks {
    /// Runs something that must end when the target's requests are cut. What comes back is for [`Self::end`].
    pub fn spawn(self: &Arc<Self>, task: impl Future<Output = ()> + Send + 'static) -> u64 {
        let tasks = self.clone();
        let mut running = self.0.lock();
        let key = running.next;
        running.next += 1;
        let spawned = tokio::spawn(async move {
            task.await;
            tasks.0.lock().handles.remove(&key);
        });
        if running.is_cut {
            spawned.abort();
        } else {
            running.handles.insert(key, spawned.abort_handle());
        }
        key
    }

    /// Ends one of them, if it still runs.
    pub fn end(&self, key: u64) {
        let handle = self.0.lock().handles.remove(&key);
        handle.iter().for_each(AbortHandle::abort);
    }

    /// Ends all of them, and every one that is spawned from now on.
    pub fn cut(&self) {
        let mut running = self.0.lock();
        running.is_cut = true;
        let handles = std::mem::take(&mut running.handles);
        drop(running);
        handles.values().for_each(AbortHandle::abort);
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn what_begins_after_the_cut_is_cut_too() {
        let tasks = Arc::new(Tasks::default());
        let (said, heard) = oneshot::channel();
        tasks.spawn(async { said.send(()).unwrap_or_default() });
        assert!(heard.await.is_ok());
        tasks.cut();
        let (said, heard) = oneshot::channel();
        tasks.spawn(async { said.send(()).unwrap_or_default() });
        assert!(heard.await.is_err());
    }
}
