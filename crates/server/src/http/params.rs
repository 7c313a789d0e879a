//! Path and query parameters, with errors in the envelope.

use axum::extract::{FromRequestParts, Query, RawPathParams};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use uuid::Uuid;
use windlass_api::ErrorCode;

use crate::error::{Error, Result};

/// The one id in the path.
pub struct PathId(pub Uuid);

impl<S: Sync + Send> FromRequestParts<S> for PathId {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        let params = RawPathParams::from_request_parts(parts, state)
            .await
            .map_err(|_| Error::new(ErrorCode::InvalidRequest, "The path is not valid UTF-8."))?;
        let (name, text) = params.iter().next().ok_or_else(|| Error::internal("the path has no parameter"))?;
        Uuid::try_parse(text).map(Self).map_err(|_| Error::field(name, "must be a UUID"))
    }
}

/// Query parameters; unknown ones are ignored.
pub struct Params<T>(pub T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Params<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        Query::<T>::try_from_uri(&parts.uri).map(|Query(params)| Self(params)).map_err(|rejection| {
            let text = rejection.body_text();
            let problem = text.strip_prefix("Failed to deserialize query string: ").unwrap_or(&text);
            let field = problem.split(':').next().unwrap_or_default();
            if problem.contains("UUID parsing failed") {
                return Error::field(field, "must be a UUID");
            }
            Error::new(ErrorCode::InvalidRequest, format!("The query is not valid: {problem}"))
        })
    }
}
