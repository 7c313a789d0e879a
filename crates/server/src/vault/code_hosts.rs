//! What code hosts and Windlass know of each other: what deliveries are signed with, the tokens of connections, and the keys of apps.

use serde::{Deserialize, Serialize};
use uuid::Uuid;
use windlass_api::Timestamp;
use windlass_store::Tx;
use windlass_store::applications::Application;
use windlass_store::connections::Connection;
use windlass_store::sealed::{APPLICATION_WEBHOOK, CONNECTION_APP, CONNECTION_TOKEN};

use super::{SealedCell, Vault};
use crate::error::{Error, Result};

/// Of one application. Sealed as JSON.
#[derive(Serialize, Deserialize)]
pub struct WebhookSecrets {
    pub secret: String,
    /// The one before, and until when it is taken.
    pub previous: Option<(String, Timestamp)>,
}

/// Of an app of GitHub. Sealed as JSON.
#[derive(Serialize, Deserialize)]
pub struct AppSecrets {
    /// As PEM.
    pub private_key: String,
    /// What its deliveries are signed with.
    pub webhook_secret: String,
}

impl WebhookSecrets {
    /// Those that prove a delivery now.
    pub fn valid(&self, now: Timestamp) -> impl Iterator<Item = &str> {
        let previous = self.previous.as_ref().filter(|(_, until)| *until > now).map(|(secret, _)| secret.as_str());
        std::iter::once(self.secret.as_str()).chain(previous)
    }
}

impl Vault {
    pub async fn webhook_secrets(&self, application: &Application) -> Result<WebhookSecrets> {
        self.webhook_secrets_of(application.id, &application.sealed_webhook).await
    }

    pub async fn webhook_secrets_of(&self, application_id: Uuid, sealed: &[u8]) -> Result<WebhookSecrets> {
        self.open_json(SealedCell { column: APPLICATION_WEBHOOK, row: application_id }, sealed).await
    }

    pub async fn connection_token(&self, connection: &Connection) -> Result<String> {
        let cell = SealedCell { column: CONNECTION_TOKEN, row: connection.id };
        let sealed = connection.sealed_token.as_ref().ok_or_else(|| Error::internal("a connection without a token"))?;
        self.open_text(cell, sealed).await
    }

    pub async fn seal_connection_token(&self, tx: &mut Tx, id: Uuid, token: &str) -> Result<Vec<u8>> {
        self.seal(tx, SealedCell { column: CONNECTION_TOKEN, row: id }, token.as_bytes()).await
    }

    pub async fn app_secrets(&self, connection: &Connection) -> Result<AppSecrets> {
        let sealed = connection.sealed_app.as_ref().ok_or_else(|| Error::internal("a connection without an app"))?;
        self.app_secrets_of(connection.id, sealed).await
    }

    pub async fn app_secrets_of(&self, connection_id: Uuid, sealed: &[u8]) -> Result<AppSecrets> {
        self.open_json(SealedCell { column: CONNECTION_APP, row: connection_id }, sealed).await
    }

    pub async fn seal_app_secrets(&self, tx: &mut Tx, id: Uuid, secrets: &AppSecrets) -> Result<Vec<u8>> {
        self.seal_json(tx, SealedCell { column: CONNECTION_APP, row: id }, secrets).await
    }

    pub async fn seal_webhook_secrets(&self, tx: &mut Tx, id: Uuid, secrets: &WebhookSecrets) -> Result<Vec<u8>> {
        self.seal_json(tx, SealedCell { column: APPLICATION_WEBHOOK, row: id }, secrets).await
    }
}
