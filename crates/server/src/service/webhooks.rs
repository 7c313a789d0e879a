//! How an application hears of pushes: its secret, and what code hosts are told.

use windlass_api as api;
use windlass_api::{Configuration, ConnectionKind, ErrorCode, RotateWebhook, Triggers, Whole};
use windlass_codehost::api::{Api, HookId};
use windlass_store::Conn;
use windlass_store::applications::Application;
use windlass_store::connections::Connection;
use windlass_store::deliveries;

use crate::app::App;
use crate::auth::Granted;
use crate::auth::token::Token;
use crate::code_host::{self, Failed, PullFor};
use crate::error::{Error, Result};
use crate::records::deliveries::delivery;
use crate::service::connections::at_code_host;
use crate::service::held_applications::{hold_to_change, refuse_preview, write_change};
use crate::vault::code_hosts::WebhookSecrets;

/// How long the secret before is taken unless the caller says otherwise.
const GRACE_SECONDS: i64 = 86_400;
/// Of a repository's webhooks.
const MOST_PAGES: usize = 10;

/// For a new application.
pub fn new_secrets() -> WebhookSecrets {
    WebhookSecrets { secret: Token::random().reveal().to_owned(), previous: None }
}

pub async fn get(app: &App, application: &Application) -> Result<api::ApplicationWebhook> {
    let secrets = app.vault.webhook_secrets(application).await?;
    record(app, &mut app.db.read().await?, application, secrets).await
}

/// A new secret. The one before is taken for a while, so that code hosts can be told of the new one without a gap.
pub async fn rotate(
    app: &App,
    granted: &Granted<Application>,
    input: &RotateWebhook,
) -> Result<api::ApplicationWebhook> {
    let mut work = app.begin().await?;
    let (authority, mut application) = hold_to_change(&mut work, granted.authority(), granted.row().id).await?;
    refuse_preview(&mut work, &application).await?;
    let before = app.vault.webhook_secrets(&application).await?;
    let mut secrets = new_secrets();
    if let Some(given) = &input.secret {
        given.reveal().clone_into(&mut secrets.secret);
    }
    let grace = input.grace_seconds.map_or(GRACE_SECONDS, Whole::get);
    if grace > 0 && before.secret != secrets.secret {
        secrets.previous = Some((before.secret, app.now().plus_seconds(grace)));
    }
    application.sealed_webhook = app.vault.seal_webhook_secrets(&mut work, application.id, &secrets).await?;
    let details = [("grace_seconds", grace.to_string())];
    let details = details.each_ref().map(|(name, value)| (*name, value.as_str()));
    write_change(&mut work, &authority, &mut application, "changed the webhook secret of", &details).await?;
    let record = record(app, &mut work, &application, secrets).await?;
    work.commit().await?;
    Ok(record)
}

/// Registers the webhook at the code host, through the application's connection. One that is there already may have another secret,
/// so it is made anew.
pub async fn register(app: &App, granted: &Granted<Application>) -> Result<api::ApplicationWebhook> {
    let application = granted.row();
    refuse_preview(&mut app.db.read().await?, application).await?;
    let (connection, name) = hosted(app, application).await?;
    refuse_app(application, &connection)?;
    let host = code_host::api(app, &connection, &name, PullFor::Member).await?;
    let url = registered_url(app, application);
    let mut ids = registered_hooks(app, &connection, &host, &name, &url).await?;
    // Its address is another one if people reach this server in another way since.
    let before = HookId(application.hook_id.clone());
    if !before.0.is_empty() && !ids.contains(&before) {
        ids.push(before);
    }
    for id in ids {
        let ask = host.delete_hook(&name, &id).map_err(Failed::Api)?;
        code_host::ask(app, application.organization_id, ask).await?;
    }
    let secret = app.vault.webhook_secrets(application).await?.secret;
    let ask = host.create_hook(&name, &url, &secret).map_err(Failed::Api)?;
    let id = match code_host::ask(app, application.organization_id, ask).await {
        Ok(id) => id,
        Err(failed) => {
            // The one before is gone already.
            set_hook(app, granted, String::new(), "removed the webhook of").await?;
            return Err(failed.into());
        }
    };
    let registered = set_hook(app, granted, id.0.clone(), "registered the webhook of").await;
    if registered.is_err()
        && let Ok(ask) = host.delete_hook(&name, &id)
    {
        // No row knows of it.
        let _ = code_host::send(app, ask).await;
    }
    registered
}

