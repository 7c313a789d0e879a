//! Where an organization's notifications go.

use uuid::Uuid;
use windlass_api as api;
use windlass_api::{Can, CreateSmtpConfig, CreateWebhookConfig, ErrorCode, Password, SmtpSecurity};
use windlass_api::{UpdateSmtpConfig, UpdateWebhookConfig, WebhookType};
use windlass_store::Conn;
use windlass_store::memberships::Joined;
use windlass_store::sealed::{SMTP_PASSWORD, WEBHOOK_URL};
use windlass_store::smtp_configs::{self, SmtpConfig};
use windlass_store::webhook_configs::{self, WebhookConfig};

use crate::auth::Ctx;
use crate::error::{Error, Result};
use crate::records;
use crate::service::audit::{Action, Actor, Change, Resource};
use crate::service::organizations::hold;
use crate::service::targets::{check_host, check_url};
use crate::service::work::Work;
use crate::vault::SealedCell;

/// As the caller may see it: the whole address for those who may change it.
pub async fn webhook(ctx: &Ctx, joined: &Joined, kind: WebhookType) -> Result<api::WebhookConfig> {
    let mut conn = ctx.app.db.read().await?;
    let stored = webhook_configs::get(&mut conn, joined.organization.id, kind).await?;
    drop(conn);
    let stored = stored.ok_or_else(|| no_webhook(kind))?;
    let url = ctx.app.vault.open_text(url_place(&stored), &stored.sealed_url).await?;
    let shown = if ctx.may(joined, Can::WebhookUpdate) { url } else { records::masked_url(&url) };
    Ok(records::webhook_config(&stored, shown))
}

