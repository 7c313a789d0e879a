//! Where an organization's notifications go.

use windlass_api::{
    Can, CreateSmtpConfig, CreateWebhookConfig, DeleteSmtpConfig, DeleteWebhookConfig, Named, OrganizationQuery,
    UpdateSmtpConfig, UpdateWebhookConfig, WebhookType,
};

use super::body::Payload;
use super::params::{Params, PathText};
use super::respond::{Answer, bare_success, success};
use crate::auth::Ctx;
use crate::error::Error;
use crate::records;
use crate::service::notification;

pub async fn put_webhook(ctx: Ctx, Params(query): Params<OrganizationQuery>, body: Payload) -> Answer {
    let named: Named = body.parse()?;
    let joined = ctx.organization(named.organization_id.or(query.id), Can::WebhookUpdate).await?;
    let input: UpdateWebhookConfig = body.parse()?;
    success("Webhook saved", notification::put_webhook(&ctx, joined.organization.id, &input).await?)
}

pub async fn create_webhook(ctx: Ctx, Params(query): Params<OrganizationQuery>, body: Payload) -> Answer {
    let named: Named = body.parse()?;
    let joined = ctx.organization(named.organization_id.or(query.id), Can::WebhookCreate).await?;
    let input: CreateWebhookConfig = body.parse()?;
    notification::create_webhook(&ctx, joined.organization.id, &input).await?;
    bare_success("Webhook created")
}

pub async fn get_webhook(
    ctx: Ctx,
    PathText(kind): PathText<WebhookType>,
    Params(query): Params<OrganizationQuery>,
) -> Answer {
    let joined = ctx.organization(query.id, Can::WebhookRead).await?;
    success("Webhook", notification::webhook(&ctx, &joined, kind).await?)
}

pub async fn delete_webhook(ctx: Ctx, Params(query): Params<OrganizationQuery>, body: Payload) -> Answer {
    let named: Named = body.parse()?;
    let joined = ctx.organization(named.organization_id.or(query.id), Can::WebhookDelete).await?;
    let input: DeleteWebhookConfig = body.parse()?;
    notification::delete_webhook(&ctx, joined.organization.id, input.r#type).await?;
    success("Webhook deleted", ())
}

pub async fn get_smtp(ctx: Ctx, Params(query): Params<OrganizationQuery>) -> Answer {
    let joined = ctx.organization(query.id, Can::SmtpRead).await?;
    let mut conn = ctx.app.db.read().await?;
    let stored = notification::find_smtp(&mut conn, joined.organization.id, None).await?;
    success("SMTP configuration", records::smtp_config(stored))
}

pub async fn create_smtp(ctx: Ctx, Params(query): Params<OrganizationQuery>, body: Payload) -> Answer {
    let named: Named = body.parse()?;
    let joined = ctx.organization(named.organization_id.or(query.id), Can::SmtpUpdate).await?;
    let input: CreateSmtpConfig = body.parse()?;
    success("SMTP configuration created", notification::create_smtp(&ctx, joined.organization.id, &input).await?)
}

pub async fn update_smtp(ctx: Ctx, Params(query): Params<OrganizationQuery>, body: Payload) -> Answer {
    let named: Named = body.parse()?;
    let joined = ctx.smtp_config(named.organization_id.or(query.id), named.id, Can::SmtpUpdate).await?;
    notification::find_smtp(&mut ctx.app.db.read().await?, joined.organization.id, named.id).await?;
    let input: UpdateSmtpConfig = body.parse()?;
    if input.is_empty() {
        return Err(Error::field("host", "give it or another field to change"));
    }
    success("SMTP configuration updated", notification::update_smtp(&ctx, joined.organization.id, &input).await?)
}

pub async fn delete_smtp(ctx: Ctx, Params(query): Params<OrganizationQuery>, body: Payload) -> Answer {
    let input: DeleteSmtpConfig = body.parse()?;
    let joined = ctx.smtp_config(input.organization_id.or(query.id), input.id, Can::SmtpDelete).await?;
    match notification::delete_smtp(&ctx, joined.organization.id, input.id).await? {
        true => bare_success("SMTP configuration deleted"),
        false => bare_success("There was no SMTP configuration to delete"),
    }
}
