//! Calls to code hosts, by the connections of organizations: for members who ask, and for jobs.

mod apps;

use std::time::Duration;

use uuid::Uuid;
use windlass_api::{CodeHost, ConnectionKind, ErrorCode, RepositoryAddress};
use windlass_codehost::api::{Api, ApiAnswer, ApiError, Ask, Base, Credential};
use windlass_outgoing::{Call, CallError, HeaderMap, Limits, Method, Url};
use windlass_store::connections::Connection;

use crate::app::App;
use crate::auth::limiter::Limit;
use crate::error::{Error, Result};

/// The longest that a member waits for a code host.
const LIMITS: Limits = Limits { time: Duration::from_secs(10), answer_bytes: 4 * 1024 * 1024 };

/// For whom a code host is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PullFor {
    /// How often is limited, because it is others' servers that are asked.
    Member,
    Job,
}

/// Why a code host did not do what it was asked for.
#[derive(Debug)]
pub enum Failed {
    /// It did not answer.
    Call(CallError),
    /// It said no.
    Api(ApiError),
    /// It was not asked.
    Here(Error),
}

impl Failed {
    /// Whether the same can succeed later by itself.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Call(error) => error.is_temporary(),
            Self::Api(error) => error.is_temporary(),
            Self::Here(error) => matches!(error.code, ErrorCode::Unavailable | ErrorCode::RateLimited),
        }
    }

    /// How long to wait at least, if the code host said so.
    pub fn wait(&self) -> Option<Duration> {
        match self {
            Self::Api(ApiError::RateLimited { seconds }) => seconds.map(Duration::from_secs),
            _ => None,
        }
    }

    /// For people, without anything secret.
    pub fn words(&self) -> String {
        match self {
            Self::Call(error) => format!("The code host could not be reached: {error}"),
            Self::Api(error) => error.to_string(),
            Self::Here(error) => error.message.clone(),
        }
    }

    /// When a connection is tried: what must be given otherwise.
    pub fn of_field(self) -> Error {
        if self.is_temporary() {
            return self.into();
        }
        let field = match &self {
            Self::Api(ApiError::BadToken | ApiError::Forbidden { .. }) => "token",
            Self::Api(_) | Self::Call(_) => "base_url",
            Self::Here(_) => return self.into(),
        };
        Error::field(field, self.words())
    }
}

impl From<Failed> for Error {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Here(error) => error,
            Failed::Api(ApiError::BadInput(problem)) => Self::new(ErrorCode::InvalidRequest, problem),
            other => Self::new(ErrorCode::CodeHostFailed, other.words()),
        }
    }
}

/// The same as [`of_input`] for what may have failed elsewhere.
pub fn of_field(field: &str, failed: Failed) -> Error {
    match failed {
        Failed::Api(error) => of_input(field, error),
        other => other.into(),
    }
}

/// What a member typed cannot be right: the field, and why. Anything else as it is.
pub fn of_input(field: &str, error: ApiError) -> Error {
    match error {
        ApiError::BadInput(problem) => Error::field(field, problem),
        other => Failed::Api(other).into(),
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Here(error)
    }
}

/// Where a code host is, of what a member typed.
pub fn base(host: CodeHost, typed: &str) -> Result<Base> {
    Base::of(host, typed).map_err(|problem| Error::field("base_url", problem))
}

/// The API of a connection's code host, with this token.
pub fn api_with(connection: &Connection, token: &str) -> Result<Api> {
    let alone = Credential::token(token).map_err(|problem| Error::field("token", problem))?;
    let credential = match connection.username.as_str() {
        "" => alone,
        user => Credential::of_user(user, token).map_err(|problem| Error::field("username", problem))?,
    };
    let api = Api::new(base(connection.host, &connection.base_url)?, credential);
    match connection.workspace.as_str() {
        "" => Ok(api),
        workspace => api.in_workspace(workspace).map_err(|problem| Error::field("workspace", problem)),
    }
}

/// The API of a connection's code host, for this repository.
pub async fn api(
    app: &App,
    connection: &Connection,
    full_name: &str,
    asker: PullFor,
) -> std::result::Result<Api, Failed> {
    Ok(api_with(connection, &token(app, connection, full_name, asker).await?)?)
}

