//! Where an organization's notifications go.

use uuid::Uuid;
use windlass_api as api;
use windlass_api::{Can, Channel, CreateSmtpConfig, CreateWebhookConfig, ErrorCode, Password, SmtpSecurity};
use windlass_api::{Timestamp, UpdateSmtpConfig, UpdateWebhookConfig, WebhookType};
use windlass_notify::{Url, channel};
use windlass_store::Conn;
use windlass_store::sealed::{Column, PREVIOUS_SIGNING_SECRET, SIGNING_SECRET, SMTP_PASSWORD, WEBHOOK_URL};
use windlass_store::smtp_configs::{self, SmtpConfig};
use windlass_store::webhook_configs::{self, WebhookConfig};
use windlass_store::{jobs, notices};

use crate::app::App;
use crate::auth::Authority;
use crate::error::{Error, Result};
use crate::random;
use crate::records;
use crate::service::audit::{Action, Change, Resource};
use crate::service::outgoing_addresses::{check_host, check_url};
use crate::service::queue::Destination;
use crate::service::work::Work;
use crate::vault::SealedCell;

/// How long a signing secret signs beside the next one.
const GRACE_SECONDS: i64 = 86_400;
const SECRET_BYTES: usize = 32;

const CHANNEL_REMOVED: &str = "the channel was removed";
const SERVER_REMOVED: &str = "the organization's mail server was removed";

/// As the caller may see it: the whole address for those who may change it.
pub async fn webhook(app: &App, authority: &Authority, kind: WebhookType) -> Result<api::WebhookConfig> {
    let mut conn = app.db.read().await?;
    let stored = webhook_configs::get(&mut conn, authority.organization_id(), kind).await?;
    drop(conn);
    let stored = stored.ok_or_else(|| no_webhook(kind))?;
    let url = app.vault.open_text(url_place(&stored), &stored.sealed_url).await?;
    let shown = if authority.may(Can::WebhookUpdate) { url } else { records::masked_url(&url) };
    Ok(records::webhook_config(&stored, shown))
}

