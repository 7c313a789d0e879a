//! Path and query parameters, with errors in the envelope.

use axum::extract::{FromRequestParts, Query, RawPathParams};
use axum::http::Uri;
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
        let (name, text) = only_parameter(parts, state).await?;
        Uuid::try_parse(&text).map(Self).map_err(|_| Error::field(&name, "must be a UUID"))
    }
}

/// The one parameter in the path, where it is not an id.
pub struct PathText<T>(pub T);

impl<T, S> FromRequestParts<S> for PathText<T>
where
    T: for<'a> TryFrom<&'a str, Error = String>,
    S: Sync + Send,
{
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        let (name, text) = only_parameter(parts, state).await?;
        T::try_from(&text).map(Self).map_err(|problem| Error::field(&name, problem))
    }
}

/// The id and the text that follows it in the path. The text is checked when the handler asks, because a caller who may not
/// know what the id belongs to learns nothing about the text.
pub struct PathIdAndText<T> {
    pub id: Uuid,
    name: String,
    text: String,
    kind: std::marker::PhantomData<fn() -> T>,
}

impl<T: for<'a> TryFrom<&'a str, Error = String>> PathIdAndText<T> {
    pub fn text(&self) -> Result<T> {
        T::try_from(&self.text).map_err(|problem| Error::field(&self.name, problem))
    }
}

impl<T, S: Sync + Send> FromRequestParts<S> for PathIdAndText<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        let [(id_name, id), (name, text)] = parameters(parts, state).await?;
        let id = Uuid::try_parse(&id).map_err(|_| Error::field(&id_name, "must be a UUID"))?;
        Ok(Self { id, name, text, kind: std::marker::PhantomData })
    }
}

async fn only_parameter<S: Sync + Send>(parts: &mut Parts, state: &S) -> Result<(String, String)> {
    let [parameter] = parameters(parts, state).await?;
    Ok(parameter)
}

/// Names and values of the first parameters in the path.
async fn parameters<const N: usize, S: Sync + Send>(parts: &mut Parts, state: &S) -> Result<[(String, String); N]> {
    let params = RawPathParams::from_request_parts(parts, state)
        .await
        .map_err(|_| Error::new(ErrorCode::InvalidRequest, "The path is not valid UTF-8."))?;
    let all: Vec<_> = params.iter().take(N).map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
    all.try_into().map_err(|_| Error::internal("the path has too few parameters"))
}

/// Query parameters that are understood when the handler asks, because who may call comes before what they say.
pub struct RawParams(Uri);

impl<S: Sync> FromRequestParts<S> for RawParams {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        Ok(Self(parts.uri.clone()))
    }
}

impl RawParams {
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T> {
        parse(&self.0)
    }

    /// The same, where a parameter that is given several times is one list with commas.
    pub fn joining(&self, name: &str) -> Result<Self> {
        let given = || url::form_urlencoded::parse(self.0.query().unwrap_or_default().as_bytes());
        let values: Vec<_> = given().filter(|(key, _)| key == name).map(|(_, value)| value).collect();
        let mut query = url::form_urlencoded::Serializer::new(String::from("/?"));
        query.extend_pairs(given().filter(|(key, _)| key != name));
        if !values.is_empty() {
            query.append_pair(name, &values.join(","));
        }
        let uri = query.finish().parse();
        uri.map(Self).map_err(|_| Error::new(ErrorCode::InvalidRequest, "The query is too long."))
    }
}

/// Query parameters; unknown ones are ignored.
pub struct Params<T>(pub T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Params<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        parse(&parts.uri).map(Self)
    }
}

fn parse<T: DeserializeOwned>(uri: &Uri) -> Result<T> {
    Query::<T>::try_from_uri(uri).map(|Query(params)| params).map_err(|rejection| {
        let text = rejection.body_text();
        let problem = text.strip_prefix("Failed to deserialize query string: ").unwrap_or(&text);
        if let Some(field) = problem.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
            return Error::field(field, "is required");
        }
        match problem.split_once(": ") {
            Some((field, _)) if problem.contains("UUID parsing failed") => Error::field(field, "must be a UUID"),
            Some((field, problem)) => Error::field(field, problem),
            None => Error::new(ErrorCode::InvalidRequest, format!("The query is not valid: {problem}")),
        }
    })
}
