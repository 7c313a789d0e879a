//! The life of an edge process: start, accept, and end when it is stopped or has handed over.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::watch;

use super::hand_over::{give, take};
use super::options::{EdgeError, Options};
use super::running::{Process, TakeOverAsked};
use super::{accepting, ending, health_checks, start};

/// How often a process that has handed over is asked what it has counted.
const KEEP_UP_INTERVAL: Duration = Duration::from_secs(1);

/// Runs an edge until it is stopped or has handed over. `stop` may turn true at any time.
pub async fn run(options: Options, mut stop: watch::Receiver<bool>) -> Result<(), EdgeError> {
    raise_descriptor_limit();
    let start = match options.take_over {
        true => take::take(&options).await?,
        false => start::first(&options)?,
    };
    let (asking, asked) = unbounded_channel();
    let process = Arc::new(Process::new(options, start, asking)?);
    if let Some(predecessor) = &process.predecessor {
        predecessor.ready().await.map_err(|error| EdgeError::TakeOver(error.to_string()))?;
    }
    tokio::spawn(hand_over_when_asked(process.clone(), asked));
    accepting::accept(&process)?;
    tokio::spawn(health_checks::run(process.edge.clone()));
    for (scheme, address) in process.listening.all() {
        tracing::info!("edge ready at {scheme}://{address}");
    }
    tokio::spawn(outlive_predecessor(process.clone()));
    let (mut stopping, mut over) = (process.stopping(), process.handed_over());
    let told_to_stop = async {
        tokio::select! { _ = stop.wait_for(|stop| *stop) => {}, _ = stopping.wait_for(|stop| *stop) => {} }
    };
    let lived = async {
        let _ = over.wait_for(|over| *over).await;
        ending::linger(&process).await;
    };
    tokio::select! { () = told_to_stop => ending::finish(&process).await, () = lived => {} }
    Ok(())
}

/// Every visitor takes one descriptor, and every request another.
fn raise_descriptor_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // Where it cannot be raised, fewer visitors are served at once.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

/// Each hand-over is a task of its own: it goes on for as long as the successor is connected.
async fn hand_over_when_asked(process: Arc<Process>, mut asked: UnboundedReceiver<TakeOverAsked>) {
    while let Some(TakeOverAsked { stream, successor }) = asked.recv().await {
        let process = process.clone();
        tokio::spawn(async move {
            if let Err(error) = give::give(&process, stream, successor).await {
                tracing::debug!(%error, "a process that asked to take over was lost");
            }
        });
    }
}

/// Releases the predecessor, and keeps up with what it counts until it ends. If it has waited too long and serves
/// again, this process ends.
async fn outlive_predecessor(process: Arc<Process>) {
    let Some(predecessor) = &process.predecessor else { return };
    if !predecessor.release().await {
        tracing::error!("the previous edge process was not answered in time and serves again; this one ends");
        let change = process.change_at_last().await;
        process.stop_accepting().await;
        process.mark_handed_over(change);
        return;
    }
    while predecessor.is_there() {
        predecessor.stats().await;
        tokio::time::sleep(KEEP_UP_INTERVAL).await;
    }
}
