//! Where an organization's notifications go.

use windlass_api::{
    Can, ChannelTest, CreateSmtpConfig, CreateWebhookConfig, DeleteSmtpConfig, DeleteWebhookConfig, ErrorCode, Named,
    NotificationPreference, NotificationPreferences, OrganizationQuery, RotateSigningSecret, SigningSecret, SmtpConfig,
    TestSmtp, TestWebhook, UpdateNotificationPreference, UpdateSmtpConfig, UpdateWebhookConfig, WebhookConfig,
    WebhookType,
};

use super::body::Payload;
use super::params::{Params, PathText};
use super::respond::{Answer, bare_success, success};
use super::table::{Table, member_who};
use crate::auth::Ctx;
use crate::error::Error;
use crate::records;
use crate::service::{channel_tests, notification, notification_preferences};

pub fn routes(table: Table) -> Table {
    preferences(smtp(webhooks(table)))
}

fn preferences(table: Table) -> Table {
    table
        .get(
            "/notification/preferences",
            get_preferences,
            member_who::<NotificationPreferences>("Get notification preferences", Can::WebhookRead)
                .query::<OrganizationQuery>(),
        )
        .post(
            "/notification/preferences",
            put_preference,
            member_who::<NotificationPreference>("Update notification preferences", Can::WebhookRead)
                .note("What goes to a channel of the organization also needs `webhook:update`.")
                .query::<OrganizationQuery>()
                .body::<UpdateNotificationPreference>()
                .errors(&[ErrorCode::LoginRequired]),
        )
}

fn webhooks(table: Table) -> Table {
    table
        .put(
            "/notification/webhook",
            put_webhook,
            member_who::<WebhookConfig>("Update webhook config", Can::WebhookUpdate)
                .query::<OrganizationQuery>()
                .body::<UpdateWebhookConfig>(),
        )
        .post(
            "/notification/webhook",
            create_webhook,
            member_who::<()>("Create webhook config", Can::WebhookCreate)
                .query::<OrganizationQuery>()
                .body::<CreateWebhookConfig>()
                .errors(&[ErrorCode::AlreadyExists])
                .bare(),
        )
        .delete(
            "/notification/webhook",
            delete_webhook,
            member_who::<()>("Delete webhook config", Can::WebhookDelete)
                .query::<OrganizationQuery>()
                .body::<DeleteWebhookConfig>(),
        )
        .get(
            "/notification/webhook/{type}",
            get_webhook,
            member_who::<WebhookConfig>("Get webhook config", Can::WebhookRead).query::<OrganizationQuery>(),
        )
        .get(
            "/notification/webhook/secret",
            get_secret,
            member_who::<SigningSecret>("Get signing secret", Can::WebhookUpdate)
                .note("Deliveries to the `webhook` are signed with it, as standardwebhooks.com says.")
                .query::<OrganizationQuery>(),
        )
        .post(
            "/notification/webhook/secret",
            rotate_secret,
            member_who::<SigningSecret>("Rotate signing secret", Can::WebhookUpdate)
                .note("The one before signs too for 24 hours.")
                .query::<OrganizationQuery>()
                .body::<RotateSigningSecret>(),
        )
        .post(
            "/notification/webhook/test",
            test_webhook,
            member_who::<ChannelTest>("Test webhook", Can::WebhookUpdate)
                .note("Sends a message now and answers what came of it.")
                .query::<OrganizationQuery>()
                .body::<TestWebhook>(),
        )
}

fn smtp(table: Table) -> Table {
    table
        .post(
            "/notification/smtp",
            create_smtp,
            member_who::<SmtpConfig>("Create SMTP configuration", Can::SmtpUpdate)
                .query::<OrganizationQuery>()
                .body::<CreateSmtpConfig>()
                .errors(&[ErrorCode::AlreadyExists]),
        )
        .get(
            "/notification/smtp",
            get_smtp,
            member_who::<SmtpConfig>("Get SMTP configuration", Can::SmtpRead).query::<OrganizationQuery>(),
        )
        .put(
            "/notification/smtp",
            update_smtp,
            member_who::<SmtpConfig>("Update SMTP configuration", Can::SmtpUpdate)
                .query::<OrganizationQuery>()
                .body::<UpdateSmtpConfig>(),
        )
        .delete(
            "/notification/smtp",
            delete_smtp,
            member_who::<()>("Delete SMTP configuration", Can::SmtpDelete)
                .note("Succeeds also when there is none.")
                .query::<OrganizationQuery>()
                .body::<DeleteSmtpConfig>()
                .bare(),
        )
        .post(
            "/notification/smtp/test",
            test_smtp,
            member_who::<ChannelTest>("Test SMTP configuration", Can::SmtpUpdate)
                .note("Sends a mail now and answers what came of it.")
                .query::<OrganizationQuery>()
                .body::<TestSmtp>(),
        )
}

pub async fn put_webhook(ctx: Ctx, Params(query): Params<OrganizationQuery>, body: Payload) -> Answer {
    let named: Named = body.parse()?;
    let authority = ctx.organization(named.organization_id.or(query.id)).await?;
    let input: UpdateWebhookConfig = body.parse()?;
    success("Webhook saved", notification::put_webhook(&ctx.app, &authority, &input).await?)
}

