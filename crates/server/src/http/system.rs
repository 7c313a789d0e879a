//! Is the server alive, and is what it needs there?

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::header;
use axum::http::request::Parts;
use axum::response::IntoResponse;
use windlass_api::{BuildCache, Dependency, ErrorCode, Health};

use super::respond::{Answer, success};
use super::table::{Table, anyone};
use crate::app::App;
use crate::auth::{Admin, bearer, token};
use crate::edge;
use crate::error::Error;
use crate::write_probe::Unwritable;

/// A monitor may ask as often as it likes: an answer of 429 would look to it like a server that is not well.
pub const UNLIMITED_PATHS: [&str; 2] = ["/api/v1/health", "/api/v1/health/ready"];

/// How long the database may take to answer.
const DATABASE_LIMIT: Duration = Duration::from_secs(2);
const FULL: &str = "its disk is full, so nothing can be changed: free some space";

pub fn routes(table: Table) -> Table {
    table.get("/health", health, anyone::<Health>("Health")).get("/health/ready", ready, anyone::<Health>("Readiness"))
}

/// Liveness: a client that can read this talks to a living server, whatever its dependencies do.
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
pub async fn metrics(State(app): State<Arc<App>>, request: Request) -> Answer {
    let (mut parts, _) = request.into_parts();
    if !is_monitor(&app, &parts) {
        Admin::from_request_parts(&mut parts, &app).await.map_err(in_words)?;
    }
    let edge = edge::stats(&app.config.data_dir).await.ok();
    let text = app.metrics.render(&app.figures.totals.lock(), edge).map_err(Error::internal)?;
    Ok(([(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], text).into_response())
}

/// Whether it brings the token of `metrics-token`.
fn is_monitor(app: &App, parts: &Parts) -> bool {
    let presented = bearer::bearer_token(&parts.headers).map(token::hash);
    presented.is_some() && presented == app.config.metrics_token.as_ref().map(|expected| token::hash(expected.reveal()))
}

fn in_words(error: Error) -> Error {
    match error.code {
        ErrorCode::Unauthenticated | ErrorCode::Forbidden => {
            Error::new(error.code, "This needs the token that the setting metrics-token has, or the login of an admin.")
        }
        _ => error,
    }
}

async fn examine(app: &App) -> Health {
    let mut dependencies = vec![database(app).await, logs(app).await];
    if app.has_engine {
        // A copy of another installation has no edge, and changes nothing.
        if app.engine_health.held_by_another().is_none() {
            dependencies.extend([data_folder(app).await, edge(app).await]);
        }
        dependencies.push(engine(app));
    }
    let ready = dependencies.iter().all(|dependency| dependency.ready);
    let build_cache = BuildCache {
        bytes: app.metrics.build_cache_bytes.get(),
        budget_bytes: i64::try_from(app.config.build_cache_bytes).unwrap_or(i64::MAX),
    };
    let warnings = [app.firewall.warning(), app.build_limits.warning(), app.figures.warning()];
    let warnings = warnings.into_iter().flatten().collect();
    Health { version: env!("CARGO_PKG_VERSION").into(), ready, dependencies, build_cache, warnings }
}

/// Why the database takes no changes. One that belongs to another installation is not tried.
async fn changes(app: &App) -> &'static str {
    if app.engine_health.held_by_another().is_some() {
        return "";
    }
    match app.database_probe.tried(&app.db).await {
        Ok(()) => "",
        Err(Unwritable::Full) => FULL,
        Err(Unwritable::NoAnswer) => "it reads, but takes no changes in time",
        Err(Unwritable::ReadOnly | Unwritable::Other) => "it reads, but takes no changes; the server's log says why",
    }
}

async fn edge(app: &App) -> Dependency {
    let reason = match edge::hello(&app.config.data_dir).await {
        Ok(hello) if hello.damaged.is_some() => "it could not read its routes; the server's log says why".into(),
        Ok(hello) if hello.requested() != app.config.edge_listen() => {
            "it listens at other addresses than edge-http and edge-https set. Restart the server to move it, or set \
             them to its addresses"
                .into()
        }
        Ok(_) => String::new(),
        Err(error) => {
            tracing::warn!(%error, "the edge is not ready");
            "it does not answer; the server's log says why".into()
        }
    };
    Dependency { name: "edge".into(), ready: reason.is_empty(), reason }
}

/// As it was last seen; it is looked at every few seconds.
fn engine(app: &App) -> Dependency {
    let reason = app.engine_health.problem().unwrap_or_default();
    Dependency { name: "engine".into(), ready: reason.is_empty(), reason }
}

/// The problem's own words may hold names and addresses; the log has them.
async fn logs(app: &App) -> Dependency {
    let is_full = |problem: &str| ["disk is full", "No space left"].iter().any(|sign| problem.contains(sign));
    let reason = match app.logs.looked_for_problem().await {
        None => "",
        Some(problem) if is_full(&problem) => "lines cannot be stored: the disk is full; the server's log says why",
        Some(_) => "lines cannot be stored; the server's log says why",
    };
    Dependency { name: "logs".into(), ready: reason.is_empty(), reason: reason.into() }
}

/// Where trees are fetched to, and where the edge keeps its routes.
async fn data_folder(app: &App) -> Dependency {
    let reason = match app.folder_probe.tried(&app.config.data_dir).await {
        Ok(()) => "",
        Err(Unwritable::Full) => "no file can be written to it: the disk is full; free some space",
        Err(Unwritable::ReadOnly) => "no file can be written to it: the disk is read-only",
        Err(Unwritable::NoAnswer) => "no file can be written to it: the disk does not answer",
        Err(Unwritable::Other) => "no file can be written to it; the server's log says why",
    };
    Dependency { name: "data_folder".into(), ready: reason.is_empty(), reason: reason.into() }
}

async fn database(app: &App) -> Dependency {
    let looked = async {
        app.db.ping().await?;
        let (kind, data_dir) = (app.db.kind(), &app.config.data_dir);
        Ok::<_, windlass_store::Error>(app.database_disk.is_full(kind, &app.disks, data_dir, app.now()).await)
    };
    let reason = match tokio::time::timeout(DATABASE_LIMIT, looked).await {
        Ok(Ok(false)) => changes(app).await.into(),
        Ok(Ok(true)) => FULL.into(),
        // The cause may hold addresses and names; it is for the log.
        Ok(Err(error)) => {
            tracing::warn!(%error, "the database is not ready");
            "it does not answer; the server's log says why".into()
        }
        Err(_) => format!("no answer within {} seconds", DATABASE_LIMIT.as_secs()),
    };
    Dependency { name: "database".into(), ready: reason.is_empty(), reason }
}
