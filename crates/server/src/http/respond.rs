//! Answers.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::Serialize;
use windlass_api::Envelope;

use crate::error::Result;

pub type Answer = Result<Response>;

/// 200 with the envelope around `data`.
pub fn success<T: Serialize>(message: &str, data: T) -> Answer {
    Ok(json(StatusCode::OK, &Envelope::success(message, data)))
}

pub fn json(status: StatusCode, value: &impl Serialize) -> Response {
    // Our own types always serialise; if one ever does not, an empty 500 is all that can be said.
    let (status, body) = match serde_json::to_vec(value) {
        Ok(body) => (status, body),
        Err(error) => {
            tracing::error!(%error, "an answer could not be written as JSON");
            (StatusCode::INTERNAL_SERVER_ERROR, Vec::new())
        }
    };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
