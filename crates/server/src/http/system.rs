//! Is the server alive, and is what it needs there?

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use windlass_api::{Dependency, ErrorCode, Health};

use super::respond::{Answer, success};
use crate::app::App;
use crate::error::Error;

const PATIENCE: Duration = Duration::from_secs(2);

/// Liveness: whoever can read this is talking to a living server, whatever its dependencies do.
pub async fn health(State(app): State<Arc<App>>) -> Answer {
    success("Server is up and running", examine(&app).await)
}

/// Readiness: 503 while a dependency does not answer.
pub async fn ready(State(app): State<Arc<App>>) -> Answer {
    let health = examine(&app).await;
    match health.dependencies.iter().find(|dependency| !dependency.ready) {
        None => success("Ready", health),
        Some(missing) => {
            let message = format!("Not ready: {}: {}", missing.name, missing.reason);
            Err(Error::new(ErrorCode::Unavailable, message))
        }
    }
}

/// For Prometheus; no envelope.
pub async fn metrics(State(app): State<Arc<App>>) -> Answer {
    let text = app.metrics.render().map_err(Error::internal)?;
    Ok(([(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], text).into_response())
}

async fn examine(app: &App) -> Health {
    let reason = match tokio::time::timeout(PATIENCE, app.db.ping()).await {
        Ok(Ok(())) => String::new(),
        // The cause may hold addresses and names; it is for the log.
        Ok(Err(error)) => {
            tracing::warn!(%error, "the database is not ready");
            "it does not answer; the server's log says why".into()
        }
        Err(_) => format!("no answer within {} seconds", PATIENCE.as_secs()),
    };
    let database = Dependency { name: "database".into(), ready: reason.is_empty(), reason };
    Health { version: env!("CARGO_PKG_VERSION").into(), ready: database.ready, dependencies: vec![database] }
}
