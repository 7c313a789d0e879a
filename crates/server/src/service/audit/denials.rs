//! Refusals, once a minute and each kind of them as one entry.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use uuid::Uuid;
use windlass_store::Result;

use super::{Action, Author, Change, Resource};
use crate::app::App;
use crate::auth::denials::{Denial, Times};

const INTERVAL: Duration = Duration::from_secs(60);

/// Runs until `stop` turns true, and then once more.
pub async fn run(app: Arc<App>, mut stop: watch::Receiver<bool>) {
    let mut ticks = tokio::time::interval(INTERVAL);
    let mut stopped = std::pin::pin!(stop.wait_for(|stop| *stop));
    loop {
        let is_over = tokio::select! { _ = ticks.tick() => false, _ = &mut stopped => true };
        write_down(&app).await;
        if is_over {
            return;
        }
    }
}

/// Chain by chain, so that none is held while another is written.
pub async fn write_down(app: &App) {
    let mut chains: BTreeMap<Option<Uuid>, Vec<(Denial, Times)>> = BTreeMap::new();
    for (denial, times) in app.denials.take() {
        chains.entry(denial.organization_id).or_default().push((denial, times));
    }
    let mut is_possible = true;
    for noted in chains.into_values() {
        // When the database did not answer for one chain, the others are not tried either.
        let written = if is_possible { write_chain(app, &noted).await } else { Ok(false) };
        is_possible = matches!(written, Ok(true));
        if let Err(error) = &written {
            tracing::warn!(%error, "refusals could not be written to the audit log; trying again in a minute");
        }
        if !is_possible {
            noted.into_iter().for_each(|(denial, times)| app.denials.note(denial, times));
        }
    }
}

async fn write_chain(app: &App, noted: &[(Denial, Times)]) -> Result<bool> {
    let mut work = app.begin().await?;
    for (denial, times) in noted {
        let change = Change {
            organization_id: denial.organization_id,
            action: Action::Access,
            resource: Resource::Denial,
            resource_id: denial.user_id.unwrap_or_default(),
            summary: &sentence(denial, *times),
            details: &[("outcome", "refused"), ("count", &times.count.to_string())],
        };
        work.record(author(denial, *times), &change);
    }
    work.commit().await.map(|()| true)
}

fn author(denial: &Denial, times: Times) -> Author {
    Author {
        id: denial.user_id,
        name: denial.user.clone(),
        address: times.last_address.to_string(),
        key: denial.key.clone(),
        ..Author::default()
    }
}

fn sentence(denial: &Denial, times: Times) -> String {
    match times.count {
        1 => format!("was refused {}", denial.what),
        count => format!("was refused {} ({count} times)", denial.what),
    }
}
