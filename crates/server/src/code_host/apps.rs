//! Apps of GitHub: their key proves who asks, and gives a token for each use. No token is kept.

use windlass_api::ErrorCode;
use windlass_codehost::api::{ApiError, App as GithubApp, Ask, Installation, InstallationToken, Page};
use windlass_store::connections::Connection;

use super::{Failed, PullFor, ask_for, base};
use crate::app::App;
use crate::error::Error;

type Result<T> = std::result::Result<T, Failed>;

/// Places where an app is installed that are asked for their repositories.
const MOST_INSTALLATIONS: usize = 20;

/// An app with its key, and for whom it asks.
struct Acting<'a> {
    app: &'a App,
    connection: &'a Connection,
    github: GithubApp,
    asker: PullFor,
}

/// For one repository.
pub async fn token(app: &App, connection: &Connection, full_name: &str, asker: PullFor) -> Result<String> {
    let acting = Acting::new(app, connection, &app.vault.app_secrets(connection).await?.private_key, asker)?;
    let ask = acting.github.installation_of(acting.seconds(), full_name).map_err(Failed::Api)?;
    let installation = match acting.ask(ask).await {
        Err(Failed::Api(ApiError::NotFound)) => return Err(not_installed(connection, full_name)),
        found => found?,
    };
    let name = full_name.rsplit('/').next().unwrap_or(full_name);
    acting.token(installation, &[name]).await
}

/// For all repositories of each place where the app is installed and not suspended.
pub async fn tokens_of_installations(app: &App, connection: &Connection) -> Result<Vec<String>> {
    let private_key = app.vault.app_secrets(connection).await?.private_key;
    let acting = Acting::new(app, connection, &private_key, PullFor::Member)?;
    let installations = acting.installations().await?.items.into_iter().filter(|place| !place.is_suspended);
    let mut tokens = Vec::new();
    for Installation { id, .. } in installations.take(MOST_INSTALLATIONS) {
        tokens.push(acting.token(id, &[]).await?);
    }
    Ok(tokens)
}

/// That GitHub accepts the key.
pub async fn try_out(app: &App, connection: &Connection, private_key: &str) -> Result<()> {
    Acting::new(app, connection, private_key, PullFor::Member)?.installations().await.map(drop)
}

impl<'a> Acting<'a> {
    fn new(app: &'a App, connection: &'a Connection, private_key: &str, asker: PullFor) -> Result<Self> {
        let base = base(connection.host, &connection.base_url)?;
        let github = GithubApp::new(base, &connection.app_id, private_key).map_err(Failed::Api)?;
        Ok(Self { app, connection, github, asker })
    }

    fn seconds(&self) -> i64 {
        self.app.now().micros() / 1_000_000
    }

    async fn installations(&self) -> Result<Page<Installation>> {
        self.ask(self.github.installations(self.seconds(), 1).map_err(Failed::Api)?).await
    }

    async fn token(&self, installation: u64, repositories: &[&str]) -> Result<String> {
        let ask = self.github.installation_token(self.seconds(), installation, repositories).map_err(Failed::Api)?;
        let InstallationToken { token, .. } = self.ask(ask).await?;
        Ok(token)
    }

    async fn ask<T>(&self, ask: Ask<T>) -> Result<T> {
        match ask_for(self.app, self.asker, self.connection.organization_id, ask).await {
            Err(Failed::Api(ApiError::BadToken)) => Err(unknown_app(self.connection)),
            answered => answered,
        }
    }
}

fn not_installed(connection: &Connection, full_name: &str) -> Failed {
    let place = match connection.install_url() {
        url if url.is_empty() => format!("at {}", connection.base_url),
        url => format!("at {url}"),
    };
    let message =
        format!("The app of the connection {} is not installed for {full_name}. Install it {place}", connection.name);
    Error::new(ErrorCode::CodeHostFailed, message).into()
}

fn unknown_app(connection: &Connection) -> Failed {
    let message = format!(
        "GitHub does not accept the key of the connection {}: the app or its key was deleted there. Make the app again.",
        connection.name
    );
    Error::new(ErrorCode::CodeHostFailed, message).into()
}