/// An app's token is made anew each time, and is for this repository only.
async fn token(
    app: &App,
    connection: &Connection,
    full_name: &str,
    asker: PullFor,
) -> std::result::Result<String, Failed> {
    match connection.kind {
        ConnectionKind::Token => Ok(app.vault.connection_token(connection).await?),
        ConnectionKind::GithubApp => apps::token(app, connection, full_name, asker).await,
    }
}

/// The token with which git fetches a repository, and the user that it goes with. None if the repository is elsewhere.
pub async fn git_login(
    app: &App,
    connection: &Connection,
    repository: &str,
) -> std::result::Result<Option<(String, String)>, Failed> {
    let Some(full_name) = full_name(connection, repository) else { return Ok(None) };
    let token = token(app, connection, &full_name, PullFor::Job).await?;
    let user = api_with(connection, &token)?.git_username().to_owned();
    Ok(Some((token, user)))
}

/// What lists repositories for a member: an app has a token for each place where it is installed.
pub async fn listing(app: &App, connection: &Connection) -> std::result::Result<Vec<Api>, Failed> {
    let tokens = match connection.kind {
        ConnectionKind::Token => vec![app.vault.connection_token(connection).await?],
        ConnectionKind::GithubApp => apps::tokens_of_installations(app, connection).await?,
    };
    let mut all = Vec::new();
    for token in tokens {
        all.push(api_with(connection, &token)?);
    }
    Ok(all)
}

/// That the key of an app is accepted.
pub async fn try_app(app: &App, connection: &Connection, private_key: &str) -> std::result::Result<(), Failed> {
    apps::try_out(app, connection, private_key).await
}

/// The name by which the connection's code host knows a repository. None if it is elsewhere: a token is for its own host only.
pub fn full_name(connection: &Connection, repository: &str) -> Option<String> {
    windlass_codehost::full_name(connection.host, &connection.base_url, repository)
}

/// Whether git may send the connection's token to this address.
pub fn is_reached_by(connection: &Connection, address: &RepositoryAddress) -> bool {
    let origin = address.origin();
    base(connection.host, &connection.base_url).is_ok_and(|base| origin.as_deref() == Some(base.clone_origin()))
}

/// Asks a code host for a member of the organization. How often is limited, because it is others' servers that are asked.
pub async fn ask<T>(app: &App, organization_id: Uuid, ask: Ask<T>) -> std::result::Result<T, Failed> {
    let (key, limit) = (format!("calls {organization_id}"), Limit::a_minute(app.config.connection_calls));
    app.requests.try_once(&key, limit, app.now()).map_err(|seconds| {
        let message = format!("The organization has asked code hosts too often. Wait {seconds} seconds.");
        Error::rate_limited(message, seconds)
    })?;
    send(app, ask).await
}

async fn ask_for<T>(app: &App, asker: PullFor, organization_id: Uuid, asked: Ask<T>) -> std::result::Result<T, Failed> {
    match asker {
        PullFor::Member => ask(app, organization_id, asked).await,
        PullFor::Job => send(app, asked).await,
    }
}

/// The same for a job.
pub async fn send<T>(app: &App, ask: Ask<T>) -> std::result::Result<T, Failed> {
    let turn = tokio::time::timeout(LIMITS.time, app.calls.acquire()).await;
    let Ok(Ok(_turn)) = turn else {
        return Err(
            Error::unavailable("Too many code hosts are being asked. Try again in a moment.", "all turns").into()
        );
    };
    let outgoing = app.outgoing().await?;
    let answer = outgoing.send(call(&ask)?).await.map_err(Failed::Call)?;
    let text = |(name, value): (&windlass_outgoing::header::HeaderName, &windlass_outgoing::header::HeaderValue)| {
        (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    let headers = answer.headers.iter().map(text).collect();
    let answer = ApiAnswer { status: answer.status.as_u16(), headers, body: answer.body.to_vec() };
    ask.read(&answer).map_err(Failed::Api)
}

fn call<T>(ask: &Ask<T>) -> Result<Call> {
    let request = &ask.request;
    let mut headers = HeaderMap::new();
    for (name, value) in &request.headers {
        headers.insert(*name, value.parse().map_err(Error::internal)?);
    }
    Ok(Call {
        method: Method::from_bytes(request.method.as_bytes()).map_err(Error::internal)?,
        url: Url::parse(&request.url).map_err(Error::internal)?,
        headers,
        body: request.body.clone().into(),
        limits: LIMITS,
    })
}
