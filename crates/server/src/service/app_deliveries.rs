//! What apps of GitHub send: signed with the app's secret, for every repository that the app is installed for, and about the app itself.

use windlass_api::CodeHost;
use windlass_codehost::Sender;
use windlass_store::applications::Candidate;
use windlass_store::connections;

use super::deliveries::{Arrived, off_thread};
use crate::app::App;
use crate::error::Result;

/// Connections of one app that are tried: organizations can have the same app, and other servers can have the same numbers.
const MOST_CONNECTIONS: i64 = 20;

/// The longest number of an app.
const LONGEST_ID: usize = 20;

/// What the app of an application's connection signs with.
pub async fn secret_of(app: &App, candidate: &Candidate) -> Option<String> {
    let (id, sealed) = (candidate.app_connection_id?, candidate.sealed_app.as_ref()?);
    match app.vault.app_secrets_of(id, sealed).await {
        Ok(secrets) => Some(secrets.webhook_secret),
        // The application's own secret still counts.
        Err(error) => {
            tracing::warn!(cause = error.cause, connection = %id, "the secret of an app cannot be read");
            None
        }
    }
}

/// The message for a delivery that is the app's own and is for no application: that it was installed, or a push to a repository
/// without one. None when it is not signed with the app's secret.
pub async fn acknowledged(app: &App, arrived: &Arrived) -> Result<Option<String>> {
    let Some((sender, app_id)) = sent_by_app(arrived) else { return Ok(None) };
    let found = connections::of_app(&mut app.db.read().await?, &app_id, MOST_CONNECTIONS).await?;
    let mut secrets = Vec::new();
    for connection in &found {
        match app.vault.app_secrets(connection).await {
            Ok(known) => secrets.push(known.webhook_secret),
            Err(error) => {
                tracing::warn!(cause = error.cause, connection = %connection.id, "the secret of an app cannot be read");
            }
        }
    }
    let body = arrived.body.clone();
    let length = body.len().saturating_mul(secrets.len());
    let is_proven =
        off_thread(app, length, move || secrets.iter().any(|secret| sender.is_proven_by(secret, &body))).await?;
    Ok(is_proven.then(|| "Acknowledged. It is for no application.".to_owned()))
}

/// Who sent it, and the number of the app that it says to be from.
fn sent_by_app(arrived: &Arrived) -> Option<(Sender, String)> {
    let sender = Sender::of(|name| arrived.header(name)).filter(|sender| sender.host == CodeHost::GitHub)?;
    let is_of_app = arrived.header("x-github-hook-installation-target-type") == Some("integration");
    let id = arrived.header("x-github-hook-installation-target-id").filter(|_| is_of_app)?;
    let is_number = !id.is_empty() && id.len() <= LONGEST_ID && id.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| (sender, id.to_owned()))
}
