//! Refusals, once a minute and each kind of them as one entry.

use std::sync::Arc;
use std::time::Duration;

use super::{Action, Actor, Change, Resource};
use crate::app::App;
use crate::auth::denials::{Denial, Times};

const INTERVAL: Duration = Duration::from_secs(60);

/// Runs until it is dropped.
pub async fn run(app: Arc<App>) {
    let mut ticks = tokio::time::interval(INTERVAL);
    loop {
        ticks.tick().await;
        write_down(&app).await;
    }
}

pub async fn write_down(app: &App) {
    let noted = app.denials.take();
    if noted.is_empty() {
        return;
    }
    let written = async {
        let mut work = app.begin().await?;
        for (denial, times) in &noted {
            let change = Change {
                organization_id: denial.organization_id,
                action: Action::Access,
                resource: Resource::Denial,
                resource_id: denial.user_id.unwrap_or_default(),
                summary: &sentence(denial, *times),
                details: &[("outcome", "refused"), ("count", &times.count.to_string())],
            };
            work.record(&actor(denial, *times), &change);
        }
        work.commit().await
    };
    if let Err(error) = written.await {
        tracing::warn!(%error, "refusals could not be written to the audit log; trying again in a minute");
        noted.into_iter().for_each(|(denial, times)| app.denials.note(denial, times));
    }
}

fn actor(denial: &Denial, times: Times) -> Actor {
    Actor {
        id: denial.user_id,
        name: denial.user.clone(),
        address: times.last_address.to_string(),
        ..Actor::operator()
    }
}

fn sentence(denial: &Denial, times: Times) -> String {
    match times.count {
        1 => format!("was refused {}", denial.what),
        count => format!("was refused {} ({count} times)", denial.what),
    }
}
