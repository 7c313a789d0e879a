//! The page at `/`: what this is, where to go, and the first registration.

use std::sync::Arc;

use axum::Router;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;

use crate::app::App;

const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'none'; frame-ancestors 'none'";

pub fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/", get(|| async { file("text/html; charset=utf-8", include_str!("page/index.html")) }))
        .route("/page.js", get(|| async { file("text/javascript; charset=utf-8", include_str!("page/page.js")) }))
        .route("/style.css", get(|| async { file("text/css; charset=utf-8", include_str!("page/style.css")) }))
}

fn file(media_type: &'static str, content: &'static str) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, media_type), (header::CONTENT_SECURITY_POLICY, POLICY)], content)
}
