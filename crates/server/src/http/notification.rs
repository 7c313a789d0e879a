//! Where an organization's notifications go.

use windlass_api::{
    Can, CreateSmtpConfig, CreateWebhookConfig, DeleteSmtpConfig, DeleteWebhookConfig, UpdateSmtpConfig,
    UpdateWebhookConfig, WebhookType,
};
use windlass_store::sealed::WEBHOOK_URL;
use windlass_store::{smtp_configs, webhook_configs};

use super::body::Payload;
use super::params::{Params, PathText};
use super::respond::{Answer, bare_success, success};
use crate::auth::Ctx;
use crate::error::Error;
use crate::records;
use crate::service::notification;
use crate::vault::Place;

pub async fn put_webhook(ctx: Ctx, body: Payload) -> Answer {
    let joined = ctx.organization(None, Can::WebhookUpdate).await?;
    let input: UpdateWebhookConfig = body.parse()?;
    success("Webhook saved", notification::put_webhook(&ctx, joined.organization.id, &input).await?)
}

pub async fn create_webhook(ctx: Ctx, body: Payload) -> Answer {
    let joined = ctx.organization(None, Can::WebhookCreate).await?;
    let input: CreateWebhookConfig = body.parse()?;
    notification::create_webhook(&ctx, joined.organization.id, &input).await?;
    bare_success("Webhook created")
}

pub async fn get_webhook(ctx: Ctx, PathText(kind): PathText<WebhookType>) -> Answer {
    let joined = ctx.organization(None, Can::WebhookRead).await?;
    let mut conn = ctx.app.db.read().await?;
    let stored = webhook_configs::get(&mut conn, joined.organization.id, kind).await?;
    drop(conn);
    let stored = stored.ok_or_else(|| notification::no_webhook(kind))?;
    let place = Place { column: WEBHOOK_URL, row: stored.id };
    let url = ctx.app.vault.open_text(place, &stored.sealed_url).await?;
    let shown = if ctx.may(&joined, Can::WebhookUpdate) { url } else { records::masked_url(&url) };
    success("Webhook", records::webhook_config(&stored, shown))
}

pub async fn delete_webhook(ctx: Ctx, body: Payload) -> Answer {
    let joined = ctx.organization(None, Can::WebhookDelete).await?;
    let input: DeleteWebhookConfig = body.parse()?;
    notification::delete_webhook(&ctx, joined.organization.id, input.r#type).await?;
    success("Webhook deleted", ())
}

pub async fn get_smtp(ctx: Ctx, Params(query): Params<windlass_api::OrganizationQuery>) -> Answer {
    let joined = ctx.organization(query.id, Can::SmtpRead).await?;
    let mut conn = ctx.app.db.read().await?;
    let stored = smtp_configs::of_organization(&mut conn, joined.organization.id).await?;
    let stored = stored.ok_or_else(|| Error::not_found("SMTP configuration"))?;
    success("SMTP configuration", records::smtp_config(stored))
}

pub async fn create_smtp(ctx: Ctx, body: Payload) -> Answer {
    let joined = ctx.organization(None, Can::SmtpUpdate).await?;
    let input: CreateSmtpConfig = body.parse()?;
    success("SMTP configuration created", notification::create_smtp(&ctx, joined.organization.id, &input).await?)
}

pub async fn update_smtp(ctx: Ctx, body: Payload) -> Answer {
    let joined = ctx.organization(None, Can::SmtpUpdate).await?;
    let input: UpdateSmtpConfig = body.parse()?;
    success("SMTP configuration updated", notification::update_smtp(&ctx, joined.organization.id, &input).await?)
}

pub async fn delete_smtp(ctx: Ctx, body: Payload) -> Answer {
    let joined = ctx.organization(None, Can::SmtpDelete).await?;
    let input: DeleteSmtpConfig = body.parse()?;
    match notification::delete_smtp(&ctx, joined.organization.id, input.id).await? {
        true => bare_success("SMTP configuration deleted"),
        false => bare_success("There was no SMTP configuration to delete"),
    }
}