pub async fn unregister(app: &App, granted: &Granted<Application>) -> Result<api::ApplicationWebhook> {
    let application = granted.row();
    if application.hook_id.is_empty() {
        return Err(Error::new(ErrorCode::Conflict, "No webhook of this application is registered."));
    }
    let (connection, name) = hosted(app, application).await?;
    let host = code_host::api(app, &connection, &name, PullFor::Member).await?;
    let ask = host.delete_hook(&name, &HookId(application.hook_id.clone())).map_err(Failed::Api)?;
    code_host::ask(app, application.organization_id, ask).await?;
    set_hook(app, granted, String::new(), "removed the webhook of").await
}

async fn hosted(app: &App, application: &Application) -> Result<(Connection, String)> {
    at_code_host(app, application).await?.ok_or_else(|| {
        let message =
            format!("{} has no connection to a code host. Give it one first: connection_id.", application.name);
        Error::new(ErrorCode::Conflict, message)
    })
}

/// An app reports all that happens in its repositories by itself.
fn refuse_app(application: &Application, connection: &Connection) -> Result<()> {
    if connection.kind != ConnectionKind::GithubApp {
        return Ok(());
    }
    let message = format!(
        "{} needs no webhook of its own: the GitHub App of its connection {} reports its pushes.",
        application.name, connection.name
    );
    Err(Error::new(ErrorCode::Conflict, message))
}

/// Code hosts take an address once for each repository, and an application of it may have one already.
fn registered_url(app: &App, application: &Application) -> String {
    format!("{}?application={}", url(app), application.id)
}

/// Where code hosts send what happened.
pub(super) fn url(app: &App) -> String {
    format!("{}/api/v1/webhook", app.config.public_url().trim_end_matches('/'))
}

/// Those of the repository's webhooks that are this application's.
async fn registered_hooks(
    app: &App,
    connection: &Connection,
    host: &Api,
    name: &str,
    url: &str,
) -> Result<Vec<HookId>> {
    let (mut found, mut page) = (Vec::new(), Some(1));
    for _ in 0..MOST_PAGES {
        let Some(number) = page else { break };
        let ask = host.hooks(name, number).map_err(Failed::Api)?;
        let hooks = code_host::ask(app, connection.organization_id, ask).await?;
        found.extend(hooks.items.into_iter().filter(|hook| hook.url == url).map(|hook| hook.id));
        page = hooks.next;
    }
    Ok(found)
}

async fn set_hook(
    app: &App,
    granted: &Granted<Application>,
    id: String,
    verb: &str,
) -> Result<api::ApplicationWebhook> {
    let mut work = app.begin().await?;
    let (authority, mut application) = hold_to_change(&mut work, granted.authority(), granted.row().id).await?;
    application.hook_id = id;
    write_change(&mut work, &authority, &mut application, verb, &[]).await?;
    let secrets = app.vault.webhook_secrets(&application).await?;
    let record = record(app, &mut work, &application, secrets).await?;
    work.commit().await?;
    Ok(record)
}

async fn record(
    app: &App,
    conn: &mut Conn,
    application: &Application,
    secrets: WebhookSecrets,
) -> Result<api::ApplicationWebhook> {
    let triggers = Triggers::from_json(&application.triggers).map_err(Error::internal)?;
    let configuration = Configuration::from_json(&application.configuration).map_err(Error::internal)?;
    let now = app.now();
    Ok(api::ApplicationWebhook {
        url: url(app),
        is_registered: !application.hook_id.is_empty(),
        previous_secret_until: secrets.previous.map(|(_, until)| until).filter(|until| *until > now),
        secret: secrets.secret,
        auto_deploy: triggers.auto_deploy,
        watch_paths: triggers.watch_paths,
        tag_pattern: triggers.tag_pattern,
        branch: configuration.branch,
        last_delivery: deliveries::last(conn, application.id).await?.map(delivery),
    })
}