/// Replaces the configuration of its type, or creates it.
pub async fn put_webhook(app: &App, authority: &Authority, input: &UpdateWebhookConfig) -> Result<api::WebhookConfig> {
    if let Some(url) = &input.webhook_url {
        check_destination(app, input.r#type, url).await?;
    }
    let kind = input.r#type;
    let mut work = app.begin().await?;
    let authority = &work.hold(authority).await?;
    let organization_id = authority.organization_id();
    let stored = webhook_configs::get(&mut work, organization_id, kind).await?;
    let is_new = stored.is_none();
    let mut config = stored.unwrap_or_else(|| new_webhook(app, authority, kind));
    if !is_new {
        config.user_id = authority.user_id();
        config.key_permissions = authority.caller().key_permissions();
        config.updated_at = app.now();
    }
    config.is_active = input.is_active.unwrap_or(config.is_active);
    let sealed = match &input.webhook_url {
        Some(url) => Some(app.vault.seal(&mut work, url_place(&config), url.as_bytes()).await?),
        None if is_new => {
            let problem = format!("is required: there is no {} webhook yet", kind.as_str());
            return Err(Error::field("webhook_url", problem));
        }
        None => None,
    };
    if is_new {
        authority.require(app, Can::WebhookCreate)?;
        config.sealed_url = sealed.unwrap_or_default();
        insert_webhook(&mut work, &mut config).await?;
    } else {
        webhook_configs::update(&mut work, &config, sealed.as_deref()).await?;
        config.sealed_url = sealed.unwrap_or(config.sealed_url);
    }
    hasten(&mut work, organization_id, kind.into()).await?;
    record_webhook(&mut work, authority, if is_new { Action::Create } else { Action::Update }, &config);
    let url = app.vault.open_text(url_place(&config), &config.sealed_url).await?;
    work.commit().await?;
    Ok(records::webhook_config(&config, url))
}

/// Refused when there is one of this type.
pub async fn create_webhook(app: &App, authority: &Authority, input: &CreateWebhookConfig) -> Result<()> {
    let kind = input.r#type;
    check_destination(app, kind, &input.webhook_url).await?;
    let mut work = app.begin().await?;
    let authority = &work.hold(authority).await?;
    let organization_id = authority.organization_id();
    if webhook_configs::get(&mut work, organization_id, kind).await?.is_some() {
        let message = format!("type: there is a {} webhook already. Update it with PUT.", kind.as_str());
        return Err(Error::new(ErrorCode::AlreadyExists, message));
    }
    let mut config = new_webhook(app, authority, kind);
    config.is_active = input.is_active.unwrap_or(true);
    config.sealed_url = app.vault.seal(&mut work, url_place(&config), input.webhook_url.as_bytes()).await?;
    insert_webhook(&mut work, &mut config).await?;
    hasten(&mut work, organization_id, kind.into()).await?;
    record_webhook(&mut work, authority, Action::Create, &config);
    work.commit().await?;
    Ok(())
}

pub async fn delete_webhook(app: &App, authority: &Authority, kind: WebhookType) -> Result<()> {
    let mut work = app.begin().await?;
    let authority = &work.hold(authority).await?;
    let organization_id = authority.organization_id();
    let stored = webhook_configs::get(&mut work, organization_id, kind).await?;
    let stored = stored.ok_or_else(|| no_webhook(kind))?;
    webhook_configs::delete(&mut work, organization_id, kind).await?;
    drop_waiting(&mut work, organization_id, kind.into(), CHANNEL_REMOVED).await?;
    record_webhook(&mut work, authority, Action::Delete, &stored);
    work.commit().await?;
    Ok(())
}

fn no_webhook(kind: WebhookType) -> Error {
    Error::not_found(&format!("webhook configuration: {}", kind.as_str()))
}

fn url_place(config: &WebhookConfig) -> SealedCell {
    SealedCell { column: WEBHOOK_URL, row: config.id }
}

fn new_webhook(app: &App, authority: &Authority, kind: WebhookType) -> WebhookConfig {
    let now = app.now();
    WebhookConfig {
        id: app.new_id(),
        organization_id: authority.organization_id(),
        user_id: authority.user_id(),
        key_permissions: authority.caller().key_permissions(),
        kind,
        sealed_url: Vec::new(),
        is_active: true,
        sealed_secret: None,
        sealed_previous_secret: None,
        previous_secret_until: None,
        created_at: now,
        updated_at: now,
    }
}

/// Where messages may go, and what the channel can write to.
async fn check_destination(app: &App, kind: WebhookType, text: &str) -> Result<()> {
    check_url(app, "webhook_url", text).await?;
    let url = Url::parse(text).map_err(|_| Error::field("webhook_url", "must be a web address"))?;
    let Some(channel) = channel(kind.as_str()) else { return Ok(()) };
    (channel.check)(&url).map_err(|bad| Error::field("webhook_url", bad.reason))
}

/// With a signing secret, if its deliveries are signed.
async fn insert_webhook(work: &mut Work<'_>, config: &mut WebhookConfig) -> Result<()> {
    if config.kind == WebhookType::Webhook {
        let secret = new_secret()?;
        config.sealed_secret = Some(seal_secret(work, SIGNING_SECRET, config.id, &secret).await?);
    }
    webhook_configs::insert(work, config).await?;
    Ok(())
}

/// What waits because something was wrong with a channel need not wait any longer.
async fn hasten(work: &mut Work<'_>, organization_id: Uuid, channel: Channel) -> Result<()> {
    let all = Destination { organization_id: Some(organization_id), channel, recipient: String::new() };
    jobs::hasten_all(work, organization_id, &all.key()).await?;
    work.wake_worker();
    Ok(())
}

/// A channel that is saved later must not tell what was meant for this one. The jobs find nothing, and end.
async fn drop_waiting(work: &mut Work<'_>, organization_id: Uuid, channel: Channel, reason: &str) -> Result<()> {
    // Jobs come before notices, as for those who send.
    hasten(work, organization_id, channel).await?;
    let now = work.app.now();
    Ok(notices::drop_of_channel(work, organization_id, channel, reason, now).await?)
}

fn new_secret() -> Result<String> {
    let secret = windlass_notify::SigningSecret::new(&random::bytes::<SECRET_BYTES>());
    Ok(secret.map_err(Error::internal)?.to_text())
}

async fn seal_secret(work: &mut Work<'_>, column: Column, id: Uuid, secret: &str) -> Result<Vec<u8>> {
    work.app.vault.seal(work, SealedCell { column, row: id }, secret.as_bytes()).await
}

/// What deliveries to the `webhook` are signed with.
pub async fn signing_secret(app: &App, authority: &Authority) -> Result<api::SigningSecret> {
    let organization_id = authority.organization_id();
    let stored = webhook_configs::get(&mut app.db.read().await?, organization_id, WebhookType::Webhook).await?;
    let stored = stored.ok_or_else(|| no_webhook(WebhookType::Webhook))?;
    Ok(api::SigningSecret {
        secret: open_secret(app, &stored).await?,
        previous_secret_until: stored
            .previous_secret_until
            .map(Timestamp::from_micros)
            .filter(|until| *until > app.now()),
    })
}

async fn open_secret(app: &App, config: &WebhookConfig) -> Result<String> {
    let sealed = config.sealed_secret.as_deref().ok_or_else(|| Error::not_found("signing secret"))?;
    app.vault.open_text(SealedCell { column: SIGNING_SECRET, row: config.id }, sealed).await
}

/// A new secret. The one before signs too for a day, so that receivers can learn of the new one without a gap.
pub async fn rotate_signing_secret(app: &App, authority: &Authority) -> Result<api::SigningSecret> {
    let mut work = app.begin().await?;
    let authority = &work.hold(authority).await?;
    let stored = webhook_configs::get(&mut work, authority.organization_id(), WebhookType::Webhook).await?;
    let stored = stored.ok_or_else(|| no_webhook(WebhookType::Webhook))?;
    let (before, secret) = (open_secret(app, &stored).await?, new_secret()?);
    let until = app.now().plus_seconds(GRACE_SECONDS);
    let sealed = seal_secret(&mut work, SIGNING_SECRET, stored.id, &secret).await?;
    let sealed_before = seal_secret(&mut work, PREVIOUS_SIGNING_SECRET, stored.id, &before).await?;
    webhook_configs::set_secret(&mut work, stored.id, &sealed, Some((&sealed_before, until))).await?;
    let change = Change {
        organization_id: Some(stored.organization_id),
        action: Action::Update,
        resource: Resource::Webhook,
        resource_id: stored.id,
        summary: "changed the signing secret of the webhook",
        details: &[("type", stored.kind.as_str())],
    };
    work.record(&authority.actor(), &change);
    work.commit().await?;
    Ok(api::SigningSecret { secret, previous_secret_until: Some(until) })
}

/// Refused when there is one.
pub async fn create_smtp(app: &App, authority: &Authority, input: &CreateSmtpConfig) -> Result<api::SmtpConfig> {
    check_host(app, "host", &input.host).await?;
    let (security, now) = (input.security.unwrap_or(SmtpSecurity::Starttls), app.now());
    let mut config = SmtpConfig {
        id: app.new_id(),
        organization_id: authority.organization_id(),
        user_id: authority.user_id(),
        key_permissions: authority.caller().key_permissions(),
        host: input.host.to_string(),
        port: input.port.map_or(i64::from(security.default_port()), windlass_api::Whole::get),
        username: input.username.as_deref().unwrap_or_default().to_owned(),
        sealed_password: None,
        from_email: input.from_email.to_string(),
        from_name: input.from_name.as_deref().unwrap_or_default().to_owned(),
        security,
        is_active: input.is_active.unwrap_or(true),
        created_at: now,
        updated_at: now,
    };
    let mut work = app.begin().await?;
    let authority = &work.hold(authority).await?;
    let organization_id = authority.organization_id();
    if smtp_configs::of_organization(&mut work, organization_id).await?.is_some() {
        let message = "There is an SMTP configuration already. Update it with PUT.";
        return Err(Error::new(ErrorCode::AlreadyExists, message));
    }
    config.sealed_password = sealed_password(&mut work, config.id, input.password.as_ref()).await?;
    smtp_configs::insert(&mut work, &config).await?;
    hasten(&mut work, organization_id, Channel::Email).await?;
    record_smtp(&mut work, authority, Action::Create, &config);
    work.commit().await?;
    Ok(records::smtp_config(config))
}

pub async fn update_smtp(app: &App, authority: &Authority, input: &UpdateSmtpConfig) -> Result<api::SmtpConfig> {
    if let Some(host) = &input.host {
        check_host(app, "host", host).await?;
    }
    let mut work = app.begin().await?;
    let authority = &work.hold(authority).await?;
    let organization_id = authority.organization_id();
    let stored = find_smtp(&mut work, organization_id, input.id).await?;
    let mut config = stored.clone();
    apply(&mut config, input);
    config.user_id = authority.user_id();
    config.key_permissions = authority.caller().key_permissions();
    config.updated_at = app.now();
    ask_for_password_again(&stored, &config, input.password.as_ref())?;
    smtp_configs::update(&mut work, &config).await?;
    if input.password.is_some() {
        config.sealed_password = sealed_password(&mut work, config.id, input.password.as_ref()).await?;
        smtp_configs::set_password(&mut work, config.id, config.sealed_password.as_deref()).await?;
    }
    hasten(&mut work, organization_id, Channel::Email).await?;
    record_smtp(&mut work, authority, Action::Update, &config);
    work.commit().await?;
    Ok(records::smtp_config(config))
}

/// The organization's configuration, if it is the one that is meant.
pub async fn find_smtp(conn: &mut Conn, organization_id: Uuid, id: Option<Uuid>) -> Result<SmtpConfig> {
    let stored = smtp_configs::of_organization(conn, organization_id).await?;
    let stored = stored.filter(|stored| id.is_none_or(|id| id == stored.id));
    stored.ok_or_else(|| Error::not_found("SMTP configuration"))
}

/// A stored password was given for one server and one way of speaking to it. Who may change where it is sent to must
/// not be able to have it sent to themselves.
fn ask_for_password_again(stored: &SmtpConfig, config: &SmtpConfig, password: Option<&Password>) -> Result<()> {
    let is_elsewhere = (&stored.host, stored.port) != (&config.host, config.port) || stored.security != config.security;
    if is_elsewhere && stored.sealed_password.is_some() && password.is_none() {
        return Err(Error::field("password", "is needed again when host, port or security changes"));
    }
    Ok(())
}

fn apply(config: &mut SmtpConfig, input: &UpdateSmtpConfig) {
    let set = |field: &mut String, value: Option<&str>| {
        if let Some(value) = value {
            value.clone_into(field);
        }
    };
    set(&mut config.host, input.host.as_deref());
    set(&mut config.username, input.username.as_deref());
    set(&mut config.from_email, input.from_email.as_deref());
    set(&mut config.from_name, input.from_name.as_deref());
    config.port = input.port.map_or(config.port, windlass_api::Whole::get);
    config.security = input.security.unwrap_or(config.security);
    config.is_active = input.is_active.unwrap_or(config.is_active);
}

/// None for an empty password: the server asks for none.
async fn sealed_password(work: &mut Work<'_>, id: Uuid, password: Option<&Password>) -> Result<Option<Vec<u8>>> {
    let place = SealedCell { column: SMTP_PASSWORD, row: id };
    match password.map_or("", Password::reveal) {
        "" => Ok(None),
        password => Ok(Some(work.app.vault.seal(work, place, password.as_bytes()).await?)),
    }
}

/// False when there was none.
pub async fn delete_smtp(app: &App, authority: &Authority, id: Option<Uuid>) -> Result<bool> {
    let mut work = app.begin().await?;
    let authority = &work.hold(authority).await?;
    let organization_id = authority.organization_id();
    let Some(stored) = smtp_configs::of_organization(&mut work, organization_id).await? else {
        return Ok(false);
    };
    if id.is_some_and(|id| id != stored.id) {
        return Err(Error::not_found("SMTP configuration"));
    }
    smtp_configs::delete(&mut work, organization_id).await?;
    drop_waiting(&mut work, organization_id, Channel::Email, SERVER_REMOVED).await?;
    record_smtp(&mut work, authority, Action::Delete, &stored);
    work.commit().await?;
    Ok(true)
}

fn verb(action: Action) -> &'static str {
    match action {
        Action::Create => "added",
        Action::Update => "changed",
        Action::Delete => "removed",
        Action::Access => "used",
    }
}

fn record_webhook(work: &mut Work<'_>, authority: &Authority, action: Action, config: &WebhookConfig) {
    let (kind, state) = (config.kind.as_str(), if config.is_active { "active" } else { "paused" });
    let change = Change {
        organization_id: Some(config.organization_id),
        action,
        resource: Resource::Webhook,
        resource_id: config.id,
        summary: &format!("{} the {kind} webhook ({state})", verb(action)),
        details: &[("type", kind), ("state", state)],
    };
    work.record(&authority.actor(), &change);
}

fn record_smtp(work: &mut Work<'_>, authority: &Authority, action: Action, config: &SmtpConfig) {
    let change = Change {
        organization_id: Some(config.organization_id),
        action,
        resource: Resource::Smtp,
        resource_id: config.id,
        summary: &format!("{} the mail server {}", verb(action), config.host),
        details: &[("host", &config.host), ("from_email", &config.from_email)],
    };
    work.record(&authority.actor(), &change);
}
