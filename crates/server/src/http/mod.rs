//! The HTTP API: route table, handlers, layers.

mod access;
mod api_keys;
mod applications;
mod audit;
mod auth;
mod body;
mod certificates;
mod compress;
mod connections;
mod dashboard;
mod deliveries;
mod deploy_plans;
mod deployments;
mod docs;
mod domains;
mod email_changes;
mod events;
mod executions;
mod extension_sources;
mod extensions;
mod figures;
mod github_apps;
mod head;
mod installations;
mod instance;
mod invitations;
mod logs;
mod mails;
mod members;
mod notices;
mod notification;
mod observe;
mod offers;
pub mod openapi;
mod organizations;
mod origin;
mod params;
mod password_resets;
mod previews;
mod push;
mod read_only;
mod registry_credentials;
mod respond;
mod runs;
mod schedules;
mod second_factor;
mod sessions;
mod shared_variables;
mod snapshots;
mod status_pages;
mod system;
mod table;
mod traffic;
mod uploads;
mod uptime;
mod users;
mod variables;
mod volumes;

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::HeaderValue;
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tower::util::option_layer;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::cors::CorsLayer;
use windlass_api::ErrorCode;

use crate::app::App;
use crate::error::Error;
use table::Table;

/// Every route under `/api/v1`: who may call it, what goes in, what comes out, and what else can go wrong. Each noun
/// has its own rows.
fn table() -> Table {
    let nouns = [
        system::routes,
        auth::routes,
        sessions::routes,
        second_factor::routes,
        api_keys::routes,
        users::routes,
        instance::routes,
        password_resets::routes,
        email_changes::routes,
        mails::routes,
        organizations::routes,
        members::routes,
        invitations::routes,
        applications::routes,
        variables::routes,
        shared_variables::routes,
        deploy_plans::routes,
        deployments::routes,
        traffic::routes,
        figures::routes,
        deliveries::routes,
        previews::routes,
        certificates::routes,
        domains::routes,
        access::routes,
        connections::routes,
        github_apps::routes,
        registry_credentials::routes,
        volumes::routes,
        snapshots::routes,
        uploads::routes,
        runs::routes,
        schedules::routes,
        uptime::routes,
        status_pages::routes,
        logs::routes,
        events::routes,
        extension_sources::routes,
        extensions::routes,
        executions::routes,
        installations::routes,
        offers::routes,
        audit::routes,
        notification::routes,
        notices::routes,
    ];
    nouns.into_iter().fold(Table::default(), |table, routes| routes(table))
}

/// The API description, as served and as checked in.
pub fn description() -> serde_json::Value {
    openapi::document(&table())
}

pub fn router(app: Arc<App>) -> Router {
    let routes = table()
        .into_router()
        .merge(docs::routes())
        .merge(dashboard::routes())
        .merge(push::routes())
        .merge(github_apps::pages());
    around(routes.route("/metrics", get(system::metrics)), app)
}

/// What holds for every route, whatever it does. The last layer is the outermost.
pub fn around(routes: Router<Arc<App>>, app: Arc<App>) -> Router {
    routes
        .fallback(no_such_path)
        .method_not_allowed_fallback(no_such_method)
        .layer(CatchPanicLayer::custom(observe::panicked))
        .layer(option_layer(cors(&app.config.cors_origins)))
        .layer(compress::layer())
        .layer(middleware::map_request(compress::negotiate))
        .layer(middleware::from_fn_with_state(app.clone(), observe::observe))
        .with_state(app)
}

async fn no_such_path(request: Request) -> Response {
    if let Some(page) = dashboard::page_instead_of_nothing(&request) {
        return page;
    }
    let path: String = request.uri().path().chars().take(200).collect();
    let message = format!("There is nothing at {path}. The API is described at /api/v1/docs.");
    Error::new(ErrorCode::NotFound, message).into_response()
}

async fn no_such_method(request: Request) -> Error {
    let message = format!("{} is not possible here.", request.method());
    Error::new(ErrorCode::MethodNotAllowed, message)
}

/// Closed unless the operator names origins. Tokens travel in a header, so no credentials are allowed.
fn cors(origins: &[String]) -> Option<CorsLayer> {
    use axum::http::{Method, header};
    if origins.is_empty() {
        return None;
    }
    let origins: Vec<HeaderValue> = origins.iter().filter_map(|origin| origin.parse().ok()).collect();
    let layer = CorsLayer::new()
        .allow_origin(origins)
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE])
        .allow_headers([
            header::AUTHORIZATION,
            header::CONTENT_TYPE,
            header::HeaderName::from_static(crate::auth::ctx::ORGANIZATION_HEADER),
            header::HeaderName::from_static(applications::IDEMPOTENCY_HEADER),
            header::HeaderName::from_static(logs::LAST_EVENT_ID),
        ]);
    Some(layer)
}