/// Replaces the configuration of its type, or creates it.
pub async fn put_webhook(ctx: &Ctx, organization_id: Uuid, input: &UpdateWebhookConfig) -> Result<api::WebhookConfig> {
    if let Some(url) = &input.webhook_url {
        check_url(&ctx.app, "webhook_url", url).await?;
    }
    let (app, kind) = (&ctx.app, input.r#type);
    let mut work = app.begin().await?;
    let joined = hold(&mut work, ctx, organization_id, Can::WebhookUpdate).await?;
    let stored = webhook_configs::get(&mut work, organization_id, kind).await?;
    let is_new = stored.is_none();
    let mut config = stored.unwrap_or_else(|| new_webhook(ctx, organization_id, kind));
    if !is_new {
        config.user_id = ctx.user.id;
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
        ctx.require(&joined, Can::WebhookCreate)?;
        config.sealed_url = sealed.unwrap_or_default();
        webhook_configs::insert(&mut work, &config).await?;
    } else {
        webhook_configs::update(&mut work, &config, sealed.as_deref()).await?;
        config.sealed_url = sealed.unwrap_or(config.sealed_url);
    }
    record_webhook(&mut work, ctx, if is_new { Action::Create } else { Action::Update }, &config);
    let url = app.vault.open_text(url_place(&config), &config.sealed_url).await?;
    work.commit().await?;
    Ok(records::webhook_config(&config, url))
}

/// Refused when there is one of this type.
pub async fn create_webhook(ctx: &Ctx, organization_id: Uuid, input: &CreateWebhookConfig) -> Result<()> {
    let (app, kind) = (&ctx.app, input.r#type);
    check_url(app, "webhook_url", &input.webhook_url).await?;
    let mut work = app.begin().await?;
    hold(&mut work, ctx, organization_id, Can::WebhookCreate).await?;
    if webhook_configs::get(&mut work, organization_id, kind).await?.is_some() {
        let message = format!("type: there is a {} webhook already. Update it with PUT.", kind.as_str());
        return Err(Error::new(ErrorCode::AlreadyExists, message));
    }
    let mut config = new_webhook(ctx, organization_id, kind);
    config.is_active = input.is_active.unwrap_or(true);
    config.sealed_url = app.vault.seal(&mut work, url_place(&config), input.webhook_url.as_bytes()).await?;
    webhook_configs::insert(&mut work, &config).await?;
    record_webhook(&mut work, ctx, Action::Create, &config);
    work.commit().await?;
    Ok(())
}

pub async fn delete_webhook(ctx: &Ctx, organization_id: Uuid, kind: WebhookType) -> Result<()> {
    let mut work = ctx.app.begin().await?;
    hold(&mut work, ctx, organization_id, Can::WebhookDelete).await?;
    let stored = webhook_configs::get(&mut work, organization_id, kind).await?;
    let stored = stored.ok_or_else(|| no_webhook(kind))?;
    webhook_configs::delete(&mut work, organization_id, kind).await?;
    record_webhook(&mut work, ctx, Action::Delete, &stored);
    work.commit().await?;
    Ok(())
}

fn no_webhook(kind: WebhookType) -> Error {
    Error::not_found(&format!("webhook configuration: {}", kind.as_str()))
}

fn url_place(config: &WebhookConfig) -> SealedCell {
    SealedCell { column: WEBHOOK_URL, row: config.id }
}

fn new_webhook(ctx: &Ctx, organization_id: Uuid, kind: WebhookType) -> WebhookConfig {
    let now = ctx.app.now();
    WebhookConfig {
        id: ctx.app.new_id(),
        organization_id,
        user_id: ctx.user.id,
        kind,
        sealed_url: Vec::new(),
        is_active: true,
        created_at: now,
        updated_at: now,
    }
}

/// Refused when there is one.
pub async fn create_smtp(ctx: &Ctx, organization_id: Uuid, input: &CreateSmtpConfig) -> Result<api::SmtpConfig> {
    check_host(&ctx.app, "host", &input.host).await?;
    let (security, now) = (input.security.unwrap_or(SmtpSecurity::Starttls), ctx.app.now());
    let mut config = SmtpConfig {
        id: ctx.app.new_id(),
        organization_id,
        user_id: ctx.user.id,
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
    let mut work = ctx.app.begin().await?;
    hold(&mut work, ctx, organization_id, Can::SmtpUpdate).await?;
    if smtp_configs::of_organization(&mut work, organization_id).await?.is_some() {
        let message = "There is an SMTP configuration already. Update it with PUT.";
        return Err(Error::new(ErrorCode::AlreadyExists, message));
    }
    config.sealed_password = sealed_password(&mut work, config.id, input.password.as_ref()).await?;
    smtp_configs::insert(&mut work, &config).await?;
    record_smtp(&mut work, ctx, Action::Create, &config);
    work.commit().await?;
    Ok(records::smtp_config(config))
}

pub async fn update_smtp(ctx: &Ctx, organization_id: Uuid, input: &UpdateSmtpConfig) -> Result<api::SmtpConfig> {
    if let Some(host) = &input.host {
        check_host(&ctx.app, "host", host).await?;
    }
    let mut work = ctx.app.begin().await?;
    hold(&mut work, ctx, organization_id, Can::SmtpUpdate).await?;
    let stored = find_smtp(&mut work, organization_id, input.id).await?;
    let mut config = stored.clone();
    apply(&mut config, input);
    config.user_id = ctx.user.id;
    config.updated_at = ctx.app.now();
    ask_for_password_again(&stored, &config, input.password.as_ref())?;
    smtp_configs::update(&mut work, &config).await?;
    if input.password.is_some() {
        config.sealed_password = sealed_password(&mut work, config.id, input.password.as_ref()).await?;
        smtp_configs::set_password(&mut work, config.id, config.sealed_password.as_deref()).await?;
    }
    record_smtp(&mut work, ctx, Action::Update, &config);
    work.commit().await?;
    Ok(records::smtp_config(config))
}

/// The organization's configuration, if it is the one that is meant.
pub async fn find_smtp(conn: &mut Conn, organization_id: Uuid, id: Option<Uuid>) -> Result<SmtpConfig> {
    let stored = smtp_configs::of_organization(conn, organization_id).await?;
    let stored = stored.filter(|stored| id.is_none_or(|id| id == stored.id));
    stored.ok_or_else(|| Error::not_found("SMTP configuration"))
}

/// A stored password was given for one server and one way of speaking to it. Who may change where it is sent to must not be
/// able to have it sent to themselves.
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
pub async fn delete_smtp(ctx: &Ctx, organization_id: Uuid, id: Option<Uuid>) -> Result<bool> {
    let mut work = ctx.app.begin().await?;
    hold(&mut work, ctx, organization_id, Can::SmtpDelete).await?;
    let Some(stored) = smtp_configs::of_organization(&mut work, organization_id).await? else {
        return Ok(false);
    };
    if id.is_some_and(|id| id != stored.id) {
        return Err(Error::not_found("SMTP configuration"));
    }
    smtp_configs::delete(&mut work, organization_id).await?;
    record_smtp(&mut work, ctx, Action::Delete, &stored);
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

fn record_webhook(work: &mut Work<'_>, ctx: &Ctx, action: Action, config: &WebhookConfig) {
    let (kind, state) = (config.kind.as_str(), if config.is_active { "active" } else { "paused" });
    let change = Change {
        organization_id: Some(config.organization_id),
        action,
        resource: Resource::Webhook,
        resource_id: config.id,
        summary: &format!("{} the {kind} webhook ({state})", verb(action)),
        details: &[("type", kind), ("state", state)],
    };
    work.record(&Actor::caller(ctx), &change);
}

fn record_smtp(work: &mut Work<'_>, ctx: &Ctx, action: Action, config: &SmtpConfig) {
    let change = Change {
        organization_id: Some(config.organization_id),
        action,
        resource: Resource::Smtp,
        resource_id: config.id,
        summary: &format!("{} the mail server {}", verb(action), config.host),
        details: &[("host", &config.host), ("from_email", &config.from_email)],
    };
    work.record(&Actor::caller(ctx), &change);
}
