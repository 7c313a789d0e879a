//! `git push` to Windlass: git's own protocol over HTTP, beside the API. Refusals are plain text, which git shows to people.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequestParts, Path, Query, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use futures_util::stream;
use serde::Deserialize;
use windlass_api::{Can, ErrorCode};
use windlass_store::applications::Application;

use crate::app::App;
use crate::auth::ctx::{Needed, ORGANIZATION_HEADER};
use crate::auth::{Ctx, Granted};
use crate::error::{Error, Result};
use crate::pushes;

const SERVICE: &str = "git-receive-pack";

pub fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/{organization}/{application}/info/refs", get(references))
        .route("/{organization}/{application}/git-receive-pack", post(receive))
        // Like a deploy of what is there already.
        .layer(Extension(Needed(Can::DeployCreate)))
}

/// A refusal as git shows it.
struct Refusal(Error);

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let Self(error) = self;
        let text = format!("{}\n", error.message);
        let mut response = error.into_response();
        *response.body_mut() = Body::from(text);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        headers.remove(header::CONTENT_LENGTH);
        if response.status() == StatusCode::UNAUTHORIZED {
            // Without this git does not send the token that is in the address.
            let challenge = HeaderValue::from_static("Basic realm=\"Windlass\", charset=\"UTF-8\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
        response
    }
}

#[derive(Deserialize)]
struct Asked {
    service: Option<String>,
}

/// What the path names, by id or by name.
type Named = Path<(String, String)>;

async fn references(
    State(app): State<Arc<App>>,
    Path(named): Named,
    Query(asked): Query<Asked>,
    request: Request,
) -> std::result::Result<Response, Refusal> {
    if asked.service.as_deref() != Some(SERVICE) {
        let message = "Only git push is possible here. Fetch from where the repository is kept.";
        return Err(Error::new(ErrorCode::Forbidden, message).into());
    }
    let (mut parts, _) = request.into_parts();
    let granted = application(&app, &mut parts, &named).await?;
    let bytes = pushes::advertise(&app, granted.row()).await?;
    Ok(answer("application/x-git-receive-pack-advertisement", Body::from(bytes)))
}

async fn receive(
    State(app): State<Arc<App>>,
    Path(named): Named,
    request: Request,
) -> std::result::Result<Response, Refusal> {
    let (mut parts, body) = request.into_parts();
    let granted = application(&app, &mut parts, &named).await?;
    if parts.headers.contains_key(header::CONTENT_ENCODING) {
        return Err(Error::new(ErrorCode::UnsupportedEncoding, "content-encoding: a push is taken as it is.").into());
    }
    let told = pushes::receive(&app, granted, body)?;
    let told = stream::unfold(told, async |mut told| {
        let bytes = told.recv().await?;
        Some((Ok::<Bytes, Infallible>(bytes.into()), told))
    });
    Ok(answer("application/x-git-receive-pack-result", Body::from_stream(told)))
}

fn answer(media_type: &'static str, body: Body) -> Response {
    let headers = [(header::CONTENT_TYPE, media_type), (header::CACHE_CONTROL, "no-cache")];
    (headers, body).into_response()
}

/// The application, for a caller who may deploy it.
async fn application(app: &Arc<App>, parts: &mut Parts, named: &(String, String)) -> Result<Granted<Application>> {
    let (organization, application) = named;
    take_token(&mut parts.headers);
    let ctx = Ctx::from_request_parts(parts, app).await?;
    let organization_id = ctx.named_organization(organization).await?;
    let id = HeaderValue::from_str(&organization_id.to_string()).map_err(Error::internal)?;
    parts.headers.insert(ORGANIZATION_HEADER, id);
    let ctx = Ctx::from_request_parts(parts, app).await?;
    ctx.named_application(application.strip_suffix(".git").unwrap_or(application)).await
}

/// Git sends the token as the user's name or as the password; the API takes it as it takes others.
fn take_token(headers: &mut HeaderMap) {
    let basic = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let basic =
        basic.and_then(|value| value.split_once(' ')).filter(|(scheme, _)| scheme.eq_ignore_ascii_case("basic"));
    let pair = basic.and_then(|(_, text)| BASE64_STANDARD.decode(text.trim()).ok());
    let Some(pair) = pair.and_then(|bytes| String::from_utf8(bytes).ok()) else { return };
    let (user, password) = pair.split_once(':').unwrap_or((&pair, ""));
    let token = if password.is_empty() { user } else { password };
    if let Ok(value) = HeaderValue::from_str(&format!("Bearer {token}")) {
        headers.insert(header::AUTHORIZATION, value);
    }
}
