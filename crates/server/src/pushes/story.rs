//! What happens to a deployment, told line by line to the client that waits for it.

use std::time::Duration;

use tokio::sync::mpsc::Sender;
use tokio::time::Instant;
use uuid::Uuid;
use windlass_store::deployments::{self, Deployment};
use windlass_store::logs::{Bounds, Filter, Of, Query};

use super::packets;
use crate::app::App;
use crate::error::Result;

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(300);
/// Less than what proxies and clients take for silence.
const BEAT_EVERY: Duration = Duration::from_secs(5);
const LINES: usize = 500;
const READ_LIMIT: Duration = Duration::from_secs(2);

/// Until the deployment has ended, and all its lines were told. None if it takes too long.
pub async fn tell(
    app: &App,
    application_id: Uuid,
    deployment_id: Uuid,
    to: &Sender<Vec<u8>>,
    limit: Duration,
) -> Result<Option<Deployment>> {
    let (deadline, mut next_beat) = (Instant::now() + limit, Instant::now() + BEAT_EVERY);
    let query = Query { of: Of::Deployment(deployment_id), filter: Filter::default().into() };
    let mut news = app.logs.watch(application_id);
    let mut cursor = 0;
    while Instant::now() < deadline {
        // Before the lines are read: those of its last step are stored before its state says that it is over.
        let deployment = deployments::get(&mut app.db.read().await?, deployment_id).await?;
        let bounds = Bounds { lines: LINES, until: std::time::Instant::now() + READ_LIMIT, turn: None };
        let page = app.logs.store.after(&query, cursor, bounds).await?;
        for stored in &page.lines {
            // A client that is gone does not keep the deployment from being waited for.
            let _ = to.send(packets::progress(&stored.line.text)).await;
            cursor = stored.seq;
        }
        match deployment {
            None => return Ok(None),
            Some(deployment) if deployment.state.is_over() && page.lines.is_empty() => return Ok(Some(deployment)),
            Some(_) => {}
        }
        if Instant::now() >= next_beat {
            let _ = to.send(packets::beat()).await;
            next_beat = Instant::now() + BEAT_EVERY;
        }
        let _ = tokio::time::timeout(LOOK_EVERY, news.changed()).await;
    }
    Ok(None)
}