pub async fn create_webhook(ctx: Ctx, Params(query): Params<OrganizationQuery>, body: Payload) -> Answer {
    let named: Named = body.parse()?;
    let authority = ctx.organization(named.organization_id.or(query.id)).await?;
    let input: CreateWebhookConfig = body.parse()?;
    notification::create_webhook(&ctx.app, &authority, &input).await?;
    bare_success("Webhook created")
}

pub async fn get_webhook(
    ctx: Ctx,
    PathText(kind): PathText<WebhookType>,
    Params(query): Params<OrganizationQuery>,
) -> Answer {
    let authority = ctx.organization(query.id).await?;
    success("Webhook", notification::webhook(&ctx.app, &authority, kind).await?)
}

pub async fn delete_webhook(ctx: Ctx, Params(query): Params<OrganizationQuery>, body: Payload) -> Answer {
    let named: Named = body.parse()?;
    let authority = ctx.organization(named.organization_id.or(query.id)).await?;
    let input: DeleteWebhookConfig = body.parse()?;
    notification::delete_webhook(&ctx.app, &authority, input.r#type).await?;
    success("Webhook deleted", ())
}

pub async fn get_smtp(ctx: Ctx, Params(query): Params<OrganizationQuery>) -> Answer {
    let authority = ctx.organization(query.id).await?;
    let mut conn = ctx.app.db.read().await?;
    let stored = notification::find_smtp(&mut conn, authority.organization_id(), None).await?;
    success("SMTP configuration", records::smtp_config(stored))
}

pub async fn create_smtp(ctx: Ctx, Params(query): Params<OrganizationQuery>, body: Payload) -> Answer {
    let named: Named = body.parse()?;
    let authority = ctx.organization(named.organization_id.or(query.id)).await?;
    let input: CreateSmtpConfig = body.parse()?;
    success("SMTP configuration created", notification::create_smtp(&ctx.app, &authority, &input).await?)
}

pub async fn update_smtp(ctx: Ctx, Params(query): Params<OrganizationQuery>, body: Payload) -> Answer {
    let named: Named = body.parse()?;
    let authority = ctx.smtp_config(named.organization_id.or(query.id), named.id).await?;
    notification::find_smtp(&mut ctx.app.db.read().await?, authority.organization_id(), named.id).await?;
    let input: UpdateSmtpConfig = body.parse()?;
    if input.is_empty() {
        return Err(Error::field("host", "give it or another field to change"));
    }
    success("SMTP configuration updated", notification::update_smtp(&ctx.app, &authority, &input).await?)
}

pub async fn delete_smtp(ctx: Ctx, Params(query): Params<OrganizationQuery>, body: Payload) -> Answer {
    let input: DeleteSmtpConfig = body.parse()?;
    let authority = ctx.smtp_config(input.organization_id.or(query.id), input.id).await?;
    match notification::delete_smtp(&ctx.app, &authority, input.id).await? {
        true => bare_success("SMTP configuration deleted"),
        false => bare_success("There was no SMTP configuration to delete"),
    }
}

pub async fn get_secret(ctx: Ctx, Params(query): Params<OrganizationQuery>) -> Answer {
    let authority = ctx.organization(query.id).await?;
    success("Signing secret", notification::signing_secret(&ctx.app, &authority).await?)
}

pub async fn rotate_secret(ctx: Ctx, Params(query): Params<OrganizationQuery>, body: Payload) -> Answer {
    let named: Named = body.parse()?;
    let authority = ctx.organization(named.organization_id.or(query.id)).await?;
    let _: RotateSigningSecret = body.parse()?;
    success("Signing secret changed", notification::rotate_signing_secret(&ctx.app, &authority).await?)
}

pub async fn test_webhook(ctx: Ctx, Params(query): Params<OrganizationQuery>, body: Payload) -> Answer {
    let named: Named = body.parse()?;
    let authority = ctx.organization(named.organization_id.or(query.id)).await?;
    let input: TestWebhook = body.parse()?;
    success("Webhook tested", channel_tests::webhook(&ctx.app, &authority, &input).await?)
}

pub async fn test_smtp(ctx: Ctx, Params(query): Params<OrganizationQuery>, body: Payload) -> Answer {
    let named: Named = body.parse()?;
    let authority = ctx.organization(named.organization_id.or(query.id)).await?;
    let input: TestSmtp = body.parse()?;
    success("SMTP configuration tested", channel_tests::smtp(&ctx.app, &authority, &input).await?)
}

pub async fn get_preferences(ctx: Ctx, Params(query): Params<OrganizationQuery>) -> Answer {
    let authority = ctx.organization(query.id).await?;
    success("Notification preferences", notification_preferences::get(&ctx.app, &authority).await?)
}

pub async fn put_preference(ctx: Ctx, Params(query): Params<OrganizationQuery>, body: Payload) -> Answer {
    let named: Named = body.parse()?;
    let authority = ctx.organization(named.organization_id.or(query.id)).await?;
    let input: UpdateNotificationPreference = body.parse()?;
    success("Notification preferences saved", notification_preferences::put(&ctx.app, &authority, &input).await?)
}
